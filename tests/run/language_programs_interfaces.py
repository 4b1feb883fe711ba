"""Programs with interfaces: where the class of an object stays known, and where it is one of
several."""

TEXT = """
=== iface_loop_of_one_class
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def f(a: int):
    i: I = A(2)
    s = 0
    for k in range(a):
        s += i.run(k)
        i = A(k)
    return s + call(i, a)
>>> f(1)
>>> f(4)
=== iface_one_of_two_classes_passed
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def f(a: int):
    i: I = A(2)
    if a > 3:
        i = B()
    return call(i, a)
>>> f(1)
>>> f(4)
=== iface_optional_assigned
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def f(a: int):
    i: Optional[I] = None
    if a > 3:
        i = B()
    if i is not None:
        return i.run(a)
    return 0
>>> f(1)
>>> f(4)
=== iface_returned
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def make(a: int) -> I:
    return A(a)
def f(a: int):
    return make(a).run(3)
>>> f(1)
>>> f(4)
=== iface_one_of_two_returned
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def make(a: int) -> I:
    if a > 2:
        return A(a)
    else:
        return B()
def f(a: int):
    return make(a).run(3)
>>> f(1)
>>> f(4)
=== iface_returned_early
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def make(a: int) -> I:
    if a > 2:
        return A(a)
    return B()
def f(a: int):
    return make(a).run(3)
>>> f(1)
>>> f(4)
=== iface_dict
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def f(a: int):
    l: Dict[str, I] = {"a": A(1)}
    l["b"] = B()
    return l["b"].run(a)
>>> f(1)
>>> f(4)
=== iface_by_annotate
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def f(a: int):
    i = torch.jit.annotate(I, A(1))
    return i.run(a)
>>> f(1)
>>> f(4)
=== iface_copied_variable
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def f(a: int):
    i: I = A(2)
    j = i
    if a > 2:
        j = B()
    return j.run(a)
>>> f(1)
>>> f(4)
=== iface_tuple_taken_apart
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def f(a: int):
    p: Tuple[I, I] = (A(2), B())
    x, y = p
    return x.run(a) + y.run(a) + p[0].run(1)
>>> f(1)
>>> f(4)
=== iface_attribute
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
@torch.jit.script
class Holder(object):
    def __init__(self, i: I):
        self.i = i
    def swap(self, i: I):
        self.i = i
    def run2(self, x: int) -> int:
        return self.i.run(x)
def f(a: int):
    h = Holder(A(3))
    r = h.run2(a)
    h.swap(B())
    h.i = A(7)
    return r, h.run2(a), h.i.run(1)
>>> f(1)
>>> f(4)
=== iface_default
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def pick(a: int, x: Optional[I] = None) -> int:
    if x is None:
        return a
    return x.run(a)
def f(a: int):
    return pick(a), pick(a, B()), pick(a, x=A(1))
>>> f(1)
>>> f(4)
=== iface_joined_with_a_class
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def f(a: int):
    i: I = A(1)
    if a > 2:
        j = A(1)
    else:
        j = i
    return j.run(a)
>>> f(1)
>>> f(4)
=== iface_loop_of_two_classes
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def f(a: int):
    i: I = A(2)
    s = 0
    while a > 0:
        if a > 2:
            i = B()
        a -= 1
        s += i.run(a)
    return s
>>> f(1)
>>> f(4)
=== iface_loop_left
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def f(a: int):
    i: I = A(2)
    s = 0
    for k in range(a):
        if k > 2:
            i = A(5)
            break
        s += i.run(a)
    return s + i.run(2)
>>> f(1)
>>> f(4)
=== iface_in_a_task
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def f(a: int):
    i: I = A(2)
    t = torch.jit.fork(call, i, a)
    return torch.jit.wait(t)
>>> f(1)
>>> f(4)
=== iface_one_class_after_all
@torch.jit.interface
class I(object):
    def run(self, x: int) -> int:
        pass
@torch.jit.script
class A(object):
    def __init__(self, k: int):
        self.k = k
    def run(self, x: int) -> int:
        return x + self.k
@torch.jit.script
class B(object):
    def __init__(self):
        pass
    def run(self, x: int) -> int:
        return x * 10
def call(i: I, x: int):
    return i.run(x)
def f(a: int):
    i: I = A(2)
    if a > 1:
        i = A(3)
    return i.run(2)
>>> f(1)
>>> f(4)

=== optional_interface_refined
@torch.jit.interface
class I:
    def go(self, x: int) -> int:
        pass
class A:
    def __init__(self, k: int):
        self.k = k
    def go(self, x: int) -> int:
        return x + self.k
class B:
    def __init__(self):
        self.k = 1
    def go(self, x: int) -> int:
        return x * 2
def f(n: int):
    o: Optional[I] = None
    if n > 1:
        o = A(n)
    elif n < -1:
        o = B()
    if o is None:
        return -5
    return o.go(n)
>>> f(2)
>>> f(0)
>>> f(-3)

=== interface_with_a_body
@torch.jit.interface
class One:
    def one(self, x: int) -> int:
        return x
class Impl:
    def __init__(self):
        self.k = 2
    def one(self, x: int) -> int:
        return x * self.k
def inner(o: One, x: int) -> int:
    return o.one(x)
def f(n: int):
    return inner(Impl(), n)
>>> f(5)

=== interface_with_a_docstring
@torch.jit.interface
class One:
    def one(self, x: int) -> int:
        '''What it does.'''
        pass
class Impl:
    def __init__(self):
        self.k = 2
    def one(self, x: int) -> int:
        return x * self.k
def inner(o: One, x: int) -> int:
    return o.one(x)
def f(n: int):
    return inner(Impl(), n)
>>> f(5)

=== interface_constructed
@torch.jit.interface
class One:
    def one(self, x: int) -> int:
        pass
def f(n: int):
    return One().one(n)
>>> f(5)
"""
