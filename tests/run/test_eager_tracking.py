"""What tensors remember: versions, bases, the gradient flag; random states; ways in and out."""

from __future__ import annotations

import copy
import pickle
import re
from collections.abc import Callable
from itertools import product
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.dtypes import DTYPES
from tensorscript.base.errors import DLPackError, MissingKernelError, OperatorError
from tensorscript.eager.absent import ABSENT


def _versions(t: Any) -> list[int]:
    """Versions along a program of writes, the same in both libraries."""
    x = t.ones(4)
    found = [x._version]
    y = x.view(2, 2)
    y.add_(1)
    found += [x._version, y._version]
    x[0] = 3
    z = x.detach()
    z.mul_(2)
    w = x.data
    w.add_(1)
    found += [x._version, y._version, w._version]
    x.reshape(2, 2).zero_()
    x[1:] += 1
    t.add(x, 1, out=x)
    found.append(x._version)
    first, _ = x.split(2)
    first.fill_(1)
    x.unsqueeze_(0)
    x.copy_(t.zeros(1, 4))
    found.append(x._version)
    x.requires_grad_()
    x.detach_()
    x.data = t.zeros(3)
    found.append(x._version)
    return found


def test_versions_count_writes_through_views() -> None:
    assert _versions(ts) == [0, 1, 1, 3, 3, 1, 7, 10, 10]


@pytest.mark.torch
def test_versions_are_those_of_torch() -> None:
    assert _versions(ts) == _versions(pytest.importorskip("torch"))


def test_views_know_their_base() -> None:
    x = ts.ones(4)
    assert x.view(2, 2)[0]._base is x and x[1:]._is_view() and x.expand(2, 4)._base is x
    assert x._base is None and not x.detach()._is_view() and not x.clone()._is_view()
    assert not x[[0, 1]]._is_view() and all(part._base is x for part in x.unbind())


FLAGS: list[tuple[Callable[[Any], Any], bool]] = [
    (lambda x: x + 1, True), (lambda x: x.sum(), True), (lambda x: x > 0, False),
    (lambda x: x.detach(), False), (lambda x: x[0], True), (lambda x: x.data, False),
    (lambda x: x.argmax(), False), (lambda x: x.half(), True), (lambda x: x.T, True),
    (lambda x: x.int(), False), (lambda x: ts.zeros_like(x), False),
    (lambda x: x.clone().zero_(), True), (lambda x: ts.cat([ts.ones(2, 2), x]), True),
]  # fmt: skip


VIEWS: dict[str, Callable[[Any, Any], Any]] = {
    "view": lambda lib, p: p.view(-1), "item": lambda lib, p: p[0], "t": lambda lib, p: p.t(),
    "slice": lambda lib, p: p[:1], "detach": lambda lib, p: p.detach(),
    "data": lambda lib, p: p.data, "split": lambda lib, p: p.split(1)[0],
    "unbind": lambda lib, p: p.unbind()[1],
    "chunk": lambda lib, p: p.chunk(2)[1], "expand": lambda lib, p: p.expand(2, 3, 4),
    "bits": lambda lib, p: p.view(lib.int32), "alike": lambda lib, p: p.view(lib.float32),
    "contiguous": lambda lib, p: p.contiguous(), "clone": lambda lib, p: p.clone(),
    "twice": lambda lib, p: p.view(-1)[:2], "as_strided": lambda lib, p: p.as_strided((2,), (1,)),
    "diagonal": lambda lib, p: p.diagonal(), "ravel": lambda lib, p: p.ravel(),
    "detached item": lambda lib, p: p.detach()[0], "sum": lambda lib, p: p.sum(),
}  # fmt: skip
MODES_OF = ("enable_grad", "no_grad", "inference_mode")
WRITES: dict[str, Callable[[Any], Any]] = {
    "none": lambda v: v, "add_": lambda v: v.add_(1), "fill_": lambda v: v.fill_(1),
    "requires_grad_": lambda v: v.requires_grad_(), "detach_": lambda v: v.detach_(),
    "item": lambda v: v[...], "mul": lambda v: v * 2,
}  # fmt: skip


def _flags(lib: Any, kind: str, made: str, view: str, used: str, act: str) -> Any:
    """The flags of a view of a tensor, or of what was made of it, or the kind of its refusal."""
    p = lib.arange(12.0).reshape(3, 4).detach()
    if kind != "plain":
        p = lib.nn.Parameter(p)
    if kind == "computed":
        p = p * 1
    with getattr(lib, made)():
        seen = VIEWS[view](lib, p)
    try:
        with getattr(lib, used)():
            found = WRITES[act](seen)
    except RuntimeError as error:
        return str(error).split(" is ")[0].replace(" a view of", "")
    return found.requires_grad, found.is_leaf, p.requires_grad, p.is_leaf


