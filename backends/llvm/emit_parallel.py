"""te.for of kind parallel: the body becomes a function that the thread pool calls per chunk.

`@f.par0.body(begin, end, captures...)` runs iterations begin .. end, at once where the loop has a
name for their number, and gives a status;
`@f.par0(task, env)` finds its chunk and the captured names in the environment, an array of 8-byte
cells on the caller's stack. Cells: 0 extent, 1 tasks, 2 status, 3 start, then the captures. The
captured buffers are `noalias` parameters of the body, so that LLVM knows there as much about them
as in the function around.
"""

from __future__ import annotations

from collections.abc import Iterator

from xdsl.ir import Operation

from tensorscript.base.dtypes import int64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import BufferAttr, ExprAttr, ExprsAttr
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.ops import ForOp
from tensorscript.dialects.te.rewriting import loads

from .emit_alloc import release
from .emit_context import Context
from .emit_expr import evaluate_scalar
from .emit_loops import bind_loop, counted_loop, emit_serial, scoped_block
from .emit_scope import Bound, Place, Slot, upper
from .emit_stmt import pass_on
from .emit_text import Code
from .emit_types import Value, register_type
from .half_registers import attributes

TASKS_PER_THREAD = 4
"""So that none waits for another's last one. What is done once for all iterations that a thread has
is done by each once."""
_HEADER_CELLS = 4


@dataclass(frozen=True)
class Capture:
    """A name that the body uses: its LLVM type, the operand outside and the parameter inside."""

    name: str
    type: str
    outside: str
    inside: str


def emit_parallel(context: Context, op: ForOp) -> None:
    if context.inside_parallel or context.vector is not None:
        (emit_serial if op.chunk is None else _emit_whole)(context, op)
        return
    extent = evaluate_scalar(context, op.extent, "a parallel extent")
    start = evaluate_scalar(context, op.start, "a parallel start")
    captures = list(_captures(context, op))
    name = f"{context.name}.par{context.outlined}"
    context.outlined += 1
    _emit_body(context, op, name, captures)
    _emit_task(context, name, captures)
    _emit_dispatch(context, op, name, captures, (start, extent))


def _names(op: Operation) -> Iterator[str]:
    """Every name of a scalar or a buffer below `op` (its own definitions too)."""
    for inner in op.walk():
        for attribute in inner.properties.values():
            if isinstance(attribute, ExprAttr):
                yield from _expr_names(attribute.data)
            elif isinstance(attribute, ExprsAttr):
                for e in attribute.data:
                    yield from _expr_names(e)
            elif isinstance(attribute, BufferAttr):
                for e in (*attribute.data.shape, *attribute.data.effective_strides):
                    yield from e.free
        for key in ("buffer_name", "var_name"):
            if key in inner.properties:
                yield inner.properties[key].data  # type: ignore[attr-defined]  # a StringAttr


def _expr_names(e: Expr) -> Iterator[str]:
    yield from e.free
    for load in loads(e):
        yield str(load.value)


def _captures(context: Context, op: ForOp) -> Iterator[Capture]:
    scope = context.scope
    todo = sorted(set(_names(op)))
    seen = set(todo)
    while todo:
        name = todo.pop()
        more: set[str] = set()
        if (replaced := scope.replaced.get(name)) is not None:
            more |= replaced.free
        if (place := scope.places.get(name)) is not None:
            if place.pointer[0] == "%":
                yield Capture(name, "ptr", place.pointer, f"%cap.{name}")
            for e in (*place.buffer.shape, *place.buffer.effective_strides):
                more |= e.free
        found = scope.values.get(name)
        if isinstance(found, Bound) and found.extent is not None:
            more |= found.extent.free & scope.values.keys()
        if isinstance(found, Slot):
            kind = register_type(found.dtype)
            value = context.code.let(f"load {kind}, ptr {found.pointer}")
            yield Capture(name, kind, value, f"%cap.{name}")
        elif found is not None and not found.value.is_literal:
            yield Capture(name, register_type(found.dtype), found.value.text, f"%cap.{name}")
        todo += sorted(more - seen)
        seen |= more


