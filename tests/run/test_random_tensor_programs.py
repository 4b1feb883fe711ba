"""Random programs of indexing, scatters, scans, sorts, integers and writes through views compute
what PyTorch's eager mode computes: in eager mode, in the interpreter and natively.

A step is kept if PyTorch takes it. What is compared is exact: elements are quarters and small
integers, and no step rounds, so that a sort or a comparison of what steps before it gave is the
same everywhere.
"""

from __future__ import annotations

from collections.abc import Callable
from random import Random
from typing import Any

import numpy as np
import pytest

import tensorscript as ts

PROGRAMS = 14
OPERANDS = 3
EXPRESSIONS = (
    "{a} + {b}", "{a} - {b}", "{a} * 2", "{a} * {b}", "{a} // 3", "{a} % 4", "{a} << 1",
    "{a} & {b}", "{a} > {b}", "{a} == 1", "~{a}", "torch.where({a} > 0, {a}, {b})",
    "{a}.masked_fill({a} > 1, 2)", "{a}.to(torch.int32)", "{a}.to(torch.uint8)",
    "{a}.to(torch.complex64)", "torch.floor({a})", "torch.nan_to_num({a})",
    "torch.maximum({a}, {b})", "torch.clamp({a}, -1, 2)", "{a}.t()", "{a}.transpose(0, -1)",
    "{a}[1:, ::2]", "{a}[..., :-1]", "{a}[None, 0]", "{a}[{b} > 0]", "{a}[[0, -1, 0]]",
    "{a}[({b} % {a}.size(0)).long()]", "{a}.flip(0)", "{a}.roll(1, -1)", "{a}.diagonal()",
    "{a}.unfold(0, 2, 1)", "{a}.reshape(-1)", "torch.tril({a})", "{a}.repeat_interleave(2, 0)",
    "torch.rot90({a})", "torch.cat([{a}, {b}], -1)", "torch.stack([{a}, {b}])",
    "torch.chunk({a}, 2, -1)[0]", "torch.einsum('ij->ji', {a})",
    "torch.einsum('ij,kj->ik', {a}, {b})", "{a} @ {b}.t()", "{a}.sum(0)",
    "{a}.sum(-1, keepdim=True)", "torch.amax({a}, [0, -1])", "torch.argmax({a}, -1)", "{a}.max()",
    "torch.any({a} > 1, 0)", "torch.cumsum({a}, 0)", "torch.cummax({a}, -1)[1]", "torch.diff({a})",
    "torch.sort({a}, -1, descending=True)[0]", "torch.argsort({a}, 0, stable=True)",
    "torch.topk({a}, 2)[0]", "torch.median({a}, 0)[0]",
    "torch.gather({a}, 0, torch.argsort({b}, 0, stable=True))", "torch.nonzero({a} > 0)",
    "torch.searchsorted(torch.sort({a}.reshape(-1))[0], {b})",
    "torch.bincount({a}.reshape(-1) & 7)",
    "torch.scatter_reduce({a}, 0, {b}.long() % {a}.size(0), {a}, 'amax')",
    "torch.index_add({a}, 0, torch.argsort({b}, stable=True), {a})",
    "torch.meshgrid([{a}, {b}])[1]", "torch.constant_pad_nd({a}, [1, -1])",
    "torch.take({a}, {b}.long() % {a}.numel())",
)  # fmt: skip
WRITES = (
    "{a} += 1", "{a} *= {b}", "{a}[0] = {b}", "{a}[..., 1:] -= 2", "{a}[::2, 1:] = {b}[0]",
    "{a}[{a} > 0] = -1", "{a}.t().copy_({b})", "{a}.diagonal().add_(3)",
    "{a}.select(-1, 0).zero_()", "{a}.masked_fill_({b} > 0, 1)", "{a}.view(-1)[::2] += 1",
    "{a}.transpose(0, -1)[0].fill_(2)", "{a}.index_fill_(0, torch.arange({a}.size(0) // 2), 5)",
    "{a}.unfold(0, 1, 2).mul_(2)",
)  # fmt: skip
DTYPES = ("float32", "float32", "float64", "int64", "int32", "int16", "uint8", "bool")
LARGEST = 4000


