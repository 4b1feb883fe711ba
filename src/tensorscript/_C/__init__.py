"""The names of PyTorch's binary module that libraries of models ask for; no others are here."""

from tensorscript.compiler.jit import frozen_passes as frozen
from tensorscript.compiler.jit import function_schema as schemas
from tensorscript.compiler.jit import graph_passes as passes
from tensorscript.compiler.jit import graph_patterns as patterns
from tensorscript.compiler.jit import language
from tensorscript.compiler.jit.containers import ScriptDict, ScriptList
from tensorscript.compiler.jit.function_schema import Argument, FunctionSchema, parse_schema
from tensorscript.compiler.jit.graph import Graph
from tensorscript.compiler.jit.graph_functions import create_function_from_graph, parse_ir
from tensorscript.compiler.jit.graph_mutation import remove_mutation
from tensorscript.compiler.jit.graph_nodes import GraphBlock as Block
from tensorscript.compiler.jit.graph_nodes import Node, Use, Value
from tensorscript.compiler.jit.graph_types import (
    AnyType,
    AwaitType,
    BoolType,
    ClassType,
    ComplexType,
    DeviceObjType,
    DictType,
    EnumType,
    FloatType,
    FutureType,
    InterfaceType,
    IntType,
    ListType,
    NoneType,
    NumberType,
    OptionalType,
    StringType,
    TensorType,
    TupleType,
    Type,
    UnionType,
)
from tensorscript.eager import executor_flags as flags
from tensorscript.runtime.awaits import Await

from . import _nn as _nn

_are_functorch_transforms_active = flags.are_functorch_transforms_active
_get_graph_executor_optimize = passes.executor_optimizes
_set_graph_executor_optimize = flags.OPTIMIZES.set
_get_tracing_state = flags.get_tracing_state
_is_tracing = flags.is_tracing
_log_api_usage_once = flags.log_api_usage_once

_debug_get_fusion_group_inlining = flags.INLINES_FUSION_GROUPS
_debug_set_autodiff_subgraph_inlining = flags.ignore
_debug_set_fusion_group_inlining = flags.INLINES_FUSION_GROUPS.set
_jit_can_fuse_on_cpu = flags.FUSES_ON_CPU
_jit_can_fuse_on_gpu = flags.FUSES_ON_GPU
_jit_get_inline_everything_mode = flags.INLINES_EVERYTHING
_jit_get_num_profiled_runs = flags.PROFILED_RUNS
_jit_get_te_must_use_llvm_cpu = flags.TEXPR_NEEDS_LLVM
_jit_nvfuser_can_be_enabled = flags.ignore
_jit_nvfuser_enabled = flags.ignore
_jit_override_can_fuse_on_cpu = flags.FUSES_ON_CPU.set
_jit_override_can_fuse_on_gpu = flags.FUSES_ON_GPU.set
_jit_set_bailout_depth = flags.BAILOUT_DEPTH.exchange
_jit_set_inline_everything_mode = flags.INLINES_EVERYTHING.set
_jit_set_num_profiled_runs = flags.PROFILED_RUNS.exchange
_jit_set_nvfuser_enabled = flags.ignore
_jit_set_nvfuser_guard_mode = flags.ignore
_jit_set_nvfuser_horizontal_mode = flags.ignore
_jit_set_nvfuser_single_node_mode = flags.ignore
_jit_set_nvfuser_skip_node_kind = flags.ignore
_jit_set_profiling_executor = flags.PROFILING_EXECUTOR.exchange
_jit_set_profiling_mode = flags.PROFILING_MODE.exchange
_jit_set_te_must_use_llvm_cpu = flags.TEXPR_NEEDS_LLVM.set
_jit_set_texpr_dynamic_shape_enabled = flags.TEXPR_DYNAMIC_SHAPES.set
_jit_set_texpr_fuser_enabled = flags.TEXPR_FUSER.set
_jit_set_texpr_reductions_enabled = flags.TEXPR_REDUCTIONS.exchange
_jit_texpr_dynamic_shape_enabled = flags.TEXPR_DYNAMIC_SHAPES
_jit_texpr_fuser_enabled = flags.TEXPR_FUSER
_jit_texpr_reductions_enabled = flags.TEXPR_REDUCTIONS

_jit_pass_canonicalize = passes.canonicalize
_jit_pass_complete_shape_analysis = passes.complete_shape_analysis
_jit_pass_constant_loop_unrolling = passes.constant_loop_unrolling
_jit_pass_constant_pooling = passes.constant_pooling
_jit_pass_constant_propagation = passes.constant_propagation
_jit_pass_constant_propagation_immutable_types = passes.constant_propagation_immutable_types
_jit_pass_cse = passes.cse
_jit_pass_custom_pattern_based_rewrite = patterns.rewrite_module
_jit_pass_custom_pattern_based_rewrite_graph = patterns.rewrite_graph
_jit_pass_dce = passes.dce
_jit_pass_decompose_ops = passes.decompose_ops
_jit_pass_refine_tuple_types = passes.refine_tuple_types
_jit_pass_dce_graph = passes.dce_graph
_jit_pass_erase_shape_information = passes.erase_shape_information
_jit_pass_inline = passes.inline_graph
_jit_pass_inline_fork_wait = passes.inline_fork_wait
_jit_pass_lint = passes.lint
_jit_pass_loop_unrolling = passes.loop_unrolling
_jit_pass_lower_all_tuples = passes.lower_all_tuples
_jit_pass_peephole = passes.peephole
_jit_pass_propagate_shapes_on_graph = passes.propagate_shapes_on_graph
_jit_pass_remove_dropout = passes.remove_dropout_of
_jit_pass_remove_mutation = remove_mutation

_freeze_module = frozen.freeze_module
_jit_pass_fold_frozen_conv_add_or_sub = frozen.fold_conv_add_or_sub
_jit_pass_fold_frozen_conv_bn = frozen.fold_conv_bn
_jit_pass_fold_frozen_conv_mul_or_div = frozen.fold_conv_mul_or_div
_jit_pass_fold_frozen_linear_bn = frozen.fold_linear_bn
_jit_pass_optimize_frozen_graph = frozen.optimize_frozen_graph
_jit_pass_transpose_frozen_linear = frozen.transpose_frozen_linear
_jit_get_all_schemas = schemas.all_schemas
_jit_get_schemas_for_operator = schemas.schemas_for_operator

_Await = Await
_awaitable = language.awaitable
_awaitable_nowait = language.awaitable_nowait
_awaitable_wait = language.awaitable_wait

_propagate_shapes = passes.propagate_shapes
_create_function_from_graph = create_function_from_graph

__all__ = [
    "AnyType",
    "Argument",
    "AwaitType",
    "Block",
    "BoolType",
    "ClassType",
    "ComplexType",
    "DeviceObjType",
    "DictType",
    "EnumType",
    "FloatType",
    "FunctionSchema",
    "FutureType",
    "Graph",
    "IntType",
    "InterfaceType",
    "ListType",
    "Node",
    "NoneType",
    "NumberType",
    "OptionalType",
    "ScriptDict",
    "ScriptList",
    "StringType",
    "TensorType",
    "TupleType",
    "Type",
    "UnionType",
    "Use",
    "Value",
    "parse_ir",
    "parse_schema",
]
