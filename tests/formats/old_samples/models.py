"""Made the archives of this folder under PyTorch 1.0 to 1.5: `python models.py FOLDER`.

Each comes with its calls and what that PyTorch computed in `results.json`. It runs under Python
3.7, for which those versions were made.
"""

# ruff: noqa: RUF012, UP006  # Python of that time

import collections
import json
import sys
import typing

import torch
import torch.nn.functional as F
from torch import Tensor, nn

VERSION = torch.__version__
FOLDER = sys.argv[1] if __name__ == "__main__" else ""
Dict, List, Optional, Tuple = typing.Dict, typing.List, typing.Optional, typing.Tuple
Point = collections.namedtuple("Point", ["x", "y"])


class Control(torch.jit.ScriptModule):
    __constants__ = ["steps"]

    def __init__(self):
        super().__init__()
        self.steps = 3
        self.w = nn.Parameter(torch.randn(4, 4))
        self.register_buffer("count", torch.zeros(1))

    @torch.jit.script_method
    def helper(self, x, k):
        # type: (Tensor, int) -> Tensor
        for i in range(k):
            x = torch.tanh(torch.mm(x, self.w)) + i
        return x

    @torch.jit.script_method
    def forward(self, x):
        y = self.helper(x, self.steps)
        self.count.add_(1)
        i = 0
        while i < 3 and bool(y.max() < 100):
            y = y * 2
            i += 1
        return y, self.count.clone(), i


class Lists(torch.jit.ScriptModule):
    @torch.jit.script_method
    def forward(self, x, k):
        # type: (Tensor, Optional[int]) -> Tuple[List[Tensor], Tensor, int, float, Tuple[int, int]]
        out = torch.jit.annotate(List[Tensor], [])
        total = 0
        sizes = [1, 2, 3]
        for s in range(x.size(0)):
            out.append(x[s] * s)
            total += sizes[s % 3]
        kk = 1 if k is None else torch.jit._unwrap_optional(k)
        assert total < 100, "too many rows"
        return out, torch.stack(out)[:, :kk], total // 2, float(total) * 0.5, (total, -total // 2)


class Shared(torch.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        big = torch.randn(6, 4)
        self.a = nn.Parameter(big[:3])
        self.b = nn.Parameter(big[2:].t())
        self.register_buffer("h", torch.randn(3).half())
        self.register_buffer("i", torch.arange(5).to(torch.int8))
        self.register_buffer("d", torch.randn(2).double())

    @torch.jit.script_method
    def forward(self, x):
        return x.matmul(self.a.t()), x.matmul(self.b), self.h.float(), self.i.int(), self.d


class Resampled(torch.jit.ScriptModule):
    @torch.jit.script_method
    def forward(self, x):
        y = F.max_pool2d(F.interpolate(x, scale_factor=2.0), 2)
        return F.interpolate(y, [3, 5], None, "bilinear", True), F.adaptive_avg_pool2d(x, [2, 2])


class Attributes(torch.jit.ScriptModule):
    def __init__(self):
        super().__init__()
        self.d = torch.jit.Attribute({"a": 1, "b": 2}, Dict[str, int])
        self.s = torch.jit.Attribute("word", str)
        self.f = torch.jit.Attribute(2.5, float)
        self.t = torch.jit.Attribute((1, "x"), Tuple[int, str])
        self.b = torch.jit.Attribute(True, bool)
        self.l = torch.jit.Attribute([1, 2], List[int])
        self.m = torch.jit.Attribute({1: torch.ones(1)}, Dict[int, Tensor])

    @torch.jit.script_method
    def forward(self, x):
        x = x * self.f + self.d["a"] + self.d["b"] + self.l[1] + self.m[1]
        return x, self.s + "s", self.t[1], self.b


MODELS = {
    "control": lambda: (Control(), [(torch.randn(2, 4),), (torch.randn(3, 4),)]),
    "lists": lambda: (Lists(), [(torch.randn(3, 4), None), (torch.randn(5, 2), 2)]),
    "shared": lambda: (Shared(), [(torch.randn(2, 4),)]),
    "resampled": lambda: (Resampled(), [(torch.randn(1, 2, 4, 4),)]),
}
if VERSION >= "1.1":
    MODELS["attributes"] = lambda: (Attributes(), [(torch.randn(2),)])
if VERSION >= "1.2":

    @torch.jit.script
    class Pair:
        def __init__(self, a, b):
            # type: (int, Tensor) -> None
            self.a = a
            self.b = b

        def add(self, k):
            # type: (int) -> Pair
            return Pair(self.a + k, self.b * k)

    class Classes(nn.Module):
        def __init__(self):
            super().__init__()
            self.layers = nn.ModuleList([nn.Linear(2, 2, bias=False), nn.Tanh()])

        def forward(self, x):
            p = Pair(1, x).add(2)
            for layer in self.layers:
                x = layer(x)
            return p.b + p.a, Point(x, x + 1)

    class State(nn.Module):
        def __init__(self):
            super().__init__()
            self.w = torch.jit.Attribute(torch.ones(2), Tensor)
            self.k = torch.jit.Attribute(3, int)

        @torch.jit.export
        def __getstate__(self):
            return (self.w * 2, self.k + 1, self.training)

        @torch.jit.export
        def __setstate__(self, state: Tuple[Tensor, int, bool]):
            self.w = state[0]
            self.k = state[1]
            self.training = state[2]

        def forward(self, x):
            return x + self.w * self.k

    MODELS["classes"] = lambda: (torch.jit.script(Classes()), [(torch.randn(2, 2),)])
    if VERSION[:3] != "1.3":  # whose attributes of a Module are none
        MODELS["state"] = lambda: (torch.jit.script(State()), [(torch.randn(2),)])


def plain(value):
    if isinstance(value, Tensor):
        kind = str(value.dtype)[len("torch.") :]
        return {"dtype": kind, "shape": list(value.shape), "data": value.reshape(-1).tolist()}
    if isinstance(value, (list, tuple)):
        return [plain(item) for item in value]
    return value


if __name__ == "__main__":
    results = {}
    for name, make in MODELS.items():
        torch.manual_seed(0)
        model, calls = make()
        file = f"v{VERSION.replace('.', '_')}_{name}"
        model.save(f"{FOLDER}/{file}.pt")
        loaded = torch.jit.load(f"{FOLDER}/{file}.pt")
        results[file] = [{"args": plain(call), "out": plain(loaded(*call))} for call in calls]
    print(json.dumps(results))
