"""Programs on assignments: plain, annotated, augmented, and changes of type.

The format is that of `language_harness`.
"""

TEXT = r"""
=== chained_assign
def f(x: int):
    a = b = c = x
    a += 1
    return a, b, c
>>> f(1)

=== chained_assign_tuple
def f(x: int):
    a = (b, c) = (x, x + 1)
    return a, b, c
>>> f(1)

=== swap
def f(x: int, y: str):
    a, b = x, y
    c, d = b, a
    return c, d
>>> f(1, "a")

=== swap_same
def f(x: int, y: int):
    x, y = y, x
    return x, y
>>> f(1, 2)

=== annotated_assign
def f(x: int):
    y: Optional[int] = None
    z: List[float] = []
    w: Dict[str, List[int]] = {}
    if x > 1:
        y = x
        z.append(1.0)
        w["a"] = [x]
    return y, z, w
>>> f(1)
>>> f(2)

=== annotated_wrong
def f(x: int):
    y: str = x
    return y
>>> f(1)

=== annotated_float_int
def f(x: int):
    y: float = 1
    return y
>>> f(1)

=== annotated_no_value
def f(x: int):
    y: int
    y = x
    return y
>>> f(1)

=== annotated_union
def f(x: int):
    y: Union[int, str] = x
    if x > 1:
        y = "a"
    return y
>>> f(1)
>>> f(2)

=== retype_straight
def f(x: int):
    y = 1
    y = 2.5
    y = "a"
    return y
>>> f(1)

=== retype_in_if
def f(x: int):
    y = 1
    if x > 1:
        y = "a"
    return y
>>> f(1)

=== retype_in_loop
def f(x: int):
    y = 1
    for i in range(x):
        y = 2.5
    return y
>>> f(1)

=== none_then_int
def f(x: int):
    y = None
    if x > 1:
        y = 1
    return y
>>> f(1)

=== aug_ops
def f(x: int):
    x += 1
    x -= 2
    x *= 3
    x %= 7
    x **= 2
    return x
>>> f(5)

=== aug_ops_int
def f(x: int):
    x &= 7
    x |= 8
    x ^= 1
    x <<= 2
    x >>= 1
    return x
>>> f(5)

=== aug_div_int
def f(x: int):
    x /= 2
    return x
>>> f(5)

=== aug_float
def f(x: float):
    x += 1
    x -= 0.5
    x *= 3
    x /= 2
    x **= 2
    x %= 4.0
    return x
>>> f(5.5)

=== aug_str
def f(x: str):
    x += "b"
    return x
>>> f("a")

=== aug_tensor
def f(x):
    y = x
    x += 1
    x -= 2
    x *= 3
    x /= 2
    return x, y
>>> f(T([5.0]))

=== aug_tensor_more
def f(x):
    x %= 4
    x **= 2
    return x
>>> f(T([5.0]))

=== aug_tensor_bits
def f(x, y):
    x &= y
    x |= 8
    x ^= y
    x <<= 1
    x >>= 1
    return x
>>> f(T([5]), T([7]))

=== aug_bool
def f(x: bool):
    x &= True
    x |= False
    return x
>>> f(True)

=== aug_undefined
def f(x: int):
    y += 1
    return y
>>> f(1)

=== annotate_forms
def f(x: int):
    a = torch.jit.annotate(List[int], [])
    b = torch.jit.annotate(Optional[int], None)
    c = torch.jit.annotate(Dict[str, List[int]], {})
    d = torch.jit.annotate(Tuple[int, Optional[str]], (x, None))
    a.append(x)
    c["a"] = a
    return a, b, c, d
>>> f(1)

=== annotate_wrong
def f(x: int):
    return torch.jit.annotate(str, x)
>>> f(1)

=== ann_in_loop
def f(x: int):
    for i in range(x):
        y: int = i
    return x
>>> f(1)

=== ann_in_if_outer
def f(x: int):
    y = 1
    if x > 1:
        y: int = 2
    return y
>>> f(1)

=== reassign_fn_name
def g(x: int):
    return x
def f(x: int):
    g = 3
    return g + x
>>> f(1)

=== use_before_def
def f(x: int):
    y = z
    z = 1
    return y
>>> f(1)

=== jit_prefix
def f(x: int):
    __jit_x = x
    return __jit_x
>>> f(1)

=== aug_tensor_slices
def f(x):
    x[0] += 1
    x[1:] *= 2
    x[x > 3] -= 10
    x[0, 1] = 7
    return x
>>> f(T([[1.0, 2.0], [3.0, 4.0]]))

=== aug_list_tensor
def f(x: List[Tensor]):
    x[0] += 1
    x[0] *= 3
    return x
>>> f([T(1.0)])

=== aug_attr
class A:
    def __init__(self, x: int, t):
        self.x = x
        self.l = [x]
        self.t = t
def f(a: int, t):
    p = A(a, t)
    p.x += 2
    p.x *= 3
    p.l += [4]
    p.l[0] += 5
    p.t += 1
    return p.x, p.l, p.t
>>> f(1, T(1.0))

=== ann_tensor_int
def f(x):
    y: int = x
    return y
>>> f(T(3))

=== ann_tuple_list
def f(x: int):
    y: List[int] = (x, x)
    return y
>>> f(3)

=== ann_str_device
def f(x: str):
    y: torch.device = x
    return y
>>> f("cpu")

=== ann_tuple_float
def f(x: int):
    y: Tuple[float, int] = (x, x)
    return y
>>> f(3)

=== ann_tuple_opt
def f(x: int):
    y: Tuple[Optional[int], int] = (None, x)
    return y
>>> f(3)

=== reassign_tuple_list
def f(x: int):
    y = [x]
    if x > 1:
        y = (x, x)
    return y
>>> f(3)

=== reassign_tensor_int
def f(x: int, t):
    y = x
    if x > 1:
        y = t
    return y
>>> f(3, T(4))

=== reassign_empty_list
def f(x: int):
    y = [x]
    for i in range(x):
        y = []
    return y
>>> f(3)

=== annotate_tuple_list
def f(x: int):
    return torch.jit.annotate(List[int], (x, x))
>>> f(3)

=== annotate_tensor_float
def f(x):
    return torch.jit.annotate(float, x)
>>> f(T(3.0))

=== ret_tensor_float
def f(x) -> float:
    return x
>>> f(T(3.0))

=== ret_tuple_list
def f(x: int) -> List[int]:
    return (x, x)
>>> f(3)

=== ret_tuple_conv
def f(x) -> Tuple[int, float]:
    return x, x
>>> f(T(3))

=== ret_none_tensor
def f(x):
    if bool(x > 1):
        return x
    return None
>>> f(T(3))
>>> f(T(0))

=== ret_nothing_tensor
def f(x) -> Tensor:
    return None
>>> f(T(3))

=== set_item_conv
def f(x: List[float], t):
    x[0] = t
    x.append(t)
    return x
>>> f([1.0], T(2.0))

=== dict_item_conv
def f(x: Dict[str, float], t):
    x["a"] = t
    return x
>>> f({}, T(2.0))

=== attr_conv
class A:
    def __init__(self, x: float):
        self.x = x
def f(t):
    a = A(t)
    a.x = t
    return a.x
>>> f(T(2.0))

=== starred_alone
def f(x: List[int]):
    *a, = x
    return a
>>> f([1, 2])

=== starred_places
def f(x: Tuple[int, int, int], y: List[int]):
    a, *b = x
    *c, d = x
    e, *g, h = x
    return a, b, c, d, e, g, h
>>> f((1, 2, 3), [1])

=== starred_of_list
def f(y: List[int]):
    a, *b = y
    return a, b
>>> f([1, 2])

=== unpacked_number
def f(s: str):
    a, b = s.upper()
    return a
>>> f("ab")

=== unpacked_number_inside
def f(x: int):
    a, (b, c) = x, 2
    return a
>>> f(1)

=== unpacked_in_loop
def f(x: List[int]):
    for a, b in x:
        pass
    return x
>>> f([1])

=== unpacked_in_comprehension
def f(x: List[int]):
    return [a for a, b in x]
>>> f([1])

=== attribute_in_tuple
def f(x: List[int], z: int):
    x[0], z.foo = 1, 2
    return x
>>> f([1], 2)

=== item_as_loop_variable
def f(x: List[int], y: List[int]):
    for y[0] in x:
        y.append(y[0])
    return y
>>> f([1, 2], [3])

=== remainder_assigned_to_int
def f(x: int):
    for i in range(x):
        x %= 3
    return x
>>> f(4)

=== augmented_object_without_method
@torch.jit.script
class K:
    def __init__(self):
        self.x = 1
def f():
    k = K()
    k -= 2
    return k.x
>>> f()

=== augmented_object_by_add
@torch.jit.script
class K:
    def __init__(self):
        self.x = 1
    def __add__(self, o: int) -> int:
        return self.x + o
def f():
    k = K()
    k += 2
    return k
>>> f()

=== augmented_power_of_object
@torch.jit.script
class K:
    def __init__(self):
        self.x = 1
    def __pow__(self, o: int) -> int:
        return self.x + o
def f():
    k = K()
    k **= 2
    return k
>>> f()

=== deleted_in_its_branch
def f(x: int):
    if x > 2:
        y = 1
        del y
    return x
>>> f(1)

=== deleted_in_a_branch
def f(x: int):
    y = 1
    if x > 2:
        del y
    return y
>>> f(1)

=== deleted_in_a_branch_and_not_used
def f(x: int):
    y = 1
    if x > 2:
        del y
    return x
>>> f(1)

=== tensor_item_by_text
def f(d):
    d["z"] = 26
    return d
>>> f(T([1.0]))

=== tensor_item_augmented_by_text
def f(d):
    d["z"] += 26
    return d
>>> f(T([1.0]))

=== truth_of_none
def f(x: int):
    return bool(None)
>>> f(1)

=== truth_of_several_kinds
def f(x: int, s: str, l: List[int], d: Dict[str, int], y: float):
    return bool(x), bool(s), bool(l), bool(d), bool(y)
>>> f(1, "", [2], {"a": 1}, 0.0)
>>> f(0, "a", [], {"a": 1}, 1.5)
"""
