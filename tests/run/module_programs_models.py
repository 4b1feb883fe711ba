"""Programs with modules: idioms of real models.

The format is that of `language_harness`; each program is a class `M`.
"""

TEXT = r"""
=== attribute_read_twice
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = 1
    def forward(self, x):
        a = self.a
        self.a = a + 1
        b = self.a
        return x + a * 10 + b
>>> f(T([1.0]))
>>> f(T([1.0]))

=== types_by_attribute_values
class Inner(nn.Module):
    def __init__(self, dims: List[int]):
        super().__init__()
        self.dims = dims
    def forward(self, x):
        return x.sum(self.dims)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = Inner([0])
        self.b = Inner([0, 1])
    def forward(self, x):
        return self.a(x), self.b(x)
>>> f(torch.ones(2, 3))

=== flags_beside_layers
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
        self.flags = [True, False, True]
    def forward(self, x):
        for i, layer in enumerate(self.layers):
            if self.flags[i]:
                x = layer(x)
        return x
>>> f(T([[1.0, 2.0]]))

=== layers_by_range
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(2, 2) for _ in range(3)])
    def forward(self, x):
        for i in range(len(self.layers)):
            x = self.layers[i](x)
        return x
>>> f(T([[1.0, 2.0]]))

=== autoencoder
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(4, 3), nn.ReLU())
        self.decoder = nn.Sequential(nn.Linear(3, 4), nn.Sigmoid())
    def encode(self, x):
        return self.encoder(x)
    def decode(self, z):
        return self.decoder(z)
    def forward(self, x):
        z = self.encode(x)
        return self.decode(z), z
>>> f(torch.ones(1, 4))

=== class_method_unused
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.w = nn.Parameter(torch.ones(2, 2))
    @staticmethod
    def norm(x, eps: float = 1e-5):
        return x / (x.norm() + eps)
    @classmethod
    def make(cls):
        return cls()
    def forward(self, x):
        return self.norm(x @ self.w)
>>> f(T([[1.0, 2.0]]))

=== list_filled_by_function
def helper(x, ys: List[Tensor]):
    ys.append(x)
    return x * 2
class M(nn.Module):
    def forward(self, x):
        ys: List[Tensor] = []
        for i in range(3):
            x = helper(x, ys)
        return torch.stack(ys).sum(0), len(ys)
>>> f(T([1.0]))

=== dict_of_tensors_grows
class M(nn.Module):
    weights: Dict[str, Tensor]
    def __init__(self):
        super().__init__()
        self.weights = {"a": torch.ones(2)}
    def forward(self, x, key: str):
        if key in self.weights:
            return x * self.weights[key]
        self.weights[key] = x
        return x
>>> f(T([1.0, 2.0]), "a")
>>> f(T([1.0, 2.0]), "b")
>>> f(T([1.0, 2.0]), "b")

=== state_as_named_tuple
class State(NamedTuple):
    h: Tensor
    n: int
class Cell(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
    def forward(self, x, state: Optional[State] = None) -> Tuple[Tensor, State]:
        if state is None:
            state = State(torch.zeros_like(x), 0)
        h = torch.tanh(self.fc(x) + state.h)
        return h, State(h, state.n + 1)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = Cell()
    def forward(self, xs: List[Tensor]):
        state: Optional[State] = None
        outs: List[Tensor] = []
        for x in xs:
            out, state = self.cell(x, state)
            outs.append(out)
        return outs, state
>>> f([T([[1.0, 2.0]]), T([[0.5, 0.5]])])

=== tied_weights
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.a = nn.Linear(2, 2)
        self.b = nn.Linear(2, 2)
        self.b.weight = self.a.weight
    def forward(self, x):
        return self.b(self.a(x))
>>> f(T([[1.0, 2.0]]))
>>> [n for n, _ in f.named_parameters()]

=== optional_layers
class M(nn.Module):
    def __init__(self, flag: bool = True):
        super().__init__()
        self.act: Optional[nn.Module] = nn.ReLU() if flag else None
        self.drop = nn.Dropout(0.1) if not flag else None
    def forward(self, x):
        if self.act is not None:
            x = self.act(x)
        if self.drop is not None:
            x = self.drop(x)
        return x
>>> f(T([-1.0, 2.0]))

=== keyword_only_argument
class M(nn.Module):
    def forward(self, x, *, scale: float):
        return x * scale
>>> f(T([1.0]), scale=2.0)

=== variadic_forward_refused
class M(nn.Module):
    def forward(self, x, *args):
        return x
>>> f(T([1.0]))

=== dict_in_dict_out
class M(nn.Module):
    def forward(self, x: Dict[str, Tensor]) -> Dict[str, Tensor]:
        out: Dict[str, Tensor] = {}
        for k, v in x.items():
            out[k + "_out"] = v + 1
        return out
>>> f({"a": T([1.0]), "b": T([2.0])})

=== tensor_attribute
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.sizes = torch.Size([2, 3])
        self.scale = torch.tensor(2.0)
    def forward(self, x):
        return x.view(self.sizes) * self.scale
>>> f(torch.arange(6).float())

=== index_buffer
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("idx", torch.tensor([1, 0]))
    def forward(self, x):
        return x[self.idx], x.index_select(0, self.idx)
>>> f(torch.arange(4).reshape(2, 2).float())

=== exported_accessors
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.x = 1
    @torch.jit.export
    def get(self) -> int:
        return self.x
    @torch.jit.export
    def set(self, v: int) -> None:
        self.x = v
    def forward(self, x: Tensor) -> Tensor:
        return x * self.get()
>>> f.set(5)
>>> f.get()
>>> f(T([1.0]))

=== forward_overridden
class Base(nn.Module):
    def forward(self, x):
        raise NotImplementedError("base")
class M(Base):
    def forward(self, x):
        return x + 1
>>> f(T([1.0]))

=== list_of_functions_refused
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.fns = [torch.relu, torch.tanh]
    def forward(self, x):
        return self.fns[0](x)
>>> f(T([1.0]))

=== list_of_modules_refused
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.mods = [nn.ReLU(), nn.Tanh()]
    def forward(self, x):
        return self.mods[0](x)
>>> f(T([1.0]))

=== lambda_attribute
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.f = lambda x: x + 1
    def forward(self, x):
        return self.f(x)
>>> f(T([1.0]))

=== mixed_list_refused
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.mixed = [1, "a"]
    def forward(self, x):
        return x + len(self.mixed)
>>> f(T([1.0]))

=== tuple_with_none
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.pair = (1, "a", None)
        self.none = None
    def forward(self, x):
        if self.none is None:
            x = x + self.pair[0]
        return x, self.pair
>>> f(T([1.0]))

=== complex_attribute
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.c = 1 + 2j
    def forward(self, x):
        return x.real, self.c
>>> f(T([1.0]))

=== final_dict
class M(nn.Module):
    table: torch.jit.Final[Dict[str, int]]
    def __init__(self):
        super().__init__()
        self.table = {"a": 1}
    def forward(self, x):
        return x + self.table["a"]
>>> f(T([1.0]))

=== final_list_and_string
class M(nn.Module):
    sizes: torch.jit.Final[List[int]]
    name: torch.jit.Final[str]
    def __init__(self):
        super().__init__()
        self.sizes = [1, 2]
        self.name = "m"
    def forward(self, x):
        total = 0
        for s in self.sizes:
            total += s
        if self.name == "m":
            return x + total
        return x
>>> f(T([1.0]))

=== constants_with_modules
class M(nn.Module):
    __constants__ = ["layers", "missing", "k"]
    def __init__(self):
        super().__init__()
        self.layers = nn.ModuleList([nn.ReLU()])
        self.k = 2
    def forward(self, x):
        for l in self.layers:
            x = l(x)
        return x * self.k
>>> f(T([-1.0, 1.0]))

=== parameters_of_children
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.seq = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
    def forward(self, x):
        return self.seq[0].weight.sum() + self.seq[-1].bias.sum() + x
>>> f(T([1.0]))

=== child_method_and_attribute
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.n = 0
    @torch.jit.export
    def bump(self, k: int) -> int:
        self.n += k
        return self.n
    def forward(self, x):
        return x
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
    def forward(self, x):
        a = self.inner.bump(2)
        self.inner.n = 10
        return x + a, self.inner.n
>>> f(T([1.0]))
>>> f.inner.n

=== nested_module_dicts
class M(nn.Module):
    def __init__(self):
        super().__init__()
        first, second = nn.ModuleDict({"b": nn.ReLU()}), nn.ModuleDict({"b": nn.Tanh()})
        self.d = nn.ModuleDict({"a": first, "c": second})
    def forward(self, x):
        for k, m in self.d.items():
            x = m["b"](x) + len(k)
        return x + self.d["a"]["b"](x)
>>> f(T([-1.0]))

=== dict_comprehension_of_layers
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.ls = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    def forward(self, x):
        ys = {str(i): m(x) for i, m in enumerate(self.ls)}
        return ys
>>> f(T([[1.0, 2.0]]))

=== break_among_layers
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.ls = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    def forward(self, x):
        out = x
        for i, m in enumerate(self.ls):
            if i == 1:
                break
            out = m(out)
        return out
>>> f(T([[1.0, 2.0]]))

=== return_among_layers
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.ls = nn.ModuleList([nn.Linear(2, 2), nn.Linear(2, 2)])
    def forward(self, x):
        for m in self.ls:
            if bool(x.sum() > 0):
                return m(x)
            x = m(x)
        return x
>>> f(T([[1.0, 2.0]]))
>>> f(T([[-1.0, -2.0]]))

=== annotated_locals
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2)
    def forward(self, x):
        w: Tensor = self.lin.weight
        b: Optional[Tensor] = self.lin.bias
        return F.linear(x, w, b), w.shape[0]
>>> f(T([[1.0, 2.0]]))

=== missing_bias
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(2, 2, bias=False)
    def forward(self, x):
        b = self.lin.bias
        if b is not None:
            return x + b
        return self.lin(x)
>>> f(T([[1.0, 2.0]]))

=== steps_in_training
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.training_steps = 0
    def forward(self, x):
        if self.training:
            self.training_steps += 1
        else:
            x = x * 0
        return x
>>> f(T([1.0]))
>>> f.training_steps
>>> f.eval()(T([1.0]))
>>> f.training_steps

=== many_defaults
class M(nn.Module):
    def forward(
        self, x: Tensor, y: Optional[Tensor] = None, flag: bool = True,
        names: Optional[List[str]] = None,
    ) -> Tensor:
        if y is not None and flag:
            x = x + y
        if names is not None:
            x = x + len(names)
        return x
>>> f(T([1.0]))
>>> f(T([1.0]), T([2.0]))
>>> f(T([1.0]), T([2.0]), False)
>>> f(T([1.0]), names=["a", "b"])
>>> f(T([1.0]), bad=1)

=== parameter_written
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.ones(2))
    def forward(self, x):
        with torch.no_grad():
            self.p.mul_(2.0)
        return x * self.p
>>> f(T([1.0, 2.0]))
>>> f.p

=== buffer_items_written
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.register_buffer("a", torch.zeros(3))
    def forward(self, i: int, v: float):
        self.a[i] = v
        self.a[1:] += 1
        return self.a.clone()
>>> f(0, 2.0)
>>> f(2, 3.0)
>>> f.a

=== string_attribute_grows
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.s = "x"
    def forward(self, k: int) -> str:
        self.s = self.s + str(k)
        return self.s
>>> f(1)
>>> f(2)
>>> f.s

=== list_attribute_window
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.hist: List[float] = [0.0]
    def forward(self, x: float) -> float:
        self.hist.append(x)
        if len(self.hist) > 3:
            self.hist = self.hist[1:]
        total = 0.0
        for h in self.hist:
            total += h
        return total / len(self.hist)
>>> f(1.0)
>>> f(2.0)
>>> f(3.0)
>>> f.hist

=== object_of_plain_class
class Holder:
    def __init__(self, x: int):
        self.x = x
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.h = Holder(2)
    def forward(self, y: int) -> int:
        self.h.x += y
        return self.h.x
>>> f(1)
>>> f(1)

=== convolution_classifier
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv1d(1, 2, 3, padding=1)
        self.pool = nn.AdaptiveAvgPool1d(1)
        self.fc = nn.Linear(2, 1)
    def forward(self, x):
        x = F.relu(self.conv(x))
        x = self.pool(x).squeeze(-1)
        return self.fc(x)
>>> f(torch.arange(6).reshape(1, 1, 6).float())

=== gru
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.gru = nn.GRU(2, 3, batch_first=True)
    def forward(self, x, h: Optional[Tensor] = None):
        out, h2 = self.gru(x, h)
        return out[:, -1], h2
>>> f(torch.ones(1, 4, 2))

=== lstm
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.lstm = nn.LSTM(2, 3)
    def forward(self, x):
        out, (h, c) = self.lstm(x)
        return out, h, c
>>> f(torch.ones(4, 1, 2))

=== multihead_attention
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.mha = nn.MultiheadAttention(4, 2, batch_first=True)
        self.eval()
    def forward(self, x):
        y, w = self.mha(x, x, x)
        return y
>>> f(torch.ones(1, 3, 4))

=== transformer_encoder
class M(nn.Module):
    def __init__(self):
        super().__init__()
        layer = nn.TransformerEncoderLayer(4, 2, 8, batch_first=True)
        self.enc = nn.TransformerEncoder(layer, 2)
        self.eval()
    def forward(self, x):
        return self.enc(x)
>>> f(torch.arange(12).reshape(1, 3, 4).float())

=== losses
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.loss = nn.CrossEntropyLoss()
        self.mse = nn.MSELoss(reduction="sum")
    def forward(self, x, t):
        return self.loss(x, t) + self.mse(x, x * 2)
>>> f(T([[1.0, 2.0]]), T([1]))

=== embedding_bag_and_norms
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.e = nn.EmbeddingBag(5, 2, mode="mean")
        self.ln = nn.LayerNorm(2)
        self.gn = nn.GroupNorm(1, 2)
    def forward(self, x, o):
        y = self.ln(self.e(x, o))
        return self.gn(y)
>>> f(T([0, 1, 2]), T([0, 2]))

=== nested_function_refused
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3
    def forward(self, x):
        def inner(y):
            return y + 1
        return inner(x)
>>> f(T([1.0]))

=== methods_in_a_circle
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.k = 3
    @torch.jit.export
    def a(self, x):
        return self.b(x)
    def b(self, x):
        return self.a(x)
    def forward(self, x):
        return x
>>> f(T([1.0]))

=== misspelled_method
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(2, 2)
    def forward(self, x):
        return self.inner.foward(x)
>>> f(T([1.0]))

=== parameter_assigned
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.p = nn.Parameter(torch.ones(2))
    def forward(self, x):
        self.p = x
        return self.p
>>> f(T([1.0, 3.0]))
>>> f.p

=== named_children_walk
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer1 = nn.Linear(2, 2)
        self.layer2 = nn.Linear(2, 2)
    def forward(self, x):
        for name, m in self.named_children():
            x = m(x)
        return x
>>> f(T([[1.0, 2.0]]))

=== module_walks
class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.fc = nn.Linear(2, 2)
        self.norm = nn.BatchNorm1d(2)
    def forward(self, x):
        return self.fc(x)
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.register_buffer("offset", torch.ones(2))
    def forward(self, x):
        names: List[str] = []
        count = 0
        for name, m in self.named_modules():
            names.append(name)
        for m in self.modules():
            count += 1
        for m in self.children():
            x = m(x)
        for name, b in self.named_buffers():
            names.append(name)
            x = x + b
        return x, names, count
>>> f(T([[1.0, 2.0]]))

=== transformer_mask
class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.model = nn.Transformer(4, 1, 1, 1, 4)
    def forward(self, n: int):
        mask = nn.Transformer.generate_square_subsequent_mask(n)
        wide = nn.Transformer.generate_square_subsequent_mask(2, None, torch.float64)
        return mask, wide
>>> f(3)
"""
