"""Programs that hold values of one kind in those of another; the format is that of `language_harness`."""

TEXT = r"""

=== optional_list_of_lists_of_class
class Leaf:
    def __init__(self, v: int, name: str = "leaf"):
        self.v = v
        self.name = name
    def grow(self, by: int = 1) -> "Leaf":
        self.v += by
        return self
class Tree:
    def __init__(self, rows: Optional[List[List[Leaf]]] = None):
        self.rows = rows
    def total(self) -> int:
        rows = self.rows
        if rows is None:
            return -1
        t = 0
        for row in rows:
            for leaf in row:
                t += leaf.grow(2).v
        return t
def f(n: int):
    a = Tree()
    b = Tree([[Leaf(n), Leaf(n + 1, "b")], []])
    c = b.rows
    assert c is not None
    c[1].append(Leaf(5))
    return a.total(), b.total(), b.total(), c[0][-1].name
>>> f(3)

=== namedtuple_nested_defaults
class P(NamedTuple):
    x: int
    y: float = 2.5
    tags: Optional[List[str]] = None
class Q(NamedTuple):
    p: P
    n: int = 7
def f(k: int):
    a = Q(P(k))
    b = Q(n=k, p=P(1, tags=["a", "b"]))
    t = b.p.tags
    m = len(t) if t is not None else 0
    x, y = a
    return a.p.y + a.n, b, m, x.x, y, a[0][1], b.p == P(1, 2.5)
>>> f(4)

=== namedtuple_argument
class Pair(NamedTuple):
    left: Tensor
    k: int = 3
def f(p: Pair, ps: List[Pair]):
    t = p.left * p.k
    for q in ps:
        t = t + q.left * q.k
    return t, Pair(t)
>>> f(Pair(T([1.0])), [Pair(T([2.0]), 5), Pair(T([1.0]))])
>>> f((T([1.0]), 4), [])

=== enum_keys_by_value
class Color(Enum):
    RED = "r"
    BLUE = "b"
def f(s: str):
    d: Dict[str, int] = {}
    for c in Color:
        d[c.value] = len(c.name)
    out: List[str] = []
    for c in Color:
        if c.value == s:
            out.append(c.name)
    return d, out, Color.RED == Color.BLUE, Color.RED.name + Color.BLUE.value
>>> f("b")

=== enum_list_and_optional
class Mode(Enum):
    A = 1
    B = 2
def pick(ms: List[Mode], m: Optional[Mode]) -> int:
    if m is None:
        return -1
    t = 0
    for k in ms:
        if k == m:
            t += k.value * 10
        elif k != Mode.A:
            t += 1
    return t
def f(n: int):
    ms = [Mode.A, Mode.B, Mode.B]
    return pick(ms, None), pick(ms, Mode.A), pick(ms, Mode.B), Mode.A in [Mode.B] if n < 0 else False
>>> f(1)

=== interface_list
@torch.jit.interface
class Shape:
    def area(self, k: float) -> float:
        pass
    def name(self) -> str:
        pass
class Sq:
    def __init__(self, a: float):
        self.a = a
    def area(self, k: float) -> float:
        return self.a * self.a * k
    def name(self) -> str:
        return "sq"
class Ci:
    def __init__(self, r: float):
        self.r = r
    def area(self, k: float) -> float:
        return 3.0 * self.r * k
    def name(self) -> str:
        return "ci"
def total(ss: List[Shape]) -> float:
    t = 0.0
    for s in ss:
        t += s.area(2.0)
    return t
def f(n: float):
    ss: List[Shape] = []
    ss.append(Sq(n))
    ss.append(Ci(n))
    d: Dict[str, Shape] = {"q": ss[0]}
    d["c"] = ss[1]
    o: Optional[Shape] = None
    if n > 1.0:
        o = ss[0]
    return total(ss), d["c"].name(), o.name() if o is not None else "none"
>>> f(2.0)
>>> f(0.5)

=== interface_argument_object
@torch.jit.interface
class Op:
    def run(self, x: Tensor) -> Tensor:
        pass
class Add:
    def __init__(self, k: int):
        self.k = k
    def run(self, x: Tensor) -> Tensor:
        return x + self.k
class Twice:
    def __init__(self, inner: Op):
        self.inner = inner
    def run(self, x: Tensor) -> Tensor:
        return self.inner.run(self.inner.run(x))
def f(x: Tensor):
    a = Add(3)
    t = Twice(a)
    u = Twice(t)
    return u.run(x)
>>> f(T([1.0]))

=== property_setter_chain
class Temp:
    def __init__(self, c: float):
        self._c = c
        self.log: List[str] = []
    @property
    def f(self) -> float:
        return self._c * 9.0 / 5.0 + 32.0
    @f.setter
    def f(self, v: float):
        self.log.append("set")
        self._c = (v - 32.0) * 5.0 / 9.0
def f(x: float):
    t = Temp(x)
    t.f = 212.0
    a = t._c
    t.f += 18.0
    return a, t._c, t.f, len(t.log)
>>> f(10.0)

=== class_operators_full
class N:
    def __init__(self, v: int):
        self.v = v
    def __add__(self, o: "N") -> "N":
        return N(self.v + o.v)
    def __sub__(self, o: int) -> "N":
        return N(self.v - o)
    def __mul__(self, o: float) -> float:
        return self.v * o
    def __neg__(self) -> "N":
        return N(-self.v)
    def __eq__(self, o: "N") -> bool:
        return self.v == o.v
    def __ne__(self, o: "N") -> bool:
        return self.v != o.v
    def __lt__(self, o: "N") -> bool:
        return self.v < o.v
    def __getitem__(self, i: int) -> int:
        return self.v * 10 + i
    def __setitem__(self, i: int, v: int) -> None:
        self.v = i * v
    def __len__(self) -> int:
        return self.v
    def __contains__(self, k: int) -> bool:
        return k == self.v
    def __call__(self, a: int, b: int = 2) -> int:
        return self.v + a * b
    def __bool__(self) -> bool:
        return self.v > 0
    def __str__(self) -> str:
        return "N" + str(self.v)
    def __int__(self) -> int:
        return self.v
    def __float__(self) -> float:
        return float(self.v)
def f(k: int):
    a = N(k)
    b = a + N(2) - 1
    c = -b
    b[2] = 4
    r = "pos" if b else "neg"
    w = "pos" if c else "neg"
    return b.v, c.v, a == N(k), a != b, a < b, a[3], len(a), 8 in b, a(2), a(2, b=5), r, w, str(a), int(a), float(b), a * 1.5, not a
>>> f(3)

=== class_in_tuple_in_dict
class C:
    def __init__(self, t: Tensor):
        self.t = t
def f(x: Tensor):
    d: Dict[int, Tuple[C, int]] = {}
    for i in range(3):
        d[i * i] = (C(x + i), i)
    s = torch.zeros(2)
    for k, v in d.items():
        c, i = v
        c.t = c.t * k
        s = s + c.t + i
    return s, d[4][0].t
>>> f(T([1.0, 2.0]))

=== union_three_ways
def kind(u: Union[int, str, List[int]]) -> str:
    if isinstance(u, int):
        return "int" + str(u + 1)
    elif isinstance(u, str):
        return u.upper()
    else:
        return str(len(u))
def f(n: int):
    us: List[Union[int, str, List[int]]] = [n, "a", [1, 2]]
    out: List[str] = []
    for u in us:
        out.append(kind(u))
    return out
>>> f(3)

=== refine_after_assert_and
def f(a: Optional[int], b: Optional[int], c: Optional[List[int]]):
    assert a is not None and b is not None
    s = a + b
    if c is not None and len(c) > 1 and c[0] > a:
        s += c[1]
    t = s if c is None or len(c) == 0 else s + c[0]
    return s, t
>>> f(1, 2, None)
>>> f(1, 2, [5, 6])
>>> f(1, 2, [])

=== refine_loop_carried
def f(xs: List[Optional[int]]):
    last: Optional[int] = None
    total = 0
    for x in xs:
        if x is None:
            continue
        if last is not None:
            if x < last:
                break
            total += x - last
        last = x
    return total, last
>>> f([1, None, 4, 9])
>>> f([3, 2])
>>> f([])

=== linked_list
class Node:
    def __init__(self, v: int):
        self.v = v
        self.next = torch.jit.annotate(Optional["Node"], None)
def f(n: int):
    head = Node(0)
    cur = head
    for i in range(1, n):
        k = Node(i)
        cur.next = k
        cur = k
    t = 0
    p: Optional[Node] = head
    while p is not None:
        t += p.v
        p = p.next
    return t
>>> f(5)

=== future_list_methods
class W:
    def __init__(self, k: int):
        self.k = k
    def go(self, x: Tensor, n: int = 2) -> Tensor:
        for _ in range(n):
            x = x * self.k
        return x
def f(x: Tensor):
    fs: List[torch.jit.Future[Tensor]] = []
    for i in range(3):
        w = W(i + 1)
        fs.append(torch.jit.fork(w.go, x, n=i))
    out = [torch.jit.wait(k) for k in fs]
    return torch.cat(out), len(fs)
>>> f(T([1.0, 2.0]))

=== future_nested
def inner(x: int) -> int:
    return x * 2
def outer(x: int) -> torch.jit.Future[int]:
    return torch.jit.fork(inner, x + 1)
def f(x: int):
    a = torch.jit.fork(outer, x)
    return torch.jit.wait(torch.jit.wait(a))
>>> f(4)

=== tensors_for_optional_tensors
def g(v: List[Optional[Tensor]]):
    return len(v)
def f(x: Tensor):
    return g([x])
>>> f(T([1.0]))

=== tensors_returned_for_optional_tensors
def g(x: Tensor):
    return [x, x]
def f(x: Tensor) -> List[Optional[Tensor]]:
    v = g(x)
    return v
>>> f(T([1.0]))

=== tensors_index_put
def f(x: Tensor, i: Tensor):
    v = [i]
    return torch.index_put(x, v, torch.ones(1)), torch.ops.aten.index(x, v), x.index_put([i], torch.zeros(1)), x[i]
>>> f(T([1.0, 2.0]), T([0]))

=== tensors_index_put_in_place
def f(x: Tensor, i: Tensor):
    y = x.clone()
    y.index_put_((i,), torch.ones(1), accumulate=True)
    y[i] = 4
    y[i, ] += 1
    return y
>>> f(T([1.0, 2.0]), T([0]))

=== tensors_in_branches
def f(x: Tensor, b: bool):
    if b:
        v: List[Optional[Tensor]] = [x, None]
    else:
        v = [x]
    return len(v)
>>> f(T([1.0]), True)

=== tensors_in_lists
def f(x: Tensor):
    v: List[List[Optional[Tensor]]] = []
    v.append([x])
    return len(v)
>>> f(T([1.0]))
"""
