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

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, SSAValue

from tensorscript.base.dtypes import DType, bool_, float64, int64
from tensorscript.base.errors import NotCompilable
from tensorscript.dialects.te.expr import Expr, const, var
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.lists import element_of
from tensorscript.dialects.tg.types import ListType, ScalarType, tensor
from tensorscript.dialects.ts.constants import TensorLiteral

from .builder import Builder
from .control import Raised
from .elements import as_expr, known
from .evaluator import Evaluator
from .grown import (
    Element,
    Hints,
    ListElement,
    ListGrows,
    NumberElement,
    TensorElement,
    TupleElement,
    perform,
)
from .grown import (
    columns as columns_of,
)
from .heap import Heap
from .merge import changed_refs, same_value
from .specs import (
    ArgumentSpec,
    ConstantSpec,
    DictSpec,
    ListSpec,
    NumberSpec,
    OutputTree,
    ScalarSpec,
    SequenceSpec,
    StateSpec,
    TensorSpec,
)
from .structure import HANDLERS, script_error
from .table import TABLES
from .values import (
    DictRef,
    Grown,
    ListRef,
    ObjectRef,
    ObjectValue,
    Storage,
    Tensor,
    TupleValue,
    UnknownString,
    Value,
    is_scalar,
)


@dataclass(frozen=True)
class Options:
    """Attributes:
    default_dtype: dtype of float tensors made from Python floats.
    lists: whether there is run-time support for lists and for sizes that the program finds.
    """

    default_dtype: DType | None = None
    lists: bool = True


@dataclass
class Specialised:
    """A tg module with one function, and how its arguments and results meet the caller's.

    Attributes:
        inputs: per argument of the tg function (sizes excluded) its path: "x", "xs.0", ...
        output: the tree over the function's results.
        mutated_inputs: (path of the argument, leaf number of its new value).
        state_inputs: paths of tensors and numbers of `self` that became trailing arguments because
            the program changes them; all other state is constants.
        state_fixed: (path, value) of numbers of `self` that the program changes, but which are
            constants all the same: the caller guards them.
        state_updates: (path, leaf number) of new elements of tensors that were written in place.
        state_assigned: (path, leaf number) of new values of attributes.
        aliases: (leaf number, path): a result that is the argument itself.
    """

    module: ModuleOp
    name: str
    inputs: tuple[str, ...]
    output: OutputTree
    mutated_inputs: tuple[tuple[str, int], ...] = ()
    state_inputs: tuple[str, ...] = ()
    state_fixed: tuple[tuple[str, object], ...] = ()
    state_updates: tuple[tuple[str, int], ...] = ()
    state_assigned: tuple[tuple[str, int], ...] = ()
    aliases: tuple[tuple[int, str], ...] = ()
    sizes: tuple[str, ...] = ()

    @property
    def function(self) -> tg.FuncOp:
        return next(tg.functions(self.module))


def _size(size: int | str) -> Expr:
    return const(size) if isinstance(size, int) else var(size)


