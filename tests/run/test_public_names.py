"""The names of PyTorch's Python package: each is here, or has a reason not to be."""

from __future__ import annotations

import copy
import io
import pickle
import types
import warnings
from typing import Any

import pytest

import tensorscript as ts
from tensorscript.base.errors import ArgumentError, MissingKernelError, OperatorError
from tensorscript.eager.absent import absence


@pytest.mark.torch
def test_every_name_of_torch_is_here_or_has_a_reason() -> None:
    torch = pytest.importorskip("torch")
    lacking = []
    for name in dir(torch):
        value = getattr(torch, name)
        is_others = isinstance(value, types.ModuleType) and not value.__name__.startswith("torch")
        if name.startswith("_") or is_others or hasattr(ts, name) or absence(name):
            continue
        lacking.append(name)
    assert not lacking


class Layers:
    """Operators as class attributes, as layers of a table of activations have them."""

    act, norm, pool, make = ts.relu, ts.nn.functional.layer_norm, ts.avg_pool1d, ts.tensor
    attend = ts.nn.functional.scaled_dot_product_attention


def test_operators_do_not_become_methods() -> None:
    layers = Layers()
    x = ts.tensor([-1.0, 2.0])
    assert layers.act(x).tolist() == [0.0, 2.0]
    assert layers.make([1, 2]).tolist() == [1, 2]
    q = ts.ones(1, 2, 3)
    assert layers.attend(q, q, q).shape == (1, 2, 3)
    assert Layers.act is ts.relu is layers.act


def test_operators_are_copied_and_pickled_as_themselves() -> None:
    for function in (ts.relu, ts.tensor, ts.conv2d, ts.linalg.norm, ts.special.expit):
        assert copy.deepcopy(function) is function
        assert pickle.loads(pickle.dumps(function)) is function
    assert ts.relu.__name__ == "relu" and callable(ts.relu)
    assert repr(ts.relu) == "<built-in method relu>"


def test_dtypes_that_only_have_a_name() -> None:
    for dtype in (ts.float8_e4m3fn, ts.float8_e5m2, ts.complex32):
        assert dtype not in (ts.float32, ts.uint8) and pickle.loads(pickle.dumps(dtype)) is dtype
        message = f"tensors of {dtype} are not supported"
        for make in (
            lambda d: ts.zeros(2, dtype=d),
            lambda d: ts.tensor([1.0], dtype=d),
            lambda d: ts.ones(2).to(d),
            lambda d: ts.promote_types(d, ts.float32),
        ):
            with pytest.raises(OperatorError, match=message):
                make(dtype)
    assert ts.chalf is ts.complex32


@pytest.mark.torch
def test_their_limits_are_those_of_pytorch() -> None:
    torch = pytest.importorskip("torch")
    names = ["float8_e4m3fn", "float8_e5m2", "float8_e4m3fnuz", "float8_e5m2fnuz", "complex32"]
    for name in [*names, "float8_e8m0fnu", "float16", "bfloat16", "float32", "float64"]:
        ours, theirs = getattr(ts, name), getattr(torch, name)
        assert repr(ts.finfo(ours)) == repr(torch.finfo(theirs))
        for field in ("itemsize", "is_floating_point", "is_complex", "is_signed"):
            assert getattr(ours, field) == getattr(theirs, field)


def test_numbers_that_stand_for_sizes() -> None:
    assert not isinstance(3, (ts.SymInt, ts.SymFloat, ts.SymBool))
    assert (ts.sym_max(1, 2.0), ts.sym_min(1, 2), ts.sym_int(2.5), ts.sym_not(True)) == (
        2.0, 1, 2, False,
    )  # fmt: skip
    with pytest.raises(ArgumentError, match="SymInt has no instances"):
        ts.SymInt(3)


def test_former_name_of_a_loss() -> None:
    with pytest.warns(FutureWarning, match="use `NLLLoss`"):
        ts.nn.NLLLoss2d()


