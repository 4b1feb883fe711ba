"""Writes that PyTorch refuses or warns of: numbers out of range, memory read and written at once,
`out=` of another shape; and what indices out of place are told."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from typing import Any

import pytest

import tensorscript as ts
from tensorscript.base.errors import OperatorError

Act = Callable[[Any], Any]
DTYPES = (
    "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32", "float64",
    "bool", "complex64",
)  # fmt: skip
NUMBERS = (
    300, -300, -1, 1e10, 1e300, float("nan"), float("inf"), 2 + 1j, 2 + 0j, 70000, 2**40, True,
)  # fmt: skip


def _put(x: Any, index: Any, source: Any) -> Any:
    x[index] = source
    return x


def _fills(lib: Any, dtype: str, number: Any) -> list[Act]:
    kind = getattr(lib, dtype)

    def new() -> Any:
        return lib.zeros(2, dtype=kind)

    return [
        lambda _: new().fill_(number),
        lambda _: lib.full((2,), number, dtype=kind),
        lambda _: _put(new(), 0, number),
        lambda _: new().masked_fill_(lib.tensor([True, False]), number),
        lambda _: lib.scalar_tensor(number, dtype=kind),
        lambda _: new().index_fill_(0, lib.tensor([0]), number),
        lambda _: new().scatter_(0, lib.tensor([0]), number),
        lambda _: lib.full_like(new(), number),
        lambda _: new().new_full((2,), number),
    ]


def outcome(act: Act, lib: Any) -> Any:
    """The result, or the kind and the first line of the error; and the warnings."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            made = act(lib)
            found: Any = [str(t.tolist()) for t in (made if isinstance(made, tuple) else (made,))]
        except (RuntimeError, IndexError, TypeError, ValueError) as error:
            kinds = (IndexError, TypeError, ValueError)
            kind = next((k for k in kinds if isinstance(error, k)), RuntimeError)
            found = kind, str(error).split("\n")[0]
    return found, [str(w.message).split(" (Triggered")[0] for w in caught]


def test_numbers_out_of_range() -> None:
    for act in _fills(ts, "uint8", 300):
        with pytest.raises(RuntimeError, match="to type uint8_t without overflow"):
            act(ts)
    assert ts.zeros(1, dtype=ts.uint8).fill_(-1).tolist() == [255]


@pytest.mark.torch
@pytest.mark.parametrize("dtype", DTYPES)
def test_numbers_as_pytorch(dtype: str) -> None:
    torch = pytest.importorskip("torch")
    for number in NUMBERS:
        pairs = zip(_fills(ts, dtype, number), _fills(torch, dtype, number), strict=True)
        for at, (ours, theirs) in enumerate(pairs):
            assert outcome(ours, ts) == outcome(theirs, torch), (number, at)


