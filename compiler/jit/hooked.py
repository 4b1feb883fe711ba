"""Calls of modules with forward hooks as methods of their own, for what compiles one function."""

from __future__ import annotations

from tensorscript.dialects.ts.code_constants import ConstantTable, constant_text
from tensorscript.dialects.ts.type_text import annotation_text
from tensorscript.frontends.script.signature import Formal, Signature

HOOKED_CALL = "__call__"
"""The method that runs pre-hooks, `forward` and hooks; no archive holds it."""


def hooked_call_text(forward: Signature) -> str:
    """The text of that method: calling the module inside of script runs its hooks.

    def __call__(self, x: Tensor, k: int=3):
      return self(x, k)
    """
    formals = forward.arguments[1:]
    declared = ", ".join(["self", *map(_formal_text, formals)])
    given = ", ".join(formal.name for formal in formals)
    return f"def {HOOKED_CALL}({declared}):\n  return self({given})\n"


def _formal_text(formal: Formal) -> str:
    text = f"{formal.name}: {annotation_text(formal.type)}"
    if not formal.has_default:
        return text
    return f"{text}={constant_text(formal.default, formal.type, ConstantTable())}"
