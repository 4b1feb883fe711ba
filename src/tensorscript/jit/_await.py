"""Lazy values, where PyTorch has them."""

from tensorscript.compiler.jit.language import (
    awaitable,
    awaitable_nowait,
    awaitable_wait,
)

_awaitable, _awaitable_nowait, _awaitable_wait = awaitable, awaitable_nowait, awaitable_wait

__all__ = ["awaitable", "awaitable_nowait", "awaitable_wait"]
