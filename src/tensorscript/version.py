"""`torch.version`: what this is a version of, and what it was built with."""

from tensorscript import __version__

cuda = None
hip = None
rocm = None
xpu = None
debug = False

__all__ = ["__version__", "cuda", "debug", "hip", "rocm", "xpu"]
