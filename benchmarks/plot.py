"""The table as pictures: a bar per workload and group, and a roofline. Needs matplotlib."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from matplotlib.figure import Figure
from rows import Row


def bars(groups: Mapping[str, Sequence[Row]], file: Path) -> None:
    """How many times the best peer's speed, one panel per group; the line is equality."""
    figure = Figure(figsize=(10, 2 + 0.24 * sum(map(len, groups.values()))), layout="constrained")
    panels = figure.subplots(
        len(groups), 1, squeeze=False, sharex=True,
        gridspec_kw={"height_ratios": [max(2, len(rows)) for rows in groups.values()]},
    )[:, 0]  # fmt: skip
    for panel, (name, rows) in zip(panels, groups.items(), strict=True):
        shown = [r for r in rows if r.ratio is not None]
        labels = [f"{r.workload}, {r.threads}t" for r in shown]
        values = [r.ratio or 0.0 for r in shown]
        colours = ["#2a7f62" if v >= 1 else "#b5532a" for v in values]
        panel.barh(labels, values, color=colours)
        panel.axvline(1.0, color="black", linewidth=0.8)
        panel.set_xscale("log")
        panel.invert_yaxis()
        panel.set_title(name, loc="left", fontsize=10)
        panel.tick_params(axis="y", labelsize=7)
    panels[-1].set_xlabel("speed over the best peer of the same run (log scale)")
    figure.savefig(file)


def roofline(rows: Sequence[Row], limits: Mapping[int, Mapping[str, float]], file: Path) -> None:
    """Operations per second over operations per byte, with the measured limits."""
    figure = Figure(figsize=(8, 5), layout="constrained")
    panel = figure.subplots()
    for threads, limit in sorted(limits.items()):
        turn = limit["flops"] / limit["bandwidth"]
        intensity = [0.1, turn, 1000.0]
        roof = [min(limit["flops"], limit["bandwidth"] * i) for i in intensity]
        panel.plot(intensity, roof, label=f"limit, {threads} thread(s)")
        own = [r for r in rows if r.threads == threads and r.flops and "tensorscript" in r.seconds]
        panel.scatter(
            [r.flops / r.bytes for r in own],
            [r.flops / r.seconds["tensorscript"] for r in own],
            s=14, label=f"TensorScript, {threads} thread(s)",
        )  # fmt: skip
    panel.set_xscale("log")
    panel.set_yscale("log")
    panel.set_xlabel("operations per byte of arguments and results")
    panel.set_ylabel("operations per second")
    panel.legend(fontsize=8)
    figure.savefig(file)
