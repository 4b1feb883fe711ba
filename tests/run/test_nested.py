"""Encoders over texts of several lengths: PyTorch's archives make nested tensors of them."""

from __future__ import annotations

import io
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.schema import overloads
from tensorscript.eager.kernels.nested_rules import HANDLED

torch = pytest.importorskip("torch")
pytestmark = [pytest.mark.torch, pytest.mark.filterwarnings("ignore")]

SHOWN = np.array([[1, 1, 1, 0], [1, 1, 1, 1], [1, 0, 0, 0]], bool)
X = np.random.default_rng(3).standard_normal((3, 4, 16), np.float32)


class Encoder(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = torch.nn.TransformerEncoderLayer(16, 4, 32, batch_first=True)
        self.encoder = torch.nn.TransformerEncoder(layer, 2, mask_check=False)

    def forward(self, x: torch.Tensor, hidden: torch.Tensor) -> torch.Tensor:
        return self.encoder(x, src_key_padding_mask=hidden)


def archive(make: Any) -> tuple[bytes, np.ndarray]:
    """What PyTorch saves of an encoder, and what it computes without gradients."""
    torch.manual_seed(0)
    inputs = torch.from_numpy(X), torch.from_numpy(~SHOWN)
    with torch.no_grad():
        made = make(Encoder().eval(), inputs)
        file = io.BytesIO()
        torch.jit.save(made, file)
        return file.getvalue(), made(*inputs).numpy()


def test_a_traced_encoder_is_native() -> None:
    data, wanted = archive(torch.jit.trace)
    module = ts.jit.load(data)
    found = module(ts.from_numpy(X), ts.from_numpy(~SHOWN)).detach().numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert not wanted[~SHOWN].any() and not found[~SHOWN].any()
    compiled = ts.compile(module, cache=False, fallback="error")
    np.testing.assert_allclose(compiled(X, ~SHOWN), wanted, rtol=1e-4, atol=1e-5)


def test_a_scripted_encoder_pads_with_zeros_where_no_gradients_are_asked_for() -> None:
    data, wanted = archive(lambda module, inputs: torch.jit.script(module))
    module = ts.jit.load(data)
    with ts.no_grad():
        found = module(ts.from_numpy(X), ts.from_numpy(~SHOWN)).detach().numpy()
    np.testing.assert_allclose(found, wanted, rtol=1e-4, atol=1e-5)
    assert not found[~SHOWN].any()


def test_masks_that_hide_rows_before_others_are_refused() -> None:
    gap = ts.tensor([[True, False, True, False]] * 3)
    assert not ts._nested_tensor_from_mask_left_aligned(ts.from_numpy(X), gap)
    with pytest.raises(RuntimeError, match="Mask must be left-aligned without gaps"):
        ts._nested_tensor_from_mask(ts.from_numpy(X), gap)


def _made(lib: Any, seed: int = 3) -> Any:
    held = np.random.default_rng(seed).random((3, 4, 2), np.float32) + 0.1
    return lib._nested_tensor_from_mask(lib.from_numpy(held), lib.from_numpy(SHOWN))


PROGRAMS: dict[str, Any] = {
    "abs": lambda t, x: x.abs(), "neg": lambda t, x: -x, "relu_": lambda t, x: x.relu_(),
    "gelu": lambda t, x: t.nn.functional.gelu(x), "silu": lambda t, x: t.nn.functional.silu(x),
    "tanhshrink": lambda t, x: t.nn.functional.tanhshrink(x), "isnan": lambda t, x: x.isnan(),
    "add": lambda t, x: x + 1, "radd": lambda t, x: 1 + x, "mul": lambda t, x: x * t.tensor(2.0),
    "both": lambda t, x: x * _made(t, 4) - x / x, "add_": lambda t, x: x.add_(1).mul_(x),
    "vector": lambda t, x: x + t.ones(2), "left": lambda t, x: t.ones(2) * x,
    "ge": lambda t, x: x >= 0.5, "eq": lambda t, x: x == 0.5, "rsub": lambda t, x: 1 - x,
    "where": lambda t, x: t.where(x >= 0.5, x, x * 0), "not": lambda t, x: (x >= 0.5).logical_not(),
    "masked_fill": lambda t, x: x.masked_fill(x >= 0.5, 0.0),
    "exp": lambda t, x: x.exp(), "pow": lambda t, x: x**2, "sum": lambda t, x: x.sum(),
    "mean": lambda t, x: x.mean(), "max": lambda t, x: x.max(), "equal": lambda t, x: t.equal(x, x),
    "rows": lambda t, x: x.sum(-1, keepdim=True), "columns": lambda t, x: x.sum(1, keepdim=True),
    "no keepdim": lambda t, x: x.sum(-1), "sigmoid": lambda t, x: x.sigmoid(),
    "softmax": lambda t, x: t.softmax(x, -1), "down": lambda t, x: t.softmax(x, 1),
    "across": lambda t, x: t.softmax(x, 0), "log_softmax": lambda t, x: x.log_softmax(-1),
    "linear": lambda t, x: t.nn.functional.linear(x, t.ones(5, 2), t.arange(5.0)),
    "wide": lambda t, x: t.nn.functional.linear(x, t.ones(5, 3)),
    "norm": lambda t, x: t.nn.functional.layer_norm(x, (2,), t.ones(2), t.ones(2)),
    "norm of rows": lambda t, x: t.nn.functional.layer_norm(x, (4, 2), t.ones(4, 2), t.ones(4, 2)),
    "dropout": lambda t, x: t.nn.functional.dropout(x, 0.5, False),
    "double": lambda t, x: x.double(), "clone": lambda t, x: x.clone().zero_() + x,
    "detach": lambda t, x: (x.detach().fill_(2), x)[1], "zeros": lambda t, x: t.zeros_like(x),
    "data": lambda t, x: (x.data.mul_(2), x)[1], "copy_": lambda t, x: x.copy_(_made(t, 5)),
    "unbind": lambda t, x: x.unbind()[1], "item": lambda t, x: x[-1], "row": lambda t, x: x[0, 1],
    "wrote": lambda t, x: (x[1].zero_(), x)[1], "unbind 1": lambda t, x: x.unbind(1),
    "slice": lambda t, x: x[0:2], "mask": lambda t, x: x[t.tensor([0])],
    "chunk": lambda t, x: x.chunk(2, -1)[1], "chunk 0": lambda t, x: x.chunk(3),
    "thirds": lambda t, x: x.chunk(3, -1), "stack": lambda t, x: t.stack([x, x]),
    "shape": lambda t, x: x.shape, "stride": lambda t, x: x.stride(), "len": lambda t, x: len(x),
    "numel": lambda t, x: t.tensor([x.numel(), x.size(0), x.size(-1), x.dim()]),
    "size 1": lambda t, x: x.size(1), "tolist": lambda t, x: x.tolist(),
    "numpy": lambda t, x: x.numpy(), "index": lambda t, x: x.__setitem__(0, 1),
    "add out of place": lambda t, x: x.sub_(1), "flip": lambda t, x: x.flip(0),
    "cumsum": lambda t, x: x.cumsum(-1), "repr": lambda t, x: repr(x),
}  # fmt: skip


def _nested_outcome(lib: Any, act: Any) -> Any:
    try:
        made = act(lib, _made(lib))
    except (RuntimeError, ValueError, TypeError) as error:
        return next(k for k in (ValueError, TypeError, RuntimeError) if isinstance(error, k))
    if isinstance(made, str):
        return made
    parts = list(made.unbind()) if made.is_nested else [made]
    return made.is_nested, str(made.dtype), [p.double().tolist() for p in parts]


@pytest.mark.parametrize("name", PROGRAMS)
def test_operators_answer_for_nested_tensors_as_in_torch_or_refuse_them(name: str) -> None:
    want, got = (_nested_outcome(lib, PROGRAMS[name]) for lib in (torch, ts))
    if isinstance(want, tuple) and isinstance(got, tuple):
        assert got[:2] == want[:2]
        for ours, theirs in zip(got[2], want[2], strict=True):
            np.testing.assert_allclose(ours, theirs, rtol=1e-5, atol=1e-6)
    else:
        assert got == want


def _of_dtype(lib: Any, dtype: str, width: int = 2, shown: Any = SHOWN) -> Any:
    held = np.random.default_rng(3).random((3, 4, width)) * 4 - 2
    return lib._nested_tensor_from_mask(lib.from_numpy(held.astype(dtype)), lib.from_numpy(shown))


def _with_others(name: str) -> list[Any]:
    """An operator of two with what can stand beside a nested tensor, on either side."""
    others: list[Any] = [
        lambda t, x: 2, lambda t, x: 0.5, lambda t, x: t.tensor(2.0), lambda t, x: t.tensor(2),
        lambda t, x: t.tensor(2.0, dtype=t.float64), lambda t, x: t.ones(2), lambda t, x: x,
        lambda t, x: t.ones(3, 4, 2), lambda t, x: _made(t, 4), lambda t, x: _made(t, 4).double(),
        lambda t, x: _of_dtype(t, "f4", 3), lambda t, x: _of_dtype(t, "f4", 2, SHOWN[::-1].copy()),
        lambda t, x: _of_dtype(t, "?"),
    ]  # fmt: skip
    after = [lambda t, x, o=o: getattr(x, name)(o(t, x)) for o in others]
    return after + [lambda t, x, o=o: getattr(o(t, x), name)(x) for o in others[2:]]


def _aten(name: str, *rest: Any, **named: Any) -> Any:
    return lambda t, x: getattr(t.ops.aten, name)(x, *rest, **named)


def _linear_with(*shapes: tuple[int, ...]) -> Any:
    return lambda t, x: t.nn.functional.linear(x, *(t.ones(s).to(x.dtype) for s in shapes))


def _norm_with(shape: tuple[int, ...], count: int) -> Any:
    return lambda t, x: t.nn.functional.layer_norm(x, shape, *[t.ones(shape)] * count)


ROWS: dict[str, list[Any]] = {
    "prim::data": [lambda t, x: x.data],
    "aten::requires_grad": [lambda t, x: t.tensor(x.requires_grad)],
    "aten::float": [lambda t, x: x.float()], "aten::double": [lambda t, x: x.double()],
    "aten::len": [lambda t, x: len(x)], "aten::numel": [lambda t, x: t.tensor(x.numel())],
    "aten::size": [lambda t, x, d=d: t.tensor(x.size(*d)) for d in ((), (0,), (1,), (-1,), (5,))],
    "aten::sym_size": [lambda t, x: t.tensor(x.size(-1))],
    "aten::stride": [lambda t, x: t.tensor(x.stride(0)), _aten("stride")],
    "aten::is_same_size": [
        lambda t, x, o=o: t.tensor(x.is_same_size(o(t)))
        for o in (_made, lambda t: _of_dtype(t, "f4", 3), lambda t: t.ones(2),
                  lambda t: _of_dtype(t, "f4", 2, SHOWN[::-1].copy()))
    ],
    "aten::empty_like": [lambda t, x: t.empty_like(x).fill_(1)],
    "aten::zeros_like": [lambda t, x: t.zeros_like(x, dtype=t.float64)],
    "aten::ones_like": [lambda t, x: t.ones_like(x), lambda t, x: t.ones_like(x, dtype=t.int64)],
    "aten::fill_": [lambda t, x, v=v: x.fill_(v(t)) for v in (
        lambda t: 2, lambda t: t.tensor(2.0), lambda t: t.ones(2), _made)],
    "aten::normal_": [lambda t, x: x.normal_(1, 2)],
    "aten::gelu": [_aten("gelu"), _aten("gelu", approximate="tanh")],
    "aten::to": [lambda t, x, f=f: x.to(*f(t)) for f in (
        lambda t: ["cpu"], lambda t: [t.int64], lambda t: ["cpu", t.float64])],
    "aten::to.other": [lambda t, x: x.to(t.ones(1, dtype=t.float64)), lambda t, x: x.to(_made(t)),
                       lambda t, x: t.ones(2, dtype=t.float64).to(x)],
    "aten::to.prim_other": [lambda t, x: x.to(t.ones(1))],
    "aten::type_as": [lambda t, x: x.type_as(t.ones(2)), lambda t, x: t.ones(2).type_as(x)],
    "aten::dropout": [_aten("dropout", p, on) for p in (0.0, 0.5, 1.0, 2.0)
                      for on in (True, False)],
    "aten::native_dropout": [_aten("native_dropout", 0.5, on) for on in (True, False, None)],
    "aten::softmax": [lambda t, x, d=d: x.softmax(d) for d in (-1, 0, 1, 3)]
    + [lambda t, x: x.softmax(-1, dtype=t.float64)],
    "aten::_softmax": [_aten("_softmax", d, False) for d in (-1, 0, 1)],
    "aten::_safe_softmax": [_aten("_safe_softmax", d) for d in (-1, 0, 1)],
    "aten::sum.dim_IntList": [lambda t, x, d=d, k=k: x.sum(d, keepdim=k)
                              for d in (-1, 2, 3, 1, (1, 2), ()) for k in (True, False)]
    + [lambda t, x: x.sum(-1, keepdim=True, dtype=t.float64)],
    "aten::unbind": [_aten("unbind", d) for d in (0, 1, -3, 5)],
    "aten::select.int": [_aten("select", 0, at) for at in (0, -1, 7)],
    "aten::chunk": [_aten("chunk", n, d) for n, d in (
        (2, -1), (2, 2), (1, -1), (0, -1), (4, -1), (2, 0))],
    "aten::split_with_sizes": [_aten("split_with_sizes", n, d) for n, d in (
        ([1, 1], -1), ([2], 2), ([1, 2], -1), ([1, 2], 0), ([1, 1], 1))],
    "aten::linear": [_linear_with((3, 2)), _linear_with((3, 2), (3,)), _linear_with((2,)),
                     _linear_with((1, 3, 2)), _linear_with((3, 3)),
                     lambda t, x: t.nn.functional.linear(t.ones(2, 2), x)],
    "aten::layer_norm": [_norm_with((2,), n) for n in (0, 1, 2)]
    + [_norm_with((3,), 2), _norm_with((4, 2), 2)],
    "aten::masked_fill.Scalar": [lambda t, x, m=m: x.masked_fill(m(t, x), 0) for m in (
        lambda t, x: x >= 0.5, lambda t, x: t.ones(2, dtype=t.bool), lambda t, x: x,
        lambda t, x: _of_dtype(t, "?", 3))],
    **{f"aten::{name}": _with_others(name) for name in (
        "add_", "mul_", "copy_", "add", "sub", "mul", "div", "true_divide", "eq", "ge", "gt")},
}  # fmt: skip
FORMS_OF = {"Scalar", "Tensor"}
"""Overloads whose programs are those of their operator."""


def _row_programs(row: str) -> list[Any]:
    name, _, form = row.partition(".")
    if (own := ROWS.get(row) or (ROWS.get(name) if form in FORMS_OF else None)) is not None:
        return own
    name = name.removeprefix("aten::")
    has_out = any(s.is_out for s in overloads(row))
    into = [lambda t, x: getattr(t.ops.aten, name)(x, out=t.zeros_like(x))]
    return [_aten(name), *(into if has_out else [])]


@pytest.mark.parametrize("dtype", ["f4", "f2", "i8", "?"])
@pytest.mark.parametrize("row", sorted(HANDLED))
def test_every_rule_of_nested_tensors_is_that_of_torch(row: str, dtype: str) -> None:
    for place, act in enumerate(_row_programs(row)):
        want, got = (_parts_of(lib, act, dtype) for lib in (torch, ts))
        if not isinstance(want, list) or not isinstance(got, list):
            assert got == want, place
            continue
        assert [(t.is_nested, str(t.dtype)) for t in got] == [
            (t.is_nested, str(t.dtype)) for t in want
        ], place
        for ours, theirs in zip(map(_entries, got), map(_entries, want), strict=True):
            for a, b in zip(ours, theirs, strict=True):
                np.testing.assert_allclose(a, b, rtol=2e-3, atol=1e-6, err_msg=str(place))


def _entries(t: Any) -> list[Any]:
    return [p.double().tolist() for p in (t.unbind() if t.is_nested else [t])]


def _parts_of(lib: Any, act: Any, dtype: str) -> Any:
    lib.manual_seed(0)
    try:
        made = act(lib, _of_dtype(lib, dtype))
    except (RuntimeError, ValueError, TypeError, IndexError) as error:
        kinds = (ValueError, TypeError, IndexError, RuntimeError)
        return next(k for k in kinds if isinstance(error, k))
    return list(made) if isinstance(made, (list, tuple)) else [made]


def test_operators_that_are_not_listed_refuse_nested_tensors() -> None:
    x = _made(ts)
    refused: list[Any] = [
        lambda: ts.sort(x), lambda: ts.argmax(x), lambda: x.transpose(1, 2), lambda: x @ x,
        lambda: ts.cat([x, x]), lambda: ts.cdist(x, x), lambda: x.view(-1), lambda: x.sinh(),
    ]  # fmt: skip
    for act in refused:
        with pytest.raises(NotImplementedError, match="from the 'NestedTensorCPU' backend"):
            act()
