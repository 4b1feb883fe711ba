"""Files of weights from a server, kept in a folder of the user's."""

from __future__ import annotations

import hashlib
import os
import re
import shutil
import tempfile
from pathlib import Path
from typing import Any
from urllib.parse import urlparse
from urllib.request import Request, urlopen

from tensorscript.base.errors import ArchiveError

from .checkpoint import load

HASH_REGEX = re.compile(r"-([a-f0-9]{8,})\.")
"""The first digits of a file's SHA-256 in its name."""
_CHUNK = 1 << 20
_chosen: list[str] = []
"""The folder that `set_dir` gave, if it did."""


def get_dir() -> str:
    """The folder of files: as set, else `hub` in `$TENSORSCRIPT_HOME`, in
    `$XDG_CACHE_HOME/tensorscript` or in `~/.cache/tensorscript`."""
    if _chosen:
        return _chosen[0]
    if home := os.environ.get("TENSORSCRIPT_HOME"):
        return str(Path(home).expanduser() / "hub")
    cache = os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache"
    return str(Path(cache) / "tensorscript" / "hub")


def set_dir(d: str | os.PathLike[str]) -> None:
    """Keep files in `d` from now on."""
    _chosen[:] = [os.path.expanduser(d)]


def download_url_to_file(
    url: str, dst: str | os.PathLike[str], hash_prefix: str | None = None, progress: bool = True
) -> None:
    """Write what `url` names to the file `dst`, which is there only when it is whole.

    Args:
        hash_prefix: the first hexadecimal digits of the content's SHA-256.
        progress: taken as PyTorch's; nothing is shown.

    Raises:
        ArchiveError: the content has another hash.
        OSError: the server or the file cannot be reached.
    """
    target = Path(dst).expanduser()
    digest = hashlib.sha256()
    handle, partial = tempfile.mkstemp(dir=target.parent, prefix=target.name + ".")
    try:
        with os.fdopen(handle, "wb") as out, urlopen(Request(url)) as source:
            while chunk := source.read(_CHUNK):
                out.write(chunk)
                digest.update(chunk)
        if hash_prefix and not digest.hexdigest().startswith(hash_prefix):
            raise ArchiveError(
                f'invalid hash value (expected "{hash_prefix}", got "{digest.hexdigest()}")'
            )
        shutil.move(partial, target)
    finally:
        Path(partial).unlink(missing_ok=True)


def load_state_dict_from_url(
    url: str,
    model_dir: str | os.PathLike[str] | None = None,
    map_location: Any = None,
    progress: bool = True,
    check_hash: bool = False,
    file_name: str | None = None,
    weights_only: bool = True,
) -> Any:
    """The data of the checkpoint at `url` (see `load`), fetched once.

    Args:
        model_dir: where it is kept; by default `checkpoints` in `get_dir()`.
        check_hash: its name is `<name>-<first digits of its SHA-256>.<ending>`.
        file_name: its name there; by default the last part of `url`.

    Raises:
        ArchiveError: another hash than its name says; damaged, or hostile.
        OSError: the server or the folder cannot be reached.
    """
    folder = Path(model_dir) if model_dir is not None else Path(get_dir()) / "checkpoints"
    folder.mkdir(parents=True, exist_ok=True)
    kept = folder / (file_name or os.path.basename(urlparse(url).path))
    if not kept.exists():
        found = HASH_REGEX.search(kept.name) if check_hash else None
        download_url_to_file(url, kept, found.group(1) if found else None, progress)
    return load(str(kept), map_location)
