"""The switches of the executor, where PyTorch has them."""

from tensorscript.compiler.jit.switches import fuser, optimized_execution, set_fusion_strategy

__all__ = [
    "fuser",
    "optimized_execution",
    "set_fusion_strategy",
]
