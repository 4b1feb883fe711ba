"""A tg.loop whose body is one kernel of points: each point is iterated by itself, in registers.

```
%r = tg.loop %n, %x {                     te.for i in 0 .. 1024 serial {
  %y = tg.kernel "pointwise" %x {..}        te.alloc stack s0: f32[]
  tg.yield true, %y                 -->     te.store s0[] = p0[i]
}                                           te.for k in 0 .. n serial { te.store s0[] = f(s0[]) }
                                            te.store o0[i] = s0[] }
```
Each point reads of what is carried only what it was itself, so that the loops may change places
(loop interchange). The loop of kernels reads and writes all of memory in each iteration.
"""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from typing import Protocol

from xdsl.ir import Block, Operation, SSAValue

from tensorscript.base.dtypes import int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer, Scalar
from tensorscript.dialects.te.expr import Expr, binary, load, var
from tensorscript.dialects.te.ops import AllocOp, CallOp, ForOp, FuncOp, StoreOp
from tensorscript.dialects.te.rewriting import replace_loads, substitute
from tensorscript.dialects.tg import ops as tg
from tensorscript.dialects.tg.types import ScalarType, TensorType

from ..te.names import unused
from .host_loops import FOREVER, holds
from .kernel import lower_kernel
from .module_parts import ModuleParts

_COUNTER = "r0"
"""What bodies call the number of the iteration, from 0; no size is called so."""


class IterationHost(Protocol):
    """What the lowering of a function offers; see `HostBody`."""

    module: ModuleParts
    buffers: dict[SSAValue, Buffer]
    scalars: dict[SSAValue, Expr]
    sizes: frozenset[str]

    def let(self, op: Operation) -> list[Operation]: ...

    def results(self, values: Sequence[SSAValue]) -> tuple[list[Operation], list[Buffer | str]]: ...


@dataclass(frozen=True)
class _Body:
    """What an iteration does.

    Attributes:
        kernel: what computes its tensors.
        inputs: which of the carried tensors, by number of the kernel's argument.
        numbers: scalars made of the loop's counter alone, by number of the kernel's argument.
        before: what computes scalars that are the same in each iteration.
        following: what each carried tensor becomes: a result of the kernel ("n" and its number), or
            what a carried one was ("s").
    """

    kernel: tg.KernelOp
    inputs: dict[int, int]
    numbers: dict[int, Expr]
    before: list[tg.ScalarOp]
    following: tuple[tuple[str, int], ...]


def lower_iterated(host: IterationHost, op: tg.LoopOp) -> list[Operation] | None:
    """The call of a kernel that iterates each point; None for another loop."""
    body = _body(host, op)
    if body is None:
        return None
    kernel = body.kernel
    lowered = lower_kernel(kernel, [_strides(host, v) for v in kernel.inputs])
    firsts = [host.buffers[value] for value in op.carried]
    func = _interchanged(lowered.func, body, firsts)
    if func is None:
        return None
    callee, symbols = host.module.register(func, lowered.symbols)
    before = [statement for o in body.before for statement in host.let(o)]
    declared, places = host.results(op.outputs)
    arguments: list[str | Expr] = [buffer.name for buffer in firsts]
    for number, value in enumerate(kernel.inputs):
        if number not in body.inputs and number not in body.numbers:
            is_tensor = isinstance(value.type, TensorType)
            arguments.append(host.buffers[value].name if is_tensor else host.scalars[value])
    for place in places:
        assert isinstance(place, Buffer)
        arguments.append(place.name)
    trips = binary("max", host.scalars[op.max_trip], 0)
    return [*before, *declared, CallOp(callee, [*arguments, trips, *(var(s) for s in symbols)])]


def _strides(host: IterationHost, value: SSAValue) -> tuple[Expr, ...] | None:
    buffer = host.buffers.get(value)  # none of what is carried yet
    return None if buffer is None else buffer.strides


