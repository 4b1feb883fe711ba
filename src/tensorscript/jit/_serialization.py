"""Archives, where PyTorch has them."""

from tensorscript.compiler.jit.load import load
from tensorscript.compiler.jit.save import save
from tensorscript.compiler.jit.unavailable import (
    jit_module_from_flatbuffer,
    save_jit_module_to_flatbuffer,
)

__all__ = [
    "jit_module_from_flatbuffer",
    "load",
    "save",
    "save_jit_module_to_flatbuffer",
]
