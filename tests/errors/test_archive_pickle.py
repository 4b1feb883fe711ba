"""A pickle that asks for more than an archive may is refused, and nothing in it is executed."""

from __future__ import annotations

import os
import pickle
import struct
from pathlib import Path
from typing import Any

import pytest

from tensorscript.base.errors import ArchiveError
from tensorscript.frontends.torchscript.archive import read
from tensorscript.frontends.torchscript.pickled import (
    DeviceRef,
    EnumRef,
    ObjectState,
    PickleLimits,
    TaggedDict,
    TaggedList,
)
from tensorscript.frontends.torchscript.unpickle import unpickle

HEAD = b"\x80\x02"


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def refusal(body: bytes, limits: PickleLimits | None = None) -> str:
    with pytest.raises(ArchiveError) as caught:
        unpickle(HEAD + body, "data", limits)
    return str(caught.value)


class Runs:
    """What a hostile pickle does: a call when it is read."""

    def __init__(self, call: Any, *args: Any) -> None:
        self.call, self.args = call, args

    def __reduce__(self) -> Any:
        return self.call, self.args


def test_nothing_is_executed(tmp_path: Path, build_archive: Any) -> None:
    mark = tmp_path / "executed"
    attacks = [
        Runs(os.system, f"touch {mark}"),
        Runs(eval, f"open({str(mark)!r}, 'w')"),
        Runs(exec, f"open({str(mark)!r}, 'w')"),
        Runs(open, str(mark), "w"),
        Runs(getattr, "", "upper"),
        {"a": [Runs(os.mkdir, str(mark))]},
    ]
    for attack in attacks:
        data = build_archive({"data.pkl": pickle.dumps(attack, 2)})
        with pytest.raises(ArchiveError, match="refuses global `"):
            read(data)
        with pytest.raises(ArchiveError, match="refuses global `"):
            read(build_archive({"constants.pkl": pickle.dumps((attack,), 2)}))
        assert not mark.exists()


@pytest.mark.parametrize(
    "name",
    [
        ("os", "system"),
        ("builtins", "eval"),
        ("__builtin__", "eval"),
        ("torch", "load"),
        ("torch.hub", "load"),
        ("torch.jit._pickle", "build_intlist.__globals__"),
        ("__torch__", "a b"),
        ("__torch__.x", "__class__.y-z"),
        ("numpy.core.multiarray", "_reconstruct"),
        ("collections", "OrderedDict.fromkeys"),
    ],
)
def test_globals_are_refused_by_name(name: tuple[str, str]) -> None:
    module, attribute = name
    message = refusal(f"c{module}\n{attribute}\n.".encode())
    assert f"refuses global `{module}.{attribute}`: an archive may only refer to" in message


def test_unsupported_tensors_are_named() -> None:
    four_bits = storage(cls="QUInt4x2Storage")
    assert "quantized tensors of 4 bits" in refusal(tensor(0, [1], [1], four_bits))


def test_sparse_tensors_that_do_not_fit_are_refused() -> None:
    assert "malformed sparse tensor" in refusal(b"ctorch._utils\n_rebuild_sparse_tensor\n)R.")


OPCODES_OF_OTHER_PICKLES = [b"i", b"o", b"P", b"0", b"2", b"\x82", b"\x93", b"\x95"]


@pytest.mark.parametrize("opcode", OPCODES_OF_OTHER_PICKLES)
def test_opcodes_are_refused_by_number(opcode: bytes) -> None:
    expected = f"Unknown opcode for unpickling at 2: {opcode[0]:#04x}"
    assert refusal(opcode + b".") == expected


