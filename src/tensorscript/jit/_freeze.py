"""Freezing, where PyTorch has it."""

from tensorscript.compiler.jit.freeze import (
    freeze,
    optimize_for_inference,
    run_frozen_optimizations,
)

__all__ = [
    "freeze",
    "optimize_for_inference",
    "run_frozen_optimizations",
]
