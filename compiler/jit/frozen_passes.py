"""Freezing by its steps, under the names of PyTorch's binary module."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.compiler.folding import optimize
from tensorscript.dialects.ts.ops import FuncOp
from tensorscript.lowering.ts.dce import remove_dead_code
from tensorscript.lowering.ts.fold_convolution import Layers, Readers, fold_into_layers
from tensorscript.lowering.ts.transpose_linear import transpose_linear

from .freeze import Freezer
from .graph import Graph
from .graph_passes import run_rewrite
from .module_core import ModuleCore


def freeze_module(
    module: ModuleCore,
    preservedAttrs: Sequence[str] = (),
    freezeInterfaces: bool = True,
    preserveParameters: bool = False,
) -> ModuleCore:
    """A frozen copy of a module, of one that is being trained as well; nothing is folded yet.

    Args:
        preservedAttrs: attributes and methods to keep besides `forward`.
        freezeInterfaces: modules behind interfaces are frozen; else they are refused.
        preserveParameters: parameters and buffers stay attributes, as in training they do.

    Raises:
        GuardError: an unknown name, or what cannot be frozen.
    """
    keep = preserveParameters or bool(module._target.attributes.get("training"))
    freezer = Freezer(
        module._home.classes.wrap(module._target), preservedAttrs, keep, freezeInterfaces
    )
    return freezer.frozen(optimize_numerics=False)._c


def optimize_frozen_graph(graph: Graph, optimize_numerics: bool = True) -> None:
    """As `jit.run_frozen_optimizations`, of one graph."""

    def rewrite(function: FuncOp) -> bool:
        optimize(function, graph.interpreter, optimize_numerics)
        return True

    run_rewrite(graph, rewrite)


def _folding(readers: Readers, layers: Layers) -> Callable[[Graph], bool]:
    def fold(graph: Graph) -> bool:
        def rewrite(function: FuncOp) -> bool:
            remove_dead_code(function)
            return fold_into_layers(function, False, readers, layers)

        return run_rewrite(graph, rewrite)

    return fold


fold_conv_bn = _folding(Readers.NORMS, Layers.CONVOLUTIONS)
fold_conv_add_or_sub = _folding(Readers.SUMS, Layers.CONVOLUTIONS)
fold_conv_mul_or_div = _folding(Readers.PRODUCTS, Layers.CONVOLUTIONS)
fold_linear_bn = _folding(Readers.NORMS, Layers.LINEAR)


def transpose_frozen_linear(graph: Graph) -> bool:
    """Linear layers of constant weights multiply by the transposed weights."""
    return run_rewrite(graph, transpose_linear)
