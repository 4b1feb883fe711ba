"""Programs on items that are stored and augmented, on ranges, slices and names of types; the format is that of `language_harness`."""

TEXT = r"""
=== item_of_union_none
def f(x: List[Union[int, str]]):
    x.append(None)
    return x
>>> f([])

=== item_of_optional
def f(x: Optional[int], d: Dict[str, int]):
    d["a"] = x
    return d
>>> f(1, {})

=== item_of_optional_in_list
def f(x: Optional[int], d: List[int]):
    d[0] = x
    return d
>>> f(1, [1])

=== item_appended_optional
def f(x: Optional[Tensor]):
    d = [torch.ones(1)]
    d.append(x)
    return d
>>> f(T([1.0]))

=== item_none_in_dict
def f():
    d = {}
    d["a"] = None
    return d
>>> f()

=== augmented_tuple_item
def f(t: Tuple[int, int]):
    t[0] += 1
    return t
>>> f((1, 2))

=== augmented_string_item
def f(t: str):
    t[0] += "a"
    return t
>>> f("a")

=== augmented_object_item
class P:
    def __init__(self):
        self.d: Dict[str, int] = {}
    def __getitem__(self, k: str) -> int:
        return self.d[k]
    def __setitem__(self, k: str, v: int) -> None:
        self.d[k] = v
def f():
    p = P()
    p["a"] = 1
    p["a"] += 4
    return p["a"]
>>> f()

=== augmented_two_subscripts
def f(x: List[int]):
    x[0, 1] += 1
    return x
>>> f([1])

=== augmented_dict_of_tensors
def f(d: Dict[str, Tensor], x):
    d["a"] = x
    d["a"] += 1
    d["a"] *= 2
    return d, x
>>> f({}, T([1.0]))

=== augmented_dict_of_lists
def f(x: List[int], d: Dict[str, List[int]]):
    x[0] += 1
    x[-1] *= 3
    d["a"] += [1]
    d["a"][0] -= 4
    return x, d
>>> f([1, 2], {"a": [9]})

=== augmented_list_of_lists
def f(d: List[List[int]]):
    x = d[0]
    d[0] += [1]
    d[0] *= 2
    return d, x
>>> f([[0]])

=== augmented_item_order
def g(x: int) -> int:
    print(x)
    return x
def f(d: List[int]):
    d[g(0)] += g(5)
    return d
>>> f([1])
>>> f([])

=== augmented_item_of_objects
class A:
    def __init__(self, x: int):
        self.x = x
    def __add__(self, o: int) -> "A":
        return A(self.x + o)
def f(n: int):
    d = [A(n)]
    d[0] += 1
    return d[0].x
>>> f(1)

=== assigned_two_subscripts
def f(x: List[int]):
    x[0, 1] = 1
    return x
>>> f([1])

=== assigned_string_item
def f(x: str):
    x[0] = "a"
    return x
>>> f("b")

=== deleted_object_item
class P:
    def __init__(self):
        self.d = [1, 2]
def f():
    p = P()
    del p[0]
    return p.d
>>> f()

=== enumerate_from_below_zero
def f(xs: List[int], k: int):
    out: List[int] = []
    for i, x in enumerate(xs, k):
        out.append(i)
    return out
>>> f([1, 2], -1)
>>> f([1, 2], -5)
>>> f([1, 2], 9223372036854775806)

=== enumerate_from_float
def f(a: List[str]):
    for i, s in enumerate(a, 0.5):
        print(s)
    return 1
>>> f([])

=== range_as_long_as_wraps
def f(a: int, b: int, c: int):
    n = 0
    for i in range(a, b, c):
        n += 1
        if n > 5:
            break
    return n
>>> f(-9223372036854775808, 9223372036854775807, 1)
>>> f(9223372036854775807, -9223372036854775808, -1)
>>> f(-1, 9223372036854775807, 1)

=== list_slice_without_step
def f(x: List[int], s: int):
    return x[::s]
>>> f([1, 2], 0)
>>> f([], 0)
>>> f([1, 2, 3], -2)

=== tuple_slice_without_step
def f(x: Tuple[int, int]):
    return x[::0]
>>> f((1, 2))

=== annotation_constant
def f(x: 3):
    return x
>>> f(1)

=== annotation_tuple
def f(x: (int, str)):
    return x
>>> f(1)

=== annotation_bare_callable
def f(x: Callable):
    return x
>>> f(1)

=== enum_inside_of_types
class C(Enum):
    R = 1
def f(x: List[C], y: Optional[C], z: Tuple[C, int], d: Dict[int, C]):
    return x.foo
>>> f([], None, (C.R, 1), {})

=== tuple_of_inferred
def f(x):
    return (x, 1).sum()
>>> f(T(1))

=== len_as_value
def f(x: int):
    y = [len]
    return x
>>> f(1)

=== round_as_value
def f(x: int):
    y = [round]
    return x
>>> f(1)

=== item_of_floats
def f(x):
    at = [0.1, 1.2]
    return x[at], x[[[1.0, 0.0], [0.0, 1.0]]]
>>> f(T([1, 2]))

=== item_of_floats_set
def f(x):
    at = [0.1, 1.2]
    x[at] = 3
    return x
>>> f(T([1, 2, 4]))

=== item_named_ellipsis
def f(x):
    x[Ellipsis, 0] = 3
    return x[0, Ellipsis], x[Ellipsis]
>>> f(torch.ones(2, 2))

=== tuple_index_beyond_its_end
def f(a: Tuple[int, int, int], i: int):
    return a[i]
>>> f((1, 2, 3), -1)
>>> f((1, 2, 3), 3)
>>> f((1, 2, 3), -4)
"""
