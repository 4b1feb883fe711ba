"""Operators that archives of PyTorch 1.0 to 1.4 call and that are text here.

PyTorch still has them in C++ (`register_prim_ops_fulljit.cpp`) or as text of its own
(`builtin_functions.cpp`); what they compute today is what they computed then.
"""

from __future__ import annotations

from tensorscript.base.records import dataclass
from tensorscript.base.source import Span
from tensorscript.dialects.ts.types import ListType, OptionalType
from tensorscript.frontends.script.callables import Builtin
from tensorscript.frontends.script.draft import Value
from tensorscript.frontends.script.function import FunctionEmitter
from tensorscript.frontends.script.values import Args, Kwargs, Sugared

_INTERPOLATE = """
def {name}(input: Tensor, size: Optional[{size}]=None, scale_factor: Optional[{scale}]=None, \
mode: str="nearest", align_corners: Optional[bool]=None, \
recompute_scale_factor: Optional[bool]=None, antialias: bool=False) -> Tensor:
  spatial = torch.sub(torch.dim(input), 2)
  sizes = annotate(Optional[List[int]], None)
  scales = annotate(Optional[List[float]], None)
  if size is not None:
    sizes = {sizes}
  if scale_factor is not None:
    scales = {scales}
  return __torch__.upgraders.resample(input, sizes, scales, mode, align_corners, \
recompute_scale_factor)

"""
_ONE_SIZE, _ONE_SCALE = "[size for i in range(spatial)]", "[scale_factor for i in range(spatial)]"

TEXT = """
def whole_norm(self: Tensor) -> Tensor:
  return torch.norm(self, 2)

def sizes_or_default(out_size: List[int], defaults: List[int]) -> List[int]:
  assert torch.gt(torch.len(defaults), torch.len(out_size))
  return out_size

def resample(input: Tensor, size: Optional[List[int]], scale: Optional[List[float]], mode: str, \
align_corners: Optional[bool], recompute: Optional[bool]) -> Tensor:
  aligned = False
  if align_corners is not None:
    if mode == "nearest" or mode == "area":
      raise RuntimeError("align_corners option can only be set with the interpolating modes: \
linear | bilinear | bicubic | trilinear")
    aligned = align_corners
  scaled = recompute is not None and not recompute
  if scale is not None and (not scaled or mode == "area"):
    found = annotate(List[int], [])
    for i in range(len(scale)):
      found.append(int(torch.floor(torch.mul(float(torch.size(input, i + 2)), scale[i]))))
    size = found
    scale = None
  if size is None and scale is None:
    raise RuntimeError("either size or scale_factor should be defined")
  if mode == "area" and size is not None:
    if torch.dim(input) == 3:
      return torch.adaptive_avg_pool1d(input, size)
    if torch.dim(input) == 4:
      return torch.adaptive_avg_pool2d(input, size)
    return torch.adaptive_avg_pool3d(input, size)
  if torch.dim(input) == 3 and mode == "nearest":
    return torch.upsample_nearest1d(input, size, scale)
  if torch.dim(input) == 4 and mode == "nearest":
    return torch.upsample_nearest2d(input, size, scale)
  if torch.dim(input) == 5 and mode == "nearest":
    return torch.upsample_nearest3d(input, size, scale)
  if torch.dim(input) == 3 and mode == "linear":
    return torch.upsample_linear1d(input, size, aligned, scale)
  if torch.dim(input) == 4 and mode == "bilinear":
    return torch.upsample_bilinear2d(input, size, aligned, scale)
  if torch.dim(input) == 4 and mode == "bicubic":
    return torch.upsample_bicubic2d(input, size, aligned, scale)
  if torch.dim(input) == 5 and mode == "trilinear":
    return torch.upsample_trilinear3d(input, size, aligned, scale)
  raise RuntimeError("Input Error: Only 3D, 4D and 5D input Tensors supported for the modes: \
nearest | linear | bilinear | bicubic | trilinear | area")

""" + "".join(
    _INTERPOLATE.format(
        name=f"interpolate_{'list' if many else 'one'}_{'list' if factors else 'one'}",
        size="List[int]" if many else "int",
        scale="List[float]" if factors else "float",
        sizes="size" if many else _ONE_SIZE,
        scales="scale_factor" if factors else _ONE_SCALE,
    )
    for many in (False, True)
    for factors in (False, True)
)

NAMES = frozenset({"list_with_default", "frobenius_norm", "__interpolate", "__upsample"})
"""How code calls them: `torch.list_with_default`."""


@dataclass
class Removed(Sugared):
    """One of them."""

    kind = "builtin"
    prefix: str
    name: str

    def call(self, em: FunctionEmitter, span: Span | None, args: Args, kwargs: Kwargs) -> Sugared:  # type: ignore[override]  # text is only ever emitted by FunctionEmitter
        world = em.resolver.world  # type: ignore[attr-defined]  # text has a TextResolver
        if self.name == "frobenius_norm" and (len(args), len(kwargs)) != (1, 0):
            return Builtin("aten::frobenius_norm").call(em, span, args, kwargs)
        if (chosen := _TEXTS.get(self.name, "")) == "":
            size, scale = (_given(args, kwargs, *place) for place in _SIZES)
            chosen = f"interpolate_{_amount(size)}_{_amount(scale)}"
        function: Sugared = world.value(f"{self.prefix}.{chosen}", em, span)
        return function.call(em, span, args, kwargs)


_TEXTS = {"list_with_default": "sizes_or_default", "frobenius_norm": "whole_norm"}
_SIZES = ((1, "size"), (2, "scale_factor"))


def _given(args: Args, kwargs: Kwargs, at: int, name: str) -> Value | None:
    return args[at] if at < len(args) else kwargs.get(name)


def _amount(value: Value | None) -> str:
    """Whether an argument is one number (or left out), or a list of them."""
    if value is None:
        return "one"
    type_ = value.type.element if isinstance(value.type, OptionalType) else value.type
    return "list" if isinstance(type_, ListType) else "one"
