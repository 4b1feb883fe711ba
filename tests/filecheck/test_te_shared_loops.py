"""What `gpu_shared_loops` makes of stages that share loops, and of those that do not."""

from __future__ import annotations

import pytest
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin
from xdsl.parser import Parser

from tensorscript.dialects.te.ops import TE, FuncOp
from tensorscript.lowering.schedules.gpu_shared_loops import share_loops
from tensorscript.lowering.te.verify import verify_function

STAGES = """te.func @k kernel logical rows (x: f32[4, 9, 6], out y: f32[4, 9, 6]) {
  te.for i in 0 .. 4 serial {
    te.alloc stack t: f32[1, 6]
    te.for p in 0 .. 6 serial {
      te.store t[0, p] = (0.0).f32
      te.for r in 0 .. 9 serial reduce {
        te.update t[0, p] add= x.f32[i, r, p]
      }
    }
    te.for s in 0 .. 9 serial {
      te.for q in 0 .. 6 serial {
        te.store y[i, s, q] = x.f32[i, s, q] - t.f32[0, q]
      }
    }
  }
}"""

SHARED = """te.func @k kernel logical rows (x: f32[4, 9, 6], out y: f32[4, 9, 6]) {
  te.for i in 0 .. 4 serial {
    te.for p in 0 .. 6 serial {
      te.alloc stack t: f32[]
      te.store t[] = (0.0).f32
      te.for r in 0 .. 9 serial reduce {
        te.update t[] add= x.f32[i, r, p]
      }
      te.for s in 0 .. 9 serial {
        te.store y[i, s, p] = x.f32[i, s, p] - t.f32[()]
      }
    }
  }
}"""


def shared(text: str) -> str | None:
    """The function after the pass, None if it changes nothing."""
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(TE)
    (func,) = Parser(context, "builtin.module {\n" + text + "\n}").parse_module().ops
    assert isinstance(func, FuncOp)
    before = str(func)
    if not share_loops(func):
        assert str(func) == before
        return None
    verify_function(func)
    return str(func)


GROUPS = """te.func @k kernel logical rows (x: f32[8, 9], out y: f32[5, 8, 9]) {
  te.alloc stack t: f32[1, 4, 1]
  te.for g in 0 .. 4 serial {
    te.store t[0, g, 0] = (0.0).f32
    te.for r in 0 .. 9 serial reduce {
      te.update t[0, g, 0] add= x.f32[g * 2, r]
    }
  }
  te.for n in 0 .. 5 serial {
    te.for c in 0 .. 8 serial {
      te.for s in 0 .. 9 serial {
        te.store y[n, c, s] = x.f32[c, s] - t.f32[0, c // 2, 0]
      }
    }
  }
}"""

PARTED = """te.func @k kernel logical rows (x: f32[8, 9], out y: f32[5, 8, 9]) {
  te.for g in 0 .. 4 serial {
    te.alloc stack t: f32[]
    te.store t[] = (0.0).f32
    te.for r in 0 .. 9 serial reduce {
      te.update t[] add= x.f32[g * 2, r]
    }
    te.for n in 0 .. 5 serial {
      te.for c_part in 0 .. 2 serial {
        te.for s in 0 .. 9 serial {
          te.store y[n, g * 2 + c_part, s] = x.f32[g * 2 + c_part, s] - t.f32[()]
        }
      }
    }
  }
}"""


def test_loops_in_the_middle_are_shared_in_groups() -> None:
    assert shared(GROUPS) == PARTED
    assert shared(GROUPS.replace("c in 0 .. 8", "c in 0 .. 7")) is None
    assert shared(GROUPS.replace("c // 2", "c // 3")) is None
    assert shared(GROUPS.replace("c // 2", "s // 2")) is None


def test_stages_are_put_into_the_loops_that_they_share() -> None:
    assert shared(STAGES) == SHARED


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("t.f32[0, q]", "t.f32[0, 5 - q]"),
        ("te.for q in 0 .. 6", "te.for q in 0 .. 5"),
        ("te.for q in 0 .. 6", "te.for q in 1 .. 6"),
        ("f32[1, 6]", "f32[1, 7]"),
        ("x.f32[i, s, q] - t", "y.f32[i, s, 5 - q] - t"),
    ],
    ids=["another place", "fewer", "a later start", "a longer temporary", "a result elsewhere"],
)
def test_other_stages_stay(old: str, new: str) -> None:
    text = STAGES.replace(old, new)
    assert text != STAGES
    if new.startswith("y."):
        text = text.replace("add= x.f32[i, r, p]", "add= y.f32[i, r, p]")
    assert shared(text) is None
