"""Comparing a trace with the program it was taken from, and with a second trace.

A trace that depends on this run's values differs from the next one: in its graph, in its constants,
or in what it gives.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from xdsl.ir import Attribute, Operation
from xdsl.rewriter import Rewriter

from tensorscript.base.errors import UserError
from tensorscript.base.records import dataclass
from tensorscript.dialects.ts.constants import TensorLiteral
from tensorscript.dialects.ts.graph_text import graph_text, node_texts
from tensorscript.dialects.ts.locations import span_of
from tensorscript.dialects.ts.ops import ConstantOp, FuncOp, OperatorOp, TaskOp
from tensorscript.dialects.ts.types import TENSOR, TensorType, TupleType
from tensorscript.eager.storage import TensorBase, make
from tensorscript.eager.tracing import traced_by

from . import cautions
from .closeness import default_tolerances, difference, exact_difference

MOST_NODES = 20
"""How many random nodes a warning names."""
_RANDOM = frozenset({
    "alpha_dropout", "bernoulli", "bernoulli_", "binomial", "dropout", "dropout_", "exponential_",
    "feature_alpha_dropout", "feature_dropout", "multinomial", "native_dropout", "normal",
    "normal_", "poisson", "rand", "rand_like", "randint", "randint_like", "randn", "randn_like",
    "randperm", "random_", "rrelu", "rrelu_", "uniform_",
})  # fmt: skip


class TracingCheckError(Exception):
    """The second trace of a program is another program, or has other constants.

    It comes from `trace` with `check_trace` (the default) where control flow or a constant depends
    on the inputs or on state outside. The usual mend is to script that part, or to pass what
    changes as an input.

    Args:
        graph_diff_error: how the graphs differ; None: they do not.
        tensor_compare_error: which tensor constants differ; None: none does.
        extra_msg: what went wrong before they were compared.
    """

    def __init__(
        self,
        graph_diff_error: str | None,
        tensor_compare_error: str | None,
        extra_msg: str | None = None,
    ) -> None:
        parts = ["Tracing failed sanity checks!\n"]
        if extra_msg is not None:
            parts.append(extra_msg + "\n")
        if graph_diff_error is not None:
            parts.append("ERROR: Graphs differed across invocations!\n")
            parts.append(indented(graph_diff_error) + "\n")
        if tensor_compare_error is not None:
            parts.append(
                "ERROR: Tensor-valued Constant nodes differed in value across invocations. This "
                "often indicates that the tracer has encountered untraceable code.\n"
            )
            parts.append(indented(tensor_compare_error) + "\n")
        self.message = "".join(parts)
        super().__init__(self.message)


def indented(text: str) -> str:
    return "\n".join("\t" + line for line in text.splitlines())


@dataclass(frozen=True)
class Recording:
    """A trace as the check sees it.

    Attributes:
        run: calls it.
        shown: the function as recorded.
        flat: the function with all calls inlined.
        functions: where the bodies of forked tasks are found.
    """

    run: Callable[..., Any]
    shown: FuncOp
    flat: FuncOp
    functions: Mapping[str, FuncOp]

    def text(self) -> str:
        """The graph without sizes, forked tasks behind it."""
        tasks: dict[str, FuncOp] = {}
        pending = [self.flat]
        while pending:
            found = [op.callee.data for op in pending.pop().walk() if isinstance(op, TaskOp)]
            new = {name: self.functions[name] for name in found if name not in tasks}
            pending += new.values()
            tasks |= {name: _erased(body) for name, body in new.items()}
        return _unmangled(graph_text(_erased(self.flat), functions=tasks))


def check(
    traced: Recording,
    again: Recording,
    python: Callable[..., Any],
    call: Callable[[Callable[..., Any]], Any],
    tolerance: float,
) -> None:
    """Compare a trace with the Python program and with a second trace.

    Args:
        call: calls one of them with a copy of the inputs.
        tolerance: relative tolerance of outputs.

    Warns:
        TracerWarning: an output differs.

    Raises:
        TracingCheckError: the traces differ, or one of the three fails.
    """
    outputs = _outputs(traced, again, traced.run, "trace", call)
    expected = _outputs(traced, again, python, "Python function", call)
    if _agree(traced, outputs, expected, "Python function", tolerance, warned=False):
        repeated = _outputs(traced, again, again.run, "repeated trace", call)
        _agree(traced, outputs, repeated, "repeated trace", tolerance, warned=False)
    found = _graphs_differ(traced, again), _constants_differ(traced, again)
    if found != (None, None):
        raise TracingCheckError(*found)


def _outputs(
    traced: Recording,
    again: Recording,
    function: Callable[..., Any],
    what: str,
    call: Callable[[Callable[..., Any]], Any],
) -> list[TensorBase]:
    try:
        with traced_by(None):
            found = call(function)
    except (UserError, ArithmeticError, LookupError, RuntimeError, TypeError, ValueError) as error:
        message = (
            f"encountered an exception while running the {what} with test inputs.\n"
            f"Exception:\n{indented(str(error))}"
        )
        differences = _graphs_differ(traced, again), _constants_differ(traced, again)
        raise TracingCheckError(*differences, message) from error
    parts = found if isinstance(found, tuple) else (found,)
    return [part for part in parts if isinstance(part, TensorBase)]


def _agree(
    traced: Recording,
    outputs: Sequence[TensorBase],
    expected: Sequence[TensorBase],
    what: str,
    tolerance: float,
    warned: bool,
) -> bool:
    """Whether outputs are close; warns of each that is not, once of random nodes."""
    same = True
    for at, (found, wanted) in enumerate(zip(outputs, expected, strict=False)):
        atol = default_tolerances(found.dtype, wanted.dtype)[1]
        if (text := difference(found, wanted, tolerance, atol)) is None:
            continue
        if not warned:
            _warn_of_randomness(traced.shown)
            warned = True
        cautions.warn(
            f"Output nr {at + 1}. of the traced function does not match the corresponding output "
            f"of the {what}. Detailed error:\n{text}"
        )
        same = False
    return same


def _warn_of_randomness(function: FuncOp) -> None:
    nodes = [indented(text) for op, text in node_texts(function) if _is_random(op)]
    if not nodes:
        return
    listed = "\n".join(nodes[:MOST_NODES])
    cautions.warn(
        "Trace had nondeterministic nodes. Did you forget call .eval() on your model? Nodes:\n"
        f"{listed}\nThis may cause errors in trace checking. To disable trace checking, pass "
        "check_trace=False to torch.jit.trace()"
    )


def _is_random(op: Operation) -> bool:
    if not isinstance(op, OperatorOp):
        return False
    name = op.node_kind.partition("::")[2]
    if name.removesuffix("_").endswith("dropout"):
        train = op.arguments[-1].owner
        return not (isinstance(train, ConstantOp) and train.value.data is False)
    return name in _RANDOM


# -- graphs -----------------------------------------------------------------------------------


def _erased(function: FuncOp) -> FuncOp:
    """A copy without what is known of tensors."""
    copy = function.clone()
    for value in (*copy.block.args, *(r for op in copy.walk() for r in op.results)):
        if (plain := _plain(value.type)) != value.type:
            Rewriter.replace_value_with_new_type(value, plain)
    return copy


def _plain(type: Attribute) -> Attribute:
    match type:
        case TensorType():
            return TENSOR
        case TupleType():
            return type.with_elements(map(_plain, type.elements))
    return type


def _unmangled(text: str) -> str:
    return re.sub(r"___torch_mangle_[0-9]+\.", "", text)


def _diff(first: str, second: str) -> str:
    lines = difflib.ndiff(first.splitlines(True), second.splitlines(True))
    return "".join(lines)


def _graphs_differ(traced: Recording, again: Recording) -> str | None:
    texts = [traced.text(), again.text()]
    if texts[0] == texts[1]:
        return None
    first, second = _erased(traced.flat), _erased(again.flat)
    out = f"Graph diff:\n{indented(_diff(*texts))}\n"
    for (op, text), (other, other_text) in zip(node_texts(first), node_texts(second), strict=False):
        if text != other_text:
            diff = _diff(text + "\n", other_text + "\n")
            out += f"First diverging operator:\nNode diff:\n{indented(diff)}\n"
            out += _place("Trace source location", op) + _place("Check source location", other)
            break
    return out


def _place(title: str, op: Operation) -> str:
    span = span_of(op)
    if span is None:
        return ""
    calls = "\n".join(span.calls or [f"{span.source.filename}({span.line})"])
    return f"{title}:\n{indented(calls)}\n"


def _constants_differ(traced: Recording, again: Recording) -> str | None:
    """The first pair of tensor constants that are not close."""
    pairs = zip(node_texts(_erased(traced.flat)), node_texts(_erased(again.flat)), strict=False)
    for (op, text), (other, _) in pairs:
        if type(op) is not type(other):
            return None
        if not (isinstance(op, ConstantOp) and isinstance(other, ConstantOp)):
            continue
        first, second = op.value.data, other.value.data
        if isinstance(first, TensorLiteral) and isinstance(second, TensorLiteral):
            found = exact_difference(_tensor(first), _tensor(second))
            if found is not None:
                place = _place("Source Location", op)
                return f"Node:\n\t{text}\n{place}Comparison exception: {indented(found)}"
    return None


def _tensor(literal: TensorLiteral) -> TensorBase:
    return make(literal.array, literal.dtype)
