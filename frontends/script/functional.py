"""`nn.functional` in the language itself: functions whose arguments differ from any operator's.

PyTorch writes these functions in Python and compiles them from source; here they are text, so that
scripts of either library mean the same. A name `f__1` is a further overload of `f`. Functions that
are not here are operators of their own name.
"""

from __future__ import annotations

from functools import cache

from .text import TextLibrary

PREFIX = "__torch__.torch.nn.functional"

_REDUCED = """
def _reduction(reduction: str) -> int:
  if reduction == "none":
    code = 0
  elif reduction == "mean":
    code = 1
  elif reduction == "sum":
    code = 2
  else:
    code = -1
    raise ValueError("{} is not a valid value for reduction".format(reduction))
  return code
"""

_PROBABILITY = "dropout probability has to be between 0 and 1, but got {}"


def _dropout(name: str, operator: str, p: float = 0.5, training: bool = True) -> str:
    return f"""
def {name}(input: Tensor, p: float={p}, training: bool={training}, inplace: bool=False) -> Tensor:
  if p < 0.0 or p > 1.0:
    raise ValueError("{_PROBABILITY}".format(p))
  if inplace:
    return torch.{operator}_(input, p, training)
  return torch.{operator}(input, p, training)
"""


def _activation(name: str, parameters: str = "", arguments: str = "") -> str:
    more, rest = (f", {parameters}" if parameters else ""), (f", {arguments}" if arguments else "")
    return f"""
def {name}(input: Tensor{more}, inplace: bool=False) -> Tensor:
  if inplace:
    return torch.{name}_(input{rest})
  return torch.{name}(input{rest})
"""


def _softmax(name: str, operator: str, sign: str = "") -> str:
    return f"""
def {name}(input: Tensor, dim: Optional[int]=None, _stacklevel: int=3, dtype: Optional[int]=None) -> Tensor:
  if dim is None:
    if input.dim() == 0 or input.dim() == 1 or input.dim() == 3:
      along = 0
    else:
      along = 1
  else:
    along = dim
  return torch.{operator}({sign}input, along, dtype)
"""  # noqa: E501  # one line of script text


def _pair_loss(name: str, last: str = "", argument: str = "") -> str:
    return f"""
def {name}(input: Tensor, target: Tensor, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean"{last}) -> Tensor:
  a, b = torch.broadcast_tensors([input, target])
  return torch.{name}(a, b, {PREFIX}._reduction(reduction){argument})
"""  # noqa: E501  # one line of script text


def _max_pool(n: int) -> str:
    sizes = f"BroadcastingList{n}[int]"
    return f"""
def max_pool{n}d(input: Tensor, kernel_size: {sizes}, stride: Optional[{sizes}]=None, padding: {sizes}=0, dilation: {sizes}=1, ceil_mode: bool=False, return_indices: bool=False) -> Tensor:
  if stride is None:
    stride = annotate(List[int], [])
  return torch.max_pool{n}d(input, kernel_size, stride, padding, dilation, ceil_mode)
"""  # noqa: E501  # one line of script text


_LOSSES = """
def cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor]=None, size_average: Optional[bool]=None, ignore_index: int=-100, reduce: Optional[bool]=None, reduction: str="mean", label_smoothing: float=0.0) -> Tensor:
  return torch.cross_entropy_loss(input, target, weight, PREFIX._reduction(reduction), ignore_index, label_smoothing)
def nll_loss(input: Tensor, target: Tensor, weight: Optional[Tensor]=None, size_average: Optional[bool]=None, ignore_index: int=-100, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.nll_loss_nd(input, target, weight, PREFIX._reduction(reduction), ignore_index)
def binary_cross_entropy(input: Tensor, target: Tensor, weight: Optional[Tensor]=None, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.binary_cross_entropy(input, target, weight, PREFIX._reduction(reduction))
def binary_cross_entropy_with_logits(input: Tensor, target: Tensor, weight: Optional[Tensor]=None, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean", pos_weight: Optional[Tensor]=None) -> Tensor:
  return torch.binary_cross_entropy_with_logits(input, target, weight, pos_weight, PREFIX._reduction(reduction))
def huber_loss(input: Tensor, target: Tensor, reduction: str="mean", delta: float=1.0) -> Tensor:
  a, b = torch.broadcast_tensors([input, target])
  return torch.huber_loss(a, b, PREFIX._reduction(reduction), delta)
def kl_div(input: Tensor, target: Tensor, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean", log_target: bool=False) -> Tensor:
  if reduction == "batchmean":
    return torch.kl_div(input, target, 2, log_target=log_target) / input.size(0)
  return torch.kl_div(input, target, PREFIX._reduction(reduction), log_target=log_target)
def cosine_embedding_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float=0.0, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.cosine_embedding_loss(input1, input2, target, margin, PREFIX._reduction(reduction))
def margin_ranking_loss(input1: Tensor, input2: Tensor, target: Tensor, margin: float=0.0, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.margin_ranking_loss(input1, input2, target, margin, PREFIX._reduction(reduction))
def hinge_embedding_loss(input: Tensor, target: Tensor, margin: float=1.0, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.hinge_embedding_loss(input, target, margin, PREFIX._reduction(reduction))
def triplet_margin_loss(anchor: Tensor, positive: Tensor, negative: Tensor, margin: float=1.0, p: float=2.0, eps: float=1e-6, swap: bool=False, size_average: Optional[bool]=None, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.triplet_margin_loss(anchor, positive, negative, margin, p, eps, swap, PREFIX._reduction(reduction))
def poisson_nll_loss(input: Tensor, target: Tensor, log_input: bool=True, full: bool=False, size_average: Optional[bool]=None, eps: float=1e-8, reduce: Optional[bool]=None, reduction: str="mean") -> Tensor:
  return torch.poisson_nll_loss(input, target, log_input, full, eps, PREFIX._reduction(reduction))
"""  # noqa: E501  # lines of script text

