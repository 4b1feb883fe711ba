"""Programs on what Python may hand to scripts, and on defaults; the format is that of `language_harness`."""

TEXT = r"""
=== any_argument_refused
def f(x: Any):
    return 1
>>> f([1, "a"])
>>> f({"a": 1, "b": "c"})
>>> f({1, 2})
>>> f(range(3))
>>> f(b"abc")
>>> f([[]])
>>> f(((), []))
>>> f([1, 2.0])
>>> f(torch.float32)
>>> f(torch.device("cpu"))
>>> f([None, 1])
>>> f({})

=== any_argument_containers
class A:
    def __init__(self, x: int):
        self.x = x
class E(Enum):
    P = 1
def f(x: Any):
    return 1
>>> f(A(1))
>>> f(E.P)
>>> f([T(1), T(2)])
>>> f((1, "a", [1.5]))
>>> f({"a": [1]})
>>> f([True, 1])
>>> f([1, True])
>>> f({1.5: 2})
>>> f({True: 2})
>>> f({"a": 1, "b": 2.5})
>>> f({"a": 1, 2: 2})
>>> f([(1, 2), (3, "a")])
>>> f([[1], []])
>>> f([None])
>>> f([1, None, 2])
>>> f([None, "a", 1])
>>> f([[1], ["a"]])
>>> f(1j)
>>> f([1j, 1])
>>> f({None: 1})
>>> f({"a": None, "b": 1})

=== any_in_list
def f(x: List[Any]):
    return len(x)
>>> f([1, "a"])
>>> f([])
>>> f([[]])

=== any_in_dict
def f(x: Dict[str, Any]):
    return len(x)
>>> f({"a": 1, "b": "c"})
>>> f({})
>>> f({"a": []})

=== union_argument_is_exact
def f(x: Union[int, str, None]):
    return x
>>> f(None)
>>> f(1.5)
>>> f(True)

=== union_argument_lists
def f(x: Union[List[int], List[str], Dict[str, int]]):
    if torch.jit.isinstance(x, List[int]):
        return "ints"
    elif torch.jit.isinstance(x, List[str]):
        return "strs"
    return "dict"
>>> f([1])
>>> f(["a"])
>>> f({"a": 1})
>>> f([])
>>> f({})
>>> f([1.5])
>>> f([1, "a"])
>>> f((1,))

=== union_argument_tensor
def f(x: Union[Tensor, int]):
    return x
>>> f(T(1))
>>> f(1)
>>> f(1.5)
>>> f(True)

=== union_argument_floats
def f(x: Union[int, float]):
    return x
>>> f(True)
>>> f("a")
>>> f(T(1))

=== union_argument_complex
def f(x: Union[complex, str]):
    return x
>>> f(1)
>>> f(1.5)
>>> f(1j)

=== union_argument_in_tuple
def f(x: Tuple[Union[int, str], Optional[float]]):
    return x
>>> f((1, 2))
>>> f(("a", None))
>>> f((True, 1.5))

=== number_argument
def f(x: Union[int, float, complex]):
    return x
>>> f(True)
>>> f(T(1.5))
>>> f("a")

=== bool_argument
def f(x: bool, y: Optional[bool] = None):
    return x, y
>>> f(1)
>>> f(True, 1)
>>> f(1.0)
>>> f(T(1))
>>> f(None)

=== string_argument_bytes
def f(x: str):
    return x
>>> f(None)
>>> f(1.5)

=== dict_argument_pairs
def f(x: Dict[str, int]):
    return x
>>> f({1: 2})
>>> f({"a": 1.5})
>>> f([("a", 1)])

=== dict_argument_elements
def f(x: Dict[str, float]):
    return x
>>> f({"a": 1})
>>> f({})
>>> f({"a": True})

=== dict_argument_keys
def f(x: Dict[int, str]):
    return x
>>> f({True: "a"})
>>> f({1.5: "a"})
>>> f({"a": "b"})

=== dict_argument_lists
def f(x: Dict[str, List[int]]):
    return x
>>> f({"a": [1.5]})
>>> f({"a": (1,)})
>>> f({"a": None})

=== list_argument_tensors
def f(x: List[Tensor]):
    return x
>>> f([T(1)])
>>> f([1])
>>> f([None])

=== deep_argument
def f(x: List[Dict[str, Tuple[int, List[float]]]]):
    return x[0]["a"][1][0]
>>> f([{"a": (1, [2.5])}])
>>> f([{"a": (1, [2])}])
>>> f([{"a": (1.5, [2.5])}])

=== named_tuple_argument_named
class P(NamedTuple):
    x: int
    y: str
def f(p: P):
    return p.x, p.y
>>> f(P(1, "a"))
>>> f((1, "a"))
>>> f([1, "a"])
>>> f((1, 2))
>>> f(P("a", 1))

=== default_of_dict
def f(a: int, b: Dict[str, int] = "x"):
    return -a
>>> f(1)

=== default_of_tuple
def f(a: int, b: Tuple[int, int] = (1, "a")):
    return -a
>>> f(1)

=== default_of_bool
def f(a: int, b: bool = 1):
    return -a
>>> f(1)

=== overload_whose_default_has_another_type
@torch.jit._overload
def picked(x, y):
    # type: (float, str) -> float
    pass
@torch.jit._overload
def picked(x, y):
    # type: (float, float) -> float
    pass
def picked(x, y=2.0):
    if isinstance(y, str):
        return 4.0 - x
    else:
        return 2.0 + x
def f(x: float):
    return picked(x), picked(x, "a"), picked(x, 5.0)
>>> f(1.5)

=== unwrap_none
def f() -> int:
    return torch.jit._unwrap_optional(None)
>>> f()

=== tracing_state
def f(x: Tensor):
    if torch._C._get_tracing_state():
        return x + 1
    else:
        return x - 1
>>> f(T([1.0]))

=== comment_broadcasting_list
def g(x, k):
    # type: (float, BroadcastingList3[float]) -> List[float]
    return k
def f(n: int):
    return g(2.0, 1.0), g(2.0, (1.0, 2.0, 3.0))
>>> f(3)

=== comment_on_def_line
def f(n):  # type: (int) -> int
    return n
>>> f(3)

=== comment_without_signature
def f(n):
    # type: int
    return n
>>> f(3)

=== comment_of_variable
def f(n: int):
    xs = []  # type: List[int]
    return n
>>> f(3)

=== comment_of_variable_and_signature
def f(a, b):
    # type: (int, int) -> float
    x = []  # type: List[int]
    return 1.0
>>> f(2, 1)

=== comment_ignored_with_reason
def f(n: int):
    a = n  # type: ignore
    b = a  # type: ignore[assignment]
    return b
>>> f(3)

=== tensordot_by_number
def f(x, y):
    return torch.tensordot(x, y, 2), torch.tensordot(x, y, dims=1, out=torch.zeros([3, 3]))
>>> f(torch.ones(3, 3), torch.ones(3, 3))
>>> f(torch.ones(2, 3), torch.ones(3, 3))

=== final_variable
def f(n: int) -> int:
    k: Final[int] = 3
    return n + k
>>> f(1)

=== final_variable_dotted
def f(n: int) -> int:
    k: torch.jit.Final[int] = 3
    return n + k
>>> f(1)

=== final_argument
def f(n: Final[int]) -> int:
    return n
>>> f(1)

=== final_attribute_of_init
class A:
    def __init__(self, n: int):
        self.n: Final[int] = n
def f(n: int):
    return A(n).n
>>> f(1)

=== annotated_argument
from typing import Annotated
def f(n: Annotated[int, "unit"]) -> int:
    return n
>>> f(1)

=== keyword_only_given_by_position
def f(x: int, y: int = 3, *, z: int):
    return x + y - z
>>> f(1, z=2)
>>> f(1, 2, z=3)
>>> f(1, 2, 3)
"""
