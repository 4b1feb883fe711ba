"""Conjugates and negatives that are views: one memory, read with another sign."""

from __future__ import annotations

import copy
import io
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import DLPackError, OperatorError

Program = Callable[[Any], Any]


def _numbers(t: Any) -> Any:
    return t.tensor([[1 + 2j, 3 - 1j], [0.5j, 2 + 0j]])


def _kinds(t: Any) -> list[Any]:
    """Which results have a sign."""
    x = _numbers(t)
    y = x.conj()
    several = [
        y, x, y[0], y[:, None], y[...], y.T, x.mH, x.H, x.adjoint(), y.mH, y + 1, y.conj(),
        y.clone(), y.contiguous(), x.T.conj().contiguous(), y.resolve_conj(), y.view(4),
        y.reshape(-1), y.T.reshape(-1), y.detach(), y.data, y.unbind()[0], y.split(1)[0],
        y.expand(2, 2, 2), y.diagonal(), y[t.tensor([0])], t.cat([y, y]), y.to(t.complex128),
        t.zeros_like(y), y.neg(), copy.copy(y), copy.deepcopy(y), pickle.loads(pickle.dumps(y)),
        t.nn.Parameter(y), t.as_tensor(y), t.atleast_3d(y), t.broadcast_tensors(x, y)[1],
    ]  # fmt: skip
    negatives = [
        y.imag, y.real, y.imag.resolve_neg(), x._neg_view().real, x._neg_view().conj().imag,
        t.view_as_real(x._neg_view()), y.imag + 0, y.imag.T,
    ]  # fmt: skip
    asked = [(v.is_conj(), v._is_view(), v.tolist()) for v in several]
    return [asked, [(v.is_neg(), v.is_conj(), v.tolist()) for v in negatives]]


def _writes(t: Any) -> list[Any]:
    """Writes to the view are seen in the base, and writes to the base in the view."""
    x = _numbers(t)
    y, seen = x.conj(), []

    def note() -> None:
        seen.extend([x.tolist(), y.tolist(), x._version])

    for write in (
        lambda: y.add_(1j), lambda: y.mul_(x), lambda: x.sub_(y), lambda: y.imag.fill_(3.0),
        lambda: y.copy_(x), lambda: x.copy_(y), lambda: t.add(x, 1, out=y),
        lambda: y.masked_fill_(t.tensor([True, False]), 7 - 1j),
        lambda: y.index_put_((t.tensor([1]),), t.tensor(1 + 1j)),
    ):  # fmt: skip
        write()
        note()
    y[0] = x[1]
    note()
    y[t.tensor([1])] = 2 + 2j
    note()
    y.real[0] = 9
    y.imag = t.ones(2, 2)
    part = y.imag
    part += 1
    note()
    return seen


def _computed(t: Any) -> list[Any]:
    x = _numbers(t)
    y = x.conj()
    return [
        y @ x, t.mm(x.mH, x), y.sum(), y.isreal(), (y == x).tolist(), t.equal(y, y.resolve_conj()),
        y.imag.abs(), t.stack([y.imag, x.imag]), y.stride(), repr(y), y.untyped_storage().tolist(),
        y.numpy(force=True).tolist(), t.tensor([1.0, -2.0])._neg_view() * 2,
    ]  # fmt: skip


PROGRAMS: tuple[Program, ...] = (_kinds, _writes, _computed)


@pytest.mark.torch
@pytest.mark.parametrize("program", PROGRAMS)
def test_like_pytorch(program: Program) -> None:
    torch = pytest.importorskip("torch")
    plain = [[v.tolist() if hasattr(v, "tolist") else v for v in program(t)] for t in (ts, torch)]
    assert plain[0] == plain[1]


def test_a_conjugate_is_a_view() -> None:
    x = ts.tensor([1 + 2j])
    y = x.conj()
    y[0] = 5 + 5j
    assert x.item() == 5 - 5j and y.imag.item() == 5 and y.data_ptr() == x.data_ptr()
    x.imag.fill_(1)
    assert y.item() == 5 - 1j


