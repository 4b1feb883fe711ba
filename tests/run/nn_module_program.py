"""One program over `nn.Module` and the containers, run on either library; it writes what it sees.

Every step is one line of the transcript: the text of its value, or the kind and text of its error.
"""

from __future__ import annotations

import copy
from collections.abc import Callable
from typing import Any


def _layers(torch: Any) -> tuple[type, type, type]:
    nn = torch.nn

    class Affine(nn.Module):
        def __init__(self, i: int, o: int) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(o, i))
            self.bias = nn.Parameter(torch.zeros(o))
            self.i = i

        def forward(self, x):
            return x @ self.weight.t() + self.bias

        def extra_repr(self) -> str:
            return f"i={self.i}"

    class Model(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.a = Affine(2, 3)
            self.b = Affine(3, 4)
            self.register_buffer("run", torch.zeros(2))
            self.register_buffer("tmp", torch.zeros(2), persistent=False)
            self.l = nn.ModuleList([Affine(2, 2), Affine(2, 2), Affine(2, 3)])
            self.d = nn.ModuleDict({"x": Affine(1, 1)})
            self.s = nn.Sequential(Affine(2, 2), Affine(2, 2))
            self.p = nn.ParameterList([torch.ones(2, 3)])
            self.q = nn.ParameterDict({"k": torch.ones(1)})
            self.none = None
            self.register_parameter("np", None)
            self.e = nn.ModuleList()

        def forward(self, x):
            return self.b(self.a(x))

    class Stateful(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.b = nn.Buffer(torch.ones(1), persistent=False)
            self.c = nn.Buffer(torch.ones(1))

        def get_extra_state(self) -> Any:
            return 3

        def set_extra_state(self, state: Any) -> None:
            self.got = state

    return Affine, Model, Stateful


class Transcript:
    """The steps of one run."""

    def __init__(self) -> None:
        self.lines: list[str] = []

    def step(self, run: Callable[[], object]) -> None:
        try:
            text = str(run())
        except (RuntimeError, TypeError, KeyError, AttributeError, IndexError, ValueError,
                NotImplementedError) as error:  # fmt: skip
            text = f"{type(error).__name__}: {error}"
        self.lines.append(text)


def transcript(torch: Any) -> list[str]:
    """What the program prints on `torch`, the library or one that stands in for it."""
    log = Transcript()
    _registration(torch, log.step)
    _state(torch, log.step)
    _hooks(torch, log.step)
    _containers(torch, log.step)
    return log.lines


def _registration(torch: Any, step: Callable[[Callable[[], object]], None]) -> None:
    nn = torch.nn
    _, model, _ = _layers(torch)
    m = model()
    x = torch.ones(1)
    step(lambda: m)
    step(lambda: m.foo)
    step(lambda: setattr(m, "a", 3))
    step(lambda: setattr(m, "np", x))
    step(lambda: setattr(m, "run", 3))
    step(lambda: m.register_buffer("a", None))
    step(lambda: m.register_buffer("a.b", None))
    step(lambda: m.register_buffer("z", 3))
    step(lambda: m.register_parameter("", None))
    step(lambda: m.register_parameter(3, None))
    step(lambda: m.register_parameter("o", x))
    step(lambda: m.add_module("run", m))
    step(lambda: m.add_module("", m))
    step(lambda: m.add_module("x", 3))
    step(lambda: nn.Module()(3))
    step(lambda: nn.Module(3))
    step(lambda: nn.Module(a=3))
    for path in ("", "l.0", "l.7", "a.weight"):
        step(lambda path=path: m.get_submodule(path))
    step(lambda: m.get_parameter("a.weight"))
    step(lambda: m.get_parameter("a.i"))
    step(lambda: m.get_buffer("run"))
    step(lambda: m.get_buffer("a.bias"))
    step(lambda: m.set_submodule("b.x", nn.Module()))
    step(lambda: m.set_submodule("", nn.Module()))
    step(lambda: m.set_submodule("b.i", nn.Module()))
    step(lambda: m.b)
    for dtype in (torch.float64, torch.float16, torch.int32):
        step(lambda dtype=dtype: m.to(dtype).a.weight.dtype)
    step(lambda: (m.double().run.dtype, m.half().run.dtype, m.float().run.dtype))
    step(lambda: m.eval().a.training)
    step(lambda: m.train("a"))
    step(lambda: m.requires_grad_(False).a.weight)
    step(lambda: m.apply(lambda part: None) is m)
    step(lambda: nn.Parameter(torch.ones(2), False))
    step(lambda: nn.Parameter())
    c = copy.deepcopy(m)
    step(lambda: (c.a.weight is m.a.weight, c.a.weight, repr(c) == repr(m)))
    step(lambda: delattr(m, "a") or m.a)
    step(lambda: delattr(m, "zz"))

    class Early(nn.Module):
        def __init__(self, value: Any) -> None:
            self.a = value

    step(lambda: Early(nn.Parameter(x)))
    step(lambda: Early(nn.Module()))


def _state(torch: Any, step: Callable[[Callable[[], object]], None]) -> None:
    _, model, stateful = _layers(torch)
    m = model()
    step(lambda: list(m.state_dict()))
    step(lambda: dict(m.state_dict()._metadata))
    step(lambda: [name for name, _ in m.named_modules()])
    step(lambda: [name for name, _ in m.named_parameters(prefix="m")])
    step(lambda: [name for name, _ in m.named_buffers()])
    step(lambda: m.load_state_dict({}))
    state = m.state_dict()
    state["zz"] = torch.ones(1)
    state["a.q"] = 1
    state["a.weight"] = torch.ones(1)
    step(lambda: m.load_state_dict(state))
    step(lambda: m.load_state_dict(state, strict=False))
    del state["a.weight"]
    step(lambda: m.load_state_dict(state, strict=False))
    step(lambda: m.load_state_dict(m.state_dict()))
    step(lambda: m.load_state_dict({**m.state_dict(), "run": 3}))
    step(lambda: m.load_state_dict(3))
    n = stateful()
    step(lambda: n.state_dict())
    step(lambda: n.load_state_dict({}))
    step(lambda: (n.load_state_dict(n.state_dict()), n.got))
    step(lambda: n.load_state_dict({"c": torch.ones(1, 1), "_extra_state": 4}))


def _hooks(torch: Any, step: Callable[[Callable[[], object]], None]) -> None:
    _, model, _ = _layers(torch)
    m = model().requires_grad_(False)
    x = torch.ones(1, 2)
    with m.register_forward_hook(lambda _, args, out: out + 1):
        step(lambda: m(x))
    step(lambda: m(x))
    with m.register_forward_pre_hook(lambda _, args: args[0] * 2):
        step(lambda: m(x))
    with m.register_forward_pre_hook(lambda _, args, kwargs: 3, with_kwargs=True):
        step(lambda: m(x))
    seen: list[object] = []
    with m.register_forward_hook(lambda _, a, kw, out: seen.append(kw), with_kwargs=True):
        step(lambda: m(x=x))
    with m.register_forward_hook(lambda _, a, out: seen.append(out), always_call=True):
        step(lambda: m(3))
    step(lambda: seen)


def _containers(torch: Any, step: Callable[[Callable[[], object]], None]) -> None:
    affine, model, _ = _layers(torch)
    m = model()
    step(lambda: m.l[5])
    step(lambda: (m.l[-1], m.l[1:], m.s[1:], m.s[-1]))
    step(lambda: (m.s + m.s, m.s * 2))
    step(lambda: m.s.insert(9, m.a))
    step(lambda: m.l.__delitem__(1) or m.l)
    step(lambda: m.l.insert(0, affine(9, 9)) or m.l)
    step(lambda: m.s.insert(0, affine(9, 9)) or m.s)
    step(lambda: m.l.extend(3))
    step(lambda: m.d.update(3))
    step(lambda: m.d.update([(1, 2, 3)]))
    step(lambda: m.d.update([3]))
    step(lambda: (m.d.keys(), "x" in m.d, m.d.pop("x"), len(m.d)))
    step(lambda: m.q.update([3]))
    step(lambda: list(m.q.items()))
    step(lambda: m.q | {"b": 1})
    step(lambda: m.p())
    step(lambda: m.p.append(torch.ones(4)).append(2))
    step(lambda: (m.p[1:], m.q.popitem(), len(m.q), m.q.get("k", 5)))
    step(lambda: m.l.pop(0))
    step(lambda: m.s.append(affine(1, 1)))