@dataclass
class _Session:
    """One specialisation under way."""

    module: ModuleOp
    builder: Builder
    evaluator: Evaluator
    names: list[str] = field(default_factory=list)
    strides: list[tuple[Expr, ...] | None] = field(default_factory=list)
    sizes: dict[str, None] = field(default_factory=dict)
    tensors: dict[str, Tensor] = field(default_factory=dict)
    leaves: list[SSAValue] = field(default_factory=list)
    sources: dict[int, str] = field(default_factory=dict)

    def argument(self, spec: ArgumentSpec, path: str) -> Value:
        """The abstract value of an argument; its leaves become block arguments."""
        match spec:
            case TensorSpec():
                return self.tensor(spec, path)
            case ScalarSpec(dtype):
                return self.builder.scalar_of(self.block_argument(ScalarType(dtype), path, None))
            case SequenceSpec(elements, is_tuple, fields, class_name):
                values = [self.argument(s, f"{path}.{i}") for i, s in enumerate(elements)]
                if is_tuple:
                    return TupleValue(tuple(values), fields, class_name)
                return self.evaluator.new_list(values, site=("argument", path))
            case ListSpec(dtype, depth):
                return self.list_argument(dtype, depth, path)
            case DictSpec(items):
                return self.evaluator.new_dict(
                    {k: self.argument(s, f"{path}.{k}") for k, s in items}
                )
            case ConstantSpec(value) | NumberSpec(value):
                return self.evaluator.import_value(value)
        return self.evaluator.import_value(spec)

    def block_argument(
        self, type_: Attribute, path: str, strides: tuple[Expr, ...] | None
    ) -> SSAValue:
        self.names.append(path)
        self.strides.append(strides)
        block = self.builder.entry
        return block.insert_arg(type_, len(block.args))

    def list_argument(self, dtype: DType, depth: int, path: str) -> ListRef:
        """A list argument: a block argument, for a list of lists its numbers and lengths."""
        number: Element = NumberElement(dtype)
        column = self.block_argument(ListType.of(dtype), path, None)
        if depth == 2:
            lengths = self.block_argument(ListType.of(int64), f"{path}.lengths", None)
            nested = ListType.of(dtype, depth)
            column = perform(self.builder, "split", [column, lengths], nested)
            number = ListElement(number)
        made = ListRef()
        self.builder.heap[made] = Grown(number, (column,))
        return made

    def tensor(self, spec: TensorSpec, path: str) -> Tensor:
        if spec.dtype.is_complex:
            self.builder.cannot("complex numbers")
        shape = tuple(map(_size, spec.shape))
        strides = None if spec.strides is None else tuple(map(_size, spec.strides))
        for size in (*shape, *(strides or ())):
            for name in size.free:
                self.sizes.setdefault(name)
        value = self.block_argument(tensor(spec.dtype, shape), path, strides)
        storage = Storage(spec.dtype, shape, path, strides)
        self.builder.heap[storage] = value
        made = Tensor(storage, shape, None, strides)
        self.tensors[path] = made
        return made

    def is_state(self, path: str) -> bool:
        """Whether a path leads to what self holds, and not to an argument."""
        return path not in self.tensors or path in self.evaluator.state

    def leaf(self, value: Value) -> int:
        if isinstance(value, SSAValue):
            ssa = value
        elif isinstance(value, Tensor):
            ssa = self.builder.ssa(value)
        else:
            ssa = self.builder.scalar_operand(value)
        self.leaves.append(ssa)
        return len(self.leaves) - 1

    def tree(self, value: Value) -> OutputTree:
        """The output tree of a value; its leaves become results."""
        heap = self.builder.heap
        if isinstance(value, Tensor):
            leaf = self.leaf(value)
            if value.indices is None and value.storage.origin:
                self.sources[leaf] = value.storage.origin
            return OutputTree("tensor", leaf)
        if isinstance(value, Expr):
            return OutputTree("scalar", self.leaf(value))
        if isinstance(value, TupleValue):
            children = tuple(map(self.tree, value.elements))
            return OutputTree(
                "tuple", children=children, fields=value.fields, class_name=value.class_name
            )
        if isinstance(value, ListRef):
            content = heap[value]
            if isinstance(content, Grown):
                child = self.elements(content.element, iter(content.columns))
                return OutputTree("each", children=(child,))
            return OutputTree("list", children=tuple(map(self.tree, content)))
        if isinstance(value, DictRef):
            items = heap[value]
            return OutputTree(
                "dict", children=tuple(map(self.tree, items.values())), keys=tuple(items)
            )
        if isinstance(value, UnknownString):
            self.builder.operator = "return"
            self.builder.cannot("a string that depends on unknown values")
        if isinstance(value, ObjectRef):
            self.builder.operator = "return"
            self.builder.cannot("returning an object")
        return OutputTree("constant", value=value)

    def elements(self, element: Element, columns: Iterator[SSAValue]) -> OutputTree:
        """The tree over the columns of a run-time list; its leaves become results."""
        b = self.builder
        match element:
            case NumberElement():
                return OutputTree("column", self.leaf(next(columns)))
            case TupleElement(parts, fields, class_name):
                children = tuple(self.elements(part, columns) for part in parts)
                return OutputTree("tuple", children=children, fields=fields, class_name=class_name)
            case TensorElement(dtype, shape):
                boxes = next(columns)
                counts = perform(b, "lengths", [boxes], ListType.of(int64))
                values = self.leaf(perform(b, "join", [boxes], ListType.of(dtype)))
                trees = [OutputTree("column", self.leaf(counts))]
                for size in shape:
                    column = size is None
                    tree = OutputTree("column", self.leaf(next(columns))) if column else None
                    trees.append(tree or self.tree(known(as_expr(size))))
                return OutputTree("boxes", values, tuple(trees))
            case ListElement(inner):
                nested = [next(columns) for _ in columns_of(inner)]
                counts = perform(b, "lengths", nested[:1], ListType.of(int64))
                lengths_leaf = self.leaf(counts)
                parts_ = [perform(b, "join", [c], element_of(_list(c))) for c in nested]
                return OutputTree("each", lengths_leaf, (self.elements(inner, iter(parts_)),))


