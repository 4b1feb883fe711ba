"""Programs that use modules as values."""

TEXT = """
=== module_kept_by_name
class Inner(nn.Module):
    def forward(self, x):
        return x * 2
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Inner()
        self.ms = nn.ModuleList([Inner(), Inner()])
    def forward(self, x):
        m = self.a
        m = self.ms[1]
        call = m.forward
        for k in self.ms:
            m = k
        for i in range(2):
            n = self.a
            x = n(x)
        return m(x) + call(x)
>>> f(T([1.0]))

=== module_reassigned_in_branch
class Inner(nn.Module):
    def forward(self, x):
        return x * 2
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Inner(), Inner()
    def forward(self, x):
        m = self.a
        if x.sum() > 0:
            m = self.b
        return m(x)
>>> f(T([1.0]))

=== module_assigned_in_both_branches
class Inner(nn.Module):
    def forward(self, x):
        return x * 2
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Inner(), Inner()
    def forward(self, x):
        if x.sum() > 0:
            m = self.a
        else:
            m = self.b
        return m(x)
>>> f(T([1.0]))

=== module_reassigned_in_loop
class Inner(nn.Module):
    def forward(self, x):
        return x * 2
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Inner(), Inner()
    def forward(self, x):
        m = self.a
        for i in range(3):
            x = m(x)
            m = self.b
        return x
>>> f(T([1.0]))

=== module_of_ternary
class Inner(nn.Module):
    def forward(self, x):
        return x * 2
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Inner(), Inner()
    def forward(self, x):
        m = self.a if x.sum() > 0 else self.b
        return m(x)
>>> f(T([1.0]))

=== module_of_ternary_by_method
class Inner(nn.Module):
    def forward(self, x):
        return x * 2
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Inner(), Inner()
    def forward(self, x):
        m = self.a if x.sum() > 0 else self.b
        return m.forward(x)
>>> f(T([1.0]))

=== module_out_of_tuple
class Inner(nn.Module):
    def forward(self, x):
        return x * 2
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a, self.b = Inner(), Inner()
    def forward(self, x):
        m, n = self.a, self.b
        return m(n(x))
>>> f(T([1.0]))

=== module_list_unpacked
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.ms = nn.ModuleList([nn.ReLU(), nn.Tanh()])
    def forward(self, x):
        m, n = self.ms
        return m(n(x))
>>> f(T([1.0]))

=== module_iterated
class M(nn.Module):
    def forward(self, x):
        for m in self:
            x = m(x)
        return x
>>> f(T([1.0]))

=== module_subscripted
class M(nn.Module):
    def forward(self, x):
        return self[0](x)
>>> f(T([1.0]))

=== module_as_condition
class M(nn.Module):
    def forward(self, x):
        if self:
            x = x + 1
        return x
>>> f(T([1.0]))

=== module_compared
class M(nn.Module):
    def forward(self, x):
        return self == self
>>> f(T([1.0]))

=== module_kinds_in_a_list
class Twice(nn.Module):
    def forward(self, x):
        return x * 2
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.ms = nn.ModuleList([Twice(), nn.ReLU(), Twice()])
    def forward(self, x):
        for m in self.ms:
            if isinstance(m, Twice):
                x = m(m(x))
            elif isinstance(m, nn.ReLU):
                x = m(x) + 1
        return x, isinstance(x, nn.ReLU), isinstance(self.ms[0], nn.ReLU)
>>> f(T([1.0, -1.0]))
"""
