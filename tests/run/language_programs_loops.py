"""Programs on for and while loops, break and continue, and what they iterate over.

The format is that of `language_harness`.
"""

TEXT = r"""
=== for_else
def f(n: int):
    for i in range(n):
        pass
    else:
        n = 7
    return n
>>> f(3)

=== nested_break_return
def f(a: List[List[int]]) -> int:
    for row in a:
        for v in row:
            if v == 3:
                return v * 10
            if v > 5:
                break
        else_ = 1
    return -1
>>> f([[1, 2], [3]])
>>> f([[9, 3]])

=== loop_var_after
def f(x: int):
    for i in range(x):
        pass
    return i
>>> f(1)

=== loop_inner_after
def f(x: int):
    for i in range(x):
        y = i
    return y
>>> f(1)

=== loop_var_shadow
def f(x: int):
    i = 10
    for i in range(x):
        pass
    return i
>>> f(3)
>>> f(0)

=== loop_modify_var
def f(x: int):
    s = 0
    for i in range(x):
        i = i * 2
        s += i
    return s
>>> f(4)

=== loop_modify_bound
def f(x: int):
    s = 0
    for i in range(x):
        x = 2
        s += 1
    return s, x
>>> f(4)

=== for_list_modify
def f(a: List[int]):
    for v in a:
        if len(a) < 5:
            a.append(v)
    return a
>>> f([1, 2])

=== for_tensor
def f(x):
    s = torch.zeros([2])
    for row in x:
        s = s + row
    return s
>>> f(T([[1.0, 2.0], [3.0, 4.0]]))

=== for_str
def f(x: str):
    s = ""
    for c in x:
        s = c + s
    return s
>>> f("abc")

=== for_dict
def f(x: Dict[str, int]):
    s = ""
    n = 0
    for k in x:
        s += k
        n += x[k]
    for k, v in x.items():
        s += k
        n += v
    for v in x.values():
        n += v
    for k in x.keys():
        s += k
    return s, n
>>> f({"a": 1, "b": 2})

=== for_tuple_hetero
def f(x: Tuple[int, str]):
    s = ""
    for v in x:
        s += str(v)
    return s
>>> f((1, "a"))

=== for_tuple_break
def f(x: Tuple[int, int, int]):
    s = 0
    for v in x:
        if v == 2:
            break
        s += v
    return s
>>> f((1, 2, 3))

=== for_enumerate
def f(x: List[str]):
    s = ""
    for i, v in enumerate(x):
        s += str(i) + v
    for i, v in enumerate(x, 5):
        s += str(i) + v
    for i, v in enumerate(x, start=2):
        s += str(i) + v
    return s
>>> f(["a", "b"])

=== for_zip
def f(x: List[str], y: List[int], z: Tuple[int, int]):
    s = ""
    for a, b in zip(x, y):
        s += a + str(b)
    for a, b, c in zip(x, y, range(10)):
        s += a + str(b) + str(c)
    for (i, (a, b)) in enumerate(zip(x, y)):
        s += str(i) + a + str(b)
    return s
>>> f(["a", "b"], [1, 2, 3], (1, 2))

=== for_zip_tuple
def f(x: List[str], z: Tuple[int, str]):
    s = ""
    for a, b in zip(x, z):
        s += a + str(b)
    return s
>>> f(["a", "b"], (1, "q"))

=== for_range_forms
def f(n: int):
    s: List[int] = []
    for i in range(n):
        s.append(i)
    for i in range(2, n):
        s.append(i)
    for i in range(n, 0, -1):
        s.append(i)
    for i in range(0, n, 3):
        s.append(i)
    return s
>>> f(5)
>>> f(0)
>>> f(-2)

=== range_zero_step
def f(n: int):
    s = 0
    for i in range(0, 5, n):
        s += i
    return s
>>> f(0)

=== range_float
def f(n: float):
    s = 0
    for i in range(n):
        s += i
    return s
>>> f(2.0)

=== range_tensor
def f(n):
    s = 0
    for i in range(n):
        s += i
    return s
>>> f(T(3))

=== range_size
def f(x):
    s = 0
    for i in range(x.size(0)):
        s += i
    for j in range(len(x)):
        s += j
    return s
>>> f(T([3, 4, 5]))

=== for_int
def f(n: int):
    for i in n:
        pass
    return n
>>> f(2)

=== for_optional_list
def f(n: Optional[List[int]]):
    s = 0
    for i in n:
        s += i
    return s
>>> f([2])

=== for_multi_target
def f(n: List[Tuple[int, Tuple[int, str]]]):
    s = ""
    for a, (b, c) in n:
        s += str(a + b) + c
    return s
>>> f([(1, (2, "c"))])

=== for_star_target
def f(n: List[Tuple[int, int, int]]):
    s = 0
    for a, *b in n:
        s += a + len(b)
    return s
>>> f([(1, 2, 3)])

=== for_attr_target
@torch.jit.script
class A(object):
    def __init__(self):
        self.x = 0
def f(n: int):
    a = A()
    for a.x in range(n):
        pass
    return a.x
>>> f(4)

=== while_list
def f(x: List[int]):
    n = 0
    while x:
        x.pop()
        n += 1
    return n
>>> f([1, 2])

=== while_len
def f(x: List[int]):
    while len(x) < 10 and x[-1] < 100:
        x.append(x[-1] * 2)
    return x
>>> f([1])
>>> f([50])

=== while_tensor
def f(x):
    while x.sum() < 10:
        x = x * 2
    return x
>>> f(T([1.0]))

=== fork_error_places
def h(n: List[int]):
    return n[3]
def g(x: Tensor, n: int):
    y = x + 1
    return y.sum() + h([n])
def f(x: Tensor):
    fut = torch.jit.fork(g, x, 5)
    a = x + 1
    return a + torch.jit.wait(fut)
>>> f(T([1.0]))

=== fork_wait
def g(x, y: int):
    return x * y
def f(x):
    a = torch.jit.fork(g, x, 2)
    b = torch.jit.fork(g, x, y=3)
    return torch.jit.wait(a) + torch.jit.wait(b)
>>> f(T([1.0]))

=== fork_nobody_waits
def g(x):
    return x * 2
def f(x):
    a = torch.jit.fork(g, x)
    return x + 1
>>> f(T([1.0]))

=== fork_in_branches_nobody_waits
def g(x):
    return x * 2
def f(x, c: bool):
    if c:
        a = torch.jit.fork(g, x)
    else:
        a = torch.jit.fork(g, x + 1)
    return x + 1
>>> f(T([1.0]), True)
>>> f(T([1.0]), False)

=== fork_only_waited_for
def g(x):
    x.add_(1)
    return x
def f(x):
    a = torch.jit.fork(g, x)
    torch.jit.wait(a)
    return x * 2
>>> f(T([1.0]))

=== fork_list
def g(x: int) -> int:
    return x * x
def f(n: int):
    fs: List[torch.jit.Future[int]] = []
    for i in range(n):
        fs.append(torch.jit.fork(g, i))
    return [torch.jit.wait(h) for h in fs]
>>> f(4)

=== fork_method
class A:
    def __init__(self, k: int):
        self.k = k
    def g(self, x: int) -> int:
        return x * self.k
def f(n: int):
    a = A(3)
    h = torch.jit.fork(a.g, n)
    return h.wait()
>>> f(4)

=== fork_tuple
def g(x: int) -> Tuple[int, str]:
    return x, "a"
def f(n: int):
    a, b = torch.jit.wait(torch.jit.fork(g, n))
    return a, b
>>> f(4)

=== cont_defines
def f(xs: List[int]):
    s = 0
    for x in xs:
        if x > 2:
            y = x
        else:
            continue
        s += y
    return s
>>> f([1, 3])

=== break_defines
def f(xs: List[int]):
    s = 0
    for x in xs:
        if x > 2:
            y = x
        else:
            break
        s += y
    return s
>>> f([5, 3, 1])

=== after_break
def f(xs: List[int]):
    for x in xs:
        break
        undefined_thing(x)
    return 1
>>> f([1, 3])

=== after_continue
def f(xs: List[int]):
    s = 0
    for x in xs:
        s += x
        continue
        s += "a"
    return s
>>> f([1, 3])

=== break_refine
def f(xs: List[Optional[int]]):
    s = 0
    for x in xs:
        if x is None:
            break
        s += x
    return s
>>> f([1, None])

=== both_exit
def f(xs: List[int]):
    s = 0
    for x in xs:
        if x > 2:
            break
        else:
            continue
        s += 1
    return s
>>> f([1, 3])

=== range_errors
def f(x: List[int]):
    for i in range():
        pass
    return 1
>>> f([1])

=== cond_in_loop
def f(n: int):
    i = 0
    while (i < n) and (i * i < 50):
        i += 1
        if i == 4:
            continue
        elif i == 9:
            break
    return i
>>> f(5)
>>> f(20)

=== nested_loops_flags
def f(n: int):
    r: List[int] = []
    for i in range(n):
        for j in range(n):
            if j == i:
                continue
            if j > 3:
                break
            r.append(i * 10 + j)
        if i == 2:
            break
    return r
>>> f(6)

=== loop_carried_types
def f(n: int):
    x: Optional[int] = None
    for i in range(n):
        if x is None:
            x = i
        else:
            x = x + i
    return x
>>> f(0)
>>> f(4)

=== loop_tensor_accumulate
def f(xs: List[Tensor]):
    out = xs[0]
    for x in xs[1:]:
        out = torch.cat([out, x])
    return out
>>> f([T([1]), T([2, 3])])

=== loop_carried_optional_argument
def f(x: Optional[int], y: Union[int, str], n: int):
    for i in range(n):
        if i > 2:
            x = i
            y = "a"
    while n > 3:
        x = None
        n -= 1
    return x, y
>>> f(7, 1, 2)
>>> f(None, 1, 5)

=== loop_carried_optional_variables
def f(n: int):
    x: Optional[int] = None
    for j in range(n):
        y = x
        for i in range(n):
            x = y
            if i > 2:
                y = i
    return x
>>> f(2)
>>> f(5)

=== task_of_a_branch
def g(x: Tensor):
    return x + 1
def h(x: Tensor):
    return x * 2
def f(x: Tensor, b: bool):
    if b:
        task = torch.jit.fork(g, x)
    else:
        task = torch.jit.fork(h, x)
    return task.wait()
>>> f(T([1.0]), True)
>>> f(T([3.0]), False)

=== task_of_a_loop
def g(x: Tensor, n: int):
    return x + n, [n]
def f(x: Tensor, n: int):
    task = torch.jit.fork(g, x, 0)
    for i in range(n):
        y, l = torch.jit.wait(task)
        l.append(i)
        task = torch.jit.fork(g, y * len(l), i)
    y, l = torch.jit.wait(task)
    return y, l
>>> f(T([1.0]), 3)
>>> f(T([1.0]), 0)

=== task_whose_result_is_written
def g(x: Tensor):
    return x + 1
def f(x: Tensor, b: bool):
    a = torch.jit.fork(g, x)
    c = torch.jit.fork(g, x * 2)
    if b:
        task = a
    else:
        task = c
    task.wait().mul_(10)
    return a.wait(), c.wait(), task.wait()
>>> f(T([1.0]), True)
>>> f(T([3.0]), False)

=== task_none
def g(x: Optional[Tensor]):
    return x
def f(x: Tensor, b: bool):
    if b:
        task = torch.jit.fork(g, None)
    else:
        task = torch.jit.fork(g, x)
    y = task.wait()
    if y is None:
        return x * 5
    return y
>>> f(T([1.0]), True)
>>> f(T([3.0]), False)

=== task_of_argument
def g(x: Tensor):
    return x
def f(x: Tensor, b: bool):
    y = x + 1
    task = torch.jit.fork(g, y)
    if b:
        task = torch.jit.fork(g, x + 3)
    y.add_(100)
    return task.wait(), y
>>> f(T([1.0]), True)
>>> f(T([3.0]), False)
"""
