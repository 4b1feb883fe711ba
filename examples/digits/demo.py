"""A guided tour: one real network, trained by PyTorch, run every way TensorScript knows.

    make demo        (or: python examples/digits/demo.py)

The archive `digits.pt` is read without PyTorch, compiled for this CPU, for an NVIDIA GPU (run here
in the PTX emulator) and to an object file for a C program. All of them classify handwritten digits
that the network has not seen; their outputs are compared with those PyTorch stored.
Everything made on the way lies in `out/digits/`. The exit status is 1 if anything disagrees.
"""

from __future__ import annotations

import shutil
import subprocess
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path

import numpy as np

import tensorscript as ts
from tensorscript.backends.ptx.ptxas import check_with_ptxas, find_ptxas
from tensorscript.compiler.export import export_object
from tensorscript.compiler.function import CompiledFunction
from tensorscript.compiler.stages import STAGES

HERE = Path(__file__).resolve().parent
OUT = Path("out/digits")
ARCHIVE = HERE / "digits.pt"
ARCH = "sm_90"
EMULATED = 4
"""Digits that the PTX emulator classifies: it executes every instruction of every thread."""
SHADES = " .:-=+*#%@"


def section(number: int, title: str) -> None:
    print(f"\n{number}. {title}\n" + "-" * (len(title) + 3))


def say(text: str = "") -> None:
    print(f"   {text}" if text else "", flush=True)


def progress(text: str) -> Callable[[str], None]:
    """Announce something that takes a while; call the result with what came out."""
    print(f"   {text} ... ", end="", flush=True)
    start = time.perf_counter()

    def done(result: str = "") -> None:
        taken = time.perf_counter() - start
        print(f"{result} ({taken:.2f} s)" if result else f"{taken:.2f} s", flush=True)

    return done


def picture(image: np.ndarray) -> list[str]:
    """An 8x8 image as eight lines of text."""
    levels = np.rint(image.reshape(8, 8) * (len(SHADES) - 1)).astype(int)
    return ["".join(SHADES[level] * 2 for level in row) for row in levels]


def show(images: np.ndarray, captions: list[str]) -> None:
    """Images side by side, with a caption under each."""
    for lines in zip(*map(picture, images), strict=True):
        say("   ".join(lines))
    say("   ".join(caption.center(16) for caption in captions))


def best_time(call: Callable[[], object], seconds: float = 0.5) -> float:
    """The shortest of as many runs as fit into `seconds` (three at least)."""
    times: list[float] = []
    while len(times) < 3 or sum(times) < seconds:
        start = time.perf_counter()
        call()
        times.append(time.perf_counter() - start)
    return min(times)


@dataclass
class Judge:
    """Compares outputs with PyTorch's and with the labels, and remembers every verdict."""

    expected: np.ndarray
    labels: np.ndarray
    rows: list[tuple[str, int, float, float, bool]] = field(default_factory=list)
    verdicts: dict[str, bool] = field(default_factory=dict)

    @property
    def tolerance(self) -> float:
        """Float32 rounding of sums in another order: 64 units in the last place of the largest
        output."""
        return float(64 * np.finfo(np.float32).eps * np.abs(self.expected).max())

    def check(self, who: str, outputs: np.ndarray) -> None:
        """Compare with PyTorch's outputs for the first digits, and say the verdict."""
        count = len(outputs)
        expected, labels = self.expected[:count], self.labels[:count]
        difference = float(np.abs(outputs - expected).max())
        same = bool((outputs.argmax(1) == expected.argmax(1)).all())
        accuracy = float((outputs.argmax(1) == labels).mean())
        agrees = same and difference <= self.tolerance
        self.rows.append((who, count, accuracy, difference, agrees))
        verdict = "agrees with PyTorch" if agrees else "DISAGREES WITH PYTORCH"
        say(f"{who}: {100 * accuracy:.2f} % of {count} right, largest difference from PyTorch's")
        say(f"outputs {difference:.1e} (allowed {self.tolerance:.1e}): {verdict}.")

    def summary(self) -> bool:
        """Print all verdicts; whether all are good."""
        say(f"{'who':<34}{'digits':>8}{'right':>10}{'difference':>13}")
        for who, count, accuracy, difference, agrees in self.rows:
            mark = "" if agrees else "   DISAGREES"
            say(f"{who:<34}{count:>8}{100 * accuracy:>8.2f} %{difference:>13.1e}{mark}")
        for what, good in self.verdicts.items():
            say(f"{what}: {'accepted' if good else 'REFUSED'}")
        return all(row[-1] for row in self.rows) and all(self.verdicts.values())

    def verdict(self, what: str, good: bool) -> None:
        """Remember a check that is no comparison."""
        self.verdicts[what] = good


