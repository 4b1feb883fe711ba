"""Programs that use all forms of a statement or all methods of a type; the format is that of `language_harness`."""

TEXT = r"""

=== augmented_everything
class C:
    def __init__(self):
        self.n = 5
        self.l = [1, 2, 3]
        self.d = {"a": 1.0}
        self.t = torch.ones(2, 3)
        self.s = "s"
def f(k: int):
    c = C()
    c.n += k
    c.n *= 2
    c.n -= 1
    c.n %= 100
    c.n <<= 1
    c.n |= 1
    c.n ^= 3
    c.n &= 255
    c.n >>= 1
    c.l[0] += k
    c.l[-1] *= 3
    c.l += [7]
    c.d["a"] /= 4
    c.t[0] += 1
    c.t[1, 2] *= 5
    c.t[:, 1] -= k
    c.s += "t"
    return c.n, c.l, c.d, c.t, c.s
>>> f(3)

=== break_continue_nested
def f(n: int):
    out: List[Tuple[int, int]] = []
    i = 0
    while True:
        i += 1
        if i > n:
            break
        if i % 3 == 0:
            continue
        for j in range(10):
            if j == i:
                break
            if (i + j) % 2:
                continue
            k = j
            while k > 0:
                k -= 2
                if k == 1:
                    break
            out.append((i, k))
    return out, i
>>> f(6)

=== return_from_three_loops
def f(n: int):
    for i in range(n):
        for j in [1, 2, 3]:
            for c in "ab":
                if i * j > 4 and c == "b":
                    return i, j, c
                elif i > 100:
                    break
            else_ = i
    return -1, -1, ""
>>> f(2)
>>> f(5)

=== for_over_everything
def f(t: Tensor, s: str, d: Dict[str, int]):
    out: List[str] = []
    for r in t:
        out.append(str(int(r.sum().item())))
    for c in s:
        out.append(c)
    for k in d:
        out.append(k)
    for k, v in d.items():
        out.append(k + str(v))
    for v in d.values():
        out.append(str(v))
    for i, (a, b) in enumerate(zip([1, 2], ["p", "q"]), 5):
        out.append(str(i) + str(a) + b)
    for a in (1, 2.5, "x"):
        out.append(str(a))
    for i in range(10, 0, -4):
        out.append(str(i))
    return out
>>> f(T([[1, 2], [3, 4]]), "hi", {"z": 1, "y": 2})

=== dict_mutated_while_iterating
def f(n: int):
    d = {i: i * i for i in range(n)}
    for k in d.keys():
        if k % 2:
            del d[k]
        else:
            d[k + 100] = 0
    e = 0
    for k, v in d.items():
        d[k] = v + 1
        e += v
    return d, e
>>> f(5)

=== list_mutated_while_iterating
def f(n: int):
    l = [1, 2, 3, 4, 5, 6]
    seen: List[int] = []
    for x in l:
        seen.append(x)
        if x % 2:
            l.remove(x)
    for x in l:
        if len(l) < n:
            l.append(x + 10)
    return l, seen
>>> f(8)

=== with_in_loop_break
class Ctx:
    def __init__(self):
        self.depth = 0
    def __enter__(self) -> int:
        self.depth += 1
        return self.depth
    def __exit__(self, a: Any, b: Any, c: Any):
        self.depth -= 10
def f(n: int):
    c = Ctx()
    out: List[int] = []
    for i in range(n):
        with c as d:
            if i == 1:
                continue
            if i == 3:
                break
            out.append(d)
    return out, c.depth
>>> f(6)

=== tensor_index_mix
def f(x: Tensor, i: Tensor, m: Tensor, k: int):
    a = x[..., 0]
    b = x[None, k]
    c = x[:, [0, 1]]
    d = x[m]
    e = x[i, :, 1]
    g = x[:, None, ..., -1]
    h = x[1:, ::2, k:]
    j = x[i][..., None]
    l = x[k, ..., None, 0]
    return a, b.shape, c, d, e, g.shape, h, j.shape, l
>>> f(torch.arange(12).reshape(2, 2, 3), T([1, 0, 1]), T([[True, False], [False, True]]), 1)

=== tensor_assign_forms
def f(x: Tensor, i: Tensor, k: int):
    x = x.clone()
    x[0] = 5
    x[k, 1:] = torch.zeros(2)
    x[:, 0] += 2
    x[i, i] = -1
    x[x > 4] = 4
    x[..., -1] *= 2
    x[1, [0, 2]] = 9
    x[None, 0, 0] = 7
    return x
>>> f(torch.arange(9.0).reshape(3, 3), T([0, 2]), 1)

=== mutual_recursion_methods
class P:
    def __init__(self, n: int):
        self.n = n
    def even(self) -> bool:
        if self.n == 0:
            return True
        self.n -= 1
        return self.odd()
    def odd(self) -> bool:
        if self.n == 0:
            return False
        self.n -= 1
        return self.even()
def f(n: int):
    return P(n).even()
>>> f(4)

=== comprehensions_nested
def f(n: int):
    a = [[i * j for j in range(i)] for i in range(n)]
    b = [x + 1 for x in [y * 2 for y in range(n)]]
    c = {str(i): [i] * i for i in range(n)}
    d = [len(k) for k in a]
    e = [(i, s) for i, s in enumerate(["a", "b"])]
    g = {k: v for k, v in zip(["x", "y"], [1.0, 2.0])}
    return a, b, c, d, e, g
>>> f(4)

=== raise_forms
class MyErr(Exception):
    pass
def f(k: int):
    if k == 0:
        raise ValueError("a", k)
    if k == 1:
        raise RuntimeError
    if k == 2:
        raise MyErr(f"mine {k}")
    if k == 3:
        raise KeyError("x" + str(k)) from None
    if k == 4:
        raise NotImplementedError()
    assert k != 5, f"five {k}"
    assert k != 6
    assert k < 8, ("t", k)
    return k
>>> f(0)
>>> f(1)
>>> f(2)
>>> f(3)
>>> f(4)
>>> f(5)
>>> f(6)
>>> f(7)
>>> f(9)

=== overload_functions
@torch.jit._overload
def g(x: int, y: int = 2) -> int: ...
@torch.jit._overload
def g(x: str, y: int = 2) -> str: ...
@torch.jit._overload
def g(x: List[int], y: int = 2) -> int: ...
def g(x, y: int = 2):
    if isinstance(x, int):
        return x + y
    elif isinstance(x, str):
        return x + str(y)
    else:
        return len(x) + y
def f(n: int):
    return g(n), g("a", 3), g([1, 2, 3])
>>> f(1)

=== string_methods_unusual
def f(s: str):
    return s.center(11, "*"), s.ljust(8, "."), s.rjust(8), s.zfill(9), s.find("b", 2), s.rfind("b", 0, 3), s.count("b", 1, 5), s.index("b"), s.replace("b", "XX", 1), s.strip("a"), s.lstrip("ab"), s.rstrip("c"), s.startswith("b", 1), s.endswith("c", 0, 3), s.partition("b"), s.rpartition("b"), s.partition("z"), s.rpartition("z"), s.expandtabs(4), s.swapcase(), s.title(), s.capitalize()
>>> f("abcbabc")
>>> f("")

=== all_list_methods
def f(l: List[int]):
    a = l.copy()
    a.append(5)
    a.extend([6, 7])
    a.insert(1, 100)
    a.insert(-1, 200)
    a.insert(50, 300)
    p = a.pop()
    q = a.pop(0)
    r = a.pop(-2)
    a.reverse()
    i = a.index(100)
    c = a.count(2)
    b = a.copy()
    b.sort()
    d = b.copy()
    d.sort(reverse=True)
    a.remove(100)
    e = a + [1] + l * 2
    b.clear()
    return a, p, q, r, i, c, b, d, e, 3 in a, a == d, a != d, len(b)
>>> f([1, 2, 3])

=== all_dict_methods
def f(d: Dict[str, int]):
    a = d.copy()
    a["n"] = 5
    x = a.get("zz")
    y = a.get("n", 9)
    z = a.get("q", 9)
    p = a.pop("n")
    q = a.pop("none", -1)
    s = a.setdefault("s", 3)
    t = a.setdefault("s", 4)
    a.update({"u": 7, "s": 0})
    k = a.keys()
    v = a.values()
    i = a.items()
    e = dict(a)
    e["only"] = 1
    w = a.popitem()
    b = a.copy()
    b.clear()
    return a, x, y, z, p, q, s, t, k, v, i, len(e), b, "s" in a, "n" not in a, w
>>> f({"a": 1, "b": 2})

=== dict_keys_of_all_kinds
def f(n: int, x: float, b: bool):
    a = {n: "i"}
    c = {x: [n]}
    d = {b: 1.0}
    e = {"s": {n: x}}
    e["t"] = {}
    e["t"][4] = 2.0
    c[2.5] = []
    d[not b] = 2.0
    return a, c, d, e, a[n], n in a, x in c
>>> f(1, 0.5, True)

=== dict_missing_int
def f(d: Dict[int, int], k: int):
    return d.pop(k)
>>> f({1: 1}, 4)

=== literals
def f(n: int):
    return 0x1F, 0b101, 0o17, 1_000, 1e3, .5, 5., 1e-3, 3j, -2 ** 2, 2 ** -1, True, None, (), (1,), [1, ], {"a": 1, }, ...  if False else n
>>> f(1)

=== str_of_values
def f(n: int, x: float, o: Optional[int], l: List[float], d: Dict[int, str], c: complex):
    return str(n), str(x), str(o), str(l), str(d), str(c), str((n, "a")), str(True), str(None), str([True, False]), str(1e16), str(x / 3), str([["a"]]), str(-0.0), str(100.0), str(1e15)
>>> f(-3, 2.0, None, [1.0, 0.1], {1: "a"}, 1 + 2j)
>>> f(3, float("nan"), 4, [float("inf")], {}, -1.5j)
"""
