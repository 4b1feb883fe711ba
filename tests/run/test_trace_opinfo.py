"""Operators of PyTorch's database can be traced and replayed: every eighth, for time.

The traced function takes the tensors of a sample as inputs, its other arguments as constants.
"""

from __future__ import annotations

import pytest

import tensorscript as ts
from tensorscript.base.errors import TensorScriptError

pytestmark = pytest.mark.torch
opinfo = pytest.importorskip("opinfo_samples", exc_type=ImportError)
programs = pytest.importorskip("opinfo_programs", exc_type=ImportError)

PREFERRED = ("float32", "int64", "bool", "complex64")
NAMES = sorted(opinfo.entries())[::8]
RANDOM = frozenset({
    "bernoulli", "multinomial", "nn.functional.alpha_dropout", "nn.functional.dropout",
    "nn.functional.dropout2d", "nn.functional.dropout3d", "nn.functional.feature_alpha_dropout",
    "nn.functional.rrelu", "nn.functional.scaled_dot_product_attention", "normal",
    "normal/number_mean", "rand_like", "randint_like", "randn_like", "empty", "empty_like",
    "empty_permuted", "empty_strided", "new_empty", "new_empty_strided",
})  # fmt: skip
"""Their values differ from call to call, or are whatever memory held."""


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.filterwarnings("ignore")
def test_an_operator_is_traced_and_replayed(name: str) -> None:
    entry = opinfo.entries()[name]
    dtypes = [d for d in opinfo.dtypes_of(entry) if str(d).removeprefix("torch.") in PREFERRED]
    if not dtypes:
        pytest.skip("takes none of the dtypes")
    try:
        face = opinfo.face(entry)
    except opinfo.Missing:
        pytest.skip("eager mode lacks it")
    for sample in opinfo.samples(entry, dtypes[0], 1):
        try:
            program, tensors = programs.closed(face, *opinfo.to_ours(sample.all))
            expected = program(*programs.own(tensors))
        except (opinfo.Unconvertible, AttributeError, TensorScriptError, TypeError):
            pytest.skip("eager mode refuses the sample")
        if not tensors or not programs.has_tensors(expected):
            pytest.skip("no tensors in, or none out")
        traced = ts.jit.trace(program, tuple(programs.own(tensors)), check_trace=False)
        found = traced(*programs.own(tensors))
        wanted = opinfo.to_torch(expected)
        assert opinfo.difference(opinfo.to_torch(found), wanted, name not in RANDOM) is None
