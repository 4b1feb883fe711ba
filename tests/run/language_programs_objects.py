"""Programs on dataclasses, enums and whole classes; the format is that of `language_harness`."""

TEXT = r"""

=== dataclass_optional
@torch.jit.script
@dataclass
class D:
    x: int
    n: Optional[int] = None
def f(a: int):
    d, e = D(a), D(a, 3)
    n = d.n
    if n is None:
        n = 4
    return d.x * n, d == e, d == D(a), e == D(a, 3), e != d, e == D(a, 4)
>>> f(2)

=== dataclass_optional_order
@torch.jit.script
@dataclass(order=True)
class D:
    n: Optional[int]
    x: int = 1
def f(a: int, b: Optional[int]):
    d, e = D(a), D(b)
    return d < e, d <= e, d > e, d >= e
>>> f(2, 2)
>>> f(2, 3)
>>> f(2, None)

=== dataclass_tensor_field
@torch.jit.script
@dataclass
class D:
    x: Tensor
    n: Optional[Tensor] = None
def f(a):
    return D(a) == D(a), D(a, a) == D(a), D(a, a) == D(a, a + 1)
>>> f(T([1.0]))
>>> f(T([1.0, 2.0]))

=== dataclass_initvar
@torch.jit.script
@dataclass
class D:
    x: int
    k: dataclasses.InitVar[int] = 2
    def __post_init__(self, k: int):
        self.x = self.x * k
def f(a: int):
    return D(a).x, D(a, 5).x
>>> f(2)

=== dataclass_keyword_only
@torch.jit.script
@dataclass(kw_only=True)
class D:
    x: int
    y: int
def f(a: int):
    return D(x=a, y=2).y
>>> f(2)

=== dataclass_field_not_compared
@torch.jit.script
@dataclass
class D:
    x: int
    y: int = dataclasses.field(default=4, compare=False)
def f(a: int):
    return D(a) == D(a, 7), D(a, 7).y
>>> f(2)

=== script_derived_class
class A:
    def __init__(self):
        self.x = 1
@torch.jit.script
class B(A):
    def __init__(self):
        self.x = 2
def f(x: int):
    return B().x
>>> f(1)

=== method_without_self
@torch.jit.script
class B:
    def __init__(self):
        self.x = 2
    def g():
        return 3
def f(x: int):
    return B().g()
>>> f(1)

=== unused_method_without_self
class B:
    def __init__(self):
        self.x = 2
    def g():
        return 3
def f(x: int):
    return B().x
>>> f(1)

=== attribute_annotated_later
class A:
    def __init__(self):
        self.x = 1
    def g(self):
        self.x: int = 2
def f(x: int):
    a = A()
    a.g()
    return a.x
>>> f(1)

=== class_attribute_annotated
class A:
    LIMIT: int = 4
    def __init__(self, v: int):
        self.v = v
    def g(self) -> int:
        return self.LIMIT
def f(a: int):
    return A(a).g()
>>> f(3)

=== class_attribute_of_class
class A:
    LIMIT = 4
    def __init__(self, v: int):
        self.v = v
def f(a: int):
    return A.LIMIT + a
>>> f(3)

=== class_field_declared_only
class A:
    x: int
    y: str
    def __init__(self, v: int):
        self.x = v
def f(a: int):
    return A(a).x
>>> f(3)

=== bank_account
class Account:
    balance: float
    history: List[Tuple[str, float]]
    def __init__(self, start: float = 0.0):
        self.balance = start
        self.history = []
    def deposit(self, amount: float) -> float:
        self.balance += amount
        self.history.append(("deposit", amount))
        return self.balance
    def withdraw(self, amount: float) -> float:
        if amount > self.balance:
            raise ValueError("insufficient funds: {} < {}".format(self.balance, amount))
        self.balance -= amount
        self.history.append(("withdraw", amount))
        return self.balance
    @property
    def count(self) -> int:
        return len(self.history)
def f(xs: List[float]):
    a = Account()
    for x in xs:
        if x >= 0:
            a.deposit(x)
        else:
            a.withdraw(-x)
    return a.balance, a.history, a.count
>>> f([1.0, 2.5, -1.5])
>>> f([1.0, -2.0])

=== stack_with_dunders
class Stack:
    def __init__(self):
        self.items: List[int] = []
    def push(self, x: int) -> None:
        self.items.append(x)
    def pop(self) -> int:
        return self.items.pop()
    def __len__(self) -> int:
        return len(self.items)
    def __contains__(self, x: int) -> bool:
        return x in self.items
    def __getitem__(self, i: int) -> int:
        return self.items[i]
def f(xs: List[int]):
    s = Stack()
    for x in xs:
        s.push(x)
    return len(s), 3 in s, s[0], s.pop(), len(s)
>>> f([1, 2, 3])
>>> f([])

=== vector_ops
class V:
    def __init__(self, x: float, y: float):
        self.x = x
        self.y = y
    def __add__(self, o: "V") -> "V":
        return V(self.x + o.x, self.y + o.y)
    def __sub__(self, o: "V") -> "V":
        return V(self.x - o.x, self.y - o.y)
    def __mul__(self, k: float) -> "V":
        return V(self.x * k, self.y * k)
    def __neg__(self) -> "V":
        return V(-self.x, -self.y)
    def __eq__(self, o: "V") -> bool:
        return self.x == o.x and self.y == o.y
    def __lt__(self, o: "V") -> bool:
        return self.x < o.x
    def __str__(self) -> str:
        return "V"
    def __abs__(self) -> float:
        return math.sqrt(self.x * self.x + self.y * self.y)
def f(a: float):
    p, q = V(a, 2.0), V(1.0, a)
    r = (p + q) * 2.0 - q
    n = -r
    return r.x, r.y, n.x, p == q, p < q
>>> f(3.0)

=== static_methods_both_ways
class A:
    def __init__(self, v: int):
        self.v = v
    @staticmethod
    def make(v: int) -> int:
        return v * 2
    def g(self) -> int:
        return A.make(self.v) + self.make(1)
def f(a: int):
    return A(a).g(), A.make(3)
>>> f(3)

=== enum_default
class C(Enum):
    RED = "r"
    GREEN = "g"
def f(c: C = C.GREEN):
    return c.value
>>> f()
>>> f(C.RED)

=== enum_dict_value
class C(Enum):
    RED = "r"
    GREEN = "g"
def f(s: str):
    d = {"a": C.RED, "b": C.GREEN}
    return d[s].value, d[s]
>>> f("a")
>>> f("z")

=== enum_float_values
class C(Enum):
    LOW = 0.5
    HIGH = 1.5
def f(n: int):
    t = 0.0
    for c in C:
        t += c.value
    return t
>>> f(1)

=== enum_alias
class C(Enum):
    LOW = 1
    ALSO = 1
def f(n: int):
    return C.ALSO.name, C.ALSO == C.LOW
>>> f(1)

=== class_methods_by_name
@torch.jit.script
class Acc:
    total: int
    names: List[str]
    def __init__(self, start: int = 0):
        self.total = start
        self.names = []
    def add(self, n: int, name: str = "x") -> "Acc":
        self.total += n
        self.names.append(name)
        return self
    @staticmethod
    def make(n: int) -> "Acc":
        return Acc(n)
    @property
    def size(self) -> int:
        return len(self.names)
    def __len__(self) -> int:
        return len(self.names)
    def __contains__(self, s: str) -> bool:
        return s in self.names
    def __getitem__(self, i: int) -> str:
        return self.names[i]
    def __setitem__(self, i: int, v: str):
        self.names[i] = v
    def __call__(self, n: int) -> int:
        return self.total * n
    def __bool__(self) -> bool:
        return self.total > 0
    def __str__(self) -> str:
        return "Acc"
def f(n: int):
    a = Acc.make(n).add(1).add(2, "y").add(name="z", n=3)
    a[0] = "w"
    return a.total, a.names, a.size, len(a), "y" in a, a[1], a(2)
>>> f(1)

=== class_of_itself
@torch.jit.script
class Node:
    next: Optional["Node"]
    def __init__(self, v: int):
        self.v = v
        self.next = torch.jit.annotate(Optional[Node], None)
def f(n: int):
    head = Node(0)
    cur = head
    for i in range(1, n):
        node = Node(i)
        cur.next = node
        cur = node
    total = 0
    walk: Optional[Node] = head
    while walk is not None:
        total += walk.v
        walk = walk.next
    return total
>>> f(4)

=== class_bool_gives_int
@torch.jit.script
class Foo:
    def __init__(self, val: bool):
        self.val = val
    def __bool__(self):
        return 1 + 2
def f(a: bool):
    v = Foo(a)
    if v:
        return 1
    return 2
>>> f(True)

=== class_bool_conditions
@torch.jit.script
class Foo:
    def __init__(self, val: bool):
        self.val = val
    def __bool__(self):
        return self.val
def f(a: bool):
    v = Foo(a)
    n = 0
    while v:
        v = Foo(False)
        n += 1
    if not v:
        n += 10
    return n, 1 if v else 2
>>> f(True)

=== class_of_objects
@torch.jit.script
class Inner:
    def __init__(self, n: int):
        self.n = n
@torch.jit.script
class Outer:
    def __init__(self, n: int):
        self.inner = Inner(n)
        self.all = [Inner(i) for i in range(n)]
def f(n: int):
    o = Outer(n)
    o.inner.n += 5
    for i in o.all:
        i.n *= 2
    return o.inner.n, [i.n for i in o.all]
>>> f(3)

=== class_context_raise
@torch.jit.script
class Ctx:
    def __init__(self, log: List[str]):
        self.log = log
    def __enter__(self):
        self.log.append("in")
    def __exit__(self, t: Any, v: Any, tb: Any):
        self.log.append("out")
def f(log: List[str], n: int):
    with Ctx(log):
        if n > 2:
            raise ValueError("big")
        assert n > 0, "small"
    return log
>>> f([], 1)
>>> f([], 4)
>>> f([], 0)

=== class_bool_everywhere
@torch.jit.script
class B:
    def __init__(self, n: int):
        self.n = n
    def __bool__(self) -> bool:
        return self.n > 0
    def __len__(self) -> int:
        return self.n
def f(n: int):
    b = B(n)
    return not b, b and True, 1 if b else 0, bool(b)
>>> f(1)

=== sort_without_order
class N:
    def __init__(self):
        pass
def f():
    li = [N(), N()]
    li.sort()
    return len(li)
>>> f()

=== sort_wrong_order
class N:
    def __init__(self):
        pass
    def __lt__(self, other):
        pass
def f():
    return len(sorted([N(), N()]))
>>> f()

=== sort_tuples_of_lists
def f(n: int):
    li = [(i, [i]) for i in range(n)]
    li.sort()
    return len(li)
>>> f(0)
>>> f(2)

=== enum_of_tensors
class A(Enum):
    X = torch.tensor(0)
def f(a: A):
    return a.name
>>> f(A.X)

=== enum_without_members
class A(Enum):
    pass
def f(a: A):
    return 1
>>> f(3)

=== exception_class_of_a_function
def make():
    class Odd(ValueError):
        pass
    return Odd
Odd = make()
def f(x: int):
    raise Odd("a")
    return x
>>> f(1)

=== sort_values_of_several_types
def f(x: List[Any]):
    x.sort()
    return len(x)
>>> f([(1, 2), ("a", 2)])
>>> f([1, "a"])
>>> f([1, 2])

=== ignored_class
@torch.jit.ignore
class I:
    def g(self):
        return "a" + 3
def f(x):
    return I()
>>> f(T([1]))

=== ignored_function_of_any_number
@torch.jit.ignore
def g(x, *args):
    return args[0] if args else x
def f(x, y):
    return g(x), g(x, y)
>>> f(T([1]), T([2]))

=== setstate_of_getstate
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = 3
    def forward(self, x):
        return x + self.x
    @torch.jit.export
    def __getstate__(self):
        return (self.x + 1, self.training)
    @torch.jit.export
    def __setstate__(self, state):
        self.x = state[0]
        self.training = state[1]
>>> f(T([1]))

=== hash_of_values
def f(s: str, i: int, x: float, t: Tuple[int, str], n: Optional[int]):
    return hash(s), hash(i), hash(x), hash(t), hash(n), hash("x"), hash(True)
>>> f("a longer text", -5, 1.5, (3, "x"), None)
>>> f("", 0, -0.0, (0, ""), 7)

=== device_by_keyword
def f():
    return torch.device(type="cpu")
>>> f()

=== einsum_of_lists
def f(x, y):
    return torch.einsum(x, [0], y, [1], [0, 1]), torch.einsum(x, [0], x, [0])
>>> f(T([1, 2]), T([3, 4, 5]))

=== named_tuple_without_types
P = namedtuple("P", ["value"])
def f():
    return P(1)
>>> f()

=== tuple_of_unknown_parts
def f(t: Any):
    if isinstance(t, tuple):
        a, b = t
    return 1
>>> f(1)

=== mutable_default_inside
def f(x=(1, [])):
    # type: (Tuple[int, List[Tensor]]) -> int
    return 1
>>> f()

=== hasattr_of_classes
class A:
    K = 3
    def __init__(self):
        self.x = 1
    @staticmethod
    def s(n: int) -> int:
        return n
    @property
    def p(self) -> int:
        return 1
    def m(self) -> int:
        return 2
def f(n: int):
    a = A()
    of_class = hasattr(A, "x"), hasattr(A, "s"), hasattr(A, "p"), hasattr(A, "m"), hasattr(A, "K")
    return of_class, hasattr(A, "no"), hasattr(a, "s"), hasattr(a, "p"), hasattr(a, "x")
>>> f(3)

=== hasattr_of_modules
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.m = nn.ReLU()
    @torch.jit._overload_method
    def go(self, x: int) -> int:
        ...
    @torch.jit._overload_method
    def go(self, x: str) -> str:
        ...
    def go(self, x):
        return x
    @staticmethod
    def s(x: int) -> int:
        return x
    @torch.jit.ignore
    def ig(self, x: int) -> int:
        return x
    def forward(self, n: int):
        a = hasattr(self, "go"), hasattr(self, "s"), hasattr(self, "ig"), hasattr(self, "zz")
        return a, hasattr(self, "m"), hasattr(self, "forward"), hasattr(self, "training")
>>> f(3)

=== class_method_of_module
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3
    @classmethod
    def c(cls, x: int) -> int:
        return x + 2
    def forward(self, x: int):
        return self.c(x)
>>> f(7)

=== parameter_made_in_script
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2), requires_grad=False)
    def forward(self, x: Tensor):
        self.w = nn.Parameter(x)
        return self.w
>>> f(T([1.0, 2.0]))
"""
