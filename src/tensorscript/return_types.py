"""`torch.return_types`: the tuples with names that operators of several named results give."""

from typing import Any

from tensorscript.eager.return_types import NAMES, record

__all__ = sorted(name for name in NAMES if not name.startswith("_"))


def __getattr__(name: str) -> Any:
    return record(name)


def __dir__() -> list[str]:
    return sorted({*globals(), *NAMES})
