"""TensorScript: a TorchScript-compatible tensor compiler built on xDSL and LLVM."""

__version__ = "0.1.0"
