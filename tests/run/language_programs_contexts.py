"""Programs with the context managers of torch.

The format is that of `language_harness`.
"""

TEXT = r"""
=== autocast_basic
def f(x, y):
    with torch.autocast("cpu", dtype=torch.bfloat16):
        z = torch.mm(x, y)
    return z
>>> f(T([[1.3, 2.0], [3.1, 4.0]]), T([[1.0, 2.7], [3.0, 4.0]]))

=== autocast_policies
def f(x, y):
    with torch.autocast(device_type="cpu", enabled=True):
        z = torch.mm(x, y)
        w = z.float() + 1
        u = torch.softmax(z, 0)
        v = torch.exp(z)
        a = z + z
        b = z.sum()
        c = torch.sum(z, 0, dtype=torch.float64)
        d = torch.cat([z, z])
        e = z.relu()
        g = z * 2.0
        h = torch.nn.functional.linear(x, y)
    return z, w, u, v, a, b, c, d, e, g, h
>>> f(T([[1.3, 2.0], [3.1, 4.0]]), T([[1.0, 2.7], [3.0, 4.0]]))

=== autocast_cuda
def f(x, y):
    with torch.cuda.amp.autocast():
        z = torch.mm(x, y)
    return z
>>> f(T([[1.3, 2.0], [3.1, 4.0]]), T([[1.0, 2.7], [3.0, 4.0]]))

=== autocast_amp
def f(x, y):
    with torch.amp.autocast("cpu"):
        z = x @ y
    return z, x @ y
>>> f(T([[1.3, 2.0], [3.1, 4.0]]), T([[1.0, 2.7], [3.0, 4.0]]))

=== autocast_nested
def f(x, y):
    with torch.autocast("cpu"):
        with torch.autocast("cpu", enabled=False):
            z = torch.mm(x, y)
        w = torch.mm(x, z)
        if bool(w.sum() > 0):
            w2 = torch.mm(x, y)
        else:
            w2 = x
        for i in range(2):
            w2 = torch.mm(x, w2)
    return z, w, w2
>>> f(T([[1.3, 2.0], [3.1, 4.0]]), T([[1.0, 2.7], [3.0, 4.0]]))

=== autocast_of_cpu
def f(x, y):
    with torch.cpu.amp.autocast(True, torch.float16):
        z = torch.mm(x, y)
    return z
>>> f(T([[1.3, 2.0], [3.1, 4.0]]), T([[1.0, 2.7], [3.0, 4.0]]))

=== autocast_kept
def f(x, y):
    c = torch.autocast("cpu")
    with c:
        z = torch.mm(x, y)
    with c as d:
        w = torch.mm(x, y)
    return z, w
>>> f(T([[1.3, 2.0], [3.1, 4.0]]), T([[1.0, 2.7], [3.0, 4.0]]))

=== autocast_in_function
def g(x, y):
    return torch.mm(x, y)
def f(x, y):
    with torch.autocast("cpu"):
        z = g(x, y)
    return z, g(x, y)
>>> f(T([[1.3, 2.0], [3.1, 4.0]]), T([[1.0, 2.7], [3.0, 4.0]]))

=== autocast_return
def f(x, y):
    with torch.autocast("cpu"):
        if x.size(0) == 2:
            return torch.mm(x, y)
    return torch.mm(x, y)
>>> f(T([[1.3, 2.0], [3.1, 4.0]]), T([[1.0, 2.7], [3.0, 4.0]]))
>>> f(T([[1.3, 2.0]]), T([[1.0, 2.7], [3.0, 4.0]]))

=== autocast_no_device
def f(x, y):
    with torch.autocast():
        z = x @ y
    return z
>>> f(T([0.5]), T([1.0]))

=== autocast_layers
def f(x, w, b):
    with torch.autocast("cpu"):
        a = torch.nn.functional.linear(x, w, b)
        c = torch.nn.functional.gelu(a)
        d = torch.nn.functional.layer_norm(c, [2])
        e = torch.log_softmax(d @ d.t(), 1)
    return a, c, d, e
>>> f(T([[1.3, 2.0], [3.1, 4.0]]), T([[1.0, 2.7], [3.0, 4.0]]), T([1.0, 2.0]))

=== record_basic
def f(x, y):
    with torch.autograd.profiler.record_function("hello"):
        z = torch.mm(x, y)
    return z
>>> f(T([[1.3, 2.0], [3.1, 4.0]]), T([[1.0, 2.7], [3.0, 4.0]]))

=== record_profiler
def f(x, n: int):
    with torch.profiler.record_function("outer" + str(n)):
        with torch.profiler.record_function("inner", "args") as r:
            for i in range(n):
                x = x + i
    return x
>>> f(T([1.0]), 3)

=== record_and_autocast
def f(x):
    with torch.profiler.record_function("a"), torch.autocast("cpu"):
        y = x @ x
    return y
>>> f(T([[1.3, 2.0], [3.1, 4.0]]))

=== context_of_nothing
def f(words: List[str]):
    with torch.no_grad():
        out = ""
    for w in words:
        out += w
    return out
>>> f(["a", "b"])

=== context_of_a_return
def f(x: int):
    if x > 1:
        with torch.no_grad():
            return x
    return 0
>>> f(1)
>>> f(2)

=== context_of_pass
@torch.jit.script
class C:
    def __init__(self):
        self.n = 0
    def __enter__(self):
        self.n += 1
        return self
    def __exit__(self, a: Any, b: Any, c: Any):
        self.n += 10
def f(x: Tensor):
    c = C()
    with c:
        pass
    with c as d:
        with c:
            y = x
    return y + c.n
>>> f(T(1))

=== autocast_around_a_task
def g(x: Tensor):
    return torch.mm(x, x)
def f(x: Tensor):
    y = torch.jit.fork(g, x)
    with torch.autocast("cpu"):
        z = torch.jit.wait(torch.jit.fork(g, x))
        w = torch.mm(x, x)
        v = torch.jit.wait(y)
    return z.dtype, w.dtype, v.dtype
>>> f(T([[1.0]]))
"""
