"""Random programs of tensors that share memory, in lists, dicts and attributes, with sizes that the
program finds: scripted and native results equal those of eager mode.

A step is kept if eager mode takes it with the first arguments; with others it may raise, which a
script does not where nothing reads the result. What is compared is exact: integers and quarters,
and no step rounds. `table['a'] += 1` is left out: it writes in place in Python, not in scripts.
"""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path
from random import Random
from typing import Any

import numpy as np
import pytest

import tensorscript as ts

PROGRAMS = 12
STEPS = 12
HEAD = """import tensorscript as torch
from tensorscript import Tensor


class Box:
    def __init__(self, t: Tensor, n: int):
        self.t = t
        self.n = n
        self.items: list[Tensor] = [t]

    def swap(self, t: Tensor) -> Tensor:
        old = self.t
        self.t = t
        self.n += 1
        self.items.append(old)
        return old


def shifted(t: Tensor, n: int) -> Tensor:
    if n % 2 == 0:
        return t[1:]
    t[:1] += n
    return t


def program(x: Tensor, y: Tensor, z: Tensor, n: int):
    held = [z, x.reshape(-1)[:3]]
    table = {'a': z, 'b': y[0]}
    numbers = [1, n, 3]
    box = Box(z * 1, n)
"""
LAST = "return x, y, z, n, held, table, numbers, box.t, box.n, box.items"
MATRICES = (
    "{m} + {m}", "{m} - {u}", "{m}.t()", "{m}[1:]", "{m}[:, ::2]", "{m}.flip(0)", "{m} > {i}",
    "torch.stack([{u}, {u}])", "{u}.unsqueeze(0).expand(3, -1)", "torch.cat([{m}, {m}])",
    "{m}[{m}[:, 0] > {i}]", "torch.where({m} > {i}, {m}, {m})", "{m}.to(torch.int32)",
    "torch.stack(held)", "{m}.cumsum(1)", "{m}.reshape(-1, 1)", "torch.chunk({m}, 2, 1)[-1]",
    "torch.broadcast_to({u}, [2, {u}.size(0)])", "torch.nonzero({u} > {i})",
)  # fmt: skip
ROWS = (
    "{m}[-1]", "{m}[:, 0]", "{m}.diagonal()", "{m}.reshape(-1)", "{u}[1:]", "{u}[::2]",
    "{u} + {u}", "{u} * 2", "torch.cat([{u}, {u}])[:20]", "torch.cat(held)[:20]", "held[-1]",
    "held[{i} % len(held)]", "table['a']", "table['b']", "{u}[{u} > {i}]", "torch.unique({u})",
    "torch.nonzero({u})[:, 0]", "torch.arange({i} % 7)", "{m}.sum(0)", "{m}.amax(1)", "box.t",
    "torch.masked_select({m}, {m} > {i})", "box.swap({u})", "box.items[-1]", "shifted({u}, {i})",
    "{u}.split(2)[0]", "{u}.view(-1)", "torch.tensor(numbers)", "torch.sort({u})[0]",
    "(held + held[:1])[-1]", "list({m}.unbind(0))[0]",
)  # fmt: skip
NUMBERS = (
    "2", "-1", "n", "len(held)", "{u}.size(0)", "{m}.size(1)", "numbers[-1]", "box.n",
    "int({u}.sum()) % 5", "{i} + {i}", "min({i}, 3)",
)  # fmt: skip
WRITES = (
    "{m} += {i}", "{m}[0] = {u} * 1", "{m}[:, -1] -= {i}", "{u}[1:] = {i}", "{u}[::2] += 1",
    "{m}[{m} > {i}] = {i}", "{m}.t().add_({i})", "{m}.diagonal().fill_({i})", "{u}.zero_()",
    "torch.add({m} * 1, {i}, out={m})", "torch.mul({u} * 1, 3, out={u})", "{m}[::2].mul_(2)",
    "{m}.copy_({u} * 1)", "{m}.view(-1)[::2] += 1", "{u}.clamp_({i}, 9)", "held.append({u})",
    "{u}.masked_fill_({u} > {i}, {i})", "held[-1] = {u}", "held[0].add_({i})", "box.t = {u}",
    "held[-1][1:] = {i}", "table['a'] = {u}", "table['b'].add_(1)", "table['c'] = {u}",
    "table['a'].add_({i})", "numbers.append({i})", "box.t.add_({i})", "box.items.append({u})",
    "held = held[1:] + [{u}]", "held = held + list({m}.unbind(1))[:2]", "held.reverse()",
    "{m}.unbind(0)[0].mul_(2)", "{m}.chunk(2, 1)[0].add_(1)", "{m}.narrow(0, 0, 1).zero_()",
    "{u}[torch.nonzero({u} > {i})[:, 0]] = {i}", "{m}[-1] = {m}[0] + 1",
)  # fmt: skip
BLOCKS = (
    "if {u}.size(0) > {i}:", "if bool(({u} > {i}).any()):", "for k in range({i} % 4):",
    "for part in held[:3]:", "for row in {m}[:3]:", "for k, part in enumerate(held[:2]):",
)  # fmt: skip
FORMS = {"m": MATRICES, "u": ROWS, "i": NUMBERS}
REFUSED = (RuntimeError, IndexError, TypeError, ValueError, KeyError)
LARGEST = 600


