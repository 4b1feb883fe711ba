"""Programs on comprehensions, slices and builtin functions of containers.

The format is that of `language_harness`.
"""

TEXT = r"""
=== comp_forms
def f(x: List[int], d: Dict[str, int]):
    a = [v * 2 for v in x]
    b = {str(v): v for v in x}
    c = {k: v + 1 for k, v in d.items()}
    e = [k for k in d]
    g = [i + v for i, v in enumerate(x)]
    h = [a0 * b0 for a0, b0 in zip(x, x)]
    i = [[u for u in range(v)] for v in x]
    return a, b, c, e, g, h, i
>>> f([1, 2], {"a": 1})

=== comp_shadow
def f(x: List[int]):
    v = 10
    a = [v * 2 for v in x]
    return a, v
>>> f([1, 2])

=== comp_two_for
def f(x: List[int]):
    return [v + w for v in x for w in x]
>>> f([1, 2])

=== comp_set
def f(x: List[int]):
    return {v for v in x}
>>> f([1, 2])

=== comp_gen
def f(x: List[int]):
    return sum(v for v in x), any(v > 1 for v in x), max([v for v in x])
>>> f([1, 2])

=== comp_tuple_iter
def f(x: Tuple[int, int]):
    return [v * 2 for v in x]
>>> f((1, 2))

=== comp_str
def f(x: str):
    return [c + "!" for c in x]
>>> f("ab")

=== comp_hint
def f(x: List[int]):
    a: List[Optional[int]] = [v for v in x]
    return a
>>> f([1, 2])

=== comp_empty
def f(x: List[str]):
    return [len(v) for v in x]
>>> f([])

=== comp_unpack_nested
def f(x: List[Tuple[int, Tuple[str, int]]]):
    return [b * a for a, (s, b) in x]
>>> f([(1, ("q", 3))])

=== comp_dict_int_keys
def f(x: List[int]):
    return {v: [v] for v in x}
>>> f([1, 2])

=== comp_tensor
def f(x):
    return [row.sum() for row in x]
>>> f(T([[1, 2], [3, 4]]))

=== comp_range
def f(n: int):
    return [i for i in range(n)], [i for i in range(1, n, 2)]
>>> f(5)

=== slice_str
def f(s: str, i: int):
    return s[i:], s[:i], s[i:i + 2], s[-i:], s[:-i], s[::i], s[i]
>>> f("abcdef", 2)

=== slice_list_neg
def f(s: List[int], i: int):
    return s[i::-1], s[:i:-1], s[::-2], s[5:100], s[-100:2]
>>> f([1, 2, 3, 4, 5, 6], 2)

=== list_mutation_alias
def f(s: List[int]):
    t = s
    t.append(9)
    u = s[:]
    u.append(10)
    return s, t, u
>>> f([1])

=== list_of_lists_alias
def f(n: int):
    row = [0] * n
    grid = [row, row]
    grid[0][0] = 5
    g2 = [[0] * n for _ in range(2)]
    g2[0][0] = 7
    return grid, g2
>>> f(2)

=== star_in_list
def f(a: Tuple[int, int]):
    return [*a, 5], (*a, "q")
>>> f((1, 2))

=== print_many
def f(x: int):
    print("a", x, [1.0, 2.0], {"k": (1, "s")}, None, True)
    print()
    print("")
    print("x", end="")
>>> f(1)

=== comp_shadow_type
def f(x: List[int]):
    v = "a"
    a = [v * 2 for v in x]
    return a, v
>>> f([1, 2])

=== zip_errors
def f(x: List[int]):
    for i in zip():
        pass
    return 1
>>> f([1])

=== getattr_args
def f(x: int):
    return getattr(x)
>>> f(1)

=== hasattr_of_a_python_module
def f(x: Tensor):
    return hasattr(torch, "sin")
>>> f(T([1.0]))

=== hasattr_of_a_name_that_is_no_literal
def f(x: Tensor, name: str):
    return hasattr(x, name)
>>> f(T([1.0]), "T")

=== getattr_of_a_number_with_default
def f(x: int):
    return getattr(x, "real", 4)
>>> f(2)

=== hasattr_args
def f(x: int):
    return hasattr(x)
>>> f(1)

=== tuple_args
def f(x: int):
    return tuple(x, x)
>>> f(1)

=== list_int
def f(x: int):
    return list(x)
>>> f(1)

=== print_kw_end
def f(x: int):
    print(x, end="")
>>> f(1)

=== sorted_key
def f(x: List[int]):
    return sorted(x, key=lambda v: v)
>>> f([1])

=== min_key
def f(x: List[int]):
    return min(x, key=None)
>>> f([1])

=== sum_start
def f(x: List[int]):
    return sum(x, 3)
>>> f([1])

=== print_sep_return
def f(x: int):
    y = print(x)
    return x
>>> f(1)

=== dict_loop_update
def f(words: List[str]):
    d: Dict[str, int] = {}
    for w in words:
        if w in d:
            d[w] += 1
        else:
            d[w] = 1
    return d
>>> f(["a", "b", "a"])

=== slice_objects
def f(x: Tensor, y: Tuple[int, int, int], z: str, k: List[int], n: int):
    s = slice(1, 3)
    return x[s], x[slice(None, 2), slice(0, 2)], y[slice(1, 3)], z[s], k[slice(None, None, 2)], x[..., slice(n)], k[slice(n, None)]
>>> f(torch.arange(12).reshape(3, 4), (1, 2, 3), "hello", [1, 2, 3], 1)

=== slice_objects_stored
def f(x: Tensor, n: int):
    x[slice(n)] = 0
    x[slice(1, 2), slice(0, 2)] += 100
    return x
>>> f(torch.arange(12).reshape(3, 4), 1)

=== slice_object_as_value
def f(x: Tensor, n: int):
    s = slice(n)
    return s
>>> f(torch.arange(12).reshape(3, 4), 1)

=== slice_object_of_float
def f(x: List[int], n: float):
    return x[slice(n)]
>>> f([1, 2], 1.0)

=== slice_object_keyword
def f(x: List[int]):
    return x[slice(start=1)]
>>> f([1, 2])

=== slice_object_four
def f(x: List[int]):
    return x[slice(1, 2, 3, 4)]
>>> f([1, 2, 3])

=== slice_object_nothing
def f(x: List[int]):
    return x[slice()]
>>> f([1, 2])

=== ordered_dict_empty
from collections import OrderedDict
def f(a: int):
    d = OrderedDict()
    return d
>>> f(1)

=== ordered_dict_copy
from collections import OrderedDict
def f(a: Dict[str, int]):
    d = OrderedDict(a)
    return d
>>> f({"a": 1})

=== ordered_dict_pairs
from collections import OrderedDict
def f(a: int):
    d = OrderedDict([("x", a), ("y", 2)])
    d["z"] = 3
    return [k for k in d.keys()], d
>>> f(1)

=== ordered_dict_zip
import collections
def f(a: int):
    d = collections.OrderedDict([(str(i), i) for i in range(a)])
    d2 = collections.OrderedDict(zip(["a", "b"], [1, 2]))
    return d, d2
>>> f(2)

=== tuple_item_stored
def f(x: Tuple[int, int]):
    x[0] = 2
    return x
>>> f((1, 2))

=== dict_literal_other_keys
def f(xs: List[int]):
    x: Dict[int, str] = {"a": "b"}
    return x
>>> f([1])

=== sort_any
def f(x: List[Any]):
    x.sort()
    return x
>>> f([1, 2])

=== sorted_any
def f(x: List[Any]):
    return sorted(x)
>>> f([1, 2])

=== sort_union
def f(x: List[Union[int, str]]):
    x.sort()
    return x
>>> f([1, 2])

=== sort_optional
def f(x: List[Optional[int]]):
    return sorted(x)
>>> f([1, 2])

=== sort_tensors
def f(x: List[Tensor]):
    x.sort()
    return x
>>> f([T(2.0), T(1.0)])

=== slice_assigned_place
def f(l: List[int], n: int):
    l[n:] = [7]
    return l
>>> f([1, 2, 3], 1)

=== whole_slice_assigned
def f(l: List[int]):
    l[:] = [7]
    return l
>>> f([1, 2, 3])

=== lists_of_tensors_compared
def f(x: List[Tensor], y: List[Tensor], t: Tensor):
    return x == y, x != y, x.count(t)
>>> f([torch.ones(1)], [torch.ones(1)], torch.ones(1))
>>> f([torch.ones(1)], [torch.zeros(1)], torch.zeros(1))
>>> f([torch.ones(2)], [torch.ones(2), torch.ones(2)], torch.ones(2))
>>> f([torch.ones(2)], [torch.ones(2)], torch.ones(1))

=== sums_of_nothing
def f(a: List[int], b: List[float], c: List[complex], d: List[bool]):
    return sum(a), sum(b), sum(c), sum(d), str(sum(b))
>>> f([], [], [], [])
>>> f([1], [1.0], [1j], [True])
"""
