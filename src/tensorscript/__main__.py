"""`python -m tensorscript`, which is also the command `tensorscript`."""

from __future__ import annotations

import os
import sys

from tensorscript.compiler.cli import main as run

INTERRUPTED = 130
"""What shells say of a program that Ctrl-C has ended: 128 and the number of SIGINT."""


def main() -> int:
    """Run the command line of this process; the exit code."""
    try:
        code = run()
        sys.stdout.flush()
    except BrokenPipeError:
        # The reader (`| head`) has enough; what Python would still flush has nowhere to go.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        return 0
    except KeyboardInterrupt:
        sys.stderr.write("interrupted\n")
        return INTERRUPTED
    return code


if __name__ == "__main__":
    raise SystemExit(main())
