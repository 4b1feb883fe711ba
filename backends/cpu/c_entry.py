"""C entries of exported objects, emitted as LLVM text: DLPack tensors, and plain pointers.

`int NAME(const DLTensor *x, int64_t n, DLTensor *out0)` checks every argument, calls the entry, and
gives a status; on failure a message is kept. Where all shapes are static there is also
`int NAME_raw(const float *x, int64_t n, float *out0)`, which trusts its caller. Both begin with a
`NAME_state *self` where the program keeps something between its calls.

DLPack's layout: github.com/dmlc/dlpack, dlpack.h; DLTensor is the same in versions 0.8 and 1.x.
"""

from __future__ import annotations

from enum import IntEnum

from tensorscript.base.dtypes import Category, DType, bfloat16, bool_, float64
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import contiguous_strides
from tensorscript.dialects.te.expr import Expr

from .kept_state import KeptState
from .signature import ArraySpec, ScalarSpec, Signature, ValueSpec
from .size_values import size_value

DATA, DEVICE, NDIM, CODE, BITS, LANES, SHAPE, STRIDES, OFFSET = 0, 8, 16, 20, 21, 22, 24, 32, 40
"""Byte offsets in DLTensor on 64-bit machines."""
CPU_DEVICE = 1


class Status(IntEnum):
    """What an exported function returns."""

    OK = 0
    PROGRAM = 1
    """The program itself raised or asserted."""
    NULL = 2
    DEVICE = 3
    DTYPE = 4
    RANK = 5
    SHAPE = 6
    STRIDES = 7
    WEIGHTS = 8
    """The weights' file is not loaded, or it cannot be."""


def dlpack_code(dtype: DType) -> int:
    """DLDataTypeCode of a dtype."""
    if dtype is bool_:
        return 6
    if dtype is bfloat16:
        return 4
    if dtype.is_complex:
        return 5
    if dtype.category is Category.FLOATING:
        return 2
    return 0 if dtype.signed else 1


@dataclass
class _Check:
    """A condition a caller must meet."""

    condition: str
    status: Status
    message: str


