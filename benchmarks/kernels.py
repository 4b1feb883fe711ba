"""Where the time of a workload goes: its kernels, beside the limits of the machine.

    python benchmarks/kernels.py "ResNet-18, batch 1" [--group model] [--threads 2]

Every workload of the group with that text in its name.
"""

from __future__ import annotations

import argparse
import os

from groups import GROUPS
from peers import torch
from run import asked

import tensorscript as ts
from tensorscript.compiler.cli.kernels import kernel_table


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("match", help="text in the names of workloads")
    parser.add_argument("--group", default="model", choices=sorted(GROUPS))
    parser.add_argument("--threads", type=int, default=1)
    options = parser.parse_args()
    limit = asked("limits.py", str(options.threads), threads=options.threads)
    flops, moved = limit["flops"] / 1e9, limit["bandwidth"] / 1e9
    print(f"{options.threads} thread(s): {flops:.0f} GFLOP/s, copying {moved:.1f} GB/s")
    ts.set_num_threads(options.threads)
    if options.threads == 1 and hasattr(os, "sched_setaffinity"):
        os.sched_setaffinity(0, {min(os.sched_getaffinity(0))})
    if torch is not None:
        torch.set_grad_enabled(False)
    for work in GROUPS[options.group]:
        if options.match in work.name:
            wanted = ts.CompileOptions(fallback="error", timed=True)
            arguments = work.arguments()
            program = ts.compile(work.build(), arguments, options=wanted)
            print(f"\n{work.name}\n{kernel_table(program, arguments)}", end="", flush=True)


if __name__ == "__main__":
    main()