def _body(host: IterationHost, op: tg.LoopOp) -> _Body | None:
    block = op.body.block
    kernels = [o for o in block.ops if isinstance(o, tg.KernelOp)]
    last = block.last_op
    if len(kernels) != 1 or not isinstance(last, tg.YieldOp) or not _counts(host, op, last):
        return None
    (kernel,) = kernels
    others = [o for o in block.ops if o is not kernel and o is not last]
    if kernel.category.data != "pointwise" or not all(isinstance(o, tg.ScalarOp) for o in others):
        return None
    carried: Sequence[SSAValue] = list(block.args)[1:]
    names = {value: ("s", n) for n, value in enumerate(carried)}
    names |= {value: ("n", n) for n, value in enumerate(kernel.outputs)}
    if not all(value in names for value in last.values[1:]) or not _alike(host, names):
        return None
    of_turn = _numbers_of(block)
    before = _same_in_each(block, of_turn)
    same = {o.result for o in before}
    inside = {r for o in others for r in o.results} - of_turn.keys() - same
    if inside.intersection(kernel.inputs):
        return None
    numbered = list(enumerate(kernel.inputs))
    return _Body(
        kernel,
        {number: carried.index(value) for number, value in numbered if value in carried},
        {number: of_turn[value] for number, value in numbered if value in of_turn},
        before,
        tuple(names[value] for value in last.values[1:]),
    )


def _counts(host: IterationHost, op: tg.LoopOp, last: tg.YieldOp) -> bool:
    """Nothing but a number says how often it runs."""
    proceed = last.values[0].owner
    goes_on = isinstance(proceed, tg.ScalarOp) and holds(proceed.expr)
    first, trips = host.scalars[op.condition], host.scalars[op.max_trip]
    return goes_on and holds(first) and not trips.is_int(FOREVER)


def _alike(host: IterationHost, values: Iterable[SSAValue]) -> bool:
    """Tensors of one shape, whose sizes are known before."""
    shapes = {v.type.shape if isinstance(v.type, TensorType) else None for v in values}
    (shape, *others) = shapes
    return bool(shape) and not others and all(size.free <= host.sizes for size in shape or ())


def _numbers_of(block: Block) -> dict[SSAValue, Expr]:
    """The scalars of a loop's body that are made of its counter alone."""
    found: dict[SSAValue, Expr] = {block.args[0]: var(_COUNTER)}
    for op in block.ops:
        if isinstance(op, tg.ScalarOp) and all(v in found for v in op.inputs):
            values = {f"a{n}": found[v] for n, v in enumerate(op.inputs)}
            found[op.result] = substitute(op.expr, values)
    return found


def _same_in_each(block: Block, of_turn: Container[SSAValue]) -> list[tg.ScalarOp]:
    """Those that are made of scalars from outside of the loop's body."""
    found: list[tg.ScalarOp] = []
    for op in block.ops:
        if isinstance(op, tg.ScalarOp) and op.result not in of_turn:
            made = {o.result for o in found}
            if all(_is_outside(v, block) or v in made for v in op.inputs):
                found.append(op)
    return found


def _is_outside(value: SSAValue, block: Block) -> bool:
    owner = value.owner
    home = owner if isinstance(owner, Block) else owner.parent
    return home is not block and isinstance(value.type, ScalarType)


def _interchanged(func: FuncOp, body: _Body, firsts: Sequence[Buffer]) -> FuncOp | None:
    """The kernel of one iteration as one of all of them; its parameters are what is carried at
    first, the others, what is carried at last, and the number of iterations."""
    loops: list[ForOp] = []
    statements = list(func.block.ops)
    while len(statements) == 1 and isinstance(statements[0], ForOp):
        loops.append(statements[0])
        statements = list(statements[0].block.ops)
    stores = [op for op in statements if isinstance(op, StoreOp)]
    if not loops or not stores or len(stores) != len(statements):
        return None
    here = stores[0].indices
    apart = {loop.var for loop in loops if not loop.extent.is_int(1)}
    if apart - {str(e) for e in here} or any(op.indices != here for op in stores):
        return None
    inputs, results = len(body.kernel.inputs), len(body.kernel.outputs)
    given, sizes = func.params[:inputs], func.params[inputs + results :]
    point = _Point(body, here, firsts, {p.name for p in sizes})
    made = point.iterate(stores)
    if made is None:
        return None
    for loop in reversed(loops):
        made = [ForOp(loop.var, loop.extent, made)]
        made[0].location = loop.location
    own = {f"p{n}" for n in (*body.inputs, *body.numbers)}
    parameters = [
        *(Buffer(name, b.dtype, b.shape, b.strides) for name, b in point.named("c")),
        *(p for p in given if p.name not in own),
        *(Buffer(name, b.dtype, b.shape, None, "out") for name, b in point.named("o")),
        Scalar(point.turns, int64),
        *sizes,
    ]
    out = FuncOp(func.sym_name.data, parameters, made, category="iterated")
    out.location = func.location
    return out


