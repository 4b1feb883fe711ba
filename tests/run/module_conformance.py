"""How far layers agree with PyTorch over its own module database.

    python tests/run/module_conformance.py [--through eager,script,trace,native,freeze]
                                           [--dtypes float32,float64] [--limit 12] [--errors]
                                           [NAME ...]

builds each layer of the database with PyTorch's weights, in training and in evaluation, runs it by
each way, and prints each disagreement and the counts. `test_module_conformance.py` runs a part.
"""

from __future__ import annotations

import argparse
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable
from typing import Any

from conformance import AGREES, DIFFERS, REFUSED, SKIPPED
from module_samples import Case, cases, entries, refused
from opinfo_samples import Unconvertible, difference, to_torch, torch

import tensorscript as ts
from tensorscript.base.errors import NotCompilable, TensorScriptError

OURS = (TensorScriptError, ArithmeticError, LookupError, TypeError, ValueError, AttributeError,
        RuntimeError, NotImplementedError)  # fmt: skip


def _eager(layer: Any, args: Any, kwargs: Any) -> Any:
    return layer(*args, **kwargs)


def _script(layer: Any, args: Any, kwargs: Any) -> Any:
    return ts.jit.script(layer)(*args, **kwargs)


def _freeze(layer: Any, args: Any, kwargs: Any) -> Any:
    if layer.training:
        raise Unconvertible("a layer in training is not frozen")
    return ts.jit.freeze(ts.jit.script(layer))(*args, **kwargs)


def _native(layer: Any, args: Any, kwargs: Any) -> Any:
    return ts.compile(layer, fallback="error", cache=False)(*args, **kwargs)


def _trace(layer: Any, args: Any, kwargs: Any) -> Any:
    state = {k: v.clone() for k, v in layer.state_dict().items()}
    if kwargs:
        traced = ts.jit.trace(layer, example_kwarg_inputs=_named(layer, args, kwargs),
                              check_trace=False)  # fmt: skip
        layer.load_state_dict(state)  # what tracing counts in running statistics
        return traced(**_named(layer, args, kwargs))
    traced = ts.jit.trace(layer, args, check_trace=False)
    layer.load_state_dict(state)
    return traced(*args)


def _named(layer: Any, args: Any, kwargs: Any) -> dict[str, Any]:
    code = type(layer).forward.__code__
    named = {**dict(zip(code.co_varnames[1 : code.co_argcount], args, strict=False)), **kwargs}
    return {k: v for k, v in named.items() if v is not None}  # no trace takes None


THROUGH: dict[str, Callable[[Any, Any, Any], Any]] = {
    "eager": _eager, "script": _script, "trace": _trace, "native": _native, "freeze": _freeze,
}  # fmt: skip


def _expected(case: Case, seed: int) -> Any:
    """PyTorch's layer before the call, its result, and its state after."""
    assert case.called is not None
    layer, call = case.theirs(), case.called.copied()
    torch.manual_seed(seed)
    with torch.no_grad():
        result = layer(*call.args, **call.kwargs)
    return result, layer.state_dict()


def _has_program(case: Case, through: str) -> bool:
    """Whether PyTorch scripts (or traces) the case itself."""
    assert case.called is not None
    args, kwargs = case.called.copied().args, case.called.copied().kwargs
    try:
        layer = case.theirs()
        if through == "trace":
            torch.jit.trace(layer, args, check_trace=False)
        else:
            torch.jit.script(layer)(*args, **kwargs)
    except (RuntimeError, TypeError, ValueError, AttributeError, NotImplementedError, OSError):
        return False
    return True


def compared(case: Case, through: str) -> tuple[str, str]:
    """The outcome of one way to run a case, and how it differs."""
    assert case.called is not None
    try:
        result, state = _expected(case, 3)
        random = difference(_expected(case, 4)[0], result) is not None
        layer = case.ours(case.theirs())
        args, kwargs = case.called.copied().ours
        ts.manual_seed(3)
        found = to_torch(THROUGH[through](layer, args, kwargs))
    except Unconvertible:
        return SKIPPED, ""
    except NotCompilable as error:
        return REFUSED, str(error).partition("\n")[0]
    except OURS as error:
        if through in ("script", "native", "freeze", "trace") and not _has_program(case, through):
            return SKIPPED, ""
        return DIFFERS, f"{type(error).__name__}: {error}"
    why = difference(found, result, values=not random, steps=8)
    if not why and not random and through != "freeze":
        after = {k: to_torch(v) for k, v in layer.state_dict().items()}
        why = next((f"{k}: {d}" for k, v in state.items() if (d := difference(after[k], v))), None)
    return (DIFFERS, why) if why else (AGREES, "")


def _said_by_pytorch(case: Case) -> str:
    """The text of the refusal; empty where PyTorch takes the arguments after all."""
    try:
        layer = case.theirs()
        if case.called is not None:
            call = case.called.copied()
            layer(*call.args, **call.kwargs)
    except (RuntimeError, TypeError, ValueError, LookupError) as error:
        return str(error)
    return ""


def refusal(case: Case) -> tuple[str, str]:
    """Whether ours refuses what PyTorch refuses, with its kind of error and its text."""
    assert case.error is not None
    _, kind, pattern = case.error
    if not (said := _said_by_pytorch(case)):
        return SKIPPED, ""
    if not re.search(pattern, said):
        pattern = re.escape(said)  # the database expects it of training, or of an older version
    try:
        layer = case.ours(None)
        if case.called is not None:
            args, kwargs = case.called.ours
            layer(*args, **kwargs)
    except Unconvertible:
        return SKIPPED, ""
    except kind as error:
        same = re.search(pattern, str(error))
        return (AGREES, "") if same else (DIFFERS, f"text: {error}  for  {pattern}")
    except OURS as error:
        return DIFFERS, f"{type(error).__name__} for {kind.__name__}: {error}"
    return DIFFERS, f"accepted; PyTorch: {kind.__name__} {pattern}"


def main(arguments: list[str]) -> int:
    warnings.simplefilter("ignore")
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("names", nargs="*", help="parts of the names of the layers to look at")
    parser.add_argument("--dtypes", default="float32,float64")
    parser.add_argument("--through", default=",".join(THROUGH))
    parser.add_argument("--limit", type=int, default=12, help="cases of a layer, dtype and mode")
    parser.add_argument("--errors", action="store_true", help="look at refused arguments instead")
    options = parser.parse_args(arguments)
    counts: dict[str, Counter[str]] = {}
    for name, info in entries().items():
        if options.names and not any(part in name for part in options.names):
            continue
        for dtype in options.dtypes.split(","):
            for training in (True, False):
                found = getattr(torch, dtype)
                if options.errors:
                    results = [(c, "errors", refusal(c)) for c in refused(info, found, training)]
                else:
                    results = [(c, w, compared(c, w))
                               for c in cases(info, found, training, options.limit)
                               for w in options.through.split(",")]  # fmt: skip
                for case, way, (outcome, why) in results:
                    counts.setdefault(way, Counter())[outcome] += 1
                    if why:
                        text = " ".join(why.split())[:300]
                        print(f"{outcome:8} {way:6} {dtype} {case}\n         {text}", flush=True)
    for way, count in counts.items():
        print(way, dict(count))
    return 0


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
