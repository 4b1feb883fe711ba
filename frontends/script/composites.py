"""Functions of `torch` that are several operators, written in the language itself.

In PyTorch they stand in torch/functional.py, as overloads by the types of their arguments, or as
pairs that a flag known while compiling chooses between.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cache

from tensorscript.base.records import dataclass

from .callables import Deferred, Dispatch
from .text_library import TextLibrary
from .values import Sugared

PREFIX = "__torch__.torch.functional"

_UNIQUE = """
def {name}(input: Tensor, {head}return_inverse: bool=False, return_counts: bool=False, dim: Optional[int]=None) -> {result}:
  if dim is not None:
    output, inverse, counts = torch.{by_dim}
  else:
    output, inverse, counts = torch.{flat}
  return {given}
"""  # noqa: E501  # lines of script text
_RESULTS = (
    ("Tensor", "output"), ("Tuple[Tensor, Tensor]", "output, counts"),
    ("Tuple[Tensor, Tensor]", "output, inverse"),
    ("Tuple[Tensor, Tensor, Tensor]", "output, inverse, counts"),
)  # fmt: skip
"""What `unique` gives, by the flags for the inverse and the counts as binary digits."""

_NORM = """
def norm(input: Tensor, p: str="fro", dim: Optional[{dim}]=None, keepdim: bool=False, out: Optional[Tensor]=None, dtype: Optional[int]=None) -> Tensor:
  dims = {dims}
  if p == "nuc":
    if dims is None:
      return torch.linalg_matrix_norm(input, "nuc", [0, 1], keepdim, dtype=dtype)
    return torch.linalg_matrix_norm(input, "nuc", dims, keepdim, dtype=dtype)
  if p != "fro":
    raise RuntimeError("only valid string values are 'fro' and 'nuc', found {{}}".format(p))
  return torch.linalg_vector_norm(input, 2, dims, keepdim, dtype=dtype)
"""  # noqa: E501  # as above
_NUMBER_NORM = """
def norm(input: Tensor, p: Optional[number]=2, dim: Optional[{dim}]=None, keepdim: bool=False, out: Optional[Tensor]=None, dtype: Optional[int]=None) -> Tensor:
  dims = {dims}
  if p is None:
    return torch.linalg_vector_norm(input, 2, dims, keepdim, dtype=dtype)
  return torch.linalg_vector_norm(input, p, dims, keepdim, dtype=dtype)
"""  # noqa: E501  # as above
_TENSORDOT = """
def tensordot(a: Tensor, b: Tensor, dims: int=2, out: Optional[Tensor]=None) -> Tensor:
  if dims < 0:
    raise RuntimeError("tensordot expects dims >= 0, but got dims={}".format(dims))
  first = annotate(List[int], [])
  second = annotate(List[int], [])
  for i in range(dims):
    first.append(i - dims)
    second.append(i)
  if out is None:
    return torch.tensordot(a, b, first, second)
  return torch.tensordot(a, b, first, second, out=out)
def tensordot__1(a: Tensor, b: Tensor, dims: Tuple[List[int], List[int]], out: Optional[Tensor]=None) -> Tensor:
  if out is None:
    return torch.tensordot(a, b, dims[0], dims[1])
  return torch.tensordot(a, b, dims[0], dims[1], out=out)
def tensordot__2(a: Tensor, b: Tensor, dims: List[List[int]], out: Optional[Tensor]=None) -> Tensor:
  if out is None:
    return torch.tensordot(a, b, dims[0], dims[1])
  return torch.tensordot(a, b, dims[0], dims[1], out=out)
def tensordot__3(a: Tensor, b: Tensor, dims: Tensor, out: Optional[Tensor]=None) -> Tensor:
  first = annotate(List[int], [])
  second = annotate(List[int], [])
  if dims.numel() > 1:
    if dims.size(0) != 2:
      raise AssertionError("dims must have two rows, and has {}".format(dims.size(0)))
    for pair in dims.t():
      first.append(int(pair[0]))
      second.append(int(pair[1]))
  else:
    count = int(dims.item())
    if count < 0:
      raise RuntimeError("tensordot expects dims >= 0, but got dims={}".format(dims))
    for i in range(count):
      first.append(i - count)
      second.append(i)
  if out is None:
    return torch.tensordot(a, b, first, second)
  return torch.tensordot(a, b, first, second, out=out)
"""  # noqa: E501  # as above
_CDIST = """
def cdist(x1: Tensor, x2: Tensor, p: float=2., compute_mode: str="use_mm_for_euclid_dist_if_necessary") -> Tensor:
  if compute_mode == "use_mm_for_euclid_dist_if_necessary":
    return torch.cdist(x1, x2, p, None)
  elif compute_mode == "use_mm_for_euclid_dist":
    return torch.cdist(x1, x2, p, 1)
  elif compute_mode == "donot_use_mm_for_euclid_dist":
    return torch.cdist(x1, x2, p, 2)
  else:
    raise ValueError(f"{compute_mode} is not a valid value for compute_mode")