@pytest.mark.torch
def test_cross_entropy_of_a_linear_layer() -> None:
    torch = pytest.importorskip("torch")
    options: list[dict[str, Any]] = [
        {}, {"bias": True, "label_smoothing": 0.1}, {"out_features": (2,), "reduction": "sum"},
    ]  # fmt: skip
    x = torch.randn(5, 3, generator=torch.Generator().manual_seed(1))
    for kwargs in options:
        theirs = torch.nn.LinearCrossEntropyLoss(3, 4, **kwargs)
        ours = ts.nn.LinearCrossEntropyLoss(3, 4, **kwargs)
        assert repr(ours) == repr(theirs)
        state = {k: ts.from_numpy(v.numpy().copy()) for k, v in theirs.state_dict().items()}
        ours.load_state_dict(state)
        shape = (5, *kwargs.get("out_features", ()))
        target = torch.arange(torch.Size(shape).numel()).reshape(shape) % 4
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            wanted = theirs(x, target).item()
        found = ours(ts.from_numpy(x.numpy()), ts.from_numpy(target.numpy()))
        assert found.item() == pytest.approx(wanted, rel=1e-5)
    with pytest.raises(OperatorError, match=r"expected weight shape to be \(4,\), got \(3,\)"):
        ts.nn.LinearCrossEntropyLoss(3, 4, weight=ts.ones(3))
    with pytest.raises(ValueError, match="invalid chunking_method: 'half'"):
        ts.nn.LinearCrossEntropyOptions(chunking_method="half")


def test_flags_of_executors_keep_what_they_are_told() -> None:
    binary = ts._C
    assert binary._jit_set_profiling_executor(False) is True
    assert binary._jit_set_profiling_executor(True) is False
    binary._jit_set_texpr_fuser_enabled(False)
    assert not binary._jit_texpr_fuser_enabled()
    binary._jit_set_texpr_fuser_enabled(True)
    assert (binary._jit_set_num_profiled_runs(3), binary._jit_get_num_profiled_runs()) == (1, 3)
    assert (binary._jit_set_num_profiled_runs(1), binary._jit_get_num_profiled_runs()) == (3, 1)
    binary._debug_set_fusion_group_inlining(False)
    assert not binary._debug_get_fusion_group_inlining()
    binary._debug_set_fusion_group_inlining(True)
    assert binary._jit_set_nvfuser_enabled(True) is None and not binary._jit_nvfuser_enabled()
    assert not hasattr(binary, "_jit_pass_fuse")


def test_libraries_see_a_trace_and_no_transforms() -> None:
    seen = []

    def body(x: ts.Tensor) -> ts.Tensor:
        seen.append((ts._C._is_tracing(), ts._C._get_tracing_state() is not None))
        assert not ts._C._are_functorch_transforms_active()
        return x + 1

    x = ts.ones(2)
    body(x)
    ts.jit.trace(body, x, check_trace=False)
    assert seen == [(False, False), (True, True)]


def test_nothing_has_a_tangent() -> None:
    x = ts.ones(2)
    primal, tangent = ts.autograd.forward_ad.unpack_dual(x)
    assert primal is x and tangent is None
    with pytest.raises(MissingKernelError, match="make_dual"):
        ts.autograd.forward_ad.make_dual(x, x)


class _Named:
    """A class that answers functions, as libraries of named or logged tensors have them."""

    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), given: Any = None
    ) -> Any:
        return cls.__name__, function.__name__, [t.__name__ for t in types], len(args), given


class _Silent(_Named):
    @classmethod
    def __torch_function__(
        cls, function: Any, types: Any, args: Any = (), given: Any = None
    ) -> Any:
        return NotImplemented


def _asked(library: Any) -> list[Any]:
    asked = library.overrides
    x, named, silent = library.ones(1), _Named(), _Silent()

    def scale(x: Any, by: float = 1) -> Any:
        raise AssertionError("the class answers")

    with pytest.raises(TypeError, match=r"no implementation found for '.*scale' on types that"):
        asked.handle_torch_function(scale, (silent,), silent)
    given = (x,), (named,), (library.nn.Parameter(x),), [1, silent], ()
    return [
        *map(asked.has_torch_function, given),
        asked.has_torch_function_unary(named), asked.has_torch_function_variadic(x, named),
        *map(asked.is_tensor_like, (x, named, _Named, 3)),
        asked.handle_torch_function(scale, (x, named, silent), named, by=2),
    ]  # fmt: skip


def test_classes_that_answer_functions() -> None:
    answers = _asked(ts)
    assert answers[:5] == [False, True, False, True, False]
    assert answers[-1] == ("_Named", "scale", ["Tensor", "_Silent", "_Named"], 1, {"by": 2})


@pytest.mark.torch
def test_classes_that_answer_functions_as_pytorch() -> None:
    assert _asked(ts) == _asked(pytest.importorskip("torch"))


def test_checkpoints_by_their_other_names() -> None:
    file = io.BytesIO()
    ts.serialization.save({"a": ts.ones(2)}, file)
    assert ts.serialization.load(file.getvalue())["a"].tolist() == [1.0, 1.0]
    with pytest.raises(AttributeError, match="never objects of classes"):
        ts.serialization.add_safe_globals([_Named])
    assert issubclass(ts.OutOfMemoryError, RuntimeError)