_NORMS = """
def batch_norm(input: Tensor, running_mean: Optional[Tensor], running_var: Optional[Tensor], weight: Optional[Tensor]=None, bias: Optional[Tensor]=None, training: bool=False, momentum: float=0.1, eps: float=1e-5) -> Tensor:
  return torch.batch_norm(input, weight, bias, running_mean, running_var, training, momentum, eps, True)
def instance_norm(input: Tensor, running_mean: Optional[Tensor]=None, running_var: Optional[Tensor]=None, weight: Optional[Tensor]=None, bias: Optional[Tensor]=None, use_input_stats: bool=True, momentum: float=0.1, eps: float=1e-5) -> Tensor:
  return torch.instance_norm(input, weight, bias, running_mean, running_var, use_input_stats, momentum, eps, True)
def layer_norm(input: Tensor, normalized_shape: List[int], weight: Optional[Tensor]=None, bias: Optional[Tensor]=None, eps: float=1e-5) -> Tensor:
  return torch.layer_norm(input, normalized_shape, weight, bias, eps, True)
def group_norm(input: Tensor, num_groups: int, weight: Optional[Tensor]=None, bias: Optional[Tensor]=None, eps: float=1e-5) -> Tensor:
  return torch.group_norm(input, num_groups, weight, bias, eps, True)
def normalize(input: Tensor, p: float=2.0, dim: int=1, eps: float=1e-12, out: Optional[Tensor]=None) -> Tensor:
  size = input.norm(p, dim, keepdim=True).clamp_min(eps).expand_as(input)
  return input / size
def embedding(input: Tensor, weight: Tensor, padding_idx: Optional[int]=None, max_norm: Optional[float]=None, norm_type: float=2.0, scale_grad_by_freq: bool=False, sparse: bool=False) -> Tensor:
  if padding_idx is None:
    at = -1
  elif padding_idx < 0:
    at = weight.size(0) + padding_idx
  else:
    at = padding_idx
  return torch.embedding(weight, input, at, scale_grad_by_freq, sparse)
def logsigmoid(input: Tensor) -> Tensor:
  return torch.log_sigmoid(input)
def softsign(input: Tensor) -> Tensor:
  return input / (input.abs() + 1)
def tanhshrink(input: Tensor) -> Tensor:
  return input - input.tanh()
def softmin(input: Tensor, dim: Optional[int]=None, _stacklevel: int=3, dtype: Optional[int]=None) -> Tensor:
  return PREFIX.softmax(-input, dim, _stacklevel, dtype)
def glu(input: Tensor, dim: int=-1) -> Tensor:
  if input.dim() == 0:
    raise RuntimeError("glu does not support scalars because halving size must be even")
  return torch.glu(input, dim)
def unfold(input: Tensor, kernel_size: BroadcastingList2[int], dilation: BroadcastingList2[int]=1, padding: BroadcastingList2[int]=0, stride: BroadcastingList2[int]=1) -> Tensor:
  return torch.im2col(input, kernel_size, dilation, padding, stride)
def fold(input: Tensor, output_size: BroadcastingList2[int], kernel_size: BroadcastingList2[int], dilation: BroadcastingList2[int]=1, padding: BroadcastingList2[int]=0, stride: BroadcastingList2[int]=1) -> Tensor:
  return torch.col2im(input, output_size, kernel_size, dilation, padding, stride)
"""  # noqa: E501  # lines of script text

_MODES = (
    ("nearest", 1, "upsample_nearest1d", ""),
    ("nearest", 2, "upsample_nearest2d", ""),
    ("nearest", 3, "upsample_nearest3d", ""),
    ("nearest-exact", 1, "_upsample_nearest_exact1d", ""),
    ("nearest-exact", 2, "_upsample_nearest_exact2d", ""),
    ("nearest-exact", 3, "_upsample_nearest_exact3d", ""),
    ("linear", 1, "upsample_linear1d", ", align"),
    ("bilinear", 2, "upsample_bilinear2d", ", align"),
    ("trilinear", 3, "upsample_trilinear3d", ", align"),
    ("bicubic", 2, "upsample_bicubic2d", ", align"),
)
"""Mode, spatial dimensions, operator, and what stands before its scales."""

