"""`jit.TracerWarning`: known, and filtered, before anything is traced."""

from __future__ import annotations

import warnings


class TracerWarning(Warning):
    """The trace may not stand for the program: it has a value of this run built in.

    Raised where a tensor becomes a Python value, where data becomes a tensor, where outputs sit in
    a list, and by the check of a trace against the program. The usual mend is to script the part
    that depends on values, or to keep the computation in tensors.
    """

    @staticmethod
    def ignore_lib_warnings() -> None:
        """Show no such warning about the code of this package itself."""
        warnings.filterwarnings("ignore", category=TracerWarning, module=r"tensorscript\.(?!jit)")
