"""`nn.functional` in script: functions that are no operators, or whose defaults differ from one.

The eager faces take Python values and cannot be compiled; these texts say the same in TorchScript.
Names that are not here are operators of that name.
"""

from __future__ import annotations

from .text import TextLibrary

PREFIX = "__torch__.tensorscript.nn.functional"

_ACTIVATION = """
def {name}(input: Tensor{formals}, inplace: bool=False) -> Tensor:
  if inplace:
    result = torch.{name}_(input{actuals})
  else:
    result = torch.{name}(input{actuals})
  return result
"""

_ACTIVATIONS = {
    "relu": ("", ""),
    "relu6": ("", ""),
    "silu": ("", ""),
    "mish": ("", ""),
    "selu": ("", ""),
    "hardsigmoid": ("", ""),
    "hardswish": ("", ""),
    "elu": (", alpha: float=1.", ", alpha"),
    "celu": (", alpha: float=1.", ", alpha"),
    "leaky_relu": (", negative_slope: float=0.01", ", negative_slope"),
    "hardtanh": (", min_val: float=-1., max_val: float=1.", ", min_val, max_val"),
    "threshold": (", threshold: float, value: float", ", threshold, value"),
}

_TEXT = """
def dropout(input: Tensor, p: float=0.5, training: bool=True, inplace: bool=False) -> Tensor:
  if p < 0. or p > 1.:
    raise ValueError("dropout probability has to be between 0 and 1, but got {}".format(p))
  if inplace:
    result = torch.dropout_(input, p, training)
  else:
    result = torch.dropout(input, p, training)
  return result

def _softmax_dim(dims: int) -> int:
  if dims == 0 or dims == 1 or dims == 3:
    dim = 0
  else:
    dim = 1
  return dim

def softmax(input: Tensor, dim: Optional[int]=None, _stacklevel: int=3, dtype: Optional[int]=None) -> Tensor:
  if dim is None:
    chosen = __torch__.tensorscript.nn.functional._softmax_dim(torch.dim(input))
  else:
    chosen = dim
  return torch.softmax(input, chosen, dtype)

def log_softmax(input: Tensor, dim: Optional[int]=None, _stacklevel: int=3, dtype: Optional[int]=None) -> Tensor:
  if dim is None:
    chosen = __torch__.tensorscript.nn.functional._softmax_dim(torch.dim(input))
  else:
    chosen = dim
  return torch.log_softmax(input, chosen, dtype)

def _reduction(name: str) -> int:
  if name == "none":
    code = 0
  elif name == "mean":
    code = 1
  elif name == "sum":
    code = 2
  else:
    raise ValueError("{} is not a valid value for reduction".format(name))
  return code

def mse_loss(input: Tensor, target: Tensor, reduction: str="mean") -> Tensor:
  return torch.mse_loss(input, target, __torch__.tensorscript.nn.functional._reduction(reduction))

def l1_loss(input: Tensor, target: Tensor, reduction: str="mean") -> Tensor:
  return torch.l1_loss(input, target, __torch__.tensorscript.nn.functional._reduction(reduction))

def nll_loss(input: Tensor, target: Tensor, weight: Optional[Tensor]=None, ignore_index: int=-100, reduction: str="mean") -> Tensor:
  code = __torch__.tensorscript.nn.functional._reduction(reduction)
  return torch.nll_loss_nd(input, target, weight, code, ignore_index)

def cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor]=None, ignore_index: int=-100, reduction: str="mean", label_smoothing: float=0.) -> Tensor:
  code = __torch__.tensorscript.nn.functional._reduction(reduction)
  return torch.cross_entropy_loss(input, target, weight, code, ignore_index, label_smoothing)

def embedding(input: Tensor, weight: Tensor, padding_idx: Optional[int]=None) -> Tensor:
  at = -1
  if padding_idx is not None:
    at = padding_idx
    if at < 0:
      at = at + torch.size(weight, 0)
  return torch.embedding(weight, input, at, False, False)

def batch_norm(input: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], weight: Optional[Tensor]=None, bias: Optional[Tensor]=None, training: bool=False, momentum: float=0.1, eps: float=1e-05) -> Tensor:
  return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, False)

def normalize(input: Tensor, p: float=2., dim: int=1, eps: float=1e-12) -> Tensor:
  length = torch.norm(input, p, [dim], True)
  return input / torch.expand_as(torch.clamp_min(length, eps), input)
"""  # noqa: E501 - a signature is one line of the text


def functional_library() -> TextLibrary:
    """The texts, under `PREFIX`."""
    activations = "".join(
        _ACTIVATION.format(name=name, formals=formals, actuals=actuals)
        for name, (formals, actuals) in _ACTIVATIONS.items()
    )
    return TextLibrary.parse(activations + _TEXT, PREFIX, "functional.py")