@pytest.mark.parametrize(
    ("body", "message"),
    [
        (b"", "Unexpected end of pickler archive."),
        (b"X\xff\xff\xff\x7f", "string of 2147483647 bytes"),
        (b"X\xff\x00\x00\x00ab", "Unexpected end of pickler archive."),
        (b"X\x02\x00\x00\x00\xff\xfe.", "not UTF-8"),
        (b"\x8a\x09" + bytes(9) + b".", "integer of 9 bytes"),
        (b".", "takes from an empty stack"),
        (b"NN.", "leaves values on its stack"),
        (b"N.N", "bytes after its end"),
        (b"(.", "takes from an empty stack"),
        (b"t.", "no MARK"),
        (b"N(\x85.", "takes from an empty stack"),
        (b"h\x05.", "recalls value 5"),
        (b"Na.", "takes from an empty stack"),
        (b"NNa.", "appends to what is not a list"),
        (b"N(Ne.", "appends to what is not a list"),
        (b"N(NNu.", "sets items of what is not a dict"),
        (b"}(Nu.", "key without a value"),
        (b"}]Ns.", "dict key in the archive is a TaggedList"),
        (b"}NNs.", "dict key in the archive is a NoneType"),
        (b"N)\x81.", "what is not a TorchScript class"),
        (b"ctorch\ndevice\n)\x81.", "what is not a TorchScript class"),
        (b"c__torch__\nA\nN\x85\x81.", "with arguments"),
        (b"c__torch__\nA\n.", "global `__torch__.A` stands where a value belongs"),
        (b"]c__torch__\nA\na.", "stands where a value belongs"),
        (b"}}b.", "what is not a new object"),
        (b"c__torch__\nA\n)\x81}b}b.", "what is not a new object"),
        (b"c__torch__\nA\n)\x81}K\x01K\x01sb.", "attribute whose name is not a string"),
        (b"N)R.", "calls what is not a global"),
        (b"ctorch\nFloatStorage\n)R.", "refuses to call `torch.FloatStorage`"),
        (b"c__torch__\nE\n]R.", "enum member of `__torch__.E`"),
        (b"ctorch\ndevice\n" + text("cpu; rm") + b"\x85R.", "malformed device"),
        (b"cbuiltins\ncomplex\nN\x85R.", "malformed complex"),
        (b"ccollections\nOrderedDict\nN\x85R.", "has arguments"),
        (b"ctorch.jit._pickle\nbuild_intlist\n](NK\x01e\x85R.", "holds another type"),
        (b"ctorch.jit._pickle\nbuild_intlist\n](\x88e\x85R.", "holds another type"),
        (b"ctorch.jit._pickle\nbuild_intlist\nK\x01\x85R.", "needs one list"),
        (b"ctorch.jit._pickle\nrestore_type_tag\nN" + text("int") + b"\x86R.", "type tag"),
        (b"NQ.", "malformed storage reference"),
        (b"c" + b"a" * 5000 + b"\nb\n.", "name without an end"),
    ],
)
def test_malformed(body: bytes, message: str) -> None:
    assert message in refusal(body)


def test_protocols() -> None:
    for protocol in (0, 1, 3, 4, 5):
        with pytest.raises(ArchiveError):
            unpickle(pickle.dumps([1, "a"], protocol)[:1] + b"\x03.", "data")
    assert "pickle protocol 4; archives use protocol 2" in refusal(b"\x80\x04N.")


def storage(numel: int = 6, key: str = "0", cls: str = "FloatStorage") -> bytes:
    count = b"J" + struct.pack("<i", numel)
    parts = text("storage") + f"ctorch\n{cls}\n".encode() + text(key) + text("cpu") + count
    return b"(" + parts + b"tQ"


def tensor(offset: int, size: list[int], stride: list[int], of: bytes | None = None) -> bytes:
    def integer(value: int) -> bytes:
        return b"\x8a\x08" + struct.pack("<q", value)

    sizes = b"(" + b"".join(map(integer, size)) + b"t"
    strides = b"(" + b"".join(map(integer, stride)) + b"t"
    hooks = b"ccollections\nOrderedDict\n)R"
    body = (of or storage()) + integer(offset) + sizes + strides + b"\x89" + hooks
    return b"ctorch._utils\n_rebuild_tensor_v2\n(" + body + b"tR."


@pytest.mark.parametrize(
    ("offset", "size", "stride", "message"),
    [
        (0, [7], [1], "reaches element 6 of 6"),
        (1, [2, 3], [3, 1], "reaches element 6 of 6"),
        (6, [], [], "reaches element 6 of 6"),
        (0, [2, 2], [2**62, 2**62], "reaches element 9223372036854775808 of 6"),
        (-1, [2], [1], "negative offset, size or stride"),
        (0, [-2], [1], "negative offset, size or stride"),
        (5, [2], [-1], "negative offset, size or stride"),
        (0, [2, 3], [1], "2 sizes and 1 strides"),
        (0, [1] * 65, [1] * 65, "65 sizes"),
        (0, [1], [2**61], "of more than 9223372036854775807 bytes"),
        (0, [0], [2**61], "of more than 9223372036854775807 bytes"),
        (0, [0, 2**31, 2**31], [1, 1, 1], "of more than 9223372036854775807 bytes"),
        (0, [2**30, 2**30], [0, 0], "elements, over"),
    ],
)
def test_tensor_bounds(offset: int, size: list[int], stride: list[int], message: str) -> None:
    assert message in refusal(tensor(offset, size, stride))


