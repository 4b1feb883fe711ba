"""How far eager operators agree with PyTorch over its own operator database.

    python tests/run/conformance.py [--limit 12] [--forms function,method,inplace,out]
                                    [--through eager] [--dtypes float32,..] [NAME ...]

runs samples of every entry (or of those whose name contains NAME) in eight dtypes through our
functions and PyTorch's, prints each disagreement's first sample and the counts, whole and by
tier (`operator_tiers.py`), with the names of tiers 1 and 2 that no entry runs, and with
`--errors` the arguments that PyTorch refuses. `--through` says how ours run: in eager mode, traced,
scripted, or compiled from either (`opinfo_programs.py`). `test_conformance.py` runs a small part.
"""

from __future__ import annotations

import argparse
import sys
import warnings
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

import operator_tiers
import opinfo_samples as samples_of
from opinfo_programs import THROUGH, NoProgram
from opinfo_samples import Missing, Sample, Unconvertible, difference, torch

import tensorscript as ts
from tensorscript.base.errors import MissingKernelError, NotCompilable, TensorScriptError

AGREES, DIFFERS, MISSING, SKIPPED = "agrees", "differs", "missing", "skipped"
REFUSED = "refused"  # by native code, with its reason
VERDICTS = (AGREES, DIFFERS, REFUSED, MISSING, SKIPPED)
DTYPES = ("float32", "int64", "bool", "float64", "int32", "bfloat16", "float16", "complex64")

OUT_OF_SCOPE = {
    "jiterator_": "CUDA kernels written as text",
    "torch._scaled_mm": "float8 products",
    "torch.ops.aten._flash_attention_forward": "a CUDA kernel's interface",
    "torch.ops.aten._efficient_attention_forward": "a CUDA kernel's interface",
    "sparse": "sparse layouts",
    "to_sparse": "sparse layouts",
    "bmm/triton_optimized": "a Triton kernel",
    "chalf": "complex32, which we lack",
}
"""Beginnings of the names of entries that have no meaning for dense tensors on a CPU."""

UNINITIALISED = frozenset((
    "empty", "empty_like", "empty_permuted", "empty_strided", "new_empty", "new_empty_strided",
    "resize_", "resize_as_",
))  # fmt: skip
TIES = frozenset(("argsort", "kthvalue", "mode", "sort", "topk"))
"""Of equal elements PyTorch names any; the indices must name equal values, not the same places."""
PHASES = {"svd": (0, 2), "linalg.svd": (0, 2), "linalg.eig": (1,), "linalg.eigh": (1,)}
"""Results whose columns (of `linalg.svd`'s last one rows) are determined up to a unit factor."""

SOLVERS = ("linalg.", "cholesky", "lu_solve", "inverse", "pinverse", "triangular_solve", "logdet")
CONDITIONED = 200
"""Rounding steps that a solver may be off by: the error grows with the matrix's condition."""

_LACKED = "complex32, which we lack"
_NAN = "PyTorch answers NaN in half types"
_ORDER = "MKL's cgeev, behind PyTorch, finds eigenvalues in another order than OpenBLAS's"
KNOWN: dict[tuple[str, str], str] = {
    ("complex", "float16"): _LACKED,
    ("view_as_complex", "float16"): _LACKED,
    ("matrix_exp", "bfloat16"): _NAN,
    ("matrix_exp", "float16"): _NAN,
    ("linalg.eig", "complex64"): _ORDER,
    ("linalg.eigvals", "complex64"): _ORDER,
}  # fmt: skip
"""(entry, dtype) to the reason why they differ; strict: one that agrees is to be taken out."""


@dataclass
class Tally:
    """What became of the samples of one entry in one dtype."""

    counts: Counter[str] = field(default_factory=Counter)
    why: list[str] = field(default_factory=list)

    def add(self, outcome: str, why: str) -> None:
        self.counts[outcome] += 1
        if why:
            self.why.append(why)

    @property
    def verdict(self) -> str:
        """The worst of what happened."""
        return next((o for o in (MISSING, DIFFERS, REFUSED, AGREES) if self.counts[o]), SKIPPED)


def in_scope() -> dict[str, Any]:
    found = samples_of.entries()
    return {n: op for n, op in found.items() if not n.startswith(tuple(OUT_OF_SCOPE))}


