"""Programs with modules: lists, dicts and sequences of modules and parameters.

The format is that of `language_harness`; each program is a class `M`.
"""

TEXT = r"""
=== module_list_iterate
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 2)])
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        return x
>>> f(T([[1.0, -2.0]]))
>>> len(f.layers)
>>> len(list(f.layers))

=== module_list_enumerate_zip
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
        self.b = nn.ModuleList([nn.ReLU(), nn.Tanh(), nn.Sigmoid()])
    def forward(self, x):
        for i, layer in enumerate(self.a):
            x = layer(x) * i + 1
        for i, (p, q) in enumerate(zip(self.a, self.b), 2):
            x = q(p(x)) + i
        for k, p in zip([10, 20], self.a):
            x = p(x) + k
        return x
>>> f(T([[1.0, -2.0]]))

=== module_list_index
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.ReLU(), nn.Linear(2, 3)])
    def forward(self, x):
        x = self.layers[0](x)
        x = self.layers[-1](x)
        for layer in self.layers[1:2]:
            x = layer.forward(x)
        for layer in self.layers[:-1][1:]:
            x = layer.forward(x) + 1
        return x, len(self.layers)
>>> f(T([[1.0, -2.0]]))
>>> f.layers[1](T([-1.0]))
>>> [m(T([-1.0, 2.0])) for m in f.layers[1:2]]

=== module_list_comprehension
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 3)])
    def forward(self, x):
        outs = [layer(x) for layer in self.layers]
        more: List[Tensor] = [layer(x) for i, layer in enumerate(self.layers)]
        return outs, more
>>> f(T([[1.0, -2.0]]))

=== module_list_empty
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([])
        self.table = nn.ModuleDict({})
    def forward(self, x):
        for layer in self.layers:
            x = layer(x)
        for k, layer in self.table.items():
            x = layer(x)
        return x, len(self.layers), len(self.table)
>>> f(T([1.0]))

=== module_list_nested
class M(nn.Module):
    def __init__(self):
        super().__init__()
        second = nn.ModuleList([nn.ReLU(), nn.Tanh()])
        self.rows = nn.ModuleList([nn.ModuleList([nn.Linear(2, 2)]), second])
    def forward(self, x):
        for row in self.rows:
            for layer in row:
                x = layer(x)
        return x + self.rows[1][0](x)
>>> f(T([[1.0, -2.0]]))

=== module_list_subclass
class Stack(nn.ModuleList):
    def forward(self, x):
        for layer in self:
            x = layer(x)
        return x + len(self)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.stack = Stack([nn.Linear(2, 2), nn.ReLU()])
    def forward(self, x):
        return self.stack(x)
>>> f(T([[1.0, -2.0]]))

=== module_list_variable_index_refused
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    def forward(self, x, i: int):
        return self.layers[i](x)
>>> f(T([[1.0, -2.0]]), 1)

=== module_list_out_of_range
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2)])
    def forward(self, x):
        return self.layers[3](x)
>>> f(T([[1.0, -2.0]]))

=== module_list_as_value
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2)])
    def forward(self, x):
        layers = self.layers
        y = [layers]
        return x
>>> f(T([[1.0, -2.0]]))

=== sequential
class M(nn.Module):
    def __init__(self):
        super().__init__()
        tail = nn.Sequential(nn.Linear(3, 2), nn.Tanh())
        self.net = nn.Sequential(nn.Linear(2, 3), nn.ReLU(), tail)
    def forward(self, x):
        y = self.net(x)
        for m in self.net:
            x = m(x)
        return x + y, len(self.net)
>>> f(T([[1.0, -2.0]]))

=== sequential_named
from collections import OrderedDict
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.Sequential(OrderedDict([("first", nn.Linear(2, 3)), ("act", nn.ReLU())]))
    def forward(self, x):
        return self.net(x) + self.net.first(x) * self.net[1](x).sum()
>>> f(T([[1.0, -2.0]]))
>>> f.net.first(T([[1.0, -2.0]]))
>>> [n for n, _ in f.net.named_children()]

=== sequential_top
class Inner(nn.Module):
    def forward(self, x):
        return x * 2
class M(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(2, 2), Inner())
>>> f(T([[1.0, -2.0]]))
>>> len(f)
>>> [n for n, _ in f.named_parameters()]

=== sequential_own_forward
class M(nn.Sequential):
    def __init__(self):
        super().__init__(nn.Linear(2, 2), nn.ReLU())
    def forward(self, x):
        outs: List[Tensor] = []
        for m in self:
            x = m(x)
            outs.append(x)
        return outs
>>> f(T([[1.0, -2.0]]))

=== sequential_tuple_pass
class Pair(nn.Module):
    def forward(self, xs: Tuple[Tensor, int]) -> Tuple[Tensor, int]:
        return xs[0] + 1, xs[1] * 2
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.net = nn.ModuleList([Pair(), Pair()])
    def forward(self, x, n: int):
        state = (x, n)
        for m in self.net:
            state = m(state)
        return state
>>> f(T([1.0]), 3)

=== module_dict
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.ModuleDict({"lin": nn.Linear(2, 2), "act": nn.ReLU()})
    def forward(self, x):
        names: List[str] = []
        for key in self.table.keys():
            names.append(key)
        for key in self.table:
            names.append(key)
        for layer in self.table.values():
            x = layer(x)
        for key, layer in self.table.items():
            x = layer(x) + len(key)
        x = self.table["lin"](x)
        return x, names, len(self.table), "lin" in self.table, "zzz" in self.table
>>> f(T([[1.0, -2.0]]))
>>> list(f.table.keys())
>>> "lin" in f.table
>>> f.table["act"](T([-1.0]))
>>> len(f.table)

=== module_dict_contains_prunes
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.ModuleDict({"lin": nn.Linear(2, 2)})
    def forward(self, x):
        if "extra" in self.table:
            x = self.table["extra"](x)
        if "lin" in self.table:
            x = self.table["lin"](x)
        return x
>>> f(T([[1.0, -2.0]]))

=== module_dict_missing_key
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.ModuleDict({"lin": nn.Linear(2, 2)})
    def forward(self, x):
        return self.table["nope"](x)
>>> f(T([[1.0, -2.0]]))

=== module_dict_variable_key
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.ModuleDict({"lin": nn.Linear(2, 2)})
    def forward(self, x, k: str):
        return self.table[k](x)
>>> f(T([[1.0, -2.0]]), "lin")

=== module_dict_enumerate_items
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.ModuleDict({"a": nn.Linear(2, 2), "b": nn.Linear(2, 2)})
    def forward(self, x):
        out: Dict[str, Tensor] = {}
        for i, (k, m) in enumerate(self.table.items()):
            out[k] = m(x) * i
        for m, k in zip(self.table.values(), ["p", "q"]):
            out[k] = m(x)
        return out
>>> f(T([[1.0, -2.0]]))

=== parameter_list
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.ps = nn.ParameterList([nn.Parameter(torch.ones(2)), nn.Parameter(torch.ones(2) * 2)])
    def forward(self, x):
        for p in self.ps:
            x = x * p
        for i, p in enumerate(self.ps):
            x = x + p * i
        return x + self.ps[0] - self.ps[-1], len(self.ps)
>>> f(T([1.0, -2.0]))

=== parameter_dict
class M(nn.Module):
    def __init__(self):
        super().__init__()
        two = nn.Parameter(torch.ones(2) * 2)
        self.ps = nn.ParameterDict({"a": nn.Parameter(torch.ones(2)), "b": two})
    def forward(self, x):
        for k, p in self.ps.items():
            x = x * p + len(k)
        for p in self.ps.values():
            x = x + p
        return x * self.ps["b"], len(self.ps), "a" in self.ps
>>> f(T([1.0, -2.0]))

=== interface_module_list
@torch.jit.interface
class Stage(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass
class One(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1
class Two(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleList([One(), Two()])
    def forward(self, x: Tensor, i: int) -> Tensor:
        stage: Stage = self.stages[i]
        return stage.forward(x)
>>> f(T([3.0]), 0)
>>> f(T([3.0]), 1)

=== interface_module_dict
@torch.jit.interface
class Stage(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass
class One(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1
class Two(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.stages = nn.ModuleDict({"one": One(), "two": Two()})
    def forward(self, x: Tensor, key: str) -> Tensor:
        stage: Stage = self.stages[key]
        return stage.forward(x)
>>> f(T([3.0]), "one")
>>> f(T([3.0]), "two")

=== module_dunders
class Box(nn.Module):
    def __init__(self):
        super().__init__()
        self.items_ = [1, 2, 3]
    def __len__(self) -> int:
        return len(self.items_)
    def __getitem__(self, i: int) -> int:
        return self.items_[i]
    def __contains__(self, k: int) -> bool:
        return k in self.items_
    def forward(self, x: int) -> int:
        return x
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.box = Box()
    def forward(self, i: int) -> Tuple[int, int, bool]:
        return len(self.box), self.box[i], i in self.box
>>> f(1)
>>> len(f.box)

=== attention_heads
class Head(nn.Module):
    def __init__(self):
        super().__init__()
        self.q = nn.Linear(4, 2, bias=False)
        self.k = nn.Linear(4, 2, bias=False)
        self.v = nn.Linear(4, 2, bias=False)
    def forward(self, x, mask: Optional[Tensor] = None):
        w = self.q(x) @ self.k(x).transpose(-2, -1)
        if mask is not None:
            w = w.masked_fill(mask == 0, -1e9)
        return F.softmax(w, dim=-1) @ self.v(x)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.heads = nn.ModuleList([Head() for _ in range(2)])
        self.out = nn.Linear(4, 4)
    def forward(self, x, mask: Optional[Tensor] = None):
        return self.out(torch.cat([h(x, mask) for h in self.heads], -1))
>>> f(torch.arange(12).reshape(1, 3, 4) / 10)
>>> f(torch.arange(12).reshape(1, 3, 4) / 10, torch.tril(torch.ones(3, 3)))

=== dense_block
class Layer(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.fc = nn.Linear(n, 2)
    def forward(self, xs: List[Tensor]) -> Tensor:
        return self.fc(torch.cat(xs, 1))
class M(nn.ModuleDict):
    def __init__(self):
        super().__init__()
        for i in range(3):
            self.add_module("layer%d" % i, Layer(2 + 2 * i))
    def forward(self, x):
        feats = [x]
        for name, layer in self.items():
            feats.append(layer(feats))
        return torch.cat(feats, 1)
>>> f(T([[1.0, -2.0]]))

=== interface_of_no_such_member
@torch.jit.interface
class Layer(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass
class Double(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 2
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([Double(), Double()])
        self.named = nn.ModuleDict({"a": Double()})
    def forward(self, x, i: int, k: str):
        one: Layer = self.layers[i]
        other: Layer = self.named[k]
        return other.forward(one.forward(x))
>>> f(T([1.0]), 1, "a")
>>> f(T([1.0]), 2, "a")
>>> f(T([1.0]), -1, "a")
>>> f(T([1.0]), 0, "b")
"""
