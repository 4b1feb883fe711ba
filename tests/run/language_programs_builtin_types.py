"""Classes, tuples with names, enums, optionals, unions, dicts, lists and strings, in combinations."""

TEXT = r"""
=== vec_operators
@torch.jit.script
class Vec:
    def __init__(self, x: float, y: float):
        self.x = x
        self.y = y
    def __add__(self, o: "Vec") -> "Vec":
        return Vec(self.x + o.x, self.y + o.y)
    def __sub__(self, o: "Vec") -> "Vec":
        return Vec(self.x - o.x, self.y - o.y)
    def __mul__(self, k: float) -> "Vec":
        return Vec(self.x * k, self.y * k)
    def __neg__(self) -> "Vec":
        return Vec(-self.x, -self.y)
    def __eq__(self, o: "Vec") -> bool:
        return self.x == o.x and self.y == o.y
    def __lt__(self, o: "Vec") -> bool:
        return self.x * self.x + self.y * self.y < o.x * o.x + o.y * o.y
def f(a: float, b: float):
    v = Vec(a, b)
    w = v + Vec(1.0, 2.0) * 2.0 - Vec(0.5, 0.5)
    return w.x, w.y, v == w, v < w, (-w).x
>>> f(1.0, 2.0)
>>> f(-3.5, 0.0)

=== getitem_class
@torch.jit.script
class Ring:
    def __init__(self, n: int):
        self.data = [0] * n
        self.at = 0
    def __len__(self) -> int:
        return len(self.data)
    def __getitem__(self, i: int) -> int:
        return self.data[(self.at + i) % len(self.data)]
    def __setitem__(self, i: int, v: int) -> None:
        self.data[(self.at + i) % len(self.data)] = v
    def __contains__(self, v: int) -> bool:
        return v in self.data
    def push(self, v: int) -> None:
        self.data[self.at] = v
        self.at = (self.at + 1) % len(self.data)
def f(n: int):
    r = Ring(n)
    for i in range(7):
        r.push(i * i)
    r[0] = -1
    return len(r), r[0], r[1], r[-1], 25 in r, 7 in r
>>> f(3)
>>> f(5)
>>> f(0)

=== class_call_and_str
@torch.jit.script
class Scale:
    def __init__(self, k: int):
        self.k = k
    def __call__(self, x: Tensor) -> Tensor:
        return x * self.k
    def __str__(self) -> str:
        return "Scale(" + str(self.k) + ")"
def f(x: Tensor):
    s = Scale(3)
    return s(x), str(s)
>>> f(T([1, 2]))

=== class_len_bool
@torch.jit.script
class Bag:
    def __init__(self):
        self.items: List[int] = []
    def __len__(self) -> int:
        return len(self.items)
    def __bool__(self) -> bool:
        return len(self.items) > 0
def f(n: int):
    b = Bag()
    for i in range(n):
        b.items.append(i)
    if b:
        return len(b)
    return -1
>>> f(0)
>>> f(3)

=== class_inplace_operators
@torch.jit.script
class Acc:
    def __init__(self, v: int):
        self.v = v
    def __iadd__(self, o: int) -> "Acc":
        self.v += o
        return self
    def __imul__(self, o: int) -> "Acc":
        self.v *= o
        return self
def f(n: int):
    a = Acc(n)
    b = a
    a += 5
    a *= 2
    return a.v, b.v
>>> f(3)

=== property_setter
@torch.jit.script
class P:
    def __init__(self, v: int):
        self._v = v
    @property
    def v(self) -> int:
        return self._v
    @v.setter
    def v(self, x: int) -> None:
        self._v = x * 10
def f(a: int):
    p = P(a)
    before = p.v
    p.v = a + 1
    return before, p.v
>>> f(4)

=== property_augmented
@torch.jit.script
class P:
    def __init__(self, v: int):
        self._v = v
    @property
    def v(self) -> int:
        return self._v
    @v.setter
    def v(self, x: int) -> None:
        self._v = x
def f(a: int):
    p = P(a)
    p.v += 3
    return p.v
>>> f(4)

=== namedtuple_defaults
class Opt(NamedTuple):
    lr: float
    steps: int = 10
    name: str = "sgd"
def f(a: float):
    o = Opt(a)
    p = Opt(a, steps=3, name="adam")
    return o, p.steps, p.name + o.name, o[1] + p[1], len(p)
>>> f(0.5)

=== namedtuple_unpack_iterate
class Pt(NamedTuple):
    x: int
    y: int
def f(a: int):
    p = Pt(a, a + 1)
    x, y = p
    q = Pt(y=x, x=y)
    return x * y, p.x - q.x, p == q, p == (a, a + 1)
>>> f(4)

=== namedtuple_nested
class In(NamedTuple):
    a: List[int]
    b: Optional[Tensor]
class Out(NamedTuple):
    inner: In
    n: int
def f(x: Optional[Tensor], n: int):
    o = Out(In([n, n + 1], x), n)
    t = o.inner.b
    if t is not None:
        return t.sum() + o.inner.a[1], o
    return torch.zeros(1), o
>>> f(None, 3)
>>> f(T([1.0, 2.0]), 4)

=== namedtuple_replace_refused
class Pt(NamedTuple):
    x: int
    y: int
def f(a: int):
    return Pt(a, 1)._replace(x=3)
>>> f(4)

=== enum_members
class Color(Enum):
    RED = 1
    GREEN = 2
def f(c: Color, n: int):
    if c == Color.RED:
        return c.name, c.value + n
    elif c is Color.GREEN:
        return "g", c.value
    return "", 0
>>> f(Color.RED, 2)
>>> f(Color.GREEN, 2)

=== enum_in_dict_and_list
class Op(Enum):
    ADD = "add"
    MUL = "mul"
def f(xs: List[int]):
    ops = [Op.ADD, Op.MUL, Op.ADD]
    out = 0
    for i, op in enumerate(ops):
        if op == Op.ADD:
            out += xs[i]
        else:
            out *= xs[i]
    return out, ops[1].value, [o.name for o in ops]
>>> f([3, 4, 5])

=== enum_loop_over
class Color(Enum):
    RED = 1
    GREEN = 2
    BLUE = 7
def f(n: int):
    total = 0
    for c in Color:
        total += c.value * n
    return total
>>> f(3)

=== enum_wrong_member
class Color(Enum):
    RED = 1
def f(n: int):
    return Color.PINK
>>> f(3)

=== optional_chain_mixed
def g(x: Optional[int], y: Optional[int]) -> int:
    if x is None:
        x = y
    if x is None:
        return -1
    return x * 2
def f(a: Optional[int], b: Optional[int]):
    return g(a, b), g(b, a), g(None, None)
>>> f(None, 3)
>>> f(2, None)
>>> f(1, 2)

=== optional_and_or_mixed
def f(a: Optional[int], b: Optional[List[int]]):
    if a is not None and b is not None and len(b) > a:
        return b[a]
    if a is None or b is None:
        return -1
    return a + len(b)
>>> f(1, [4, 5])
>>> f(5, [1])
>>> f(None, [1])
>>> f(1, None)

=== optional_while
def f(n: int):
    x: Optional[int] = n
    count = 0
    while x is not None:
        count += 1
        if x > 10:
            x = None
        else:
            x = x * 2
    return count, x
>>> f(1)
>>> f(100)

=== union_narrowing
def f(x: Union[int, float, str]):
    if isinstance(x, int):
        return "i" + str(x + 1)
    elif isinstance(x, float):
        return "f" + str(x * 2)
    else:
        return x.upper()
>>> f(3)
>>> f(2.5)
>>> f("ab")

=== union_list_dict
def f(x: Union[List[int], Dict[str, int]]):
    if isinstance(x, List[int]):
        return sum(x)
    return sum(list(x.values())) + 100
>>> f([1, 2])
>>> f({"a": 4, "b": 5})

=== isinstance_tuple_of_types
def f(x: Any):
    if isinstance(x, (int, float)):
        return 1
    if torch.jit.isinstance(x, List[str]):
        return len(x)
    if torch.jit.isinstance(x, (Dict[str, int], Tuple[int, str])):
        return 10
    return -1
>>> f(3)
>>> f(2.5)
>>> f(["a", "b"])
>>> f({"a": 1})
>>> f((1, "b"))
>>> f("z")

=== dict_methods_mixed
def f(n: int):
    d = {"a": 1, "b": 2}
    d.update({"c": n})
    p = d.pop("a")
    q = d.setdefault("z", 9)
    r = d.setdefault("b", 9)
    e = d.copy()
    e["b"] = 100
    k = list(d.keys())
    return p, q, r, d, e, k, list(d.values()), d.get("q"), d.get("b"), d.get("q", 5), "c" in d, len(d)
>>> f(5)

=== dict_popitem_clear
def f(n: int):
    d = {i: i * i for i in range(n)}
    k, v = d.popitem()
    size = len(d)
    d.clear()
    return k, v, size, len(d)
>>> f(3)
>>> f(0)

=== dict_missing_key_mixed
def f(k: str):
    d = {"a": 1}
    return d[k]
>>> f("a")
>>> f("b")

=== dict_items_nested
def f(n: int):
    d: Dict[str, List[int]] = {}
    for i in range(n):
        key = "odd" if i % 2 else "even"
        if key not in d:
            d[key] = []
        d[key].append(i)
    out: List[str] = []
    for k, v in d.items():
        out.append(k + ":" + str(v))
    return out, d
>>> f(5)
>>> f(0)

=== dict_del
def f(k: int):
    d = {1: "a", 2: "b", 3: "c"}
    del d[k]
    return list(d.keys()), len(d)
>>> f(2)
>>> f(7)

=== dict_comprehension_mixed
def f(xs: List[str]):
    lengths = {x: len(x) for x in xs}
    inverse = {v: k for k, v in lengths.items()}
    return lengths, inverse
>>> f(["a", "bb", "cc"])

=== list_methods_mixed
def f(xs: List[int]):
    xs.append(9)
    xs.insert(1, 7)
    xs.insert(-1, 8)
    xs.insert(100, 6)
    xs.extend([1, 2])
    p = xs.pop()
    q = xs.pop(0)
    xs.remove(7)
    i = xs.index(9)
    c = xs.count(9)
    ys = xs.copy()
    ys.reverse()
    ys.sort(reverse=True)
    return xs, ys, p, q, i, c
>>> f([9, 4])
>>> f([])

=== list_pop_negative
def f(xs: List[int], i: int):
    v = xs.pop(i)
    return v, xs
>>> f([1, 2, 3], -2)
>>> f([1, 2, 3], 5)
>>> f([], -1)

=== list_index_missing
def f(xs: List[str], s: str):
    return xs.index(s)
>>> f(["a", "b"], "b")
>>> f(["a", "b"], "c")

=== list_slices_with_steps
def f(xs: List[int]):
    return xs[::2], xs[1::2], xs[-3:], xs[:-1:2], xs[5:1], xs[::3], xs[-100:2], xs[2:100]
>>> f([0, 1, 2, 3, 4, 5, 6])
>>> f([1])

=== list_slice_negative_step
def f(xs: List[int]):
    return xs[::-1], xs[4:1:-1], xs[::-2], xs[1:4:-1]
>>> f([0, 1, 2, 3, 4, 5])

=== list_slice_assign
def f(xs: List[int]):
    xs[1:3] = [9, 9, 9]
    return xs
>>> f([0, 1, 2, 3])

=== list_del
def f(xs: List[int]):
    del xs[0]
    del xs[-1]
    return xs
>>> f([1, 2, 3])
>>> f([1])

=== list_compare
def f(a: List[int], b: List[int]):
    return a == b, a != b, [a, b] == [b, a], a + b == b + a
>>> f([1, 2], [1, 2])
>>> f([1], [2])

=== list_min_max_sum
def f(a: List[int], b: List[float]):
    return min(a), max(a), sum(a), min(b), max(b), sum(b), max(a, [5, 5]), sorted(b)
>>> f([3, -1, 2], [2.5, -0.5])
>>> f([], [1.0])

=== list_multiplication
def f(n: int):
    a = [0, 1] * n
    b = [[0] * 2 for _ in range(n)]
    if n > 0:
        b[0][0] = 5
    c = n * [True]
    return a, b, c
>>> f(2)
>>> f(0)

=== list_aliases
def f(n: int):
    a = [[1]] * 2
    a[0].append(n)
    b = a
    b.append([n])
    c = list(a[0])
    c[0] = 99
    return a, b, c
>>> f(3)

=== comprehension_matrix
def f(n: int):
    table = [[i * j for j in range(i + 1)] for i in range(n)]
    sums = [sum(row) for row in table]
    return table, sums, [[str(v) for v in row] for row in table]
>>> f(3)
>>> f(0)

=== str_methods
def f(s: str):
    return (s.upper(), s.lower(), s.capitalize(), s.title(), s.swapcase(), s.strip(), s.lstrip(), s.rstrip(),
            s.split(), s.split(","), s.replace("a", "bb"), s.find("b"), s.rfind("b"), s.count("a"),
            s.startswith("a"), s.endswith("c"), s.isdigit(), s.isalpha(), s.isspace())
>>> f("  aB,c abc ")
>>> f("")
>>> f("123")

=== str_split_limits
def f(s: str):
    return s.split(",", 1), s.rsplit(",", 1), s.splitlines(), s.partition(","), s.rpartition(","), s.split(", ")
>>> f("a, b,c")
>>> f("x\ny\n")
>>> f("")

=== str_padding
def f(s: str, n: int):
    return s.center(n), s.ljust(n, "."), s.rjust(n, "*"), s.zfill(n), s.expandtabs(4)
>>> f("-7", 5)
>>> f("a\tb", 2)

=== str_index_errors
def f(s: str, i: int):
    return s[i], s[-1], s[:i], s[i:], s[::2]
>>> f("hello", 1)
>>> f("hello", -5)

=== str_loop
def f(s: str):
    out: Dict[str, int] = {}
    for c in s:
        out[c] = out.get(c, 0) + 1
    rev = ""
    for i in range(len(s)):
        rev = s[i] + rev
    return out, rev, [ord(c) for c in s], chr(ord("a") + len(s))
>>> f("banana")
>>> f("")

=== str_compare
def f(a: str, b: str):
    return a < b, a <= b, a == b, a > b, a + b, a * 2, a in b, b.find(a, 1)
>>> f("ab", "abab")
>>> f("", "x")

=== str_escapes
def f(n: int):
    return "a\tb\n" + 'q"uo\'te' + "\\" + r"\n" + "\x41" + "\x01" + str(n)
>>> f(1)

=== str_join_numbers
def f(xs: List[int], sep: str):
    return sep.join([str(x) for x in xs]), "".join(["a"]), "-".join(torch.jit.annotate(List[str], []))
>>> f([1, 2, 3], ", ")
>>> f([], "x")

=== fstrings
def f(a: int, b: float, c: str, d: bool, e: List[int]):
    return f"{a}|{b}|{c}|{d}|{e}", f"{a + 1} {c.upper()}", f"{{{a}}}", f""
>>> f(3, 0.1, "q", True, [1, 2])
>>> f(-1, 1e20, "", False, [])

=== format_method
def f(a: int, b: float, c: str):
    return "{} {} {}".format(a, b, c), "{}".format([a, a]), "no fields".format(a), "{} {}".format(a)
>>> f(3, 2.5, "q")

=== percent_format
def f(a: int, b: float, c: str):
    return "%d %s" % (a, c), "%s" % c, "%f" % b, "%s and %d" % (c, a), "100%%" % ()
>>> f(3, 2.5, "q")

=== float_texts
def f(x: float):
    return str(x), f"{x}", str([x, x]), str((x, 1)), str({"a": x})
>>> f(0.1)
>>> f(1.0)
>>> f(1e16)
>>> f(1e-7)
>>> f(float("inf"))
>>> f(float("nan"))
>>> f(-0.0)
>>> f(123456789.0)

=== int_texts
def f(x: int):
    return str(x), str(-x), str([x]), str(x == 0), int("12") + x, float("1.5") + x
>>> f(9223372036854775807)
>>> f(0)

=== int_parse
def f(s: str):
    return int(s), float(s)
>>> f("42")
>>> f(" 7 ")
>>> f("1.5")

=== tolist_of_another_type_and_depth
def f(t: Tensor):
    a: List[List[int]] = t.tolist()
    return a
>>> f(T([1.0]))
>>> f(T([1]))

=== tolist_of_strings
def f(t: Tensor):
    a: List[str] = t.tolist()
    return a
>>> f(T([1.0]))

=== tolist_of_tuple
def f(t: Tensor):
    a: Tuple[int, int] = t.tolist()
    return a
>>> f(T([1]))
"""
