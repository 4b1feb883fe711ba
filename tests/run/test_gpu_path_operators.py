"""Every operator row with native code: its PTX in the emulator gives what its tg means."""

from __future__ import annotations

import re
from collections.abc import Iterator

import numpy as np
import pytest
from operator_samples import (
    TENSORS,
    _leaves,
    difference,
    eager_values,
    is_simple,
    lowered_values,
    one_operator,
    samples,
    tensor_leaf,
)

from tensorscript.backends.ptx.ptxas import check_with_ptxas, find_ptxas
from tensorscript.base.dtypes import from_numpy
from tensorscript.base.errors import InternalError, NotCompilable, TensorScriptError
from tensorscript.base.schema import Schema, overloads, schema
from tensorscript.compiler.gpu import GPULoaded, GPUModule
from tensorscript.compiler.observe import Report, run_passes
from tensorscript.compiler.options import CompileOptions
from tensorscript.compiler.pipeline import PASSES
from tensorscript.lowering.ts_to_tg.specialise import Options, specialise
from tensorscript.lowering.ts_to_tg.specs import TensorSpec
from tensorscript.lowering.ts_to_tg.table import TABLES

ARCH = "sm_80"
OPTIONS = CompileOptions(target=f"ptx-emulate:{ARCH}", verify=True)
UNSUITED = (TypeError, ValueError, AttributeError, IndexError, OverflowError)
"""What sample arguments of the wrong kind meet below the rows."""


def simple_rows() -> Iterator[Schema]:
    """Schemas with a tensor row that sample arguments can be made for."""
    for key in TABLES["tensor"]:
        if not key.startswith("aten::"):
            continue
        for found in [schema(key)] if "." in key else overloads(key):
            if is_simple(found) and not found.is_out:
                yield found


ROWS = {found.full_name: found for found in simple_rows()}


def chosen(found: Schema) -> Iterator[list[object]]:
    """Ordinary floats, and the values that comparisons and rounding trip over."""
    special = False
    for number, arguments in enumerate(samples(found)):
        is_special = any(a is TENSORS["special"] for a in arguments)
        if number == 0 or (is_special and not special):
            yield arguments
        special |= is_special


def emulated_values(name: str, arguments: list[object]) -> list[object]:
    """What the operator's kernels give in the emulator, in the form of `lowered_values`."""
    arrays = [v for v in arguments if isinstance(v, np.ndarray)]
    specs = [TensorSpec(from_numpy(a.dtype), a.shape) for a in arrays]
    out = specialise(one_operator(name, arguments), "f", specs, Options(lists=False))
    scheduled = run_passes(out.module, PASSES, OPTIONS, Report())
    module = GPUModule(scheduled, OPTIONS, out.plan.scalar_leaves)
    code = module.compile()
    if find_ptxas() and code.kernels:
        report = check_with_ptxas(code.ptx, ARCH)
        assert report.accepted, "\n".join(report.errors)
    got = GPULoaded(module, code).call(*arrays)
    results = got if isinstance(got, tuple) else (got,)
    found: list[object] = []
    for leaf in _leaves(out.plan.output):
        match leaf.kind:
            case "constant":
                found.append(leaf.value)
            case "scalar":
                found.append(results[leaf.leaf])
            case _:
                value = np.asarray(results[leaf.leaf])
                found.append(tensor_leaf(out, leaf.leaf, value))
    return found


@pytest.mark.parametrize("name", sorted(ROWS))
def test_emulated_operator(name: str) -> None:
    for arguments in chosen(ROWS[name]):
        try:
            with np.errstate(all="ignore"):
                eager_values(name, arguments)
                expected = lowered_values(name, arguments)
        except (TensorScriptError, *UNSUITED):
            continue  # not arguments that this operator takes
        try:
            got = emulated_values(name, arguments)
        except NotCompilable as error:
            if "computed by the program" in error.message:
                pytest.skip("needs sizes that are found on the device")
            raise
        except InternalError as error:
            if found := re.search(r"no math function '\w+' for f\d+", str(error)):
                pytest.skip(found[0])
            raise
        assert difference(got, expected) == ""
