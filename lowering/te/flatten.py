"""flatten: every access gets one index, the element's distance from the buffer's start.

```
te.store y[i, j] = x.f32[j, i]   -->   te.store y[i * 8 + j] = x.f32[j * 4 + i]
```

The function's level becomes `flat`. Strides of a parameter count; allocated buffers are row-major.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Operation

from tensorscript.base.errors import InternalError
from tensorscript.dialects.te.buffers import Buffer, ExprAttr, ExprsAttr
from tensorscript.dialects.te.expr import Expr, node
from tensorscript.dialects.te.ops import FuncOp, StoreOp, UpdateOp
from tensorscript.dialects.te.rewriting import replace_loads
from tensorscript.dialects.walks import walk_ops

from .affine import flat_index
from .dependence import loads_of
from .nest import Nest


def flatten(func: FuncOp, constants: Mapping[str, Buffer] | None = None) -> FuncOp:
    """Bring `func` to level flat, in place; `constants` are the module's buffers it may read.

    Raises:
        InternalError: an access to a buffer that is not declared.
    """
    if func.level.data == "flat":
        return func
    buffers = {**(constants or {}), **Nest(func).buffers}

    def one(name: str, indices: Sequence[Expr]) -> Expr:
        if name not in buffers:
            raise InternalError(f"no buffer {name} in @{func.sym_name.data}", "flatten")
        return flat_index(buffers[name], indices)

    def flat_load(n: Expr) -> Expr:
        return node("load", (one(str(n.value), n.args),), n.value, n.dtype)

    for op in walk_ops(func):
        _flatten_loads(op, flat_load)
        if isinstance(op, (StoreOp, UpdateOp)):
            op.properties["indices_attr"] = ExprsAttr((one(op.buffer, op.indices),))
    func.properties["level"] = StringAttr("flat")
    return func


def _flatten_loads(op: Operation, flat_load: Callable[[Expr], Expr]) -> None:
    for key, attribute in op.properties.items():
        if isinstance(attribute, ExprAttr) and loads_of(attribute.data):
            op.properties[key] = ExprAttr(replace_loads(attribute.data, flat_load))
        elif isinstance(attribute, ExprsAttr) and any(map(loads_of, attribute.data)):
            items = tuple(replace_loads(e, flat_load) for e in attribute.data)
            op.properties[key] = ExprsAttr(items)
