"""Scripting on or off while a program runs; the environment says how it starts."""

from tensorscript.compiler.jit.enabled import disable, enable, jit_enabled

__all__ = ["disable", "enable", "jit_enabled"]
