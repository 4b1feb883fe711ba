"""What thunks read: the table of Python objects, and arguments behind their guards.

Arrays are read by the layout of NumPy's public, ABI-stable `PyArrayObject` struct.
"""

from __future__ import annotations

from tensorscript.base.dtypes import bool_, float64
from tensorscript.dialects.te.expr import Expr

from .signature import ArraySpec, ScalarSpec, Signature
from .size_values import size_value

DATA, NDIM, DIMENSIONS, STRIDES, DESCR, FLAGS = 16, 24, 32, 40, 56, 64
"""Byte offsets in PyArrayObject_fields of a 64-bit CPython (numpy/ndarraytypes.h)."""
MOST_LISTED = 4096
"""Elements of a list that are copied to the stack; a miss costs a longer one little."""
CONTIGUOUS_ALIGNED = 0x101
WRITEABLE = 0x400

_FIXED = (
    "array_type", "long_type", "float_type", "bool_type", "true", "miss", "error", "empty",
    "set_handler", "handler", "gradients",
)  # fmt: skip


def slots_of(signature: Signature) -> dict[str, int]:
    """Position of each pointer in the table: fixed entries, then one per dtype used."""
    calling = signature.calling
    names = list(_FIXED)
    names += (constant_slot(at) for at in calling.constants)
    first = signature.parameters - calling.optional
    names += (default_slot(at) for at in range(first, signature.parameters))
    for spec in (*signature.inputs, *signature.outputs):
        if isinstance(spec, ArraySpec) and spec.dtype.short not in names:
            names.append(spec.dtype.short)
    if any(isinstance(spec, ArraySpec) and spec.listed for spec in signature.inputs):
        names.append("list_type")
    return {name: number for number, name in enumerate(names)}


def constant_slot(parameter: int) -> str:
    """Name of the table's entry for an object that a parameter must be."""
    return f"constant {parameter}"


def default_slot(parameter: int) -> str:
    """Name of the table's entry for the default of a parameter."""
    return f"default {parameter}"


