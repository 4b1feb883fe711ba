"""Neural-network functions under their public names."""

from tensorscript.nn import functional

__all__ = ["functional"]
