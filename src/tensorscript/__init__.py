"""TensorScript: a TorchScript-compatible tensor compiler built on xDSL and LLVM.

`import tensorscript as torch` runs TorchScript programs. Names are found when they are first used,
so importing the package loads neither xDSL nor LLVM.
"""

import math
from typing import Any

from tensorscript.base.importing import imported
from tensorscript.base.release import VERSION
from tensorscript.base.tracer_warning import TracerWarning as _TracerWarning

__version__ = VERSION
_TracerWarning.ignore_lib_warnings()

_MODULES = frozenset(
    {
        "_C",
        "amp",
        "autograd",
        "backends",
        "compiler",
        "cpu",
        "cuda",
        "distributed",
        "distributions",
        "fft",
        "func",
        "functional",
        "futures",
        "fx",
        "hub",
        "jit",
        "linalg",
        "masked",
        "nn",
        "ops",
        "overrides",
        "profiler",
        "random",
        "return_types",
        "safetensors",
        "serialization",
        "signal",
        "sparse",
        "special",
        "storage",
        "testing",
        "types",
        "utils",
        "version",
    }
)
_EAGER = "tensorscript.eager"
_NAMES: dict[str, str] = {
    "Tensor": f"{_EAGER}.tensor",
    "Size": f"{_EAGER}.size",
    "load": "tensorscript.frontends.torchscript.checkpoint",
    "save": "tensorscript.frontends.torchscript.checkpoint",
    "OutOfMemoryError": "tensorscript.base.errors",
    "Generator": f"{_EAGER}.random",
    **dict.fromkeys(
        ("default_generator", "get_rng_state", "initial_seed", "seed", "set_rng_state"),
        f"{_EAGER}.random_state",
    ),
    **dict.fromkeys(
        (
            "BFloat16Storage",
            "BoolStorage",
            "ByteStorage",
            "CharStorage",
            "ComplexDoubleStorage",
            "ComplexFloatStorage",
            "DoubleStorage",
            "FloatStorage",
            "HalfStorage",
            "IntStorage",
            "LongStorage",
            "ShortStorage",
            "TypedStorage",
            "UntypedStorage",
            "is_storage",
        ),
        f"{_EAGER}.typed_storages",
    ),
    "device": f"{_EAGER}.device",
    "finfo": f"{_EAGER}.limits",
    "iinfo": f"{_EAGER}.limits",
    "layout": f"{_EAGER}.device",
    "memory_format": f"{_EAGER}.device",
    "strided": f"{_EAGER}.device",
    "sparse_coo": f"{_EAGER}.device",
    "sparse_csr": f"{_EAGER}.device",
    "contiguous_format": f"{_EAGER}.device",
    "preserve_format": f"{_EAGER}.device",
    "legacy_contiguous_format": f"{_EAGER}.device",
    "channels_last": f"{_EAGER}.device",
    "channels_last_3d": f"{_EAGER}.device",
    **{
        f"{word}Tensor": f"{_EAGER}.legacy"
        for word in (
            "BFloat16",
            "Bool",
            "Byte",
            "Char",
            "Double",
            "Float",
            "Half",
            "Int",
            "Long",
            "Short",
        )
    },
    **dict.fromkeys(
        (
            "SymBool",
            "SymFloat",
            "SymInt",
            "sym_float",
            "sym_int",
            "sym_ite",
            "sym_max",
            "sym_min",
            "sym_not",
            "sym_sqrt",
            "sym_sum",
        ),
        f"{_EAGER}.symbols",
    ),
    **dict.fromkeys(
        (
            "_check",
            "_check_index",
            "_check_is_size",
            "_check_not_implemented",
            "_check_tensor_all",
            "_check_type",
            "_check_value",
        ),
        f"{_EAGER}.checks",
    ),
    "no_grad": f"{_EAGER}.modes",
    "inference_mode": f"{_EAGER}.modes",
    "is_inference_mode_enabled": f"{_EAGER}.modes",
    "enable_grad": f"{_EAGER}.modes",
    "set_printoptions": f"{_EAGER}.printing",
    **dict.fromkeys(
        ("autocast", "get_autocast_dtype", "is_autocast_cpu_enabled", "is_autocast_enabled"),
        f"{_EAGER}.autocast",
    ),
    "compile": "tensorscript.compiler.api",
    "schedule": "tensorscript.compiler.schedule",
    "TensorSpec": "tensorscript.compiler.specs",
    "ScalarSpec": "tensorscript.compiler.specs",
    "CompileOptions": "tensorscript.compiler.options",
    "set_num_threads": "tensorscript.backends.cpu.runtime",
    "get_num_threads": "tensorscript.backends.cpu.runtime",
    "TensorScriptError": "tensorscript.base.errors",
}
"""Public name to the module that defines it; operators and dtypes are found by their own tables."""

_DTYPE_MODULE, _OPERATOR_MODULE = "tensorscript.base.dtypes", f"{_EAGER}.namespace"
_CONSTANTS: dict[str, float | None] = {
    "has_lapack": True,
    "has_mkl": False,
    "has_openmp": False,
    "has_spectral": True,
    "inf": math.inf,
    "nan": math.nan,
    "pi": math.pi,
    "e": math.e,
    "newaxis": None,
}


def __getattr__(name: str) -> Any:
    if name in _MODULES:
        return imported(f"tensorscript.{name}")
    if name.startswith("__"):
        raise AttributeError(f"module 'tensorscript' has no attribute '{name}'")
    if (module := _NAMES.get(name)) is not None:
        found = getattr(imported(module), name)
    elif name in _CONSTANTS:
        found = _CONSTANTS[name]
    elif name == "dtype":
        found = imported(_DTYPE_MODULE).DType
    else:
        dtypes = imported(_DTYPE_MODULE)
        found = dtypes.BY_NAME.get(name) or dtypes.NAMED.get(name)
        found = found or next((d for d in dtypes.QUANTIZED if d.name == name), None)
        found = found or imported(_OPERATOR_MODULE).lookup(name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *_MODULES, *_NAMES, *_CONSTANTS, "dtype"})
