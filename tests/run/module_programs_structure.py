"""Programs with modules: methods, submodules, interfaces and whole models.

The format is that of `language_harness`; each program is a class `M`.
"""

TEXT = r"""
=== methods_call_methods
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 2
    def scale(self, x, by: float = 1.5):
        return x * by + self.k
    def twice(self, x) -> Tensor:
        return self.scale(self.scale(x), by=2.0)
    def forward(self, x):
        return self.twice(x)
>>> f(T([1.0]))
>>> f.scale(T([1.0]))

=== export_method
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 2
    @torch.jit.export
    def extra(self, n: int, m: int = 4) -> int:
        return n * m + self.k
    def forward(self, x):
        return x
>>> f.extra(3)
>>> f.extra(n=1, m=2)
>>> hasattr(f, "extra")

=== export_only
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 2
    @torch.jit.export
    def go(self, n: int):
        return n + self.k
>>> f.go(3)
>>> f(3)

=== ignore_method
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 2
    @torch.jit.ignore
    def python_side(self, x: int) -> int:
        import json
        return len(json.dumps([x])) + self.k
    def forward(self, x: int) -> int:
        return self.python_side(x) + 1
>>> f(3)

=== ignore_function_tensor
@torch.jit.ignore
def plus(x: Tensor, k: float) -> Tensor:
    return x + eval(str(k))
class M(nn.Module):
    def forward(self, x):
        return plus(x, 2.0) * 2
>>> f(T([1.0]))

=== unused_method
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.use = False
    @torch.jit.unused
    def bad(self, x):
        return {1, 2, x}
    def forward(self, x):
        if self.use:
            return self.bad(x)
        return x + 1
>>> f(T([1.0]))

=== unused_method_run
class M(nn.Module):
    @torch.jit.unused
    def bad(self, x: int) -> int:
        return x
    def forward(self, x: int) -> int:
        return self.bad(x)
>>> f(1)

=== static_and_class_methods
class M(nn.Module):
    @staticmethod
    def double(x):
        return x * 2
    def forward(self, x):
        return self.double(x) + M.double(x)
>>> f(T([1.0]))

=== property_get_set
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self._k = 1
    @property
    def k(self) -> int:
        return self._k * 10
    @k.setter
    def k(self, value: int):
        self._k = value
    def forward(self, x: int) -> int:
        self.k = x
        return self.k + 1
>>> f(4)
>>> f._k

=== property_ignored
class M(nn.Module):
    __jit_unused_properties__ = ["bad"]
    def __init__(self):
        super().__init__()
        self.n = 1
    @property
    def bad(self):
        return {self.n}
    def forward(self, x: int) -> int:
        return x + self.n
>>> f(4)

=== property_unused
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 1
    @torch.jit.unused
    @property
    def bad(self):
        return {self.n}
    def forward(self, x: int) -> int:
        return x + self.n
>>> f(4)

=== nested_modules
class Block(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.fc = nn.Linear(n, n)
        self.n = n
    def forward(self, x):
        return x + self.fc(x) * self.n
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.one = Block(2)
        self.two = Block(2)
        self.body = nn.Sequential(*[Block(2) for _ in range(2)])
    def forward(self, x):
        return self.body(self.two(self.one(x))) + self.one.n + self.one.fc.weight.sum()
>>> f(T([[1.0, -2.0]]))
>>> [n for n, _ in f.named_modules()]

=== shared_submodule
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = self.a
        self.c = nn.ModuleList([self.a, nn.ReLU()])
    def forward(self, x):
        return self.a(x) + self.b(x) + self.c[0](x)
>>> f(T([[1.0, -2.0]]))
>>> len(list(f.parameters()))
>>> [n for n, _ in f.named_parameters()]
>>> list(f.state_dict())

=== shared_state
class Counter(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0
    def forward(self) -> int:
        self.n += 1
        return self.n
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Counter()
        self.b = self.a
        self.c = Counter()
    def forward(self) -> Tuple[int, int, int]:
        return self.a(), self.b(), self.c()
>>> f()
>>> f()
>>> (f.a.n, f.b.n, f.c.n)

=== none_submodule
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.down = None
        self.up = nn.ReLU()
        self.other: Optional[nn.Module] = None
    def forward(self, x):
        if self.down is not None:
            x = self.down(x)
        if self.up is not None:
            x = self.up(x)
        return x
>>> f(T([[1.0, -2.0]]))

=== resnet_block
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1 = nn.Conv2d(2, 2, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(2)
        self.relu = nn.ReLU(inplace=True)
        self.conv2 = nn.Conv2d(2, 2, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(2)
        self.downsample = nn.Sequential(nn.Conv2d(2, 2, 1), nn.BatchNorm2d(2))
        self.eval()
    def forward(self, x: Tensor) -> Tensor:
        identity = x
        out = self.conv1(x)
        out = self.bn1(out)
        out = self.relu(out)
        out = self.conv2(out)
        out = self.bn2(out)
        if self.downsample is not None:
            identity = self.downsample(x)
        out += identity
        out = self.relu(out)
        return out
>>> f(torch.arange(18).reshape(1, 2, 3, 3) / 10)

=== training_flag
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)
    def forward(self, x):
        if self.training:
            return x * 2
        return self.drop(x)
>>> f(T([1.0]))
>>> f.eval()(T([1.0]))
>>> f.drop.training
>>> f.train()(T([1.0]))

=== function_attribute
def square(x):
    return x * x
class M(nn.Module):
    def __init__(self, activation=F.relu):
        super().__init__()
        self.activation = activation
        self.op = square
        self.native = torch.tanh
    def forward(self, x):
        return self.op(self.activation(x)) + self.native(x)
>>> f(T([1.0, -2.0]))

=== script_function_attribute
@torch.jit.script
def square(x):
    return x * x
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.op = square
    def forward(self, x):
        return self.op(x) + square(x)
>>> f(T([1.0, -2.0]))

=== getattr_hasattr
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        if hasattr(self, "k"):
            x = x + getattr(self, "k")
        if hasattr(self, "nope"):
            x = x + self.nope
        if hasattr(self.fc, "weight"):
            x = x + getattr(self.fc, "weight").sum()
        return x + getattr(self, "missing", 5)
>>> f(T([1.0, -2.0]))

=== interface_attribute
@torch.jit.interface
class Stage(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass
    def size(self, k: int) -> int:
        pass
class One(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1
    def size(self, k: int) -> int:
        return k
class Two(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 5
    def forward(self, x: Tensor) -> Tensor:
        return x * self.n
    def size(self, k: int) -> int:
        return k * self.n
class M(nn.Module):
    stage: Stage
    def __init__(self):
        super().__init__()
        self.stage = One()
        self.two = Two()
    def forward(self, x: Tensor) -> Tuple[Tensor, int]:
        return self.stage.forward(x), self.stage.size(2)
>>> f(T([1.0, -2.0]))

=== interface_called
@torch.jit.interface
class Stage(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass
class One(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1
class M(nn.Module):
    stage: Stage
    def __init__(self):
        super().__init__()
        self.stage = One()
    def forward(self, x: Tensor):
        return self.stage(x) + torch.jit.fork(self.stage, x).wait()
>>> f(T([1.0]))

=== interface_mismatch
@torch.jit.interface
class Stage(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass
class Wrong(nn.Module):
    def forward(self, x: Tensor, y: Tensor) -> Tensor:
        return x + y
class M(nn.Module):
    stage: Stage
    def __init__(self):
        super().__init__()
        self.stage = Wrong()
    def forward(self, x: Tensor) -> Tensor:
        return self.stage.forward(x)
>>> f(T([3.0]))

=== overload_method
class M(nn.Module):
    @torch.jit._overload_method
    def pick(self, x: int) -> int:
        pass
    @torch.jit._overload_method
    def pick(self, x: Tensor) -> Tensor:
        pass
    def pick(self, x):
        return x + 1
    def forward(self, x: Tensor, n: int) -> Tuple[Tensor, int]:
        return self.pick(x), self.pick(n)
>>> f(T([1.0]), 2)

=== inherited_forward
class Base(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.bonus = 1.0
    def head(self, x):
        return x
    def forward(self, x):
        return self.head(self.fc(x)) + self.bonus
class M(Base):
    def __init__(self):
        super().__init__()
        self.bonus = 3.0
    def head(self, x):
        return x * 2
>>> f(T([[1.0, -2.0]]))

=== prepare_scriptable
class Inner(nn.Module):
    def forward(self, x):
        return x + 1
class Wrapper(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def __prepare_scriptable__(self):
        return self.inner
    def forward(self, *args, **kwargs):
        return self.inner(*args, **kwargs)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = Wrapper()
    def forward(self, x):
        return self.w(x)
>>> f(T([1.0]))

=== named_tuple_result
class Out(NamedTuple):
    logits: Tensor
    length: int
class M(nn.Module):
    def forward(self, x) -> Out:
        return Out(logits=x * 2, length=x.size(0))
>>> f(T([1.0, 2.0]))

=== class_instance_attribute
@torch.jit.script
class Config:
    def __init__(self, n: int, rate: float):
        self.n = n
        self.rate = rate
    def scaled(self) -> float:
        return self.n * self.rate
class M(nn.Module):
    config: Config
    def __init__(self):
        super().__init__()
        self.config = Config(3, 0.5)
    def forward(self, x):
        self.config.n += 1
        return x * self.config.scaled()
>>> f(T([1.0]))
>>> f(T([1.0]))

=== fork_wait_module
class Branch(nn.Module):
    def __init__(self, k: float):
        super().__init__()
        self.k = k
    def forward(self, x):
        return x * self.k
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Branch(2.0)
        self.b = Branch(3.0)
    def helper(self, x):
        return x + 1
    def forward(self, x):
        first = torch.jit.fork(self.a, x)
        second = torch.jit.fork(self.b.forward, x)
        third = torch.jit.fork(self.helper, x)
        return torch.jit.wait(first) + torch.jit.wait(second) + torch.jit.wait(third)
>>> f(T([1.0]))

=== lstm_like_cell
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.ih = nn.Linear(2, 8)
        self.hh = nn.Linear(2, 8)
    def step(self, x, state: Tuple[Tensor, Tensor]) -> Tuple[Tensor, Tuple[Tensor, Tensor]]:
        h, c = state
        i, g, o, r = (self.ih(x) + self.hh(h)).chunk(4, 1)
        c = torch.sigmoid(r) * c + torch.sigmoid(i) * torch.tanh(g)
        h = torch.sigmoid(o) * torch.tanh(c)
        return h, (h, c)
    def forward(self, xs):
        h = torch.zeros(xs.size(1), 2)
        state = (h, h)
        outs: List[Tensor] = []
        for t in range(xs.size(0)):
            out, state = self.step(xs[t], state)
            outs.append(out)
        return torch.stack(outs), state
>>> f(torch.arange(8).reshape(2, 2, 2) / 4)

=== early_exit_on_attribute
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.steps = 3
        self.limit = 10.0
    def forward(self, x):
        for i in range(self.steps):
            x = x * 2
            if bool(x.sum() > self.limit):
                return x, i
        return x, -1
>>> f(T([1.0]))
>>> f(T([9.0]))

=== enum_attribute
class Kind(Enum):
    SUM = 1
    MEAN = 2
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.kind = Kind.MEAN
    def forward(self, x):
        if self.kind == Kind.SUM:
            return x.sum()
        return x.mean()
>>> f(T([1.0, 2.0]))

=== no_super_init
class M(nn.Module):
    def __init__(self):
        pass
    def forward(self, x):
        return x
>>> f(T([1.0]))

=== method_error_stack
class Inner(nn.Module):
    def broken(self, x):
        return x.no_such_method()
    def forward(self, x):
        return self.broken(x)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x):
        return self.inner(x)
>>> f(T([1.0]))

=== recursive_method
class M(nn.Module):
    def forward(self, n: int) -> int:
        if n == 0:
            return 0
        return self.forward(n - 1)
>>> f(3)

=== module_call_arguments
class Inner(nn.Module):
    def forward(self, x, k: int = 2, flag: bool = False) -> Tensor:
        return x * k if flag else x
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x):
        y = self.inner(x, flag=True) + self.inner(x, 3, True)
        return self.inner(x) + y + self.inner.forward(x, k=1)
>>> f(T([1.0]))

=== bad_call_arguments
class Inner(nn.Module):
    def forward(self, x, k: int) -> Tensor:
        return x * k
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x):
        return self.inner(x, "a")
>>> f(T([1.0]))

=== module_as_argument_refused
def use(m, x):
    return m(x)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.ReLU()
    def forward(self, x):
        return use(self.inner, x)
>>> f(T([1.0]))

=== with_no_grad
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x):
        with torch.no_grad():
            y = self.fc(x)
        return y
>>> f(T([[1.0, 2.0]]))

=== running_statistics
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.bn = nn.BatchNorm1d(2)
    def forward(self, x):
        return self.bn(x)
>>> f(T([[1.0, 2.0], [3.0, 5.0]]))
>>> f.bn.running_mean
>>> f.bn.num_batches_tracked
>>> f.eval()(T([[1.0, 2.0]]))

=== embedding_classifier
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(5, 3, padding_idx=0)
        self.fc = nn.Linear(3, 2)
    def forward(self, ids: Tensor, lengths: Optional[List[int]] = None):
        x = self.emb(ids).mean(1)
        if lengths is not None:
            x = x / len(lengths)
        return F.log_softmax(self.fc(x), dim=-1)
>>> f(T([[1, 2, 0]]))
>>> f(T([[1, 2, 0]]), [2])

=== exported_ignored_unused
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = 2
    @torch.jit.export
    def helper(self, x: int) -> int:
        return x * self.w
    @torch.jit.ignore
    def ign(self, x: int) -> int:
        return x + 100
    @torch.jit.unused
    def unu(self, x: int) -> int:
        return x + 100
    def forward(self, x: int):
        if x > 10:
            return self.unu(x)
        return self.helper(x) + self.ign(x)
>>> f(2)
>>> f(12)
>>> f.helper(3)
>>> f.ign(3)

=== forward_by_name
class Inner(nn.Module):
    def forward(self, x, y: int = 3):
        return x + y
    @torch.jit.export
    def other(self, x):
        return x * 7
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.i = Inner()
        self.j = self.i
    def forward(self, x):
        return self.i(x), self.i.forward(x, 4), self.i.other(x), self.j(x, y=1)
>>> f(T([1.0, -1.0]))
>>> f.i.other(T([1.0]))

=== inherited_forward_calls
class Base(nn.Module):
    def __init__(self, k: int):
        super().__init__()
        self.k = k
    def act(self, x):
        return x
    def forward(self, x):
        return self.act(x) * self.k
class M(Base):
    def __init__(self):
        super().__init__(4)
    def act(self, x):
        return x + 1
>>> f(T([1.0, -1.0]))

=== forked_submodules
class Inner(nn.Module):
    def forward(self, x, k: int):
        return x * k
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x):
        futs = torch.jit.annotate(List[torch.jit.Future[Tensor]], [])
        for i in range(3):
            futs.append(torch.jit.fork(self.inner, x, i))
        outs = [torch.jit.wait(t) for t in futs]
        return torch.stack(outs)
>>> f(torch.ones(2))

=== interface_attribute_called
@torch.jit.interface
class Block(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        pass
class A(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x + 1
class B(nn.Module):
    def forward(self, x: Tensor) -> Tensor:
        return x * 5
class M(nn.Module):
    blk: Block
    def __init__(self):
        super().__init__()
        self.blk = A()
    def forward(self, x):
        return self.blk.forward(x)
>>> f(torch.ones(2))

=== sequential_of_tuples
class A(nn.Module):
    def forward(self, x: Tensor) -> Tuple[Tensor, int]:
        return x, 2
class B(nn.Module):
    def forward(self, t: Tuple[Tensor, int]) -> Tensor:
        x, n = t
        return x * n
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = nn.Sequential(A(), B())
    def forward(self, x):
        return self.s(x)
>>> f(torch.ones(2))

=== recursive_module_list
class A(nn.Module):
    def __init__(self, n: int):
        super().__init__()
        self.n = n
        self.child = nn.ModuleList([A(n - 1)]) if n > 0 else nn.ModuleList([])
    def forward(self, x):
        for c in self.child:
            x = c(x)
        return x + self.n
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = A(3)
    def forward(self, x):
        return self.a(x)
>>> f(torch.ones(2))

=== overload_method_missing
class M(nn.Module):
    @torch.jit._overload_method
    def forward(self, x: int):
        pass
    @torch.jit._overload_method
    def forward(self, x: Tensor):
        pass
>>> f(1)

=== forward_of_an_instance
import types
class L(nn.Module):
    def forward(self, x):
        return x * 2
class M(L):
    def __init__(self):
        super().__init__()
        self.forward = types.MethodType(L.forward, self)
    def forward(self, x):
        return x * 3
>>> f(T([1.0]))

=== number_for_a_list_default
from torch._jit_internal import BroadcastingList2
def first(x, k: BroadcastingList2[int] = 1):
    return x + k[0]
class M(nn.Module):
    def forward(self, x):
        return first(x), first(x, 3), F.max_pool2d(x, 2), F.avg_pool2d(x, 2)
>>> f(torch.arange(36.).reshape(1, 1, 6, 6))

=== autocast_inside
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.l = nn.Linear(2, 3)
        self.c = nn.LayerNorm(3)
    def forward(self, x):
        with torch.autocast("cpu", dtype=torch.bfloat16):
            y = self.c(torch.relu(self.l(x)))
            z = F.gelu(y) * 2
        return y, z, self.l(x)
>>> f(T([[1.0, 2.0]]))

=== fills_in_a_module
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.zeros(2, 2))
    @torch.jit.export
    def reset(self):
        nn.init.ones_(self.w)
        nn.init.uniform_(self.w, 2.0, 2.0)
    def forward(self, x):
        return x @ self.w
>>> (f.reset(), f(T([[1.0, 2.0]])))
"""
