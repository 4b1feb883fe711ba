"""Programs on methods, attributes, properties and operators of classes.

The format is that of `language_harness`.
"""

TEXT = r"""
=== cls_basic
@torch.jit.script
class P(object):
    def __init__(self, x: int, y: int = 2):
        self.x = x
        self.y = y
    def total(self) -> int:
        return self.x + self.y
    def move(self, dx: int):
        self.x += dx
        return self
def f(a: int):
    p = P(a)
    q = p.move(3)
    return p.total(), q.x, P(1, y=5).total()
>>> f(1)

=== cls_unscripted
class P:
    def __init__(self, x: int):
        self.x = x
    def get(self):
        return self.x
def f(a: int):
    return P(a).get()
>>> f(1)

=== cls_default_none
class P:
    def __init__(self, x: Optional[int] = None):
        self.x = x
    def get(self) -> int:
        x = self.x
        if x is not None:
            return x
        return -1
def f(a: int):
    return P(a).get(), P().get()
>>> f(1)

=== cls_missing_attr
class P:
    def __init__(self, x: int):
        self.x = x
def f(a: int):
    return P(a).y
>>> f(1)

=== cls_set_missing
class P:
    def __init__(self, x: int):
        self.x = x
def f(a: int):
    p = P(a)
    p.y = 3
    return p.x
>>> f(1)

=== cls_wrong_type_attr
class P:
    def __init__(self, x: int):
        self.x = x
    def bad(self):
        self.x = "a"
def f(a: int):
    p = P(a)
    p.bad()
    return p.x
>>> f(1)

=== cls_attr_in_if
class P:
    def __init__(self, x: int):
        if x > 1:
            self.x = x
        else:
            self.x = 0
def f(a: int):
    return P(a).x
>>> f(1)

=== cls_inherit
class A:
    def __init__(self):
        self.x = 1
class B(A):
    def __init__(self):
        self.x = 2
def f(a: int):
    return B().x
>>> f(1)

=== cls_class_attr
class A:
    k = 3
    def __init__(self):
        self.x = 1
def f(a: int):
    return A().k
>>> f(1)

=== cls_static
class A:
    def __init__(self, x: int):
        self.x = x
    @staticmethod
    def make(x: int) -> int:
        return x * 2
    def use(self):
        return self.make(self.x) + A.make(1)
def f(a: int):
    return A(a).use(), A.make(4)
>>> f(3)

=== cls_property
class A:
    def __init__(self, x: int):
        self._x = x
    @property
    def x(self) -> int:
        return self._x * 2
    @x.setter
    def x(self, v: int):
        self._x = v
def f(a: int):
    p = A(a)
    p.x = 5
    p.x += 1
    return p.x
>>> f(3)

=== cls_property_noset
class A:
    def __init__(self, x: int):
        self._x = x
    @property
    def x(self) -> int:
        return self._x * 2
def f(a: int):
    p = A(a)
    p.x = 5
    return p.x
>>> f(3)

=== cls_op_missing
class V:
    def __init__(self, x: int):
        self.x = x
def f(a: int):
    return V(a) + V(1)
>>> f(1)

=== cls_iadd
class V:
    def __init__(self, x: int):
        self.x = x
    def __iadd__(self, o: int) -> "V":
        self.x += o
        return self
def f(a: int):
    v = V(a)
    v += 4
    return v.x
>>> f(1)

=== cls_list_of
class V:
    def __init__(self, x: int):
        self.x = x
    def __lt__(self, o: "V") -> bool:
        return self.x < o.x
def f(a: int):
    l = [V(3), V(1), V(a)]
    l.sort()
    s = sorted([V(9), V(8)])
    l.sort(reverse=True)
    return [v.x for v in l], s[0].x
>>> f(2)

=== cls_dict_of
class V:
    def __init__(self, x: int):
        self.x = x
def f(a: int):
    d: Dict[str, V] = {}
    d["a"] = V(a)
    d["b"] = V(a + 1)
    s = 0
    for k, v in d.items():
        s += v.x
    return s
>>> f(2)

=== cls_compose
class A:
    def __init__(self, x: int):
        self.x = x
class B:
    def __init__(self, a: A):
        self.a = a
        self.items: List[A] = []
    def add(self, v: int):
        self.items.append(A(v))
        self.a.x += v
def f(a: int):
    b = B(A(a))
    b.add(2)
    b.add(3)
    return b.a.x, len(b.items), b.items[1].x
>>> f(1)

=== cls_alias
class A:
    def __init__(self, x: int):
        self.x = x
def g(a: A):
    a.x = 9
def f(a: int):
    p = A(a)
    q = p
    g(q)
    return p.x, p is q, p is A(1)
>>> f(1)

=== cls_no_init
class A:
    def foo(self):
        return 1
def f(a: int):
    return A().foo()
>>> f(1)

=== cls_init_args_wrong
class A:
    def __init__(self, x: int):
        self.x = x
def f(a: int):
    return A("s").x
>>> f(1)

=== cls_init_too_many
class A:
    def __init__(self, x: int):
        self.x = x
def f(a: int):
    return A(1, 2).x
>>> f(1)

=== cls_method_missing_arg
class A:
    def __init__(self, x: int):
        self.x = x
    def g(self, y: int):
        return y
def f(a: int):
    return A(1).g()
>>> f(1)

=== cls_method_kw
class A:
    def __init__(self, x: int):
        self.x = x
    def g(self, y: int, z: int = 4, *, w: int):
        return y * 100 + z * 10 + w
def f(a: int):
    return A(1).g(1, w=2), A(1).g(y=3, w=2, z=1)
>>> f(1)

=== cls_ignored_method
class A:
    def __init__(self, x: int):
        self.x = x
    @torch.jit.unused
    def bad(self, y: int) -> int:
        return undefined_thing
    def g(self):
        return self.x
def f(a: int):
    return A(a).g()
>>> f(1)

=== cls_return_object
class A:
    def __init__(self, x: int):
        self.x = x
def f(a: int):
    return A(a)
>>> f(1).x

=== cls_arg_object
@torch.jit.script
class A(object):
    def __init__(self, x: int):
        self.x = x
def f(a: A):
    return a.x
>>> f(A(4))

=== cls_tensor_attr
class A:
    def __init__(self, x):
        self.x = x
    def g(self):
        self.x = self.x * 2
        return self.x.sum()
def f(a):
    return A(a).g()
>>> f(T([1.0, 2.0]))

=== cls_body_annotation
class A:
    x: int
    l: List[str]
    def __init__(self, x: int):
        self.x = x
        self.l = []
def f(a: int):
    p = A(a)
    p.l.append("q")
    return p.l, p.x
>>> f(1)

=== cls_recursive_method
class A:
    def __init__(self, x: int):
        self.x = x
    def fact(self, n: int) -> int:
        if n <= 1:
            return 1
        return n * self.fact(n - 1)
def f(a: int):
    return A(1).fact(a)
>>> f(4)

=== cls_methods_order
class A:
    def __init__(self, x: int):
        self.x = self.later(x)
    def later(self, y: int) -> int:
        return y + 1
def f(a: int):
    return A(a).x
>>> f(4)

=== cls_del
class A:
    def __init__(self, x: int):
        self.x = x
    def __delitem__(self, k: int):
        self.x = k
def f(a: int):
    p = A(a)
    del p[7]
    return p.x
>>> f(4)

=== cls_eq_default
class A:
    def __init__(self, x: int):
        self.x = x
def f(a: int):
    return A(a) == A(a)
>>> f(4)

=== cls_isinstance
class A:
    def __init__(self, x: int):
        self.x = x
class B:
    def __init__(self, x: int):
        self.x = x
def f(a: int):
    v: Union[A, B] = A(a)
    if isinstance(v, A):
        return v.x
    else:
        return v.x * 10
>>> f(4)

=== cls_hasattr
class A:
    def __init__(self, x: int):
        self.x = x
def f(a: int):
    p = A(a)
    if hasattr(p, "x"):
        r = 1
    else:
        r = p.nothing
    return r, hasattr(p, "y"), getattr(p, "x"), getattr(p, "y", 8)
>>> f(4)

=== cls_getattr_dynamic
class A:
    def __init__(self, x: int):
        self.x = x
def f(a: str):
    return getattr(A(1), a)
>>> f("x")

=== final_class
class A:
    k: Final[int]
    def __init__(self):
        self.k = 3
def f(n: int):
    return A().k + n
>>> f(1)

=== cls_body_opt
class A:
    x: Optional[int]
    def __init__(self):
        self.x = None
    def g(self):
        self.x = 3
def f(a: int):
    p = A()
    p.g()
    return p.x
>>> f(1)

=== cls_init_annotate
class A:
    def __init__(self):
        self.x = torch.jit.annotate(Optional[int], None)
    def g(self):
        self.x = 3
def f(a: int):
    p = A()
    p.g()
    return p.x
>>> f(1)

=== type_comment_method
class A:
    def __init__(self, x):
        # type: (int) -> None
        self.x = x
    def g(self, y, z=2):
        # type: (int, int) -> int
        return self.x + y + z
def f(a: int):
    return A(a).g(1), A(a).g(1, z=5)
>>> f(1)
"""
