"""Forked tasks of a module that is frozen: each fork gets a function of its own, frozen as well.

%f = ts.fork @task(%sub, %x)      -->      %f = ts.fork @task.frozen0(%x)
"""

from __future__ import annotations

from collections.abc import Sequence

from xdsl.dialects.builtin import ArrayAttr, StringAttr

from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.walks import walk_ops

from .dce import remove_dead_code
from .freeze import ModuleTree
from .inline import inline_in_place


def split_tasks(tree: ModuleTree, methods: Sequence[ts.FuncOp]) -> list[ts.FuncOp]:
    """Give every fork of inlined methods a copy of its function with what that calls in place.

    `tree.tasks` learns the objects that each is given.
    """
    made: list[ts.FuncOp] = []
    for function in (todo := list(methods)):
        for op in walk_ops(function):
            if not isinstance(op, ts.TaskOp):
                continue
            if (callee := tree.functions.get(op.callee.data)) is None:
                continue
            task = callee.clone()
            symbol = StringAttr(f"{op.callee.data}.frozen{len(made)}")
            task.properties["sym_name"] = op.properties["callee"] = symbol
            tree.tasks[task] = tuple(map(tree.object_of, op.arguments))
            inline_in_place(task, tree.functions, tree.class_of)
            made.append(task)
            todo.append(task)
    return made


def drop_objects(tree: ModuleTree, methods: Sequence[ts.FuncOp], tasks: list[ts.FuncOp]) -> None:
    """Forks no longer hand over the objects that their tasks do not read."""
    by_name = {task.sym_name.data: task for task in tasks}
    # The tasks of a task stand behind it.
    for function in (*reversed(tasks), *methods):
        forks: dict[str, list[ts.TaskOp]] = {}
        for op in walk_ops(function):
            if isinstance(op, ts.TaskOp) and op.callee.data in by_name:
                forks.setdefault(op.callee.data, []).append(op)
        for name, same in forks.items():
            _drop_unread(tree, by_name[name], same)
        remove_dead_code(function)


def _drop_unread(tree: ModuleTree, task: ts.FuncOp, forks: Sequence[ts.TaskOp]) -> None:
    pairs = zip(task.block.args, tree.tasks[task], strict=True)
    kept = [k for k, (arg, held) in enumerate(pairs) if held is None or arg.first_use is not None]
    for fork in forks:
        arguments = tuple(fork.arguments)
        fork.operands = [arguments[k] for k in kept]
    for k in reversed(range(len(task.block.args))):
        if k not in kept:
            task.block.erase_arg(task.block.args[k])
    tree.tasks[task] = tuple(tree.tasks[task][k] for k in kept)
    names, defaults = task.argument_names.data, task.defaults.data
    task.properties["argument_names"] = ArrayAttr([names[k] for k in kept])
    task.properties["defaults"] = ArrayAttr([defaults[k] for k in kept])
