"""Programs with calls that are made when somebody waits for them.

The format is that of `language_harness`.
"""

TEXT = r"""
=== await_int
Await = torch.jit._Await
def delayed(z: int) -> int:
    return z + 3
def f(x: Tensor):
    aw: Await[int] = torch.jit._awaitable(delayed, 99)
    return torch.jit._awaitable_wait(aw) + x
>>> f(T([1.0, 2.0]))

=== await_there
def f(x: Tensor):
    aw = torch.jit._awaitable_nowait(13)
    return torch.jit._awaitable_wait(aw) + x
>>> f(T([1.0, 2.0]))

=== await_attributes
Await = torch.jit._Await
class C:
    def __init__(self, a: Tensor, b: Tensor):
        self.a = a
        self.b = b
    def get(self):
        return self.b
def scaled(c: C) -> C:
    return C(c.a * 2, c.b * 3)
def f(x: Tensor):
    aw: Await[C] = torch.jit._awaitable(scaled, C(x, x))
    first = aw.a
    return first + aw.get()
>>> f(T([1.0, 2.0]))

=== await_methods
def twice(x: Tensor):
    return x * 2
def f(x: Tensor):
    aw = torch.jit._awaitable(twice, x)
    return aw.sum(), aw.shape, aw.T
>>> f(T([[1.0, 2.0]]))

=== await_when_first_asked
def shown(x: int) -> int:
    print("made of", x)
    return x
def f(x: int):
    aw = torch.jit._awaitable(shown, x)
    torch.jit._awaitable(shown, 7)
    print("before")
    a = torch.jit._awaitable_wait(aw)
    return a + torch.jit._awaitable_wait(aw)
>>> f(3)

=== await_sees_later_writes
def twice(x: Tensor):
    return x * 2
def f(x: Tensor):
    aw = torch.jit._awaitable(twice, x)
    x.add_(1)
    y = torch.jit._awaitable_wait(aw)
    x.add_(1)
    return y, torch.jit._awaitable_wait(aw)
>>> f(T([1.0, 2.0]))

=== await_in_branch
def twice(x: Tensor):
    return x * 2
def f(x: Tensor):
    aw = torch.jit._awaitable(twice, x)
    if bool(x.sum() > 0):
        return torch.jit._awaitable_wait(aw)
    return x
>>> f(T([1.0, 2.0]))
>>> f(T([-1.0, -2.0]))

=== await_after_branch
def twice(x: Tensor):
    return x * 2
def f(x: Tensor):
    if bool(x.sum() > 0):
        aw = torch.jit._awaitable(twice, x)
    else:
        aw = torch.jit._awaitable_nowait(x)
    x.add_(1)
    return torch.jit._awaitable_wait(aw)
>>> f(T([1.0, 2.0]))
>>> f(T([-1.0, -2.0]))

=== await_in_branches
def twice(x: Tensor):
    return x * 2
def f(x: Tensor):
    aw = torch.jit._awaitable(twice, x)
    if bool(x.sum() > 0):
        y = torch.jit._awaitable_wait(aw)
    else:
        y = torch.jit._awaitable_wait(aw) + 1
    x.add_(1)
    return y + torch.jit._awaitable_wait(aw)
>>> f(T([1.0, 2.0]))
>>> f(T([-1.0, -2.0]))

=== await_perhaps_before
def twice(x: Tensor):
    return x * 2
def f(x: Tensor):
    aw = torch.jit._awaitable(twice, x)
    y = x + 1
    if bool(x.sum() > 0):
        y = torch.jit._awaitable_wait(aw)
    x.add_(1)
    return y + torch.jit._awaitable_wait(aw)
>>> f(T([1.0, 2.0]))
>>> f(T([-1.0, -2.0]))

=== await_in_loop_of_unknown_length
def twice(x: Tensor):
    return x * 2
def f(x: Tensor):
    aw = torch.jit._awaitable(twice, x)
    y = x
    for i in range(int(x.sum())):
        y = y + torch.jit._awaitable_wait(aw)
    return y + torch.jit._awaitable_wait(aw)
>>> f(T([1.0, 2.0]))
>>> f(T([-1.0, -2.0]))

=== await_in_loop
def twice(x: Tensor):
    return x * 2
def f(x: Tensor, n: int):
    y = x
    aw = torch.jit._awaitable(twice, x)
    for i in range(n):
        y = y + torch.jit._awaitable_wait(torch.jit._awaitable(twice, y))
        y = y + torch.jit._awaitable_wait(aw)
    return y
>>> f(T([1.0, 2.0]), 3)
>>> f(T([1.0, 2.0]), 0)

=== await_list
Await = torch.jit._Await
def delayed(z: int) -> int:
    return z + 3
def f(n: int):
    found: List[Await[int]] = []
    for i in range(n):
        found.append(torch.jit._awaitable(delayed, i))
    s = 0
    for aw in found:
        s += torch.jit._awaitable_wait(aw)
    return s
>>> f(4)

=== await_argument
Await = torch.jit._Await
def minus(x: Tensor) -> Tensor:
    return -1 * x
def g(aw: Await[Tensor]) -> Tensor:
    return 3 * torch.jit._awaitable_wait(aw)
def f(x: Tensor):
    aw = torch.jit._awaitable(minus, x)
    return g(aw) + x + torch.jit._awaitable_wait(aw)
>>> f(T([1.0, 2.0]))

=== await_of_await
Await = torch.jit._Await
def inner(x: Tensor) -> Await[Tensor]:
    return torch.jit._awaitable_nowait(3 * x)
def outer(x: Tensor) -> Await[Await[Tensor]]:
    return torch.jit._awaitable(inner, x)
def f(x: Tensor) -> Tensor:
    return torch.jit._awaitable_wait(torch.jit._awaitable_wait(outer(x)))
>>> f(T([1.0, 2.0]))

=== await_tuple
def several(x: Tensor) -> Tuple[Tensor, List[Tensor]]:
    return 100 * x, [x * i for i in range(5)]
def f(x: Tensor):
    aw = torch.jit._awaitable(several, x)
    _, rows = torch.jit._awaitable_wait(aw)
    return rows[3]
>>> f(T([1.0, 2.0]))

=== await_optional
Await = torch.jit._Await
def f(x: int):
    aw: Optional[Await[int]] = None
    if x > 0:
        aw = torch.jit._awaitable_nowait(x)
    if aw is not None:
        return torch.jit._awaitable_wait(aw)
    return 0
>>> f(3)
>>> f(-3)

=== await_isinstance
def twice(x: Tensor):
    return x * 2
def f(x: Tensor):
    aw = torch.jit._awaitable(twice, x)
    assert isinstance(aw, torch.jit._Await)
    return torch.jit._awaitable_wait(aw)
>>> f(T([1.0, 2.0]))

=== await_raises
def refused(x: int) -> int:
    if x > 0:
        raise ValueError("no")
    return x
def f(x: int):
    aw = torch.jit._awaitable(refused, x)
    return torch.jit._awaitable_wait(aw)
>>> f(-1)
>>> f(1)

=== await_fork
def twice(x: Tensor):
    return x * 2
def f(x: Tensor):
    later = torch.jit.fork(twice, x)
    aw = torch.jit._awaitable(twice, x)
    return torch.jit.wait(later) + torch.jit._awaitable_wait(aw)
>>> f(T([1.0, 2.0]))

=== await_module
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        nn.init.ones_(self.linear.weight)
        nn.init.ones_(self.linear.bias)
    def helper(self, x: Tensor) -> Tensor:
        return self.linear(x)
    def forward(self, x: Tensor):
        a = torch.jit._awaitable(self.helper, x)
        b = torch.jit._awaitable(self.linear, x)
        c = torch.jit._awaitable(torch.relu, x)
        return (
            torch.jit._awaitable_wait(a) + torch.jit._awaitable_wait(b)
            + torch.jit._awaitable_wait(c)
        )
>>> f(T([1.0, -2.0]))

=== await_is_no_tensor
def twice(x: Tensor):
    return x * 2
def f(x: Tensor):
    return twice(torch.jit._awaitable(twice, x))
>>> f(T([1.0, 2.0]))

=== await_has_no_items
def twice(x: Tensor):
    return x * 2
def f(x: Tensor):
    aw = torch.jit._awaitable(twice, x)
    return aw[0]
>>> f(T([1.0, 2.0]))

=== await_lacks_argument
def twice(x: Tensor):
    return x * 2
def f(x: Tensor):
    return torch.jit._awaitable_wait(torch.jit._awaitable(twice))
>>> f(T([1.0, 2.0]))

=== await_waits_for_tensor
def f(x: Tensor):
    return torch.jit._awaitable_wait(x)
>>> f(T([1.0, 2.0]))

=== await_lacks_attribute
def f(x: int):
    aw = torch.jit._awaitable_nowait(x)
    return aw.missing
>>> f(1)

=== await_is_no_bool
def f(x: int):
    if torch.jit._awaitable_nowait(x):
        return 1
    return 0
>>> f(1)
"""
