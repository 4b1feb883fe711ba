"""Programs on NamedTuples, enums, dataclasses and interfaces.

The format is that of `language_harness`.
"""

TEXT = r"""
=== nt_basic
class P(NamedTuple):
    x: int
    y: str
def f(a: int):
    p = P(a, "b")
    q = P(x=1, y="z")
    x, y = p
    return p.x, p[1], x, q.y, len(p), p
>>> f(3)

=== nt_defaults
class P(NamedTuple):
    x: int
    y: str = "d"
    z: Optional[int] = None
def f(a: int):
    return P(a), P(a, "e"), P(a, z=4)
>>> f(3)

=== nt_collections
P = namedtuple("P", ["x", "y"])
def f(a, b):
    p = P(a, b)
    return p.x + p.y
>>> f(T(1), T(2))

=== nt_collections_ints
P = namedtuple("P", ["x", "y"])
def f(a: int):
    p = P(a, a)
    return p.x
>>> f(1)

=== nt_arg
class P(NamedTuple):
    x: int
    y: Tensor
def f(p: P):
    return p.y * p.x
>>> f(P(2, T([1.0])))

=== nt_nested
class P(NamedTuple):
    x: int
class Q(NamedTuple):
    p: P
    l: List[P]
def f(a: int):
    q = Q(P(a), [P(1), P(2)])
    return q.p.x, q.l[1].x, q
>>> f(5)

=== nt_missing_field
class P(NamedTuple):
    x: int
def f(a: int):
    return P(a).z
>>> f(5)

=== nt_wrong_type
class P(NamedTuple):
    x: int
def f(a: str):
    return P(a)
>>> f("5")

=== nt_replace
class P(NamedTuple):
    x: int
def f(a: int):
    return P(a)._replace(x=3)
>>> f(5)

=== nt_method
class P(NamedTuple):
    x: int
    def get(self) -> int:
        return self.x
def f(a: int):
    return P(a).get()
>>> f(5)

=== nt_set
class P(NamedTuple):
    x: int
def f(a: int):
    p = P(a)
    p.x = 3
    return p
>>> f(5)

=== nt_compare
class P(NamedTuple):
    x: int
    y: int
def f(a: int):
    return P(a, 1) == P(a, 1), P(a, 1)[0:1]
>>> f(5)

=== nt_iter
class P(NamedTuple):
    x: int
    y: int
def f(a: int):
    s = 0
    for v in P(a, 1):
        s += v
    return s, [v for v in P(a, 2)]
>>> f(5)

=== nt_as_tuple
class P(NamedTuple):
    x: int
    y: int
def g(t: Tuple[int, int]):
    return t[0] - t[1]
def f(a: int):
    return g(P(a, 1))
>>> f(5)

=== nt_return_annot
class P(NamedTuple):
    x: int
    y: Optional[int]
def f(a: int) -> P:
    return P(a, None)
>>> f(5)

=== nt_tuple_to_nt
class P(NamedTuple):
    x: int
    y: int
def f(a: int) -> P:
    return (a, a)
>>> f(5)

=== enum_arg
class C(Enum):
    RED = "r"
    GREEN = "g"
def f(c: C):
    return c.value + c.name
>>> f(C.RED)

=== enum_iter
class C(Enum):
    A = 1
    B = 2
def f(a: int):
    s = 0
    n: List[str] = []
    for c in C:
        s += c.value
        n.append(c.name)
    return s, n, [c.value for c in C], len([c for c in C])
>>> f(1)

=== enum_in_dict
class C(Enum):
    A = 1
    B = 2
def f(a: int):
    d = {C.A.name: 1, C.B.name: 2}
    return d[C.B.name]
>>> f(1)

=== enum_list
class C(Enum):
    A = 1
    B = 2
def f(a: int):
    l = [C.A, C.B]
    return l[0], C.A in l
>>> f(1)

=== enum_missing
class C(Enum):
    A = 1
def f(a: int):
    return C.Z
>>> f(1)

=== enum_int
class C(IntEnum):
    A = 1
    B = 2
def f(a: int):
    return C.A.value + a
>>> f(1)

=== enum_compare_value
class C(Enum):
    A = 1
def f(a: int):
    return C.A == 1
>>> f(1)

=== enum_return
class C(Enum):
    A = 1
    B = 2
def f(a: int) -> C:
    return C.A if a > 1 else C.B
>>> f(1)

=== enum_call
class C(Enum):
    A = 1
    B = 2
def f(a: int):
    return C(a)
>>> f(1)

=== enum_print
class C(Enum):
    A = 1
    B = 2
def f(a: int):
    print(C.A)
    return str(C.B)
>>> f(1)

=== enum_attr_default
class C(Enum):
    A = 1
    B = 2
def g(c: C = C.B):
    return c.value
def f(a: int):
    return g() + g(C.A)
>>> f(1)

=== enum_float
class C(Enum):
    A = 1.5
    B = 2.5
def f(a: float):
    return C.A.value * a
>>> f(2.0)

=== dc_basic
@torch.jit.script
@dataclass
class P:
    x: int
    y: float = 2.0
def f(a: int):
    p = P(a)
    q = P(1, 3.0)
    return p.x, p.y, p == P(a), p == q
>>> f(3)

=== dc_order
@torch.jit.script
@dataclass(order=True)
class P:
    x: int
    y: int
def f(a: int):
    return P(1, a) < P(1, 3), P(2, 1) > P(1, 5), P(1, 1) <= P(1, 1), P(1, 2) >= P(1, 3)
>>> f(2)

=== dc_post_init
@torch.jit.script
@dataclass
class P:
    x: int
    y: int = 4
    def __post_init__(self):
        self.y = self.x * 2
def f(a: int):
    return P(a).y
>>> f(2)

=== dc_method
@torch.jit.script
@dataclass
class P:
    x: int
    def double(self) -> int:
        return self.x * 2
def f(a: int):
    return P(a).double()
>>> f(2)

=== dc_factory
@torch.jit.script
@dataclass
class P:
    x: List[int] = dataclasses.field(default_factory=list)
def f(a: int):
    return len(P().x)
>>> f(2)

=== iface_in_declared_types
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
def f(a: int):
    maybe: Optional[I] = A(2)
    pair: Tuple[I, int] = (A(3), a)
    if maybe is not None:
        a = maybe.run(a)
    return a, pair[0].run(pair[1])
>>> f(3)

=== iface_optional_of_another_class
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
def f(a: int):
    maybe: Optional[I] = A(2)
    return a
>>> f(3)

=== iface_in_tuple_beside_list
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
def f(a: int):
    pair: Tuple[I, List[int]] = (A(3), (1, 2))
    return pair[0].run(a)
>>> f(3)

=== iface_basic
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def f(a: int):
    i: I = A(2)
    if a > 3:
        i = B()
    return call(A(1), a), call(B(), a), i.run(a)
>>> f(3)
>>> f(4)

=== iface_list
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
def f(a: int):
    l: List[I] = []
    l.append(A(1))
    l.append(A(2))
    return [i.run(a) for i in l]
>>> f(3)

=== enumerate_errors
def f(x: List[int]):
    for i in enumerate():
        pass
    return 1
>>> f([1])

=== enum_dispatch
class Op(Enum):
    ADD = "+"
    SUB = "-"
def apply(op: Op, a: int, b: int) -> int:
    if op == Op.ADD:
        return a + b
    elif op == Op.SUB:
        return a - b
    else:
        return 0
def f(a: int, b: int):
    return apply(Op.ADD, a, b), apply(Op.SUB, a, b)
>>> f(3, 4)

=== named_container_defaults
class P(NamedTuple):
    x: Optional[List[int]] = None
    y: List[int] = [1, 2, 3]
    z: Optional[Dict[str, int]] = {"a": 1}
def f(n: int):
    p = P()
    q = P(y=[n])
    return p, q, P()
>>> f(1)

=== named_container_defaults_given
class P(NamedTuple):
    x: Optional[List[int]] = None
    y: List[int] = [1, 2, 3]
def f(p: P):
    return p.y
>>> f(P())

=== named_tensor_default
class P(NamedTuple):
    x: Tensor = torch.zeros(2)
def f(p: P):
    return p.x
>>> f(P())

=== named_tuple_default
class P(NamedTuple):
    x: Tuple[int, str] = (1, "a")
    y: float = 1.5
    s: str = "q"
def f(n: int):
    return P(), P(y=2.0)
>>> f(1)

=== named_in_dicts
class In(NamedTuple):
    t: Tensor
    l: List[int]
class Out(NamedTuple):
    i: In
    d: Dict[str, In]
def f(t):
    o = Out(In(t, [1]), {"k": In(t * 2, [2, 3])})
    return o.i.t, o.d["k"].l, o
>>> f(T([1.0]))

=== enum_identity
class E(Enum):
    A = 1
    B = 2
def f(c: E, k: int):
    d = E.A
    return c is E.A, d is E.A, E.A is E.A, c is not E.A, d is d, c is c
>>> f(E.A, 1)

=== interface_not_fulfilled
@torch.jit.interface
class Op2:
    def go(self, x: int) -> int:
        pass
@torch.jit.script
class Bad:
    def __init__(self, k: int):
        self.k = k
    def go(self, x: str) -> int:
        return 1
def run(o: Op2, x: int) -> int:
    return o.go(x)
def f(x: int):
    return run(Bad(2), x)
>>> f(5)

=== nt_two_classes_of_the_same_fields
class P(NamedTuple):
    x: int
class Q(NamedTuple):
    x: int
def take(p: P):
    return p.x + 1
def f(a: int, q: Q):
    p = P(a)
    if a > 2:
        p = Q(a * 2)
    return p.x, take(q), take(Q(a)), q == P(a)
>>> f(3, Q(4))
>>> f(1, P(1))

=== nt_two_classes_of_other_fields
class P(NamedTuple):
    x: int
class Q(NamedTuple):
    y: int
def f(a: int):
    p = P(a)
    if a > 2:
        p = Q(a * 2)
    return p.x
>>> f(3)

=== named_tuples_asked_for
class N(NamedTuple):
    a: int
class Same(NamedTuple):
    a: int
class Other(NamedTuple):
    b: int
def asked(x: Any) -> List[bool]:
    of_fields = [isinstance(x, N), isinstance(x, Same), isinstance(x, Other)]
    return of_fields + [torch.jit.isinstance(x, Tuple[int]), isinstance(x, tuple)]
def f(x: Any, n: int):
    return asked(x), asked(N(n)), asked(Same(n)), asked(Other(n)), asked((n,)), asked(n)
>>> f(1, 2)
>>> f((1,), 2)
>>> f(N(1), 2)
"""
