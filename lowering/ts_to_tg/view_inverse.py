"""Inverting the index map of a view: which elements of a storage it covers, and from where."""

from __future__ import annotations

from collections.abc import Callable

from tensorscript.dialects.te.expr import Expr, all_of, binary, const, var
from tensorscript.dialects.te.rewriting import substitute
from tensorscript.dialects.tg.names import numbered

from .sizes import same_size, simplify
from .values import Tensor


def inverse_of(x: Tensor) -> Callable[[list[Expr]], tuple[Expr, list[Expr]]] | None:
    """For a view by slicing, selecting and permuting: given a storage index, whether the view
    covers it and at which index of the view. None for other maps, and for indices that are only
    known when the program runs (a scatter then touches just what is written)."""
    assert x.indices is not None
    parts: list[tuple[str, int, Expr] | None] = []
    for e in x.indices:
        if any(n.startswith("$") for n in e.free):
            return None
        if not numbered(e.free, "i"):
            parts.append(None)
            continue
        if (part := _affine(e)) is None:
            return None
        parts.append(part)
    names = [p[0] for p in parts if p]
    if len(set(names)) != len(names):
        return None
    view, indices = x, x.indices

    def inverse(i: list[Expr]) -> tuple[Expr, list[Expr]]:
        conditions: list[Expr] = []
        at = [const(0)] * view.rank
        for position, (e, part) in enumerate(zip(indices, parts, strict=True)):
            index = i[position]
            if part is None:
                conditions.append(simplify(index.equals(e)))
                continue
            name, step, offset = part
            size = view.shape[int(name[1:])]
            shifted = simplify(index - offset)
            if not offset.is_int(0):
                conditions.append(binary("ge", shifted, 0))
            if not (step == 1 and same_size(size + offset, view.storage.shape[position])):
                conditions.append(binary("lt", shifted, size * step))
            if step != 1:
                conditions.append(binary("eq", shifted % step, 0))
            at[int(name[1:])] = shifted if step == 1 else shifted // step
        return all_of(conditions), at

    return inverse


def _affine(e: Expr) -> tuple[str, int, Expr] | None:
    """(variable, step, offset) of `variable * step + offset`, with a literal step > 0."""
    names = numbered(e.free, "i")
    if len(names) != 1:
        return None
    name = names[0]
    at = [simplify(substitute(e, {name: const(k)})) for k in (0, 1, 2)]
    step = simplify(at[1] - at[0])
    if step.op != "const" or not same_size(at[2] - at[1], step) or int(str(step.value)) < 1:
        return None
    if not same_size(e, var(name) * step + at[0]):
        return None
    return name, int(str(step.value)), at[0]
