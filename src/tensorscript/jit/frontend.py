"""What the script frontend raises about Python that is outside the language."""

from tensorscript.base.errors import FrontendError, NotSupportedError, UnsupportedNodeError

__all__ = ["FrontendError", "NotSupportedError", "UnsupportedNodeError"]
