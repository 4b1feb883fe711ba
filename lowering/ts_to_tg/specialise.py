"""ts -> tg: one function, for arguments of known dtype and shape, made pure.

```
def f(x, n: int):              tg.func @f (%x: f32[4], %n: i64) {
    if x.size(0) > 3:            %k = tg.scalar %n <"a0 > 0">
        x = x + 1          -->   %y = tg.pointwise %x <"a0.f32[i0] + (1.0).f32">
    return x if n > 0 else -x    %r = tg.if %k {tg.yield %y} { %z = .. -a0 ..; tg.yield %z }
                                 tg.return %r
```
Assumptions the caller guards: dtype, rank and sizes of each tensor argument; a named size is not 1
(it does not broadcast); tensor arguments do not overlap one another.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Block

from tensorscript.base.dtypes import DType, float64, int64
from tensorscript.base.errors import NotCompilable
from tensorscript.base.records import dataclass
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.types import ScalarType

from .boundary import Boundary, whole
from .builder import Builder
from .emission import MayShare
from .evaluator import Evaluator
from .facts import Refuse
from .generator import STATE_SIZE, DrawsNumbers
from .grown import Hints, ListGrows
from .kept_tensors import given_of, refuse_split_memory
from .list_changes import StateChanges
from .paths import RANDOM, SELF, is_state, of_receiver
from .plan import CallPlan
from .said import said
from .shared_memory import view_of
from .specs import (
    ArgumentSpec,
    TensorSpec,
)
from .state import State, assigned, written
from .structure import HANDLERS, script_error
from .table import TABLES
from .trials import Raised, drop_untaken
from .values import (
    ObjectValue,
    Value,
)


@dataclass(frozen=True)
class Options:
    """Attributes:
    default_dtype: dtype of float tensors made from Python floats.
    lists: whether there is run-time support for lists and for sizes that the program finds.
    alone: the program itself shows what it prints and warns of; else it leaves a record to its
        caller.
    gradients: what `is_grad_enabled()` says at the start.
    refuse: refuses tensors that an operator does not take, by their dtypes and sizes; rows check
        what they rely on themselves.
    devices: where the program may ask for tensors.
    home: the device of its arguments. On another than the CPU no tensor may be elsewhere.
    """

    default_dtype: DType | None = None
    lists: bool = True
    alone: bool = False
    gradients: bool = True
    refuse: Refuse | None = None
    devices: frozenset[str] = frozenset(("cpu",))
    home: str = "cpu"


@dataclass
class Specialised:
    """A tg module with one function, and how its arguments and results meet the caller's."""

    module: ModuleOp
    name: str
    plan: CallPlan

    @property
    def function(self) -> tg.FuncOp:
        return next(tg.functions(self.module))


def _run(
    module: ModuleOp,
    entry: str,
    arguments: Sequence[ArgumentSpec],
    options: Options,
    state: State,
    hints: Hints,
    draws: bool,
) -> tuple[Boundary, Value]:
    builder = Builder(Block())
    if options.default_dtype is not None:
        builder.default_dtype = options.default_dtype
    builder.finds_sizes = options.lists
    builder.gradients = options.gradients
    builder.apart = hints.shares is not None
    evaluator = Evaluator(module, builder, TABLES, HANDLERS, hints)
    builder.table = TABLES["tensor"]
    evaluator.record.alone = options.alone
    evaluator.rows.refuse = options.refuse
    evaluator.rows.devices, evaluator.rows.home = options.devices, options.home
    own = Boundary(builder, evaluator)
    if entry not in evaluator.functions:
        builder.cannot(f"no function {entry}")
    func = evaluator.functions[entry]
    names = [n.data for n in func.argument_names]
    waiting: list[tuple[int, ArgumentSpec]] = []
    values: list[Value] = [None] * len(arguments)
    for k, (spec, name) in enumerate(zip(arguments, names, strict=True)):
        if isinstance(spec, ObjectValue):
            waiting.append((k, spec))
        else:
            values[k] = own.argument(spec, name)
    own.aliases = state.aliases
    for path, state_spec in state.specs.items():
        evaluator.state[path] = own.argument(state_spec, path)
    for path, alias in state.aliases.items():
        evaluator.state[path] = view_of(builder, alias, own.tensors[alias.owner])
    for k, spec in waiting:
        values[k] = own.argument(spec, SELF)
    if draws:
        builder.generator = own.tensor(TensorSpec(float64, (STATE_SIZE,)), RANDOM).storage
    try:
        result = evaluator.call(entry, values)
    except Raised as raised:
        raise script_error(raised, evaluator) from None
    return own, result


def _settled(
    module: ModuleOp,
    entry: str,
    arguments: Sequence[ArgumentSpec],
    options: Options,
    state: State,
    hints: Hints,
) -> tuple[Boundary, Value]:
    """`_run`, again and again until every list that has to be a run-time list is one, and the
    random generator is an argument if it is used."""
    draws = False
    while True:
        try:
            return _run(module, entry, arguments, options, state, hints, draws)
        except DrawsNumbers:
            draws = True
        except ListGrows as grows:
            if not options.lists or not hints.learn(grows):
                raise NotCompilable(grows.reason, grows.span) from None


