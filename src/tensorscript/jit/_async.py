"""Tasks, where PyTorch has them."""

from tensorscript.compiler.jit.language import fork, wait
from tensorscript.runtime.values import Future

__all__ = ["Future", "fork", "wait"]