@pytest.mark.torch
@pytest.mark.parametrize("kind", ["plain", "leaf", "computed"])
def test_views_carry_the_flag_of_what_they_show_as_in_torch(kind: str) -> None:
    torch = pytest.importorskip("torch")
    odd = []
    for made, view, used, act in product(MODES_OF, VIEWS, MODES_OF, WRITES):
        if made == "inference_mode" and view in ("bits", "alike", "clone", "sum"):
            continue  # tensors of their own, which PyTorch gives no version there
        if used != "enable_grad" and act in ("add_", "fill_"):
            continue  # what was written to so, PyTorch may not tell the flags of
        case = (kind, made, view, used, act)
        if (want := _flags(torch, *case)) != (got := _flags(ts, *case)):
            odd.append((case, want, got))
    assert not odd


def test_requires_grad_reaches_the_base_of_a_view() -> None:
    x, y = ts.zeros(2, 3), ts.zeros(2, 3)
    x[:, 1].copy_(ts.ones(2, requires_grad=True))
    with ts.no_grad():
        y[:, 1].copy_(ts.ones(2, requires_grad=True))
    assert x.requires_grad and x[0].requires_grad and not x.is_leaf and not y.requires_grad


@pytest.mark.parametrize(("act", "carried"), FLAGS)
def test_requires_grad_is_carried(act: Callable[[Any], Any], carried: bool) -> None:
    x = ts.ones(2, 2, requires_grad=True)
    made = act(x)
    assert made.requires_grad is carried and made.is_leaf is not carried
    with ts.no_grad():
        assert not (x + 1).requires_grad


def test_leaves_are_protected() -> None:
    x = ts.ones(2, requires_grad=True)
    for write in (lambda: x.add_(1), lambda: x.__setitem__(0, 1.0)):
        with pytest.raises(OperatorError, match="a leaf Variable that requires grad is being used"):
            write()
    with pytest.raises(OperatorError, match="a view of a leaf Variable"):
        x[:1].add_(1)
    with pytest.raises(OperatorError, match="only change requires_grad flags of leaf variables"):
        (x + 1).requires_grad = False
    with ts.no_grad():
        x.add_(1)
    assert x.tolist() == [2.0, 2.0] and (x + 1).numpy().tolist() == [3.0, 3.0]
    with pytest.raises(OperatorError, match="Can't call numpy"):
        x.numpy()


