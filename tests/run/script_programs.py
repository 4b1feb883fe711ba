"""Programs in the TorchScript language, for comparing graphs and results."""

import math
from enum import Enum
from typing import Any, NamedTuple

import torch
import torch.nn.functional as F
from torch import Tensor


def nested_loops(x):
    for i in range(3):
        for j in range(2):
            x = x + i * j
    y = x if bool(x.sum() > 0) else x - 1
    return y


def optional_refined(x: Tensor | None, y: Tensor):
    if x is not None:
        z = x + y
    else:
        z = y
    return z


def raising(x: int):
    if x > 3:
        raise ValueError(f"too big {x}")
    assert x != 2, "no two"
    return x


def containers(xs: list[int], d: dict[str, int], s: str):
    ys = [x * 2 for x in xs]
    ys.append(3)
    d["a"] = ys[0]
    e: list[float] = []
    print(s, xs)
    return ys, d, e


def stepped_range(acc):
    for k in range(3, 10, 2):
        acc += k
    return acc


def callee(x, k: int = 2):
    return x * k


def caller(x):
    return callee(x) + callee(x, 3)


def any_argument(x: Any):
    if isinstance(x, int):
        return x + 1
    elif torch.jit.isinstance(x, list[str]):
        return len(x)
    else:
        return 0


def forks(x):
    fut = torch.jit.fork(callee, x, 3)
    y = x + 1
    return torch.jit.wait(fut) + y


def indexing(x, i: int):
    b = x[i:, None, ..., 1:3:2]
    c = x[x > 0]
    x[0] = 1.0
    x[:, 1] += 2
    return b, c


def breaking(x, n: int):
    i = 0
    while i < n and bool(x.sum() > 0):
        i += 1
        if i == 3:
            break
        if i == 2:
            continue
        x = x - 1
    return x, i


def early_return(x: int):
    if x > 3:
        return 1
    if x < 0:
        x = -x
    return x + 2


def return_in_loop(xs: list[int]):
    for x in xs:
        if x > 3:
            return x
    return 0


def scalars(a: int, b: float):
    c = a / 2 + b // 3 - a % 5
    d = 2**a
    e = not ((a > 1 and b < 2.0) or a == 3)
    return c, d, e, -a, float(a), int(b), str(a)


def constants_fold():
    a = 1 + 2
    b = a * 3
    return (a, b, "x" + "y")


def reductions(x):
    a, b = torch.max(x, 0)
    c = x.topk(2).values
    return a, b, c, x.shape, x.dtype, x.T


def creation(n: int):
    a = torch.zeros(2, 3)
    b = torch.ones([n, 2], dtype=torch.float64)
    c = torch.arange(n)
    d = torch.full((2, 2), 1.5)
    return a, b, c, d


def views(x):
    return x.view(2, -1), x.reshape(-1), x.permute(1, 0), x.transpose(0, 1), x.unsqueeze(0)


def reversed_scalars(x):
    return 1 - x, 1 / x, 2 * x, x**2, x / 2


def early_none(x: int | None, y: int | None) -> int:
    if x is None or y is None:
        return 0
    return x + y


def loops_enumerate(xs: list[Tensor]):
    total = torch.zeros(1)
    for i, x in enumerate(xs):
        total = total + x * i
    for a, b in zip(xs, [1, 2]):
        total = total + a * b
    return total


def tuple_iteration(x):
    for k in (1, 2, 3):
        x = x * k
    return x


def tensor_iteration(x):
    out = []
    for row in x:
        out.append(row.sum())
    return torch.stack(out)


def strings(s: str, n: int):
    t = s.upper() + "_" + str(n)
    if "a" in t:
        t = f"{t}-{n}"
    return t.split("_"), t[1:], t[-1], "%s is %d" % (s, n), len(t)


def dictionary(d: dict[str, int]):
    total = 0
    for k, v in d.items():
        total += v
    for k in d:
        total += len(k)
    e = {k: v for k, v in d.items()}
    return total, "a" in d, e


def ternary_chain(a: int, b: int, c: int):
    return 1 if a < b < c else 0


def pruned(x):
    if torch.jit.is_scripting():
        return x + 1
    else:
        return undefined_name  # noqa: F821


def math_functions(a: float):
    return math.sqrt(a) + math.pi + math.floor(a), abs(a), max(a, 2.0), min(1, 2), round(a)


class Pair(NamedTuple):
    first: Tensor
    second: int


def named_tuple(x):
    p = Pair(x, 3)
    return p.first * p.second, p


def list_methods(xs: list[int]):
    xs.sort()
    xs.reverse()
    xs.extend([1, 2])
    y = xs.pop()
    xs[0] = y
    del xs[1]
    return xs + [y], xs * 2, sorted(xs), sum(xs), xs[1:3]


def union_argument(x: int | str):
    if isinstance(x, int):
        return x + 1
    return len(x)


def while_true(n: int):
    i = 0
    while True:
        i += 1
        if i > n:
            break
    return i


def continue_in_for(xs: list[int]):
    total = 0
    for x in xs:
        if x == 2:
            continue
        total += x
    return total


