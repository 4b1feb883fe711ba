"""Programs on lists, tuples, dicts, strings and optionals; the format is that of `language_harness`."""

TEXT = r"""
=== list_methods
def f(a: List[int]):
    a.append(4)
    a.extend([5, 6])
    a.insert(1, 9)
    b = a.pop()
    c = a.pop(0)
    a.remove(9)
    a.reverse()
    return a, b, c, a.index(4), a.count(5), len(a)
>>> f([1, 2, 3])

=== list_sort
def f(a: List[int], b: List[float], c: List[str]):
    a.sort()
    b.sort(reverse=True)
    d = sorted(c)
    return a, b, c, d, sorted(a)
>>> f([3, 1, 2], [0.5, 2.5, 1.0], ["b", "a"])

=== list_copy_clear
def f(a: List[int]):
    b = a.copy()
    a.clear()
    b[0] = 7
    return a, b
>>> f([1, 2])

=== list_slices
def f(a: List[int]):
    return a[1:], a[:2], a[-2:], a[::2], a[::-1], a[1:-1], a[:]
>>> f([1, 2, 3, 4, 5])

=== list_index_errors
def f(a: List[int], i: int):
    return a[i]
>>> f([1, 2], 1)
>>> f([1, 2], -1)
>>> f([1, 2], 2)

=== list_operators
def f(a: List[int], b: List[int]):
    return a + b, a * 2, a == b, a != b, 2 in a, 9 not in a
>>> f([1, 2], [3])
>>> f([1, 2], [1, 2])

=== list_augmented
def f(a: List[int]):
    a += [7]
    a[0] += 5
    a[1] *= 3
    return a
>>> f([1, 2])

=== list_delete
def f(a: List[int]):
    del a[0]
    return a
>>> f([1, 2])

=== list_nested
def f(n: int):
    grid: List[List[int]] = []
    for i in range(n):
        grid.append([i * j for j in range(n)])
    grid[1][2] = 50
    return grid, grid[1][2], len(grid[0])
>>> f(3)

=== list_unpack
def f(a: List[int]):
    x, y = a
    return x - y
>>> f([5, 2])
>>> f([5, 2, 1])

=== list_empty_annotation
def f(n: int):
    a: List[str] = []
    b = torch.jit.annotate(List[int], [])
    for i in range(n):
        a.append(str(i))
        b.append(i)
    return a, b
>>> f(3)

=== list_of_optional
def f(n: int):
    a: List[Optional[int]] = []
    a.append(None)
    a.append(n)
    return a
>>> f(3)

=== list_truth
def f(a: List[int]):
    if len(a) > 0:
        return a[-1]
    return -1
>>> f([])
>>> f([4])

=== list_aliasing
def g(a: List[int]):
    a.append(9)
def f(n: int):
    a = [n]
    b = a
    g(a)
    b.append(1)
    return a, b
>>> f(3)

=== list_for_enumerate
def f(a: List[str]):
    out: List[str] = []
    for i, s in enumerate(a):
        out.append(s + str(i))
    for i, s in enumerate(a, 5):
        out.append(s + str(i))
    return out
>>> f(["x", "y"])

=== list_zip
def f(a: List[int], b: List[float]):
    total = 0.0
    for x, y in zip(a, b):
        total += x * y
    return total, [x + y for x, y in zip(a, b)]
>>> f([1, 2, 3], [0.5, 1.5])

=== list_of_range
def f(n: int):
    return list(range(n)), list("abc"), list([1, 2])
>>> f(4)

=== list_comprehension_nested_call
def g(x: int):
    return x * 2
def f(a: List[int]):
    return [g(x) + 1 for x in a]
>>> f([1, 2])

=== list_of_tuples
def f(a: List[Tuple[int, str]]):
    out = ""
    for n, s in a:
        out += s * 1 if False else s
    return out, [n for n, s in a]
>>> f([(1, "a"), (2, "b")])

=== list_min_max
def f(a: List[int]):
    return max(a), min(a), sum(a)
>>> f([3, 1, 2])
>>> f([])

=== list_mixed_refused
def f(a: int) -> List[int]:
    return [a, 2.5]
>>> f(1)

=== list_in_place_of_str
def f(a: List[str]):
    return "x" in a, a == ["x"]
>>> f(["x"])

=== tuple_basics
def f(a: Tuple[int, float]):
    x, y = a
    return y, x, a[0], a[1], a[-1], len(a)
>>> f((1, 2.5))

=== tuple_slices
def f(a: Tuple[int, str, float]):
    return a[1:], a[:2], a[::2]
>>> f((1, "q", 2.5))

=== tuple_operators
def f(a: Tuple[int, int]):
    return a + (3,), a == (1, 2), (a, a)
>>> f((1, 2))

=== tuple_iteration
def f(a: Tuple[int, int, int]):
    total = 0
    for x in a:
        total += x
    return total
>>> f((1, 2, 3))

=== tuple_of_list
def f(a: int):
    b = tuple([a, 2])
    return b
>>> f(1)

=== tuple_variable_index
def f(a: Tuple[int, int, int], i: int):
    return a[i]
>>> f((4, 5, 6), 1)

=== tuple_index_refused
def f(a: Tuple[int, str], i: int):
    return a[i]
>>> f((4, "s"), 1)

=== tuple_unpack_count
def f(a: int):
    x, y, z = (a, 2)
    return x
>>> f(1)

=== tuple_returned
def g(a: int) -> Tuple[int, Tuple[str, float]]:
    return a, ("s", 0.5)
def f(a: int):
    n, (s, x) = g(a)
    return s, n * x
>>> f(3)

=== tuple_star_call
def g(a: int, b: float, c: int):
    return a + b * c
def f(a: int):
    t = (2.5, 3)
    return g(a, *t)
>>> f(3)

=== named_tuple
class Point(NamedTuple):
    x: int
    y: float = 2.5
def f(a: int):
    p = Point(a)
    q = Point(x=a, y=1.0)
    x, y = q
    return p.x, p.y, q[1], x + y, len(p)
>>> f(3)

=== named_tuple_returned
class Pair(NamedTuple):
    left: int
    right: str
def g(a: int) -> Pair:
    return Pair(a, "r")
def f(a: int):
    return g(a)
>>> f(3)

=== named_tuple_argument
class Pair(NamedTuple):
    left: int
    right: Tensor
def f(p: Pair):
    return p.right * p.left
>>> f(Pair(3, T([1.0, 2.0])))

=== dict_basics
def f(d: Dict[str, int]):
    d["z"] = 26
    a = d["a"]
    del d["a"]
    return d, a, len(d), "z" in d, "a" in d, list(d.keys()), list(d.values())
>>> f({"a": 1, "b": 2})
>>> f({"b": 2})

=== dict_methods
def f(d: Dict[str, int]):
    x = d.get("a")
    y = d.get("q", 9)
    z = d.pop("a")
    w = d.setdefault("k", 4)
    d.update({"u": 5})
    e = d.copy()
    d.clear()
    return x, y, z, w, d, e
>>> f({"a": 1, "b": 2})

=== dict_pop_default
def f(d: Dict[int, str]):
    return d.pop(5, "none"), d.popitem()
>>> f({1: "a", 2: "b"})

=== dict_iteration
def f(d: Dict[str, float]):
    total = 0.0
    names = ""
    for k in d:
        names += k
    for k, v in d.items():
        total += v
        names += k
    for v in d.values():
        total += v
    return total, names
>>> f({"a": 1.5, "b": 2.0})

=== dict_comprehension
def f(a: List[int]):
    return {i: i * i for i in a}, {str(k): k for k in range(2)}
>>> f([1, 2])

=== dict_literals
def f(a: int):
    return {"x": a, "y": 2}, {1: "a"}, dict(p=a), dict([("k", a)])
>>> f(3)

=== dict_default_type
def f(x: Tensor):
    d = {}
    d["a"] = x
    return d
>>> f(T([1.0]))

=== dict_nested
def f(a: int):
    d: Dict[str, Dict[str, int]] = {}
    d["a"] = {"b": a}
    d["a"]["c"] = 4
    return d
>>> f(3)

=== dict_of_lists
def f(words: List[str]):
    d: Dict[int, List[str]] = {}
    for w in words:
        if len(w) not in d:
            d[len(w)] = []
        d[len(w)].append(w)
    return d
>>> f(["a", "bb", "c"])

=== dict_counting
def f(s: str):
    d: Dict[str, int] = {}
    for c in s:
        d[c] = d.get(c, 0) + 1
    return d
>>> f("hello")

=== dict_augmented
def f(d: Dict[str, int]):
    d["a"] += 3
    return d
>>> f({"a": 1})

=== dict_missing_key
def f(d: Dict[str, int]):
    return d["q"]
>>> f({"a": 1})

=== optional_parameter
def f(a: Optional[int], b: int = 2):
    if a is None:
        return b
    return a * b
>>> f(None)
>>> f(4)

=== optional_and
def f(a: Optional[int], b: Optional[int]):
    if a is not None and b is not None:
        return a + b
    if a is None or b is None:
        return -1
    return a
>>> f(1, 2)
>>> f(None, 2)

=== optional_assert
def f(a: Optional[int]):
    assert a is not None
    return a + 1
>>> f(1)
>>> f(None)

=== optional_ternary
def f(a: Optional[float]):
    x = a if a is not None else 0.5
    return x * 2
>>> f(1.0)
>>> f(None)

=== optional_unrefined_refused
def f(a: Optional[int]):
    return a + 1
>>> f(1)

=== optional_merge
def f(a: int):
    r: Optional[int] = None
    if a > 2:
        r = a
    return r
>>> f(1)
>>> f(3)

=== optional_none_variable_refused
def f(a: int):
    r = None
    if a > 2:
        r = a
    return r
>>> f(1)

=== optional_unwrap
def f(a: Optional[int]):
    return torch.jit._unwrap_optional(a) + 1
>>> f(1)
>>> f(None)

=== optional_tensor_default
def f(x: Tensor, bias: Optional[Tensor] = None):
    if bias is not None:
        x = x + bias
    return x
>>> f(T([1.0, 2.0]))
>>> f(T([1.0, 2.0]), T([0.5, 0.5]))

=== optional_loop
def f(a: List[int]):
    best: Optional[int] = None
    for x in a:
        if best is None:
            best = x
        elif x > best:
            best = x
    return best
>>> f([3, 7, 5])
>>> f([])

=== union_isinstance
def f(a: Union[int, str, float]):
    if isinstance(a, int):
        return "int"
    elif isinstance(a, str):
        return "str " + a
    else:
        return "other"
>>> f(1)
>>> f("s")
>>> f(0.5)

=== union_refined
def f(a: Union[int, List[int]]) -> int:
    if isinstance(a, int):
        return a + 1
    return len(a)
>>> f(1)
>>> f([1, 2, 3])

=== any_isinstance
def f(a: Any):
    if isinstance(a, int):
        return a + 1
    if torch.jit.isinstance(a, List[str]):
        return len(a)
    return -1
>>> f(1)
>>> f(["a", "b"])
>>> f(2.5)

=== isinstance_static
def f(a: int):
    if isinstance(a, str):
        return a.upper()
    return a
>>> f(1)

=== strings_methods
def f(s: str):
    return (s.upper(), s.lower(), s.capitalize(), s.title(), s.swapcase(), s.strip(), s.lstrip(), s.rstrip(),
            s.replace("l", "L"), s.count("l"), s.find("l"), s.rfind("l"))
>>> f(" hello World ")
>>> f("abc")

=== strings_tests
def f(s: str):
    return (s.isalpha(), s.isdigit(), s.isalnum(), s.isspace(), s.isupper(), s.islower(),
            s.startswith("a"), s.endswith("c"), s.isidentifier(), s.istitle())
>>> f("abc")
>>> f("12")
>>> f("")
>>> f("A b")

=== strings_of_digits_and_of_what_prints
def f(s: str):
    return s.isdecimal(), s.isnumeric(), s.isprintable()
>>> f("12")
>>> f("")
>>> f("1.5 a")
>>> f("1\\n")
>>> f("\u00bd")

=== strings_split
def f(s: str):
    return s.split(), s.split(","), s.rsplit(",", 1), s.partition(","), s.rpartition(","), s.splitlines()
>>> f("a,b c,d")
>>> f("a\nb")

=== strings_join_pad
def f(s: str):
    return "-".join([s, "x"]), s.center(9, "*"), s.ljust(6, "."), s.rjust(6), s.zfill(5), s.expandtabs(4)
>>> f("abc")

=== strings_index
def f(s: str):
    return s[0], s[-1], s[1:], s[:2], s[::-1], s[::2], len(s), s + "!", "b" in s, "z" not in s
>>> f("abcd")

=== strings_compare
def f(a: str, b: str):
    return a == b, a != b, a < b, a > b, a <= b
>>> f("a", "b")
>>> f("b", "b")

=== strings_format
def f(a: int, x: float, s: str):
    return "{} and {}".format(a, x), f"{a}-{x}-{s}", "%d %s %f" % (a, s, x), "%s" % s, f"{a + 1}!"
>>> f(3, 0.5, "q")
>>> f(-3, 1e20, "")

=== strings_format_lists
def f(a: List[int], t: Tuple[int, str]):
    return f"{a} {t}", str(a), "{}".format([0.5, 1.0]), str(True), str(None)
>>> f([1, 2], (3, "x"))

=== strings_loop
def f(s: str):
    out = ""
    for c in s:
        if c == "a":
            continue
        out = c + out
    return out
>>> f("banana")

=== strings_escape
def f(s: str):
    return "tab\t" + s + "\n'\"\\", r"raw\n", "a" "b"
>>> f("x")

=== strings_times_refused
def f(s: str):
    return s * 3
>>> f("x")

=== strings_index_error
def f(s: str, i: int):
    return s[i]
>>> f("abc", 1)
>>> f("abc", 5)

=== strings_int_parse
def f(s: str):
    total = 0
    for part in s.split("+"):
        total += int(part.strip())
    return total
>>> f("1 + 22 + 3")

=== set_refused
def f(a: int):
    return {a, 2}
>>> f(1)

=== dict_wrong_value
def f(d: Dict[str, int]):
    d["a"] = "x"
    return d
>>> f({"a": 1})

=== list_wrong_append
def f(a: List[int]):
    a.append("x")
    return a
>>> f([1])

=== bare_list_annotation
def f(a: List):
    return a
>>> f([1])

=== mutable_default_refused
def f(a: List[int] = [1]):
    return a
>>> f([1])

=== int_list_argument
def f(a: List[float]):
    return a
>>> f([1.0, 2.0])
>>> f([1, 2])
>>> f((1.0, 2.0))

=== dict_comprehension_keys_of_union
def f(n: int):
    return {k: n for k in [1, "a"]}
>>> f(3)

=== dict_comprehension_keys_of_union_annotated
def f(n: int):
    d: Dict[int, str] = {k: v for k, v in zip([1, 2, "foo"], ["a", "b", "c"])}
    return d
>>> f(3)
"""