class _Point:
    """One point of what is carried.

    Attributes:
        stems: what begins the names of what comes in (c) and goes out (o), of what the point is
            (s), of what the kernel makes of it (n), and of what only moves (m); none of a size's.
        turn, turns: the number of an iteration, and that of all.
    """

    def __init__(
        self, body: _Body, here: tuple[Expr, ...], firsts: Sequence[Buffer], taken: set[str]
    ) -> None:
        self.here, self.body, self.firsts = here, body, firsts
        self.stems = {letter: _stem(letter, taken) for letter in "cosnm"}
        self.turn, self.turns = unused("turn", taken), unused("turns", taken)
        counter = {_COUNTER: var(self.turn)}
        self.numbers = {f"p{n}": substitute(e, counter) for n, e in body.numbers.items()}
        self.own = {f"p{n}": self._name("s", carried) for n, carried in body.inputs.items()}
        self.own |= {f"o{n}": self._name("n", n) for n in range(len(body.kernel.outputs))}

    def _name(self, letter: str, number: int) -> str:
        return f"{self.stems[letter]}{number}"

    def named(self, letter: str) -> list[tuple[str, Buffer]]:
        """A name for each carried tensor, and its first buffer."""
        return [(self._name(letter, n), buffer) for n, buffer in enumerate(self.firsts)]

    def iterate(self, stores: Sequence[StoreOp]) -> list[Operation] | None:
        """The statements of all its iterations; None where it reads another point's."""
        steps: list[Operation] = []
        made = {name: buffer.dtype for name, buffer in self.named("s")}
        for op in stores:
            value = self._of_point(op.value)
            if value is None:
                return None
            name = self.own[op.buffer]
            made[name] = op.value.dtype
            steps.append(StoreOp(name, (), value))
        last: list[Operation] = []
        for (state, buffer), (letter, number) in zip(
            self.named("s"), self.body.following, strict=True
        ):
            name = self._name(letter, number)
            if letter == "s":  # read before anything is replaced
                name = self._name("m", number)
                made[name] = buffer.dtype
                steps.append(StoreOp(name, (), load(self._name("s", number), (), buffer.dtype)))
            last.append(StoreOp(state, (), load(name, (), buffer.dtype)))
        begin = zip(self.named("s"), self.named("c"), strict=True)
        end = zip(self.named("o"), self.named("s"), strict=True)
        return [
            *(AllocOp(Buffer(name, dtype, ()), "stack") for name, dtype in made.items()),
            *(StoreOp(s, (), load(c, self.here, b.dtype)) for (s, b), (c, _) in begin),
            ForOp(self.turn, var(self.turns), [*steps, *last]),
            *(StoreOp(o, self.here, load(s, (), b.dtype)) for (o, b), (s, _) in end),
        ]

    def _of_point(self, value: Expr) -> Expr | None:
        apart, shape = False, self.firsts[0].shape

        def own(n: Expr) -> Expr | None:
            nonlocal apart
            name = self.own.get(str(n.value))
            if name is None:
                return None
            pairs = zip(n.args, self.here, shape, strict=True)
            apart = apart or any(a is not b and not size.is_int(1) for a, b, size in pairs)
            return load(name, (), n.dtype)

        found = replace_loads(substitute(value, self.numbers), own)
        return None if apart else found


def _stem(letter: str, taken: set[str]) -> str:
    while any(name.startswith(letter) for name in taken):
        letter += "_"
    return letter
