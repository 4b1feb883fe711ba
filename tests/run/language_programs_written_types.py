"""Programs on how types are written, in annotations and in printed code; the format is that of
`language_harness`."""

TEXT = r"""
=== carried_annotated_none
def f(n: int):
    a = torch.jit.annotate(List[int], [])
    b = torch.jit.annotate(Dict[int, float], {})
    c = torch.jit.annotate(Optional[int], None)
    for i in range(n):
        a.append(i)
        b[i] = i / 2
        if i == 2:
            c = i
    return a, b, c
>>> f(2)
>>> f(4)

=== carried_optional_of_a_call
def g(n: int) -> Optional[int]:
    return n if n > 2 else None
def f(n: int, d: Union[int, str], e: Optional[str] = None):
    c = g(n)
    for i in range(n):
        c = g(i)
        d = i
        e = "x"
    while n > 3:
        c = 4
        n -= 1
    return c, d, e
>>> f(1, "a")
>>> f(5, "a", "b")
>>> f(0, 7)

=== carried_optional_of_an_element
def f(t: Tuple[Optional[int], int], xs: List[Optional[int]]):
    a, n = t
    b = xs[0]
    for i in range(n):
        a = i
        b = None
    return a, b
>>> f((None, 3), [1])
>>> f((5, 0), [1])

=== carried_none
def f(n: int):
    c: None = None
    for i in range(n):
        c = None
    return c
>>> f(2)

=== long_constants_with_names
class Colour(Enum):
    CRIMSON_RED = 1
    LIGHT_GREEN = 2
    DARK_BLUE = 3
def name_of(c: Colour) -> str:
    return c.name
def f(i: int):
    c = Colour.DARK_BLUE
    if i == 1:
        c = Colour.CRIMSON_RED
    elif i == 2:
        c = Colour.LIGHT_GREEN
    s = "a text that is too long to stand where it is read"
    if i > 1:
        s = "another text that is too long to stand where it is read"
    return name_of(c) + s, c.value
>>> f(1)
>>> f(2)
>>> f(3)

=== keyword_only_of_a_callee
def g(x: int, *, scale: int, shift: float) -> float:
    return x * scale + shift
def f(x: int) -> float:
    return g(x, scale=2, shift=0.5) + g(shift=1.0, scale=3, x=x)
>>> f(1)
>>> f(10)

=== type_quoted_unknown
def f(x: "Foo") -> int:
    return 1
>>> f(1)

=== type_quoted_unknown_result
def f(x: int) -> "Foo":
    return 1
>>> f(1)

=== type_final_of_parameter
def f(x: int, y: Final[int]) -> int:
    return x + y
>>> f(1, 2)

=== type_final_of_variable
def f(x: int) -> int:
    y: Final[int] = x
    return y
>>> f(1)

=== items_of_class_by_two_indices
class Grid:
    def __init__(self):
        self.cells = [0, 0, 0]
    def __setitem__(self, key: Tuple[int, int], value: int) -> None:
        self.cells[key[0] + key[1]] = value
def f(n: int):
    g = Grid()
    g[(n, 1)] = 3
    return g.cells
>>> f(1)

=== items_of_class_by_two_indices_augmented
class Grid:
    def __init__(self):
        self.cells = [0, 0, 0]
    def __getitem__(self, key: Tuple[int, int]) -> int:
        return self.cells[key[0] + key[1]]
    def __setitem__(self, key: Tuple[int, int], value: int) -> None:
        self.cells[key[0] + key[1]] = value
def f(n: int):
    g = Grid()
    g[(n, 1)] += 3
    return g.cells
>>> f(1)

=== items_of_class_by_a_tuple
class Grid:
    def __init__(self):
        self.cells = [0, 0, 0]
    def __getitem__(self, key: Tuple[int, int]) -> int:
        return self.cells[key[0] + key[1]]
    def __setitem__(self, key: Tuple[int, int], value: int) -> None:
        self.cells[key[0] + key[1]] = value
def f(n: int):
    g = Grid()
    at = (n, 1)
    g[at] = 3
    return g.cells, g[at]
>>> f(0)
>>> f(1)

=== items_of_dict_by_two_indices
def f(n: int):
    d: Dict[str, int] = {}
    d["a", "b"] = n
    return d
>>> f(1)

=== any_of_tensor_is_no_list
def kind(x: Any) -> str:
    if torch.jit.isinstance(x, List[int]):
        return "ints" + str(len(x))
    if torch.jit.isinstance(x, Dict[str, int]):
        return "dict" + str(len(x))
    if torch.jit.isinstance(x, Optional[List[str]]):
        return "texts"
    if isinstance(x, Tensor):
        return "tensor" + str(x.dim())
    return "?"
def f(x: int) -> List[str]:
    return [kind(torch.ones([x])), kind([x, x]), kind({"a": x}), kind((x, x)), kind(None)]
>>> f(2)
>>> f(0)

=== class_of_modules_is_no_type
def f(x: nn.AdaptiveLogSoftmaxWithLoss):
    return x
>>> f(1)

=== class_of_modules_is_no_type_of_elements
def f(x: int):
    y: nn.TransformerDecoder = x
    return y
>>> f(1)
"""
