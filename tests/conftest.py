"""What every test may use. Test files have unique names: there are no packages under tests/."""

from __future__ import annotations

import io
import json
import sys
import zipfile
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import hypothesis
import pytest
from oracle_files import compares_with_torch

# One fixed sequence of examples: a test that passes today passes tomorrow.
hypothesis.settings.register_profile(
    "fixed", derandomize=True, deadline=None, database=None, print_blob=True
)
hypothesis.settings.load_profile("fixed")

BuildArchive = Callable[..., bytes]


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--archive-mutations", default="1500", help="how many damaged archives to try to load"
    )
    parser.addoption(
        "--oracle", action="store_true", help="only test files that compare with PyTorch"
    )


def pytest_ignore_collect(collection_path: Path, config: pytest.Config) -> bool | None:
    is_test = collection_path.name.startswith("test_") and collection_path.suffix == ".py"
    if is_test and config.getoption("--oracle") and not compares_with_torch(collection_path):
        return True
    return None


@pytest.fixture(autouse=True)
def gradient_mode() -> Iterator[None]:
    """Scripts that set the mode, or in PyTorch fail within `with no_grad()`, leave it in force; the
    next test starts as a process does."""
    yield
    for name in ("torch", "tensorscript"):
        if (library := sys.modules.get(name)) is not None:
            library.set_grad_enabled(True)


@pytest.fixture
def exact_bytes() -> Iterator[None]:
    """PyTorch multiplies bytes exactly on every processor: where there is no instruction that adds
    products of bytes in 32 bits, its other engines add pairs of them in 16, which saturate."""
    engines = pytest.importorskip("torch").backends.quantized
    given, engines.engine = engines.engine, "qnnpack"
    yield
    engines.engine = given


@pytest.fixture(scope="session")
def samples_folder() -> Path:
    """Archives that PyTorch 2.13 wrote, with inputs and outputs; `samples.json` lists them."""
    return Path(__file__).parent / "formats" / "samples"


@pytest.fixture(scope="session")
def samples(samples_folder: Path) -> dict[str, Any]:
    """Name of each sample archive to `{"what": ..., "calls": [...]}`."""
    table = json.loads((samples_folder / "samples.json").read_text())
    found: dict[str, Any] = table["samples"]
    return found


@pytest.fixture(scope="session")
def build_archive() -> BuildArchive:
    """A function from records to the bytes of an archive; records given replace the defaults.

    `build_archive({"data.pkl": b"..."}, root="m", deflate=("code/",))`; a record of None is left
    out.
    """

    def build(
        records: Mapping[str, bytes | None] | None = None,
        root: str = "m",
        deflate: tuple[str, ...] = (),
    ) -> bytes:
        contents: dict[str, bytes | None] = {
            "data.pkl": b"\x80\x02c__torch__\nNet\n)\x81}b.",
            "code/__torch__.py": b"class Net(Module):\n  pass\n",
            "constants.pkl": b"\x80\x02).",
            "version": b"3\n",
            "byteorder": b"little",
        }
        contents |= records or {}
        file = io.BytesIO()
        with zipfile.ZipFile(file, "w") as archive:
            for name, data in contents.items():
                if data is not None:
                    method = zipfile.ZIP_DEFLATED if name.startswith(deflate) and deflate else 0
                    archive.writestr(f"{root}/{name}", data, compress_type=method)
        return file.getvalue()

    return build
