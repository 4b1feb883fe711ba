"""A program as users write it, over `torch`: it is run as it is, and with `tensorscript as torch`.

It prints nothing that depends on the last bits of a sum.
"""

import copy
import math
from collections import OrderedDict
from typing import Dict, Final, Optional, Tuple

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch import Tensor
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.utils import _pair
from torch.nn.parameter import Parameter
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence, pad_sequence

torch.manual_seed(0)


class PositionalEncoding(nn.Module):
    def __init__(self, d_model: int, max_len: int = 50):
        super(PositionalEncoding, self).__init__()
        pe = torch.zeros(max_len, d_model)
        position = torch.arange(0, max_len, dtype=torch.float).unsqueeze(1)
        div_term = torch.exp(torch.arange(0, d_model, 2).float() * (-math.log(10000.0) / d_model))
        pe[:, 0::2] = torch.sin(position * div_term)
        pe[:, 1::2] = torch.cos(position * div_term)
        self.register_buffer("pe", pe.unsqueeze(0))

    def forward(self, x: Tensor) -> Tensor:
        return x + self.pe[:, : x.size(1)]


class Net(nn.Module):
    hidden: Final[int]
    __constants__ = ["scale"]

    def __init__(self, hidden=8):
        super().__init__()
        self.hidden = hidden
        self.scale = 2.0
        self.emb = nn.Embedding(20, hidden)
        self.pos = PositionalEncoding(hidden)
        layers = [("fc1", nn.Linear(hidden, 16)), ("act", nn.GELU()), ("drop", nn.Dropout(0.1))]
        self.body = nn.Sequential(OrderedDict([*layers, ("fc2", nn.Linear(16, hidden))]))
        self.heads = nn.ModuleDict({"cls": nn.Linear(hidden, 3), "reg": nn.Linear(hidden, 1)})
        self.gains = nn.ParameterList([nn.Parameter(torch.ones(1) * i) for i in range(1, 3)])
        self.alpha = Parameter(torch.zeros(1))
        self.names: Dict[str, int] = {"a": 1, "b": 2}
        self.act = F.relu
        self.apply(self._init)

    def _init(self, m):
        if isinstance(m, nn.Linear):
            nn.init.xavier_uniform_(m.weight)
            if m.bias is not None:
                nn.init.zeros_(m.bias)

    @torch.jit.export
    def helper(self, x: Tensor, k: int = 2) -> Tensor:
        return x * k

    @torch.jit.ignore
    def log(self, x: Tensor) -> None:
        print("log", tuple(x.shape))

    @torch.jit.unused
    def never(self, x):
        return [x for _ in {1, 2}]

    def forward(
        self, tokens: Tensor, mask: Optional[Tensor] = None
    ) -> Tuple[Tensor, Dict[str, Tensor]]:
        x = self.pos(self.emb(tokens)) * self.scale
        if mask is not None:
            x = x.masked_fill(mask.unsqueeze(-1), 0.0)
        x = x + self.body(x)
        for g in self.gains:
            x = x * g
        x = self.act(x)
        out: Dict[str, Tensor] = {}
        for name, head in self.heads.items():
            out[name] = head(x.mean(1))
        if not torch.jit.is_scripting():
            self.log(x * 2)
        self.log(x)
        return self.helper(x, self.names["b"]), out


net = Net().eval()
print(net)
print(sum(p.numel() for p in net.parameters()), [n for n, _ in net.named_parameters()])
with torch.no_grad():
    net.alpha.fill_(0.5)
    net.body.fc1.weight.mul_(0.5)
    tok = torch.randint(0, 20, (2, 5))
    y, d = net(tok)
    print(tok, round(y.sum().item(), 1), sorted(d), d["cls"].shape)
    s = torch.jit.script(net)
    y2, d2 = s(tok, torch.zeros(2, 5, dtype=torch.bool))
    print(torch.allclose(y, y2, atol=1e-5), torch.allclose(d["cls"], d2["cls"], atol=1e-5))
    print(s.helper(torch.ones(2)), s.hidden, s.scale, list(s.state_dict())[:4])
    print(s.code)
    c = copy.deepcopy(net)
    print(c.load_state_dict(net.state_dict()), torch.equal(c.emb.weight, net.emb.weight))
    print(nn.utils.parameters_to_vector(list(net.parameters())).shape)

    g = nn.GRU(3, 4, batch_first=True)
    seqs = [torch.ones(4, 3), torch.ones(2, 3) * 2, torch.ones(3, 3) * 3]
    p = pad_sequence(seqs, batch_first=True)
    packed = pack_padded_sequence(p, [4, 2, 3], batch_first=True, enforce_sorted=False)
    o, h = g(packed)
    u, n = pad_packed_sequence(o, batch_first=True)
    print(u.shape, n, h.shape, (u == 0).sum(), torch.allclose(h[0, 1], u[1, 1]))
    rows, (h, cell) = nn.LSTM(3, 4)(nn.utils.rnn.pack_sequence(seqs, enforce_sorted=False))
    print(rows.data.shape, rows.batch_sizes, h.shape, cell.shape)

    w = nn.utils.weight_norm(nn.Linear(3, 2)) if _pair(1) == (1, 1) else None
    print(sorted(w.state_dict()), w(torch.ones(1, 3)).shape)
    print(sorted(nn.utils.remove_weight_norm(w).state_dict()))

    class Clamp(nn.Module):
        def forward(self, x):
            return x.clamp(min=0)

    conv = nn.Conv2d(1, 2, 3, padding=1)
    seq = nn.Sequential(conv, nn.BatchNorm2d(2), Clamp(), nn.Flatten(), nn.Linear(2 * 16, 3)).eval()
    x = torch.randn(2, 1, 4, 4)
    for made in (torch.jit.script(seq), torch.jit.trace(seq, x)):
        print(torch.allclose(made(x), seq(x), atol=1e-5))
    print([isinstance(m, _BatchNorm) for m in seq], isinstance(conv.weight, nn.Parameter))
    print(
        nn.CrossEntropyLoss(label_smoothing=0.1)(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([2]))
    )
    for name, m in net.named_children():
        print(name, type(m).__name__)
