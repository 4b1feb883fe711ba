"""Programs beyond TorchScript (docs/extensions.md): they mean what they mean in Python.

The format is that of `language_harness`.
"""

TEXT = r"""
=== comprehension_if
def f(xs: List[int], d: Dict[str, int]):
    a = [x * 2 for x in xs if x > 1]
    b = {k: v for k, v in d.items() if v > 1 if k != "c"}
    c = [[y for y in range(x) if y % 2 == 0] for x in xs if x != 2]
    return a, b, c, sum(x for x in xs if x < 3), len([x for x in xs if x > 99])
>>> f([1, 2, 3], {"a": 1, "b": 2, "c": 3})
>>> f([], {})

=== comprehension_if_refines
def f(xs: List[Optional[int]]):
    return [x + 1 for x in xs if x is not None]
>>> f([1, None, 3])

=== comprehension_if_tuple
def f(xs: Tuple[int, int, int]):
    return [x for x in xs if x > 1]
>>> f((3, 1, 2))

=== format_spec
def f(x: float, n: int, s: str):
    a = f"{x:.3f}|{n:5d}|{s:>4}|{n:x}|{x:+.2e}|{n:05}"
    b = "{:.2f} {:<4}| {:,}".format(x, s, n)
    return a, b, f"{n!s}{s}"
>>> f(2.5, 1234, "ab")
>>> f(-0.125, 7, "")

=== tensor_conversions
def f(x):
    return x.bool(), x.bfloat16()
>>> f(T([0.0, 1.1]))

=== autocast_flag
def f(x, on: bool):
    with torch.autocast("cpu", enabled=on):
        y = x @ x
    return y
>>> f(T([[1.5]]), True)
>>> f(T([[1.5]]), False)

=== format_numbered
def f(x: int, y: int):
    return "{0} {1} {0}".format(x, y), "{1:03d}".format(x, y)
>>> f(1, 2)

=== floor_division_augmented
def f(a: int, b: float, t):
    a //= 2
    b //= 2
    t //= 2
    xs = [7]
    xs[0] //= 2
    return a, b, t, xs
>>> f(-7, 7.5, T([7, -7]))

=== matmul_augmented
def f(a, b):
    a @= b
    return a
>>> f(T([[1.0, 2.0]]), T([[3.0, 0.0], [4.0, 1.0]]))

=== unary_plus
def f(a: int, b: float, c: bool, t):
    return +a, +b, +c, +t, -+a
>>> f(3, -2.5, True, T([1.0]))

=== dataclass_unscripted
@dataclass
class Point:
    x: int
    y: int = 4

    def total(self) -> int:
        return self.x + self.y
def f(a: int):
    p = Point(a)
    return p.total(), p == Point(a, 4), p == Point(1, 1)
>>> f(2)

=== attribute_refined
class Node:
    def __init__(self, v: int):
        self.v = v
        self.w = torch.jit.annotate(Optional[int], None)
def g(n: Node) -> int:
    if n.w is None:
        return -1
    if n.w > 3 and n.v > 0:
        return n.w + n.v
    n.v = 7
    return n.w * 2 if n.w is not None else 0
def f(x: int):
    n = Node(x)
    a = g(n)
    n.w = 5
    b = g(n)
    n.w = 2
    return a, b, g(n), n.v
>>> f(1)
"""
