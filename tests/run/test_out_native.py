"""`out=` in traces and in machine code: results, and the tensors that take them, against eager."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import NotCompilable

X = np.random.default_rng(0).standard_normal((4, 6)).astype(np.float32)


def _of(*shape: int, dtype: ts.dtype = ts.float32) -> Callable[[], Any]:
    return lambda: ts.zeros(*shape, dtype=dtype)


_PLACES = ts.int64
CALLS: dict[str, tuple[Callable[..., Any], tuple[Callable[[], Any], ...]]] = {
    "topk": (lambda x, *o: ts.topk(x, 2, out=o), (_of(4, 2), _of(4, 2, dtype=_PLACES))),
    "kthvalue": (lambda x, *o: ts.kthvalue(x, 2, out=o), (_of(4), _of(4, dtype=_PLACES))),
    "mode": (lambda x, *o: ts.mode(x, out=o), (_of(4), _of(4, dtype=_PLACES))),
    "max of rows": (lambda x, *o: ts.max(x, 1, out=o), (_of(4), _of(4, dtype=_PLACES))),
    "max of two": (lambda x, o: ts.max(x, -x, out=o), (_of(4, 6),)),
    "div": (lambda x, o: ts.div(x, 0.3, out=o), (_of(4, 6),)),
    "div floor": (lambda x, o: ts.div(x, x + 1, rounding_mode="floor", out=o), (_of(4, 6),)),
    "div trunc": (lambda x, o: ts.div(x, x + 1, rounding_mode="trunc", out=o), (_of(4, 6),)),
    "qr": (lambda x, *o: ts.qr(x[:, :3], out=o), (_of(4, 3), _of(3, 3))),
    "geqrf": (lambda x, *o: ts.geqrf(x, out=o), (_of(4, 6), _of(4))),
    "narrow_copy": (lambda x, o: ts.narrow_copy(x, 1, 1, 3, out=o), (_of(4, 3),)),
    "complex": (lambda x, o: ts.complex(x, -x, out=o), (_of(4, 6, dtype=ts.complex64),)),
    "abs of complex": (
        lambda x, o: ts.abs(ts.complex(x, -x), out=o), (_of(4, 6, dtype=ts.complex64),)
    ),
    "abs of complex, in double": (
        lambda x, o: ts.abs(ts.complex(x, -x), out=o), (_of(4, 6, dtype=ts.float64),)
    ),
    "avg_pool1d": (lambda x, o: ts.nn.functional.avg_pool1d(x, 2, out=o), (_of(4, 3),)),
    "where": (lambda x, o: ts.where(x > 0, x, -1.0, out=o), (_of(4, 6),)),
    "arange": (lambda x, o: (ts.arange(0, 6, out=o), x + o)[1], (_of(6),)),
    "arange by halves": (lambda x, o: x[0, :4] + ts.arange(0, 2, 0.5, out=o), (_of(4),)),
    "linspace": (lambda x, o: x + ts.linspace(-2, 1, 6, out=o), (_of(6),)),
    "strided": (lambda x, o: ts.exp(x, out=o.t()), (_of(6, 4),)),
}  # fmt: skip


def _arrays(value: Any) -> list[np.ndarray]:
    if isinstance(value, tuple | list):
        return [a for v in value for a in _arrays(v)]
    return [np.asarray(value)]


@pytest.mark.parametrize("name", CALLS)
def test_results_and_what_takes_them(name: str) -> None:
    call, targets = CALLS[name]

    def given() -> tuple[Any, ...]:
        return (ts.from_numpy(X), *(make() for make in targets))

    wanted_in = given()
    wanted = _arrays(call(*wanted_in)) + _arrays(wanted_in[1:])
    traced = ts.jit.trace(call, given(), check_trace=False)
    for run in (traced, ts.compile(traced, fallback="error", cache=False)):
        arguments = given()
        found = _arrays(run(*arguments)) + _arrays(arguments[1:])
        for f, w in zip(found, wanted, strict=True):
            assert f.dtype == w.dtype
            np.testing.assert_allclose(f, w, rtol=1e-5, atol=1e-6)


def _sum_in_new(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    o = ts.empty(0)
    y = ts.mul(x, 3, out=o)
    ts.add(o, x, out=o)
    return o, y


def _rows_in_double(x: ts.Tensor) -> ts.Tensor:
    o = ts.empty(0, dtype=ts.float64)
    ts.cat([x, x], out=o)
    return o


@pytest.mark.parametrize("program", [_sum_in_new, _rows_in_double])
def test_empty_tensors_get_the_shape_of_results(program: Callable[[Any], Any]) -> None:
    scripted = ts.jit.script(program)
    native = ts.compile(scripted, fallback="error", cache=False)
    for have, want in zip(_arrays(native(X)), _arrays(program(ts.tensor(X))), strict=True):
        assert have.dtype == want.dtype and np.array_equal(have, want)


def test_a_tensor_with_other_names_keeps_its_shape_to_the_interpreter() -> None:
    def program(x: ts.Tensor) -> ts.Tensor:
        o = ts.empty(0)
        held = [o]
        ts.add(x, x, out=o)
        return held[0]

    with pytest.raises(NotCompilable, match="may have other names"):
        ts.compile(ts.jit.script(program), fallback="error", cache=False)(X)
