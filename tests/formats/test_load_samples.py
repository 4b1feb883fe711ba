"""Archives that PyTorch wrote run as they ran there: results, state, and what is refused."""

from __future__ import annotations

import hashlib
import io
import json
import mmap
import re
import zipfile
from collections.abc import Callable
from pathlib import Path
from random import Random
from typing import IO, Any, cast

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import ArchiveError, CompileError, FrontendError, GuardError
from tensorscript.compiler.jit.load import load

FOLDER = Path(__file__).parent / "samples"
SAMPLES: dict[str, Any] = json.loads((FOLDER / "samples.json").read_text())["samples"]
DIGITS = Path(__file__).parents[2] / "examples" / "digits"


def decode(spec: Any, arrays: Any, wrap: Callable[[Any], Any] = lambda a: a) -> Any:
    """A value described by samples.json."""
    ((kind, value),) = spec.items()
    match kind:
        case "T":
            return wrap(arrays[value])
        case "P":
            return value
        case "f":
            return float(value)
        case "t":
            return tuple(decode(v, arrays, wrap) for v in value)
        case "l":
            return [decode(v, arrays, wrap) for v in value]
    return {decode(k, arrays, wrap): decode(v, arrays, wrap) for k, v in value}


def assert_same(found: Any, wanted: Any) -> None:
    if isinstance(wanted, np.ndarray):
        assert (found.numpy().dtype, found.numpy().shape) == (wanted.dtype, wanted.shape)
        np.testing.assert_allclose(found.numpy(), wanted, rtol=1e-4, atol=1e-5)
    elif isinstance(wanted, dict):
        assert list(found) == list(wanted)
        for key, value in wanted.items():
            assert_same(found[key], value)
    elif isinstance(wanted, list | tuple):
        assert len(found) == len(wanted)
        for a, b in zip(found, wanted, strict=True):
            assert_same(a, b)
    else:
        assert found == wanted and type(found) is type(wanted)


def run_calls(module: Any, name: str) -> None:
    arrays = np.load(FOLDER / f"{name}.npz")
    for call in SAMPLES[name]["calls"]:
        method = module if call["method"] == "forward" else getattr(module, call["method"])
        args = decode(call["args"], arrays, ts.from_numpy)
        kwargs = decode(call["kwargs"], arrays, ts.from_numpy)
        assert_same(method(*args, **kwargs), decode(call["out"], arrays))


@pytest.mark.parametrize("name", SAMPLES)
def test_outputs_agree_with_pytorch(name: str) -> None:
    run_calls(load(FOLDER / f"{name}.pt"), name)


def test_a_file_object_and_bytes_are_archives_too() -> None:
    data = (FOLDER / "s11_mutating_buffers_scripted.pt").read_bytes()
    before = hashlib.sha256(data).digest()
    run_calls(load(io.BytesIO(data)), "s11_mutating_buffers_scripted")
    run_calls(load(data), "s11_mutating_buffers_scripted")
    assert hashlib.sha256(data).digest() == before


def test_updates_in_place_never_reach_the_file() -> None:
    path = FOLDER / "s11_mutating_buffers_scripted.pt"
    before = path.read_bytes()
    module = load(path)
    run_calls(module, "s11_mutating_buffers_scripted")
    assert module.hits == 2 and module.avg.abs().sum().item() > 0
    assert path.read_bytes() == before
    assert load(path).avg.abs().sum().item() == 0


def test_the_digits_classifier() -> None:
    held = np.load(DIGITS / "heldout.npz")
    found = load(DIGITS / "digits.pt")(ts.from_numpy(held["inputs"])).numpy()
    np.testing.assert_allclose(found, held["torch_outputs"], rtol=1e-4, atol=1e-4)
    assert (found.argmax(1) == held["torch_outputs"].argmax(1)).all()


def test_tensors_of_one_storage_share_memory() -> None:
    module = load(FOLDER / "s04_gru_tagger_scripted.pt")
    flat = dict(module.g.named_parameters())
    with ts.no_grad():
        module.g.weight_ih_l0.fill_(3.0)
    assert flat["weight_ih_l0"].detach().numpy().min() == 3.0
    assert module.g._script_object.attributes["_flat_weights"][0].detach().numpy().min() == 3.0


# -- refusals --------------------------------------------------------------------------------------


def rewritten(name: str, changes: dict[str, bytes | None]) -> bytes:
    """A sample with some records replaced, added or (None) left out."""
    out = io.BytesIO()
    root = ""
    with zipfile.ZipFile(FOLDER / f"{name}.pt") as old, zipfile.ZipFile(out, "w") as new:
        for entry in old.namelist():
            root, _, record = entry.partition("/")
            data = changes.pop(record, old.read(entry))
            if data is not None:
                new.writestr(entry, data)
        for record, added in changes.items():
            if added is not None:
                new.writestr(f"{root}/{record}", added)
    return out.getvalue()