WRITES: tuple[Act, ...] = (
    lambda t: _put(t.arange(4), slice(1, None), t.arange(4)[:3]),
    lambda t: (x := t.arange(4), _put(x, slice(1, None), x[:-1]))[1],
    lambda t: (x := t.arange(4), x[1:].add_(x[:-1]))[1],
    lambda t: (x := t.arange(4), x[1:].copy_(x[:-1]))[1],
    lambda t: (x := t.arange(4), _put(x, ..., x))[1],
    lambda t: (x := t.arange(4), _put(x, None, x))[1],
    lambda t: (x := t.arange(4), x.add_(x))[1],
    lambda t: (x := t.arange(4), x[:2].add_(x[2:]))[1],
    lambda t: (x := t.arange(4.0), x.put_(t.tensor([0, 1, 2, 3]), x))[1],
    lambda t: (x := t.arange(4.0), x.index_add_(0, t.tensor([0]), x[:1]))[1],
    lambda t: (x := t.arange(4.0), _put(x, t.tensor([0, 1]), x[2:]))[1],
    lambda t: t.add(t.ones(2), 1, out=t.ones(3)),
    lambda t: t.add(t.ones(2), 1, out=t.ones(0)),
    lambda t: t.cat([t.ones(2), t.ones(1)], out=t.ones(2)),
    lambda t: t.index_select(t.ones(2), 0, t.tensor([0]), out=t.ones(1).double()),
    lambda t: t.masked_select(t.ones(2), t.tensor([True, False]), out=t.ones(1).int()),
    lambda t: t.tensor(t.ones(2, 3).t().dense_dim()),
    lambda t: t.zeros(2, out=t.ones(3)),
    lambda t: t.arange(3, out=t.ones(2, 2)),
    lambda t: t.arange(4, out=t.ones(2, 2)),
    lambda t: t.tensor(1.0)[0],
    lambda t: t.tensor(1.0)[1],
    lambda t: t.tensor(1.0)[1:],
    lambda t: t.tensor(1.0)[0, 0],
    lambda t: t.tensor(1.0)[[0]],
    lambda t: t.tensor(1.0)[..., 0],
    lambda t: t.zeros(2, 3)[None, 2],
    lambda t: t.zeros(2, 3)[None, 0, 3],
    lambda t: t.zeros(2, 3)[:, t.tensor([5])],
    lambda t: t.zeros(2, 3)[t.tensor([0, 1]), t.tensor([5, 1])],
    lambda t: t.zeros(2, 3)[[0.5]],
    lambda t: t.zeros(2, 3)[{}],
    lambda t: _put(t.zeros(2, 3), 0, t.zeros(2, 3)),
    lambda t: _put(t.zeros(2, 3).bool(), 0, t.zeros(2, 3)),
    lambda t: _put(t.zeros(2, 3), (0, 0), t.zeros(2)),
    lambda t: _put(t.zeros(2, 3), True, t.zeros(4)),
    lambda t: _put(t.zeros(2, 3), (True, True), t.zeros(2)),
    lambda t: _put(t.zeros(2, 3), None, t.zeros(1, 2, 2)),
    lambda t: _put(t.zeros(2, 3), 0, [1, 2, 3]),
    lambda t: _put(t.zeros(2, 3), 0, "a"),
    lambda t: t.zeros(2).expand(3, 2).expand(2),
    lambda t: (x := t.arange(2.0).expand(2, 2), x.copy_(x), _put(x, ..., x))[0],
    lambda t: (x := t.arange(2.0).expand(3, 2), x[:2].copy_(x[1:]))[0],
    lambda t: (x := t.arange(2.0).expand(2, 2)).copy_(x.t()),
    lambda t: (x := t.arange(2).expand(2, 2)).copy_(x.float()),
    lambda t: t.zeros(4).split(0),
    lambda t: t.cartesian_prod(t.zeros(1, 1), t.zeros(1)),
    lambda t: t.ones(3)[None][0].detach_(),
    lambda t: t.zeros(1).addbmm_(t.ones(2, 3, 4), t.ones(2, 4, 5)),
    lambda t: t.zeros(1, 5).addbmm_(t.ones(2, 3, 4), t.ones(2, 4, 5)),
    lambda t: t.arange(3).polygamma_(1),
    lambda t: t.ones(2, dtype=t.complex64).abs_(),
    lambda t: (x := t.arange(4.0), t.conj_physical(x).add_(1), t.real(x).add_(1))[0],
    lambda t: t.bucketize(2.5, t.arange(5), right=True),
    lambda t: t.ops.aten.zeros.out([2, 3], out=t.ones(0, dtype=t.int32)),
    lambda t: t.ops.aten.full_like.out(t.ones(2), 3, out=t.ones(2, dtype=t.int32)),
    lambda t: t.ops.aten.linspace.out(0, 1, 3, out=t.ones(3)),
)


