"""Programs refused for what stands in a function that another calls, and where graphs say that calls
of builtins are; the format is that of `language_harness`."""

TEXT = r"""
=== called_try
def g(x: int):
    try:
        x = 1
    except ValueError:
        pass
    return x
def f(x: int):
    return g(x)
>>> f(1)

=== called_try2
def g(x: int):
    yield x
def h(x: int):
    return g(x)
def f(x: int):
    return h(x)
>>> f(1)

=== called_global
def g(x: int):
    global zz
    return x
def f(x: int):
    return g(x)
>>> f(1)

=== called_default_obj
class Q:
    pass
def g(x: int, y=Q):
    return x
def f(x: int):
    return g(x)
>>> f(1)

=== called_annot
def g(x: int, y: set):
    return x
def f(x: int):
    return g(x)
>>> f(1)

=== called_kwdef
def g(x: int, *, k: int = 3):
    return x + k
def f(x: int):
    return g(x, k=2)
>>> f(1)

=== called_method_try
class M(nn.Module):
    def g(self, x: int):
        try:
            x = 1
        except ValueError:
            pass
        return x
    def forward(self, x: int):
        return self.g(x)
>>> f(1)

=== called_method_kw
class M(nn.Module):
    def g(self, x: int, *args):
        return x
    def forward(self, x: int):
        return self.g(x)
>>> f(1)

=== called_method_mut
class M(nn.Module):
    def g(self, x: int, y: List[int] = []):
        return x
    def forward(self, x: int):
        return self.g(x)
>>> f(1)

=== called_class_kw
class C:
    def __init__(self, x: int, *args):
        self.x = x
def f(x: int):
    return C(x).x
>>> f(1)

=== called_class_mut
class C:
    def __init__(self, x: int, y: List[int] = []):
        self.x = x
def f(x: int):
    return C(x).x
>>> f(1)

=== called_class_try
class C:
    def __init__(self, x: int):
        self.x = x
    def g(self):
        try:
            pass
        finally:
            pass
def f(x: int):
    return C(x).x
>>> f(1)

=== called_with_setgrad
def f(x):
    with torch.set_grad_enabled(False):
        y = x + 1
    return y
>>> f(T(1))

=== said_mutable_default
def g(x: int, k: List[int] = []):
    k.append(x)
    return k
def f(x: int):
    return g(x)
>>> f(1)

=== said_mutable_default2
def f(x: int, k: List[int] = []):
    k.append(x)
    return k
>>> f(1)

=== said_kwonly_fn
def g(x: int, *, k: int):
    return x + k
def f(x: int):
    return g(x, 2)
>>> f(1)

=== said_kwonly_missing
def g(x: int, *, k: int):
    return x + k
def f(x: int):
    return g(x)
>>> f(1)

=== said_comp_mixed
def f(x: int):
    t = (1, "a", 2.0)
    return [a for a in t]
>>> f(1)

=== said_comp_mixed2
def f(x: int):
    t = (1, 2.0)
    return [a + 1 for a in t]
>>> f(1)

=== said_comp_mixed3
def f(x: int):
    r: List[int] = [a for a in (1, "b")]
    return r
>>> f(1)

=== said_comp_tuple_ok
def f(x: int):
    return [a * 2 for a in (1, 2, x)]
>>> f(1)

=== said_super_forward
class B(nn.Module):
    def forward(self, x):
        return x + 1
class M(B):
    def forward(self, x):
        return super(M, self).forward(x)
>>> f(T(1))

=== said_class_value
class M(nn.Module):
    def forward(self, x):
        y = M
        return x
>>> f(T(1))

=== said_class_value_f
class B(nn.Module):
    def forward(self, x):
        return x + 1
def f(x):
    y = B
    return x
>>> f(T(1))

=== said_ignore_noself
class M(nn.Module):
    @torch.jit.ignore
    def call_np():
        # type: () -> int
        return 1
    def forward(self):
        return self.call_np()
>>> f()

=== said_unused_noself
class M(nn.Module):
    @torch.jit.unused
    def call_np():
        # type: () -> int
        return 1
    def forward(self):
        return self.call_np()
>>> f()

=== said_zip_one
def f(xs: List[int]):
    r = 0
    for (a,) in zip(xs):
        r += a
    return r
>>> f([1, 2])

=== said_zip_one2
def f(xs: List[int]):
    r = 0
    for a in zip(xs):
        r += a[0]
    return r
>>> f([1, 2])

=== said_setgrad
def f(x):
    torch.set_grad_enabled(False)
    return x, torch.is_grad_enabled()
>>> f(T(1))

=== said_class_in_a_list
class M(nn.Module):
    def forward(self, x):
        return [M]
>>> f(T(1))

=== said_class_made
class M(nn.Module):
    def forward(self, x):
        return M()
>>> f(T(1))

=== said_class_training
class M(nn.Module):
    def forward(self, x):
        return M.training
>>> f(T(1))

=== dict_keywords_d3
def f(x: int):
    return dict({"c": 1}, d=x)
>>> f(3)

=== dict_keywords_d4
def f(x: int):
    return dict([("a", 1)],
                b=x)
>>> f(3)

=== dict_keywords_d6
def f(x: Dict[str, int]):
    return dict(x, b=2)
>>> f({"a": 3})

=== del_of_an_object
class Bag:
    def __init__(self):
        self.d = {"a": 1}
    def __delitem__(self, k: str):
        self.d.pop(k)
def f():
    b = Bag()
    del b["a"]
    return b.d
>>> f()

=== del_of_an_object_refused
class Bag:
    def __init__(self):
        self.d = {"a": 1}
def f():
    b = Bag()
    del b["a"]
    return b.d
>>> f()

=== comp_none_first
def f(x: int):
    return [a for a in (None, 1)]
>>> f(1)

=== default_other_type
class Q:
    pass
def g(x: int, y: int = Q):
    return x
def f(x: int):
    return g(x)
>>> f(1)
"""
