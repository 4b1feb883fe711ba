"""Numbers, annotations, unpacking, loops, refusals, tensors in conditions, and small algorithms."""

TEXT = r"""
=== range_negative
def f(a: int, b: int, c: int):
    return [i for i in range(a, b, c)], len(range(a, b, c)) if False else 0
>>> f(10, 0, -3)
>>> f(0, 10, -1)
>>> f(0, 5, 0)

=== range_loops
def f(n: int):
    s: List[int] = []
    for i in range(n, -1, -2):
        s.append(i)
    for i in range(-n, n):
        if i == 0:
            continue
        if i > 2:
            break
        s.append(i * 10)
    return s
>>> f(5)
>>> f(0)
>>> f(-3)

=== int_overflow
def f(a: int, b: int):
    return a + b, a * b, a - b, -a, abs(a)
>>> f(9223372036854775807, 1)
>>> f(-9223372036854775808, -1)
>>> f(4611686018427387904, 2)

=== int_division
def f(a: int, b: int):
    return a // b, a % b, a / b, divmod(a, b), float(a) // b, float(a) % b
>>> f(7, 2)
>>> f(-7, 2)
>>> f(7, -2)
>>> f(-7, -2)

=== division_by_zero
def f(a: int, b: int):
    return a // b
>>> f(1, 0)

=== modulo_by_zero_float
def f(a: float, b: float):
    return a % b, a / b
>>> f(1.0, 0.0)
>>> f(-5.5, 2.0)

=== power
def f(a: int, b: int, x: float):
    return a ** b, x ** 2, x ** b, 2 ** x, a ** 2, pow(a, b)
>>> f(2, 10, 0.5)
>>> f(2, -1, 2.0)
>>> f(0, 0, 1.5)

=== shifts_and_bits
def f(a: int, b: int):
    return a << b, a >> b, a & b, a | b, a ^ b, ~a
>>> f(5, 2)
>>> f(-5, 1)
>>> f(1, 63)

=== bool_arithmetic_mixed
def f(a: bool, b: bool, n: int):
    return a and b, a or b, not a, int(a) + n, a == b, a ^ b, a & b, a | b, float(a)
>>> f(True, False, 2)
>>> f(True, True, -1)

=== chained_comparisons
def f(a: int, b: int, c: int):
    return a < b < c, a <= b != c, a == b == c, 0 < a < 10 and not b > c
>>> f(1, 2, 3)
>>> f(2, 2, 2)

=== round_floor_ceil
def f(x: float):
    return round(x), math.floor(x), math.ceil(x), math.trunc(x) if False else int(x), abs(x), round(x, 1)
>>> f(2.5)
>>> f(-1.55)
>>> f(3.49)

=== round_ints
def f(x: float, n: int):
    return round(n), round(x), int(x), math.floor(x), math.ceil(x)
>>> f(0.5, 3)
>>> f(1.5, -2)
>>> f(-0.5, 0)

=== complex_arithmetic
def f(a: complex, b: complex):
    return a + b, a * b, a - b, a / b, abs(a), a == b, a.real, a.imag, -a
>>> f(1 + 2j, 3 - 1j)
>>> f(0j, 1j)

=== math_constants_mixed
def f(x: float):
    return math.pi * x, math.e, math.inf > x, math.nan == x, math.tau, math.isnan(math.nan), math.isinf(-math.inf), math.isfinite(x)
>>> f(1.5)

=== math_integers
def f(a: int, b: int):
    return math.gcd(a, b), math.factorial(a), math.sqrt(a), math.pow(a, b), math.copysign(a, -1.0), math.log2(a), math.fmod(a, b)
>>> f(6, 4)
>>> f(1, 3)

=== math_pairs
def f(x: float):
    return math.modf(x), math.frexp(x), math.ldexp(x, 3), math.hypot(x, 1.0) if False else x
>>> f(2.75)
>>> f(-0.5)

=== conversions_mixed
def f(a: int, x: float, b: bool, s: str):
    return float(a), int(x), bool(a), bool(x), str(b), int(b), float(b), bool(s), float(s), str(a)
>>> f(0, 0.0, True, "1e3")
>>> f(-2, -2.9, False, "-4")

=== annotate_empty
def f(n: int):
    a = torch.jit.annotate(List[Tuple[int, str]], [])
    for i in range(n):
        a.append((i, str(i)))
    b = torch.jit.annotate(Dict[int, List[float]], {})
    b[n] = [1.0]
    c = torch.jit.annotate(Optional[str], None)
    if n > 1:
        c = "x"
    return a, b, c
>>> f(0)
>>> f(2)

=== annotation_mismatch
def f(n: int):
    a: List[str] = [n]
    return a
>>> f(0)

=== variable_retyped
def f(n: int):
    a = n
    if n > 0:
        a = "x"
    return a
>>> f(0)

=== undefined_after_if
def f(n: int):
    if n > 0:
        y = 1
    return y
>>> f(1)

=== undefined_in_loop
def f(n: int):
    for i in range(n):
        z = i
    return z
>>> f(1)

=== del_then_use
def f(n: int):
    y = n + 1
    del y
    return y
>>> f(1)

=== star_unpack
def f(xs: Tuple[int, str, float]):
    a, *rest = xs
    *first, b = (1, 2, 3)
    return a, rest, first, b
>>> f((1, "a", 2.0))

=== list_unpack_mixed
def f(xs: List[int]):
    a, b = xs
    return a - b
>>> f([5, 3])
>>> f([5, 3, 1])

=== swap_and_multiple
def f(a: int, b: int, x: Tensor):
    a, b = b, a
    c = d = a + 1
    (e, (g, h)) = (1, (2, 3))
    x[0], x[1] = x[1] + 0, x[0] + 0
    return a, b, c, d, e + g * h, x
>>> f(1, 2, T([1.0, 2.0, 3.0]))

=== tuple_operations
def f(a: Tuple[int, int], b: Tuple[str, float]):
    c = a + b
    return c, c[1:3], c[-1], len(c), a == (1, 2), a[0:1], c[::-1]
>>> f((1, 2), ("a", 0.5))

=== tuple_compare
def f(a: Tuple[int, str], b: Tuple[int, str]):
    return a < b, a == b, a != b
>>> f((1, "a"), (1, "b"))

=== tuple_contains
def f(a: Tuple[int, int, int], k: int):
    return k in a
>>> f((1, 2, 3), 2)
>>> f((1, 2, 3), 9)

=== tuple_dynamic_index
def f(a: Tuple[int, int], k: int):
    return a[k]
>>> f((4, 5), 1)

=== for_over_tuple
def f(a: Tuple[int, float, int]):
    s = 0.0
    for v in a:
        s += v
    return s
>>> f((1, 2.5, 3))

=== zip_enumerate
def f(xs: List[int], ys: List[str]):
    out: List[str] = []
    for i, (x, y) in enumerate(zip(xs, ys)):
        out.append(str(i) + y * x)
    for i, y in enumerate(ys, 5):
        out.append(y + str(i))
    for a, b, c in zip(xs, ys, range(100)):
        out.append(b + str(a + c))
    return out
>>> f([1, 2, 3], ["a", "b"])
>>> f([], ["a"])

=== reversed_and_sorted
def f(xs: List[int], s: str):
    return [x for x in reversed(xs)] if False else xs[::-1], sorted(xs), sorted(xs, reverse=True) if False else xs
>>> f([3, 1, 2], "ba")

=== sorted_key_refused
def f(xs: List[int]):
    return sorted(xs, key=lambda x: -x)
>>> f([3, 1, 2])

=== sort_strings
def f(xs: List[str]):
    ys = sorted(xs)
    xs.sort(reverse=True)
    return xs, ys
>>> f(["b", "a", "ab", ""])

=== sort_floats
def f(xs: List[float]):
    xs.sort()
    return xs
>>> f([2.5, -1.0, 0.0])

=== any_all
def f(xs: List[bool], ys: List[int]):
    return any(xs), all(xs), any([y > 2 for y in ys]), all([y > 2 for y in ys])
>>> f([True, False], [3, 4])
>>> f([], [])

=== while_else_conditions
def f(n: int):
    i = 0
    total = 0
    while True:
        i += 1
        if i % 2 == 0:
            continue
        if i > n:
            break
        total += i
        while total > 20:
            total -= 7
    return i, total
>>> f(7)
>>> f(0)

=== nested_loop_returns
def f(m: List[List[int]], k: int):
    for i in range(len(m)):
        for j in range(len(m[i])):
            if m[i][j] == k:
                return i, j
    return -1, -1
>>> f([[1, 2], [3]], 3)
>>> f([[1], []], 9)

=== loop_else
def f(n: int):
    for i in range(n):
        if i == 3:
            break
    else:
        return -1
    return i
>>> f(5)

=== assert_messages
def f(n: int, s: str):
    assert n > 0, "n is " + str(n)
    assert s, s
    return n
>>> f(1, "a")
>>> f(-1, "a")

=== assert_narrowing
def f(x: Optional[Tensor], y: Optional[int]):
    assert x is not None
    assert y is not None, "need y"
    return x + y
>>> f(T([1.0]), 2)
>>> f(None, 2)
>>> f(T([1.0]), None)

=== raise_kinds_mixed
def f(n: int):
    if n == 0:
        raise ValueError("zero")
    if n == 1:
        raise RuntimeError(f"one {n}")
    if n == 2:
        raise KeyError("k")
    if n == 3:
        raise NotImplementedError
    if n == 4:
        raise Exception("a", 3)
    return n
>>> f(0)
>>> f(1)
>>> f(2)
>>> f(3)
>>> f(4)
>>> f(5)

=== try_refused_mixed
def f(n: int):
    try:
        return n
    except ValueError:
        return 0
>>> f(0)

=== raise_custom
class MyError(Exception):
    pass
def f(n: int):
    if n < 0:
        raise MyError("neg")
    return n
>>> f(1)
>>> f(-1)

=== ternary_types_mixed
def f(n: int, x: Optional[int]):
    a = 1 if n > 0 else 2
    b = x if x is not None else 0
    c = "p" if n > 0 else ("z" if n == 0 else "n")
    return a + b, c
>>> f(1, None)
>>> f(0, 4)
>>> f(-1, 4)

=== ternary_mismatch
def f(n: int):
    a = 1 if n > 0 else "b"
    return a
>>> f(1)

=== tensor_condition_mixed
def f(x: Tensor):
    if x.sum() > 0:
        return 1
    if x.numel():
        return 2
    while x.sum() < 3:
        x = x + 1
    return int(x.sum())
>>> f(T([1.0, 2.0]))
>>> f(T([-1.0]))

=== tensor_condition_many
def f(x: Tensor):
    if x:
        return 1
    return 0
>>> f(T([1.0]))
>>> f(T([1.0, 2.0]))
>>> f(T([0]))

=== tensor_item_kinds
def f(x: Tensor):
    return x.item(), int(x), float(x), bool(x)
>>> f(T(3))
>>> f(T(2.5))
>>> f(T([1, 2]))

=== tensor_attributes
def f(x: Tensor):
    return x.dtype, x.shape, x.ndim, x.device, x.is_cuda, x.layout, x.requires_grad, x.T.shape, x.size(), x.size(0), x.numel()
>>> f(T([[1.0, 2.0]]))

=== dtype_values
def f(x: Tensor, d: int):
    y = x.to(torch.int64)
    same = x.dtype == torch.float32
    z = torch.zeros(2, dtype=x.dtype)
    return y, same, z, y.dtype == torch.long, x.to(dtype=torch.float64).dtype, torch.ones(1, dtype=d)
>>> f(T([1.5]), 7)

=== device_values
def f(x: Tensor):
    d = torch.device("cpu")
    return d, d.type, d.index is None if False else d.type == "cpu", x.device == d, x.to(d), torch.zeros(1, device=d)
>>> f(T([1.5]))

=== indexing_forms
def f(x: Tensor, i: Tensor, m: Tensor, n: int):
    return x[0], x[:, 1], x[..., -1], x[None].shape, x[1:, ::2], x[i], x[m], x[n, None], x[:, i], x[-1, -1]
>>> f(torch.arange(12).reshape(3, 4), T([0, 2]), T([True, False, True]), 1)

=== index_assign
def f(x: Tensor, i: Tensor):
    x[0] = 9
    x[1:, 0] = T2(x)
    x[:, 1] += 100
    x[x > 105] = -1
    x[i] *= 2
    return x
def T2(x: Tensor):
    return x[1:, 0] * 3
>>> f(torch.arange(6).reshape(3, 2), T([2]))

=== index_out_of_range
def f(x: Tensor, n: int):
    return x[n]
>>> f(T([1, 2]), 5)
>>> f(T([1, 2]), -2)
>>> f(T(1), 0)

=== tensor_iteration
def f(x: Tensor):
    s = 0
    for row in x:
        s += int(row.sum())
    a, b = x
    return s, a - b, [int(v) for v in x[0]], len(x)
>>> f(T([[1, 2], [3, 4]]))

=== tensor_out_and_inplace
def f(x: Tensor):
    y = x
    y += 1
    z = x.clone()
    z.mul_(2).add_(1)
    z[0].zero_()
    return x, z
>>> f(T([1.0, 2.0]))

=== tensor_keyword_calls
def f(x: Tensor):
    return x.sum(dim=0), x.sum(dim=[0, 1]), x.mean(-1, keepdim=True), x.max(dim=1)[0], torch.cat([x, x], dim=1).shape, x.max(1).indices
>>> f(T([[1.0, 2.0], [3.0, 4.0]]))

=== tensor_constructor
def f(n: int, x: float):
    return torch.tensor([n, n + 1]), torch.tensor([[x], [1.0]]), torch.tensor(n), torch.tensor([True]), torch.full((2,), n), torch.arange(0, 1, 0.25), torch.eye(n)
>>> f(2, 0.5)

=== tensor_compare_chain
def f(x: Tensor, y: Tensor):
    return (x > 0) & (y < 2), (x == y) | ~(x > y), torch.where(x > y, x, y), x.eq(y).all().item()
>>> f(T([1, -1]), T([1, 3]))

=== global_constants
N = 4
NAMES = ["a", "b"]
RATIO = 0.5
def f(x: int):
    return x * N, RATIO * x, NAMES[0], len(NAMES)
>>> f(3)

=== global_bad
STATE = {"a": [1, 2]}
OBJ = object()
def f(x: int):
    return OBJ
>>> f(3)

=== call_errors_mixed
def g(a: int, b: str) -> int:
    return a
def f(n: int):
    return g(n, n)
>>> f(1)

=== missing_argument
def g(a: int, b: str) -> int:
    return a
def f(n: int):
    return g(n)
>>> f(1)

=== recursion_refused_mixed
def f(n: int) -> int:
    if n <= 1:
        return 1
    return n * f(n - 1)
>>> f(3)

=== nested_function_refused
def f(n: int):
    def g(x: int):
        return x + 1
    return g(n)
>>> f(3)

=== lambda_refused_mixed
def f(n: int):
    g = lambda x: x + 1
    return g(n)
>>> f(3)

=== varargs_refused_mixed
def f(*args: int):
    return args
>>> f(3)

=== global_statement_refused
def f(n: int):
    global Z
    Z = n
    return n
>>> f(3)

=== walrus_refused_mixed
def f(n: int):
    if (m := n + 1) > 2:
        return m
    return 0
>>> f(3)

=== set_refused_mixed
def f(n: int):
    s = {n, 1}
    return len(s)
>>> f(3)

=== yield_refused
def f(n: int):
    for i in range(n):
        yield i
>>> f(3)

=== import_refused
def f(n: int):
    import math
    return math.pi
>>> f(3)

=== string_iteration_join
def f(s: str):
    words = s.split(" ")
    out: List[str] = []
    for w in words:
        if w:
            out.append(w[0].upper() + w[1:].lower())
    return " ".join(out)
>>> f("hello  WORLD foo")

=== tokenizer_mixed
def f(s: str):
    tokens: List[Tuple[str, str]] = []
    i = 0
    while i < len(s):
        c = s[i]
        if c.isspace():
            i += 1
        elif c.isdigit():
            j = i
            while j < len(s) and s[j].isdigit():
                j += 1
            tokens.append(("num", s[i:j]))
            i = j
        elif c.isalpha():
            j = i
            while j < len(s) and s[j].isalnum():
                j += 1
            tokens.append(("id", s[i:j]))
            i = j
        else:
            tokens.append(("op", c))
            i += 1
    return tokens
>>> f("x1 = 34+ y")
>>> f("")

=== matrix_power
def mul(a: List[List[int]], b: List[List[int]]) -> List[List[int]]:
    n = len(a)
    return [[sum([a[i][k] * b[k][j] for k in range(n)]) for j in range(n)] for i in range(n)]
def f(n: int):
    r = [[1, 0], [0, 1]]
    b = [[1, 1], [1, 0]]
    while n > 0:
        if n % 2 == 1:
            r = mul(r, b)
        b = mul(b, b)
        n = n // 2
    return r
>>> f(10)
>>> f(0)

=== sieve_mixed
def f(n: int):
    marks = [True] * (n + 1)
    out: List[int] = []
    for i in range(2, n + 1):
        if marks[i]:
            out.append(i)
            j = i * i
            while j <= n:
                marks[j] = False
                j += i
    return out
>>> f(30)
>>> f(1)

=== dynamic_programming
def f(a: str, b: str):
    dp = [[0] * (len(b) + 1) for _ in range(len(a) + 1)]
    for i in range(len(a)):
        for j in range(len(b)):
            if a[i] == b[j]:
                dp[i + 1][j + 1] = dp[i][j] + 1
            else:
                dp[i + 1][j + 1] = max(dp[i][j + 1], dp[i + 1][j])
    return dp[-1][-1]
>>> f("abcbdab", "bdcaba")
>>> f("", "a")

=== graph_search
def f(edges: Dict[int, List[int]], start: int):
    seen = {start: 0}
    queue = [start]
    while len(queue) > 0:
        at = queue.pop(0)
        if at in edges:
            for to in edges[at]:
                if to not in seen:
                    seen[to] = seen[at] + 1
                    queue.append(to)
    return seen
>>> f({0: [1, 2], 1: [3], 3: [0, 4]}, 0)
>>> f({}, 7)
"""
