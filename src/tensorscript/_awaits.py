"""`torch._awaits`: calls that are made when somebody waits for them."""

from tensorscript.runtime.awaits import Await

_Await = Await

__all__ = ["Await"]
