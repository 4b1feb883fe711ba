"""The bytes of files as memory: `torch.from_file` and storages over files."""

from __future__ import annotations

import errno
import mmap
import os

import numpy as np

from tensorscript.base.errors import OperatorError

from .growth import keep_size
from .storage import Array


def mapped(filename: str, shared: bool, nbytes: int) -> Array:
    """The first bytes of a file, mapped: what is written to `shared` ones is written to the file,
    which is made as long as asked; of others it stays in this process.

    Raises:
        OperatorError: the file cannot be opened, or is shorter and not `shared`.
    """
    if nbytes < 0:
        raise OperatorError(
            f"unable to mmap {nbytes} bytes from file <{filename}>: "
            f"{os.strerror(errno.ENOMEM)} ({errno.ENOMEM})"
        )
    flags = os.O_RDWR | os.O_CREAT if shared else os.O_RDONLY
    try:
        handle = os.open(filename, flags, 0o600)
    except OSError as error:
        raise OperatorError(
            f"unable to open file <{filename}> in {'read-write' if shared else 'read-only'} mode: "
            f"{error.strerror} ({error.errno})"
        ) from error
    with os.fdopen(handle, "r+b" if shared else "rb") as file:
        have = os.fstat(handle).st_size
        if have < nbytes and not shared:
            raise OperatorError(
                f"file <{filename}> size <{have}> is smaller than the required mapping size "
                f"<{nbytes}>"
            )
        if have < nbytes:
            file.truncate(nbytes)
        if not nbytes:  # which mmap would take for the whole file
            return keep_size(np.empty(0, np.uint8))
        access = mmap.ACCESS_WRITE if shared else mmap.ACCESS_COPY
        memory = mmap.mmap(handle, nbytes, access=access)
    return keep_size(np.frombuffer(memory, np.uint8))