def operands(lib: Any, seed: int) -> list[Any]:
    """Tensors of one shape but the last, of which some are transposed, cut out or strided."""
    random, numbers = Random(seed), np.random.default_rng(seed)
    shape = random.choice([(5,), (33,), (4, 7), (7, 7), (16, 3), (1, 9), (2, 3, 5), (65, 4)])
    made = []
    for place in range(OPERANDS):
        dtype, layout = random.choice(DTYPES), random.choice(["plain", "turned", "cut", "strided"])
        sizes = shape if place < OPERANDS - 1 else shape[-1:]
        wide = (*sizes[:-1], 2 * sizes[-1] + 1) if layout in ("cut", "strided") else sizes
        drawn = numbers.integers(0 if dtype in ("uint8", "bool") else -9, 10, wide)
        array = drawn > 4 if dtype == "bool" else drawn / 4 if "float" in dtype else drawn
        x = lib.from_numpy(np.asarray(array).astype(dtype))
        if layout == "turned":
            x = x.t().contiguous().t() if len(sizes) == 2 else x
        elif layout == "cut":
            x = x[..., 1 : 1 + sizes[-1]]
        elif layout == "strided":
            x = x[..., 1::2]
        made.append(x)
    return made


def program_text(torch: Any, seed: int) -> str:
    """A function of the operands whose steps PyTorch takes, of all of which it returns some."""
    random, steps = Random(seed), list[str]()
    names = [f"x{k}" for k in range(OPERANDS)]
    refused = (RuntimeError, IndexError, TypeError, ValueError, NotImplementedError)
    while len(names) < OPERANDS + 8:
        is_write = random.random() < 0.2
        a, b = (random.choice(names[-6:]) for _ in range(2))
        step = random.choice(WRITES if is_write else EXPRESSIONS).format(a=a, b=b)
        name = f"v{len(steps)}"
        tried = [*steps, step if is_write else f"{name} = {step}"]
        scope = {"torch": torch} | dict(zip(names, operands(torch, seed), strict=False))
        try:
            exec("\n".join(tried), scope)
        except refused:
            continue
        found = None if is_write else scope[name]
        if found is not None and not 0 < found.numel() <= LARGEST:
            continue
        steps = tried
        names += [] if is_write else [name]
    kept = random.sample(names[OPERANDS:], 4)
    head = f"def program({', '.join(f'{n}: Tensor' for n in names[:OPERANDS])}):"
    return "\n".join([head, *(f"    {s}" for s in [*steps, f"return {', '.join(kept)}"])]) + "\n"


def ways(text: str) -> dict[str, Callable[..., Any]]:
    scope: dict[str, Any] = {"torch": ts, "Tensor": ts.Tensor}
    exec(text, scope)
    unit = ts.jit.CompilationUnit(text).program
    native = ts.compile(unit, fallback="error", cache=False)
    return {"eager": scope["program"], "interpreted": unit, "native": native}


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("seed", range(PROGRAMS))
def test_programs_compute_what_pytorch_does(seed: int) -> None:
    torch = pytest.importorskip("torch")
    text = program_text(torch, seed)
    scope: dict[str, Any] = {"torch": torch, "Tensor": torch.Tensor}
    exec(text, scope)
    given = operands(torch, seed)
    wanted = [*scope["program"](*given), *given]
    for way, run in ways(text).items():
        ours = operands(ts, seed)
        for place, (got, want) in enumerate(zip([*run(*ours), *ours], wanted, strict=True)):
            said = f"{way}, result {place} of\n{text}"
            assert str(got.dtype) == str(want.dtype), said
            np.testing.assert_array_equal(got.numpy(), want.numpy(), err_msg=said)
