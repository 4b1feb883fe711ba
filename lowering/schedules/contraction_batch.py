"""A batch of products whose second factors are packed before all of them.

```
for i { yp = packed w[i]; y[i] = x[i] times yp } -->  for i_y { yp[i_y] = packed w[i_y] }
                                                      for i { y[i] = x[i] times yp[i] }
```
So constants are packed once, at compile time (`prepack.py`), though each product has its own.
"""

from __future__ import annotations

from xdsl.ir import Operation

from tensorscript.base.records import dataclass
from tensorscript.dialects.te.expr import Expr, const, mul, var
from tensorscript.dialects.te.ops import ForOp
from tensorscript.dialects.te.rewriting import substitute

from ..te.affine import known
from .contraction_shape import Axis, Product


@dataclass(frozen=True)
class PackedBatch:
    """The loops of a batch that the second factor depends on; none where it is packed otherwise."""

    axis: Axis

    @classmethod
    def of(cls, product: Product, whole: bool) -> PackedBatch:
        """Of a product whose second factor is packed `whole`."""
        pairs = [(n, e) for n, e in product.batch.pairs if n in product.y.free]
        if not whole or any(known(extent) is None for _, extent in pairs):
            pairs = []
        return cls(Axis([n for n, _ in pairs], [e for _, e in pairs]))

    @property
    def _own(self) -> dict[str, Expr]:
        """The loops of the packing in the place of those of the products."""
        return {name: var(f"{name}_y") for name in self.axis.names}

    @property
    def count(self) -> Expr:
        """How many factors are packed."""
        return self.axis.size

    def factor(self, y: Expr) -> Expr:
        """The second factor at the loops of its packing."""
        return substitute(y, self._own)

    def first(self, panels: Expr) -> Expr:
        """The first of so many panels that belong to the product at hand."""
        return mul(self.axis.flat(), panels) if self.axis.names else const(0)

    def packed_first(self, panels: Expr) -> Expr:
        """The same at the loops of the packing."""
        return substitute(self.first(panels), self._own)

    def around(self, packing: Operation) -> Operation:
        """The loops over the factors around the packing of one."""
        for name, extent in reversed(self.axis.pairs):
            packing = ForOp(f"{name}_y", extent, [packing])
        return packing