def _emit_body(context: Context, op: ForOp, name: str, captures: list[Capture]) -> None:
    code = Code(context.code.module)
    inner = Context(
        name, code, context.rows, context.options, context.is_flat,
        callees=context.callees, symbols=context.symbols, inside_parallel=True,
        finds_sizes=context.finds_sizes,
    )  # fmt: skip
    scope = inner.scope
    scope.replaced.update(context.scope.replaced)
    scope.values.update({n: v for n, v in context.scope.values.items() if isinstance(v, Bound)})
    scope.places.update(context.scope.places)
    for capture in captures:
        _bind(context, inner, capture)
    if context.finds_sizes:
        inner.given = frozenset(scope.values)
    if op.chunk is None:
        counted_loop(inner, op, "%begin", "%end")
    else:
        _emit_chunk(inner, op, op.chunk, "%begin", "%end")
    parameters = ["i64 %begin", "i64 %end"]
    parameters += [f"{c.type} {'noalias ' if c.type == 'ptr' else ''}{c.inside}" for c in captures]
    finish(inner)
    if not inner.can_fail:
        code.module.certain.add(f"{name}.body")
    head = f"define internal i32 @{name}.body({', '.join(parameters)}) {attributes(inner, op)}"
    code.module.functions.append(code.render(head))


def _emit_whole(context: Context, op: ForOp) -> None:
    """One chunk of all iterations."""
    assert op.chunk is not None  # else it is a loop
    start = evaluate_scalar(context, op.start, "a parallel start")
    extent = evaluate_scalar(context, op.extent, "a parallel extent")
    end = context.code.let(f"add nsw i64 {start}, {extent}")
    _emit_chunk(context, op, op.chunk, start, end)


def _emit_chunk(context: Context, op: ForOp, count: str, begin: str, end: str) -> None:
    """The body once for the iterations from `begin` up to `end`, if there are any."""
    code = context.code
    body, done = code.name("chunk"), code.name("done")
    code.branch(code.let(f"icmp slt i64 {begin}, {end}"), body, done)
    code.start(body)
    length = Value(code.let(f"sub nsw i64 {end}, {begin}", count))
    bind_loop(context, op, begin)
    extent = context.resolve(op.extent)
    context.scope.values[count] = Bound(length, int64, True, 1, upper(extent, context.scope))
    scoped_block(context, list(op.block.ops))
    code.end(f"br label %{done}")
    code.start(done)


def _bind(context: Context, inner: Context, capture: Capture) -> None:
    name = capture.name
    if (place := context.scope.places.get(name)) is not None and capture.type == "ptr":
        streamed = place.streamed
        inner.scope.places[name] = Place(
            place.buffer, capture.inside, place.align, streamed=streamed
        )
        return
    found = context.scope.values[name]
    value = Value(capture.inside)
    if isinstance(found, Slot):
        inner.scope.values[name] = Bound(value, found.dtype)
    else:
        inner.scope.values[name] = Bound(
            value, found.dtype, found.nonneg, found.multiple, found.upper, found.extent
        )


def finish(context: Context) -> None:
    """The function's exit: give everything back and return the status. What was written past the
    caches is there before anybody hears of it: no other store waits for that."""
    code = context.code
    code.start("exit")
    release(context, context.heap)
    if context.tiles:
        _release_tiles(context)
    if context.streams:
        code.do("fence seq_cst")
    if context.frame:
        code.call("void", "ts_list_sweep", [("ptr", context.frame)])
    if context.status:
        code.end(f"ret i32 {code.let(f'load i32, ptr {context.status}')}")
    else:
        code.end("ret i32 0")


def _release_tiles(context: Context) -> None:
    """Registers of the matrix unit that are not in use need not be kept when threads change. A
    processor that has none would not know the instruction, and the kernel has failed by then."""
    code = context.code
    given, done = code.name("given"), code.name("done")
    status = code.let(f"load i32, ptr {context.status}")
    code.branch(code.let(f"icmp eq i32 {status}, 0"), given, done)
    code.start(given)
    code.call("void", "llvm.x86.tilerelease", [])
    code.end(f"br label %{done}")
    code.start(done)


