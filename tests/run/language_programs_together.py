"""Programs that take many features of the language together; the format is that of
`language_harness`."""

TEXT = r"""
=== together_op_class
class V:
    def __init__(self, x: float, y: float):
        self.x = x
        self.y = y
    def __add__(self, other: "V") -> "V":
        return V(self.x + other.x, self.y + other.y)
    def __mul__(self, k: float) -> "V":
        return V(self.x * k, self.y * k)
    def __eq__(self, other: "V") -> bool:
        return self.x == other.x and self.y == other.y
    def __lt__(self, other: "V") -> bool:
        return self.x < other.x
    def __len__(self) -> int:
        return 2
    def __getitem__(self, i: int) -> float:
        return self.x if i == 0 else self.y
    def __contains__(self, v: float) -> bool:
        return v == self.x or v == self.y
    def __neg__(self) -> "V":
        return V(-self.x, -self.y)
def f(a: float, b: float):
    u, v = V(a, b), V(b, a)
    w = u + v * 2.0
    n = -w
    return w.x, w[1], u == v, u < v, len(w), a in u, n.y
>>> f(1.0, 2.0)

=== together_setitem_class
class Bag:
    def __init__(self):
        self.d: Dict[str, int] = {}
    def __setitem__(self, k: str, v: int):
        self.d[k] = v
    def __getitem__(self, k: str) -> int:
        return self.d[k]
    def __delitem__(self, k: str):
        del self.d[k]
def f():
    b = Bag()
    b["a"] = 3
    b["a"] += 2
    return b["a"]
>>> f()

=== together_opt_dict
def f(d: Dict[str, Optional[int]], k: str):
    v = d[k]
    if v is None:
        return -1
    return v + 1
>>> f({"a": 1, "b": None}, "a")
>>> f({"a": 1, "b": None}, "b")
>>> f({"a": 1}, "c")

=== together_opt_list
def f(xs: List[Optional[int]]):
    n = 0
    for x in xs:
        if x is not None:
            n += x
        else:
            n -= 1
    ys = [x if x is not None else 0 for x in xs]
    return n, ys
>>> f([1, None, 3])

=== together_union_none
def f(x: Union[int, None, str]):
    if x is None:
        return "none"
    if isinstance(x, str):
        return x
    return str(x * 2)
>>> f(None)
>>> f("a")
>>> f(3)

=== together_annot_nested
def f():
    d = torch.jit.annotate(Dict[str, List[Tuple[int, Optional[str]]]], {})
    d["a"] = torch.jit.annotate(List[Tuple[int, Optional[str]]], [])
    d["a"].append((1, None))
    d["a"].append((2, "x"))
    return d
>>> f()

=== together_str_iter
def f(s: str):
    out: List[str] = []
    for i, c in enumerate(s):
        if c in "aeiou":
            out.append(c + str(i))
    return out
>>> f("hello")

=== together_nt
class P(NamedTuple):
    x: int
    y: Optional[float] = None
def f(a: int):
    p = P(a)
    q = P(x=a, y=2.0)
    x, y = q
    r = p.y
    if r is not None:
        return r
    return p.x + x
>>> f(1)

=== together_tensor_set
def f(x: Tensor):
    x[0] = 1
    x[:, 1] += 2
    x[x > 4] = 0
    x[1, 2] *= 3
    return x
>>> f(T([[1., 2., 3.], [4., 5., 6.]]))

=== together_star_tuple
def f(t: Tuple[int, int, int]):
    a, *b = t
    c, d = t[:2]
    return a, b, c, d
>>> f((1, 2, 3))

=== together_star_call
def g(a: int, b: int):
    return a + b
def f(t: Tuple[int, int]):
    return g(*t)
>>> f((1, 2))

=== together_dict_ops
def f(d: Dict[str, int]):
    d.update({"z": 26})
    k = list(d.keys())
    v = list(d.values())
    i = d.items()
    p = d.pop("z")
    g = d.get("q")
    h = d.get("q", 7)
    s = d.setdefault("n", 3)
    c = d.copy()
    d.clear()
    return k, v, i, p, g, h, s, c, d, len(c), "n" in c
>>> f({"a": 1})

=== together_list_ops
def f(xs: List[int]):
    xs.extend([5, 6])
    xs.insert(1, 9)
    p = xs.pop()
    q = xs.pop(0)
    xs.remove(9)
    i = xs.index(5)
    c = xs.count(5)
    ys = xs.copy()
    xs.reverse()
    z = xs + ys
    m = xs * 2
    xs += [1]
    return xs, p, q, i, c, ys, z, m, xs == ys, 5 in xs
>>> f([1, 2, 3])

=== together_buf_assign
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.zeros(2))
        self.w = nn.Parameter(torch.ones(2))
    def forward(self, x):
        self.b = self.b + x
        self.b += 1
        return self.b * self.w
>>> f(T([1., 2.]))
>>> f(T([1., 2.]))

=== together_hook_args
def pre(self, inp: Tuple[Tensor, int]) -> Tuple[Tensor, int]:
    return inp[0] + 1, inp[1]
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_forward_pre_hook(pre)
    def forward(self, x: Tensor, k: int) -> Tensor:
        return x * k
>>> f(T(3), 2)

=== together_mdict_var
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = nn.ModuleDict({"a": nn.ReLU()})
    def forward(self, x, k: str):
        return self.d[k](x)
>>> f(T([0.5]), "a")

=== together_raise_kinds
def f(x: int):
    if x == 0:
        raise ValueError("bad {}".format(x))
    elif x == 1:
        raise RuntimeError
    elif x == 2:
        raise KeyError("k")
    assert x > 5, f"small {x}"
    return x
>>> f(0)
>>> f(1)
>>> f(2)
>>> f(3)
>>> f(6)

=== together_train_flag
class M(nn.Module):
    def forward(self, x):
        if self.training:
            return F.dropout(x, 0.0, self.training)
        return x
>>> f(T([1., 2.]))

=== together_class_list
class C:
    def __init__(self, v: int):
        self.v = v
    def inc(self) -> None:
        self.v += 1
def f(n: int):
    cs = [C(i) for i in range(n)]
    for c in cs:
        c.inc()
    return [c.v for c in cs], cs[0].v
>>> f(3)

=== together_with
class Ctx:
    def __init__(self, v: int):
        self.v = v
    def __enter__(self) -> int:
        self.v += 1
        return self.v
    def __exit__(self, a: Any, b: Any, c: Any) -> None:
        self.v -= 1
def f(n: int):
    c = Ctx(n)
    with c as k:
        r = k * 2
    return r, c.v
>>> f(3)

=== together_default_args
def g(a: int, b: float = 2.0, c: Optional[str] = None, d: Tuple[int, int] = (1, 2), e: bool = True):
    return a + b if c is None else b
def f(a: int):
    return g(a), g(a, 1.0), g(a, c="x"), g(b=3.0, a=a)
>>> f(1)

=== together_list_dict_nested
def f(d: Dict[str, List[int]]):
    for k, v in d.items():
        v.append(len(k))
    d["n"] = [0] * 3
    t = (d["a"], {"q": d["n"]})
    return d, t[1]["q"][1:], [k + str(len(v)) for k, v in d.items()]
>>> f({"a": [1]})

=== together_loop_opt
def f(xs: List[Tensor]):
    best: Optional[Tensor] = None
    for x in xs:
        if best is None:
            best = x
        else:
            best = torch.maximum(best, x)
    return best
>>> f([T([1.0]), T([3.0])])
>>> f([])

=== together_inherit_module
class A(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3
    def g(self, x: Tensor) -> Tensor:
        return x + self.k
    def forward(self, x: Tensor) -> Tensor:
        return self.g(x)
class M(A):
    def g(self, x: Tensor) -> Tensor:
        return x * self.k
>>> f(T([1.0]))

=== together_mdict_contains
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.d = nn.ModuleDict({"a": nn.ReLU()})
    def forward(self, x, k: str):
        if k in self.d:
            return self.d["a"](x)
        for k2 in self.d.keys():
            if k2 == k:
                x = x + 1
        return x
>>> f(T([1.0]), "a")
>>> f(T([1.0]), "b")

=== together_mlist_cond
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.ls = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    def forward(self, x, n: int):
        for i, l in enumerate(self.ls):
            if i < n:
                x = l(x)
            else:
                break
        return x
>>> f(T([1.0]), 1)

=== together_mlist_cond2
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.ls = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    def forward(self, x, n: int):
        for i, l in enumerate(self.ls):
            if i < n:
                x = l(x)
        return x
>>> f(T([1.0]), 1)

=== together_hasattr
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 1
    def forward(self, x: int):
        if hasattr(self, "zz"):
            return self.zz
        if hasattr(self, "k"):
            return self.k + x
        return getattr(self, "k")
>>> f(1)
"""