class _Writer:
    """Writes one C entry."""

    def __init__(
        self,
        signature: Signature,
        entry: str,
        prefix: str,
        loads: str = "",
        state: KeptState | None = None,
    ) -> None:
        self.signature, self.entry, self.prefix, self.loads = signature, entry, prefix, loads
        self.state = state
        self.lines: list[str] = []
        self.failures: list[str] = []
        self.globals: list[str] = []
        self.count = 0
        self.sizes: dict[str, str] = {}

    def new(self, instruction: str) -> str:
        self.count += 1
        self.lines.append(f"  %v{self.count} = {instruction}")
        return f"%v{self.count}"

    def emit(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def at(self, base: str, offset: int, type_: str) -> str:
        place = self.new(f"getelementptr i8, ptr {base}, i64 {offset}")
        return self.new(f"load {type_}, ptr {place}")

    def require(self, check: _Check) -> None:
        self.count += 1
        number = self.count
        message = check.message.encode() + b"\0"
        escaped = "".join(
            chr(c) if 32 <= c < 127 and c not in b'"\\' else f"\\{c:02X}" for c in message
        )
        name = f"@{self.prefix}.m{number}"
        self.globals.append(
            f'{name} = private unnamed_addr constant [{len(message)} x i8] c"{escaped}"'
        )
        self.emit(f"br i1 {check.condition}, label %ok{number}, label %bad{number}")
        self.failures += [
            f"bad{number}:",
            f"  call void @ts_set_error(i32 {int(check.status)}, ptr {name})",
            f"  ret i32 {int(check.status)}",
        ]
        self.lines.append(f"ok{number}:")

    def size(self, e: Expr) -> str:
        """An i64 size expression over the symbols read so far."""
        return size_value(e, self.sizes, self.new)

    def given(self, pointer: str, message: str, otherwise: str = "false") -> str:
        """Check that a pointer is not NULL, or that `otherwise` holds; the pointer."""
        there = self.new(f"icmp ne ptr {pointer}, null")
        good = self.new(f"or i1 {there}, {otherwise}")
        self.require(_Check(good, Status.NULL, message))
        return pointer

    def tensor(self, spec: ArraySpec) -> str:
        """Check a DLTensor argument; its data pointer, which may be NULL if it has no element."""
        self._kind(spec)
        argument = f"%arg.{spec.name}"
        found = self._shape(argument, spec) if spec.shape else []
        empty = "false"
        for size, have in zip(spec.shape, found, strict=True):
            if not size.is_const or size.value == 0:
                none = self.new(f"icmp eq i64 {have}, 0")
                empty = self.new(f"or i1 {empty}, {none}")
        data = self.at(argument, DATA, "ptr")
        self.given(data, f"argument '{spec.name}' has no data", empty)
        offset = self.at(argument, OFFSET, "i64")
        return self.new(f"getelementptr i8, ptr {data}, i64 {offset}")

    def grown(self, spec: ArraySpec) -> str:
        """Check the DLTensor that takes a grown result; the cells for the entry."""
        self._kind(spec)
        shape = self.at(f"%arg.{spec.name}", SHAPE, "ptr")
        self.given(shape, f"argument '{spec.name}' has no room for its shape")
        cells = self.new(f"alloca [{1 + len(spec.shape)} x i64]")
        self.emit(f"store ptr null, ptr {cells}")
        return cells

    def deliver(self, spec: ArraySpec, cells: str, failed: str) -> None:
        """Hand a grown result over: row-major, its memory the caller's."""
        argument = f"%arg.{spec.name}"
        made = self.new(f"load ptr, ptr {cells}")
        waste = self.new(f"select i1 {failed}, ptr {made}, ptr null")
        self.emit(f"call void @ts_scratch_free(ptr {waste})")
        data = self.new(f"select i1 {failed}, ptr null, ptr {made}")
        for offset, value in ((DATA, f"ptr {data}"), (STRIDES, "ptr null"), (OFFSET, "i64 0")):
            self.emit(f"store {value}, ptr {self._field(argument, offset)}")
        shape = self.at(argument, SHAPE, "ptr")
        for axis in range(len(spec.shape)):
            size = self.at(cells, 8 * (axis + 1), "i64")
            self.emit(f"store i64 {size}, ptr {self._field(shape, 8 * axis)}")

    def _field(self, base: str, offset: int) -> str:
        return self.new(f"getelementptr i8, ptr {base}, i64 {offset}")

    def _kind(self, spec: ArraySpec) -> None:
        """Check device, dtype and rank."""
        name, dtype, argument = spec.name, spec.dtype, f"%arg.{spec.name}"
        self.given(argument, f"argument '{name}' is NULL")
        device = self.new(f"icmp eq i32 {self.at(argument, DEVICE, 'i32')}, {CPU_DEVICE}")
        self.require(_Check(device, Status.DEVICE, f"argument '{name}' is not on the CPU"))
        word = dlpack_code(dtype) | (dtype.bits << 8) | (1 << 16)
        kind = self.new(f"icmp eq i32 {self.at(argument, CODE, 'i32')}, {word}")
        self.require(_Check(kind, Status.DTYPE, f"argument '{name}': expected dtype {dtype.name}"))
        rank = len(spec.shape)
        ndim = self.new(f"icmp eq i32 {self.at(argument, NDIM, 'i32')}, {rank}")
        self.require(_Check(ndim, Status.RANK, f"argument '{name}': expected {rank} dimension(s)"))

    def _shape(self, argument: str, spec: ArraySpec) -> list[str]:
        """Check sizes and strides; the sizes, of which new names are read."""
        shape = self.given(self.at(argument, SHAPE, "ptr"), f"argument '{spec.name}' has no shape")
        found = [self.at(shape, 8 * axis, "i64") for axis in range(len(spec.shape))]
        for axis, (size, have) in enumerate(zip(spec.shape, found, strict=True)):
            if size.op == "var" and str(size.value) not in self.sizes:
                self.sizes[str(size.value)] = have
                least = -1 if spec.listed else 1
                enough = self.new(f"icmp sgt i64 {have}, {least}")
                said = f"size {size} of dimension {axis} must be above {least}"
                self.require(_Check(enough, Status.SHAPE, f"argument '{spec.name}': {said}"))
                continue
            fits = self.new(f"icmp eq i64 {have}, {self.size(size)}")
            wanted = "x".join(str(s) for s in spec.shape)
            self.require(
                _Check(fits, Status.SHAPE, f"argument '{spec.name}': expected shape {wanted}")
            )
        self._strides(argument, spec, found)
        return found

    def _strides(self, argument: str, spec: ArraySpec, found: list[str]) -> None:
        """NULL strides, or those specified (a size-1 dimension may have any)."""
        strides = self.at(argument, STRIDES, "ptr")
        wanted = spec.strides or contiguous_strides(spec.shape)
        self.count += 1
        number = self.count
        absent = self.new(f"icmp eq ptr {strides}, null")
        self.emit(f"br i1 {absent}, label %packed{number}, label %strided{number}")
        self.lines.append(f"strided{number}:")
        good = "true"
        for axis, step in enumerate(wanted):
            have = self.at(strides, 8 * axis, "i64")
            same = self.new(f"icmp eq i64 {have}, {self.size(step)}")
            one = self.new(f"icmp eq i64 {found[axis]}, 1")
            good = self.new(f"and i1 {good}, {self.new(f'or i1 {same}, {one}')}")
        self.emit(f"br label %joined{number}")
        self.lines.append(f"packed{number}:")
        self.emit(f"br label %joined{number}")
        self.lines.append(f"joined{number}:")
        null_ok = "true" if spec.strides is None else "false"
        merged = self.new(f"phi i1 [ {good}, %strided{number} ], [ {null_ok}, %packed{number} ]")
        layout = "row-major contiguous" if spec.strides is None else "the compiled strides"
        self.require(_Check(merged, Status.STRIDES, f"argument '{spec.name}': expected {layout}"))

    def write(self, symbol: str, raw: bool) -> str:
        """The function `symbol`; with `raw` arrays are plain pointers and nothing is checked."""
        signature = self.signature
        values = (*signature.inputs, *signature.outputs)
        total = len(values) + len(signature.sizes)
        self.emit("call void @ts_clear_error()")
        if self.loads:
            self._loaded()
        self.emit(f"%cells = alloca [{max(1, total)} x i64]")
        self.emit(f"%pointers = alloca [{max(1, total)} x ptr]")
        if self.state is not None and not raw:
            self.given("%self", "argument 'self' is NULL")
        pointers = [self._pointer(spec, number, raw) for number, spec in enumerate(self._inputs())]
        if self.state is not None:
            pointers += [self._field("%self", slot.offset) for slot in self.state.slots]
        for name in signature.sizes:
            pointers.append(self._cell(len(pointers), "i64", self.sizes[name]))
        grown: list[tuple[ArraySpec, str]] = []
        for number, spec in enumerate(signature.outputs):
            if self.state is not None and number in self.state.hidden:
                pointers.append(self._field("%self", self.state.place_of(number)))
            elif raw:
                pointers.append(f"%arg.{spec.name}")
            elif isinstance(spec, ScalarSpec):
                pointers.append(self.given(f"%arg.{spec.name}", f"argument '{spec.name}' is NULL"))
            elif spec.grown:
                pointers.append(self.grown(spec))
                grown.append((spec, pointers[-1]))
            else:
                pointers.append(self.tensor(spec))
        for number, pointer in enumerate(pointers):
            slot = self.new(f"getelementptr ptr, ptr %pointers, i64 {number}")
            self.emit(f"store ptr {pointer}, ptr {slot}")
        status = self.new(f"call i32 @{self.entry}(ptr %pointers)")
        failed = self.new(f"icmp ne i32 {status}, 0")
        for spec, cells in grown:
            self.deliver(spec, cells, failed)
        if self.state is not None:
            self._keep(self.state, pointers[-len(signature.outputs) :], failed)
        self.emit(f"ret i32 {status}")
        hidden = self.state.hidden if self.state is not None else ()
        head = ", ".join(
            (["ptr %self"] if self.state is not None else [])
            + [_argument(s, False) for s in self._inputs()]
            + [_argument(s, True) for k, s in enumerate(signature.outputs) if k not in hidden]
        )
        body = "\n".join([*self.lines, *self.failures])
        constants = "\n".join(self.globals)
        return f"{constants}\ndefine i32 @{symbol}({head}) {{\nentry:\n{body}\n}}\n"

    def _inputs(self) -> tuple[ValueSpec, ...]:
        """Those that the caller gives one by one."""
        kept = len(self.state.slots) if self.state is not None else 0
        return self.signature.inputs[: len(self.signature.inputs) - kept]

    def _keep(self, state: KeptState, outputs: list[str], failed: str) -> None:
        """New values take the place of the old ones, unless the call failed."""
        self.emit(f"br i1 {failed}, label %leave, label %keep")
        self.lines.append("keep:")
        for slot in state.slots:
            place = self._field("%self", slot.offset)
            if isinstance(slot.result, bytes):
                value = int.from_bytes(slot.result, "little")
                self.emit(f"store i{8 * len(slot.result)} {value}, ptr {place}")
            elif slot.result is not None:
                copied = f"ptr {place}, ptr {outputs[slot.result]}, i64 {len(slot.data)}"
                self.emit(f"call void @llvm.memcpy.p0.p0.i64({copied}, i1 false)")
        self.emit("br label %leave")
        self.lines.append("leave:")

    def _loaded(self) -> None:
        """Check that the weights' file is loaded."""
        flag = self.new(f"load atomic i8, ptr @{self.loads}.weights_loaded acquire, align 1")
        message = f"the weights are not loaded: call {self.loads}_load_weights"
        self.require(_Check(self.new(f"icmp ne i8 {flag}, 0"), Status.WEIGHTS, message))

    def _pointer(self, spec: ValueSpec, number: int, raw: bool) -> str:
        if isinstance(spec, ArraySpec):
            return f"%arg.{spec.name}" if raw else self.tensor(spec)
        if spec.dtype is bool_:
            return self._cell(number, "i8", self.new(f"zext i1 %arg.{spec.name} to i8"))
        return self._cell(number, _scalar(spec.dtype), f"%arg.{spec.name}")

    def _cell(self, number: int, type_: str, value: str) -> str:
        cell = self.new(f"getelementptr i64, ptr %cells, i64 {number}")
        self.emit(f"store {type_} {value}, ptr {cell}")
        return cell


def _scalar(dtype: DType) -> str:
    return "double" if dtype is float64 else "i64"


def _argument(spec: ValueSpec, is_output: bool) -> str:
    if isinstance(spec, ArraySpec) or is_output:
        return f"ptr %arg.{spec.name}"
    return (
        f"i1 zeroext %arg.{spec.name}"
        if spec.dtype is bool_
        else f"{_scalar(spec.dtype)} %arg.{spec.name}"
    )


def c_entries(
    name: str,
    entry: str,
    signature: Signature,
    loads: str = "",
    state: KeptState | None = None,
) -> str:
    """LLVM text of the exported functions of a program.

    Args:
        name: the C name; `NAME`, and with static shapes `NAME_raw`.
        entry: the internal `i32 (ptr args)` that does the work.
        loads: the object whose `NAME_load_weights` has to be called before.
        state: what the program keeps between its calls.
    """
    parts = [_Writer(signature, entry, name, loads, state).write(name, raw=False)]
    if signature.is_static:
        raw = f"{name}_raw"
        parts.append(_Writer(signature, entry, raw, loads, state).write(raw, raw=True))
    return "\n".join(parts)
