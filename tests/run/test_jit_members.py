"""What members of script modules, functions and units give and refuse is what PyTorch's do.

Each row is Python: statements, and an expression behind the last `;`. It is evaluated with `torch`
as TensorScript and as PyTorch, and gives the same text, or an error of the same kind whose first
line begins with the same words.
"""

from __future__ import annotations

import importlib.util
import re
import sys
import warnings
from pathlib import Path
from types import ModuleType

import pytest

from tensorscript import jit

PROGRAM = '''
import copy, inspect, io, pickle
from typing import Dict, List, Optional
from {torch} import jit, nn
import {torch} as torch

class Inner(nn.Module):
    def __init__(self):
        super().__init__()
        self.linear = nn.Linear(2, 2)
        self.register_buffer("b", torch.ones(2))
    def forward(self, x, scale: float = 2.0):
        return self.linear(x) * scale + self.b

class M(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = Inner()
        self.rows = nn.ModuleList([Inner(), Inner()])
        self.n: int = 4
        self.names: List[str] = ["a"]
        self.p = nn.Parameter(torch.ones(2))
    def forward(self, x, k: int = 1):
        """Doc."""
        for row in self.rows:
            x = row(x)
        return self.inner(x) + self.helper(k)
    def helper(self, k: int) -> int:
        return k + self.n
    def not_compiled(self):
        return 1
    @jit.export
    def other(self, x: Dict[str, int]) -> int:
        return len(x) + self.n
    @jit.ignore
    def ignored(self, x: int) -> int:
        return x * 2

def plus(x, y: int = 3):
    return x + y

m, f, x = jit.script(M()), jit.script(plus), torch.ones(1, 2)
Unit = jit.CompilationUnit
def later(done=None):
    made = jit.Future()
    if done is not None:
        made.set_result(done)
    return made
def ready():
    jit.fork(plus, x)
'''

ROWS = """
len(m.rows)
hasattr(m, "not_compiled"), hasattr(m, "helper"), hasattr(m, "other"), hasattr(m, "ignored")
m.not_compiled()
m.helper(3), m.other({"a": 1}), m.ignored(4)
m._c._has_method("not_compiled"), m._c._has_method("helper")
{"ignored", "forward", "inner"} <= set(dir(m)), "not_compiled" in dir(m)
m.p = None
m.inner.b = None
m.inner.b = 3
m.p = torch.zeros(2); m.p.sum().item()
str(inspect.signature(m.forward)), m.forward.__doc__
str(inspect.signature(m.inner.forward))
m._replicate_for_data_parallel().n
m.define("x = 3")
m.define("class A: pass\\n")
m.define("def forward(self, x: int) -> int:\\n  return x\\n")
m.define("def twice(self) -> int:\\n  return 2 * self.n\\n"); m.twice()
Unit("x = 3")
Unit("class A:\\n  pass\\n")
Unit("def f(x: int) -> int:\\n  return x\\ndef f(x: int) -> int:\\n  return x\\n")
Unit("def f(x: int) -> int:\\n  return y\\n")
Unit("def f(x: int) -> int:\\n  return x\\n").f(3)
Unit("def f(x: int) -> int:\\n  return x\\n").g
later(3).value()
later().value()
later(3).set_result(4)
later(3).then(lambda done: done.wait() + 1).wait()
jit.interface(int)
jit.interface(3)
jit.set_fusion_strategy([("FOO", 2)])
jit.set_fusion_strategy([("STATIC", "many")])
jit.set_fusion_strategy([("STATIC", 2)])
s = jit.ScriptModule(); s.define("def forward(self, x: int) -> int:\\n  return x + 1\\n"); s(3)
s = jit.ScriptModule(); s.w = nn.Parameter(x)
s = jit.ScriptModule(); s.zzz
s = jit.ScriptModule(); s.save_to_buffer()[:2]
s = jit.ScriptModule(); copy.deepcopy(s).training
t = jit.trace(Inner(), x); len(t)
t = jit.trace(Inner(), x); t[0]
t = jit.trace(Inner(), x); t.linear(x)
jit.export_opnames(m)
"""


def _loaded(root: str, folder: Path) -> ModuleType:
    path = folder / f"members_{root}.py"
    path.write_text(PROGRAM.replace("{torch}", root))
    spec = importlib.util.spec_from_file_location("members", path)
    assert spec is not None and spec.loader is not None
    made = importlib.util.module_from_spec(spec)
    sys.modules["members"] = made
    spec.loader.exec_module(made)
    return made


_REFUSALS = (AttributeError, IndexError, TypeError, ValueError, ZeroDivisionError, RuntimeError)


def _told(root: str, row: str, folder: Path) -> tuple[str, ...]:
    """What a row gives, or the kinds and the first words of what it raises."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        names = vars(_loaded(root, folder))
        *before, last = row.split("; ")
        try:
            for statement in before:
                exec(statement, names)
            if re.match(r"[\w.]+ = ", last):
                exec(last, names)
                return ("set",)
            return ("gives", repr(eval(last, names)))
        except _REFUSALS as error:
            kinds = [kind.__name__ for kind in _REFUSALS if isinstance(error, kind)]
            words = str(error).strip().partition("\n")[0].partition(" (of Python")[0]
            words = re.sub(r"___torch_mangle_\d+\.", "", words)
            return ("refuses", kinds[-1], words.rstrip(":"))


@pytest.mark.parametrize("row", ROWS.strip().split("\n"))
def test_a_member_does_what_pytorch_s_does(row: str, tmp_path: Path) -> None:
    pytest.importorskip("torch")
    ours, theirs = _told("tensorscript", row, tmp_path), _told("torch", row, tmp_path)
    if "ASSERT FAILED" in theirs[-1] or "incompatible function" in theirs[-1]:
        theirs, ours = theirs[:1], ours[:1]  # its words are about its own parts
    if "undefined Tensor" in theirs[-1]:
        theirs, ours = theirs[:2], ours[:2]
    assert ours == theirs


def test_a_future_fails_as_its_callback_does() -> None:
    done = jit.Future()
    after = done.then(lambda _: 1 // 0)
    done.set_result(None)
    with pytest.raises(ZeroDivisionError):
        after.wait()