@pytest.mark.torch
@pytest.mark.parametrize("at", range(len(WRITES)))
def test_writes_as_pytorch(at: int) -> None:
    torch = pytest.importorskip("torch")
    assert outcome(WRITES[at], ts) == outcome(WRITES[at], torch)


def onto_itself(x: ts.Tensor):
    x.copy_(x)
    return x + 1


def onto_its_columns(x: ts.Tensor):
    x.t().copy_(x)
    return x + 1


@pytest.mark.parametrize("way", ["eager", "scripted", "native"])
def test_elements_that_share_memory_are_copied_onto_themselves_only(way: str) -> None:
    def run(program: Callable[[ts.Tensor], ts.Tensor]) -> list[list[float]]:
        if way == "native":
            program = ts.compile(program, cache=False, fallback="error")
        elif way == "scripted":
            program = ts.jit.script(program)
        found: list[list[float]] = program(ts.arange(2.0).expand(2, 2)).tolist()
        return found

    assert run(onto_itself) == [[1, 2], [1, 2]]
    with pytest.raises(OperatorError, match="more than one element of the written-to tensor"):
        run(onto_its_columns)


def test_a_buffer_that_shares_memory_loads_its_own_state() -> None:
    module = ts.nn.Module()
    module.register_buffer("row", ts.arange(2.0).expand(2, 2))
    assert not any(module.load_state_dict(module.state_dict()))
    module.row[...] = module.row
    assert module.row.tolist() == [[0, 1], [0, 1]]
    with pytest.raises(RuntimeError, match="more than one element"):
        module.load_state_dict({"row": ts.zeros(2, 2)})


def test_a_resized_out_is_warned_of_at_the_users_line() -> None:
    with pytest.warns(UserWarning, match="An output with one or more elements was resized") as seen:
        ts.add(ts.ones(2), 1, out=ts.ones(3))
    assert seen[0].filename == __file__


STRIDES: tuple[Act, ...] = (
    lambda t: t.zeros(0),
    lambda t: t.tensor([]),
    lambda t: t.zeros(2, 0, 3),
    lambda t: t.zeros(2, 0, 3).transpose(0, 2),
    lambda t: t.zeros(3, 2)[None],
    lambda t: t.zeros(4, 6)[:, ::2][None],
    lambda t: t.zeros(4, 6)[:, ::2][..., None],
    lambda t: t.zeros(4, 6)[1:, None, 2],
    lambda t: t.zeros(4, 6)[:, 3].unsqueeze(-1),
    lambda t: t.zeros(4, 6)[:, 3].unsqueeze(0),
    lambda t: t.meshgrid(t.zeros(2), t.zeros(3), indexing="xy")[1],
    lambda t: t.atleast_2d(t.zeros(3)),
    lambda t: t.zeros(2).set_(),
    lambda t: t.ones(2, 3).nonzero(),
    lambda t: t.ones(3).nonzero(),
)


@pytest.mark.torch
@pytest.mark.parametrize("at", range(len(STRIDES)))
def test_strides_as_pytorch(at: int) -> None:
    torch = pytest.importorskip("torch")
    ours, theirs = STRIDES[at](ts), STRIDES[at](torch)
    assert (tuple(ours.shape), ours.stride()) == (tuple(theirs.shape), theirs.stride())


VERSIONS: tuple[Act, ...] = (
    lambda t: (x := t.zeros(2), t.zeros(2, out=x), t.where(x > 0, x, x, out=x), x)[-1],
    lambda t: (x := t.zeros(2), x.apply_(lambda n: n), x.resize_(2), x)[-1],
    lambda t: (x := t.zeros(2), x.resize_(3), x.resize_as_(t.zeros(1)), x)[-1],
    lambda t: (x := t.zeros(2), x.real.fill_(1), x)[-1],
    lambda t: (x := t.zeros(2), t.atleast_2d(x).fill_(1), t.meshgrid(x, indexing="ij"), x)[-1],
    lambda t: (x := t.zeros(2), t.broadcast_tensors(x, t.ones(1))[0].fill_(1), x)[-1],
    lambda t: (x := t.zeros(0), x[None].fill_(1), x)[-1],
)


