"""Programs on numbers, control flow and calls; the format is that of `language_harness`."""

TEXT = r"""
=== int_arithmetic
def f(a: int, b: int):
    return a + b, a - b, a * b, a // b, a % b, a / b
>>> f(7, 2)
>>> f(-7, 2)
>>> f(7, -3)
>>> f(7, 0)

=== float_arithmetic
def f(a: float, b: float):
    return a + b, a - b, a * b, a // b, a % b, a / b, a ** b
>>> f(7.5, 2.0)
>>> f(-7.5, 2.0)

=== mixed_arithmetic
def f(a: int, b: float):
    return a + b, a - b, b - a, a * b, a / b, b / a, a // b, b % a, a ** b, b ** a
>>> f(3, 2.5)
>>> f(-3, 2.5)

=== int_power
def f(a: int, b: int):
    return a ** b
>>> f(2, 3)
>>> f(2, -1)

=== int_bitwise
def f(a: int, b: int):
    return a & b, a | b, a ^ b, a << 2, b >> 1
>>> f(12, 10)
>>> f(-12, 10)

=== int_wraparound
def f(a: int):
    return a * a
>>> f(2 ** 40)

=== unary
def f(a: int, b: float, c: bool):
    return -a, -b, not c, abs(a), abs(b)
>>> f(-3, 2.5, True)

=== comparisons
def f(a: int, b: float):
    return a < b, a <= b, a > b, a >= b, a == b, a != b
>>> f(3, 2.5)
>>> f(2, 2.0)

=== chained_comparison
def f(a: int):
    return 1 < a < 5, 1 <= a == 3
>>> f(3)
>>> f(7)

=== bool_logic
def f(a: bool, b: bool):
    return a and b, a or b, not a, a == b, a != b, int(a), float(b)
>>> f(True, False)
>>> f(False, False)

=== bool_arithmetic
def f(a: bool, b: int):
    return int(a) + b
>>> f(True, 3)

=== and_or_of_ints
def f(a: int, b: int):
    if a and b:
        return 1
    if a or b:
        return 2
    return 3
>>> f(1, 2)
>>> f(0, 2)
>>> f(0, 0)

=== conversions
def f(a: int, b: float, s: str):
    return int(b), float(a), int(s), float(s), bool(a), bool(b), str(a), str(b)
>>> f(3, 2.75, "12")
>>> f(0, -2.75, "-4")
>>> f(0, 0.0, "x")

=== rounding
def f(x: float):
    return round(x), math.floor(x), math.ceil(x), int(x)
>>> f(2.5)
>>> f(-2.5)
>>> f(3.49)

=== min_max
def f(a: int, b: int, x: float):
    return min(a, b), max(a, b), max(x, 1.5), min([a, b, 3]), max([x, 0.5])
>>> f(3, 5, 0.25)

=== min_max_mixed
def f(a: int, x: float):
    return max(a, x), min(a, x)
>>> f(3, 5.5)

=== divmod_pow
def f(a: int, b: int, x: float):
    return divmod(a, b), divmod(x, 2.0), pow(a, b), pow(x, 2.0)
>>> f(7, 2, 7.5)
>>> f(-7, 2, -7.5)

=== math_functions
def f(x: float):
    return (math.sqrt(x), math.exp(x), math.log(x), math.sin(x), math.cos(x), math.tanh(x),
            math.log10(x), math.log1p(x), math.expm1(x), math.erf(x), math.gamma(x))
>>> f(0.5)
>>> f(2.0)

=== math_more
def f(x: float, y: float):
    return (math.atan2(x, y), math.fmod(x, y), math.copysign(x, y), math.pow(x, y),
            math.fabs(x), math.degrees(x), math.radians(y), math.remainder(x, y))
>>> f(5.5, 2.0)
>>> f(-5.5, 2.0)

=== math_ints
def f(a: int, b: int):
    return math.gcd(a, b), math.factorial(a), math.floor(2.5), math.sqrt(a)
>>> f(4, 6)

=== math_tests
def f(x: float):
    return math.isnan(x), math.isinf(x), math.isfinite(x)
>>> f(1.0)
>>> f(float("inf"))
>>> f(float("nan"))

=== math_constants
def f(x: float):
    return x * math.pi + math.e, math.inf, float("inf"), -math.inf
>>> f(2.0)

=== math_frexp
def f(x: float):
    a, b = math.frexp(x)
    c, d = math.modf(x)
    return a, b, c, d, math.ldexp(x, 3)
>>> f(5.25)

=== math_hypot_refused
def f(x: float):
    return math.hypot(x, x)
>>> f(2.0)

=== divide_by_zero_float
def f(a: float):
    return 1.0 / a
>>> f(2.0)

=== complex_numbers
def f(x: float):
    a = complex(x, 2.0)
    b = a * 2j + 1
    return a, b, abs(a)
>>> f(3.0)

=== ternary
def f(a: int):
    x = 1 if a > 2 else 0
    return x if a != 5 else a * 2
>>> f(5)
>>> f(3)
>>> f(0)

=== ternary_types
def f(a: int):
    return 1 if a > 0 else 2.0
>>> f(1)

=== if_elif
def f(a: int):
    if a == 0:
        r = "zero"
    elif a < 0:
        r = "minus"
    elif a < 10:
        r = "small"
    else:
        r = "big"
    return r
>>> f(0)
>>> f(-4)
>>> f(4)
>>> f(40)

=== early_return
def f(a: int) -> int:
    if a > 10:
        return 1
    for i in range(a):
        if i == 4:
            return i * 100
    return -1
>>> f(11)
>>> f(3)
>>> f(8)

=== while_loop
def f(n: int):
    a, b = 0, 1
    while b < n:
        a, b = b, a + b
    return a
>>> f(100)
>>> f(0)

=== while_break_continue
def f(n: int):
    total = 0
    i = 0
    while True:
        i += 1
        if i > n:
            break
        if i % 3 == 0:
            continue
        total += i
    return total
>>> f(10)

=== for_break_nested
def f(n: int):
    out: List[int] = []
    for i in range(n):
        for j in range(n):
            if j > i:
                break
            if (i + j) % 2 == 1:
                continue
            out.append(i * 10 + j)
    return out
>>> f(5)

=== range_forms
def f(a: int, b: int, c: int):
    return [i for i in range(b)], [i for i in range(a, b)], [i for i in range(a, b, c)]
>>> f(2, 9, 3)
>>> f(9, 2, -2)
>>> f(1, 2, 0)

=== loop_carried_float
def f(n: int):
    acc = 0.0
    for i in range(n):
        acc += i * 0.5
    return acc
>>> f(10)

=== collatz
def f(n: int):
    steps = 0
    while n != 1:
        if n % 2 == 0:
            n = n // 2
        else:
            n = 3 * n + 1
        steps += 1
    return steps
>>> f(27)

=== sieve_by_while
def f(n: int):
    marks = [True] * (n + 1)
    primes: List[int] = []
    for i in range(2, n + 1):
        if marks[i]:
            primes.append(i)
            k = i * i
            while k <= n:
                marks[k] = False
                k += i
    return primes
>>> f(50)

=== variable_changes_type
def f(a: int):
    y = a
    y = float(y) * 1.5
    return y
>>> f(3)

=== branch_type_change_refused
def f(a: int):
    y = 1
    if a > 2:
        y = 2.0
    return y
>>> f(3)

=== defined_in_one_branch
def f(a: int):
    if a > 2:
        y = 2
    return y
>>> f(3)

=== undefined_name
def f(a: int):
    return a + zoo
>>> f(3)

=== multiple_assignment
def f(a: int):
    x = y = a + 1
    x += 1
    (p, (q, r)) = (x, (y, a))
    p, q = q, p
    return x, y, p, q, r
>>> f(3)

=== starred_assignment
def f(a: int):
    x, *rest = (a, 2, 3.5)
    return x, rest
>>> f(1)

=== augmented
def f(a: int, b: float):
    a += 2
    a -= 1
    a *= 3
    b /= 2
    b **= 2
    a %= 5
    return a, b
>>> f(3, 5.0)

=== augmented_bits
def f(a: int):
    a |= 8
    a &= 12
    a ^= 5
    a <<= 2
    a >>= 1
    return a
>>> f(6)

=== defaults_and_keywords
def g(a: int, b: int = 3, c: float = 0.5):
    return a + b * c
def f(a: int):
    return g(a), g(a, 1), g(a, c=2.0), g(b=2, a=a)
>>> f(2)

=== default_arguments_called
def f(a: int, b: int = 4, s: str = "q"):
    return s, a + b
>>> f(2)
>>> f(2, 5)
>>> f(2, s="z")
>>> f(2, b=1, s="z")

=== wrong_arguments
def f(a: int):
    return a
>>> f("x")
>>> f()
>>> f(1, 2)
>>> f(1.5)

=== kwonly
def f(a: int, *, b: int):
    return a - b
>>> f(1, b=2)

=== varargs_refused
def f(*args):
    return args
>>> f(1)

=== recursion_refused
def f(n: int) -> int:
    return 1 if n < 2 else n * f(n - 1)
>>> f(3)

=== helper_calls
def square(x: int) -> int:
    return x * x
def twice(x: int) -> int:
    return square(x) + square(x + 1)
def f(n: int):
    return sum([twice(i) for i in range(n)])
>>> f(4)

=== asserts
def f(a: int):
    assert a > 0, "not positive"
    assert a < 10
    return a
>>> f(3)
>>> f(-1)
>>> f(11)

=== assert_formatted
def f(a: int):
    assert a > 0, f"got {a}"
    return a
>>> f(-1)

=== raises
def f(a: int):
    if a > 3:
        raise ValueError("too big {}".format(a))
    elif a == 3:
        raise RuntimeError("three")
    return a
>>> f(1)
>>> f(3)
>>> f(5)

=== raise_without_else
def f(a: int) -> int:
    if a > 0:
        return a
    raise NotImplementedError("no")
>>> f(1)
>>> f(0)

=== raise_class
def f(a: int):
    if a > 0:
        raise ValueError
    return a
>>> f(0)
>>> f(1)

=== own_exception
class MyError(Exception):
    pass
def f(a: int):
    if a > 0:
        raise MyError("boo")
    return a
>>> f(0)
>>> f(1)

=== none_return
def f(a: int):
    a += 1
>>> f(1)

=== annotated_return_mismatch
def f(a: int) -> float:
    return a
>>> f(1)

=== missing_return_path
def f(a: int) -> int:
    if a > 0:
        return a
>>> f(1)

=== closed_over_number
K = 3
def f(a: int):
    return a + K
>>> f(1)

=== try_refused
def f(a: int):
    try:
        return a
    except ValueError:
        return 0
>>> f(1)

=== lambda_refused
def f(a: int):
    g = lambda x: x
    return a
>>> f(1)

=== nested_def_refused
def f(a: int):
    def g(x: int):
        return x
    return g(a)
>>> f(1)

=== walrus_refused
def f(a: int):
    if (b := a) > 2:
        return b
    return 0
>>> f(1)

=== with_else_loop_refused
def f(a: int):
    for i in range(a):
        pass
    else:
        a = 1
    return a
>>> f(1)

=== type_comment
def f(a, b):
    # type: (int, float) -> float
    return a * b
>>> f(2, 1.5)

=== pep604
def f(a: int | None, b: float = 1.0) -> float:
    if a is None:
        return b
    return a * b
>>> f(2, 1.5)
>>> f(None)

=== is_scripting
def f(a: int):
    if torch.jit.is_scripting():
        return a + 1
    else:
        return unknown_thing(a)
>>> f(2)

=== is_tracing_call
def f(a: int):
    if torch.jit.is_tracing():
        return a + 1
    return a
>>> f(2)

=== pruned_none
def g(a: Optional[int], b: None):
    if b is not None:
        return b.foo(a)
    return a
def f(a: int):
    return g(a, None)
>>> f(2)

=== del_name
def f(a: int):
    b = a
    del b
    return a
>>> f(2)

=== scalar_to_builtin_sum
def f(a: List[int], b: List[float], c: List[bool]):
    return sum(a), sum(b), sum(c), all(c), any(c)
>>> f([1, 2, 3], [0.5, 0.25], [True, False])
>>> f([], [], [])

=== bin_hex_oct
def f(a: int):
    return bin(a), hex(a), oct(a), chr(a + 60), ord("a")
>>> f(10)

=== print_nothing
def f(a: int):
    print("a is", a)
    return a
>>> f(10)

=== float_specials
def f(a: float):
    return a > 1.0, str(a), a * 0.0
>>> f(float("inf"))
>>> f(float("nan"))

=== large_literal_refused
def f(a: int):
    return a + 9223372036854775808
>>> f(1)

=== any_of_generator
def f(n: int):
    return any([i > 3 for i in range(n)]), all([i < 3 for i in range(n)])
>>> f(3)
>>> f(6)

=== sum_generator
def f(n: int):
    return sum(i * i for i in range(n))
>>> f(5)

=== extremes_with_nan
def f(a: float, b: float):
    return min(a, b), max(a, b), min([a, b, 0.5]), max([a, b, 0.5])
>>> f(1.0, float("nan"))
>>> f(float("nan"), 1.0)
>>> f(0.0, -0.0)

=== extremes_of_found_lists
def f(n: int, b: float):
    xs = [b]
    for i in range(n):
        xs.append(float(i))
    return min(xs), max(xs)
>>> f(3, float("nan"))
>>> f(3, 1.5)

=== extremes_of_mixed_numbers
def f(a: int, b: float):
    return max(a, b), min(a, b), min(b, a)
>>> f(3, 2.0)
>>> f(1, 2.0)

=== a_vector_is_no_number
def f(a: int, x):
    return a // x
>>> f(7, torch.tensor([2]))

=== floor_division_of_floats
def f(a: float, b: float, n: int):
    return a // b, n // b, a // n, divmod(a, b), a % b, 1.0 // 0.1
>>> f(1.0, 0.1, 3)
>>> f(6.0, 0.1, 6)
>>> f(float("inf"), 2.0, 1)
>>> f(-7.5, 2.0, 2)
"""