def test_memory_that_holds_other_numbers_is_not_given_out() -> None:
    y = ts.tensor([1 + 2j]).conj()
    with pytest.raises(OperatorError, match=r"has conjugate bit set. Use tensor.resolve_conj\(\)"):
        y.numpy()
    with pytest.raises(OperatorError, match=r"has negative bit set. Use tensor.resolve_neg\(\)"):
        y.imag.numpy()
    with pytest.raises(DLPackError, match="with the conjugate bit set"):
        y.__dlpack__()
    with pytest.raises(OperatorError, match="doesn't work on unresolved conjugated tensors"):
        ts.view_as_real(y)
    with pytest.raises(OperatorError, match="is not supported for conjugate view tensors"):
        y.view(ts.float32)
    assert np.asarray(y)[0] == 1 - 2j


def test_an_out_takes_no_gradient() -> None:
    x, out = ts.ones(2, requires_grad=True), ts.empty(2)
    with pytest.raises(OperatorError, match="don't support automatic differentiation"):
        ts.add(x, 1, out=out)
    with ts.no_grad():
        assert ts.add(x, 1, out=out) is out


def _conjugate_of(x: ts.Tensor) -> ts.Tensor:
    y = x.conj()
    y.add_(1j)
    return x


@pytest.mark.parametrize("made", [
    lambda: _conjugate_of, lambda: ts.jit.script(_conjugate_of), lambda: ts.compile(_conjugate_of),
    lambda: ts.jit.trace(_conjugate_of, (ts.tensor([0j]),)),
])  # fmt: skip
def test_programs_write_through_the_view(made: Callable[[], Any]) -> None:
    x = ts.tensor([1 + 2j])
    assert made()(x).tolist() == [1 + 1j] == x.tolist()


def _twice(x: ts.Tensor) -> ts.Tensor:
    return x * 2


def _raised(x: ts.Tensor) -> ts.Tensor:
    return x.add_(1)


def test_compiled_programs_read_what_is_shown_and_write_through_it() -> None:
    x = ts.tensor([1 + 2j])
    y = x.conj()
    assert ts.compile(_twice)(y).tolist() == [2 - 4j]
    raised = ts.compile(_raised)
    assert raised(y).tolist() == [2 - 2j]
    assert x.tolist() == [2 + 2j] and raised.stats.interpreted_calls == 1


class _Held(ts.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("a", ts.tensor([1 + 2j]))
        self.register_buffer("b", self.a.conj())

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return x + self.b


def _saved(save: Callable[..., None], what: Any) -> io.BytesIO:
    file = io.BytesIO()
    save(what, file)
    file.seek(0)
    return file


def _checkpoint(t: Any) -> Any:
    x = t.tensor([1 + 2j])
    return [x, x.conj(), t.ones(2)._neg_view()]


def test_files_keep_the_sign() -> None:
    base, view, negative = ts.load(_saved(ts.save, _checkpoint(ts)))
    base.fill_(1j)
    assert view.is_conj() and view.tolist() == [-1j] and negative.tolist() == [-1, -1]
    module = ts.jit.load(_saved(ts.jit.save, ts.jit.script(_Held())))
    module.a.fill_(1j)
    assert module.b.is_conj() and module(ts.tensor([1 + 0j])).tolist() == [1 - 1j]


@pytest.mark.torch
@pytest.mark.filterwarnings("ignore:.torch.jit.load. is deprecated:DeprecationWarning")
def test_files_keep_the_sign_for_pytorch_and_from_it() -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.load(_saved(ts.save, _checkpoint(ts)))
    ours = ts.load(_saved(torch.save, _checkpoint(torch)))
    for found in (theirs, ours):
        assert [(v.is_conj(), v.is_neg()) for v in found] == [
            (False, False), (True, False), (False, True)]  # fmt: skip
        assert found[1].tolist() == [1 - 2j]
    module = torch.jit.load(_saved(ts.jit.save, ts.jit.script(_Held())))
    assert module.b.is_conj() and module.b.tolist() == [1 - 2j]
