"""PyTorch's passes over graphs that there are passes for here, under `torch._C`'s names.

Each changes a graph in place and tells whether it did, as PyTorch's do. What has no pass here has
no name here either.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

from tensorscript.dialects.ts.ops import FuncOp, TupleConstructOp
from tensorscript.dialects.ts.types import TENSOR, TensorInfo, TensorType, TupleType
from tensorscript.dialects.ts.value_names import ValueNames
from tensorscript.dialects.walks import walk_ops
from tensorscript.eager.executor_flags import OPTIMIZES
from tensorscript.eager.tensor import Tensor
from tensorscript.frontends.trace.facts import type_of
from tensorscript.lowering.ts.decompose_addmm import decompose_addmm
from tensorscript.lowering.ts.inline_forks import inline_forks
from tensorscript.lowering.ts.lower_tuples import elements_of, lower_tuples
from tensorscript.lowering.ts.pool_constants import pool_constants
from tensorscript.lowering.ts.remove_dropout import remove_dropout
from tensorscript.lowering.ts.unroll_loops import unroll_loops

from .graph import Graph
from .graph_cse import merge_common
from .graph_dce import remove_dead, remove_unread
from .graph_folding import fold, fold_immutable
from .graph_peephole import simplify
from .graph_shapes import known_types
from .inlined import inline
from .module_core import ModuleCore


def run_rewrite(graph: Graph, rewrite: Callable[[FuncOp], object]) -> bool:
    """Run a rewrite of functions on a graph; names of what is there stay."""
    _ = graph.names
    changed = bool(rewrite(graph.op))
    graph.state.changed()
    return changed


def inline_graph(graph: Graph) -> None:
    """Replace every call by the body of what it calls, which is simplified before."""
    run_rewrite(graph, lambda function: inline(function, graph.interpreter))


def inline_fork_wait(graph: Graph) -> None:
    """Run tasks where they are started."""
    run_rewrite(graph, lambda function: inline_forks(function, graph.interpreter.functions))


def dce(graph: Graph) -> None:
    """Remove what has no effect; every write is one."""
    run_rewrite(graph, remove_unread)


def dce_graph(graph: Graph) -> None:
    """Remove what has no effect, writes into what nobody reads among it."""
    run_rewrite(graph, remove_dead)


def constant_propagation(graph: Graph) -> bool:
    """Compute what is constant, and take the branches that this decides."""
    return run_rewrite(graph, lambda function: fold(function, graph.interpreter))


def constant_propagation_immutable_types(graph: Graph) -> bool:
    """Compute what is constant and cannot be written: numbers, strings, tuples of them."""
    return run_rewrite(graph, lambda function: fold_immutable(function, graph.interpreter))


def constant_pooling(graph: Graph) -> None:
    """Put all constants first, equal ones once."""
    run_rewrite(graph, pool_constants)


def cse(graph: Graph) -> bool:
    """Compute what is computed twice only once."""
    return run_rewrite(graph, merge_common)


def peephole(graph: Graph, disable_shape_peepholes: bool = False) -> bool:
    """Rewrite small patterns that always mean something simpler.

    Args:
        disable_shape_peepholes: accepted; none of the patterns looks at shapes.
    """

    return run_rewrite(graph, simplify)


def erase_shape_information(graph: Graph) -> None:
    """Let every tensor be just a tensor."""
    _ = graph.names
    for op in list(walk_ops(graph.op)):
        arguments = (value for region in op.regions for value in region.block.args)
        for value in (*op.results, *arguments):
            if isinstance(value.type, TensorType):
                graph.state.set_type(value, TENSOR)


def complete_shape_analysis(
    graph: Graph, inputs: Sequence[object], with_grad: bool = False
) -> None:
    """Note what is known of the tensors of a graph that is called with `inputs`.

    Args:
        with_grad: accepted; inputs require gradients if they do.
    """
    _let_be_given(graph, inputs, lambda info: info)


def propagate_shapes(graph: Graph, inputs: Sequence[object], with_grad: bool = False) -> Graph:
    """A copy of a graph that notes what is known of its tensors, if it is called with tensors of
    the dtypes and ranks of `inputs`.

    Args:
        with_grad: accepted; inputs require gradients if they do.
    """
    made = graph.copy()
    _let_be_given(made, inputs, TensorInfo.without_sizes)
    return made


def propagate_shapes_on_graph(graph: Graph) -> None:
    """Note what is known of the tensors of a graph by the types of its inputs."""
    _ = graph.names
    for value, found in known_types(graph.op, graph.interpreter).items():
        graph.state.set_type(value, found)


def _let_be_given(
    graph: Graph, inputs: Sequence[object], known: Callable[[TensorInfo], TensorInfo]
) -> None:
    """Give the inputs of a graph the types of values, the last ones where there are less."""
    erase_shape_information(graph)
    formals = list(graph.op.block.args)
    for formal, given in zip(formals[-len(inputs) :], inputs, strict=False):
        if isinstance(given, Tensor) and isinstance(formal.type, TensorType):
            graph.state.set_type(formal, TensorType(known(type_of(given).info)))
    propagate_shapes_on_graph(graph)


def decompose_ops(graph: Graph) -> None:
    """Write `addmm` without factors as a product and a sum."""
    run_rewrite(graph, decompose_addmm)


def refine_tuple_types(graph: Graph) -> None:
    """Let tuples that are put together have the types of what they hold."""
    _ = graph.names
    for op in [op for op in walk_ops(graph.op) if isinstance(op, TupleConstructOp)]:
        known = op.result.type
        if isinstance(known, TupleType) and not known.class_name.data:
            graph.state.set_type(op.result, TupleType.of([value.type for value in op.arguments]))


def loop_unrolling(graph: Graph) -> bool:
    """Repeat the bodies of small counted loops eight times; known turns stand one by one."""
    return run_rewrite(graph, lambda function: _unrolled(function, only_constant=False))


def constant_loop_unrolling(graph: Graph) -> bool:
    """Repeat the bodies of loops whose number of turns is known."""
    return run_rewrite(graph, lambda function: _unrolled(function, only_constant=True))


def _unrolled(function: FuncOp, only_constant: bool) -> bool:
    changed = unroll_loops(function, only_constant)
    if changed:
        remove_dead(function)
    return changed


def lower_all_tuples(graph: Graph) -> None:
    """Take tuples apart, those that the graph takes and returns, too.

    Raises:
        GuardError: a node takes or gives one that is none of its elements.
    """
    _spread_inputs(graph)
    run_rewrite(graph, lower_tuples)
    run_rewrite(graph, remove_dead)


def _spread_inputs(graph: Graph) -> None:
    """One input for each element of an input that is a tuple."""
    state, order = graph.state, list[int]()
    for value in list(graph.op.block.args):
        at = graph.op.block.args.index(value)
        types = elements_of(value)
        if types is None:
            order.append(at)
            continue
        made = []
        for type in types:
            order.append(len(graph.op.block.args))
            added = state.add_input("")
            state.set_type(added, type)
            made.append(graph.op.block.args[-1])
        gathered = TupleConstructOp(made, value.type)
        first = graph.op.block.first_op
        assert first is not None
        graph.op.block.insert_op_before(gathered, first)
        value.replace_all_uses_with(gathered.result)
    if order != list(range(len(order))) or len(order) != len(graph.op.block.args):
        state.keep_inputs(order)
        _spread_inputs(graph)


def lint(graph: Graph) -> None:
    """As `graph.lint`."""
    graph.lint()


def canonicalize(graph: Graph, keep_unique_names: bool = True) -> Graph:
    """A copy whose values are numbered anew.

    Args:
        keep_unique_names: values with names keep them.
    """
    made = graph.copy()
    old = made.names
    names = made.state.names = ValueNames.numbered(made.op)
    for value, name in old.items() if keep_unique_names else ():
        if not name.isdigit():
            names.rename(value, name)
    return made


def remove_dropout_of(module: ModuleCore) -> None:
    """Remove dropout that is known to do nothing from the methods of a module in evaluation.

    Raises:
        GuardError: the module is being trained.
    """
    module.require_evaluation("Dropout removal")
    for name in module._method_names():
        run_rewrite(module._get_method(name).graph, remove_dropout)


def executor_optimizes(new_settings: bool | None = None) -> bool:
    """Whether calls may run native code, and not only the graph interpreter.

    Args:
        new_settings: whether they may from now on; the answer is how it was before.
    """
    return OPTIMIZES() if new_settings is None else OPTIMIZES.exchange(new_settings)