def load() -> ts.jit.RecursiveScriptModule:
    section(1, "Read the archive that torch.jit.save wrote")
    done = progress(f"{ARCHIVE.name}, {ARCHIVE.stat().st_size} bytes, with our own reader")
    model = ts.jit.load(ARCHIVE)
    done("loaded")
    parameters = sum(p.numel() for p in model.parameters())
    say(f"{parameters} parameters. Its program begins, in TorchScript:")
    for line in model.code.strip().splitlines()[:8]:
        say(f"  | {line}")
    return model


def compile_natively(images: np.ndarray) -> CompiledFunction:
    section(2, "Compile it for this CPU")
    done = progress("TorchScript -> tensor algebra -> loops -> LLVM -> machine code")
    native: CompiledFunction = ts.compile(ARCHIVE, [images], fallback="error")
    done("compiled")
    say(f"{len(native.kernels)} kernels: " + ", ".join(map(repr, native.kernels)))
    say("Nothing was left to an interpreter." if native.stats.is_native else str(native.stats))
    return native


def classify(native: CompiledFunction, images: np.ndarray, judge: Judge) -> None:
    section(3, f"Classify {len(images)} digits that the network has not seen")
    outputs: np.ndarray = native(images)
    wrong = np.flatnonzero(outputs.argmax(1) != judge.labels)
    guesses = outputs.argmax(1)
    shown = [int(np.flatnonzero(guesses == digit)[0]) for digit in (3, 5, 8)] + list(wrong[:1])
    show(images[shown], [f"{guesses[k]} (is {judge.labels[k]})" for k in shown])
    if len(wrong):
        say("(The last one is a digit that it gets wrong, as PyTorch does.)")
    judge.check("native code", outputs)


def measure(
    native: CompiledFunction, model: ts.jit.RecursiveScriptModule, images: np.ndarray, judge: Judge
) -> None:
    section(4, "How long a batch takes, beside NumPy")
    say("NumPy here is the same graph, one NumPy computation per operator.")
    say(f"{'batch':>8}{'NumPy':>14}{'native':>14}")
    for count in (1, len(images)):
        batch, tensor = images[:count], ts.from_numpy(images[:count])
        by_numpy = best_time(partial(model, tensor))
        own = best_time(partial(native, batch))
        say(
            f"{count:>8}{1e3 * by_numpy:>11.3f} ms{1e3 * own:>11.3f} ms"
            f"   {by_numpy / own:.1f} times as fast"
        )
    judge.check("NumPy", model(ts.from_numpy(images)).numpy())


def write_stages(images: np.ndarray) -> None:
    section(5, "Look inside: the program at every stage")
    OUT.mkdir(parents=True, exist_ok=True)
    options = ts.CompileOptions(fallback="error", cache=False, verify=True, dump_dir=OUT)
    native = ts.compile(ARCHIVE, [images], options=options)
    for stage in STAGES:
        if stage.name in ("ll", "s"):
            (OUT / f"{native.__name__}{stage.suffix}").write_text(native.ir(stage.name))
        path = OUT / f"{native.__name__}{stage.suffix}"
        if path.exists() and stage.name not in ("o", "ptx"):
            text = path.read_text()
            say(f"{stage.name:>10}  {text.count(chr(10)):>6} lines   {path}")
    say("Weights lie beside the texts; a text can enter the pipeline again at its stage.")