def _list(value: SSAValue) -> ListType:
    assert isinstance(value.type, ListType)
    return value.type


def _written_state(session: _Session) -> dict[str, Value]:
    """Path -> tensor of `self` that the program writes in place."""
    b = session.builder
    return {
        storage.origin: Tensor(storage, storage.shape)
        for storage in b.written
        if storage.origin and storage in b.heap and session.is_state(storage.origin)
    }


def _assigned_state(session: _Session) -> dict[str, Value]:
    """Path -> new value of each attribute of `self` that the program sets.

    Raises:
        NotCompilable: it is neither a tensor nor a number.
    """
    b = session.builder
    b.operator = "prim::SetAttr"
    out: dict[str, Value] = {}
    for owner in session.evaluator.objects.values():
        attributes, before = b.heap[owner], b.heap.imported[owner]
        prefix = "" if owner.path == "self" else f"{owner.path}."
        for name in attributes if attributes is not before else ():
            value, given = attributes[name], before[name]
            if same_value(value, given):
                continue
            if not isinstance(value, Tensor) and not (is_scalar(value) and is_scalar(given)):
                b.cannot(f"setting {prefix}{name}, which is neither a tensor nor a number")
            out[prefix + name] = value
    _refuse_changed_containers(session)
    return out


def _refuse_changed_containers(session: _Session) -> None:
    """Lists and dicts of `self` are constants.

    Raises:
        NotCompilable: the program changes one.
    """
    b = session.builder
    for ref in changed_refs(Heap({}, b.heap.imported), b.heap):
        if isinstance(ref, ListRef | DictRef) and ref in session.evaluator.held:
            b.cannot(f"changing {session.evaluator.held[ref]}, a list or dict of self")


def _run(
    module: ModuleOp,
    entry: str,
    arguments: Sequence[ArgumentSpec],
    options: Options,
    state: Mapping[str, StateSpec],
    hints: Hints,
) -> tuple[_Session, Value]:
    builder = Builder(Block())
    if options.default_dtype is not None:
        builder.default_dtype = options.default_dtype
    builder.finds_sizes = options.lists
    evaluator = Evaluator(module, builder, TABLES, HANDLERS, hints)
    builder.table = TABLES["tensor"]
    session = _Session(module, builder, evaluator)
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
            values[k] = session.argument(spec, name)
    for path, state_spec in state.items():
        evaluator.state[path] = session.argument(state_spec, path)
    for k, spec in waiting:
        values[k] = session.argument(spec, "")
    try:
        result = evaluator.call(entry, values)
    except Raised as raised:
        raise script_error(raised, evaluator) from None
    return session, result


def _settled(
    module: ModuleOp,
    entry: str,
    arguments: Sequence[ArgumentSpec],
    options: Options,
    state: Mapping[str, StateSpec],
    hints: Hints,
) -> tuple[_Session, Value]:
    """`_run`, again and again until every list that has to be a run-time list is one."""
    while True:
        try:
            return _run(module, entry, arguments, options, state, hints)
        except ListGrows as grows:
            if not options.lists or not hints.learn(grows):
                raise NotCompilable(grows.reason, grows.span) from None


_NUMBERS: dict[type, DType] = {bool: bool_, int: int64, float: float64}


def state_spec(value: object) -> StateSpec | None:
    """The spec of a tensor literal or number of the caller's object; None for anything else."""
    if isinstance(value, TensorLiteral):
        return TensorSpec(value.dtype, tuple(value.array.shape))
    dtype = _NUMBERS.get(type(value))
    return None if dtype is None else ScalarSpec(dtype)