def _cell(code: Code, number: int) -> str:
    return code.let(f"getelementptr inbounds i64, ptr %env, i64 {number}", "cell")


def _emit_task(context: Context, name: str, captures: list[Capture]) -> None:
    """The function the pool calls: chunk `task` of the extent, then the body."""
    code = Code(context.code.module)
    extent, tasks, start = (
        code.let(f"load i64, ptr {_cell(code, number)}") for number in (0, 1, 3)
    )
    bounds = []
    following = code.let("add nuw nsw i64 %task, 1")
    for number in ("%task", following):
        share = code.let(f"udiv i64 {code.let(f'mul i64 {extent}, {number}')}, {tasks}")
        bounds.append(code.let(f"add nsw i64 {start}, {share}"))
    arguments = [f"i64 {b}" for b in bounds]
    for k, capture in enumerate(captures):
        value = code.let(f"load {capture.type}, ptr {_cell(code, _HEADER_CELLS + k)}")
        arguments.append(f"{capture.type} {value}")
    status = code.let(f"call i32 @{name}.body({', '.join(arguments)})")
    bad, done = code.name("bad"), code.name("done")
    code.branch(code.let(f"icmp eq i32 {status}, 0"), done, bad)
    code.start(bad)
    code.do(f"store atomic i32 {status}, ptr {_cell(code, 2)} monotonic, align 8")
    code.start(done)
    code.end("ret void")
    code.module.functions.append(
        code.render(f"define internal void @{name}(i64 %task, ptr %env) nounwind")
    )


def _emit_dispatch(
    context: Context, op: ForOp, name: str, captures: list[Capture], bounds: tuple[str, str]
) -> None:
    """Run in line if there is work for one task only, else fill the environment and fork."""
    code = context.code
    start, extent = bounds
    per_thread = TASKS_PER_THREAD if op.chunk is None else 1
    tasks = _task_count(code, extent, op.grain or 1, per_thread)
    fork, inline, join = code.name("fork"), code.name("inline"), code.name("join")
    status = code.alloca("i32", "par.status")
    code.branch(code.let(f"icmp sgt i64 {tasks}, 1"), fork, inline)
    code.start(inline)
    end = code.let(f"add nsw i64 {start}, {extent}")
    arguments = [f"i64 {start}", f"i64 {end}", *(f"{c.type} {c.outside}" for c in captures)]
    direct = code.let(f"call i32 @{name}.body({', '.join(arguments)})")
    code.do(f"store i32 {direct}, ptr {status}")
    code.end(f"br label %{join}")
    code.start(fork)
    cells = [("i64", extent), ("i64", tasks), ("i64", "0"), ("i64", start)]
    cells += [(c.type, c.outside) for c in captures]
    env = code.alloca(f"[{len(cells)} x i64], align 8", "env")
    for number, (kind, text) in enumerate(cells):
        pointer = code.let(f"getelementptr inbounds i64, ptr {env}, i64 {number}", "cell")
        code.do(f"store {kind} {text}, ptr {pointer}")
    code.call("void", "ts_par_for", [("ptr", f"@{name}"), ("ptr", env), ("i64", tasks)])
    pointer = code.let(f"getelementptr inbounds i64, ptr {env}, i64 2", "cell")
    failed = code.let(f"load atomic i32, ptr {pointer} monotonic, align 8")
    code.do(f"store i32 {failed}, ptr {status}")
    code.start(join)
    if f"{name}.body" not in code.module.certain:
        pass_on(context, code.let(f"load i32, ptr {status}"))


def _task_count(code: Code, extent: str, grain: int, per_thread: int) -> str:
    """min(extent / grain, so many tasks a thread), 1 where there is one thread only."""
    count = code.call("i32", "ts_get_num_threads", [])
    threads = code.let(f"sext i32 {count} to i64")
    chunks = code.let(f"sdiv i64 {extent}, {grain}") if grain > 1 else extent
    most = code.let(f"mul nsw i64 {threads}, {per_thread}")
    tasks = code.call("i64", "llvm.smin.i64", [("i64", chunks), ("i64", most)])
    many = code.let(f"icmp sgt i64 {threads}, 1")
    return code.let(f"select i1 {many}, i64 {tasks}, i64 1")