class ThunkReader:
    """Writes the guards of a thunk's arguments: what does not fit goes to the label `miss`.

    Attributes:
        sizes: the values of the size symbols that were read so far.
    """

    def __init__(self, signature: Signature) -> None:
        self.slots = slots_of(signature)
        self.above_one = signature.calling.above_one
        self.lines: list[str] = []
        self.count = 0
        self.checks = 0
        self.sizes: dict[str, str] = {}

    def new(self, instruction: str) -> str:
        self.count += 1
        name = f"%v{self.count}"
        self.lines.append(f"  {name} = {instruction}")
        return name

    def emit(self, line: str) -> None:
        self.lines.append(f"  {line}")

    def at(self, base: str, offset: int, type_: str) -> str:
        place = self.new(f"getelementptr i8, ptr {base}, i64 {offset}")
        return self.new(f"load {type_}, ptr {place}")

    def table(self, slot: str) -> str:
        return self.at("%table", 8 * self.slots[slot], "ptr")

    def require(self, condition: str, otherwise: str = "miss") -> None:
        """Go to the miss unless the i1 `condition` holds."""
        self.checks += 1
        label = f"ok{self.checks}"
        self.emit(f"br i1 {condition}, label %{label}, label %{otherwise}, !prof !9000001")
        self.lines.append(f"{label}:")

    def size(self, e: Expr) -> str:
        """An i64 size expression over the symbols read so far."""
        return size_value(e, self.sizes, self.new)

    def array(self, argument: str, spec: ArraySpec) -> str:
        """Check an array argument; its data pointer."""
        kind = self.at(argument, 8, "ptr")
        self.require(self.new(f"icmp eq ptr {kind}, {self.table('array_type')}"))
        descr = self.at(argument, DESCR, "ptr")
        self.require(self.new(f"icmp eq ptr {descr}, {self.table(spec.dtype.short)}"))
        ndim = self.at(argument, NDIM, "i32")
        self.require(self.new(f"icmp eq i32 {ndim}, {len(spec.shape)}"))
        wanted = CONTIGUOUS_ALIGNED if spec.strides is None else CONTIGUOUS_ALIGNED & ~1
        wanted |= WRITEABLE if spec.updated else 0
        flags = self.new(f"and i32 {self.at(argument, FLAGS, 'i32')}, {wanted}")
        self.require(self.new(f"icmp eq i32 {flags}, {wanted}"))
        if spec.shape:
            self._shape(argument, spec)
        return self.at(argument, DATA, "ptr")

    def _shape(self, argument: str, spec: ArraySpec) -> None:
        dimensions = self.at(argument, DIMENSIONS, "ptr")
        for axis, size in enumerate(spec.shape):
            found = self.at(dimensions, 8 * axis, "i64")
            if size.op == "var" and str(size.value) not in self.sizes:
                self.sizes[str(size.value)] = found
                if not spec.listed:
                    least = 1 if size.value in self.above_one else 0
                    self.require(self.new(f"icmp sgt i64 {found}, {least}"))
                continue
            self.require(self.new(f"icmp eq i64 {found}, {self.size(size)}"))
        if spec.strides is None:
            return
        strides = self.at(argument, STRIDES, "ptr")
        for axis, step in enumerate(spec.strides):
            found = self.at(strides, 8 * axis, "i64")
            bytes_ = self.size(step * spec.dtype.itemsize)
            self.require(self.new(f"icmp eq i64 {found}, {bytes_}"))

    def listed(self, argument: str, spec: ArraySpec) -> str:
        """Where the elements of a list argument are: those of an array, or of a Python list, copied
        to the stack."""
        self.checks += 1
        number, name = self.checks, str(spec.shape[0].value)
        kind = self.at(argument, 8, "ptr")
        is_list = self.new(f"icmp eq ptr {kind}, {self.table('list_type')}")
        self.emit(f"br i1 {is_list}, label %list{number}, label %array{number}")
        self.lines.append(f"list{number}:")
        count, copied = self._copied(argument, spec, number)
        self.emit(f"br label %either{number}")
        self.lines.append(f"array{number}:")
        given = self.array(argument, spec)
        length = self.sizes[name]
        self.emit(f"br label %given{number}")
        self.lines.append(f"given{number}:")
        self.emit(f"br label %either{number}")
        self.lines.append(f"either{number}:")
        ends = (f"%copied{number}", f"%given{number}")
        self.sizes[name] = self.new(f"phi i64 [ {count}, {ends[0]} ], [ {length}, {ends[1]} ]")
        return self.new(f"phi ptr [ {copied}, {ends[0]} ], [ {given}, {ends[1]} ]")

    def _copied(self, argument: str, spec: ArraySpec, number: int) -> tuple[str, str]:
        """The length of a Python list and a copy of its elements; ends in the block `copied`."""
        count = self.new(f"call i64 @PyList_Size(ptr {argument})")
        self.require(self.new(f"icmp ule i64 {count}, {MOST_LISTED}"))
        size = spec.dtype.itemsize
        bytes_ = self.new(f"mul i64 {count}, {size}")
        room = self.new(f"alloca i8, i64 {bytes_}, align 16")
        at, more = f"%at{number}", f"%more{number}"
        self.emit(f"br label %before{number}")
        self.lines.append(f"before{number}:")
        self.emit(f"br label %turn{number}")
        self.lines.append(f"turn{number}:")
        self.emit(f"{at} = phi i64 [ 0, %before{number} ], [ {more}, %next{number} ]")
        again = self.new(f"icmp ult i64 {at}, {count}")
        self.emit(f"br i1 {again}, label %item{number}, label %copied{number}")
        self.lines.append(f"item{number}:")
        item = self.new(f"call ptr @PyList_GetItem(ptr {argument}, i64 {at})")
        offset = self.new(f"mul i64 {at}, {size}")
        cell = self.new(f"getelementptr i8, ptr {room}, i64 {offset}")
        self.scalar(item, ScalarSpec(spec.name, spec.dtype), cell)
        self.emit(f"br label %next{number}")
        self.lines.append(f"next{number}:")
        self.emit(f"{more} = add i64 {at}, 1")
        self.emit(f"br label %turn{number}")
        self.lines.append(f"copied{number}:")
        return count, room

    def scalar(self, argument: str, spec: ScalarSpec, cell: str) -> None:
        """Check a number and store it in its cell."""
        kind = self.at(argument, 8, "ptr")
        if spec.dtype is bool_:
            self.require(self.new(f"icmp eq ptr {kind}, {self.table('bool_type')}"))
            truth = self.new(f"icmp eq ptr {argument}, {self.table('true')}")
            self.emit(f"store i8 {self.new(f'zext i1 {truth} to i8')}, ptr {cell}")
        elif spec.dtype is float64:
            self.require(self.new(f"icmp eq ptr {kind}, {self.table('float_type')}"))
            value = self.new(f"call double @PyFloat_AsDouble(ptr {argument})")
            self.emit(f"store double {value}, ptr {cell}")
        else:
            self.require(self.new(f"icmp eq ptr {kind}, {self.table('long_type')}"))
            value = self.new(f"call i64 @PyLong_AsLongLong(ptr {argument})")
            self._no_overflow(value)
            self.emit(f"store i64 {value}, ptr {cell}")

    def _no_overflow(self, value: str) -> None:
        """-1 may mean an error (over 64 bits), which the miss raises properly."""
        self.checks += 1
        fits, doubt = f"fits{self.checks}", f"doubt{self.checks}"
        plain = self.new(f"icmp ne i64 {value}, -1")
        self.emit(f"br i1 {plain}, label %{fits}, label %{doubt}, !prof !9000001")
        self.lines.append(f"{doubt}:")
        error = self.new("call ptr @PyErr_Occurred()")
        good = self.new(f"icmp eq ptr {error}, null")
        self.emit(f"br i1 {good}, label %{fits}, label %clear")
        self.lines.append(f"{fits}:")