def _given(path: str, arguments: Sequence[ArgumentSpec]) -> object:
    """What stands at `path` of the caller's object."""
    for found in (a for a in arguments if isinstance(a, ObjectValue)):
        value: object = found
        for part in path.split("."):
            if isinstance(value, ObjectValue):
                value = value.attributes.get(part)
            elif isinstance(value, list | tuple) and part.isdigit():
                value = value[int(part)]
            else:
                value = None
        if value is not None:
            return value
    return None


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
    state = _State(arguments, dict.fromkeys(changing))
    try:
        return _with_state(module, entry, options, state)
    except NotCompilable:
        if not any(isinstance(spec, ScalarSpec) for spec in state.specs.values()):
            raise
    return _with_state(module, entry, options, replace(state, fixed=True))


@dataclass
class _State:
    """What the program changes of self, as far as it is known.

    Attributes:
        arguments: of the function.
        paths: of the attributes.
        fixed: numbers are constants.
    """

    arguments: Sequence[ArgumentSpec]
    paths: dict[str, None]
    fixed: bool = False

    @property
    def specs(self) -> dict[str, StateSpec]:
        """By path; of all attributes, be they constants or not.

        Raises:
            NotCompilable: one is neither a tensor nor a number.
        """
        found: dict[str, StateSpec] = {}
        for path in self.paths:
            if (spec := state_spec(_given(path, self.arguments))) is None:
                raise NotCompilable(f"prim::SetAttr: {path} is neither a tensor nor a number")
            found[path] = spec
        return found

    @property
    def inputs(self) -> dict[str, StateSpec]:
        """Specs of those that become arguments."""
        kinds = TensorSpec if self.fixed else StateSpec
        return {path: spec for path, spec in self.specs.items() if isinstance(spec, kinds)}

    @property
    def constants(self) -> tuple[tuple[str, object], ...]:
        """Paths and values of those that are constants."""
        others = [path for path in self.paths if path not in self.inputs]
        return tuple((path, _given(path, self.arguments)) for path in others)


def _with_state(module: ModuleOp, entry: str, options: Options, state: _State) -> Specialised:
    """Specialise, again until all is known that the program changes of self."""
    hints = Hints()
    while True:
        inputs = state.inputs
        session, result = _settled(module, entry, state.arguments, options, inputs, hints)
        changed = {**_written_state(session), **_assigned_state(session)}
        before = len(state.paths)
        state.paths.update(dict.fromkeys(changed))
        if len(state.paths) == before:
            return _finish(session, entry, result, state)


def _finish(session: _Session, entry: str, result: Value, state: _State) -> Specialised:
    b = session.builder
    inputs = tuple(state.inputs)
    output = session.tree(result)
    mutated = tuple(
        (path, session.leaf(x))
        for path, x in session.tensors.items()
        if x.storage in b.written and path not in inputs
    )
    updates, assigned = (
        tuple((path, session.leaf(v)) for path, v in found.items())
        for found in (_written_state(session), _assigned_state(session))
    )
    for path, leaf in assigned:
        value = _assigned_state(session)[path]
        if isinstance(value, Tensor) and value.indices is None and value.storage.origin:
            session.sources[leaf] = value.storage.origin
    b.emit(tg.ReturnOp(session.leaves))
    block = b.entry
    for _ in session.sizes:
        block.insert_arg(ScalarType(int64), len(block.args))
    for op in reversed(b.prologue):
        first = block.first_op
        assert first is not None
        if op.results and not op.results[0].uses:
            continue
        block.insert_op_before(op, first)
    _erase_dead(block)
    names = [*session.names, *session.sizes]
    strides = [*session.strides, *([None] * len(session.sizes))]
    name = entry.rpartition(".")[2]
    func = tg.FuncOp(name, names, list(session.sizes), block, strides)
    return Specialised(
        ModuleOp([func]),
        name,
        tuple(session.names),
        output,
        mutated,
        inputs,
        state.constants,
        updates,
        assigned,
        tuple(session.sources.items()),
        tuple(session.sizes),
    )


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
