"""Names of PyTorch's Python package that are left out, by the reason.

Asking for one raises AttributeError with the reason; `docs/operators.md` lists them.
"""

from __future__ import annotations

ABSENT: dict[str, tuple[str, ...]] = {
    "gradients are not recorded, so nothing is trained here": (
        "GradScaler", "is_anomaly_enabled", "is_anomaly_check_nan_enabled",
        "optim", "set_anomaly_enabled", "vmap",
    ),
    "eager tensors live on the CPU and on NVIDIA GPUs": (
        "AcceleratorError", "DeviceObjType", "Event", "StreamObjType",
        "get_autocast_ipu_dtype", "get_autocast_xla_dtype", "is_autocast_ipu_enabled",
        "is_autocast_xla_enabled", "set_autocast_gpu_dtype", "set_autocast_ipu_dtype",
        "set_autocast_ipu_enabled", "set_autocast_xla_dtype", "set_autocast_xla_enabled", "Stream",
        "accelerator", "get_autocast_gpu_dtype",
        "get_device_module", "mps", "mtia", "xpu",
    ),
    "sizes of compiled programs are symbols of the compiler, not Python objects": (
        "cond", "sym_fresh_size", "while_loop",
    ),
    "of sparse tensors only coordinates and rows are provided": (
        "hsmm", "saddmm", "sparse_bsc", "sparse_bsr", "sparse_csc",
    ),
    "schemes of quantization, and dtypes of less than 8 bits, are not provided": (
        "QInt32Storage", "QInt8Storage", "QUInt2x4Storage", "QUInt4x2Storage", "QUInt8Storage",
        "ao", "bit", "bits16", "bits1x8", "bits2x4", "bits4x2", "bits8", "float4_e2m1fn_x2",
        *(f"{sign}int{bits}" for sign in ("", "u") for bits in range(1, 8)),
        "per_channel_affine", "per_channel_affine_float_qparams", "per_channel_symmetric",
        "per_tensor_affine", "per_tensor_symmetric", "quantization", "quint2x4", "quint4x2",
    ),
    "PyTorch has removed it and names another function": (
        "eig", "lstsq", "matrix_rank", "solve", "symeig",
    ),
    "programs run in one process": ("multiprocessing",),
    "it is another package's work: data sets, samplers, exporters": (
        "export", "library", "monitor", "nested", "onnx", "package",
        "quasirandom",
    ),
    "it is a part of PyTorch's own binding to C++, its build or its processes": (
        "AVG", "AggregationType", "BenchmarkConfig", "BenchmarkExecutionStats", "BufferDict",
        "CallStack", "Capsule", "DeserializationStorageContext", "DisableTorchFunction",
        "DisableTorchFunctionSubclass", "DispatchKey", "DispatchKeySet", "ErrorReport",
        "ExcludeDispatchKeyGuard", "FatalError", "FileCheck", "Future", "InferredType",
        "JITException", "LiteScriptModule", "LockingLogger", "LoggerBase", "ModuleDict",
        "NoopLogger", "PRIVATE_OPS", "ParameterDict", "PyTorchFileReader", "PyTorchFileWriter",
        "SUM", "ScriptModuleSerializer", "SerializationStorageContext", "StaticModule",
        "Storage", "StorageBase",
        "TYPE_CHECKING", "Tag", "ThroughputBenchmark", "USE_GLOBAL_DEPS",
        "USE_RTLD_GLOBAL_WITH_LIBTORCH", "autocast_decrement_nesting",
        "autocast_increment_nesting", "classes", "classproperty", "cpp", "fork", "get_file_path",
        "import_ir_module", "import_ir_module_from_buffer", "init_num_threads", "jagged",
        "lobpcg", "merge_type_from_type_comment", "parse_type_comment",
        "prepare_multiprocessing_environment",
        "profiler_allow_cudagraph_cupti_lazy_reinit_cuda12",
        "thread_safe_generator", "torch", "torch_version", "unify_type_list", "windows",
    ),
    "the types of graphs are this project's own": (
        "AliasDb", "Argument", "ArgumentSpec", "AwaitType", "Block", "Code",
        "CompleteArgumentSpec", "ComplexType", "ConcreteModuleType", "ConcreteModuleTypeBuilder",
        "DeepCopyMemoTable", "EnumType", "ExecutionPlan", "FunctionSchema", "FutureType",
        "Gradient", "GraphExecutorState", "IODescriptor", "InterfaceType", "Node", "OperatorInfo",
        "PyObjectType", "RRefType", "ScriptClass", "ScriptClassFunction", "ScriptDict",
        "ScriptDictIterator", "ScriptDictKeyIterator", "ScriptFunction", "ScriptList",
        "ScriptListIterator", "ScriptMethod", "ScriptModule", "ScriptObject",
        "ScriptObjectProperty", "SymBoolType", "SymIntType", "TracingState", "Type", "UnionType",
        "Use", "Value",
        "AnyType", "BoolType", "ClassType", "CompilationUnit", "DictType", "FloatType", "Graph",
        "IntType", "ListType", "NoneType", "NumberType", "OptionalType", "StringType",
        "TensorType", "TupleType", "parse_ir", "parse_schema",
    ),
}  # fmt: skip
"""Reason to names of `torch`."""

_WHY = {name: reason for reason, names in ABSENT.items() for name in names}


def absence(name: str) -> str:
    """What an error about a missing name says of it: the reason, if there is one."""
    reason = _WHY.get(name)
    return "" if reason is None else f": {reason}"
