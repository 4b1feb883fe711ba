"""Programs of the language: names of torch that are no operators, and what calls take."""

TEXT = r"""

=== byte
def f(x: Tensor):
    return x.byte()
>>> f(T([1.0, 2.0]))

=== cfloat
def f(x: Tensor):
    return x.cfloat()
>>> f(T([1.0, 0.0]))

=== type0
def f(x: Tensor):
    return x.type()
>>> f(T([1.0]))

=== type1
def f(x: Tensor):
    return x.type('torch.DoubleTensor')
>>> f(T([1.0]))

=== type2
def f(x: Tensor):
    return x.type(torch.float64)
>>> f(T([1.0]))

=== type3
def f(x: Tensor):
    return x.type(dtype=torch.float64)
>>> f(T([1.0]))

=== typeof
def f(x: Tensor):
    y = type(x)
    return x
>>> f(T([1.0]))

=== typeof_ret
def f(x: int):
    return type(x)
>>> f(1)

=== assert_fn
def f(x: Tensor):
    torch._assert(x.sum() > 0, "must be positive")
    return x
>>> f(T([1.0]))
>>> f(T([-1.0]))

=== assert_fn2
def f(x: int):
    torch._assert(x > 0, "must be positive")
    return x
>>> f(1)
>>> f(-1)

=== assert_kw
def f(x: int):
    torch._assert(condition=x > 0, message="must be positive")
    return x
>>> f(1)
>>> f(-1)

=== floattensor_annot
def f(x: torch.FloatTensor):
    return x + 1
>>> f(T([1.0]))

=== longtensor_annot
def f(x: torch.LongTensor) -> torch.LongTensor:
    return x + 1
>>> f(T([1]))

=== booltensor_list
def f(x: List[torch.BoolTensor]):
    return x[0]
>>> f([T([True])])

=== floattensor_list
def f(x: int):
    return torch.FloatTensor([1.0, 2.0])
>>> f(1)

=== tensor_call
def f(x: int):
    return torch.Tensor([1.0])
>>> f(1)

=== size_annot
def f(x: torch.Size):
    return x[0]
>>> f(T([1.0]).shape)

=== size_call
def f(x: Tensor):
    return torch.Size([1, 2])
>>> f(T([1.0]))

=== star_call_list
def g(a: int, b: int):
    return a * 10 + b
def f(x: List[int]):
    return g(*x)
>>> f([1, 2])

=== star_mixed
def g(a: int, b: int, c: int):
    return a * 100 + b * 10 + c
def f(x: Tuple[int, int]):
    return g(1, *x), g(*x, 1), g(*x, c=5)
>>> f((1, 2))

=== star_two
def g(a: int, b: int, c: int, d: int):
    return a * 1000 + b * 100 + c * 10 + d
def f(x: Tuple[int, int]):
    return g(*x, *x)
>>> f((1, 2))

=== star_list_zeros
def f(x: List[int]):
    return torch.zeros(*x)
>>> f([1, 2])

=== star_view
def f(x: Tensor, s: List[int]):
    return x.view(*s)
>>> f(T([1, 2]), [2, 1])

=== star_print
def f(x: Tuple[int, str]):
    print(*x)
    return 1
>>> f((1, 'a'))

=== star_format
def f(x: Tuple[int, str]):
    return "{} {}".format(*x)
>>> f((1, 'a'))

=== star_list_disp
def f(x: Tuple[int, int]):
    return [*x]
>>> f((1, 2))

=== lambda_local
def f(x: int):
    g = lambda y: y + 1
    return g(x)
>>> f(1)

=== lambda_sorted
def f(x: List[int]):
    return sorted(x, key=lambda y: -y)
>>> f([1, 2])

=== nt_default
class P(NamedTuple):
    x: int
    y: int = 4
def f(a: int):
    return P(a), P(a, 2), P(x=a), P(y=1, x=a)
>>> f(1)

=== nt_default_print
class P(NamedTuple):
    x: int
    y: Optional[int] = None
    z: str = "s"
def f(p: P):
    return p.x, p.y, p.z, str(p)
>>> f(P(1))

=== nt_replace_argument
class P(NamedTuple):
    x: int
def f(p: P):
    return p._replace(x=2)
>>> f(P(1))

=== nt_asdict
class P(NamedTuple):
    x: int
def f(p: P):
    return p._asdict()
>>> f(P(1))

=== nt_method_argument
class P(NamedTuple):
    x: int
    def g(self) -> int:
        return self.x + 1
def f(p: P):
    return p.g()
>>> f(P(1))

=== nt_eq
class P(NamedTuple):
    x: int
    y: int
def f(p: P, q: P):
    return p == q
>>> f(P(1, 2), P(1, 2))

=== subscript_pair_of_object
class A:
    def __init__(self):
        self.x = 1
    def __getitem__(self, i: Tuple[int, int]) -> int:
        return i[0]
def f(x: int):
    a = A()
    return a[1, 2]
>>> f(1)

=== other_names
def f(x: Tensor):
    return x.swapaxes(axis0=0, axis1=1), x.det(), torch.swapaxes(x, 0, 1), torch.det(x), x.inverse()
>>> f(T([[1.0]]))

=== ellipsis_alone
def f(x: Tensor):
    x[...] += 1
    return x
>>> f(T([1.0]))

=== int_in_string
def f(x: int, y: str):
    return x in y
>>> f(1, "a")

=== tolist_checked
def f(x: Tensor):
    a: List[int] = x.tolist()
    b: List[List[int]] = x.view(1, -1).tolist()
    return a, b
>>> f(T([1, 2]))
>>> f(T([1.5, 2]))

=== tolist_f
def f(x: Tensor):
    a: List[float] = x.tolist()
    return a
>>> f(T([1.5, 2]))
>>> f(T([[1.5, 2]]))

=== cast_of_tensor
def f(x: Tensor):
    return int(x), float(x), bool(x), str(int(x)), complex(x)
>>> f(T(3))
>>> f(T(2.5))

=== builtin_map
def f(x: List[int]):
    return list(map(str, x))
>>> f([1])

=== range_len
def f(a: int):
    return len(range(a))
>>> f(3)

=== enum_len
def f(a: List[int]):
    return len(enumerate(a)), len(zip(a, a))
>>> f([3])

=== str_startswith
def f(s: str):
    return s.startswith("he"), s.startswith("e", 1), s.startswith("l", 2, 3), s.endswith("lo", 3), s.endswith("l", 0, 4)
>>> f("hello")

=== list_sort_tuple
def f(x: List[Tuple[int, str]]):
    x.sort()
    return x
>>> f([(2, "a"), (1, "b")])

=== sorted_tuple
def f(x: List[Tuple[int, str]]):
    return sorted(x)
>>> f([(2, "a"), (1, "b")])

=== attribute_stale
class M(nn.Module):
    o: Optional[int]
    def __init__(self):
        super().__init__()
        self.o = 1
    def clear(self) -> bool:
        self.o = None
        return True
    def forward(self, x: int):
        if self.o is not None and self.clear():
            return self.o + x
        return x
>>> f(1)

=== attribute_stale2
class M(nn.Module):
    o: Optional[int]
    def __init__(self):
        super().__init__()
        self.o = 1
    def clear(self) -> bool:
        self.o = None
        return True
    def forward(self, x: int):
        if self.o is not None:
            self.clear()
            return self.o + x
        return x
>>> f(1)

=== attribute_stale_loop
class M(nn.Module):
    o: Optional[int]
    def __init__(self):
        super().__init__()
        self.o = 1
    def forward(self, x: int):
        if self.o is not None:
            for i in range(x):
                x += self.o
                self.o = None
        return x
>>> f(1)

=== attribute_base_changes
class Node:
    def __init__(self, w: Optional[int]):
        self.w = w
def f(x: int):
    n = Node(x)
    if n.w is not None:
        n = Node(None)
        return n.w + 1
    return 0
>>> f(1)

=== attribute_stale_branch
class M(nn.Module):
    o: Optional[int]
    def __init__(self):
        super().__init__()
        self.o = 1
    def forward(self, x: int):
        if self.o is None:
            return 0
        if x > 0:
            self.o = None
        return self.o + 1
>>> f(1)

=== chain_of_assignment
def h(a: int):
    return a.foo
def f(x: int):
    z = x + 1
    y = h(z)
    return y
>>> f(1)

=== chain_of_statement
def h(a: int):
    a.foo
    return 1
def f(x: int):
    z = x + 1
    h(z)
    return z
>>> f(1)

=== chain_of_attribute
def h(a: int):
    a.foo
    return 1
def f(x: int):
    return h(x).foo
>>> f(1)

=== chain_of_argument
def h(a: int):
    a.foo
    return 1
def f(x: int):
    return torch.relu(torch.ones(h(x)))
>>> f(1)

=== chain_of_loop
def h(a: int):
    a.foo
    return True
def f(x: int):
    for i in range(h(x)):
        return 1
    return 2
>>> f(1)

=== chain_of_tuple
def h(a: int):
    a.foo
    return True
def f(x: int):
    a, b = x, h(x)
    return b
>>> f(1)

=== chain_of_list
def h(a: int):
    a.foo
    return True
def f(x: int):
    b = [h(x)]
    c = [h(i) for i in range(3)]
    return b
>>> f(1)

=== chain_of_fstring
def h(a: int):
    a.foo
    return True
def f(x: int):
    return f"{h(x)}"
>>> f(1)

=== chain_of_keyword
def h(a: int):
    a.foo
    return True
def g(a: int, b: int):
    return a
def f(x: int):
    return g(x, b=h(x + 1))
>>> f(1)

=== chain_of_class
@torch.jit.script
class K:
    def __init__(self, a: int):
        self.a = a
def h(a: int):
    return a.foo
def f(x: int):
    k = K(h(x))
    return k.a
>>> f(1)

=== chain_of_subscript
def h(a: int):
    return a.foo
def f(x: List[int]):
    return x[h(2)]
>>> f([1])

=== chain_of_augmented
def h(a: int):
    return a.foo
def f(x: int):
    x += h(2)
    return x
>>> f(1)

=== chain_of_three
def h(a: int):
    return a.foo
def g(a: int):
    return h(a)
def f(x: int):
    return g(x)
>>> f(1)

=== underlined_subscript
def f(x: Dict[str, int]):
    return x[None]
>>> f({"b": 1})

=== underlined_star
def f(*x: int):
    return x
>>> f(2)

=== underlined_two_stars
def f(x: int, **k: int):
    return x
>>> f(2)

=== identity_of_data
def f(a: int, b: str, c: List[int]):
    e = c
    return a is 1, b is "x", None is None, a is not None, c is e, c is [1], (1, 2) is (1, 2), 1 is 1, "a" is "a"
>>> f(1, "x", [1])

=== warning_of_a_class
def f(x: int):
    warnings.warn("cat", UserWarning)
    return x
>>> f(1)

=== form_as_value
def f(x: int):
    return range
>>> f(1)

=== form_as_value_tuple
def f(x: int):
    return tuple
>>> f(1)

=== form_as_iterable
def f(x: int):
    for i in enumerate:
        pass
>>> f(1)

=== form_with_attribute
def f(x: int):
    return hasattr.name
>>> f(1)

=== class_as_value
class K:
    def __init__(self):
        self.x = 1
def f(x: int):
    return K
>>> f(1)

=== class_as_iterable
class K:
    def __init__(self):
        self.x = 1
def f(x: int):
    for i in K:
        pass
>>> f(1)

=== class_with_subscript
class P(NamedTuple):
    x: int
def f(x: int):
    return P[0]
>>> f(1)

=== method_as_iterable
def f(d: Dict[str, int]):
    for k in d.items:
        pass
>>> f({"a": 1})

=== module_of_python_as_value
def f(x: int):
    return math
>>> f(1)

=== module_class_as_value
class Own(nn.Module):
    def forward(self, x):
        return x
def f(x: int):
    return Own
>>> f(1)

=== module_class_instantiated
class Own(nn.Module):
    def forward(self, x):
        return x
def f(x: Tensor):
    return Own()(x)
>>> f(T([1.0]))

=== module_class_attribute
class Own(nn.Module):
    def forward(self, x):
        return x
def f(x: Tensor):
    return Own.bias
>>> f(T([1.0]))

=== len_of_range
def f(x: int):
    return len(range(x))
>>> f(1)

=== len_of_form
def f(x: int):
    return len(print)
>>> f(1)

=== len_of_nothing
def f(x: int):
    return len()
>>> f(1)

=== len_by_keyword
def f(x: List[int]):
    return len(a=x)
>>> f([1])

=== range_with_keyword
def f(x: int):
    s = 0
    for i in range(x, step=2):
        s += i
    return s
>>> f(4)

=== enumerate_with_other_keyword
def f(x: List[int]):
    s = 0
    for i, v in enumerate(x, first=2):
        s += i * v
    return s
>>> f([4])

=== truth_of_object
class K:
    def __init__(self):
        self.x = 1
def f(x: int):
    k = K()
    return 1 if k else 2
>>> f(4)

=== unwrap_with_two_arguments
def f(x: Optional[int]):
    return torch.jit._unwrap_optional(x, x)
>>> f(4)

=== infinity_of_another_module
from math import inf
endless = math.inf
def f(x: float):
    return x < inf, -endless
>>> f(1.0)

=== infinity_of_ones_own
endless = float("inf")
def f(x: float):
    return x < endless
>>> f(1.0)

=== function_cached_by_python
import functools
@functools.wraps(len)
def g(x: int) -> int:
    return x + 1
@functools.lru_cache(None)
def h(x: int) -> int:
    return x
def f(x: int):
    return h(x)
>>> f(1)

=== dtype_of_global
G = torch.float64
def f(n: int):
    return torch.zeros(n, dtype=G)
>>> f(1)

=== layout_of_global
G = torch.strided
def f(n: int):
    return torch.zeros(n, layout=G)
>>> f(1)

=== memory_format_of_global
G = torch.channels_last
def f(x: Tensor):
    return x.contiguous(memory_format=G)
>>> f(T([[[[1.0]]]]))
"""
