"""Programs with code that nobody sees the effect of: what of it stays in the graph."""

TEXT = """
=== dead_while
def f(n: int):
    i = 0
    while i < n:
        i += 1
    return n
>>> f(3)

=== dead_for
def f(n: int):
    total = 0
    for i in range(n):
        total += i
    return n
>>> f(3)

=== dead_carried_value
def f(n: int):
    i = 0
    total = 0
    while i < n:
        i += 1
        total += i
    return i
>>> f(3)

=== dead_loops_nested
def f(n: int):
    for i in range(n):
        xs = [i]
        for j in range(i):
            xs.append(j)
    return n
>>> f(3)

=== dead_loop_sets_constant
def f(n: int):
    seen = 0
    for i in range(n):
        k = seen + 1
        seen = 4
    return n
>>> f(3)

=== dead_loop_sets_flag
def f(n: int):
    seen = False
    for i in range(n):
        k = not seen
        seen = True
    return n
>>> f(3)

=== dead_order_of_carried
def f(n: int):
    b = 0
    a = 0
    while b < n:
        b += 1
        a += b
    return n
>>> f(2)

=== dead_list_writes
def f(n: int, up: bool):
    xs = [1, 2]
    if up:
        xs.append(3)
    else:
        xs.reverse()
    ys = [str(i) for i in range(n)]
    ys[0] = "a"
    return n
>>> f(2, True)
>>> f(0, False)

=== dead_dict_writes
def f(n: int):
    d = {"a": 1}
    d["b"] = n
    d.pop("c")
    return n
>>> f(2)

=== dead_list_in_list
def f(n: int):
    xs: List[List[int]] = []
    ys = [n]
    xs.append(ys)
    ys.append(2)
    return n
>>> f(2)

=== dead_write_through_list
def f(n: int, given: List[int]):
    xs = [given]
    xs[0].append(n)
    return n
>>> f(2, [1])

=== dead_tensor_writes
def f(x):
    y = x + 1
    y.add_(2)
    y[0] = 3
    z = y.view(-1)
    z.mul_(2)
    return x
>>> f(T([1.0, 2.0]))

=== live_tensor_write_through_view
def f(x):
    x[0].add_(2)
    y = x + 1
    y.view(-1)[1:].zero_()
    return y
>>> f(T([1.0, 2.0]))

=== live_write_seen_next_turn
def f(n: int):
    xs = [[0]]
    total = 0
    for i in range(n):
        total += xs[0][0]
        ys = xs[0]
        ys[0] = i + 1
    return total
>>> f(4)

=== live_write_through_branch
def f(up: bool):
    xs = [1]
    ys = [2]
    if up:
        zs = xs
    else:
        zs = ys
    zs.append(5)
    return xs
>>> f(True)
>>> f(False)

=== live_write_through_optional
def f(up: bool):
    xs: Optional[List[int]] = None
    ys = [1]
    if up:
        xs = ys
    if xs is not None:
        xs.append(3)
    return ys
>>> f(True)
>>> f(False)

=== dead_class_write
@torch.jit.script
class C:
    def __init__(self, n: int):
        self.n = n
def f(n: int):
    c = C(n)
    c.n = 3
    return n
>>> f(1)

=== ranks_by_return
def f(up: bool, n: int):
    if up:
        return torch.tensor([-3])
    if bool((torch.tensor([n]) > 2).any()):
        return torch.tensor(n)
    return torch.ones(2, 3)
>>> f(True, 1)
>>> f(False, 1)
>>> f(False, 3)

=== dead_branch_with_try
def f(x: int):
    if not torch.jit.is_scripting():
        try:
            x = 1
        except ValueError:
            x = 2
    return x
>>> f(3)

=== dead_branch_with_lambda
def f(x: int):
    if False:
        y = lambda z: z
    return x
>>> f(3)

=== dead_branch_with_annotation_alone
def f(x: int):
    if False:
        y: int
    return x
>>> f(3)

=== dead_branch_with_expansion
def f(x: int):
    if False:
        f(*x, **x)
    return x
>>> f(3)

=== dead_branch_with_else_of_loop
def f(x: int):
    if False:
        for i in range(x):
            pass
        else:
            x = 2
    return x
>>> f(3)

=== dead_branch_with_bytes
def f(x: int):
    if False:
        y = b"abc"
    return x
>>> f(3)

=== dead_branch_with_reserved_name
def f(x: int):
    if False:
        __jit_x = 1
    return x
>>> f(3)

=== dead_branch_with_two_generators
def f(x: List[int]):
    if False:
        y = [i for i in x for j in x]
    return x
>>> f([3])

=== dead_branch_with_conversion
def f(x: int):
    if False:
        y = f"{x!r}"
    return x
>>> f(3)

=== dead_branch_of_unknown_names
def f(x: int):
    if False:
        y: Foo = bar[...].baz(99999999999999999999)
        [a, b] = x
        print(x, end="")
        assert x
        del x.y
    return x
>>> f(3)

=== syntax_before_names
def f(x: int):
    y = undefined_thing
    with x as z:
        try:
            y = 1
        except ValueError:
            pass
    return x
>>> f(3)
"""