@pytest.mark.torch
@pytest.mark.parametrize("at", range(len(VERSIONS)))
def test_versions_as_pytorch(at: int) -> None:
    torch = pytest.importorskip("torch")
    assert VERSIONS[at](ts)._version == VERSIONS[at](torch)._version


def _indices(lib: Any) -> list[Any]:
    byte, flag, place = lib.uint8, lib.bool, lib.int64
    rows = [
        lib.tensor([1, 0, 1], dtype=byte), lib.tensor([1, 0, 1], dtype=flag),
        lib.tensor([1, 0, 1, 0], dtype=byte), lib.tensor([1, 0, 1, 0], dtype=flag),
        lib.tensor([[1, 0, 2, 0]] * 3, dtype=byte), lib.zeros(3, 4, dtype=flag),
        lib.zeros(4, 3, dtype=flag), lib.zeros(3, 4, 4, dtype=byte), lib.zeros(0, dtype=flag),
        lib.tensor(True), lib.tensor(False), lib.tensor(1, dtype=byte), lib.tensor([5]),
        lib.tensor([0, -1]), lib.zeros(0, dtype=place), lib.tensor([0, 2], dtype=lib.int16),
        lib.tensor([0.0]), True, False, 1, -4, 1.5, "a", slice(0, 2), slice(None, None, -1), None,
    ]  # fmt: skip
    return [*rows, *((a, b) for a in rows for b in rows)]


def _sources(lib: Any) -> list[Any]:
    return [
        9, 1j, lib.tensor(7), lib.tensor(7.5, dtype=lib.float64), lib.tensor([7.0]),
        lib.arange(2.0), lib.tensor(1j),
    ]  # fmt: skip


ORDERS = (
    "tensors used as indices must be long, int, byte or bool tensors",
    "The shape of the mask",
)
"""Two reasons at once: PyTorch may name the one or the other first."""


def _indexed(lib: Any, index: Any, source: Any = None) -> Any:
    def act(lib: Any) -> Any:
        x = lib.arange(12.0).reshape(3, 4)
        if source is None:
            return x[index].clone(), lib.tensor(x[index].shape)
        x[index] = source
        return x

    found, _ = outcome(act, lib)
    reason = isinstance(found, tuple) and found[1].startswith(ORDERS)
    return (IndexError, "") if reason else found


@pytest.mark.torch
def test_masks_and_places_select_and_write_as_in_torch() -> None:
    torch = pytest.importorskip("torch")
    asked = zip(_indices(ts), _indices(torch), strict=True)
    odd: list[Any] = []
    for ours, theirs in asked:
        for k, source in enumerate([None, *_sources(ts)]):
            want = _indexed(torch, theirs, [None, *_sources(torch)][k])
            if (got := _indexed(ts, ours, source)) != want:
                odd.append((theirs, k, want, got))
    assert not odd


def test_one_number_goes_to_no_mask_of_bytes() -> None:
    x = ts.zeros(3)
    with (
        pytest.warns(UserWarning, match="uint8 is now deprecated"),
        pytest.raises(OperatorError, match="only supports boolean masks"),
    ):
        x[ts.tensor([1, 0, 1], dtype=ts.uint8)] = 9


@pytest.mark.parametrize("dtype", DTYPES)
def test_dtypes_of_indices_given_to_the_operator(dtype: str) -> None:
    """`aten::index` as scripts call it: places, masks, and what is neither."""
    torch = pytest.importorskip("torch")

    def act(lib: Any) -> Any:
        index = lib.tensor([1, 0, 1, 1], dtype=getattr(lib, dtype))
        return lib.ops.aten.index(lib.arange(4), [index])

    (ours, _), (theirs, _) = outcome(act, ts), outcome(act, torch)
    assert ours == theirs