def survey(
    op: Any, name: str, dtype: str, limit: int, form: str = "function", through: str = "eager"
) -> Tally:
    """Run samples of one entry in one dtype and form, by one of the ways of `THROUGH`."""
    tally = Tally()
    found = getattr(torch, dtype)
    if found not in op.supported_dtypes("cpu") or samples_of.oracle(op, form) is None:
        return tally
    if form == "out" and not op.supports_out:
        return tally
    for sample in samples_of.samples(op, found, limit):
        outcome, why = _compared(op, name, sample, form, through)
        tally.add(outcome, f"{why}  <- {_shown(sample)}" if why else "")
        if outcome == MISSING:
            break
    return tally


def _compared(op: Any, name: str, sample: Sample, form: str, through: str) -> tuple[str, str]:
    try:
        args, kwargs = sample.all
        ours = samples_of.to_ours((args, kwargs))
        expected = _expected(op, sample, form, 3)
    except Unconvertible:
        return SKIPPED, ""
    except (RuntimeError, TypeError, ValueError, IndexError):
        return SKIPPED, ""  # PyTorch refuses; `refusals` compares that
    random = _is_random(op, name) or difference(_expected(op, sample, form, 4), expected)
    try:
        found = _ours(op, form, *ours, expected, through)
    except NoProgram:
        return SKIPPED, ""
    except NotCompilable as error:
        return REFUSED, str(error).partition("\n")[0]
    except (Missing, MissingKernelError, AttributeError) as error:
        return MISSING, str(error).partition("\n")[0]
    except (TensorScriptError, ArithmeticError, LookupError, TypeError, ValueError) as error:
        return DIFFERS, f"{type(error).__name__}: {error}"
    why = _apart(op, name, sample, samples_of.to_torch(found), expected, not random)
    return (DIFFERS, why) if why else (AGREES, "")


