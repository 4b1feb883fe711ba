"""Mistakes of control flow, annotations, tuples and arguments that people make in scripts; see language_harness."""

TEXT = """\

=== tuple_index_out
def f(x: Tuple[int, str]):
    return x[2]
>>> f((1, "a"))

=== tuple_item_assigned
def f(x: Tuple[int, str]):
    x[0] = 3
    return x
>>> f((1, "a"))

=== tuple_append
def f(x: Tuple[int, str]):
    x.append(1)
    return x
>>> f((1, "a"))

=== tuple_unpack_more
def f(x: Tuple[int, str]):
    a, b, c = x
    return a
>>> f((1, "a"))

=== tuple_plus_list
def f(x: Tuple[int, int]):
    return x + [1]
>>> f((1, 2))

=== tuple_of_wrong_length
def f(x: Tuple[int, int]):
    return x
>>> f((1, 2, 3))

=== tuple_loop_types
def f(x: Tuple[int, str]):
    n = 0
    for v in x:
        n = n + v
    return n
>>> f((1, "a"))

=== named_tuple_unknown_field
class P(NamedTuple):
    a: int
    b: str
def f(x: int):
    return P(x, "s").c
>>> f(1)

=== named_tuple_missing_field
class P(NamedTuple):
    a: int
    b: str
def f(x: int):
    return P(x)
>>> f(1)

=== named_tuple_wrong_type
class P(NamedTuple):
    a: int
    b: str
def f(x: int):
    return P(x, x)
>>> f(1)

=== named_tuple_field_assigned
class P(NamedTuple):
    a: int
    b: str
def f(x: int):
    p = P(x, "a")
    p.a = 3
    return p
>>> f(1)

=== control_missing_return
def f(x: int) -> int:
    if x > 2:
        return 1
>>> f(1)

=== control_return_types
def f(x: int):
    if x > 2:
        return 1
    else:
        return 1.0
>>> f(1)

=== control_branch_types
def f(x: int):
    if x > 2:
        y = [1]
    else:
        y = ["a"]
    return y
>>> f(1)

=== control_branch_none
def f(x: int):
    if x > 2:
        y = torch.ones(2)
    else:
        y = None
    return y + 1
>>> f(1)

=== control_undefined_after_if
def f(x: int):
    if x > 2:
        z = 3
    return z
>>> f(1)

=== control_undefined_after_loop
def f(x: int):
    for i in range(x):
        z = i
    return z
>>> f(1)

=== control_loop_changes_type
def f(x: int):
    y = 0
    for i in range(x):
        y = y + 0.5
    return y
>>> f(1)

=== control_loop_changes_rank_of_list
def f(x: int):
    y = [1]
    for i in range(x):
        y = [y]
    return y
>>> f(1)

=== control_loop_tuple
def f(x: int):
    y = (1, 2)
    for i in range(x):
        y = (1, 2, 3)
    return y
>>> f(1)

=== control_break_outside
def f(x: int):
    if x > 1:
        break
    return x
>>> f(1)

=== control_continue_outside
def f(x: int):
    continue
    return x
>>> f(1)

=== control_while_int
def f(x: int):
    while x:
        x -= 1
    return x
>>> f(1)

=== control_while_string
def f(x: str):
    while x:
        x = ""
    return x
>>> f("a")

=== control_if_list
def f(x: List[int]):
    if x:
        return 1
    return 0
>>> f([1])

=== control_not_string
def f(x: str):
    return not x
>>> f("a")

=== control_and_ints
def f(x: int, y: str):
    return x and y
>>> f(1, "a")

=== control_or_default
def f(x: Optional[int]):
    y = x or 3
    return y
>>> f(None)

=== control_ternary_none
def f(x: int):
    y = x if x > 2 else None
    return y + 1
>>> f(1)

=== control_chained_in
def f(x: int):
    return x in 5
>>> f(1)

=== control_in_tuple
def f(x: int):
    return x in (1, 2)
>>> f(1)

=== control_is_int
def f(x: int):
    return x is 3
>>> f(1)

=== control_match
def f(x: int):
    match x:
        case 1:
            return 2
    return 3
>>> f(1)

=== control_for_int
def f(x: int):
    n = 0
    for i in x:
        n += i
    return n
>>> f(3)

=== control_for_in_range_float
def f(x: float):
    n = 0
    for i in range(x):
        n += i
    return n
>>> f(3.0)

=== control_range_zero_step
def f(x: int):
    n = 0
    for i in range(0, x, 0):
        n += i
    return n
>>> f(3)

=== control_enumerate_int
def f(x: int):
    n = 0
    for i, v in enumerate(x):
        n += i
    return n
>>> f(3)

=== control_zip_one_target
def f(x: List[int]):
    n = 0
    for i in zip(x, x):
        n += i
    return n
>>> f([3])

=== control_raise_string
def f(x: int):
    raise "bad"
>>> f(1)

=== control_raise_unknown
def f(x: int):
    if x > 0:
        raise MyError("bad")
    return x
>>> f(1)

=== control_raise_class
def f(x: int):
    if x > 0:
        raise ValueError
    return x
>>> f(1)

=== control_assert_message
def f(x: int):
    assert x > 3, "x is " + str(x)
    return x
>>> f(1)

=== control_assert_tuple
def f(x: int):
    assert (x > 3, "too small")
    return x
>>> f(1)

=== control_try_finally
def f(x: int):
    try:
        return x
    finally:
        x = 1
>>> f(1)

=== control_with_open
def f(x: str):
    with open(x) as g:
        return g.read()
>>> f("a")

=== control_del_argument
def f(x: int):
    del x
    return x
>>> f(1)

=== control_nonlocal
def f(x: int):
    nonlocal y
    return x
>>> f(1)

=== control_async
async def f(x: int):
    return x
>>> f(1)

=== control_set_literal
def f(x: int):
    s = {1, 2}
    return x in s
>>> f(1)

=== control_set_call
def f(x: List[int]):
    return len(set(x))
>>> f([1])

=== control_generator
def f(x: List[int]):
    return sum(v * 2 for v in x)
>>> f([1])

=== control_map
def f(x: List[int]):
    return list(map(str, x))
>>> f([1])

=== control_filter
def f(x: List[int]):
    return [v for v in filter(None, x)]
>>> f([1])

=== control_isinstance_string
def f(x: int):
    return isinstance(x, "int")
>>> f(1)

=== control_type_call
def f(x: int):
    return type(x) == int
>>> f(1)

=== control_hasattr_variable
def f(x: Tensor, s: str):
    return hasattr(x, s)
>>> f(T([1.0]), "a")

=== control_getattr_variable
def f(x: Tensor, s: str):
    return getattr(x, s)
>>> f(T([1.0]), "shape")

=== control_print_keyword
def f(x: int):
    print(x, end="")
    return x
>>> f(1)

=== control_input
def f(x: int):
    return input("a")
>>> f(1)

=== control_round_digits
def f(x: float):
    return round(x, "a")
>>> f(1.0)

=== control_int_of_list
def f(x: List[int]):
    return int(x)
>>> f([1])

=== control_len_int
def f(x: int):
    return len(x)
>>> f(1)

=== control_divide_zero
def f(x: int):
    return 1 // x
>>> f(0)

=== control_true_divide_zero
def f(x: int):
    return 1 / x
>>> f(0)

=== control_math_domain
def f(x: float):
    return math.sqrt(x)
>>> f(-1.0)

=== control_math_unknown
def f(x: float):
    return math.cbrt2(x)
>>> f(-1.0)

=== control_os
def f(x: str):
    return os.path.join(x, x)
>>> f("a")

=== control_numpy
def f(x: float):
    return np.sqrt(x)
>>> f(1.0)

=== annotation_unknown_name
def f(x: Tensr):
    return x
>>> f(1)

=== annotation_of_module
def f(x: nn.AdaptiveLogSoftmaxWithLoss):
    return x
>>> f(1)

=== annotation_bare_list
def f(x: List):
    return x
>>> f([1])

=== annotation_bare_dict
def f(x: Dict):
    return x
>>> f({"a": 1})

=== annotation_lower_any
def f(x: any):
    return x
>>> f(1)

=== annotation_union_three
def f(x: Union[int, str, float]) -> int:
    return x + 1
>>> f(1)

=== annotation_set
def f(x: Set[int]):
    return x
>>> f({1})

=== annotation_number
def f(x: 3):
    return x
>>> f(1)

=== annotation_list_of_two
def f(x: List[int, str]):
    return x
>>> f([1])

=== annotation_dict_of_one
def f(x: Dict[str]):
    return x
>>> f({"a": 1})

=== annotation_local_wrong
def f(x: int):
    y: str = x
    return y
>>> f(1)

=== annotation_local_list_wrong
def f(x: int):
    y: List[str] = [x]
    return y
>>> f(1)

=== annotation_return_wrong
def f(x: int) -> str:
    return x
>>> f(1)

=== annotation_return_tuple_wrong
def f(x: int) -> Tuple[int, int]:
    return x, "a"
>>> f(1)

=== annotation_return_none_given
def f(x: int) -> None:
    return x
>>> f(1)

=== annotation_again
def f(x: int):
    y: int = 1
    y: float = 2.0
    return y
>>> f(1)

=== annotation_default_none
def f(x: int = None):
    return x
>>> f()

=== annotation_default_list
def f(x: List[int] = [1, 2]):
    return x
>>> f()

=== passed_string_for_int
def f(x: int):
    return x
>>> f("a")

=== passed_float_for_int
def f(x: int):
    return x
>>> f(1.5)

=== passed_int_for_tensor
def f(x):
    return x
>>> f(1)

=== passed_none_for_tensor
def f(x):
    return x
>>> f(None)

=== passed_list_of_wrong
def f(x: List[int]):
    return x
>>> f([1, "a"])

=== passed_list_of_tensors_wrong
def f(x: List[Tensor]):
    return x
>>> f([1])

=== passed_dict_of_wrong
def f(x: Dict[str, int]):
    return x
>>> f({1: 2})

=== passed_too_few
def f(x: int, y: int):
    return x
>>> f(1)

=== passed_too_many
def f(x: int, y: int):
    return x
>>> f(1, 2, 3)

=== passed_unknown_name
def f(x: int, y: int):
    return x
>>> f(1, z=3)

=== passed_twice
def f(x: int, y: int):
    return x
>>> f(1, 2, x=3)

=== passed_object
def f(x: int):
    return x
>>> f(object())

=== annotation_without_code
def f(x: array.array):
    return x
>>> f(1)

=== isinstance_without_code
def f(x: int):
    return isinstance(x, array.array)
>>> f(1)

=== comment_types_few
def f(x: int, y: Dict[str, int]):
    # type: (int) -> int
    return x
>>> f(1, {})

=== comment_types_many_defaults
def f(x=1, y="a:b"):
    # type: (int, str, int) -> int
    return x
>>> f(1)

=== comment_types_without_parameters
def f():
    # type: (int) -> int
    return 1
>>> f()

=== comment_types_of_method
class M(nn.Module):
    def forward(self, x):
        # type: (int, int) -> int
        return x
>>> f(1)

=== comment_types_of_self
@torch.jit.script
class A:
    def __init__(self, x):
        # type: (int, int) -> None
        self.x = x
def f(x: int):
    return A(x).x
>>> f(1)

=== starred_item
def f(x: int):
    b = [0]
    a, *b[0], c = (1, 2, 3)
    return a
>>> f(1)

=== starred_tuple
def f(x: int):
    a, *(b, d), c = (1, 2, 3, 4)
    return a
>>> f(1)
"""
