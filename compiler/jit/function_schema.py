"""Signatures as `.schema` shows them."""

from __future__ import annotations

from tensorscript.frontends.script.signature import Signature, signature_text

from .graph_types import Type, shown_type


class FunctionSchema:
    """A signature that prints as TorchScript's: `f(Tensor x, int y=3) -> Tensor`."""

    def __init__(self, signature: Signature) -> None:
        self.signature = signature

    @property
    def name(self) -> str:
        return self.signature.name

    @property
    def arguments(self) -> list[Argument]:
        return [
            Argument(f.name, shown_type(f.type), f.has_default) for f in self.signature.arguments
        ]

    @property
    def returns(self) -> list[Argument]:
        return [Argument("", shown_type(t), False) for t in self.signature.returns]

    def __str__(self) -> str:
        return signature_text(self.signature)

    __repr__ = __str__


class Argument:
    """An argument or result of a schema."""

    def __init__(self, name: str, type: Type, has_default: bool) -> None:
        self.name = name
        self.type = type
        self._has_default = has_default

    def has_default_value(self) -> bool:
        return self._has_default
