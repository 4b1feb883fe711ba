"""Programs on Optional, Union and Any, and what conditions prove about them.

The format is that of `language_harness`.
"""

TEXT = r"""
=== union_basic
def f(x: Union[int, str, float]):
    if isinstance(x, int):
        return x + 1
    elif isinstance(x, str):
        return len(x)
    else:
        return int(x * 2)
>>> f(1)
>>> f("abc")
>>> f(2.5)

=== union_two_of_three
def f(x: Union[int, str, float]):
    if isinstance(x, (int, float)):
        y = x * 2
        return 1
    return len(x)
>>> f(1)
>>> f("abc")

=== union_op_fail
def f(x: Union[int, str]):
    return x + 1
>>> f(1)

=== union_none
def f(x: Union[int, str, None]):
    if x is None:
        return 0
    if isinstance(x, int):
        return x
    return len(x)
>>> f(None)
>>> f(1)
>>> f("ab")

=== union_list
def f(x: Union[List[int], List[str]]):
    if torch.jit.isinstance(x, List[int]):
        return x[0]
    return 5
>>> f([1])

=== union_reassign
def f(x: int):
    y: Union[int, str] = "a"
    if x > 1:
        y = x
    if isinstance(y, str):
        return y
    return str(y + 1)
>>> f(1)
>>> f(2)

=== union_return_sub
def f(x: Union[int, str]) -> Union[int, str, float]:
    return x
>>> f(1)

=== union_list_elem
def f(x: int):
    l: List[Union[int, str]] = [x, "a"]
    l.append(3)
    n = 0
    for v in l:
        if isinstance(v, int):
            n += v
    return n, len(l)
>>> f(1)

=== union_dict_value
def f(x: int):
    d: Dict[str, Union[int, str]] = {"a": x, "b": "c"}
    v = d["a"]
    assert isinstance(v, int)
    return v + 1
>>> f(1)

=== union_nested_optional
def f(x: Optional[Union[int, str]]):
    if x is not None and isinstance(x, int):
        return x
    return 0
>>> f(1)
>>> f(None)

=== union_tensor_int
def f(x: Union[Tensor, int]):
    if isinstance(x, torch.Tensor):
        return x.sum()
    else:
        return torch.tensor(x)
>>> f(1)
>>> f(T([1, 2]))

=== union_not_isinstance
def f(x: Union[int, str]):
    if not isinstance(x, int):
        return len(x)
    return x
>>> f(1)
>>> f("abc")

=== opt_early_return
def f(x: Optional[int]):
    if x is None:
        return 0
    return x + 1
>>> f(1)
>>> f(None)

=== opt_early_raise
def f(x: Optional[int]):
    if x is None:
        raise ValueError("none")
    return x + 1
>>> f(1)
>>> f(None)

=== opt_or
def f(x: Optional[int], y: Optional[int]):
    if x is None or y is None:
        return 0
    return x + y
>>> f(1, 2)
>>> f(None, 2)

=== opt_and
def f(x: Optional[int], y: Optional[int]):
    if x is not None and y is not None:
        return x + y
    return 0
>>> f(1, 2)
>>> f(None, 2)

=== opt_while
def f(x: Optional[int]):
    n = 0
    while x is not None:
        n += x
        if x > 3:
            x = None
        else:
            x = x + 1
    return n
>>> f(1)

=== opt_ternary
def f(x: Optional[int]):
    return x + 1 if x is not None else 0
>>> f(1)
>>> f(None)

=== opt_reassign
def f(x: Optional[int]):
    if x is None:
        x = 5
    return x + 1
>>> f(1)
>>> f(None)

=== opt_unrefined
def f(x: Optional[int]):
    y = x
    if x is not None:
        return y + 1
    return 0
>>> f(1)

=== opt_list_elem
def f(x: List[Optional[int]]):
    v = x[0]
    if v is not None:
        return v
    return -1
>>> f([1])
>>> f([None])

=== opt_subscript_norefine
def f(x: List[Optional[int]]):
    if x[0] is not None:
        return x[0] + 1
    return -1
>>> f([1])

=== opt_unwrap
def f(x: Optional[int]):
    return torch.jit._unwrap_optional(x) + 1
>>> f(1)
>>> f(None)

=== opt_tensor
def f(x: Optional[Tensor]):
    if x is None:
        x = torch.ones(2)
    return x + 1
>>> f(None)
>>> f(T([2.0]))

=== opt_pass_through
def g(x: Optional[List[int]] = None) -> int:
    if x is None:
        x = [1]
    return len(x)
def f(y: List[int]):
    return g(y) + g()
>>> f([1, 2])

=== any_basic
def f(x: Any):
    if isinstance(x, int):
        return x + 1
    if isinstance(x, str):
        return len(x)
    return -1
>>> f(1)
>>> f("abc")
>>> f(1.5)
>>> f([1])

=== any_list
def f(x: List[Any]):
    n = 0
    for v in x:
        if isinstance(v, int):
            n += v
    return n
>>> f([1, 2])

=== any_op
def f(x: Any):
    return x + 1
>>> f(1)

=== isinstance_tuple_types
def f(x: Union[int, float, str]):
    if isinstance(x, (str, float)):
        return 1
    return x
>>> f(3)

=== refine_and_or_not
def f(x: Optional[int], y: Optional[str]):
    if not (x is None or y is None):
        return x + len(y)
    return 0
>>> f(3, "ab")
>>> f(None, "a")

=== refine_assign_in_branch
def f(x: Optional[int], c: bool):
    if c:
        x = 3
    if x is None:
        return 0
    return x
>>> f(None, True)
>>> f(None, False)

=== refine_loop
def f(xs: List[Optional[int]]):
    s = 0
    for x in xs:
        if x is None:
            continue
        s += x
    return s
>>> f([1, None, 2])

=== refine_nested_fn
def g(x: Optional[int]) -> int:
    assert x is not None, "x must be given"
    return x
def f(x: Optional[int]):
    return g(x) + 1
>>> f(1)
>>> f(None)

=== isinstance_args
def f(x: int):
    return isinstance(x)
>>> f(1)

=== bare_list_isinstance
def f(x: Any):
    return torch.jit.isinstance(x, List)
>>> f([1])

=== bare_dict_isinstance
def f(x: Any):
    return torch.jit.isinstance(x, Dict)
>>> f([1])

=== bare_optional_isinstance
def f(x: Any):
    return torch.jit.isinstance(x, Optional)
>>> f([1])

=== bare_dict_annotation
def f(x: Dict):
    return x
>>> f([1])

=== bare_tuple_annotation
def f(x: Tuple):
    return x
>>> f([1])

=== list_as_type
def f(x: Any):
    return torch.jit.isinstance(x, [int, str])
>>> f(1)

=== any_parameter_kinds
def f(x: Any):
    if isinstance(x, int):
        return "int " + str(x)
    elif isinstance(x, str):
        return "str " + x
    elif isinstance(x, Tensor):
        return "tensor {}".format(x.numel())
    elif torch.jit.isinstance(x, List[int]):
        return "ints {}".format(len(x))
    elif torch.jit.isinstance(x, Dict[str, int]):
        return "dict"
    elif x is None:
        return "none"
    return "other"
>>> f(3)
>>> f("s")
>>> f(T([1, 2]))
>>> f([1, 2])
>>> f({"a": 1})
>>> f(None)
>>> f(2.5)
>>> f((1, 2))

=== union_list_argument
def f(x: Union[int, List[int], str]):
    if isinstance(x, int):
        return x
    elif isinstance(x, str):
        return len(x)
    else:
        return x[0]
>>> f(3)
>>> f("abc")
>>> f([7, 8])
>>> f(1.5)

=== optional_chain
def g(x: Optional[int], y: Optional[int] = None) -> int:
    return (x if x is not None else 1) + (y if y is not None else 10)
def f(a: Optional[int]):
    return g(a), g(a, 3), g(None), g(y=2, x=a)
>>> f(None)
>>> f(5)

=== optional_and_or
def f(x: Optional[int], y: Optional[int]):
    if x is not None and y is not None and x > y:
        return x - y
    if x is None or x < 0:
        return -1
    return x
>>> f(None, None)
>>> f(5, 3)
>>> f(-5, 3)
>>> f(5, None)

=== defined_again_behind_a_branch_that_left_it
def f(shape: List[int], wanted: List[str]):
    if len(shape) != len(wanted):
        if len(shape) > 5:
            text = f"dims {shape}"
            raise RuntimeError(text)
        return "none"
    for i in range(len(shape)):
        w = wanted[i]
        if not w.isnumeric():
            continue
        if shape[i] != int(w):
            text = f"size {i}"
            text += f": {shape[i]}"
            return text
    return "fits"
>>> f([2, 3], ["2", "C"])
>>> f([2, 3], ["2", "4"])
>>> f([2], ["2", "4"])

=== none_annotated_in_place
def f(n: int):
    if n > 2:
        return 2
    elif torch.jit.annotate(Optional[Tensor], None) is not None:
        return n.undefined(3)
    return n
>>> f(3)
>>> f(1)

=== none_annotated_is_instance
def f(n: int):
    if isinstance(torch.jit.annotate(Optional[int], None), int) or n > 3:
        return n + 1
    return n
>>> f(3)
>>> f(5)

=== or_behind_known_false
def f(v: Any, n: int):
    if isinstance(n, str) or isinstance(v, int):
        n += v
    return n
>>> f(1, 2)

=== or_behind_known_false_is_none
def f(v: Optional[int], n: int):
    if n is None or v is None:
        return 1
    return v + n
>>> f(1, 2)
>>> f(None, 2)

=== and_behind_known_true
def f(v: Any, n: int):
    if isinstance(n, int) and isinstance(v, int):
        n += v
    return n
>>> f(1, 2)
>>> f("a", 2)

=== or_none_of_dict_that_grew
def f(x, n: int):
    kept = torch.jit.annotate(Dict[str, Dict[str, Tensor]], {})
    for i in range(n):
        saved: Optional[Dict[str, Tensor]] = None
        if "k" in kept:
            saved = kept["k"]
        if saved is not None and "last" in saved:
            x = x + saved["last"]
        kept["k"] = {"last": x}
    return x
>>> f(T([1.0, 2.0]), 3)
>>> f(T([1.0, 2.0]), 0)

=== or_none_of_dict_of_optionals
def found(kept: Dict[str, Dict[str, Optional[Tensor]]]) -> Optional[Dict[str, Optional[Tensor]]]:
    if "k" not in kept:
        return None
    return kept["k"]
def f(x, n: int):
    kept = torch.jit.annotate(Dict[str, Dict[str, Optional[Tensor]]], {})
    for i in range(n):
        saved = found(kept)
        if saved is not None and "last" in saved:
            last = saved["last"]
            assert last is not None
            x = x + last
        made: Dict[str, Optional[Tensor]] = {"last": x, "mask": None}
        kept["k"] = made
    return x
>>> f(T([1.0, 2.0]), 3)

=== or_none_of_list_of_tuples
def f(x, n: int):
    kept: Dict[str, List[Tuple[int, Tensor]]] = {}
    for i in range(n):
        saved: Optional[List[Tuple[int, Tensor]]] = None
        if "k" in kept:
            saved = kept["k"]
        if saved is not None and len(saved) > 0:
            x = x + saved[-1][1] * saved[0][0]
        kept["k"] = [(i, x), (i + 1, x)]
    return x
>>> f(T([1.0, 2.0]), 3)
"""
