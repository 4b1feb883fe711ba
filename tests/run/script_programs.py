"""Programs in the TorchScript language, for comparing graphs and results."""

import math
from typing import Any, NamedTuple

import torch
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


PROGRAMS = [
    nested_loops, optional_refined, raising, containers, stepped_range, caller, any_argument,
    forks, indexing, breaking, early_return, return_in_loop, scalars, constants_fold, reductions,
    creation, views, reversed_scalars, early_none, loops_enumerate, tuple_iteration,
    tensor_iteration, strings, dictionary, ternary_chain, pruned, math_functions, named_tuple,
    list_methods, union_argument, while_true, continue_in_for, nested_early, swap, augmented,
    convolution, optional_default, loop_carried_types, assert_no_message, to_conversions,
    cat_and_lists, modified_index,
]  # fmt: skip
