"""What may happen to a value: is it written, and does it leave the function?

The answer follows the value forward through views, containers and control flow, by the alias
annotations of the operators' schemas. What is not understood counts as written and leaving, so
that "no" can be relied on. `frontends/script/memory.py` says why drafts are analysed in another
way.
"""

from __future__ import annotations

from xdsl.ir import Operation, SSAValue, Use

from tensorscript.base.records import dataclass
from tensorscript.base.schema import Alias, Schema, schema
from tensorscript.dialects.ts import ops as ts

WILDCARD = "*"

_REWRAPPED = (
    ts.ListConstructOp,
    ts.TupleConstructOp,
    ts.DictConstructOp,
    ts.ListUnpackOp,
    ts.TupleUnpackOp,
    ts.UncheckedCastOp,
    ts.TupleIndexOp,
    ts.TupleSliceOp,
)
"""Ops whose results hold their operands, or parts of them."""

_READING = (ts.IsInstanceOp, ts.PrintOp, ts.RaiseOp)

_STATISTICS = {"aten::batch_norm": (3, 4, 5), "aten::instance_norm": (3, 4, 5)}
"""Operators that update operands without saying so: two of them, if the third is true."""


@dataclass
class Fate:
    """What may happen to a value.

    Attributes:
        written: its memory or contents change.
        leaves: it is returned, stored in a container or an object, or handed to a call.
        in_evaluation: norms are taken to leave their running statistics alone.
    """

    written: bool = False
    leaves: bool = False
    in_evaluation: bool = False


def fate_of(value: SSAValue, in_evaluation: bool = False) -> Fate:
    """What may happen to `value` and everything that may alias it.

    Args:
        in_evaluation: norms are taken to leave their running statistics alone, as TorchScript's
            freezing does: a module that was traced in training mode says that they do not.
    """
    fate = Fate(in_evaluation=in_evaluation)
    seen = {value}
    todo = [value]
    while todo:
        for use in todo.pop().uses:
            for alias in _aliases_by(use, fate):
                if alias not in seen:
                    seen.add(alias)
                    todo.append(alias)
    return fate


def _aliases_by(use: Use, fate: Fate) -> list[SSAValue]:
    """The values that may alias a value because of one use; notes what the use does to it."""
    op, at = use.operation, use.index
    match op:
        case ts.OperatorOp():
            return _through_operator(op, at, fate)
        case ts.YieldOp():
            return _through_yield(op, at)
        case ts.LoopOp():
            return [] if at < 2 else [op.body.block.args[at - 1], op.outputs[at - 2]]
        case ts.IfOp():
            return []
        case ts.ReturnOp():
            fate.leaves = True
            return []
    if isinstance(op, _READING):
        return []
    if isinstance(op, _REWRAPPED):
        return list(op.results)
    fate.written = fate.leaves = True
    return []


def _through_yield(op: ts.YieldOp, at: int) -> list[SSAValue]:
    parent = op.parent_op()
    if isinstance(parent, ts.LoopOp):
        return [] if at == 0 else [parent.body.block.args[at], parent.outputs[at - 1]]
    assert isinstance(parent, ts.IfOp)
    return [parent.outputs[at]]


def _through_operator(op: ts.OperatorOp, at: int, fate: Fate) -> list[SSAValue]:
    found = schema_of(op)
    if found is None:
        fate.written = fate.leaves = True
        return []
    if found.is_vararg or at >= len(found.arguments):
        return []
    if not fate.in_evaluation and (places := _STATISTICS.get(found.name)) is not None:
        fate.written |= _updates_statistics(op, at, places)
    alias = found.arguments[at].alias
    if alias is None:
        return []
    fate.written |= alias.is_write
    if alias.after is not None and any(a.is_write for a in found.arguments):
        # Stored into the container that is written.
        fate.leaves = True
        return [*op.arguments, *op.outputs]
    pairs = zip(op.outputs, found.returns, strict=False)
    return [output for output, returned in pairs if _meet(alias, returned.alias)]


def _meet(given: Alias, returned: Alias | None) -> bool:
    if returned is None:
        return False
    return WILDCARD in returned.before or bool({*given.before} & {*returned.before})


def _updates_statistics(op: ts.OperatorOp, at: int, where: tuple[int, int, int]) -> bool:
    *updated, training = where
    owner = op.arguments[training].owner
    is_off = isinstance(owner, ts.ConstantOp) and owner.value.data is False
    return at in updated and not is_off


def writes_statistics(op: Operation) -> bool:
    """Whether an op updates running statistics, which its schema does not say."""
    if not isinstance(op, ts.OperatorOp) or (places := _STATISTICS.get(op.schema.data)) is None:
        return False
    return _updates_statistics(op, places[0], places)


def schema_of(op: ts.OperatorOp) -> Schema | None:
    """The schema of an operator; None for the few that have none."""
    try:
        return schema(op.schema.data)
    except KeyError:
        return None


_RANDOM = ("rand", "bernoulli", "multinomial", "normal", "poisson", "dropout", "rrelu", "gumbel",
           "exponential", "geometric", "cauchy", "binomial", "shuffle", "uniform")  # fmt: skip
_STATE = ("grad_enabled", "autocast", "deterministic", "num_threads", "manual_seed", "profiler",
          "record_function", "warn", "time", "rng")  # fmt: skip


def is_random(op: ts.OperatorOp) -> bool:
    """Whether an operator draws random numbers."""
    name = op.node_kind.partition("::")[2]
    return any(word in name for word in _RANDOM)


def is_pure(op: Operation) -> bool:
    """Whether an op's results depend on its operands alone and it does nothing else."""
    if isinstance(op, ts.OperatorOp):
        found = schema_of(op)
        if found is None or found.is_mutable or not op.outputs:
            return False
        return not any(word in found.base_name for word in (*_RANDOM, *_STATE))
    return isinstance(op, (*_REWRAPPED, ts.IsInstanceOp, ts.ConstantOp, ts.GetAttrOp))
