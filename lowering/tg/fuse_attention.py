"""Make one kernel of attention: two products with a softmax of the rows between them.

```
%s = tg.contract %q, %k                        tg.kernel @attention0 "attention" {
%m = tg.reduce %s "max" <f(a0)>                  %s = tg.contract %q, %k
%e = tg.pointwise %s, %m <exp(f(a0) - a1)>       %x = tg.pointwise %s <f(a0)>
%l = tg.reduce %e "add"                          %m = tg.reduce %x "max"
%r = tg.pointwise %l <1 / a0>             -->    %e = tg.pointwise <exp(x - max(m, lowest))>
%p = tg.pointwise %e, %r <a0 * a1>               %l = tg.reduce %e "add"
%o = tg.contract %p, %v                          %r = tg.pointwise %l <1 / a0>
                                                 %u = tg.contract %e, %v
                                                 %o = tg.pointwise %u, %r <a0 * a1>   }
```
Scaling after the second product leaves sums over keys, which can be taken block by block (Milakov
and Gimelshein, "Online normalizer calculation for softmax", 2018; Dao et al., "FlashAttention",
2022). The lowest number in place of a maximum of -inf keeps a block of hidden keys from making NaN;
a row that hides every key has l = 0, and 0 * (1 / 0) is the NaN that softmax gives.
"""

from __future__ import annotations

import numpy as np
from xdsl.ir import Block

from tensorscript.dialects.te.expr import binary, call, const, load, var
from tensorscript.dialects.te.rewriting import loads
from tensorscript.dialects.tg.ops import ComputeOp, ContractOp, FuncOp, PointwiseOp, ReduceOp

from .attention_chain import AttentionChain, match_attention
from .bodies import compact_operands
from .fuse_cpu import make_kernel
from .groups import Group, KernelSource


def _mapped(c: AttentionChain) -> ComputeOp | ContractOp:
    """x, in an op of its own unless it is the scores as they are."""
    if c.mapped is not None:
        return c.mapped
    if c.shifted.op == "load":
        return c.scores
    inputs, body = compact_operands(list(c.powers.inputs), c.shifted)
    made = PointwiseOp(inputs, body, c.powers.type)
    block = c.powers.parent
    assert block is not None
    block.insert_op_before(made, c.powers)
    return made


def _divide_last(c: AttentionChain) -> list[KernelSource]:
    """Rewrite the chain in place to the form of the kernel; its ops in order."""
    block = c.result.parent
    assert block is not None
    x, dtype = _mapped(c), c.result.type.dtype
    here = [var(f"i{d}") for d in range(c.powers.type.rank)]
    at_row = load("a0", [*here[:-1], var("r0")], dtype)
    top = ReduceOp([x.result], at_row, c.top.extents.data, c.top.combiner.data, c.top.type)
    lowest = const(float(np.finfo(dtype.numpy).min), dtype)
    shift = binary("max", load("a1", c.peak.args, dtype), lowest)
    powers = PointwiseOp(
        [x.result, top.result], call("decay", load("a0", here, dtype) - shift), c.powers.type
    )
    block.insert_ops_before([top, powers], c.powers)
    number = list(c.weights.inputs).index(c.inverse.result)
    scale = next(n for n in loads(c.weights.expr) if n.value == f"a{number}")
    for old, new in ((c.top, top), (c.powers, powers), (c.weights, powers)):
        old.result.replace_all_uses_with(new.result)
    final = PointwiseOp(
        [c.result.result, c.inverse.result],
        load("a0", here, dtype) * load("a1", scale.args, dtype),
        c.result.type,
    )
    block.insert_op_after(final, c.result)
    c.result.result.replace_uses_with_if(final.result, lambda use: use.operation is not final)
    for dead in (c.weights, c.powers, c.top):
        block.erase_op(dead)
    ops: list[KernelSource] = [c.scores, top, powers, c.total, c.inverse, c.result, final]
    if x is not c.scores:
        ops.insert(1, x)
    for op in ops:
        op.location = c.result.location
    return ops


def _fuse_block(block: Block, made: list[str]) -> None:
    for op in list(block.ops):
        for region in op.regions:
            for inner in region.blocks:
                _fuse_block(inner, made)
        if not isinstance(op, ContractOp) or (chain := match_attention(op)) is None:
            continue
        ops = _divide_last(chain)
        after = ops[-1].next_op
        assert after is not None  # a block ends in a return or a yield
        rows = chain.scores.type.rank - 1
        made.append(f"attention{len(made)}")
        kernel = make_kernel(Group(0, ops, chain.scores.type.shape, rows, True), made[-1])
        block.insert_op_before(kernel, after)


def fuse_attention(func: FuncOp) -> bool:
    """Make kernels of the attentions of a function and of the regions in it; True if any."""
    made: list[str] = []
    _fuse_block(func.block, made)
    return bool(made)
