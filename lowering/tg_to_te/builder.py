"""The state of lowering one tg.kernel: where its values live, and one stage's loop nest."""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.ir import Operation, SSAValue

from tensorscript.base.errors import InternalError
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Buffer, Parameter, Scalar
from tensorscript.dialects.te.expr import Expr, load, var
from tensorscript.dialects.te.ops import AllocOp, ForOp, StoreOp, UpdateOp
from tensorscript.dialects.te.ranges import Ranges
from tensorscript.dialects.te.rewriting import substitute, transform
from tensorscript.dialects.tg.names import operand_of
from tensorscript.dialects.tg.ops import ComputeOp, KernelOp, ReductionOp, YieldOp, identity
from tensorscript.dialects.tg.types import ScalarType, TensorType

from ..tg.groups import product
from .merged_dimensions import Runs, flat, merged_runs, ranges_of


@dataclass(frozen=True)
class Place:
    """Where a tensor value lives: a buffer that stores all dimensions of the value but the first
    `dropped` and the last `dropped_last`."""

    buffer: Buffer
    dropped: int = 0
    dropped_last: int = 0
    runs: Runs | None = None
    """Dimensions that are one in the buffer (`merged_dimensions.py`)."""

    def own(self, indices: Sequence[Expr]) -> Sequence[Expr]:
        """Of the value's indices those of the buffer."""
        return indices[self.dropped : len(indices) - self.dropped_last]

    def read(self, indices: Sequence[Expr], ranges: Ranges | None = None) -> Expr:
        at = self.own(indices)
        if self.runs is not None:
            left = iter(at)
            at = [flat(run, [next(left) for _ in run], ranges or {}) for run in self.runs]
        return load(self.buffer.name, at, self.buffer.dtype)


class KernelBuilder:
    """Lowers the stages of one tg.kernel.

    Attributes:
        updated: number of the input whose memory the only result takes over; None for none.
    """

    def __init__(
        self,
        kernel: KernelOp,
        strides: Sequence[tuple[Expr, ...] | None],
        updated: int | None = None,
    ) -> None:
        self.kernel = kernel
        self.updated = updated
        self.strides = strides
        self.shared = kernel.shared.data
        self.shared_last = 0 if kernel.shared_last is None else kernel.shared_last.data
        self.places: dict[SSAValue, Place] = {}
        self.scalars: dict[SSAValue, Expr] = {}
        self.parameters: list[Parameter] = []
        self.temporaries: list[Buffer] = []

    def bind_parameters(self) -> None:
        for number, argument in enumerate(self.kernel.block.args):
            if number == self.updated:
                continue
            if isinstance(argument.type, TensorType):
                shape, strides = argument.type.shape, self.strides[number]
                runs = None if strides is not None else merged_runs(self.kernel, number)
                if runs is not None:
                    shape = tuple(map(product, runs))
                buffer = Buffer(f"p{number}", argument.type.dtype, shape, strides)
                self.places[argument] = Place(buffer, runs=runs)
                self.parameters.append(buffer)
            else:
                assert isinstance(argument.type, ScalarType)
                self.scalars[argument] = var(f"p{number}", argument.type.dtype)
                self.parameters.append(Scalar(f"p{number}", argument.type.dtype))
        last = self.kernel.block.last_op
        assert isinstance(last, YieldOp)
        for number, value in enumerate(last.values):
            assert isinstance(value.type, TensorType)
            mode = "out" if self.updated is None else "inout"
            out = Buffer(f"o{number}", value.type.dtype, value.type.shape, None, mode)
            self.places[value] = Place(out)
            self.parameters.append(out)
        if self.updated is not None:
            self.places[self.kernel.block.args[self.updated]] = self.places[last.values[0]]

    def expression(
        self,
        inputs: Sequence[SSAValue],
        body: Expr,
        variables: dict[str, Expr],
        ranges: Ranges | None = None,
    ) -> Expr:
        """`body` with operands replaced by buffers and iteration variables by `variables`, which
        have these ranges."""

        def visit(n: Expr) -> Expr | None:
            if (number := operand_of(n)) is None:
                return None
            value = inputs[number]
            if n.op == "var":
                return self.scalars[value]
            return self.places[value].read(n.args, ranges)

        return transform(substitute(body, variables), visit)

    def place_result(self, value: SSAValue, number: int) -> Place:
        """The output parameter of a result, or a new row buffer of one outer iteration."""
        if value in self.places:
            return self.places[value]
        assert isinstance(value.type, TensorType)
        shape = [value.type.shape[dim] for dim in self.own_dimensions(value.type.rank)]
        buffer = Buffer(f"t{number}", value.type.dtype, tuple(shape))
        place = self.places[value] = Place(buffer, self.shared, self.shared_last)
        self.temporaries.append(buffer)
        return place

    def own_dimensions(self, rank: int) -> range:
        """Those that a stage goes over by itself."""
        return range(self.shared, rank - self.shared_last)

    def stage(self, op: Operation, number: int) -> list[Operation]:
        """The statements of one stage inside the shared loops."""
        if isinstance(op, ComputeOp | ReductionOp):
            return self._map_or_reduce(op, number)
        raise InternalError(f"no loops for {op.name}", "te")

    def _map_or_reduce(self, op: ComputeOp | ReductionOp, number: int) -> list[Operation]:
        place = self.place_result(op.result, number)
        own = self.own_dimensions(op.type.rank)
        names = [f"s{number}_i{d}" if d in own else f"i{d}" for d in range(op.type.rank)]
        indices = [var(n) for n in names]
        variables = {f"i{d}": index for d, index in enumerate(indices)}
        ranges = dict(ranges_of(zip(names, op.type.shape, strict=True)))
        target = place.own(indices)
        name = place.buffer.name
        if isinstance(op, ComputeOp):
            value = self.expression(op.inputs, op.expr, variables, ranges)
            inner: list[Operation] = [StoreOp(name, target, value)]
        else:
            extents = op.extents.data
            rnames = [f"s{number}_r{d}" for d in range(len(extents))]
            variables |= {f"r{d}": var(n) for d, n in enumerate(rnames)}
            ranges |= ranges_of(zip(rnames, extents, strict=True))
            value = self.expression(op.inputs, op.body.data, variables, ranges)
            combiner = op.combiner.data
            local = target
            is_found = any(not size.is_const for size in place.buffer.shape) and value.op != "mul"
            if place.buffer.mode == "out" or is_found:
                # Sum up in a local, not in memory, but for products, which have tiles.
                name, local = f"s{number}_sum", []
            steps: list[Operation] = [UpdateOp(name, local, combiner, value)]
            for rname, extent in reversed(list(zip(rnames, extents, strict=True))):
                steps = [ForOp(rname, extent, steps, reduction=True)]
            inner = [StoreOp(name, local, identity(combiner, op.type.dtype)), *steps]
            if local is not target:
                sum_ = Buffer(name, op.type.dtype, ())
                out = StoreOp(place.buffer.name, target, load(name, (), op.type.dtype))
                inner = [AllocOp(sum_, "stack"), *inner, out]
        for dim in reversed(own):
            inner = [ForOp(names[dim], op.type.shape[dim], inner)]
        for statement in inner:
            statement.location = op.location
        return inner
