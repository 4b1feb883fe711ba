"""What libraries ask of the compiler of modules, where PyTorch has it."""

from tensorscript.compiler.jit.module_core import wrap_cpp_module

__all__ = [
    "wrap_cpp_module",
]
