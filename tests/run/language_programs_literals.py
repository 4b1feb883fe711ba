"""Programs on literals, displays and conditional expressions, and how annotations type them.

The format is that of `language_harness`.
"""

TEXT = r"""
=== ellipsis_only
def f(x: int):
    ...
>>> f(1)

=== int_literals
def f():
    return 1_000, 0x1F, 0b101, 0o17, 9223372036854775807, -9223372036854775808
>>> f()

=== int_too_big
def f():
    return 9223372036854775808
>>> f()

=== float_literals
def f():
    return 1., .5, 1e3, 1E-3, 1_0.5, float("inf"), float("nan"), float("-inf")
>>> f()

=== complex_literals
def f():
    return 1j, 1 + 2j, 2.5j
>>> f()

=== bytes_literal
def f():
    return b"abc"
>>> f()

=== bool_none_literals
def f():
    return True, False, None
>>> f()

=== ellipsis_value
def f():
    return ...
>>> f()

=== ifexp_nested
def f(x: int, y: Optional[int]):
    return (y if y is not None else x) + (1 if x > 0 else (2 if x < -5 else 3))
>>> f(1, None)
>>> f(-9, 4)

=== ifexp_list
def f(x: int):
    return [x] if x > 0 else [x, x]
>>> f(1)

=== ifexp_none_hint
def f(x: int) -> Optional[int]:
    y: Optional[int] = x if x > 0 else None
    return y
>>> f(1)
>>> f(-1)

=== short_circuit
def f(x: List[int]):
    if len(x) > 2 and x[2] > 0:
        return 1
    if len(x) == 0 or x[0] > 5:
        return 2
    return 3
>>> f([])
>>> f([1, 2, 3])
>>> f([9])
>>> f([1])

=== and_or_value
def f(x: int, y: int):
    a = x > 1 and y > 1
    b = x > 1 or y > 1
    c = not (x > 1)
    d = a and b or c
    return a, b, c, d
>>> f(1, 2)
>>> f(2, 2)

=== compare_chain_calls
def g(x: int) -> int:
    print("g", x)
    return x
def f(x: int):
    return g(1) < g(x) < g(5)
>>> f(3)
>>> f(0)

=== is_scripting_branch
def f(x: int):
    if torch.jit.is_scripting():
        return x
    else:
        return some_undefined(x)
>>> f(3)

=== is_scripting_not
def f(x: int):
    if not torch.jit.is_scripting():
        return some_undefined(x)
    return x + 1
>>> f(3)

=== is_scripting_and
def f(x: int):
    if torch.jit.is_scripting() and x > 2:
        return x
    return 0
>>> f(3)

=== static_none_prune
def f(x: int, y: None):
    if y is None:
        return x
    else:
        return y.foo()
>>> f(3, None)

=== static_isinstance_prune
def f(x: int):
    if isinstance(x, int):
        return x
    else:
        return x.nothing()
>>> f(3)

=== static_true
def f(x: int):
    if True:
        y = x
    else:
        y = undefined_thing
    while False:
        y = 3
    return y
>>> f(3)

=== empty_list_default
def f(x):
    l = []
    l.append(x)
    return l
>>> f(T(1))

=== empty_list_int
def f(x: int):
    l = []
    l.append(x)
    return l
>>> f(1)

=== empty_dict_default
def f(x):
    d = {}
    d["a"] = x
    return d
>>> f(T(1))

=== empty_list_reassign
def f(x: int):
    l = [1]
    if x > 1:
        l = []
    return l
>>> f(1)

=== empty_nested_list
def f(x: int):
    l: List[List[int]] = [[]]
    l.append([x])
    return l
>>> f(1)

=== nested_list_opt
def f(x: int):
    l: List[List[Optional[int]]] = [[x, None]]
    return l
>>> f(1)

=== dict_hint_empty_list
def f(x: int):
    d: Dict[str, List[int]] = {"a": []}
    d["a"].append(x)
    return d
>>> f(1)

=== tuple_hint_empty
def f(x: int):
    t: Tuple[List[int], Dict[str, int]] = ([], {})
    t[0].append(x)
    return t
>>> f(1)

=== is_bool
def f(a: bool, b: bool):
    return a is b, a is not b, a is True, a is not False
>>> f(True, False)

=== is_int
def f(a: int, b: int):
    return a is b, a is not b, a is 3
>>> f(3, 3)

=== is_str
def f(a: str, b: str):
    return a is b, a is not b
>>> f("a", "b")

=== is_tensor
def f(a, b):
    return a is b, a is not b, a is a
>>> f(T(1), T(1))

=== is_list
def f(a: List[int], b: List[int]):
    return a is b, a is not b, a is a
>>> f([1], [1])

=== list_hint_any
def f(x: int):
    l: List[Any] = [x, "a", [1]]
    return len(l)
>>> f(1)

=== dict_hint_any
def f(x: int):
    l: Dict[str, Any] = {"a": x, "b": "c"}
    return len(l)
>>> f(1)

=== list_hint_opt
def f(x: int):
    l: List[Optional[int]] = [x, 2]
    return l
>>> f(1)

=== list_hint_union
def f(x: int):
    l: List[Union[int, str]] = [x, 2]
    return l
>>> f(1)

=== list_hint_float
def f(x: int):
    l: List[float] = [x, 2]
    return l
>>> f(1)

=== dict_hint_opt
def f(x: int):
    l: Dict[str, Optional[int]] = {"a": x}
    return l
>>> f(1)

=== tuple_hint_opt
def f(x: int):
    l: Tuple[Optional[int], Any] = (x, x)
    return l
>>> f(1)

=== dict_hint_dict
def f(x: int):
    l: Dict[str, Dict[str, int]] = {"a": {}}
    return l
>>> f(1)

=== ternary_hint
def f(x: int):
    l: List[int] = [] if x > 1 else [x]
    return l
>>> f(1)

=== ternary_hint_none
def f(x: int):
    l: Optional[List[int]] = None if x > 1 else []
    return l
>>> f(1)

=== annotated_displays
def f(x: int):
    a: Union[int, List[int]] = []
    b: Union[List[int], List[str]] = ["s"]
    c: Optional[Dict[str, int]] = {}
    d: Union[List[str], Dict[str, int]] = {"a": x}
    e: Dict[int, int] = dict({})
    g: Dict[str, int] = dict([])
    return a, b, c, d, e, g
>>> f(2)

=== comprehension_for_union
def f(x: int):
    d: Union[Dict[str, int], Dict[int, int]] = {i: i for i in range(x)}
    return d
>>> f(2)

=== any_comprehension
def f(x: int):
    a: List[Any] = [i for i in range(x)]
    b: Dict[str, Any] = dict({"a": 1})
    return a, b
>>> f(2)

=== list_for_int
def f(x: int):
    d: int = [x]
    return d
>>> f(1)

=== list_for_optional_int
def f(x: int):
    d: Optional[int] = []
    return d
>>> f(1)

=== list_for_union
def f(x: int):
    d: Union[int, str] = [x]
    return d
>>> f(1)

=== empty_list_for_two
def f(x: int):
    d: Union[List[int], List[str]] = []
    return d
>>> f(1)

=== list_for_neither
def f(x: float):
    d: Union[List[int], List[str]] = [x]
    return d
>>> f(1.0)

=== comprehension_for_other_list
def f(x: int):
    d: List[str] = [i for i in range(x)]
    return d
>>> f(1)

=== dict_for_list
def f(x: int):
    d: List[int] = {}
    return d
>>> f(1)

=== dict_constructor_for_int
def f(x: int):
    d: Optional[int] = dict()
    return d
>>> f(1)

=== dict_constructor_for_two
def f(x: int):
    d: Union[Dict[str, int], Dict[int, int]] = dict(a=x)
    return d
>>> f(1)

=== dict_constructor_keys
def f(x: int):
    d: Dict[int, int] = dict(a=x)
    return d
>>> f(1)

=== dict_comprehension_values
def f(x: int):
    d: Dict[int, str] = {i: i for i in range(x)}
    return d
>>> f(1)

=== list_constructor_for_optional
def f(x: int):
    d: Optional[List[int]] = list()
    return d
>>> f(1)

=== tensor_of_empty_lists
def f(x: int):
    a: List[int] = []
    b: List[float] = []
    c: List[bool] = []
    d: List[List[int]] = [[], []]
    return torch.tensor(a), torch.tensor(b), torch.tensor(c), torch.tensor(d)
>>> f(1)

=== tensor_of_untyped_list
def f(x: int):
    return torch.tensor([])
>>> f(1)

=== tensor_of_ragged_list
def f(x: int):
    return torch.tensor([[1], [2, x]])
>>> f(1)

=== tensor_of_strings
def f(x: str):
    return torch.tensor([x])
>>> f("a")

=== tensor_of_tuples
def f(x: int):
    return torch.tensor([(1, x)])
>>> f(1)

=== tensor_of_tensors
def f(x):
    return torch.tensor([x, x])
>>> f(T(1))

=== texts_of_integers
def f(s: str):
    return int(s)
>>> f("12a")
>>> f("")
>>> f("  7 ")

=== texts_of_floats
def f(s: str):
    return float(s)
>>> f("1e3")
>>> f("inf")
>>> f("-nan")
>>> f(" 2.5 ")
>>> f("x")

=== long_constants_of_variables
def f(n: int):
    if n > 2:
        s = "a long text that does not fit into forty columns at all, really"
    else:
        s = "c long text that does not fit into forty columns at all, really"
    t = "another text that does not fit into forty columns at all, really"
    for i in range(n):
        t = t + "b"
    return s + "d long text that does not fit into forty columns at all, really", t
>>> f(3)
>>> f(0)
"""
