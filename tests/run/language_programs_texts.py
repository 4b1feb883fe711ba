"""Programs on the texts of values and on characters, and on numbers beyond 64 bits; the format is that of `language_harness`."""

TEXT = r"""
=== text_expandtabs
def f(x: str, n: int):
    return x.expandtabs(n)
>>> f("a\tb", 0)
>>> f("a\tb", -1)
>>> f("ab\t\tb", 4)
>>> f("\t\nb\t", 3)
>>> f("abcd\tb", 4)
>>> f("a\tb\n\tc", 8)

=== text_isidentifier
def f(x: str):
    return x.isidentifier()
>>> f("a1")
>>> f("1a")
>>> f("")
>>> f("a b")
>>> f("a_b")

=== text_whole_floats
def f(x: float):
    print(x, [x])
    return str(x), f"{x}"
>>> f(1e17)
>>> f(9.2e18)
>>> f(1e19)
>>> f(-1e18)
>>> f(-9223372036854775808.0)
>>> f(9223372036854775808.0)
>>> f(-0.0)
>>> f(5e-324)
>>> f(1e300)
>>> f(123456.789)

=== text_chr
def f(n: int):
    return chr(n)
>>> f(65)
>>> f(321)
>>> f(1114112)
>>> f(-1)
>>> f(127)

=== text_fill_refused
def f(x: str):
    return x.ljust(5, "ab")
>>> f("a")

=== text_slice_without_step
def f(x: str, s: int):
    return x[::s]
>>> f("abc", 0)
>>> f("", 0)
>>> f("abc", -2)

=== text_of_tensors
def f(x):
    s = f"x is {x}"
    x += 1
    return s, str(x), "{} {}".format(x, 3) + "!"
>>> f(T([1.0, 2.5]))
>>> f(T(3))
>>> f(T([[1, 2], [3, 4]]))
>>> f(T([True, False]))

=== text_of_tensors_in_containers
def f(x, n: int):
    return str([x, x + n]), f"{(x, n)}", str({"a": x})
>>> f(T([1.0]), 2)

=== text_of_tensor_returned_early
def f(x, c: bool):
    if c:
        return f"{x}"
    return "q"
>>> f(T([1.0]), True)
>>> f(T([1.0]), False)

=== text_of_elements_joined
def f(x):
    s = ""
    for i in range(2):
        s = s + str(x[i])
    return s
>>> f(T([1.0, 2.0]))

=== text_of_tensor_printed
def f(x):
    print(f"x: {x} {x.shape}")
    print("s" + str(x))
    return x
>>> f(T([1.0, 2.0]))

=== text_of_complex
def f(z: complex, n: int):
    return str(z), f"{z} {n}", [z]
>>> f(1 + 2j, 3)

=== percent_native
def f(x, n: int, y: float):
    return "%s and %d" % (x, n), "%d" % y, "%i%%" % n, "%c" % n, "%c" % "a"
>>> f(T([1.0, 2.0]), 65, 2.7)
>>> f(T([1.0, 2.0]), 66, -2.7)

=== percent_of_tensor
def f(x):
    return "%d" % x
>>> f(T(2))

=== percent_too_many
def f(x: int):
    return "%d" % (x, x)
>>> f(1)

=== percent_too_few
def f(n: int):
    return "%d %d" % n
>>> f(1)

=== percent_width
def f(n: int):
    return "%5d" % n
>>> f(1)

=== floor_beyond_64_bits
def f(x: float):
    return math.floor(x)
>>> f(1e30)
>>> f(9.3e18)
>>> f(-9.3e18)
>>> f(float("inf"))
>>> f(2.5)

=== ceil_beyond_64_bits
def f(x: float):
    return math.ceil(x)
>>> f(1e30)
>>> f(float("inf"))
>>> f(float("nan"))
>>> f(-2.5)

=== floor_of_infinity
def f():
    return math.floor(float("inf"))
>>> f()

=== whole_floats_in_graphs
def f():
    return math.floor(2.5), math.ceil(2.5), str(1e17), f"{1e18} {-0.0}", 1e17, [1e17], "{}".format(2.5)
>>> f()

=== percent_floats
def f(x: float, n: int):
    s = "%f|%e|%E|%F|%d|%s" % (x, x, x, x, n, x)
    return s, len(s), "%f" % x, "%d and %f" % (n, x * 2), f"{x}", ("%e" % x).split("e")
>>> f(0.5, 3)
>>> f(1e30, -3)
>>> f(1e300, 3)
>>> f(-0.0, 3)
>>> f(float("nan"), 3)
>>> f(float("-inf"), 3)
>>> f(123456.789, 3)

=== percent_floats_in_loop
def f(xs: List[float]):
    out: List[str] = []
    for x in xs:
        out.append("%f" % (x / 3))
    if len(xs) > 2:
        raise ValueError("bad %f" % xs[0])
    return ",".join(out)
>>> f([1.0, 2.0])
>>> f([])
>>> f([1.0, 2.0, 3.0])

=== text_places_in_bounds
def f(x: str, part: str, a: int, b: int):
    return x.find(part, a, b), x.rfind(part, a, b)
>>> f("banana", "a", 4, 2)
>>> f("banana", "", 4, 2)
>>> f("banana", "a", -1, -3)
>>> f("banana", "a", -1, -1)
>>> f("banana", "n", 0, -2)
>>> f("banana", "", 7, 2)
>>> f("banana", "ana", 0, -1)
>>> f("banana", "a", -9, 20)

=== text_index_in_bounds
def f(x: str, part: str, a: int, b: int):
    return x.index(part, a, b), x.rindex(part, a, b)
>>> f("banana", "na", 1, -1)
>>> f("banana", "na", 0, 3)

=== text_ends_in_bounds
def f(x: str, part: str, a: int, b: int):
    return x.startswith(part, a, b), x.endswith(part, a, b)
>>> f("banana", "a", 4, 2)
>>> f("banana", "n", 4, 2)
>>> f("banana", "", 6, 2)
>>> f("banana", "a", -1, -1)
>>> f("banana", "n", 0, -2)
>>> f("banana", "", 0, -10)

=== text_bounds_behind
def f(x: str, part: str, a: int, b: int):
    return x.startswith(part, a, b), x.find(part, a, b)
>>> f("banana", "", 7, 8)

=== text_count_in_bounds
def f(x: str, part: str, a: int, b: int):
    return x.count(part, a, b)
>>> f("banana", "na", 0, 3)
>>> f("banana", "na", 4, 5)
>>> f("banana", "n", 0, -2)
>>> f("banana", "a", -1, -1)
>>> f("banana", "a", 7, 20)
>>> f("banana", "", 3, 3)
>>> f("banana", "", 5, 3)

=== text_split_at_blanks
def f(x: str):
    return x.split(None, 1), x.split(" ", 1)
>>> f(" a b  c")

=== letters_of_constants
def f():
    return "éA".upper(), "ÉA".lower(), "éa".capitalize(), "Éa".swapcase(), len("éa")
>>> f()

=== number_of_constant_with_underscore
def f():
    return int("1_000")
>>> f()

=== number_of_constant_with_space_behind
def f():
    return int("12 ")
>>> f()

=== real_of_constant_with_underscore
def f():
    return float("1_0.5")
>>> f()

=== numbers_of_constants
def f():
    return int("-12"), float("1.5"), float("inf"), int(" 7"), float(" 2e3")
>>> f()
"""
