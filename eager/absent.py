"""Names of PyTorch's Python package that are left out, by the reason.

Asking for one raises AttributeError with the reason; `docs/operators.md` lists them.
"""

from __future__ import annotations

ABSENT: dict[str, tuple[str, ...]] = {
    "gradients are not recorded, so nothing is trained here": (
        "GradScaler", "is_anomaly_enabled", "is_anomaly_check_nan_enabled",
        "optim", "set_anomaly_enabled", "vmap",
    ),
    "eager tensors live on the CPU": (
        "Event", "OutOfMemoryError", "Stream", "accelerator", "get_autocast_gpu_dtype",
        "get_device_module", "mps", "mtia", "xpu",
    ),
    "a tensor is a NumPy array, without a storage object beside it": (
        "BoolStorage", "ByteStorage", "DoubleStorage", "FloatStorage", "HalfStorage", "IntStorage",
        "LongStorage", "ShortStorage", "Storage", "TypedStorage", "UntypedStorage", "is_storage",
        "storage",
    ),
    "sizes of compiled programs are symbols of the compiler, not Python objects": (
        "SymBool", "SymFloat", "SymInt", "cond", "sym_float", "sym_int", "sym_ite", "sym_max",
        "sym_min", "sym_not", "sym_sqrt", "sym_sum", "while_loop",
    ),
    "sparse layouts are not provided": (
        "dsmm", "hsmm", "saddmm", "sparse", "sparse_bsc", "sparse_bsr", "sparse_csc", "sparse_csr",
        "spmm",
    ),
    "quantized and float8 dtypes are not provided": (
        "ao", "bits16", "bits8", "float4_e2m1fn_x2", "float8_e4m3fn", "float8_e4m3fnuz",
        "float8_e5m2", "float8_e5m2fnuz", "float8_e8m0fnu", "qint32", "qint8", "quantization",
        "quint8",
    ),
    "no operator of ours computes in this dtype": ("complex32",),
    "PyTorch has removed it and names another function": (
        "eig", "lstsq", "matrix_rank", "solve", "symeig",
    ),
    "programs run in one process": ("multiprocessing",),
    "it is another package's work: data sets, samplers, profilers, exporters": (
        "distributions", "export", "library", "monitor", "nested", "onnx", "package",
        "profiler", "quasirandom",
    ),
    "the types of graphs are this project's own": (
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