REG = "s01_regressor_traced"
CODE = "code/__torch__.py"
HEAD = """class Reg(Module):
  __parameters__ = []
  __buffers__ = []
  training : bool
  _is_full_backward_hook : Optional[bool]
  a : __torch__.torch.nn.modules.linear.Linear
  b : __torch__.torch.nn.modules.linear.___torch_mangle_0.Linear
"""
METHOD = "  def forward(self: __torch__.Reg, x: Tensor) -> Tensor:\n    "


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("class Reg(Module:\n", "expected \\) but found 'eof' here"),
        ("x = 1\n", "Unknown type name"),
        (HEAD + METHOD + "return torch.no_such_operator(x)\n", "Unknown builtin op"),
        (HEAD + METHOD + "return y\n", "undefined value y"),
        (HEAD + METHOD + "return CONSTANTS.c7\n", "CONSTANTS.c7"),
        (HEAD + METHOD + "return CONSTANTS.seven\n", "malformed"),
        (HEAD + METHOD + "return self.nothing\n", "nothing"),
        (HEAD + METHOD + "return __import__('os').system('true')\n", "undefined value __import__"),
        (HEAD + METHOD + "return (self).forward(x)\n", "called recursively"),
        (HEAD + METHOD + "return " + "-" * 300 + "x\n", "nested"),
        (HEAD + METHOD + "return " + "torch.add(" * 190 + "x" + ", 1)" * 190 + "\n", "nested"),
        (HEAD.replace("training : bool\n", "training : int\n") + METHOD + "return x\n", "training"),
        (HEAD + "  extra : int\n" + METHOD + "return x\n", "no value for the attribute"),
        (HEAD.replace("  a : ", "  c : ") + METHOD + "return x\n", "has no attribute .a."),
        (HEAD.replace("Linear\n", "Missing\n") + METHOD + "return x\n", "Unknown type name"),
    ],
)
def test_bad_code_is_one_error(text: str, message: str) -> None:
    with pytest.raises((ArchiveError, CompileError), match=message):
        load(rewritten(REG, {CODE: text.encode()}))


_TOKENS = [
    "self",
    "torch",
    "None",
    "3",
    "'s'",
    "[]",
    "True",
    "CONSTANTS.c0",
    "CONSTANTS.c",
    "__torch__",
    "ops.prim",
    "int",
    "List[int]",
    "-1",
    "lambda",
    "*x",
    "yield",
    "{}",
    "{1:2}",
    "f''",
    "a:=1",
    "Final[int]",
    "NamedTuple",
    "class",
    "def",
    "return",
    "pass",
    ".",
    "(",
    ")",
    ":",
    "=",
    "if",
    "for",
    "while",
    "with",
    "uninitialized",
    "annotate",
    "unchecked_cast",
    "isinstance",
    "fork",
    "getattr",
    "Enum",
    "Interface",
]


@pytest.mark.parametrize("name", SAMPLES)
def test_damaged_code_loads_or_is_refused(name: str) -> None:
    """Words of the code left out, replaced and swapped: never an error of another kind."""
    random = Random(name)
    with zipfile.ZipFile(FOLDER / f"{name}.pt") as archive:
        texts = {
            entry.partition("/")[2]: archive.read(entry).decode()
            for entry in archive.namelist()
            if entry.endswith(".py")
        }
    for _ in range(25):
        record = random.choice(sorted(texts))
        words = re.findall(r"\w+|\s+|[^\w\s]", texts[record])
        for _ in range(random.choice((1, 1, 2, 4))):
            at, other = random.randrange(len(words)), random.randrange(len(words))
            words[at] = random.choice(("", random.choice(_TOKENS), words[other]))
        try:
            load(rewritten(name, {record: "".join(words).encode()}))
        except (ArchiveError, CompileError, FrontendError):
            continue


def test_errors_in_code_name_their_place() -> None:
    text = HEAD + METHOD + "return torch.add(x, y)\n"
    with pytest.raises(CompileError) as caught:
        load(rewritten(REG, {CODE: text.encode()}))
    assert 'File "code/__torch__.py", line 9' in str(caught.value)
    assert "<--- HERE" in str(caught.value)


def test_paths() -> None:
    with pytest.raises(ValueError, match=r"The provided filename /no/such\.pt does not exist"):
        load("/no/such.pt")
    with pytest.raises(ValueError, match="is a directory"):
        load(FOLDER)
    with pytest.raises(ArchiveError, match="not a ZIP archive"):
        load(b"plain text, long enough to be looked at as an archive")


def test_map_location() -> None:
    path = FOLDER / f"{REG}.pt"
    run_calls(load(path, map_location="cpu"), REG)
    run_calls(load(path, map_location=ts.device("cpu")), REG)
    with pytest.raises(ValueError, match="map_location should be either None, string or"):
        load(path, map_location=3)  # type: ignore[arg-type]  # the mistake under test
    with pytest.raises(ArchiveError, match="deserialize object on xpu"):
        load(path, map_location="xpu:0")