def nested_early(x: int, ys: list[int]):
    for y in ys:
        for z in range(y):
            if z == x:
                return z
            if z > 10:
                break
    return -1


def swap(a: int, b: int):
    a, b = b, a
    return a, b


def augmented(x, k: int):
    x += 1
    x *= k
    k += 2
    x[0] -= 3
    return x, k


def convolution(x, w):
    return torch.conv2d(x, w), torch.nn.functional.relu(x), torch.softmax(x, 1)


def optional_default(x: Tensor, y: Tensor | None = None, s: float = 1.0, n: str = "a"):
    if y is None:
        y = x
    return x + y * s


def loop_carried_types(n: int):
    a, b = 0, 1
    for _ in range(n):
        a, b = b, a + b
    return a


def assert_no_message(x):
    assert x.dim() == 2
    return x


def to_conversions(x):
    return x.float(), x.to(torch.int64), x.long(), x.type_as(x), x.item()


def cat_and_lists(x, y):
    return torch.cat([x, y], dim=1), torch.stack((x, y)), torch.einsum("ij,jk->ik", x, y)


def modified_index(x: Tensor, idx: Tensor):
    x[idx] = 0
    x[idx, 1] = x[0, 0]
    return x[0, idx], x[[0, 1]], x[..., 0], x[:, -1]


class Color(Enum):
    RED = 1
    GREEN = 2


def enums(c: Color):
    if c == Color.RED:
        return c.value
    return Color.GREEN.value + len(c.name)


class Counter:
    def __init__(self, start: int):
        self.count = start
        self.names: list[str] = []

    def bump(self, by: int = 1) -> int:
        self.count += by
        self.names.append("x")
        return self.count

    @property
    def double(self) -> int:
        return self.count * 2

    def __len__(self) -> int:
        return self.count

    def __add__(self, other: int) -> int:
        return self.count + other


def script_class(n: int):
    c = Counter(n)
    c.bump()
    c.bump(by=3)
    c.count = 7
    c.count += 1
    return c.double + len(c) + (c + 2), c.names


class Guarded:
    def __init__(self, x: int):
        self.x = x

    def __enter__(self):
        return self.x

    def __exit__(self, type: Any, value: Any, tb: Any):
        print("bye")


def with_statement(n: int):
    with Guarded(n) as d:
        n = n + d
    return n


def functional(x, w, b):
    y = F.linear(x, w, b)
    y = F.gelu(F.relu(y))
    y = F.dropout(y, 0.5, training=False)
    y = F.softmax(y, dim=-1)
    return F.layer_norm(y, [4]), F.cross_entropy(y, y.argmax(1)), F.pad(y, [1, 1])


def lists_of_lists(n: int):
    out: list[list[int]] = []
    for i in range(n):
        out.append([i, i + 1])
    return [[x for x in row] for row in out]


def optional_list(xs: list[int] | None = None):
    if xs is None:
        xs = [1]
    ys: dict[str, list[int]] = {}
    ys["a"] = xs
    return ys


def starred(x):
    a, *rest = (x, x + 1, x + 2)
    return a, rest[0], torch.cat([*rest])


def del_and_pass(d: dict[str, int]):
    del d["a"]
    for _ in range(2):
        pass
    return d


def bool_ops(a: bool, b: bool, x):
    c = (a and b) or not a
    if not a and bool(x.any()):
        return 1
    return 2 if c else 3


def with_no_grad(x):
    with torch.no_grad():
        y = x * 2
    return y


def devices(x):
    y = torch.zeros(2, device=x.device, dtype=x.dtype)
    z = torch.tensor([1.0, 2.0], device="cpu")
    return y, z, x.device.type


def tolist_hint(x):
    v: list[int] = x.tolist()
    return v


def empty_literals():
    a = []
    a.append(torch.ones(1))
    b: list[int] = []
    c = {}
    c["k"] = torch.ones(1)
    return a, b, c


def isinstance_static(x: Tensor, y: list[int]):
    if isinstance(x, Tensor):
        x = x + 1
    if isinstance(y, list):
        return x
    return undefined_name  # noqa: F821


def return_none(x) -> None:
    print(x)


def raise_only(x: int) -> int:
    if x > 0:
        return x
    else:
        raise RuntimeError("no")


def loop_refine(xs: list[int | None]):
    total = 0
    for x in xs:
        if x is not None:
            total += x
    return total


PROGRAMS = [
    enums, script_class, with_statement, functional, lists_of_lists, optional_list, starred,
    del_and_pass, bool_ops, with_no_grad, devices, tolist_hint, empty_literals, isinstance_static,
    return_none, raise_only, loop_refine,
    nested_loops, optional_refined, raising, containers, stepped_range, caller, any_argument,
    forks, indexing, breaking, early_return, return_in_loop, scalars, constants_fold, reductions,
    creation, views, reversed_scalars, early_none, loops_enumerate, tuple_iteration,
    tensor_iteration, strings, dictionary, ternary_chain, pruned, math_functions, named_tuple,
    list_methods, union_argument, while_true, continue_in_for, nested_early, swap, augmented,
    convolution, optional_default, loop_carried_types, assert_no_message, to_conversions,
    cat_and_lists, modified_index,
]  # fmt: skip
