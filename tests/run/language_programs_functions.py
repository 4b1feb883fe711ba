"""Programs on calls, defaults, annotations of functions, and what a function may use from outside.

The format is that of `language_harness`.
"""

TEXT = r"""
=== comment_signature_without_result
def f(x, li):
    # type: (bool, Tuple[Optional[List[int]]])
    if x:
        li = (None,)
    return li
>>> f(True, ([],))

=== comment_signature_of_another_length
def f(x):
    # type: (int, int) -> int
    return x
>>> f(1)

=== comment_signature_misspelt
def f(x):
    #type: (int) -> int
    return x
>>> f(1)

=== default_tensor
def f(x=torch.ones(2)):
    return x + 1
>>> f()
>>> f(T([2.0]))

=== future_annotations
def twice(a: int):
    return a * 2
def first(f: List[torch.jit.Future[int]]) -> int:
    return f[0].wait()
def f(a: int):
    return first([torch.jit.fork(twice, a)])
>>> f(3)

=== isinstance_nested_tuple
def f(a: Optional[List[int]]):
    b = 0
    if isinstance(a, (int, (float,), list, str)):
        b += 1
    if isinstance(a, (int, (float,))):
        b += 4
    return b
>>> f([1])
>>> f(None)

=== ignored_function_gives_another_type
@torch.jit.ignore
def outside(x: int) -> int:
    return "a"
def f(a: int):
    return outside(a)
>>> f(1)

=== power_of_zero
def f(a: float, b: int):
    return a ** b
>>> f(2.0, -1)
>>> f(0.0, -1)

=== percent_formats_refused
def f(x: str, n: int):
    if n == 0:
        return "%d" % x
    if n == 1:
        return "%e" % x
    if n == 2:
        return "%c" % x
    return "%s %" % x
>>> f("a", 0)
>>> f("a", 1)
>>> f("a", 2)
>>> f("ab", 2)
>>> f("a", 3)

=== global_stmt
G = 3
def f(x: int):
    global G
    G = x
    return x
>>> f(1)

=== fn_call
def g(x: int, y: int = 3) -> int:
    return x * y
def f(a: int):
    return g(a), g(a, 4), g(x=a, y=5), g(a, y=1)
>>> f(2)

=== fn_kwonly
def g(x: int, *, y: int) -> int:
    return x * y
def f(a: int):
    return g(a, y=3)
>>> f(2)

=== fn_kwonly_default
def g(x: int, *, y: int = 2) -> int:
    return x * y
def f(a: int):
    return g(a)
>>> f(2)

=== fn_kwonly_positional
def g(x: int, *, y: int) -> int:
    return x * y
def f(a: int):
    return g(a, 3)
>>> f(2)

=== fn_star_args
def g(*args):
    return args
def f(a: int):
    return g(a)
>>> f(2)

=== fn_star_kwargs
def g(**kw):
    return 1
def f(a: int):
    return g(a=a)
>>> f(2)

=== fn_main_star
def f(*args: int):
    return 1
>>> f(2)

=== fn_call_star_tuple
def g(x: int, y: str) -> str:
    return str(x) + y
def f(a: Tuple[int, str]):
    return g(*a)
>>> f((2, "b"))

=== fn_call_star_list
def g(x: int, y: int) -> int:
    return x + y
def f(a: List[int]):
    return g(*a)
>>> f([2, 3])

=== fn_call_kwstar
def g(x: int, y: int) -> int:
    return x + y
def f(a: Dict[str, int]):
    return g(**a)
>>> f({"x": 2, "y": 3})

=== fn_missing_arg
def g(x: int, y: int) -> int:
    return x + y
def f(a: int):
    return g(a)
>>> f(2)

=== fn_extra_arg
def g(x: int) -> int:
    return x
def f(a: int):
    return g(a, a)
>>> f(2)

=== fn_unknown_kw
def g(x: int) -> int:
    return x
def f(a: int):
    return g(x=a, z=1)
>>> f(2)

=== fn_dup_kw
def g(x: int) -> int:
    return x
def f(a: int):
    return g(a, x=1)
>>> f(2)

=== fn_wrong_type
def g(x: int) -> int:
    return x
def f(a: str):
    return g(a)
>>> f("2")

=== fn_wrong_type_inferred
def g(x):
    return x
def f(a: int):
    return g(a)
>>> f(2)

=== fn_int_to_float
def g(x: float) -> float:
    return x * 2
def f(a: int):
    return g(a)
>>> f(2)

=== fn_float_to_int
def g(x: int) -> int:
    return x * 2
def f(a: float):
    return g(a)
>>> f(2.0)

=== fn_tensor_to_int
def g(x: int) -> int:
    return x * 2
def f(a):
    return g(a)
>>> f(T(3))
>>> f(T(3.5))

=== fn_bool_to_int
def g(x: int) -> int:
    return x * 2
def f(a: bool):
    return g(a)
>>> f(True)

=== fn_none_to_optional
def g(x: Optional[int]) -> int:
    if x is None:
        return 0
    return x
def f(a: int):
    return g(None), g(a)
>>> f(3)

=== fn_tuple_to_list
def g(x: List[int]) -> int:
    return len(x)
def f(a: int):
    return g((a, a, a))
>>> f(3)

=== fn_varargs_list
def g(x: List[int]) -> int:
    return len(x)
def f(a: int):
    return g(a, a)
>>> f(3)

=== fn_empty_list_arg
def g(x: List[int]) -> int:
    return len(x)
def f(a: int):
    return g([])
>>> f(3)

=== fn_recursion
def f(a: int) -> int:
    if a <= 0:
        return 0
    return a + f(a - 1)
>>> f(3)

=== fn_global_int
K = 3
def f(a: int):
    return a + K
>>> f(3)

=== fn_global_float_str
K = 3.5
def f(a: float):
    return a + K
>>> f(3.0)

=== fn_global_list
K = [1, 2]
def f(a: int):
    return K[0]
>>> f(3)

=== fn_global_final
K: Final[int] = 3
def f(a: int):
    return a + K
>>> f(3)

=== fn_global_none
K = None
def f(a: int):
    if K is None:
        return a
    return 0
>>> f(3)

=== fn_global_bool
K = True
def f(a: int):
    if K:
        return a
    return 0
>>> f(3)

=== fn_global_tensor
K = torch.ones(2)
def f(a: int):
    return K + a
>>> f(3)

=== fn_global_device
K = torch.device("cpu")
def f(a: int):
    return torch.zeros([a], device=K)
>>> f(2)

=== fn_closure
def make():
    def g(x: int) -> int:
        return x * 7
    return g
G = make()
def f(a: int):
    return G(a)
>>> f(2)

=== fn_closure_var
def make(k):
    def g(x: int) -> int:
        return x * k
    return g
G = make(3)
def f(a: int):
    return G(a)
>>> f(2)

=== fn_alias
def g(x: int) -> int:
    return x + 1
h = g
def f(a: int):
    k = g
    return h(a) + k(a)
>>> f(2)

=== fn_as_value
def g(x: int) -> int:
    return x + 1
def h(fn, x: int):
    return fn(x)
def f(a: int):
    return h(g, a)
>>> f(2)

=== fn_return_fn
def g(x: int) -> int:
    return x + 1
def f(a: int):
    return g
>>> f(2)

=== fn_undefined
def f(a: int):
    return undefined_fn(a)
>>> f(2)

=== fn_nested_error
def h(x: int):
    return x.foo
def g(x: int):
    return h(x)
def f(a: int):
    return g(a)
>>> f(2)

=== fn_unused
@torch.jit.unused
def g(x: int) -> int:
    return undefined_thing
def f(a: int):
    if a > 3:
        return g(a)
    return 1
>>> f(2)
>>> f(5)

=== fn_overload
@torch.jit._overload
def g(x: int) -> int:
    pass
@torch.jit._overload
def g(x: str) -> str:
    pass
def g(x):
    return x + x
def f(a: int, b: str):
    return g(a), g(b)
>>> f(2, "q")

=== fn_type_comment
def f(a, b):
    # type: (int, str) -> str
    return str(a) + b
>>> f(2, "q")

=== fn_type_comment_multi
def f(a,  # type: int
      b,  # type: List[int]
      ):
    # type: (...) -> int
    return a + b[0]
>>> f(2, [3])

=== fn_type_comment_opt
def f(a, b=None):
    # type: (int, Optional[int]) -> int
    if b is None:
        return a
    return a + b
>>> f(2)
>>> f(2, 3)

=== fn_string_annot
def f(a: "int", b: "List[str]") -> "str":
    return b[a]
>>> f(0, ["q"])

=== fn_pep585
def f(a: list[int], b: dict[str, int], c: tuple[int, str]):
    return a[0], b["a"], c[1]
>>> f([1], {"a": 2}, (1, "z"))

=== fn_pep604
def f(a: int | None, b: int | str):
    if a is not None:
        return a
    if isinstance(b, int):
        return b
    return 0
>>> f(1, 2)
>>> f(None, "a")

=== fn_bare_dict
def f(a: dict):
    return a
>>> f({})

=== fn_tuple_ellipsis
def f(a: Tuple[int, ...]):
    return a
>>> f((1,))

=== fn_callable_annot
def f(a: Callable[[int], int]):
    return 1
>>> f(1)

=== fn_set_annot
def f(a: Set[int]):
    return 1
>>> f(1)

=== fn_iterable_annot
def f(a: Iterable[int]):
    return 1
>>> f([1])

=== fn_bytes_annot
def f(a: bytes):
    return 1
>>> f(b"a")

=== fn_object_annot
def f(a: object):
    return 1
>>> f(1)

=== fn_optional_default
def f(a: Optional[int] = 3, b: float = 1, c: str = "q", d: bool = True, e: Optional[List[int]] = None):
    return a, b, c, d, e
>>> f()
>>> f(None, 2.5, "z", False, [1])

=== fn_default_list
def f(a: List[int] = [1]):
    return a
>>> f()

=== fn_default_tuple
def f(a: Tuple[int, int] = (1, 2)):
    return a
>>> f()

=== fn_default_wrong
def f(a: int = "a"):
    return a
>>> f()

=== fn_default_unannotated
def f(a=3):
    return a
>>> f()

=== fn_default_dtype
def f(a: int, b: torch.dtype = torch.float64):
    return torch.zeros([a], dtype=b)
>>> f(2)

=== fn_default_neg
def f(a: int = -1, b: float = -2.5):
    return a, b
>>> f()

=== call_errors
def f(a: int, b: str = "x"):
    return a
>>> f("a")
>>> f(1, 2)
>>> f()
>>> f(1, "a", 3)
>>> f(a=1, z=2)
>>> f(1.5)
>>> f(None)
>>> f([1])
>>> f(True)
>>> f(T(3))

=== call_conversions
def f(a: float, b: List[float], c: Optional[Tuple[int, float]], d: Dict[str, List[int]], e: complex):
    return a, b, c, d, e
>>> f(1, [1.0], (1, 2.0), {"a": [1]}, 2)
>>> f(1, [1], (1, 2), {"a": [1]}, 2.0)
>>> f(1, (1.0, 2.0), None, {"a": []}, 1j)
>>> f(T(2.0), [], None, {}, 1j)

=== warn_basic
def f(n: int):
    warnings.warn("careful")
    return n
>>> f(4)

=== warn_cat
def f(n: int):
    warnings.warn("careful", stacklevel=2)
    return n
>>> f(4)

=== global_from_import
from math import pi
def f(a: float):
    return a * pi
>>> f(1.0)

=== global_enum_member
class C(Enum):
    A = 1
    B = 2
K = C.B
def f(a: int):
    return K.value
>>> f(1)

=== list_arg_hint
def g(x: List[Optional[int]]):
    return len(x)
def f(x: int):
    return g([x, None]), g([x])
>>> f(1)

=== nested_func_type
def outer(x: int):
    return inner(x) + 1
def inner(x: int):
    return x * 2
def f(a: int):
    return outer(a)
>>> f(3)

=== kw_torch
def f(x):
    return torch.sum(input=x, dim=[0]), torch.add(x, x, alpha=2), x.add(x, alpha=3), torch.full([2], 3.5), torch.zeros(2, 3), torch.ones((2,)), torch.zeros([1], dtype=torch.int64)
>>> f(T([1.0]))

=== list_args
def f(x: int):
    return list(x, x)
>>> f(1)

=== arguments_from_iterables
def f(x: List[int], t: Tuple[int, int], s: List[str]):
    return x, t, s
>>> f({1}, {1, 2}, "ab")
>>> f(range(3), (i for i in range(2)), {"k": 1})
>>> f([T(2.5)], T([3, 4]), ())
>>> f({1: 2}, (1, 2), [])
>>> f("ab", (1, 2), [])
>>> f([1.5], (1, 2), [])
>>> f([1], range(3), [])

=== arguments_of_one_element
def f(a: int, b: float):
    return a, b
>>> f(T(1.5), T([2.5]))
>>> f(T([3]), 2)
>>> f(1.5, 2)

=== overload_without_body
@torch.jit._overload
def g(x: int) -> int:
    pass
def f(x: int):
    return g(x)
>>> f(1)

=== overload_other_default
@torch.jit._overload
def g(x: int, y: int = 1) -> int:
    pass
@torch.jit._overload
def g(x: float, y: int = 2) -> float:
    pass
def g(x, y=3):
    return x + y
def f(x: int):
    return g(x), g(2.0)
>>> f(1)

=== overload_fewer_parameters
@torch.jit._overload
def g(x: int) -> int:
    pass
@torch.jit._overload
def g(x: float) -> float:
    pass
def g(x, y):
    return x
def f(x: int):
    return g(x)
>>> f(1)

=== overload_none_matches
@torch.jit._overload
def g(x: int) -> int:
    pass
@torch.jit._overload
def g(x: float) -> float:
    pass
def g(x):
    return x
def f(x: str):
    return g(x)
>>> f("1")

=== overload_with_statements
@torch.jit._overload
def g(x: int) -> int:
    return x
def g(x):
    return x
def f(x: int):
    return g(x)
>>> f(1)

=== arguments_scalars
def f(a: int, b: float, c: bool, d: str, e: complex):
    return a, b, c, d, e
>>> f(1, 2, True, "a", 1j)
>>> f(1.0, 2, True, "a", 1j)
>>> f(1, "2", True, "a", 1j)
>>> f(1, 2, 1, "a", 1j)
>>> f(1, 2, True, 3, 1j)
>>> f(1, 2, True, "a", 1.0)
>>> f(1, 2, True, "a", 1)
>>> f(T(1), 2, True, "a", 1)
>>> f(1, T(2.5), True, "a", 1j)
>>> f(T([1, 2]), T(2.5), True, "a", 1j)
>>> f(T(1.5), T(2.5), True, "a", 1j)
>>> f(1, T(2), T(True), "a", 1j)
>>> f(2**63, 2, True, "a", 1j)
>>> f(None, 2, True, "a", 1j)

=== call_loose_script_module
class Lin(nn.Module):
    def forward(self, x):
        return x + 1
m = torch.jit.script(Lin())
def f(x):
    return m(x)
>>> f(T([1.0]))

=== call_loose_traced_module
class Lin(nn.Module):
    def forward(self, x):
        return x + 1
m = torch.jit.trace(Lin(), torch.ones(1))
def f(x):
    return m(x)
>>> f(T([1.0]))

=== default_none_for_dict
def g(x: Dict[str, int] = None):
    return x
def f(n: int):
    return g({"a": n})
>>> f(1)

=== operator_packets
def f(x):
    return torch.ops.aten.relu(x), torch.ops.aten.add(x, 1.5), torch.ops.aten.sum(x, [0])
>>> f(T([1.0, -2.0]))

=== operator_packet_missing
def f(x):
    return torch.ops.aten.no_such_operator(x)
>>> f(T([1.0, -2.0]))

=== decorated_function_prepares_itself
def traced(fn):
    def run(*args):
        return fn(*args)
    run.__prepare_scriptable__ = lambda: fn
    return run
@traced
def half(x: float) -> float:
    return x / 2
@traced
def f(x: float) -> float:
    return half(x) + 1
>>> f(5.0)

=== device_hash
def f(a: str, b: str):
    first, second = torch.device(a), torch.device(b)
    return hash(first) == hash(torch.device(a)), hash(first) == hash(second)
>>> f("cpu", "cuda:1")

=== fills_of_init
def f(x):
    nn.init.zeros_(x)
    nn.init.ones_(x)
    nn.init.constant_(x, 3.0)
    return x
>>> f(T([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))

=== random_fills_of_init
def f(x):
    nn.init.uniform_(x, 0.0, 0.0)
    nn.init.normal_(x, 1.0, 0.0)
    return x
>>> f(T([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))

=== fans_of_init
def f(x):
    nn.init.xavier_uniform_(x)
    return x.shape
>>> f(T([[0.0, 0.0, 0.0], [0.0, 0.0, 0.0]]))

=== none_default_tensor
def f(x, y: Tensor = None):
    return x
>>> f(T([1.0]))
>>> f(T([1.0]), T([2.0]))

=== none_default_unannotated
def f(x, y=None):
    return x
>>> f(T([1.0]))

=== none_default_used
def f(x, y: Tensor = None):
    if y is None:
        return x
    return x + y
>>> f(T([1.0]), T([2.0]))
>>> f(T([1.0]))

=== none_default_called
def g(x, y: Tensor = None):
    return x
def f(x):
    return g(x)
>>> f(T([1.0]))

=== default_of_another_number
def f(x: int = True, y: Optional[float] = 2, z: complex = 1, w: Optional[int] = False, v: float = 3):
    return x, y, z, w, v
>>> f()
"""
