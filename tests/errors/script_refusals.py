"""Programs that the TorchScript language refuses."""

# ruff: noqa  # these programs are wrong on purpose
from typing import Any, Callable, Dict, List, Optional, Tuple

import torch
from torch import Tensor

OUTSIDE = 3


def try_block(x):
    try:
        x = x + 1
    except ValueError:
        pass
    return x


def for_else(x):
    for i in range(3):
        x = x + i
    else:
        x = x - 1
    return x


def lambda_expression(x):
    f = lambda y: y
    return f(x)


def nested_def(x):
    def g(y):
        return y

    return g(x)


def yields(x):
    yield x


def walrus(x: int):
    if (y := x) > 1:
        return y
    return 0


def set_display(x: int):
    return {x, 1}


def global_statement(x):
    global OUTSIDE
    return x


def import_inside(x):
    import math

    return x


def star_args(*args):
    return args


def keyword_default(x, *, k: int = 1):
    return x * k


def comprehension_two(xs: List[int]):
    return [x + y for x in xs for y in xs]


def format_conversion(x: float):
    return f"{x!r}"


def dict_expansion(d: Dict[str, int]):
    return {**d}


def keyword_expansion(x, d: Dict[str, int]):
    return torch.sum(x, **d)


def bare_annotation(x):
    y: int
    return x


def jit_name(x):
    __jit_y = x
    return __jit_y


def bytes_literal():
    return b"abc"


def big_integer():
    return 9223372036854775808


def no_overload(x: Tensor, y: Optional[Tensor]):
    return torch.add(x, y)


def single_overload(x: str):
    return torch.relu(x)


def missing_attribute(x):
    return x.foobar


def set_attribute_on_tensor(x):
    x.foo = 1
    return x


def tuple_variable_index(x: Tuple[int, str], i: int):
    return x[i]


def too_few(x: Tuple[int, int]):
    a, b, c = x
    return a


def not_a_tuple(x: int):
    a, b = x
    return a


def starred_list(x: List[int]):
    a, *b = x
    return a


def missing_return(x: int) -> int:
    if x > 1:
        return 1


def wrong_return(x: Optional[int]) -> int:
    return x


def mutable_default(x: List[int] = []):
    return x


def wrong_default(x, k: int = "a"):
    return x


def unannotated_default(x, k=3):
    return x + k


def undefined(x):
    return zoo + x


def outside_data(x):
    return x + OUTSIDE


def retyped(x: int):
    y = None
    if x > 1:
        y = 3
    return y


def joined_types(x: int):
    if x > 1:
        y = 1
    else:
        y = "a"
    return y


def one_branch(x: int):
    if x > 1:
        y = 1
    return y


def returns_differ(x: int):
    if x > 1:
        return 1
    return "a"


def ternary_types(x: int):
    return 1 if x > 0 else "a"


def loop_variable(x):
    for i in range(3):
        y = x
    return y


def slice_assignment(xs: List[int]):
    xs[0:2] = [1, 2]
    return xs


def float_from_int(x: int):
    y: float = x
    return y


def callable_annotation(x, f: Callable[[int], int]):
    return x


def list_assign(x):
    [a, b] = x, x
    return a


def unknown_operator(x):
    return torch.add_everything(x)


def none_as_condition(x: Optional[int]):
    if x:
        return 1
    return 0


def call_too_many(x):
    return torch.relu(x, x, x)


def unknown_keyword(x):
    return torch.relu(x, foo=1)


def builtin_iter(x: List[int]):
    return iter(x)


def recursive(x: int) -> int:
    return recursive(x - 1)


def not_iterable(x: int):
    for i in x:
        pass
    return x


def index_int(x: int):
    return x[0]


def annotated_wrong(x):
    y: int = "a"
    return y


def loop_type_change(n: int):
    y = 1
    for i in range(n):
        y = "a"
    return y


def raise_nothing(x: int):
    raise 3


def user_call_wrong(x: int):
    return _takes_string(x)


def _takes_string(s: str):
    return s


def condition_not_none_check(x: Optional[Tensor]):
    return x + 1


def while_does_not_refine(x: Optional[int]) -> int:
    while x is not None:
        if x > 3:
            x = None
    return 0


REFUSED = [
    value
    for value in list(globals().values())
    if getattr(value, "__module__", "") == __name__ and not value.__name__.startswith("_")
]
