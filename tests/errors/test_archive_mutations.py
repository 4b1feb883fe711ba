"""Damaged archives: each loads or is refused with one clear error, soon, in little memory.

`--archive-mutations 10000` tries more of them; the first ones are always the same.
"""

from __future__ import annotations

import resource
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from random import Random

import pytest

import tensorscript as ts
from tensorscript.base.errors import UserError

MUTATIONS = pytest.importorskip("archive_mutations").MUTATIONS
FORMATS = Path(__file__).parent.parent / "formats"
SAMPLES = [
    *sorted((FORMATS / "samples").glob("*.pt")),
    *sorted((FORMATS / "old_samples").glob("*.pt")),
    *sorted((FORMATS / "quantized_samples").glob("*.pt")),
]

SECONDS = 5.0
"""What one archive may take; here they take a hundredth."""

MEGABYTES = 128
"""What all together may add to the process beyond four times the largest sample."""

_FORBIDDEN = ("os.system", "os.exec", "os.posix_spawn", "os.fork", "subprocess.Popen", "os.remove",
              "os.rename", "shutil.", "socket.", "ctypes.dlopen", "pickle.find_class")  # fmt: skip


class Watch:
    """Notes what the interpreter does that reading an archive never needs."""

    def __init__(self) -> None:
        self.active = False
        self.seen: list[str] = []
        sys.addaudithook(self.hear)

    def hear(self, event: str, details: tuple[object, ...]) -> None:
        if self.active and event.startswith(_FORBIDDEN):
            self.seen.append(event)


@pytest.fixture(scope="module")
def watch() -> Iterator[Watch]:
    made = Watch()
    yield made
    made.active = False


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def outcome(data: bytes) -> str:
    """ "loaded", or the name of the error that refused it."""
    try:
        ts.jit.load(data)
    except UserError as refused:
        assert str(refused).strip()
        return type(refused).__name__
    return "loaded"


@pytest.mark.slow
def test_damaged_archives(watch: Watch, pytestconfig: pytest.Config) -> None:
    originals = [path.read_bytes() for path in SAMPLES]
    outcome(originals[0])
    before, found = peak_megabytes(), Counter[str]()
    for number in range(int(pytestconfig.getoption("--archive-mutations"))):
        random = Random(number)
        mutate = random.choice(MUTATIONS)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # zipfile's, where a name is written twice
            data = mutate(random, random.choice(originals))
        start = time.process_time()
        watch.active = True
        found[outcome(data)] += 1
        watch.active = False
        assert time.process_time() - start < SECONDS, f"{mutate.__name__} {number}"
    assert not watch.seen
    assert peak_megabytes() - before < MEGABYTES + 4 * max(map(len, originals)) / 2**20
    assert found["loaded"] and found["ArchiveError"] and found["CompileError"]
    assert set(found) <= {"loaded", "ArchiveError", "CompileError", "FrontendError",
                          "NotSupportedError", "UnsupportedNodeError"}  # fmt: skip