_OPTIONS = (
    'mode: str="nearest", align_corners: Optional[bool]=None, '
    "recompute_scale_factor: Optional[bool]=None, antialias: bool=False"
)
_PASSED = "mode, align_corners, recompute_scale_factor, antialias"


def _interpolate() -> str:
    """Four overloads: one number or a list, as a size or as a factor."""
    branches = "".join(
        f"""
  if input.dim() == {n + 2} and mode == "{mode}":
    return torch.{operator}(input, size{align}, scale_factor)"""
        for mode, n, operator, align in _MODES
    )
    core = f"""
def _resample(input: Tensor, size: Optional[List[int]], scale_factor: Optional[List[float]], {_OPTIONS}) -> Tensor:
  if size is None and scale_factor is None:
    raise ValueError("either size or scale_factor should be defined")
  if size is not None and scale_factor is not None:
    raise ValueError("only one of size or scale_factor should be defined")
  if antialias:
    raise ValueError("Anti-alias option is not available")
  align = False
  if align_corners is not None:
    if mode == "nearest" or mode == "area" or mode == "nearest-exact":
      raise ValueError("align_corners option can only be set with the interpolating modes: linear | bilinear | bicubic | trilinear")
    align = align_corners
  if recompute_scale_factor is not None and recompute_scale_factor:
    if scale_factor is not None:
      sizes = annotate(List[int], [])
      for i in range(len(scale_factor)):
        sizes.append(int(torch.floor(float(input.size(i + 2)) * scale_factor[i])))
      size = sizes
      scale_factor = None{branches}
  raise NotImplementedError("Input Error: {{}}D input with mode {{}} is not available".format(input.dim(), mode))
"""  # noqa: E501  # lines of script text
    one, many = "size: Optional[int]=None", "size: Optional[List[int]]=None"
    factors = "scale_factor: Optional[List[float]]=None"
    factor = "scale_factor: Optional[float]=None"
    sizes, scales = "_sizes(input, size)", "_scales(input, scale_factor)"
    overloads = [
        (f"{one}, {factors}", sizes, "scale_factor"),
        (f"{many}, {factors}", "size", "scale_factor"),
        (f"{one}, {factor}", sizes, scales),
        (f"{many}, {factor}", "size", scales),
    ]
    helpers = """
def _sizes(input: Tensor, size: Optional[int]) -> Optional[List[int]]:
  if size is None:
    return None
  return [size for _ in range(input.dim() - 2)]
def _scales(input: Tensor, scale: Optional[float]) -> Optional[List[float]]:
  if scale is None:
    return None
  return [scale for _ in range(input.dim() - 2)]
"""
    faces = ""
    for name in ("interpolate", "upsample"):
        for at, (formals, size, scale) in enumerate(overloads):
            size, scale = (f"{PREFIX}.{t}" if t.startswith("_") else t for t in (size, scale))
            label = name if at == 0 else f"{name}__{at}"
            faces += f"""
def {label}(input: Tensor, {formals}, {_OPTIONS}) -> Tensor:
  return {PREFIX}._resample(input, {size}, {scale}, {_PASSED})
"""
    return core + helpers + faces


def _source() -> str:
    parts = [
        _REDUCED,
        _dropout("dropout", "dropout"),
        _dropout("alpha_dropout", "alpha_dropout", training=False),
        *(_dropout(f"dropout{n}d", "feature_dropout") for n in (1, 2, 3)),
        _dropout("feature_alpha_dropout", "feature_alpha_dropout", training=False),
        *(_activation(n) for n in ("relu", "relu6", "selu", "silu", "mish")),
        *(_activation(n) for n in ("hardsigmoid", "hardswish")),
        _activation("elu", "alpha: float=1.0", "alpha"),
        _activation("celu", "alpha: float=1.0", "alpha"),
        _activation("leaky_relu", "negative_slope: float=0.01", "negative_slope"),
        _activation("hardtanh", "min_val: float=-1.0, max_val: float=1.0", "min_val, max_val"),
        _activation("threshold", "threshold: float, value: float", "threshold, value"),
        _softmax("softmax", "softmax"),
        _softmax("log_softmax", "log_softmax"),
        *(_pair_loss(n) for n in ("mse_loss", "l1_loss", "soft_margin_loss")),
        _pair_loss("smooth_l1_loss", ", beta: float=1.0", ", beta"),
        *(_max_pool(n) for n in (1, 2, 3)),
        _LOSSES.replace("PREFIX", PREFIX),
        _NORMS.replace("PREFIX", PREFIX),
        _interpolate(),
    ]
    return "".join(parts)


@cache
def functional_library() -> TextLibrary:
    """The definitions, under PyTorch's qualified names."""
    return TextLibrary.parse(_source(), PREFIX, "functional.py")


@cache
def overloads(name: str) -> tuple[str, ...]:
    """The qualified names of the overloads of `nn.functional.<name>`; none if it is an operator."""
    if name.startswith("_"):
        return ()
    return tuple(
        full
        for full in functional_library().definitions
        if full.removeprefix(f"{PREFIX}.").partition("__")[0] == name
    )
