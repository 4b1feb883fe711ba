"""`torch.ops`: operators by namespace, `ops.aten.add` and one overload, `ops.aten.add.Tensor`."""

from __future__ import annotations

from tensorscript.eager.packets import Namespace

aten = Namespace("aten")
prim = Namespace("prim")
