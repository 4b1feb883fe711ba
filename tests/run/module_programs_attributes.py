"""Programs with modules: parameters, buffers, constants and other attributes.

The format is that of `language_harness`; each program is a class `M`.
"""

TEXT = r"""
=== linear_relu
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(3, 2)
    def forward(self, x):
        return torch.relu(self.fc(x))
>>> f(T([[1.0, -2.0, 3.0]]))

=== parameter_and_buffer
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(2, 3))
        self.register_buffer("offset", torch.tensor([1.0, 2.0]))
        self.register_buffer("scratch", torch.zeros(1), persistent=False)
    def forward(self, x):
        return torch.mv(self.weight, x) + self.offset + self.scratch
>>> f(T([1.0, -2.0, 3.0]))
>>> list(f.state_dict())
>>> [n for n, _ in f.named_buffers()]

=== optional_parameter
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(3))
        self.register_parameter("bias", None)
    def forward(self, x):
        out = x * self.weight
        if self.bias is not None:
            out = out + self.bias
        return out
>>> f(T([1.0, -2.0, 3.0]))

=== optional_buffer_annotated
class M(nn.Module):
    cache: Optional[Tensor]
    def __init__(self):
        super().__init__()
        self.register_buffer("cache", None)
    def forward(self, x):
        cache = self.cache
        if cache is None:
            return x
        return x + cache
>>> f(T([1.0]))

=== plain_attributes
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.i = 3
        self.s = 0.5
        self.flag = True
        self.name = "abc"
        self.pair = (1, 2.5)
        self.numbers = [1, 2, 3]
        self.table = {"a": 1.0, "b": 2.0}
        self.dtype = torch.float32
    def forward(self, x):
        if self.flag:
            x = x * self.s + self.i
        return x + self.pair[1] + self.table["b"], self.name, self.numbers
>>> f(T([1.0]))
>>> (f.i, f.s, f.flag, f.name, f.pair, f.numbers, f.table)

=== annotated_attributes
class M(nn.Module):
    names: List[str]
    counts: Dict[str, int]
    maybe: Optional[int]
    def __init__(self):
        super().__init__()
        self.names = []
        self.counts = {}
        self.maybe = None
    def forward(self, k: str) -> Tuple[List[str], Dict[str, int], Optional[int]]:
        self.names.append(k)
        if k in self.counts:
            self.counts[k] += 1
        else:
            self.counts[k] = 1
        self.maybe = len(self.names)
        return self.names, self.counts, self.maybe
>>> f("a")
>>> f("b")
>>> f("a")
>>> (f.names, f.counts, f.maybe)

=== jit_attribute
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = torch.jit.Attribute({}, Dict[str, int])
        self.rate = torch.jit.Attribute(2, float)
        self.sizes = torch.jit.Attribute([], List[int])
    def forward(self, k: str, v: int):
        self.table[k] = v
        self.sizes.append(v)
        return self.table, self.rate, self.sizes
>>> f("a", 1)
>>> f("b", 2)

=== final_and_constants
class M(nn.Module):
    __constants__ = ["depth", "sizes"]
    rate: torch.jit.Final[float]
    use: torch.jit.Final[bool]
    def __init__(self):
        super().__init__()
        self.depth = 3
        self.sizes = [2, 4]
        self.rate = 0.25
        self.use = False
    def forward(self, x):
        if self.use:
            x = nonsense(x)
        for i in range(self.depth):
            x = x + self.rate
        return x, self.sizes[1]
>>> f(T([1.0]))
>>> (f.depth, f.rate, f.use)

=== counter
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.count = 0
        self.total = 0.0
    def forward(self, x: float) -> float:
        self.count += 1
        self.total = self.total + x
        return self.total / self.count
>>> f(1.0)
>>> f(3.0)
>>> (f.count, f.total)

=== buffer_reassigned
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))
    def forward(self, x):
        self.mean = self.mean * 0.5 + x * 0.5
        return self.mean
>>> f(T([1.0, 2.0]))
>>> f(T([1.0, 2.0]))
>>> f.mean

=== buffer_in_place
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("seen", torch.zeros(1, dtype=torch.int64))
    def forward(self, x):
        self.seen += 1
        self.seen.add_(x.size(0))
        return x * self.seen
>>> f(T([1.0, 2.0]))
>>> f(T([1.0, 2.0]))
>>> f.seen

=== ignored_attributes
class M(nn.Module):
    __jit_ignored_attributes__ = ["hidden"]
    def __init__(self):
        super().__init__()
        self.hidden = {1, 2}
        self.n = 1
    def forward(self, x: int) -> int:
        return x + self.n
>>> f(4)

=== parameter_annotated_types
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Parameter(torch.ones(2))
        self.b = nn.Parameter(torch.ones(2), requires_grad=False)
    def forward(self, x):
        return x * self.a + self.b, self.a.requires_grad, self.b.requires_grad
>>> f(T([1.0, -2.0]))

=== class_attribute_values
class M(nn.Module):
    scale = 4
    names = ["a", "b"]
    def __init__(self):
        super().__init__()
        self.k = 1
    def forward(self, x: int) -> int:
        return x * self.scale
>>> f(2)

=== device_dtype_attributes
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.device = torch.device("cpu")
        self.dtype = torch.float64
    def forward(self, x):
        return x.to(self.dtype), torch.zeros(2, dtype=self.dtype, device=self.device)
>>> f(T([1.0]))

=== dict_of_lists_attribute
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.groups = {"a": [1, 2], "b": [3]}
        self.shape = torch.Size([2, 3])
    def forward(self, k: str) -> int:
        total = 0
        for v in self.groups[k]:
            total += v
        return total + self.shape[0]
>>> f("a")
>>> f("z")

=== tensor_list_attribute
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.parts = [torch.ones(2), torch.zeros(2)]
        self.named = {"w": torch.ones(2) * 3}
    def forward(self, x):
        for p in self.parts:
            x = x + p
        return x * self.named["w"]
>>> f(T([1.0, 2.0]))

=== undefined_attribute
class M(nn.Module):
    def forward(self, x):
        return x + self.nothing
>>> f(T([1.0]))

=== uncompilable_attribute
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.bad = {}
    def forward(self, x):
        return x + len(self.bad)
>>> f(T([1.0]))

=== uncompilable_attribute_unused
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.bad = {}
        self.weird = object()
        self.pattern = {1, 2}
    def forward(self, x):
        return x + 1
>>> f(T([1.0]))

=== new_attribute_refused
class M(nn.Module):
    def forward(self, x):
        self.y = x
        return x
>>> f(T([1.0]))

=== wrong_attribute_type
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 1
    def forward(self, x):
        self.k = "a"
        return x
>>> f(T([1.0]))

=== constant_assignment_refused
class M(nn.Module):
    __constants__ = ["k"]
    def __init__(self):
        super().__init__()
        self.k = 1
    def forward(self, x):
        self.k = 2
        return x
>>> f(T([1.0]))

=== any_dict_attribute
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.config: Dict[str, float] = {"lr": 0.5}
        self.sizes: List[int] = [1, 2]
    def forward(self, x):
        return x * self.config["lr"] + self.sizes[-1]
>>> f(T([1.0]))

=== ignored_submodule
class M(nn.Module):
    __jit_ignored_attributes__ = ["a", "sub"]
    def __init__(self):
        super().__init__()
        self.a = 1
        self.sub = nn.ReLU()
    def forward(self, x):
        return self.sub(x)
>>> f(T([1.0]))

=== ignored_attribute
class M(nn.Module):
    __jit_ignored_attributes__ = ["a", "sub"]
    def __init__(self):
        super().__init__()
        self.a = 1
    def forward(self, x):
        return x + self.a
>>> f(T([1.0]))

=== state_of_many_kinds
class M(nn.Module):
    n: int
    hist: List[int]
    cache: Dict[str, Tensor]
    def __init__(self):
        super().__init__()
        self.n = 0
        self.hist = []
        self.cache = {}
    def forward(self, x):
        self.n += 1
        self.hist.append(self.n)
        key = str(self.n % 2)
        if key in self.cache:
            self.cache[key] = self.cache[key] + x
        else:
            self.cache[key] = x
        return self.n, self.hist, self.cache
>>> f(T([1.0]))
>>> f(T([2.0]))
>>> f(T([3.0]))
>>> f.n
>>> f.hist

=== buffer_statistics
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("mean", torch.zeros(2))
        self.register_buffer("count", torch.tensor(0))
        self.momentum = 0.5
    def forward(self, x):
        if self.training:
            self.count += 1
            self.mean.mul_(1 - self.momentum).add_(self.momentum * x.mean(0))
        return x - self.mean
>>> f(T([[1.0, 2.0], [3.0, 4.0]]))
>>> f(T([[1.0, 2.0], [3.0, 4.0]]))
>>> f.eval()(T([[1.0, 2.0]]))
>>> f.count
>>> f.mean

=== static_and_final
class M(nn.Module):
    SCALE: Final[int] = 3
    __constants__ = ["names"]
    def __init__(self):
        super().__init__()
        self.names = ["a", "b"]
        self.k: Final[int] = 2
    @staticmethod
    def twice(x):
        return x * 2
    def forward(self, x):
        for n in self.names:
            if n == "a":
                x = self.twice(x)
        return M.twice(x) * self.SCALE + self.k
>>> f(T([1.0]))

=== tuple_attributes
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.size = (2, 3)
        self.mix = (1, "a", 2.0)
        self.dt = torch.float64
        self.dev = torch.device("cpu")
    def forward(self, x):
        h, w = self.size
        zeros = torch.zeros(1, dtype=self.dt, device=self.dev)
        return x.reshape(self.size), h * w, self.mix[1], zeros
>>> f(torch.ones(6))

=== absent_parameter
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("b", torch.ones(1), persistent=False)
        self.register_parameter("p", None)
        self.register_buffer("nb", None)
    def forward(self, x):
        if self.p is not None:
            x = x * self.p
        return x + self.b, self.nb is None
>>> f(torch.ones(1))
>>> list(f.state_dict().keys())

=== script_object_attribute
@torch.jit.script
class Cfg:
    def __init__(self, k: int):
        self.k = k
    def bump(self):
        self.k += 1
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.cfg = Cfg(2)
    def forward(self, x):
        self.cfg.bump()
        return x * self.cfg.k
>>> f(T([1.0, -1.0]))
>>> f(T([1.0, -1.0]))

=== docstrings_of_methods
class M(nn.Module):
    def __init__(self):
        super().__init__()
    @torch.jit.export
    def g(self, x):
        "about g"
        return x
    def forward(self, x):
        "about forward"
        return x
>>> f.forward.__doc__
>>> f.g.__doc__

=== module_enum_as_constant
class Mode(Enum):
    A = "a"
    B = "b"
class M(nn.Module):
    mode: Final[Mode]
    def __init__(self):
        super().__init__()
        self.mode = Mode.B
    def forward(self, x):
        if self.mode == Mode.A:
            x = x + 1
        return x, self.mode.name
>>> f(T([1.0]))
"""