@ts.jit.script
def rows_of(weight: ts.Tensor, x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    rows: list[ts.Tensor] = []
    rows.append(x[0])
    rows.append(weight.t()[0])
    rows[0] = x[1] * 2
    held = {"a": weight[0]}
    held["b"] = x[0]
    return ts.stack(rows), rows[0] + held["b"]


def test_containers_of_scripts_are_not_their_tensors() -> None:
    """A list that holds a view of a leaf is written to, the view is not."""
    weight, x = ts.ones(2, 2).requires_grad_(), ts.ones(2, 2)
    stacked, rest = rows_of(weight, x)
    assert stacked.tolist() == [[2.0, 2.0], [1.0, 1.0]]
    assert stacked.requires_grad
    assert not rest.requires_grad
    assert (weight._version, x._version) == (0, 0)


def test_gradients_are_refused_in_words() -> None:
    x = ts.ones((), requires_grad=True)
    assert x.grad is None and x.grad_fn is None
    with pytest.raises(MissingKernelError, match=r"backward\(\) is not provided"):
        (x * 2).backward()
    with pytest.raises(RuntimeError, match="element 0 of tensors does not require grad"):
        ts.ones(()).backward()
    with pytest.raises(MissingKernelError, match="records no gradients"):
        ts.autograd.grad(x * 2, x)
    x.register_hook(print).remove()

    class Twice(ts.autograd.Function):
        @staticmethod
        def forward(ctx: Any, a: Any) -> Any:
            ctx.save_for_backward(a)
            return a * 2

    assert Twice.apply(x).item() == 2.0


def test_grad_modes() -> None:
    @ts.no_grad
    def bare() -> bool:
        return bool(ts.is_grad_enabled())

    @ts.no_grad()
    def called() -> bool:
        return bool(ts.is_grad_enabled())

    assert not bare() and not called() and ts.is_grad_enabled()
    with ts.set_grad_enabled(False):
        assert not ts.is_grad_enabled()
        with ts.enable_grad():
            assert ts.is_grad_enabled()
    with ts.inference_mode():
        assert ts.is_inference_mode_enabled() and not ts.is_grad_enabled()
    assert ts.is_grad_enabled() and not ts.is_inference_mode_enabled()


def test_other_devices_are_refused() -> None:
    assert ts.device("cuda:1").index == 1
    for call in (lambda: ts.ones(2, device="xpu"), lambda: ts.ones(2).to("mps")):
        with pytest.raises(OperatorError, match=r"there is no device (xpu|mps)"):
            call()


def test_random_state() -> None:
    ts.manual_seed(5)
    state = ts.get_rng_state()
    first = ts.randn(3)
    ts.set_rng_state(state)
    with ts.random.fork_rng():
        ts.rand(7)
    assert (ts.randn(3) == first).all()


@pytest.mark.torch
def test_random_state_is_laid_out_as_torch_does() -> None:
    torch = pytest.importorskip("torch")
    ts.manual_seed(11)
    ts.randn(5)
    torch.set_rng_state(torch.from_numpy(ts.get_rng_state().numpy()))
    assert ts.randn(4).tolist() == pytest.approx(torch.randn(4).tolist(), rel=1e-6)
    ts.set_rng_state(ts.from_numpy(torch.get_rng_state().numpy()))
    assert ts.rand(4).tolist() == torch.rand(4).tolist()


@pytest.mark.parametrize("dtype", DTYPES, ids=str)
def test_pickles_and_copies(dtype: Any) -> None:
    x = ts.arange(6).reshape(2, 3).to(dtype).t()
    for again in (pickle.loads(pickle.dumps(x)), copy.deepcopy(x)):
        assert again.dtype is dtype and again.stride() == (1, 3) and (again == x).all()


def test_pickled_parameters_keep_their_class_and_attributes() -> None:
    p = ts.nn.Parameter(ts.ones(2), requires_grad=False)
    p.tag = "mine"  # type: ignore[attr-defined]  # a user's own attribute
    again = pickle.loads(pickle.dumps(p))
    assert type(again) is ts.nn.Parameter and again.tag == "mine" and not again.requires_grad


def test_numpy_in_and_out() -> None:
    fixed = np.arange(3.0)
    fixed.setflags(write=False)
    with pytest.warns(UserWarning, match="The given NumPy array is not writable"):
        x = ts.from_numpy(fixed)
    with pytest.raises(RuntimeError, match="read-only"):
        x.add_(1)
    with pytest.raises(ValueError, match="negative"):
        ts.from_numpy(np.arange(3.0)[::-1])
    with pytest.raises(ValueError, match="byte order different from the native"):
        ts.from_numpy(np.arange(3, dtype=">f4"))
    assert type(np.sin(ts.ones(2))) is ts.Tensor
    with pytest.raises(DLPackError, match="Can't export tensors that require gradient"):
        np.from_dlpack(ts.ones(2, requires_grad=True))
    shared = bytearray(8)
    ts.frombuffer(shared, dtype=ts.int32)[1] = 7
    assert shared[4] == 7


def test_numbers_that_do_not_fit() -> None:
    with pytest.raises(RuntimeError, match="value cannot be converted to type int8 without"):
        ts.tensor([300], dtype=ts.int8)
    with pytest.raises(ValueError, match="Overflow when unpacking long long"):
        ts.tensor(2**63)


def test_old_constructors() -> None:
    assert ts.Tensor(2, 3).shape == (2, 3) and ts.Tensor([1, 2]).tolist() == [1.0, 2.0]
    assert ts.LongTensor([1, 2]).dtype is ts.int64 and ts.FloatTensor(2).shape == (2,)
    assert isinstance(ts.ones(1), ts.FloatTensor) and not isinstance(ts.ones(1), ts.LongTensor)


def test_names_that_are_left_out_say_why() -> None:
    for reason, names in ABSENT.items():
        for name in names:
            with pytest.raises(AttributeError, match=re.escape(f"'{name}': {reason}")):
                getattr(ts, name)


def test_python_protocols() -> None:
    assert [x.item() for x in reversed(ts.arange(3))] == [2, 1, 0]
    with pytest.raises(TypeError, match="Tensor does not support deleting items"):
        del ts.ones(2)[0]
    with pytest.raises(TypeError, match="unsupported operand type"):
        ts.ones(1) @ 2