def emulate(images: np.ndarray, judge: Judge) -> None:
    section(6, "The same network as a GPU program")
    gpu = ts.compile(ARCHIVE, [images[:1]], target=f"ptx-emulate:{ARCH}", fallback="error")
    ptx = gpu.ir("ptx")
    path = OUT / f"{gpu.__name__}.ptx"
    path.write_text(ptx)
    say(f"{len(gpu.kernels)} kernels, {ptx.count(chr(10))} lines of PTX for {ARCH}: {path}")
    if find_ptxas() is None:
        say("(NVIDIA's assembler ptxas is not on this machine, so it is not asked.)")
    else:
        done = progress("NVIDIA's assembler ptxas reads it")
        report = check_with_ptxas(ptx, ARCH)
        done("accepted" if report.accepted else "REFUSED: " + "; ".join(report.errors))
        judge.verdict("ptxas", report.accepted)
    say("No GPU is needed: the emulator executes every thread and looks for races and stray reads.")
    outputs = []
    for number, image in enumerate(images):
        done = progress(f"digit {number + 1} of {len(images)}")
        outputs.append(gpu(image[None]))
        done(f"it is a {outputs[-1].argmax()}")
    show(images, [str(o.argmax()) for o in outputs])
    judge.check("PTX in the emulator", np.concatenate(outputs))


def run(command: list[str]) -> str:
    """Standard output of a command; its error text ends the demo if it fails."""
    result = subprocess.run(command, capture_output=True, text=True, check=False)
    if result.returncode:
        raise SystemExit(f"{' '.join(command)} failed:\n{result.stderr}")
    return result.stdout


def link_c_program(images: np.ndarray, judge: Judge) -> None:
    section(7, "A C program without Python")
    cc = shutil.which("cc")
    if cc is None:
        raise SystemExit("the demo needs a C compiler (cc)")
    done = progress("compile the archive for any batch size N, as an object file")
    function = ts.compile(ARCHIVE, [ts.TensorSpec(("N", 1, 8, 8))], fallback="error")
    made, header, program = OUT / "digits.o", OUT / "digits.h", OUT / "classify"
    export_object(function, made, header=header, name="digits")
    done(f"{made}, {made.stat().st_size // 1024} KiB, weights included")
    done = progress("cc classify.c digits.o -lm -lpthread")
    source = str(HERE / "classify.c")
    run([cc, "-O1", f"-I{OUT}", source, str(made), "-o", str(program), "-lm", "-lpthread"])
    done("linked")
    given, results = OUT / "images.bin", OUT / "outputs.bin"
    images.tofile(given)
    for line in run([str(program), str(given), str(len(images)), str(results)]).splitlines():
        say(f"  | {line}")
    outputs = np.fromfile(results, np.float32).reshape(len(images), -1)
    judge.check("C program", outputs)


def main() -> int:
    start = time.perf_counter()
    print(f"TensorScript {ts.__version__}: a TorchScript archive, every way it can run")
    with np.load(HERE / "heldout.npz", allow_pickle=False) as held_out:
        images, labels = held_out["inputs"], held_out["labels"]
        judge = Judge(held_out["torch_outputs"], labels)
    model = load()
    native = compile_natively(images)
    classify(native, images, judge)
    measure(native, model, images, judge)
    write_stages(images)
    emulate(images[:EMULATED], judge)
    link_c_program(images, judge)
    section(8, "Together")
    agreed = judge.summary()
    if "torch" in sys.modules:
        raise SystemExit("PyTorch was imported on the way, which it never should be")
    say()
    say("All agree." if agreed else "NOT ALL AGREE.")
    say(f"PyTorch was never imported. The tour took {time.perf_counter() - start:.1f} s.")
    return 0 if agreed else 1


if __name__ == "__main__":
    sys.exit(main())
