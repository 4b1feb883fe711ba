"""Programs that make texts of traced tensors, written once for PyTorch and for ours."""

from __future__ import annotations

from typing import Any

from trace_warning_programs import Program, function

inf, nan = float("inf"), float("nan")
TENSORS = [
    "t.tensor([[1.5, 2, 3]])", "t.tensor(3.5)", "t.tensor(3)", "t.tensor(True)",
    "t.tensor([True, False])", "t.tensor([1, 20, 300])", "t.zeros(0)", "t.zeros(2, 0)",
    "t.zeros(0, 3, dtype=t.float64)", "t.zeros(3)", "t.tensor([inf, nan, 1.0])",
    "t.tensor([inf, nan])", "t.tensor([1e10, 1.0])", "t.tensor([1e-6, 1.0])", "t.tensor([1e-6])",
    "t.tensor([1.0, 1e5])", "t.tensor([1.5, 1e5])", "t.tensor(1j)", "t.tensor([1j, 2.5])",
    "t.tensor([[1j, 2.5]]).conj()", "t.tensor([[1j, 2.5]]).conj().imag", "t.tensor([1j, inf])",
    "t.arange(1001)", "t.arange(1001.0)", "t.arange(2002.0).reshape(2, 1001)",
    "t.arange(2002.0).reshape(1001, 2)", "t.arange(1200.0).reshape(8, 10, 15)",
    "t.ones(2, 2, 2)", "t.ones(2, 1, 2, 2, dtype=t.int32)", "t.ones(3, dtype=t.float16)",
    "t.ones(3, dtype=t.bfloat16) * 1.3", "t.tensor([1.5, 2.5], dtype=t.float64)",
    "t.tensor([-0.0, 0.0])", "t.tensor([0.1] * 30)", "t.arange(2002.0).reshape(2, 1001) * 1j",
    "t.zeros(1001, 0)", "t.tensor([1.0], dtype=t.complex128)",
]  # fmt: skip
OPTIONS: list[dict[str, Any]] = [
    {"profile": "short"}, {"profile": "full"}, {"sci_mode": True}, {"sci_mode": False},
    {"threshold": 2, "edgeitems": 1}, {"threshold": 2, "edgeitems": 0}, {"linewidth": 20},
    {"precision": 0}, {"edgeitems": 0},
]  # fmt: skip
SHOWN = [
    "t.arange(12.0).reshape(3, 4) / 7", "t.arange(12)", "t.tensor(1.5)", "t.zeros(0, 2)",
    "t.arange(24.0).reshape(2, 3, 4) * 1j", "t.tensor([1e9, inf])", "t.tensor(2 + 3j)",
]  # fmt: skip


def made(t: Any, text: str) -> Any:
    """The tensor that an expression of the library `t` gives."""
    return eval(text, {"t": t, "inf": inf, "nan": nan})


FUNCTIONS: dict[str, Program] = {
    f"{text} {shapes}": function(text, *shapes)
    for text, *shapes in [
        ("x + len(f'{x}')", "2 3"),
        ("x + len('%s' % x)", "3"),
        ("x + len('%d' % x)", "=3"),
        ("x + len('%5.2f' % x)", "=3.5"),
        ("x + len('{:.3f} {}'.format(x, y))", "=3.5", "2"),
        ("x + len(f'{x!r}')", "2"),
        ("x + len(str([x, y]))", "2 3", "2"),
        ("x + len(repr({'a': x, 'b': (y,)}))", "2 3", "2"),
        ("x + len(str(x.shape))", "2 3"),
        ("x + len(str(tuple(x.shape)))", "2 3"),
        ("x + len(str(list(x.shape)))", "2 3"),
        ("x + len(str(x.size(0)))", "2 3"),
        ("x + len(str(x.numel()))", "2 3"),
        ("x + len(f'{x.numel()} {x.item():.2f}')", "=2.5"),
        ("x + len(f'{x.sum():>10}')", "2 3"),
        ("x + len(str(x[0].tolist()))", "2 3"),
        ("x + len(str(x.max(1)))", "2 3"),
        ("x + len(str(t.ones(2)))", "2"),
        ("x + len(str(x > 0))", "2 2"),
        ("x + len(str(x.numpy()))", "2 2"),
        ("x + len(str(x.detach()))", "2"),
        ("x + len(str(x.T))", "2 3"),
        ("x + len(str(x.unbind()))", "2 3"),
        ("x + len(str(x.split(1)))", "2 3"),
        ("x + len(str(x.to_sparse()))", "2 2"),
        ("x + len(str(x.to_sparse_csr()))", "2 2"),
        ("x + len(str(t.quantize_per_tensor(x, 0.1, 0, t.qint8)))", "2 2"),
        ("x + len(str(t.quantize_per_channel(x, y, z, 0, t.qint8)))", "2 2", "2", "=[0, 0]"),
        ("x + len(f'{t.nn.Parameter(x)}')", "2"),
        ("x + len(f'{t.nn.Parameter(x)}')", "=1.5"),
        ("x + round(float(x.sum()), 2)", "2 2"),
        ("x + float('%.2f' % x.sum())", "2 2"),
        ("(str(x), x.add_(1))[1]", "2 2"),
        ("(str(x), x.view(-1).add_(1))[1]", "2 2"),
        ("(x.relu().tolist(), x + 1)[1]", "2 2"),
        ("(lambda y: (str(y), y * 2)[1])(x.relu())", "3"),
    ]
}


def _of_module(text: str) -> Program:
    """The method `forward` of a module with a parameter `w`, a buffer `b` and a layer."""

    def program(t: Any) -> tuple[Any, tuple[Any, ...]]:
        class Shown(t.nn.Module):  # type: ignore[misc, name-defined]  # of either library
            def __init__(self) -> None:
                super().__init__()
                self.w = t.nn.Parameter(t.full((2, 3), 0.5))
                self.register_buffer("b", t.full((2, 3), 0.5))
                self.layer = t.nn.Linear(3, 3)

        Shown.forward = eval(f"lambda self, x: {text}", {"__name__": __name__, "t": t})
        return Shown(), (t.full((2, 3), 0.5),)

    return program


MODULES: dict[str, Program] = {
    text: _of_module(text)
    for text in [
        "x + self.w + len(str(self.w))",
        "x + len(str(self.b))",
        "x + len(str(self.layer))",
        "self.w.tolist() and x * self.w",
        "(str(self.w * 2), x * self.w)[1]",
        "x + len(str(self.state_dict()))",
        "x + len(str(dict(self.named_parameters())))",
        "x * len(f'{self.w.sum():.2f}')",
        "x * float(self.w.sum())",
    ]
}

PROGRAMS = FUNCTIONS | MODULES
