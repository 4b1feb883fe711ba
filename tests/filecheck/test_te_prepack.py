"""What becomes of a kernel that packs a constant, and of one that packs an argument?"""

from __future__ import annotations

import io
from collections.abc import Sequence

import numpy as np
from xdsl.context import Context
from xdsl.dialects.builtin import Builtin, ModuleOp
from xdsl.parser import Parser
from xdsl.printer import Printer

from tensorscript.base.dtypes import float32
from tensorscript.dialects.te.buffers import make_buffer
from tensorscript.dialects.te.data import DataAttr
from tensorscript.dialects.te.ops import TE, ConstantOp
from tensorscript.lowering.schedules.prepack import hoist_packing, pack_constants
from tensorscript.lowering.te.evaluate import evaluate

KERNEL = """
te.func @k kernel scheduled contraction (p0: f32[64], p1: f32[64, 64], out o0: f32[64]) {
  te.alloc stack yp: f32[64, 64]
  te.for j in 0 .. 64 serial {
    te.for k in 0 .. 64 serial {
      te.store yp[k, j] = p1.f32[j, k]
    }
  }
  te.for i in 0 .. 64 serial {
    te.store o0[i] = (0.0).f32
    te.for r in 0 .. 64 serial reduce {
      te.update o0[i] add= p0.f32[r] * yp.f32[r, i]
    }
  }
}
te.func @f host scheduled (x: f32[64], y: f32[64, 64], out z: f32[64]) {
  te.call @k(x, %s, z)
}"""

PACKED = """
te.func @k kernel scheduled contraction (p0: f32[64], out o0: f32[64], yp: f32[64, 64]) {
  te.for i in 0 .. 64 serial {
    te.store o0[i] = (0.0).f32
    te.for r in 0 .. 64 serial reduce {
      te.update o0[i] add= p0.f32[r] * yp.f32[r, i]
    }
  }
}
te.func @f host scheduled (x: f32[64], y: f32[64, 64], out z: f32[64]) {
  te.call @k(x, z, w_yp)
}"""


def parsed(argument: str) -> ModuleOp:
    context = Context()
    context.load_dialect(Builtin)
    context.load_dialect(TE)
    text = f"builtin.module {{{KERNEL % argument}\n}}"
    module = Parser(context, text).parse_module()
    first = module.body.block.first_op
    assert first is not None
    data = np.arange(64 * 64, dtype="f4").reshape(64, 64)
    constant = ConstantOp(make_buffer("w", float32, [64, 64]), DataAttr.of(data))
    module.body.block.insert_op_before(constant, first)
    return module


def printed(module: ModuleOp) -> str:
    out = io.StringIO()
    for op in module.body.block.ops:
        if not isinstance(op, ConstantOp):
            Printer(out).print_op(op)
            out.write("\n")
    return out.getvalue().strip()


def test_a_packed_constant_is_a_constant() -> None:
    module = parsed("w")
    packings = hoist_packing(module)
    by_name = {p.function.sym_name.data: p for p in packings}

    def pack(name: str, sources: Sequence[np.ndarray]) -> np.ndarray:
        out = np.zeros((64, 64), "f4")
        evaluate(by_name[name].function, {"p1": sources[0], "yp": out})
        return out

    pack_constants(module, packings, pack)
    module.verify()
    assert printed(module) == PACKED.strip()
    (constant,) = (op for op in module.body.block.ops if isinstance(op, ConstantOp))
    array = constant.data.data.array
    assert array is not None
    np.testing.assert_array_equal(array, np.arange(64 * 64).reshape(64, 64).T)


def test_a_packed_argument_stays() -> None:
    module = parsed("y")
    assert hoist_packing(module) == []
    assert printed(module) == (KERNEL % "y").strip()
