"""Lesson 3: a voice detector from someone else's archive, native, with its state.

It needs the package silero-vad (`make models` installs it), which holds an archive that PyTorch
wrote: a short-time Fourier transform as a convolution, an encoder, an LSTM cell, one model for
each of two sample rates, and state that the model keeps from one chunk of sound to the next.

Run it: `python docs/lessons/03_voice_activity.py`. The tests run it where the package is.
"""

import importlib.util
import sys
from pathlib import Path

import numpy as np

import tensorscript as ts

# The package is data to us: its code, which asks for PyTorch, is not imported.
package = importlib.util.find_spec("silero_vad")
if package is None or package.origin is None:
    sys.exit("this lesson needs the package silero-vad")
archive = Path(package.origin).parent / "data" / "silero_vad.jit"

# An archive holds a program as text. This one looks at the sample rate, at what it saw before,
# and at whether its state is still empty.
detector = ts.jit.load(archive)
print(detector.code[:400], "...")

RATE, CHUNK = 16000, 512


# Sound to try it on, one second each: silence, noise, and synthetic speech. Speech is a train of
# pulses at a voice's pitch that rings in the resonances of a mouth, five syllables a second.
VOWELS = ((730, 1090, 2440, 3500), (270, 2290, 3010, 3600), (570, 840, 2410, 3400))


def speech(seconds: float) -> np.ndarray:
    time = np.arange(int(seconds * RATE)) / RATE
    pitch = 150 * (1 + 0.15 * np.sin(2 * np.pi * 0.7 * time) + 0.02 * np.sin(2 * np.pi * 5 * time))
    pulses = np.diff(np.floor(np.cumsum(pitch) / RATE), prepend=0)
    rings = time[: RATE // 20]
    spoken = np.zeros_like(time)
    for k, formants in enumerate(VOWELS):
        ring = sum(np.exp(-300 * rings) * np.sin(2 * np.pi * f * rings) / f for f in formants)
        mine = np.floor(time * 5).astype(int) % len(VOWELS) == k
        spoken += np.where(mine, np.convolve(pulses, ring)[: len(time)], 0)
    syllables = 0.55 - 0.45 * np.cos(2 * np.pi * 5 * time)
    return 0.5 * spoken / np.abs(spoken).max() * syllables


noise = 0.01 * np.random.default_rng(0).standard_normal(RATE)
parts = {"silence": np.zeros(RATE), "voice": speech(1.0), "noise": noise}

# `compile` takes a method of a module; the call below is as in PyTorch. The sample rate decides
# which model runs, and the memory of earlier calls decides about shapes. Both have to be known to
# make native code: code is made for their values, and each call checks them.
detect = ts.compile(detector, fallback="error")
for name, sound in parts.items():
    detector.reset_states()
    chunks = sound[: len(sound) // CHUNK * CHUNK].reshape(-1, 1, CHUNK).astype(np.float32)
    found = [detect(chunk, RATE).item() for chunk in chunks]
    print(f"{name}: {np.mean(found):.3f}")
    assert (np.mean(found) > 0.5) == (name == "voice")

# Two forms were compiled: for the first chunk, and for every chunk with a state.
print("compiled for:", detect.stats.native)
assert len(detect.stats.native) == 2 and detect.stats.is_native

# Another rate is another model inside of the archive. It starts afresh, as the program says.
low = speech(0.5)[::2].astype(np.float32)
print(
    "8 kHz:", [round(detect(low[None, k : k + 256], 8000).item(), 2) for k in range(0, 1024, 256)]
)

# The archive has a second method, which runs over a whole recording: a loop and a list in a
# program, and one native function here. What it finds is what the calls above found.
whole = ts.compile(detector.audio_forward, fallback="error")
sound = parts["voice"][: 10 * CHUNK].astype(np.float32)
at_once = whole(sound[None], RATE)
detector.reset_states()
one_by_one = [detect(part[None], RATE) for part in sound.reshape(-1, CHUNK)]
np.testing.assert_allclose(at_once, np.concatenate(one_by_one, 1), rtol=1e-4)