"""  # noqa: E501  # lines of script text
_STFT = """
def stft(input: Tensor, n_fft: int, hop_length: Optional[int]=None, win_length: Optional[int]=None, window: Optional[Tensor]=None, center: bool=True, pad_mode: str="reflect", normalized: bool=False, onesided: Optional[bool]=None, return_complex: Optional[bool]=None, align_to_window: Optional[bool]=None) -> Tensor:
  return torch.stft(input, n_fft, hop_length, win_length, window, center, pad_mode, normalized, onesided, return_complex, align_to_window)
"""  # noqa: E501  # as above


_LU = """
def _lu_no_infos(A: Tensor, pivot: bool=True, get_infos: bool=False, out: Optional[Tuple[Tensor, Tensor]]=None) -> Tuple[Tensor, Tensor]:
  factors, pivots, _ = torch._lu_with_info(A, pivot, True)
  return factors, pivots
def _lu_with_infos(A: Tensor, pivot: bool=True, get_infos: bool=False, out: Optional[Tuple[Tensor, Tensor, Tensor]]=None) -> Tuple[Tensor, Tensor, Tensor]:
  return torch._lu_with_info(A, pivot, False)
"""  # noqa: E501  # as above


def _unique(name: str, head: str, by_dim: str, flat: str) -> str:
    return "".join(
        _UNIQUE.format(
            name=f"{name}__{at}", head=head, result=result, given=given, by_dim=by_dim, flat=flat
        )
        for at, (result, given) in enumerate(_RESULTS)
    )


def _norms() -> str:
    listed = ("List[int]", "dim")
    single = ("int", "None if dim is None else annotate(List[int], [dim])")
    texts = [t.format(dim=d, dims=s) for d, s in (listed, single) for t in (_NORM, _NUMBER_NORM)]
    return "".join(
        text.replace("def norm(", f"def norm__{at}(") if at else text
        for at, text in enumerate(texts)
    )


@cache
def composite_library() -> TextLibrary:
    """The definitions, under PyTorch's qualified names."""
    unique = _unique(
        "unique", "sorted: bool=True, ",
        "unique_dim(input, dim, sorted, return_inverse, return_counts)",
        "_unique2(input, sorted, return_inverse, return_counts)",
    )  # fmt: skip
    consecutive = _unique(
        "unique_consecutive", "",
        "unique_consecutive(input, return_inverse, return_counts, dim)",
        "unique_consecutive(input, return_inverse, return_counts)",
    )  # fmt: skip
    text = unique + consecutive + _norms() + _TENSORDOT + _CDIST + _STFT + _LU
    return TextLibrary.parse(text, PREFIX, "functional.py")


OVERLOADED = {"norm": 4, "tensordot": 4, "cdist": 1, "stft": 1}
"""Functions chosen by the types of their arguments, and how many there are of each."""

FLAGGED: dict[str, tuple[tuple[str, int], ...]] = {
    "unique": (("return_inverse", 2), ("return_counts", 3)),
    "unique_consecutive": (("return_inverse", 1), ("return_counts", 2)),
    "lu": (("get_infos", 2),),
}
"""Functions chosen by flags that are known while compiling: their names and places."""

_FORMS = {"lu": ("_lu_no_infos", "_lu_with_infos")}
"""What the forms are called, by the flags as binary digits, where not by that number."""


def overload_names(name: str) -> list[str]:
    """The qualified names of the overloads of a function."""
    return [
        f"{PREFIX}.{name}__{at}" if at else f"{PREFIX}.{name}" for at in range(OVERLOADED[name])
    ]


@dataclass(frozen=True)
class Flags:
    """Chooses a form of a function by its flags."""

    name: str
    form: Callable[[str], Sugared]

    def dispatch(self) -> Sugared:
        return self._by(FLAGGED[self.name], 0)

    def _by(self, flags: tuple[tuple[str, int], ...], number: int) -> Sugared:
        """The form, by the flags that are left; `number` is made of those before."""
        if not flags:
            return self._deferred(number)
        (name, at), *rest = flags
        forms = {value: self._by(tuple(rest), 2 * number + value) for value in (False, True)}
        return Dispatch(forms, name, at, False)

    def _deferred(self, number: int) -> Sugared:
        own = _FORMS.get(self.name)
        called = own[number] if own is not None else f"{self.name}__{number}"
        return Deferred(lambda: self.form(f"{PREFIX}.{called}"))