class Writer:
    """Writes steps of values that have names, or are made on the way."""

    def __init__(self, random: Random) -> None:
        self.random = random
        self.names = {"m": ["x", "y"], "u": ["z"], "i": ["n"]}

    def filled(self, form: str, depth: int = 0) -> str:
        """The form, with a name or an expression for each `{kind}`; deep inside, a name."""
        while (at := form.find("{")) >= 0:
            kind = form[at + 1]
            is_name = depth > 1 or self.random.random() < 0.6
            value = self.random.choice(self.names[kind]) if is_name else self.made(kind, depth + 1)
            form = form[:at] + value + form[at + 3 :]
        return form

    def made(self, kind: str, depth: int) -> str:
        text = self.filled(self.random.choice(FORMS[kind]), depth)
        return f"({text})" if " " in text or text.startswith("-") else text

    def step(self, indent: str = "    ") -> list[str]:
        if self.random.random() < 0.15 and len(indent) < 12:
            inner = [line for _ in range(2) for line in self.step(indent + "    ")]
            return [indent + self.filled(self.random.choice(BLOCKS)), *inner]
        if self.random.random() < 0.5:
            return [indent + self.filled(self.random.choice(WRITES), 2)]
        kind = self.random.choice("mmui")
        name = self.random.choice(self.names[kind])
        value = self.filled(self.random.choice(FORMS[kind]))
        if len(indent) == 4 and self.random.random() < 0.7:
            name = f"{kind}{sum(map(len, self.names.values()))}"
            self.names[kind] = [*self.names[kind], name]
        return [f"{indent}{name} = {value}"]


def loaded(folder: Path, name: str, steps: list[str]) -> Any:
    path = folder / f"{name}.py"
    path.write_text(HEAD + "\n".join([*steps, f"    {LAST}"]) + "\n")
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    sys.modules[name] = module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.program


def arguments(seed: int, call: int) -> list[Any]:
    """Tensors of which some are transposed, cut out or the same, and a number."""
    random, numbers = Random(f"{seed} {call}"), np.random.default_rng((seed, call))
    rows, columns = random.choice(
        [(3, 4), (4, 4), (2, 7), (5, 3)] if call < 2 else [(1, 4), (9, 5)]
    )
    dtype = Random(seed).choice(["int64", "float32", "float64", "int32"])
    made = []
    for shape in ((rows, columns), (rows, columns), (columns,)):
        wide = (*shape[:-1], 2 * columns)
        drawn = ts.from_numpy((numbers.integers(-9, 10, wide) / 4).astype(dtype))
        layout = random.choice(["plain", "strided", "turned"])
        part = drawn[..., ::2] if layout == "strided" else drawn[..., :columns].contiguous()
        made.append(part.t().contiguous().t() if layout == "turned" else part)
    if random.random() < 0.2:
        made[1] = made[0]
    return [*made, random.choice([0, 1, 2, 3])]


def outcome(run: Any, given: list[Any]) -> Any:
    """The results and what the arguments are after the call; a word if it raises."""
    try:
        return [plain(v) for v in (*run(*given), *given)]
    except REFUSED:
        return "raises"


def plain(value: Any) -> Any:
    if isinstance(value, ts.Tensor):
        return str(value.dtype), value.tolist()
    if isinstance(value, dict):
        return {key: plain(v) for key, v in value.items()}
    return [plain(v) for v in value] if isinstance(value, list) else value


def program(folder: Path, seed: int) -> tuple[Any, str]:
    writer, steps, tried = Writer(Random(seed)), list[str](), 0
    while len(steps) < STEPS and tried < 80:
        tried += 1
        names = dict(writer.names)
        longer = [*steps, *writer.step()]
        found = outcome(loaded(folder, "containers_tried", longer), arguments(seed, 0))
        if found == "raises" or len(str(found)) > 20 * LARGEST:
            writer.names = names
            continue
        try:
            ts.jit.script(loaded(folder, f"containers_{seed}_{tried}", longer))
        except REFUSED:  # a name of two types
            writer.names = names
            continue
        steps = longer
    steps += [f"    held.append({v}.reshape(-1))" for v in writer.names["m"] + writer.names["u"]]
    return loaded(folder, f"containers_{seed}", steps), "\n".join(steps)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("first", range(0, PROGRAMS, 4))
def test_every_way_agrees_with_eager_mode(tmp_path: Path, first: int) -> None:
    for seed in range(first, first + 4):
        eager, text = program(tmp_path, seed)
        ways = {"scripted": ts.jit.script(eager), "native": ts.compile(eager, cache=False)}
        for call in range(3):
            wanted = outcome(eager, arguments(seed, call))
            if wanted == "raises":
                continue
            for way, run in ways.items():
                found = outcome(run, arguments(seed, call))
                assert found == wanted, f"{seed} {way} {call}\n{text}"