def test_extra_files() -> None:
    data = rewritten(REG, {"extra/notes.txt": b"hello"})
    wanted: dict[str, Any] = {"notes.txt": "", "missing": ""}
    load(data, _extra_files=wanted)
    assert wanted == {"notes.txt": b"hello", "missing": b""}


# -- old versions ----------------------------------------------------------------------------------


def old_version(body: str, version: int) -> Any:
    text = HEAD + METHOD + body
    return load(rewritten(REG, {CODE: text.encode(), "version": f"{version}\n".encode()}))


@pytest.mark.parametrize(
    ("version", "body", "wanted"),
    [
        (3, "return torch.div(x, 2)\n", [2, -2]),
        (4, "return torch.div(x, 2)\n", [2.5, -2.5]),
        (3, "return torch.div(x, torch.full_like(x, 2))\n", [2, -2]),
        (3, "return torch.div(x, 2.0)\n", [2.5, -2.5]),
        (3, "return torch.div_(x, 2)\n", [2, -2]),
        (3, "return torch.div(x, 2, rounding_mode='floor')\n", [2, -3]),
        (4, "return torch.full([2], 3)\n", [3.0, 3.0]),
        (5, "return torch.full([2], 3)\n", [3, 3]),
        (4, "return torch.full([2], 3, dtype=4, layout=None, device=None)\n", [3, 3]),
        (7, "return torch.linspace(0, 99)[3:5]\n", [3.0, 4.0]),
        (7, "return torch.linspace(0, 99, None)[3:5]\n", [3.0, 4.0]),
        (7, "return torch.linspace(0, 99, steps=None)[3:5]\n", [3.0, 4.0]),
        (7, "return torch.linspace(0, 2, 3)[1:]\n", [1.0, 2.0]),
        (8, "return torch.logspace(0, 99, None, 2.)[3:5]\n", [8.0, 16.0]),
    ],
)
def test_operators_of_old_versions(version: int, body: str, wanted: list[float]) -> None:
    found = old_version(body, version)(ts.tensor([5, -5]))
    assert found.tolist() == wanted
    assert found.dtype.is_floating_point is isinstance(wanted[0], float)


def test_arguments_are_checked() -> None:
    module = load(FOLDER / f"{REG}.pt")
    with pytest.raises(GuardError, match=r"missing value for argument 'x'"):
        module()
    with pytest.raises(GuardError, match="expected at most 2 argument"):
        module(ts.ones(1), ts.ones(1))
    with pytest.raises(GuardError, match="Unable to cast 3 to Tensor"):
        module(3)


def test_weights_of_a_file_are_mapped_and_not_copied() -> None:
    module = load(FOLDER / "s02_small_cnn_scripted.pt")
    for tensor in module.parameters():
        owner: Any = tensor._array
        while not isinstance(owner, memoryview):
            owner = owner.base
        assert isinstance(owner.obj, mmap.mmap)
        assert tensor._array.flags.writeable


class Stream(io.RawIOBase):
    """Bytes that come once, a few at a time."""

    def __init__(self, data: bytes) -> None:
        self.rest = data

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        part, self.rest = self.rest[: len(buffer)], self.rest[len(buffer) :]
        buffer[: len(part)] = part
        return len(part)


class OnlyReads:
    def __init__(self, data: bytes) -> None:
        self.read = io.BytesIO(data).read


def test_file_objects_of_every_kind(tmp_path: Path) -> None:
    path = FOLDER / f"{REG}.pt"
    run_calls(load(io.BufferedReader(Stream(path.read_bytes()))), REG)
    with path.open("rb") as file:
        run_calls(load(file), REG)
    shifted = io.BytesIO(b"front" + path.read_bytes())
    shifted.seek(5)
    run_calls(load(shifted), REG)
    with path.open("rb", buffering=0) as file:
        run_calls(load(file), REG)
    run_calls(load(cast("IO[bytes]", OnlyReads(path.read_bytes()))), REG)
    with pytest.raises(ArchiveError, match="binary mode"):
        load(io.StringIO("text"))  # type: ignore[arg-type]  # the mistake


@pytest.mark.parametrize("record", [b"", b"\x80\x02N.", b"\x80\x02X\1\0\0\0a\x85.", b"\xff" * 99])
def test_damaged_debug_records_say_nothing(record: bytes) -> None:
    data = rewritten("s06_cross_attention_scripted", {f"{CODE}.debug_pkl": record})
    with pytest.raises(RuntimeError, match="serialized code") as failure:
        load(data)(ts.ones(2), ts.ones(3))
    assert "RuntimeError" in str(failure.value)
