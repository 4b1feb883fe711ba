"""Programs with classes, enums, modules and decorators; the format is that of `language_harness`."""

TEXT = r"""
=== class_basic
class Counter:
    def __init__(self, start: int):
        self.n = start
        self.names: List[str] = []
    def add(self, k: int, name: str = "q") -> int:
        self.n += k
        self.names.append(name)
        return self.n
def f(a: int):
    c = Counter(a)
    c.add(2)
    c.add(3, "z")
    c.n *= 2
    return c.n, c.names
>>> f(1)

=== class_operators
class V:
    def __init__(self, x: float, y: float):
        self.x = x
        self.y = y
    def __add__(self, other: "V") -> "V":
        return V(self.x + other.x, self.y + other.y)
    def __eq__(self, other: "V") -> bool:
        return self.x == other.x and self.y == other.y
    def __len__(self) -> int:
        return 2
    def __getitem__(self, i: int) -> float:
        return self.x if i == 0 else self.y
    def __neg__(self) -> "V":
        return V(-self.x, -self.y)
def f(a: float):
    v = V(a, 1.0) + V(2.0, 3.0)
    w = -v
    return v.x, v.y, v == w, len(v), v[0], w[1]
>>> f(0.5)

=== class_scripted
@torch.jit.script
class Box:
    def __init__(self, x: Tensor):
        self.x = x
    def scaled(self, k: float) -> Tensor:
        return self.x * k
def f(x):
    return Box(x).scaled(2.0)
>>> f(T([1.0]))

=== class_scripted_names_itself
@torch.jit.script
class Sum:
    def __init__(self, n: int):
        self.n = n
    def add(self, k: int) -> "Sum":
        self.n += k
        return self
    def __add__(self, other: "Sum"):
        return Sum(self.n + other.n)
def f(a: int):
    s = Sum(a).add(2)
    return (s + s.add(1)).n
>>> f(1)

=== class_unused_properties
class P:
    __jit_unused_properties__ = ["shown"]
    def __init__(self, n: int):
        self.n = n
    @property
    def twice(self) -> int:
        return self.n * 2
    @property
    def shown(self):
        return {self.n} | {self}
    @torch.jit.unused
    @property
    def other(self):
        return {self.n} | {self}
def f(a: int):
    return P(a).twice
>>> f(1)

=== class_names_itself_in_a_list
class Sum:
    def __init__(self, n: int):
        self.n = n
    def count(self, others: List["Sum"]) -> "Sum":
        return Sum(self.n + len(others))
def f(a: int):
    s = Sum(a)
    return s.count([s, s]).n
>>> f(1)

=== class_property
class P:
    def __init__(self, n: int):
        self._n = n
    @property
    def n(self) -> int:
        return self._n + 1
    @n.setter
    def n(self, v: int):
        self._n = v
    @staticmethod
    def helper(a: int) -> int:
        return a * 10
def f(a: int):
    p = P(a)
    p.n = 7
    return p.n, P.helper(a), p.helper(2)
>>> f(1)

=== class_linked
class Node:
    def __init__(self, v: int):
        self.v = v
        self.next: Optional[Node] = None
def f(n: int):
    head = Node(0)
    cur = head
    for i in range(1, n):
        new = Node(i)
        cur.next = new
        cur = new
    total = 0
    walk: Optional[Node] = head
    while walk is not None:
        total += walk.v
        walk = walk.next
    return total
>>> f(5)

=== class_context
class Ctx:
    def __init__(self):
        self.log: List[str] = []
    def __enter__(self):
        self.log.append("in")
        return 3
    def __exit__(self, a: Any, b: Any, c: Any):
        self.log.append("out")
def f(n: int):
    c = Ctx()
    with c as v:
        n += v
    return n, c.log
>>> f(5)

=== class_call
class Adder:
    def __init__(self, k: int):
        self.k = k
    def __call__(self, x: int) -> int:
        return x + self.k
def f(n: int):
    return Adder(2)(n)
>>> f(5)

=== class_inheritance_refused
class A:
    def __init__(self):
        self.x = 1
class B(A):
    def __init__(self):
        self.x = 2
def f(n: int):
    return B().x
>>> f(5)

=== class_missing_attribute
class A:
    def __init__(self):
        self.x = 1
def f(n: int):
    return A().nope
>>> f(5)

=== class_wrong_assignment
class A:
    def __init__(self):
        self.x = 1
def f(n: int):
    a = A()
    a.x = "s"
    return a.x
>>> f(5)

=== class_list
class Item:
    def __init__(self, w: int):
        self.w = w
def f(n: int):
    items = [Item(i) for i in range(n)]
    items[0].w = 50
    best = items[0]
    for it in items:
        if it.w > best.w:
            best = it
    return best.w, len(items)
>>> f(4)

=== class_lt_sort
class Item:
    def __init__(self, w: int):
        self.w = w
    def __lt__(self, other: "Item") -> bool:
        return self.w < other.w
def f(a: List[int]):
    items = [Item(x) for x in a]
    items.sort()
    return [i.w for i in items]
>>> f([3, 1, 2])

=== enum_basic
class Color(Enum):
    RED = 1
    GREEN = 2
def f(a: int):
    c = Color.RED if a > 0 else Color.GREEN
    if c == Color.RED:
        return c.value, c.name
    return c.value + 10, c.name
>>> f(1)
>>> f(0)

=== enum_argument
class Color(Enum):
    RED = "r"
    GREEN = "g"
def f(c: Color):
    return c == Color.GREEN, c.value, c
>>> f(Color.GREEN)

=== enum_iteration
class Color(Enum):
    RED = 1
    GREEN = 5
def f(a: int):
    total = a
    for c in Color:
        total += c.value
    return total
>>> f(1)

=== module_linear
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2, 2))
        self.register_buffer("b", torch.ones(2) * 0.5)
        self.scale = 2.0
    def forward(self, x):
        return x @ self.w * self.scale + self.b
>>> f(T([[1.0, 2.0]]))

=== module_children
class Block(nn.Module):
    def __init__(self, k: int):
        super().__init__()
        self.k = k
    def forward(self, x):
        return x * self.k
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(Block(2), nn.ReLU(), Block(3))
        self.items = nn.ModuleList([Block(1), Block(5)])
        self.named = nn.ModuleDict({"a": Block(7)})
    def forward(self, x):
        x = self.seq(x)
        for m in self.items:
            x = m(x)
        for i, m in enumerate(self.items):
            x = m(x) + i
        for k, m in self.named.items():
            x = m(x)
        return x, self.items[0](x), self.named["a"](x), len(self.items)
>>> f(T([1.0, -2.0]))

=== module_methods
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.names = ["a", "b"]
        self.table = {"a": 1}
        self.maybe: Optional[int] = None
    def helper(self, x, n: int = 2):
        return x * n
    @torch.jit.export
    def extra(self, x):
        return self.helper(x, 5)
    def forward(self, x):
        if self.training:
            x = x + 100
        if self.maybe is not None:
            x = x - 1
        return self.helper(x) + len(self.names) + self.table["a"]
>>> f(T([1.0]))
>>> f.extra(T([1.0]))

=== module_state
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.register_buffer("total", torch.zeros(1))
    def forward(self, x):
        self.count += 1
        self.total += x
        return self.total * self.count
>>> f(T([1.0]))
>>> f(T([2.0]))

=== module_final
class M(nn.Module):
    k: torch.jit.Final[int]
    flag: torch.jit.Final[bool]
    def __init__(self):
        super().__init__()
        self.k = 3
        self.flag = False
    def forward(self, x):
        if self.flag:
            return x.nonsense()
        return x * self.k
>>> f(T([1.0]))

=== module_constants
class M(nn.Module):
    __constants__ = ["k"]
    def __init__(self):
        super().__init__()
        self.k = 4
    def forward(self, x):
        for i in range(self.k):
            x = x + i
        return x
>>> f(T([1.0]))

=== module_unused
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.debug = False
    @torch.jit.unused
    def show(self, x):
        import os
        return x
    def forward(self, x):
        if self.debug:
            x = self.show(x)
        return x + 1
>>> f(T([1.0]))

=== module_ignore
class M(nn.Module):
    def __init__(self):
        super().__init__()
    @torch.jit.ignore
    def python(self, x):
        return x * len({1, 2, 3})
    def forward(self, x):
        return self.python(x) + 1
>>> f(T([1.0]))

=== module_layers
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln = nn.LayerNorm(2)
        self.act = nn.GELU()
        self.drop = nn.Dropout(0.0)
        self.bn = nn.BatchNorm1d(2)
        self.flat = nn.Flatten()
    def forward(self, x):
        return self.flat(self.bn(self.drop(self.act(self.ln(x)))))
>>> f(T([[1.0, 2.0], [5.0, 3.0]]))

=== module_hasattr
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = 1
    def forward(self, x):
        if hasattr(self, "a"):
            x = x + self.a
        if hasattr(self, "zz"):
            x = x.nothing()
        return x + getattr(self, "a")
>>> f(T([1.0]))

=== module_none_attribute
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = None
    def forward(self, x):
        if self.down is not None:
            x = self.down(x)
        return x
>>> f(T([1.0]))

=== module_parameter_list
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.ps = nn.ParameterList([nn.Parameter(torch.ones(1) * i) for i in range(3)])
    def forward(self, x):
        for p in self.ps:
            x = x + p
        return x
>>> f(T([1.0]))

=== module_missing_attribute
class M(nn.Module):
    def __init__(self):
        super().__init__()
    def forward(self, x):
        return x + self.nope
>>> f(T([1.0]))

=== module_class_constant_method
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fn = torch.relu
    def forward(self, x):
        return self.fn(x)
>>> f(T([-1.0]))

=== module_tuple_state
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.pair = (1, 2.5)
        self.xs = [1, 2]
    def forward(self, x: Tensor, state: Optional[Tuple[Tensor, Tensor]] = None):
        if state is None:
            h, c = torch.zeros_like(x), torch.zeros_like(x)
        else:
            h, c = state
        a, b = self.pair
        return x * a + b + h, (h + 1, c + 2)
>>> f(T([1.0]))
>>> f(T([1.0]), (T([1.0]), T([2.0])))

=== module_overload_forward
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.sub = nn.Identity()
    def forward(self, xs: List[Tensor]) -> Dict[str, Tensor]:
        out: Dict[str, Tensor] = {}
        for i, x in enumerate(xs):
            out[str(i)] = self.sub(x)
        return out
>>> f([T([1.0]), T([2.0])])

=== ignored_function
@torch.jit.ignore
def python(x: int) -> int:
    return len(set([x, 1]))
def f(a: int):
    return python(a) + 1
>>> f(1)
>>> f(2)

=== unused_function
@torch.jit.unused
def python(x: int) -> int:
    return len(set([x, 1]))
def f(a: int):
    if a > 5:
        return python(a)
    return 0
>>> f(1)
>>> f(7)

=== overload_function
@torch.jit._overload
def g(x: int) -> int:
    ...
@torch.jit._overload
def g(x: float) -> float:
    ...
def g(x):
    return x + x
def f(a: int, b: float):
    return g(a), g(b)
>>> f(1, 2.5)

=== dataclass_basic
@torch.jit.script
@dataclass
class D:
    a: int
    b: float = 2.5
def f(n: int):
    d = D(n)
    e = D(n, 1.0)
    return d.a + d.b, e.b, d == e
>>> f(1)

=== interface_class
@torch.jit.interface
class Op:
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class Double:
    def __init__(self):
        self.k = 2
    def run(self, x: int) -> int:
        return x * self.k
@torch.jit.script
class Inc:
    def __init__(self):
        self.k = 1
    def run(self, x: int) -> int:
        return x + self.k
def apply(o: Op, x: int) -> int:
    return o.run(x)
def f(n: int):
    return apply(Double(), n), apply(Inc(), n)
>>> f(5)

=== interface_module
@torch.jit.interface
class Op(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass
class A(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1
class M(nn.Module):
    op: Op
    def __init__(self):
        super().__init__()
        self.op = A()
        self.ops = nn.ModuleList([A(), A()])
    def forward(self, x: Tensor, i: int) -> Tensor:
        o: Op = self.ops[i]
        return o.forward(self.op.forward(x))
>>> f(T([1.0]), 1)

=== scripted_function_call
@torch.jit.script
def g(x: int) -> int:
    return x * 2
def f(a: int):
    return g(a) + g(3)
>>> f(1)

=== closure_function
def outer():
    def helper(x: int) -> int:
        return x + 7
    def inner(a: int):
        return helper(a)
    return inner
f = outer()
>>> f(1)

=== function_attribute_alias
relu = torch.relu
def f(x):
    return relu(x) + torch.nn.functional.relu(x)
>>> f(T([1.0, -1.0]))

=== script_if_tracing_call
@torch.jit.script_if_tracing
def g(x):
    return x + 1
def f(x):
    return g(x)
>>> f(T([1.0]))

=== jit_annotate
def f(a: int):
    x = torch.jit.annotate(Optional[int], None)
    y = torch.jit.annotate(Dict[str, int], {})
    if a > 1:
        x = a
    y["k"] = a
    return x, y
>>> f(1)
>>> f(2)

=== module_lstm
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.LSTMCell(2, 2)
        for p in self.parameters():
            nn.init.constant_(p, 0.25)
    def forward(self, x):
        h, c = self.l(x)
        return h, c
>>> f(T([[1.0, 2.0]]))

=== module_nested_attr
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3
        self.lin = nn.Linear(2, 2)
        nn.init.constant_(self.lin.weight, 0.5)
        nn.init.constant_(self.lin.bias, 0.25)
    def forward(self, x):
        return self.lin(x) * self.k
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x):
        return self.inner(x) + self.inner.k + self.inner.lin.weight.sum()
>>> f(T([[1.0, 2.0]]))

=== class_lt_sort_in_tuples
class Item:
    def __init__(self, w: int):
        self.w = w
    def __lt__(self, other: "Item") -> bool:
        return self.w < other.w
def f(a: List[int]):
    items = [(x % 2, Item(x)) for x in a]
    items.sort()
    backwards = sorted(items)
    return [t[1].w for t in items], [t[1].w for t in backwards]
>>> f([3, 6, 1, 2])

=== class_method
class Counter:
    def __init__(self, n: int):
        self.n: int = n
    @classmethod
    def after(cls, n: int) -> "Counter":
        return cls(n + 1)
def f(n: int):
    c = Counter(n)
    return c.after(n).n, c.n
>>> f(3)

=== interface_of_fewer_methods
@torch.jit.interface
class Both:
    def one(self, x: int) -> int:
        pass
    def two(self, x: int) -> int:
        pass
@torch.jit.interface
class One:
    def one(self, x: int) -> int:
        pass
@torch.jit.script
class Impl:
    def __init__(self):
        self.k = 2
    def one(self, x: int) -> int:
        return x * self.k
    def two(self, x: int) -> int:
        return x + self.k
def inner(o: One, x: int) -> int:
    return o.one(x)
def outer(o: Both, x: int) -> int:
    return inner(o, x) + o.two(x)
def f(n: int):
    return outer(Impl(), n)
>>> f(5)

=== interface_of_other_methods
@torch.jit.interface
class Two:
    def two(self, x: int) -> int:
        pass
@torch.jit.interface
class One:
    def one(self, x: int) -> int:
        pass
def inner(o: One, x: int) -> int:
    return o.one(x)
def f(o: Two, n: int):
    return inner(o, n)
>>> f(5, 5)
"""
