"""Where a part of an argument or of `self` stands: `xs.0`, `self.layer.table.key`.

A point inside of a dict's key is written `%2E`, so that a path comes apart in one way only.
"""

from __future__ import annotations

SELF = "self"
"""The first part of paths to what the receiver of a method holds."""
RANDOM = "$random"
"""The path of the random generator's state; no argument can have this name."""


def below(path: str, part: object) -> str:
    """The path of an attribute, an index or a key of what stands at `path`."""
    name = str(part).replace("%", "%25").replace(".", "%2E")
    return f"{path}.{name}" if path else name


def parts(path: str) -> list[str]:
    """The names, indices and keys that a path is made of."""
    return [p.replace("%2E", ".").replace("%25", "%") for p in path.split(".")]


def is_state(path: str) -> bool:
    """Whether a path leads to what the receiver holds, and not to an argument."""
    return path.startswith(f"{SELF}.")


def of_receiver(path: str) -> str:
    """A path to state as seen from the receiver."""
    return path.removeprefix(f"{SELF}.")
