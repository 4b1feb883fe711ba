"""Mistakes of calls and of lists, dicts and strings that people make in scripts; see language_harness."""

TEXT = """\

=== call_missing_argument
def g(x: Tensor, k: int) -> Tensor:
    return x * k
def f(x):
    return g(x)
>>> f(T([1.0]))

=== call_twice_given
def g(x: Tensor, k: int) -> Tensor:
    return x * k
def f(x):
    return g(x, 2, k=3)
>>> f(T([1.0]))

=== call_unknown_name
def g(x: Tensor, k: int) -> Tensor:
    return x * k
def f(x):
    return g(x, m=3)
>>> f(T([1.0]))

=== call_float_for_int
def g(x: Tensor, k: int) -> Tensor:
    return x * k
def f(x):
    return g(x, 2.5)
>>> f(T([1.0]))

=== call_list_for_tensor
def g(x: Tensor) -> Tensor:
    return x + 1
def f(x):
    return g([x])
>>> f(T([1.0]))

=== call_tuple_for_list
def g(xs: List[int]) -> int:
    return xs[0]
def f(x):
    return g((1, 2.0))
>>> f(T([1.0]))

=== call_none_for_tensor
def g(x: Tensor) -> Tensor:
    return x + 1
def f(x):
    return g(None)
>>> f(T([1.0]))

=== call_optional_for_int
def g(x: int) -> int:
    return x + 1
def f(x: Optional[int]):
    return g(x)
>>> f(1)

=== call_result_of_none
def g(x: int):
    print(x)
def f(x: int):
    return g(x) + 1
>>> f(1)

=== call_dict_wrong_values
def g(d: Dict[str, int]) -> int:
    return d["a"]
def f(x: int):
    return g({"a": 1.5})
>>> f(1)

=== call_an_int
def f(x: int):
    return x(3)
>>> f(1)

=== call_a_tensor
def f(x):
    return x(3)
>>> f(T([1.0]))

=== call_a_string
def f(x: str):
    return x()
>>> f("a")

=== call_a_list_element
def f(x: List[int]):
    return x[0](1)
>>> f([1])

=== list_item_string
def f(x: List[int]):
    x.append("a")
    return x
>>> f([1])

=== list_extend_int
def f(x: List[int]):
    x.extend(3)
    return x
>>> f([1])

=== list_add_method
def f(x: List[int]):
    x.add(3)
    return x
>>> f([1])

=== list_push
def f(x: List[Tensor]):
    x.push(x[0])
    return x
>>> f([T([1.0])])

=== list_of_mixed
def f(x: int):
    return [x, "a"]
>>> f(1)

=== list_empty_of_strings
def f(x: int):
    y = []
    y.append("a")
    return y
>>> f(1)

=== list_index_string
def f(x: List[int]):
    return x["a"]
>>> f([1])

=== list_index_float
def f(x: List[int]):
    return x[1.0]
>>> f([1])

=== list_index_out
def f(x: List[int]):
    return x[3]
>>> f([1])

=== list_index_tuple
def f(x: List[int]):
    return x[0, 1]
>>> f([1])

=== list_pop_empty
def f(x: List[int]):
    x.pop()
    return x.pop()
>>> f([1])

=== list_remove_missing
def f(x: List[int]):
    x.remove(5)
    return x
>>> f([1])

=== list_index_missing
def f(x: List[int]):
    return x.index(7)
>>> f([1])

=== list_sum_strings
def f(x: List[str]):
    return sum(x)
>>> f(["a"])

=== list_max_of_empty
def f(x: List[int]):
    return max(x)
>>> f([])

=== list_times_list
def f(x: List[int]):
    return x * x
>>> f([1])

=== list_plus_int
def f(x: List[int]):
    return x + 1
>>> f([1])

=== list_minus
def f(x: List[int], y: List[int]):
    return x - y
>>> f([1], [1])

=== list_compare_types
def f(x: List[int], y: List[str]):
    return x == y
>>> f([1], ["a"])

=== list_sort_key
def f(x: List[int]):
    x.sort(key=lambda a: -a)
    return x
>>> f([1])

=== list_unpack_size
def f(x: List[int]):
    a, b = x
    return a
>>> f([1, 2, 3])

=== dict_missing_key
def f(d: Dict[str, int]):
    return d["b"]
>>> f({"a": 1})

=== dict_wrong_key
def f(d: Dict[str, int]):
    return d[1]
>>> f({"a": 1})

=== dict_wrong_value
def f(d: Dict[str, int]):
    d["b"] = "c"
    return d
>>> f({"a": 1})

=== dict_attribute
def f(d: Dict[str, int]):
    return d.a
>>> f({"a": 1})

=== dict_get_then_add
def f(d: Dict[str, int]):
    return d.get("b") + 1
>>> f({"a": 1})

=== dict_has_key
def f(d: Dict[str, int]):
    return d.has_key("a")
>>> f({"a": 1})

=== dict_iterates_pairs
def f(d: Dict[str, int]):
    n = 0
    for k, v in d:
        n += v
    return n
>>> f({"a": 1})

=== dict_mixed_values
def f(x: int):
    return {"a": 1, "b": "c"}
>>> f(1)

=== dict_mixed_keys
def f(x: int):
    return {"a": 1, 2: 3}
>>> f(1)

=== dict_merged
def f(a: Dict[str, int], b: Dict[str, int]):
    return a | b
>>> f({"a": 1}, {"b": 1})

=== dict_popitem_empty
def f(a: Dict[str, int]):
    a.clear()
    return a.popitem()
>>> f({"a": 1})

=== dict_deletes_missing
def f(a: Dict[str, int]):
    del a["z"]
    return a
>>> f({"a": 1})

=== dict_tuple_key
def f(x: int):
    d: Dict[Tuple[int, int], int] = {}
    return d
>>> f(1)

=== dict_list_key
def f(x: int):
    return {[1]: x}
>>> f(1)

=== dict_sorted
def f(d: Dict[str, int]):
    return sorted(d)
>>> f({"a": 1})

=== string_plus_int
def f(s: str):
    return s + 1
>>> f("a")

=== string_int_plus
def f(s: str, n: int):
    return "n: " + n
>>> f("a", 1)

=== string_of_bad_method
def f(s: str):
    return s.contains("a")
>>> f("a")

=== string_index_out
def f(s: str):
    return s[5]
>>> f("a")

=== string_item_assigned
def f(s: str):
    s[0] = "b"
    return s
>>> f("a")

=== string_to_int
def f(s: str):
    return int(s)
>>> f("ab")

=== string_to_float
def f(s: str):
    return float(s)
>>> f("ab")

=== string_index_missing
def f(s: str):
    return s.index("z")
>>> f("ab")

=== string_join_ints
def f(s: str):
    return s.join([1, 2])
>>> f("ab")

=== string_format_missing
def f(s: str):
    return "{} {}".format(s)
>>> f("ab")

=== string_percent_mismatch
def f(s: str):
    return "%d" % s
>>> f("ab")

=== string_times_string
def f(s: str):
    return s * s
>>> f("ab")

=== string_compared_with_int
def f(s: str):
    return s == 1
>>> f("ab")

=== string_less_than_int
def f(s: str):
    return s < 1
>>> f("ab")

=== string_slice_float
def f(s: str):
    return s[:1.5]
>>> f("ab")

=== class_annotated_none
class N:
    def __init__(self):
        self.w: Optional[int] = None
    def put(self):
        self.w = 3
def f(x: int):
    n = N()
    n.put()
    return x
>>> f(1)

=== class_annotated_optional_of_number
class N:
    def __init__(self):
        self.w: Optional[int] = 5
def f(x: int):
    n = N()
    before = n.w + 1
    n.w = None
    return before
>>> f(1)

=== class_annotated_number_used
class N:
    def __init__(self):
        self.w: Optional[int] = 5
        self.f: float = 1
        self.names: Dict[str, Optional[int]] = {}
def f(x: int):
    n = N()
    n.names["a"] = None
    return n.w + 1, n.f, n.names
>>> f(1)

=== class_annotated_float_given_int
class N:
    def __init__(self):
        self.f: float = 1
def f(x: int):
    n = N()
    n.f = 2.5
    return n.f
>>> f(1)

=== class_annotated_in_branch
class N:
    def __init__(self, k: int):
        if k > 2:
            self.w: Optional[int] = None
        else:
            self.w = 3
def f(x: int):
    return N(x).w
>>> f(1)

=== class_annotated_tensor
class N:
    def __init__(self):
        self.w: Optional[Tensor] = None
def f(x):
    n = N()
    n.w = x
    return n.w
>>> f(T([1.0]))
"""
