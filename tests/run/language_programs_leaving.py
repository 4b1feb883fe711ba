"""Programs on return, raise, assert, with and del; the format is that of `language_harness`."""

TEXT = r'''
=== return_in_loop_tensor
def f(x, n: int):
    for i in range(n):
        x = x + i
        if bool(x.sum() > 10):
            return x
    return x * 2
>>> f(T([1.0]), 3)
>>> f(T([1.0]), 30)

=== early_return_void
def f(x: int) -> None:
    if x > 3:
        return
    print("low")
>>> f(5)
>>> f(1)

=== missing_return
def f(x: int) -> int:
    if x > 3:
        return 1
>>> f(5)

=== missing_return_unannotated
def f(x: int):
    if x > 3:
        return 1
>>> f(5)

=== return_mixed_none
def f(x: int):
    if x > 3:
        return 1
    return None
>>> f(5)
>>> f(1)

=== return_int_float
def f(x: int):
    if x > 3:
        return 1
    return 1.5
>>> f(5)

=== return_annotated_optional
def f(x: int) -> Optional[int]:
    if x > 3:
        return 1
    return None
>>> f(5)
>>> f(1)

=== return_annotated_union
def f(x: int) -> Union[int, str]:
    if x > 3:
        return 1
    return "s"
>>> f(5)
>>> f(1)

=== return_wrong_type
def f(x: int) -> str:
    return x
>>> f(5)

=== return_float_for_int
def f(x: float) -> int:
    return x
>>> f(5.0)

=== return_int_for_float
def f(x: int) -> float:
    return x
>>> f(5)

=== return_tensor_for_int
def f(x) -> int:
    return x
>>> f(T(5))

=== return_list_any
def f(x: int) -> List[Any]:
    return [x, "a"]
>>> f(5)

=== return_tuple_annot
def f(x: int) -> Tuple[int, Optional[str]]:
    return x, None
>>> f(5)

=== return_any
def f(x: int) -> Any:
    if x > 2:
        return "a"
    return x
>>> f(5)
>>> f(1)

=== raise_kinds
def f(x: int):
    if x == 0:
        raise ValueError("zero")
    elif x == 1:
        raise RuntimeError("one", x)
    elif x == 2:
        raise KeyError
    elif x == 3:
        raise Exception(f"three {x}")
    elif x == 4:
        raise IndexError()
    elif x == 5:
        raise AssertionError("five")
    elif x == 6:
        raise NotImplementedError("six {}".format(x))
    elif x == 7:
        raise TypeError("a" + "b")
    return x
>>> f(0)
>>> f(1)
>>> f(2)
>>> f(3)
>>> f(4)
>>> f(5)
>>> f(6)
>>> f(7)
>>> f(8)

=== raise_from
def f(x: int):
    raise ValueError("a") from None
    return x
>>> f(0)

=== raise_int_arg
def f(x: int):
    raise ValueError(x)
>>> f(0)

=== raise_only
def f(x: int):
    raise ValueError("no")
>>> f(0)

=== raise_only_annotated
def f(x: int) -> int:
    raise ValueError("no")
>>> f(0)

=== raise_string
def f(x: int):
    raise "abc"
>>> f(0)

=== raise_variable
def f(x: int):
    e = ValueError("a")
    raise e
>>> f(0)

=== own_exception_args
class MyErr(Exception):
    def __init__(self, a: int, b: str):
        super().__init__(a, b)
def f(x: int):
    if x > 1:
        raise MyErr(1, "boo")
    return x
>>> f(0)
>>> f(3)

=== assert_forms
def f(x: int):
    assert x > 0
    assert x > 1, "low"
    assert x > 2, f"low {x}"
    assert x > 3, "low {}".format(x)
    assert (x > 4), x
    return x
>>> f(0)
>>> f(1)
>>> f(2)
>>> f(3)
>>> f(4)
>>> f(5)

=== assert_tuple_msg
def f(x: int):
    assert x > 3, ("low", x)
    return x
>>> f(0)

=== assert_tensor
def f(x):
    assert x.sum() > 3
    return x
>>> f(T([1.0]))
>>> f(T([5.0]))

=== assert_false
def f(x: int) -> int:
    assert False, "never"
>>> f(1)

=== assert_refines
def f(x: Optional[int]) -> int:
    assert x is not None
    return x + 1
>>> f(1)
>>> f(None)

=== assert_isinstance
def f(x: Union[int, str]) -> int:
    assert isinstance(x, int)
    return x + 1
>>> f(1)
>>> f("a")

=== assert_isinstance_and
def f(x: Optional[int], y: Optional[int]) -> int:
    assert x is not None and y is not None
    return x + y
>>> f(1, 2)
>>> f(None, 1)

=== with_no_grad
def f(x):
    with torch.no_grad():
        y = x * 2
    return y
>>> f(T([1.0]))

=== with_open
def f(x: str):
    with open(x) as h:
        pass
    return x
>>> f("a")

=== with_class
@torch.jit.script
class Ctx(object):
    def __init__(self, n: int):
        self.n = n
    def __enter__(self):
        self.n += 1
        return self.n
    def __exit__(self, type: Any, value: Any, tb: Any):
        self.n -= 1
def f(x: int):
    c = Ctx(x)
    with c as m:
        r = m * 10 + c.n
    return r, c.n
>>> f(3)

=== with_two
@torch.jit.script
class Ctx(object):
    def __init__(self, n: int):
        self.n = n
    def __enter__(self):
        self.n += 1
        return self.n
    def __exit__(self, type: Any, value: Any, tb: Any):
        self.n -= 1
def f(x: int):
    a = Ctx(x)
    b = Ctx(x * 2)
    with a as m, b as k:
        r = m * 10 + k
    return r, a.n, b.n
>>> f(3)

=== with_return_inside
@torch.jit.script
class Ctx(object):
    def __init__(self, n: int):
        self.n = n
    def __enter__(self):
        self.n += 1
        return self
    def __exit__(self, type: Any, value: Any, tb: Any):
        self.n -= 1
def f(x: int):
    a = Ctx(x)
    with a:
        return a.n
>>> f(3)

=== with_exception_inside
@torch.jit.script
class Ctx(object):
    def __init__(self, n: List[int]):
        self.n = n
    def __enter__(self):
        self.n.append(1)
        return self
    def __exit__(self, type: Any, value: Any, tb: Any):
        print("exit")
def f(x: int):
    a = Ctx([x])
    with a:
        assert x > 3, "low"
    return a.n
>>> f(3)
>>> f(5)

=== with_no_exit
@torch.jit.script
class Ctx(object):
    def __init__(self, n: int):
        self.n = n
    def __enter__(self):
        return self.n
def f(x: int):
    with Ctx(x) as m:
        pass
    return m
>>> f(3)

=== with_wrong_exit
@torch.jit.script
class Ctx(object):
    def __init__(self, n: int):
        self.n = n
    def __enter__(self):
        return self.n
    def __exit__(self):
        pass
def f(x: int):
    with Ctx(x) as m:
        pass
    return m
>>> f(3)

=== with_wrong_exit_types
@torch.jit.script
class Ctx(object):
    def __init__(self, n: int):
        self.n = n
    def __enter__(self):
        return self.n
    def __exit__(self, type: int, value: int, tb: int):
        pass
def f(x: int):
    with Ctx(x) as m:
        pass
    return m
>>> f(3)

=== with_bad_enter
@torch.jit.script
class Ctx(object):
    def __init__(self, n: int):
        self.n = n
    def __enter__(self, k: int):
        return self.n
    def __exit__(self, type: Any, value: Any, tb: Any):
        pass
def f(x: int):
    with Ctx(x) as m:
        pass
    return m
>>> f(3)

=== with_on_int
def f(x: int):
    with x:
        pass
    return x
>>> f(3)

=== del_name_ok
def f(x: int):
    y = x
    del y
    y = 5
    return y
>>> f(3)

=== del_undefined
def f(x: int):
    del y
    return x
>>> f(3)

=== del_multi
def f(x: List[int], d: Dict[str, int]):
    del x[0], d["a"]
    return x, d
>>> f([1, 2], {"a": 1, "b": 2})

=== del_attr
@torch.jit.script
class A(object):
    def __init__(self):
        self.x = 1
def f(a: int):
    b = A()
    del b.x
    return a
>>> f(1)

=== if_else_none
def f(x: int):
    if x > 1:
        y = 1
    else:
        y = None
    return y
>>> f(1)
>>> f(2)

=== if_else_types
def f(x: int):
    if x > 1:
        y = 1
    else:
        y = "a"
    return x
>>> f(1)

=== if_else_types_used
def f(x: int):
    if x > 1:
        y = 1
    else:
        y = "a"
    return y
>>> f(1)

=== if_only_one
def f(x: int):
    if x > 1:
        y = 1
    return y
>>> f(1)

=== if_only_one_raise
def f(x: int):
    if x > 1:
        y = 1
    else:
        raise ValueError("a")
    return y
>>> f(1)
>>> f(2)

=== if_chain
def f(x: int):
    if x < 0:
        r = "neg"
    elif x == 0:
        r = "zero"
    elif x < 10:
        r = "small"
    else:
        r = "big"
    return r
>>> f(-1)
>>> f(0)
>>> f(5)
>>> f(50)

=== if_tensor
def f(x):
    if x > 0:
        return x
    else:
        return -x
>>> f(T(1.0))
>>> f(T(-1.0))
>>> f(T([1.0, 2.0]))

=== if_list
def f(x: List[int]):
    if x:
        return 1
    return 0
>>> f([])
>>> f([1])

=== expression_stmt
def f(x):
    x.add_(1)
    x
    "doc"
    3
    return x
>>> f(T([1.0]))

=== docstring_only
def f(x: int):
    """A doc."""
>>> f(1)

=== pass_only
def f(x: int):
    pass
>>> f(1)

=== unreachable
def f(x: int):
    return x
    y = undefined_thing
>>> f(1)

=== semicolons
def f(x: int):
    y = x; z = y; return z
>>> f(1)

=== multi_line
def f(x: int):
    y = (x +
         1)
    z = [
        y,
        x,
    ]
    w = y \
        + 2
    return z, w
>>> f(1)

=== comments
def f(x: int):
    # comment
    y = x  # another

    # more
    return y
>>> f(1)

=== return_hint
def f(x: int) -> List[Optional[int]]:
    return [x]
>>> f(1)

=== return_hint_dict
def f(x: int) -> Dict[str, List[int]]:
    return {"a": [x]}
>>> f(1)

=== return_empty
def f(x: int) -> List[int]:
    return []
>>> f(1)

=== return_empty_tuple
def f(x: int) -> Tuple[List[int], Dict[str, int]]:
    return [], {}
>>> f(1)

=== return_from_nested
def f(n: int) -> str:
    for i in range(n):
        while True:
            if i == 3:
                return "three"
            elif i > 1:
                break
            else:
                return "small" if n == 1 else "more"
    return "none"
>>> f(0)
>>> f(1)
>>> f(5)

=== with_raise
@torch.jit.script
class Ctx(object):
    def __init__(self, n: int):
        self.n = n
    def __enter__(self):
        print("enter", self.n)
        return self.n
    def __exit__(self, type: Any, value: Any, tb: Any):
        print("exit", self.n)
def g(x: int) -> int:
    with Ctx(5):
        assert x > 3, "low"
    return x
def f(x: int):
    with Ctx(1):
        with Ctx(2):
            y = g(x)
            return [x][y]
>>> f(3)
>>> f(6)

=== with_raise_in
@torch.jit.script
class Ctx(object):
    def __init__(self, n: int):
        self.n = n
    def __enter__(self):
        return self.n
    def __exit__(self, type: Any, value: Any, tb: Any):
        print("exit", self.n)
def f(x: int):
    with Ctx(1):
        raise ValueError("a")
    return x
>>> f(3)

=== nograd_return
def f(x):
    with torch.no_grad():
        return x * 2
>>> f(T([1.0]))

=== with_var_after
@torch.jit.script
class Ctx(object):
    def __init__(self, n: int):
        self.n = n
    def __enter__(self):
        return self.n
    def __exit__(self, type: Any, value: Any, tb: Any):
        pass
def f(x: int):
    with Ctx(x) as k:
        z = k + 1
    return z + k
>>> f(3)

=== returns_of_all_kinds
def f(x: int) -> str:
    if x > 10:
        return "big"
    for i in range(x):
        if i == 3:
            return "three"
        elif i == 5:
            break
    else_ = "small"
    return else_
>>> f(11)
>>> f(4)
>>> f(2)

=== raise_in_one_branch
def f(x: int, a: int, b: str, c: float):
    if x > 0:
        a, b, c = 1, "q", 2.0
    else:
        raise ValueError("z")
    return a, b, c
>>> f(1, 2, "c", 3.0)

=== three_assertions
def f(x: Optional[Tensor], y: Optional[str], z: Optional[int]):
    assert x is not None and y is not None and z is not None
    return x + 1, len(y), z + 1
>>> f(T([1.0]), "ab", 1)

=== return_and_break_in_one_loop
def f(n: int, t: int) -> Tuple[int, int]:
    j = 0
    while j < n:
        if j == t:
            return n, j
        elif n > 9:
            break
        j += 1
    return -100, -100
>>> f(4, 2)
>>> f(4, 7)
>>> f(12, 2)

=== return_of_two_branches_and_break
def f(m: List[List[int]], t: int) -> Tuple[int, int]:
    for i in range(len(m)):
        row = m[i]
        j = 0
        while j < len(row):
            if row[j] == t:
                if i == j:
                    return -i, -j
                else:
                    return i, j
            elif row[j] < 0:
                break
            j += 1
    return -100, -100
>>> f([[1, 2], [3, 4]], 3)
>>> f([[1, 2], [3, 4]], 4)
>>> f([[-1, 2], [3, 4]], 2)

=== continue_and_return_in_one_loop
def f(n: int) -> str:
    s = 0
    for i in range(n):
        if i % 3 == 0:
            continue
        if s > 50:
            return "a"
        s += i
    return "b"
>>> f(60)
>>> f(4)

=== continue_break_and_return_in_one_loop
def f(n: int):
    i = 0
    s = 0
    while True:
        if i >= n:
            break
        i += 1
        if i % 3 == 0:
            continue
        if s > 50:
            return -s
        s += i
    return s
>>> f(5)
>>> f(20)

=== return_of_optional_in_a_loop
def f(x: int) -> Optional[List[int]]:
    if x > 3:
        return [x] * x
    elif x > 1:
        return None
    for i in range(x):
        if i == 0:
            return [i]
    return None
>>> f(5)
>>> f(2)
>>> f(1)
>>> f(0)
'''
