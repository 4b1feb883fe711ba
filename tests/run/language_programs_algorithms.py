"""Programs on whole algorithms; the format is that of `language_harness`."""

TEXT = r"""
=== try_except
def f(x: int):
    try:
        return x
    except ValueError:
        return 1
>>> f(1)

=== try_finally
def f(x: int):
    try:
        x = 1
    finally:
        x = 2
    return x
>>> f(1)

=== nonlocal_stmt
def f(x: int):
    def g():
        nonlocal x
        x = 1
    return x
>>> f(1)

=== nested_def
def f(x: int):
    def g(y: int):
        return y + 1
    return g(x)
>>> f(1)

=== nested_class
def f(x: int):
    class A:
        pass
    return x
>>> f(1)

=== import_stmt
def f(x: int):
    import math
    return math.sqrt(x)
>>> f(1)

=== import_from
def f(x: int):
    from math import sqrt
    return sqrt(x)
>>> f(1)

=== yield_stmt
def f(x: int):
    yield x
>>> f(1)

=== yield_from
def f(x: List[int]):
    yield from x
>>> f([1])

=== match_stmt
def f(x: int):
    match x:
        case 1:
            return 2
    return 3
>>> f(1)

=== walrus
def f(x: int):
    if (y := x) > 1:
        return y
    return 0
>>> f(1)

=== math_all
def f(x: float):
    return [math.sqrt(x), math.exp(x), math.log(x), math.sin(x), math.cos(x), math.tan(x), math.floor(x), math.ceil(x), math.fabs(x), math.log2(x)]
>>> f(1.5)

=== chained_methods
def f(x: str):
    return x.strip().lower().replace("a", "b").split(",")[0][1:]
>>> f("  AbC,D ")

=== mixed_cmp_chain
def f(a: int, b: int, c: int):
    return a < b < c, a == b == c, a < b > c, not a < b
>>> f(1, 2, 3)
>>> f(2, 2, 2)

=== nested_fn_calls_kw
def f(x):
    return torch.sum(torch.stack([x, x], dim=0), dim=0, keepdim=True)
>>> f(T([1.0, 2.0]))

=== mod_neg
def f(a: int, t):
    a %= 3
    t %= 3
    b = -7 % 3
    return a, t, b, t % -2
>>> f(-7, T([-7.0]))

=== fstring_mix
def f(a: int, b: float, s: str, l: List[int]):
    return f"{a}-{b}-{s}-{l}" + f"{a + 1}" + f"{s.upper()}" + f"{l[0]}"
>>> f(1, 2.0, "x", [3])

=== string_build
def f(words: List[str]):
    out = ""
    for i, w in enumerate(words):
        if i > 0:
            out += ", "
        out += w.capitalize()
    return out + "!" , len(out)
>>> f(["ab", "cd"])

=== fib_memo
def f(n: int):
    memo: Dict[int, int] = {0: 0, 1: 1}
    for i in range(2, n + 1):
        memo[i] = memo[i - 1] + memo[i - 2]
    return memo[n]
>>> f(20)

=== levenshtein
def f(a: str, b: str):
    prev = [i for i in range(len(b) + 1)]
    for i, ca in enumerate(a):
        cur = [i + 1]
        for j, cb in enumerate(b):
            cost = 0 if ca == cb else 1
            cur.append(min(prev[j + 1] + 1, cur[j] + 1, prev[j] + cost))
        prev = cur
    return prev[-1]
>>> f("kitten", "sitting")

=== binary_search
def f(xs: List[int], t: int):
    lo, hi = 0, len(xs)
    while lo < hi:
        mid = (lo + hi) // 2
        if xs[mid] < t:
            lo = mid + 1
        else:
            hi = mid
    return lo
>>> f([1, 3, 5, 7], 5)

=== gcd_loop
def f(a: int, b: int):
    while b != 0:
        a, b = b, a % b
    return a
>>> f(48, 18)

=== matrix_mul_lists
def f(a: List[List[float]], b: List[List[float]]):
    return [[sum([x * y for x, y in zip(row, [r[j] for r in b])]) for j in range(len(b[0]))] for row in a]
>>> f([[1.0, 2.0]], [[3.0], [4.0]])

=== stack_class
class Stack:
    def __init__(self):
        self.items: List[int] = []
    def push(self, x: int):
        self.items.append(x)
    def pop(self) -> int:
        if len(self.items) == 0:
            raise IndexError("empty stack")
        return self.items.pop()
    def __len__(self) -> int:
        return len(self.items)
def f(xs: List[int]):
    s = Stack()
    for x in xs:
        s.push(x)
    out: List[int] = []
    while len(s) > 0:
        out.append(s.pop())
    return out, s.pop() if len(xs) == 0 else 0
>>> f([1, 2])
>>> f([])

=== rpn
def f(tokens: List[str]):
    st: List[float] = []
    for t in tokens:
        if t in ["+", "-", "*", "/"]:
            b = st.pop()
            a = st.pop()
            if t == "+":
                st.append(a + b)
            elif t == "-":
                st.append(a - b)
            elif t == "*":
                st.append(a * b)
            else:
                st.append(a / b)
        else:
            st.append(float(t))
    return st[0]
>>> f(["1", "2", "+", "4", "*"])

=== tokenizer
def f(s: str):
    out: List[str] = []
    cur = ""
    for c in s:
        if c.isalnum():
            cur += c
        else:
            if len(cur) > 0:
                out.append(cur)
                cur = ""
            if not c.isspace():
                out.append(c)
    if len(cur) > 0:
        out.append(cur)
    return out
>>> f("a1 + (b2*c)")

=== vector_norm_module_level
def norm(x, p: float = 2.0):
    return x.abs().pow(p).sum().pow(1.0 / p)
def f(x):
    return norm(x), norm(x, 1.0), norm(x, p=3.0)
>>> f(T([3.0, 4.0]))

=== beam_like
def f(scores, k: int):
    beams: List[Tuple[float, List[int]]] = [(0.0, [0])]
    beams.pop()
    beams.append((1.0, [1, 2]))
    v, i = torch.topk(scores, k)
    for j in range(k):
        beams.append((float(v[j]), [int(i[j])]))
    return beams
>>> f(T([0.1, 0.5, 0.3]), 2)

=== point_ops
class P(NamedTuple):
    x: float
    y: float
def dist(a: P, b: P) -> float:
    return math.sqrt((a.x - b.x) ** 2 + (a.y - b.y) ** 2)
def f(xs: List[P]):
    best = -1.0
    for i in range(len(xs)):
        for j in range(i + 1, len(xs)):
            d = dist(xs[i], xs[j])
            if best < 0 or d < best:
                best = d
    return best
>>> f([P(0.0, 0.0), P(3.0, 4.0), P(1.0, 1.0)])

=== counter_class_prop
class Counter:
    def __init__(self):
        self.n = 0
        self.log: Dict[str, int] = {}
    @property
    def total(self) -> int:
        return self.n
    def add(self, k: str, v: int = 1):
        self.n += v
        self.log[k] = self.log.get(k, 0) + v
        return self
def f(a: str):
    c = Counter()
    c.add(a).add(a, 2).add("z")
    return c.total, c.log
>>> f("q")

=== matrix_class
class Mat:
    def __init__(self, d: List[List[int]]):
        self.d = d
    def __mul__(self, o: "Mat") -> "Mat":
        r: List[List[int]] = []
        for i in range(len(self.d)):
            row: List[int] = []
            for j in range(len(o.d[0])):
                s = 0
                for k in range(len(o.d)):
                    s += self.d[i][k] * o.d[k][j]
                row.append(s)
            r.append(row)
        return Mat(r)
def f(n: int):
    m = Mat([[1, 1], [1, 0]])
    r = Mat([[1, 0], [0, 1]])
    for i in range(n):
        r = r * m
    return r.d
>>> f(10)

=== word_count
def f(text: str) -> Dict[str, int]:
    counts: Dict[str, int] = {}
    for w in text.lower().split():
        w = w.strip(".,!?")
        if w in counts:
            counts[w] += 1
        else:
            counts[w] = 1
    return counts
>>> f("The cat. the dog, THE end!")
>>> f("")

=== caesar
def f(s: str, k: int) -> str:
    out = ""
    for c in s:
        o = ord(c)
        if c.islower():
            out += chr((o - 97 + k) % 26 + 97)
        elif c.isupper():
            out += chr((o - 65 + k) % 26 + 65)
        else:
            out += c
    return out
>>> f("Hello, World!", 3)
>>> f(f("abc", 3), -3)

=== roman_numbers
def f(n: int) -> str:
    vals = [1000, 900, 500, 400, 100, 90, 50, 40, 10, 9, 5, 4, 1]
    syms = ["M", "CM", "D", "CD", "C", "XC", "L", "XL", "X", "IX", "V", "IV", "I"]
    out = ""
    for v, s in zip(vals, syms):
        while n >= v:
            out += s
            n -= v
    return out
>>> f(1994)
>>> f(0)

=== sieve
def f(n: int) -> List[int]:
    out: List[int] = []
    flags = [True for _ in range(n + 1)]
    for i in range(2, n + 1):
        if not flags[i]:
            continue
        out.append(i)
        for j in range(i * i, n + 1, i):
            flags[j] = False
    return out
>>> f(30)
>>> f(0)

=== matrix_of_lists
def f(a: List[List[int]], b: List[List[int]]) -> List[List[int]]:
    out: List[List[int]] = []
    for i in range(len(a)):
        row: List[int] = []
        for j in range(len(b[0])):
            s = 0
            for k in range(len(b)):
                s += a[i][k] * b[k][j]
            row.append(s)
        out.append(row)
    return out
>>> f([[1, 2], [3, 4]], [[5, 6], [7, 8]])
"""
