"""Programs that ask of what type a value of `Any` is; the format is that of `language_harness`."""

TEXT = r"""

=== any_empty_list_type
def g(x: Any) -> str:
    if isinstance(x, List[int]):
        return "ints"
    if isinstance(x, List[str]):
        return "strs"
    if isinstance(x, Dict[str, int]):
        return "dsi"
    if isinstance(x, Dict[int, int]):
        return "dii"
    if isinstance(x, List[Optional[int]]):
        return "opts"
    if isinstance(x, List[Any]):
        return "anys"
    return "other"
def f(n: int):
    a: List[str] = []
    b: Dict[int, int] = {}
    c: List[Optional[int]] = [1, 2]
    d: List[Any] = [1, 2]
    return g(a), g(b), g({1: 2}), g({"a": 1}), g(c), g(d), g([n]), g([1.5]), g({"a": 1.5})
>>> f(1)

=== any_argument_of_containers
def f(x: Any):
    if isinstance(x, List[int]):
        return "ints"
    if isinstance(x, List[str]):
        return "strs"
    if isinstance(x, Dict[str, int]):
        return "dsi"
    if isinstance(x, Dict[int, int]):
        return "dii"
    if isinstance(x, List[Optional[int]]):
        return "opts"
    if isinstance(x, Tuple[int, Optional[str]]):
        return "tup"
    if isinstance(x, Tuple[int, str]):
        return "tup2"
    return "other"
>>> f([1])
>>> f([1, None])
>>> f({"a": 1})
>>> f({1: 1})
>>> f((1, None))
>>> f((1, "a"))
>>> f([(1, 2)])
>>> f({"a": [1]})

=== any_of_class
class A:
    def __init__(self, k: int):
        self.k = k
class B:
    def __init__(self, k: int):
        self.k = k
def g(x: Any) -> int:
    if isinstance(x, A):
        return x.k
    if isinstance(x, B):
        return -x.k
    if isinstance(x, (List[A], List[B])):
        return 7
    return 0
def f(n: int):
    return g(A(n)), g(B(n)), g([A(1)]), g(None), g("a")
>>> f(2)

=== any_list_mixed
def g(x: Any) -> str:
    if isinstance(x, list):
        return "list"
    if isinstance(x, tuple):
        return "tuple"
    if isinstance(x, dict):
        return "dict"
    return "?"
def f(n: int):
    xs: List[Any] = [1, "a", [1], (1, 2)]
    return [g(x) for x in xs]
>>> f(2)

=== any_argument_vague
def f(x: Any):
    if isinstance(x, List[Any]):
        return "anys"
    if isinstance(x, List[Union[int, str]]):
        return "union"
    if isinstance(x, List[Optional[int]]):
        return "opts"
    if isinstance(x, List[List[Optional[int]]]):
        return "opts2"
    if isinstance(x, List[List[int]]):
        return "ints2"
    if isinstance(x, Tuple[Any, int]):
        return "tany"
    if isinstance(x, Tuple[Optional[int], str]):
        return "topt"
    if isinstance(x, Dict[str, Optional[int]]):
        return "dopt"
    if isinstance(x, Dict[str, int]):
        return "d"
    return "other"
>>> f([1])
>>> f([1, None])
>>> f([None])
>>> f([1, "a"])
>>> f([[1], [2, None]])
>>> f([[1], [2]])
>>> f(("a", 1))
>>> f((1, "a"))
>>> f((None, "a"))
>>> f({"a": 1})
>>> f({"a": None, "b": 2})
>>> f([])
>>> f([[], [1]])
>>> f({})

=== any_copied_lists
def g(x: Any) -> str:
    if isinstance(x, List[Optional[int]]):
        return "opts"
    if isinstance(x, List[str]):
        return "strs"
    if isinstance(x, Dict[str, Optional[int]]):
        return "d"
    return "other"
def f(n: int):
    a: List[Optional[int]] = [n]
    b: List[str] = []
    d: Dict[str, Optional[int]] = {"a": 1}
    return g(a.copy()), g(a + a), g(a[1:]), g([x for x in a]), g(b * 2), g(d.copy()), g("a b".split()), g("".split()), g(dict(d)), g(list(a)), g(d.values())
>>> f(3)

=== any_called_with_other_kinds
def f(x: Any):
    if torch.jit.isinstance(x, Dict[str, List[int]]):
        return len(x["a"])
    if torch.jit.isinstance(x, Tuple[int, str]):
        return x[0]
    if torch.jit.isinstance(x, List[Optional[int]]):
        return -2
    return -1
>>> f({"a": [1, 2]})
>>> f((4, "x"))
>>> f(3)

=== any_of_several_types
def kind(x: Any) -> str:
    if isinstance(x, (int, float)):
        return "num"
    if isinstance(x, (str, bool)):
        return "text"
    if isinstance(x, Tensor):
        return "tensor"
    if isinstance(x, List[int]):
        return "ints" + str(len(x))
    return "other"
def f(t: Tensor):
    return kind(1), kind(2.5), kind("a"), kind(True), kind(t), kind([1, 2]), kind(None), kind((1, 2))
>>> f(T([1]))

=== any_of_interface
@torch.jit.interface
class I:
    def go(self, x: int) -> int:
        pass
    def stop(self) -> int:
        pass
class A:
    def __init__(self, k: int):
        self.k = k
    def go(self, x: int) -> int:
        return x + self.k
    def stop(self) -> int:
        return 0
class B:
    def __init__(self, k: int):
        self.k = k
    def go(self, x: int) -> int:
        return x
def g(x: Any) -> int:
    if isinstance(x, I):
        return x.go(1)
    return -1
def h(x: Any) -> int:
    if isinstance(x, A):
        return x.go(1)
    return -1
def f(n: int):
    i: I = A(n)
    return g(A(n)), g(B(n)), g(i), h(i)
>>> f(3)
"""
