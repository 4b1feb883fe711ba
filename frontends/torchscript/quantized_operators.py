"""The operators and classes of PyTorch's quantized models, written in the language itself.

An archive calls `ops.quantized.linear(x, packed, scale, zero_point)`, which PyTorch has in C++, and
holds objects of `torch.classes.quantized.LinearPackedParamsBase`. Here both are TorchScript text
(`quantized_operators.txt`) over operators that ordinary programs have: products are of integers
held as float32 (exact up to 2^24), and what is quantized again is rounded to nearest even. So the
interpreter runs them and the compiler compiles them, and neither knows them by name.

Source of the arithmetic: D. Khudia et al., "FBGEMM: Enabling High-Performance Low-Precision Deep
Learning Inference", 2021; of the choice of a grid for numbers that are seen only at run time:
PyTorch's `quant_utils.h`.
"""

from __future__ import annotations

from functools import cache
from pathlib import Path

from tensorscript.base.dtypes import QUANTIZED
from tensorscript.base.errors import ArchiveError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Span
from tensorscript.dialects.ts.constants import ListLiteral, TensorLiteral
from tensorscript.dialects.ts.operator_functions import OPERATOR_FUNCTIONS
from tensorscript.eager.tensor import Tensor
from tensorscript.frontends.script.draft import Value
from tensorscript.frontends.script.function import FunctionEmitter
from tensorscript.frontends.script.text_library import Found, TextLibrary
from tensorscript.frontends.script.values import Args, Sugared

from . import pickled
from .tensors import TensorStore

_FILE = "quantized_operators.txt"
_HEADING = "## "


@cache
def _definitions() -> dict[str, Found]:
    """The text's definitions by qualified name; a heading names what those below it lie in."""
    out: dict[str, Found] = {}
    text = Path(__file__).with_name(_FILE).read_text()
    for section in text.split(f"\n{_HEADING}")[1:]:
        module, _, body = section.partition("\n")
        name = f"{module.rpartition('.')[2]}.py"
        out |= TextLibrary.parse(body, f"__torch__.{module}", name).definitions
    return out


def find(qualified_name: str) -> Found | None:
    """The text of a class or an operator of quantized models."""
    return _definitions().get(qualified_name)


@cache
def overloads(qualified_name: str) -> tuple[str, ...]:
    """The definitions `f__overload` of an operator `f` that has several, in their order."""
    return tuple(name for name in _definitions() if name.startswith(f"{qualified_name}__"))


# --- packed weights among constants --------------------------------------------------------------

_LINEAR = "__torch__.torch.classes.quantized.LinearPackedParamsBase"
_CONVOLUTIONS = {
    f"__torch__.torch.classes.quantized.Conv{n}dPackedParamsBase": f"conv{n}d" for n in (2, 3)
}


@dataclass(frozen=True)
class PackedWeights:
    """An object of packed weights that the code names as a constant, as PyTorch's frozen modules
    do: the code packs constants of tensors there.

    Attributes:
        operator: what packs them.
        numbers: its further arguments: lists of ints, and an int.
    """

    operator: str
    weight: Tensor
    bias: Tensor | None
    numbers: tuple[list[int] | int, ...] = ()

    def emit(self, em: FunctionEmitter, span: Span | None) -> Sugared:
        """The object, packed where the code asks for it."""
        world = em.resolver.world  # type: ignore[attr-defined]  # text has a TextResolver
        function: Sugared = world.value(f"{OPERATOR_FUNCTIONS}quantized.{self.operator}", em, span)
        bias = None if self.bias is None else _literal(self.bias)
        lists = (ListLiteral(tuple(n)) if isinstance(n, list) else n for n in self.numbers)
        given: Args = [em.constant(value, span) for value in (bias, *lists)]
        return function.call(em, span, [self._weight(em, span), *given], {})

    def _weight(self, em: FunctionEmitter, span: Span | None) -> Value:
        weight = self.weight
        if (held := weight._quantizer) is None:
            return em.constant(_literal(weight), span)
        integers = em.constant(TensorLiteral(weight._array, QUANTIZED[weight.dtype]), span)
        if held.axis is None:
            parts = [em.constant(v, span) for v in (float(held.scale), int(held.zero_point))]
            return em.builtin("aten::_make_per_tensor_quantized_tensor", [integers, *parts], span)
        grid = zip((held.scale, held.zero_point), held.dtypes, strict=True)
        parts = [em.constant(TensorLiteral(part, dtype), span) for part, dtype in grid]
        parts.append(em.constant(held.axis, span))
        return em.builtin("aten::_make_per_channel_quantized_tensor", [integers, *parts], span)


def _literal(tensor: Tensor) -> TensorLiteral:
    return TensorLiteral(tensor._array, tensor.dtype)


def packed_weights(value: pickled.ObjectState, tensors: TensorStore) -> PackedWeights:
    """The packed weights that a constant holds.

    Raises:
        ArchiveError: it is another object, or its state is not what such objects have.
    """
    match value.state:
        case (pickled.TensorRef() as weight, bias) if value.type_name == _LINEAR:
            held = tensors.tensor(weight)
            name = "linear_prepack" if held.is_quantized else "linear_prepack_fp16"
            return PackedWeights(name, held, _optional(bias, tensors))
        case ("2", pickled.TaggedList([numbers, weight]), pickled.TaggedList([bias])) if (
            value.type_name in _CONVOLUTIONS
            and isinstance(numbers, pickled.TensorRef)
            and isinstance(weight, pickled.TensorRef)
        ):
            kind, given = _convolution(tensors.tensor(numbers).tolist())
            name = f"{_CONVOLUTIONS[value.type_name].replace('conv', kind)}_prepack"
            return PackedWeights(name, tensors.tensor(weight), _optional(bias, tensors), given)
    raise ArchiveError(f"CONSTANTS holds an object of {value.type_name}, which is not supported")


def _optional(value: object, tensors: TensorStore) -> Tensor | None:
    return tensors.tensor(value) if isinstance(value, pickled.TensorRef) else None


def _convolution(numbers: list[int]) -> tuple[str, tuple[list[int] | int, ...]]:
    """The kind and the further arguments of what packs a convolution, from its saved numbers."""
    n = numbers[0] if numbers else 0
    if len(numbers) != 4 * n + 3:
        raise ArchiveError("the archive holds malformed packed weights")
    stride, padding, dilation, output = (numbers[1 + k * n : 1 + (k + 1) * n] for k in range(4))
    groups, transposed = numbers[-2:]
    if transposed:
        return "conv_transpose", (stride, padding, output, dilation, groups)
    return "conv", (stride, padding, dilation, groups)
