"""The names of PyTorch's binary module that libraries of models ask for; no others are here."""

from tensorscript.eager import executor_flags as flags

_are_functorch_transforms_active = flags.are_functorch_transforms_active
_get_tracing_state = flags.get_tracing_state
_is_tracing = flags.is_tracing
_log_api_usage_once = flags.log_api_usage_once

_jit_can_fuse_on_cpu = flags.FUSES_ON_CPU
_jit_can_fuse_on_gpu = flags.FUSES_ON_GPU
_jit_override_can_fuse_on_cpu = flags.FUSES_ON_CPU.set
_jit_override_can_fuse_on_gpu = flags.FUSES_ON_GPU.set
_jit_set_profiling_executor = flags.PROFILING_EXECUTOR.exchange
_jit_set_profiling_mode = flags.PROFILING_MODE.exchange
_jit_set_texpr_fuser_enabled = flags.TEXPR_FUSER.set
_jit_set_texpr_reductions_enabled = flags.TEXPR_REDUCTIONS.exchange
_jit_texpr_fuser_enabled = flags.TEXPR_FUSER
_jit_texpr_reductions_enabled = flags.TEXPR_REDUCTIONS
