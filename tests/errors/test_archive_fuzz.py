"""Whatever the bytes, reading an archive ends soon, in a value or in an ArchiveError."""

from __future__ import annotations

import functools
from pathlib import Path

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from tensorscript.base.errors import ArchiveError
from tensorscript.frontends.torchscript.archive import load_storage, load_tensor, read
from tensorscript.frontends.torchscript.pickled import PickleLimits, TensorRef, Value, children
from tensorscript.frontends.torchscript.unpickle import unpickle

SAMPLES = Path(__file__).parent.parent / "formats" / "samples"
LIMITS = PickleLimits(opcodes=20_000, expanded=20_000)


@functools.cache
def sample(name: str) -> bytes:
    return (SAMPLES / f"{name}.pt").read_bytes()


def read_all(data: bytes) -> None:
    """Read the archive and touch every element of every tensor in it."""
    contents = read(data, LIMITS)
    todo: list[Value] = [contents.root, contents.constants]
    while todo:
        value = todo.pop()
        if isinstance(value, TensorRef):
            array = load_tensor(value, load_storage(contents.archive, value.storage))
            np.count_nonzero(array[..., :1000] if array.ndim else array)
        todo.extend(children(value))


def survives(data: bytes) -> None:
    try:
        read_all(data)
    except ArchiveError as refused:
        assert str(refused)


positions = st.integers(0, 1 << 16)
edits = st.lists(st.tuples(positions, st.integers(0, 255)), min_size=1, max_size=8)


@settings(max_examples=1500)
@given(st.sampled_from(["s01_regressor_traced", "s12_tensor_ops_function_traced"]), edits)
def test_changed_bytes(name: str, changes: list[tuple[int, int]]) -> None:
    data = bytearray(sample(name))
    for place, value in changes:
        data[place % len(data)] = value
    survives(bytes(data))


@settings(max_examples=500)
@given(edits)
def test_changed_directory(changes: list[tuple[int, int]]) -> None:
    """The same, aimed at the central directory and the end records."""
    data = bytearray(sample("s10_class_namedtuple_scripted"))
    start = data.index(b"PK\1\2")
    for place, value in changes:
        data[start + place % (len(data) - start)] = value
    survives(bytes(data))


@settings(max_examples=300)
@given(positions, positions, st.binary(max_size=40))
def test_cut_and_spliced(start: int, length: int, piece: bytes) -> None:
    data = sample("s11_mutating_buffers_scripted")
    at = start % len(data)
    survives(data[:at] + piece + data[at + length % 400 :])


numbers = st.integers(0, 255).map(lambda n: bytes([n]))
names = st.sampled_from(
    [
        "torch._utils\n_rebuild_tensor_v2",
        "torch.jit._pickle\nbuild_intlist",
        "torch.jit._pickle\nrestore_type_tag",
        "torch\nFloatStorage",
        "torch\ndevice",
        "builtins\ncomplex",
        "collections\nOrderedDict",
        "__torch__\nA",
        "os\nsystem",
    ]
)
opcodes = st.one_of(
    st.sampled_from([bytes([code]) for code in b").]}(taesulbdRQN\x81\x85\x86\x87\x88\x89"]),
    numbers.map(lambda n: b"q" + n),
    numbers.map(lambda n: b"h" + n),
    numbers.map(lambda n: b"K" + n),
    st.binary(min_size=8, max_size=8).map(lambda raw: b"\x8a\x08" + raw),
    names.map(lambda name: b"c" + name.encode() + b"\n"),
    st.sampled_from(["storage", "cpu", "0", "List[int]"]).map(
        lambda word: b"X" + len(word).to_bytes(4, "little") + word.encode()
    ),
)


@settings(max_examples=1500)
@given(st.lists(opcodes, max_size=40))
def test_any_opcodes(program: list[bytes]) -> None:
    try:
        unpickle(b"\x80\x02" + b"".join(program) + b".", "data", LIMITS)
    except ArchiveError as refused:
        assert str(refused)


@settings(max_examples=500)
@given(st.binary(max_size=200))
def test_any_bytes(data: bytes) -> None:
    survives(data)
    try:
        unpickle(b"\x80\x02" + data, "data", LIMITS)
    except ArchiveError as refused:
        assert str(refused)