def specialise(
    module: ModuleOp,
    entry: str,
    arguments: Sequence[ArgumentSpec],
    options: Options | None = None,
    changing: Collection[str] = (),
) -> Specialised:
    """Specialise the function `entry` of a ts module for `arguments` (an ObjectValue for self).

    Numbers of self that change are arguments if the program can be compiled without knowing them,
    else constants that the caller guards.

    Args:
        changing: paths of tensors and numbers of self that others change: arguments, too.

    Raises:
        NotCompilable: the program does something that has no native form; says what and where.
        OperatorError: an operator refuses these shapes or dtypes.
        ScriptError: the program raises for all such arguments.
    """
    options = options or Options()
    receiver = next((a for a in arguments if isinstance(a, ObjectValue)), None)
    state = State(receiver)
    try:
        state.others_change([f"{SELF}.{path}" for path in changing])
        return _with_state(module, entry, arguments, options, state)
    except NotCompilable:
        if not state.has_numbers:
            raise
    known = replace(state, known=True)
    return _with_state(module, entry, arguments, options, known)


def _with_state(
    module: ModuleOp,
    entry: str,
    arguments: Sequence[ArgumentSpec],
    options: Options,
    state: State,
) -> Specialised:
    """Specialise, again until all is known that the program changes of self."""
    hints = Hints()
    while True:
        try:
            made = _once(module, entry, arguments, options, state, hints)
        except StateChanges as found:
            if not state.learn((), found.paths):
                raise NotCompilable(found.reason, found.span) from None
            continue
        except MayShare as error:
            if hints.shares is not None:
                raise hints.shares from None
            hints.shares = error
            continue
        except NotCompilable:
            if hints.shares is not None:
                raise hints.shares from None
            raise
        if made is not None:
            return made


def _once(
    module: ModuleOp,
    entry: str,
    arguments: Sequence[ArgumentSpec],
    options: Options,
    state: State,
    hints: Hints,
) -> Specialised | None:
    """Specialise; None if the program changes more of self than was known."""
    own, result = _settled(module, entry, arguments, options, state, hints)
    in_place, replaced = written(own), assigned(own)
    holders = (own.evaluator.attribute_of(path) for path in in_place)
    given = given_of(own, replaced)
    if not state.learn(in_place, (*holders, *replaced, *given)):
        refuse_split_memory(own, state.receiver, replaced)
        return _finish(own, entry, result, state)
    return None


def _finish(own: Boundary, entry: str, result: Value, state: State) -> Specialised:
    b = own.builder
    output = own.tree(result)
    mutated = tuple(
        (path, own.leaf(whole(x.storage)))
        for path, x in own.tensors.items()
        if x.storage in b.written and not is_state(path) and path != RANDOM
    )
    random = None if b.generator is None else own.leaf(whole(b.generator))
    updates = tuple((of_receiver(path), own.leaf(x)) for path, x in written(own).items())
    own.kept = {}
    changes = tuple((of_receiver(path), own.tree(v)) for path, v in assigned(own).items())
    own.kept = None
    spoken = said(own)
    b.emit(tg.ReturnOp(own.leaves))
    drop_untaken(b.tried)
    block = b.entry
    for _ in own.sizes:
        block.insert_arg(ScalarType(int64), len(block.args))
    for op in reversed(b.prologue):
        first = block.first_op
        assert first is not None
        if op.results and not op.results[0].uses:
            continue
        block.insert_op_before(op, first)
    _erase_dead(block)
    names = [*own.names, *own.sizes]
    strides = [*own.strides, *([None] * len(own.sizes))]
    name = entry.rpartition(".")[2]
    of_complex = (own.complex_arguments, own.complex_results)
    func = tg.FuncOp(name, names, list(own.sizes), block, strides, *of_complex)
    plan = CallPlan(
        inputs=tuple(own.names),
        output=output,
        mutated_inputs=mutated,
        state_inputs=tuple(map(of_receiver, state.paths)),
        state_specs=tuple(state.specs.values()),
        state_known=state.known,
        state_updates=updates,
        state_assigned=changes,
        state_aliases=tuple(of_receiver(p) for p in state.aliases),
        aliases=tuple(own.sources.items()),
        sizes=tuple(own.sizes),
        above_one=tuple(n for n in own.sizes if n in b.above_one),
        random=random,
        said=spoken,
    )
    return Specialised(ModuleOp([func]), name, plan)


_PURE = (
    tg.ComputeOp,
    tg.ReductionOp,
    tg.ScanOp,
    tg.SortOp,
    tg.ScatterOp,
    tg.ConstantOp,
    tg.ScalarOp,
)


def _erase_dead(block: Block) -> None:
    """Remove pure ops whose results nothing uses, last first."""
    for op in reversed(list(block.ops)):
        for region in op.regions:
            _erase_dead(region.block)
        if isinstance(op, _PURE) and not any(r.uses for r in op.results):
            op.detach()  # type: ignore[no-untyped-call]  # xdsl has no annotation here
            op.erase()