def _expected(op: Any, sample: Sample, form: str, seed: int) -> Any:
    args, kwargs = sample.copied().all
    torch.manual_seed(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return samples_of.oracle(op, form)(*args, **kwargs)


def _ours(op: Any, form: str, args: Any, kwargs: Any, expected: Any, through: str) -> Any:
    ts.manual_seed(3)
    if through != "eager":
        return THROUGH[through](op, form, args, kwargs)
    run = samples_of.face(op, form)
    if form == "out":
        target = samples_of.to_ours(torch.empty(0, dtype=expected.dtype))
        found = run(*args, **kwargs, out=target)
        return found if found is target else "another tensor than out"
    found = run(*args, **kwargs)
    return found if form != "inplace" or found is args[0] else "another tensor than self"


def _is_random(op: Any, name: str) -> bool:
    """Whether only dtypes and shapes can be compared."""
    code = getattr(op.op, "__code__", None)
    seeded = code is not None and "wrapper_set_seed" in code.co_names
    return seeded or "dropout" in name or name.partition("/")[0] in UNINITIALISED


def _apart(
    op: Any, name: str, sample: Sample, found: Any, expected: Any, values: bool
) -> str | None:
    if not values:
        return difference(found, expected, values=False)
    if name in TIES and isinstance(found, (tuple, torch.Tensor)):
        return _up_to_ties(name, sample, found, expected)
    if name in PHASES and isinstance(found, tuple):
        count = expected[1 if "svd" in name else 0].shape[-1]
        pairs = [_same_phase(f, e, count, rows=name == "linalg.svd" and k == 2)
                 if k in PHASES[name] and f.shape == e.shape else (f, e)
                 for k, (f, e) in enumerate(zip(found, expected, strict=True))]  # fmt: skip
        found, expected = (tuple(p) for p in zip(*pairs, strict=True))
    return difference(found, expected, steps=CONDITIONED if name.startswith(SOLVERS) else 2)


def _up_to_ties(name: str, sample: Sample, found: Any, expected: Any) -> str | None:
    if name == "argsort":
        dim = sample.kwargs.get("dim", sample.args[0] if sample.args else -1)
        picked = [torch.take_along_dim(sample.input, at, dim) if at.dim() else at
                  for at in (found, expected)]  # fmt: skip
        return difference(found, expected, values=False) or difference(*picked)
    return difference(found[0], expected[0]) or difference(found[1], expected[1], values=False)


def _same_phase(found: Any, expected: Any, count: int, rows: bool) -> tuple[Any, Any]:
    """The first `count` columns (or rows) of both, with the element that is greatest in
    `expected` real and positive: the others span a space in which any basis will do."""
    if not expected.numel():
        return found, expected
    columns = (expected.mT if rows else expected)[..., :count]
    at = columns.abs().argmax(-2, keepdim=True)

    def turned(t: Any) -> Any:
        t = (t.mT if rows else t)[..., :count]
        pivot = torch.take_along_dim(t, at, -2)
        return t * (pivot.abs() / pivot)

    return turned(found), turned(expected)


def _shown(sample: Sample) -> str:
    def text(v: Any) -> str:
        if isinstance(v, torch.Tensor):
            return f"{str(v.dtype).removeprefix('torch.')}{list(v.shape)}"
        if isinstance(v, (list, tuple)):
            return f"({', '.join(map(text, v))})"
        return repr(v)

    args, kwargs = sample.all
    return ", ".join([*map(text, args), *(f"{k}={text(v)}" for k, v in kwargs.items())])


_KINDS = (NotImplementedError, IndexError, TypeError, ValueError, RuntimeError)


def refusals(op: Any) -> Iterator[tuple[str, str]]:
    """Arguments that PyTorch refuses: an outcome and, where it differs, how."""
    for sample, _, _ in samples_of.refused(op):
        args, kwargs = sample.all
        try:
            op.op(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - whatever PyTorch raises is what we look for
            wanted = next((k for k in _KINDS if isinstance(error, k)), Exception)
        else:
            continue
        try:
            ours = samples_of.to_ours((args, kwargs))
            samples_of.face(op)(*ours[0], **ours[1])
        except (Unconvertible, Missing):
            continue
        except wanted:
            yield AGREES, ""
        except Exception as error:  # noqa: BLE001 - an error of another kind is a result
            yield DIFFERS, f"{type(error).__name__} for {wanted.__name__}  <- {_shown(sample)}"
        else:
            yield DIFFERS, f"accepted; PyTorch: {wanted.__name__}  <- {_shown(sample)}"


def _report(name: str, tally: Tally) -> None:
    print(f"{tally.verdict:8} {name:44} {dict(tally.counts)}")
    for why in tally.why[:1]:
        print("        ", why[:400].replace("\n", " "))


def _report_tiers(by_tier: dict[int, Counter[str]]) -> None:
    """A line a tier, of its entries; the share is of those that ran."""
    print(f"{'':7}" + "".join(f"{verdict:>9}" for verdict in VERDICTS) + "    agree")
    for tier, counts in (*by_tier.items(), ("all", sum(by_tier.values(), Counter[str]()))):
        ran = counts.total() - counts[SKIPPED]
        share = f"{counts[AGREES] / ran:9.1%}" if ran else f"{'-':>9}"
        label = tier if tier == "all" else f"tier {tier}"
        print(f"{label:7}" + "".join(f"{counts[verdict]:9}" for verdict in VERDICTS) + share)


def _report_uncovered() -> None:
    for tier, names in operator_tiers.uncovered(in_scope()).items():
        for state in ("native", "interpret", "not provided"):
            found = sorted(name for name, own in names.items() if own == state)
            if found:
                print(f"tier {tier}, no entry, {state} ({len(found)}): {' '.join(found)}")


def main(arguments: list[str]) -> int:
    warnings.simplefilter("ignore")  # PyTorch's, of deprecated operators
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="parts of the names of the entries to look at")
    parser.add_argument("--limit", type=int, default=12, help="samples of an entry and dtype")
    parser.add_argument("--forms", default="function", help="function,method,inplace,out")
    parser.add_argument("--dtypes", default=",".join(DTYPES))
    parser.add_argument("--through", default="eager", choices=["eager", *THROUGH])
    parser.add_argument("--errors", action="store_true", help="look at refused arguments instead")
    options = parser.parse_args(arguments)
    verdicts, total = Counter[str](), Counter[str]()
    by_tier = {tier: Counter[str]() for tier in operator_tiers.TIERS}
    for name, op in in_scope().items():
        if options.names and not any(part in name for part in options.names):
            continue
        tally = Tally()
        if options.errors:
            for outcome, why in refusals(op):
                tally.add(outcome, why)
        else:
            for form in options.forms.split(","):
                for dtype in options.dtypes.split(","):
                    part = survey(op, name, dtype, options.limit, form, options.through)
                    tally.counts += part.counts
                    tally.why += [f"{form} {dtype} {w}" for w in part.why]
        verdicts[tally.verdict] += 1
        by_tier[operator_tiers.tier_of(name, op)][tally.verdict] += 1
        total += tally.counts
        if tally.verdict in (DIFFERS, MISSING, REFUSED):
            _report(name, tally)
    print(options.through, "entries", dict(verdicts), "samples", dict(total))
    _report_tiers(by_tier)
    if not options.names:
        _report_uncovered()
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
