"""`torch.backends.mha`: whether layers of attention may leave their work to one operator."""

from tensorscript.base.fused_attention import FUSED_ATTENTION


def get_fastpath_enabled() -> bool:
    """Whether they may."""
    return FUSED_ATTENTION.allowed


def set_fastpath_enabled(value: bool) -> None:
    """Let them, or keep them from it."""
    FUSED_ATTENTION.allowed = bool(value)