def test_tensors_within_bounds() -> None:
    for offset, size, stride in [
        (0, [2, 3], [3, 1]),
        (0, [2, 3], [1, 2]),
        (5, [], []),
        (6, [0], [1]),
        (0, [1000, 1], [0, 0]),
    ]:
        unpickle(HEAD + tensor(offset, size, stride), "data")


def test_storage_references(build_archive: Any) -> None:
    malformed = "malformed storage reference"
    assert malformed in refusal(tensor(0, [1], [1], storage(-1)))
    assert malformed in refusal(tensor(0, [1], [1], storage(key="../x")))
    assert "refuses global" in refusal(tensor(0, [1], [1], storage(cls="MyStorage")))
    quantized = storage(cls="QInt8Storage")
    assert "without its quantizer" in refusal(tensor(0, [1], [1], quantized))
    assert "tensors of complex32" in refusal(tensor(0, [1], [1], storage(cls="ComplexHalfStorage")))
    for kind in ("e4m3fn", "e4m3fnuz", "e5m2", "e5m2fnuz", "e8m0fnu"):
        held = storage(cls=f"Float8_{kind}Storage")
        assert "tensors of float8" in refusal(tensor(0, [1], [1], held))
    body = HEAD + tensor(0, [6], [1])
    with pytest.raises(ArchiveError, match=r"locating file data/0: file not found"):
        read(build_archive({"data.pkl": body}))
    with pytest.raises(ArchiveError, match=r"'data/0' holds 23 bytes where 6 elements"):
        read(build_archive({"data.pkl": body, "data/0": bytes(23)}))


def test_limits() -> None:
    assert "over the limit of 3" in refusal(b"NNNN.", PickleLimits(size=3))
    assert "more than 5 opcodes" in refusal(b"]" + b"q\x00" * 9 + b".", PickleLimits(opcodes=5))
    memo = b"N" + b"".join(b"q" + bytes([i]) for i in range(9)) + b"."
    assert "memoises more than 4" in refusal(memo, PickleLimits(memo=4))
    assert "memoises more than" in refusal(b"Nr\xff\xff\xff\xff.")
    assert "over 4" in refusal(text("hello") + b".", PickleLimits(text=4))


def test_nesting() -> None:
    assert "nested over 200 deep" in refusal(b")" + b"\x85" * 100_000 + b".")
    assert "contains itself" in refusal(b"]q\x00h\x00a.")
    assert "contains itself" in refusal(b"c__torch__\nA\n)\x81q\x00}" + text("a") + b"h\x00sb.")


def test_shared_tuples_that_stand_for_too_much() -> None:
    """Thirty pairs of the pair before: a few bytes that print as 2**30 values."""
    layer = b"".join(b"q" + bytes([i]) + b"h" + bytes([i]) + b"\x86" for i in range(40))
    assert "stands for more than" in refusal(b")" + layer + b".")


def test_what_is_allowed() -> None:
    def value(body: bytes) -> Any:
        return unpickle(HEAD + body + b".", "data")

    smallest = b"\x8a\x08" + struct.pack("<q", -(2**63))
    integers = b"(K\x01M\x00\x02J\xff\xff\xff\xff" + smallest + b"t"
    assert value(integers) == (1, 512, -1, -(2**63))
    assert value(b"G\x3f\xf8\x00\x00\x00\x00\x00\x00") == 1.5
    assert value(b"cbuiltins\ncomplex\nK\x01K\x02\x86R") == 1 + 2j
    assert value(b"ctorch\ndevice\n" + text("cuda:1") + b"\x85R") == DeviceRef("cuda:1")
    assert value(b"c__torch__.m\nColor\nK\x02R") == EnumRef("__torch__.m.Color", 2)
    body = b"}(" + text("a") + b"K\x01u" + text("Dict[str, int]") + b"\x86R"
    tagged = value(b"ctorch.jit._pickle\nrestore_type_tag\n" + body)
    assert isinstance(tagged, TaggedDict)
    assert (tagged.items, tagged.type_str) == ({"a": 1}, "Dict[str, int]")
    shared = value(b"](]q\x01h\x01e")
    assert isinstance(shared, TaggedList) and shared.elements[0] is shared.elements[1]
    made = value(b"c__torch__\nA\n)\x81K\x07b")
    assert isinstance(made, ObjectState) and (made.type_name, made.state) == ("__torch__.A", 7)
