"""Calls of operators that draw random numbers (`native_recipes.py`); all start from one seed."""

from __future__ import annotations

from native_values import Row, T

_FLOATS = (T((4, 5), "f4"), T((4, 6), "f8"), T((3,), "f2"))
_DOUBLE = 7  # code of the argument type ScalarType


def _filled(*parameters: object) -> list[Row]:
    return [(x, *parameters) for x in _FLOATS]


RANDOM_ROWS: dict[str, list[Row]] = {
    "rand randn": [([3, 4],), ([40], _DOUBLE), ([0],), ([700],), ([16],)],
    "rand.generator randn.generator": [([5], None)],
    "rand_like randn_like": _filled(),
    "randint": [(10, [7]), (3, [2, 2], 6)],
    "randint.low": [(-3, 9, [40]), (5, 5, [2])],
    "randint.generator": [(10, [7], None)],
    "randint.low_generator": [(-3, 9, [40], None), (5, 5, [2], None)],
    "randint_like": [(T((3, 4), "f4"), 6), (T((3,), "i4"), 6)],
    "randint_like.low_dtype": [(T((3, 4), "i2"), -2, 6)],
    "randint_like.Tensor": [(T((3, 4), "f8"), T((), "i8", 3, 6))],
    "randperm": [(9,), (1,), (0,)],
    "uniform_ uniform": [*_filled(-1.0, 2.5), (T((4,), "f4"), 2.0, 1.0)],
    "normal_": [*_filled(1.5, 2.0), (T((4,), "f4"), 0.0, -1.0)],
    "exponential_ exponential": [*_filled(1.5), (T((4,), "f4"), 0.0)],
    "log_normal_ log_normal": _filled(0.5, 0.25),
    "geometric_ geometric": [*_filled(0.4), (T((4,), "f4"), 1.0)],
    "cauchy_ cauchy": _filled(0.5, 1.5),
    "random_ random": [(T((6,), "i1"),), (T((6,), "f4"),)],
    "random_.to random.to": [(T((6,), "i8"), 9), (T((6,), "f2"), 9)],
    "random_.from random.from": [(T((6,), "i8"), -4, 9)],
    "bernoulli": [*_filled(), *((T((4, 5), d, is_chance=True),) for d in ("f4", "f8", "f2"))],
    "bernoulli.p bernoulli_.float": [*_filled(0.3), (T((4,), "f4"), 1.5)],
    "bernoulli_.Tensor bernoulli.Tensor": [
        (T((4, 5), "f4"), T((5,), "f4", is_chance=True)),
        (T((4, 5), "f4"), T((5,), "f4")),
    ],
    "normal.Tensor_float": _filled(2.0),
    "normal.float_Tensor": [(2.0, x) for x in _FLOATS],
    "normal.Tensor_Tensor": [(T((4, 5), "f4"), T((5,), "f4"))],
    "normal.float_float": [(1.0, 2.0, [30]), (1.0, 2.0, [3])],
    "multinomial": [(T((3, 6), "f4"), 2), (T((6,), "i8"), 2), (T((6,), "f4"), 0)],
    "dropout alpha_dropout": [
        *_filled(0.3, True),
        *((T((4, 5), "f4"), p, True) for p in (0.0, 1.0, 1.5)),
        (T((4, 5), "f4"), 0.3, False),
    ],
    "native_dropout": [*_filled(0.3, True), (T((4, 5), "f4"), 0.3, False)],
    "feature_dropout feature_alpha_dropout": [(T((2, 3, 4, 5), "f4"), 0.4, True)],
}
