"""Operators that give their argument another shape in place: `x.unsqueeze_(0)`.

A tensor of tg has one shape for good, so it is the program's names of the tensor that change: from
there on they stand for a view of it. Names are followed inside of the block that made the tensor;
what may have other names (an argument, an attribute, an element of a list) is refused.
"""

from __future__ import annotations

from collections.abc import Callable

from xdsl.ir import Operation, SSAValue

from tensorscript.base.schema import schema
from tensorscript.dialects.te.expr import Expr, const, select
from tensorscript.dialects.ts import ops as ts

from .builder import Builder
from .complex_tensors import AnyTensor, filled
from .dims import sizes_of
from .emission import Body
from .evaluator import Env, Evaluator
from .out_resized import OutResized
from .sizes import product, simplify
from .values import ComplexTensor, DictRef, ListRef, Tensor, TupleValue, Value

_REFUSED = "changes the shape of a tensor in place that may have other names"

_KEEP_IDENTITY = frozenset(("aten::contiguous", "aten::to", "aten::cpu", "aten::requires_grad_"))
"""Operators besides those in place whose result may be their argument itself."""

_KEEPERS = (ts.SetAttrOp, ts.CallOp, ts.CallMethodOp, ts.TaskOp, ts.YieldOp)
"""Ops after which an operand may have other names."""

VIEWS = frozenset(
    f"aten::{name}_"
    for name in (
        "as_strided", "squeeze", "swapaxes", "swapdims", "t", "transpose", "unsqueeze",
    )
)  # fmt: skip
"""Operators that are views of another name, in place."""


def _resized(b: Builder, x: AnyTensor, size: Value, *_: Value) -> AnyTensor:
    """The first elements in row-major order; what is new is 0."""
    shape = sizes_of(b, size)
    have, want = product(x.shape), product(shape)
    if have.op == want.op == "const" and int(str(want.value)) <= int(str(have.value)):
        line = b.apply("aten::narrow", b.apply("aten::reshape", x, [-1]), 0, 0, want)
        return b.apply("aten::reshape", line, list(shape))
    if isinstance(x, ComplexTensor):
        return ComplexTensor(*(_grown(b, part, shape, have, want) for part in x.elements))
    return _grown(b, x, shape, have, want)


def _grown(b: Builder, x: Tensor, shape: tuple[Expr, ...], have: Expr, want: Expr) -> Tensor:
    flat = b.apply("aten::reshape", x, [-1])
    if have.is_int(0):
        return b.full(shape, 0, x.dtype)

    def make(body: Body, i: list[Expr]) -> Expr:
        at = select(i[0] < have, i[0], simplify(have - 1))
        return select(i[0] < have, body.read(flat, [at], x.dtype), const(0, x.dtype))

    return b.apply("aten::reshape", b.compute([want], x.dtype, make), list(shape))


def _of_source(b: Builder, x: AnyTensor, source: Value = None, *places: Value) -> AnyTensor:
    """`set_`: a view of all of another tensor, or of nothing."""
    if source is None:
        return filled(b, [0], 0, x.dtype)
    if places:
        b.cannot("strides over the memory of another tensor")
    return b.apply("aten::alias", source)


RESHAPES: dict[str, Callable[..., AnyTensor]] = {
    "aten::resize_": _resized,
    "aten::resize_as_": lambda b, x, other, *_: _resized(b, x, list(other.shape)),
    "aten::set_": _of_source,
    "aten::set_.source_Tensor": _of_source,
}
"""Operators that have no other name, by what their argument becomes."""


def changes_shape(name: str) -> bool:
    """Whether an operator (with overload) gives its first argument another shape in place."""
    base = name.partition(".")[0]
    return base in VIEWS or name in RESHAPES


def reshape_names(ev: Evaluator, op: ts.OperatorOp, env: Env) -> None:
    """Evaluate such an operator.

    Raises:
        NotCompilable: the tensor may have names that are not seen here.
    """
    name, target = op.schema.data, op.arguments[0]
    ev.b.operator = name
    names = _names_of(ev, op, env, target)
    arguments = [ev.plain(env[a]) for a in op.arguments]
    base, dot, overload = name.partition(".")
    if (row := RESHAPES.get(name)) is not None:
        made = row(ev.b, *arguments)
    else:
        made = ev.operator(f"{base[:-1]}{dot}{overload}", arguments)
    for other in (*names, *op.outputs):
        env[other] = made


def resize_out(ev: Evaluator, op: ts.OperatorOp, env: Env, found: OutResized) -> None:
    """Let the names of an empty tensor that the program made, as `torch.empty(0)`, stand for what
    an operator with `out=` gives.

    Raises:
        NotCompilable: another tensor, or one that may have names that are not seen here.
    """
    target = next(a for a in op.arguments if env[a] is found.target)
    made_by = _root(target, env).owner
    is_new = isinstance(made_by, ts.OperatorOp) and all(
        r.alias is None for r in schema(made_by.schema.data).returns
    )
    if not (is_new and len(op.outputs) == 1 and product(found.target.shape).is_int(0)):
        raise found
    for name in (*_names_of(ev, op, env, target), *op.outputs):
        env[name] = found.made


def _names_of(ev: Evaluator, op: ts.OperatorOp, env: Env, target: SSAValue) -> list[SSAValue]:
    """All names of the tensor that `target` names."""
    b, old = ev.b, env[target]
    if not isinstance(old, Tensor | ComplexTensor):
        b.cannot(_REFUSED)
    root = _root(target, env)
    if not isinstance(root.owner, ts.OperatorOp) or root.owner.parent is not op.parent:
        b.cannot(_REFUSED)
    known = [v for v, value in env.items() if value is old and _root(v, env) is root]
    for v in known:
        if any(isinstance(u.operation, _KEEPERS) and _is_before(u.operation, op) for u in v.uses):
            b.cannot(_REFUSED)
    if any(_holds(ev, value, old) for value in env.values()):
        b.cannot(_REFUSED)
    return known


def _is_before(other: Operation, op: Operation) -> bool:
    """Whether an op, or the one around it in the block of `op`, has run when `op` does. What comes
    later knows the new shape."""
    block = op.parent_block()
    assert block is not None
    around = block.find_ancestor_op_in_block(other)
    return around is not None and around.is_before_in_block(op)


def _root(v: SSAValue, env: Env) -> SSAValue:
    """The first name of the tensor that `v` names."""
    while isinstance(v.owner, ts.OperatorOp) and v.owner.arguments:
        base = v.owner.schema.data.partition(".")[0]
        first = v.owner.arguments[0]
        is_same = base.endswith("_") or base in _KEEP_IDENTITY
        if not is_same or env.get(first) is not env.get(v):
            break
        v = first
    return v


def _holds(ev: Evaluator, value: Value, tensor: AnyTensor) -> bool:
    """Whether a tuple, list or dict has the tensor in it. The lists of a loop's turn that was tried
    and given up are still named, but hold nothing."""
    content: Value = ()
    if isinstance(value, TupleValue):
        content = value.elements
    elif isinstance(value, DictRef) and value in ev.b.heap:
        content = ev.b.heap[value].values()
    elif isinstance(value, ListRef) and value in ev.b.heap and not ev.is_grown(value):
        content = ev.b.heap[value]
    return any(v is tensor or _holds(ev, v, tensor) for v in content)
