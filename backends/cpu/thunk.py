"""The CPython entry of native code, emitted as LLVM text next to the code it calls.

A thunk is the body of a METH_FASTCALL | METH_KEYWORDS builtin: it checks its arguments (the guard),
reads NumPy arrays in place, allocates results, calls the entry, and wraps what comes back. Anything
it does not expect (keywords too) goes to a Python callable, the *miss*. It holds no addresses, so
it can be cached on disk: Python objects come through a table in the builtin's `self`.

Only public CPython symbols are called; the layout by which arrays are read (`thunk_reader.py`) is
checked once per process, see `builtin.supported`.

Small results get their memory from NumPy, large ones from our own handler (`runtime/arrays.py`),
which is set for as long as the array is made.
"""

from __future__ import annotations

from collections.abc import Sequence

from tensorscript.base.dtypes import bool_, float64
from tensorscript.dialects.te.expr import const
from tensorscript.dialects.te.expr_text import text

from .runtime.arrays import LEAST_BYTES
from .signature import ArraySpec, ScalarSpec, Signature
from .thunk_reader import DATA, ThunkReader, constant_slot, default_slot

DECLARATIONS = """
declare ptr @PyBytes_AsString(ptr)
declare ptr @PyObject_Vectorcall(ptr, ptr, i64, ptr)
declare i64 @PyLong_AsLongLong(ptr)
declare double @PyFloat_AsDouble(ptr)
declare i64 @PyList_Size(ptr)
declare ptr @PyList_GetItem(ptr, i64)
declare ptr @PyLong_FromLongLong(i64)
declare ptr @PyFloat_FromDouble(double)
declare ptr @PyBool_FromLong(i64)
declare ptr @PyTuple_New(i64)
declare i32 @PyTuple_SetItem(ptr, i64, ptr)
declare ptr @PyErr_Occurred()
declare void @PyErr_Clear()
declare void @Py_IncRef(ptr)
declare void @Py_DecRef(ptr)
declare ptr @PyEval_SaveThread()
declare void @PyEval_RestoreThread(ptr)
"""

GROWN_DECLARATIONS = """
declare void @llvm.memcpy.p0.p0.i64(ptr, ptr, i64, i1)
declare void @ts_scratch_free(ptr)
"""
"""What a thunk with grown results calls besides."""

_NEW_ARRAY = f"""
; A new array of %bytes, which come from our handler if these are many.
define internal ptr @ts_new_array(
    i32 %rank, ptr %sizes, ptr %descr, i64 %bytes, ptr %empty, ptr %set, ptr %handler) {{
entry:
  %large = icmp sge i64 %bytes, {LEAST_BYTES}
  br i1 %large, label %own, label %plain
own:
  %before = call ptr %set(ptr %handler)
  %array = call ptr %empty(i32 %rank, ptr %sizes, ptr %descr, i32 0)
  %ours = call ptr %set(ptr %before)
  call void @Py_DecRef(ptr %before)
  call void @Py_DecRef(ptr %ours)
  ret ptr %array
plain:
  %small = call ptr %empty(i32 %rank, ptr %sizes, ptr %descr, i32 0)
  ret ptr %small
}}
"""


class _Writer(ThunkReader):
    """Writes one thunk's body."""

    def __init__(self, name: str, entry: str, signature: Signature, release_gil: bool) -> None:
        super().__init__(signature)
        self.name, self.entry, self.signature = name, entry, signature
        self.release_gil = release_gil
        self.made: list[str] = []
        self.has_large = False

    def allocate(self, spec: ArraySpec) -> str:
        """A new array for a result."""
        rank = len(spec.shape)
        place = self.new(f"alloca [{max(1, rank)} x i64]")
        count = const(spec.dtype.itemsize)
        for axis, size in enumerate(spec.shape):
            slot = self.new(f"getelementptr i64, ptr {place}, i64 {axis}")
            self.emit(f"store i64 {self.size(size)}, ptr {slot}")
            count = count * size
        if count.is_const and int(text(count)) < LEAST_BYTES:
            return self._empty(spec, place)
        return self._large(spec, place, self.size(count))

    def _large(self, spec: ArraySpec, place: str, size: str) -> str:
        """A new array that may have many bytes."""
        self.has_large = True
        descr = self.table(spec.dtype.short)
        self.emit(f"call void @Py_IncRef(ptr {descr})")
        tools = ", ".join(f"ptr {self.table(s)}" for s in ("empty", "set_handler", "handler"))
        return self.new(
            f"call ptr @ts_new_array("
            f"i32 {len(spec.shape)}, ptr {place}, ptr {descr}, i64 {size}, {tools})"
        )

    def _no_memory(self, made: str, earlier: list[str], blocks: Sequence[str]) -> None:
        """Return with NumPy's MemoryError if `made` is null, without `earlier` objects and what the
        cells of `blocks` hold."""
        self.checks += 1
        there, short = f"there{self.checks}", f"short{self.checks}"
        good = self.new(f"icmp ne ptr {made}, null")
        self.emit(f"br i1 {good}, label %{there}, label %{short}, !prof !9000001")
        self.lines.append(f"{short}:")
        for array in filter(None, earlier):
            self.emit(f"call void @Py_DecRef(ptr {array})")
        for cell in blocks:
            self._free(cell)
        self.emit("ret ptr null")
        self.lines.append(f"{there}:")

    def _empty(self, spec: ArraySpec, place: str) -> str:
        """A new array with the sizes at `place`."""
        rank = len(spec.shape)
        descr = self.table(spec.dtype.short)
        self.emit(f"call void @Py_IncRef(ptr {descr})")  # PyArray_Empty takes a reference
        empty = self.table("empty")
        return self.new(f"call ptr {empty}(i32 {rank}, ptr {place}, ptr {descr}, i32 0)")

    def write(self) -> str:
        signature = self.signature
        total = len(signature.inputs) + len(signature.sizes) + len(signature.outputs)
        self.emit(f"%args_array = alloca [{max(1, total)} x ptr]")
        cells = [self.new("alloca i64") for _ in range(total)]
        self.emit("%table = call ptr @PyBytes_AsString(ptr %self)")
        arguments = self._arguments()
        pointers: list[str] = []
        for number, (argument, spec) in enumerate(zip(arguments, signature.inputs, strict=True)):
            if isinstance(spec, ArraySpec):
                read = self.listed if spec.listed else self.array
                pointers.append(read(argument, spec))
            else:
                self.scalar(argument, spec, cells[number])
                pointers.append(cells[number])
        for number, name in enumerate(signature.sizes, len(signature.inputs)):
            self.emit(f"store i64 {self.sizes[name]}, ptr {cells[number]}")
            pointers.append(cells[number])
        arrays, status = self._call(pointers, cells)
        self._finish(arrays, cells, status)
        self._undo()
        return self._text()

    def _undo(self) -> None:
        """Return with NumPy's MemoryError: one label for each number of results that were made,
        which drops the last of them and goes on to the next label."""
        for number, array in reversed(list(enumerate(self.made, 1))):
            self.lines.append(f"undo{number}:")
            self.emit(f"call void @Py_DecRef(ptr {array})")
            self.emit(f"br label %undo{number - 1}")
        self.lines.append("undo0:")
        self.emit("ret ptr null")

    def _arguments(self) -> list[str]:
        """What is given for the inputs, or stands for what is missing, after the guards of the
        whole call."""
        calling, total = self.signature.calling, self.signature.parameters
        required = total - calling.optional
        missing = self.new(f"sub i64 {total}, %nargs")
        self.require(self.new(f"icmp ule i64 {missing}, {calling.optional}"))
        self.require(self.new("icmp eq ptr %kwnames, null"))
        if calling.gradients is not None:
            mode = self.new(f"load i8, ptr {self.table('gradients')}")
            self.require(self.new(f"icmp eq i8 {mode}, {int(calling.gradients)}"))
        inputs: list[str] = []
        for parameter in range(total):
            place = self.new(f"getelementptr i8, ptr %args, i64 {8 * parameter}")
            if parameter >= required:
                slot = 8 * self.slots[default_slot(parameter)]
                default = self.new(f"getelementptr i8, ptr %table, i64 {slot}")
                given = self.new(f"icmp ugt i64 %nargs, {parameter}")
                place = self.new(f"select i1 {given}, ptr {place}, ptr {default}")
            argument = self.new(f"load ptr, ptr {place}")
            if parameter in calling.constants:
                wanted = self.table(constant_slot(parameter))
                self.require(self.new(f"icmp eq ptr {argument}, {wanted}"))
            else:
                inputs.append(argument)
        return inputs

    def _call(self, pointers: list[str], cells: list[str]) -> tuple[list[str], str]:
        arrays: list[str] = []
        for number, spec in enumerate(self.signature.outputs, len(pointers)):
            if isinstance(spec, ArraySpec) and spec.grown:
                cell = self.new(f"alloca [{1 + len(spec.shape)} x i64]")
                self.emit(f"store ptr null, ptr {cell}")
                cells[number] = cell
                arrays.append("")
                pointers.append(cell)
            elif isinstance(spec, ArraySpec):
                made = self.allocate(spec)
                self.require(self.new(f"icmp ne ptr {made}, null"), f"undo{len(self.made)}")
                self.made.append(made)
                arrays.append(made)
                pointers.append(self.at(made, DATA, "ptr"))
            else:
                arrays.append("")
                pointers.append(cells[number])
        for number, pointer in enumerate(pointers):
            slot = self.new(f"getelementptr ptr, ptr %args_array, i64 {number}")
            self.emit(f"store ptr {pointer}, ptr {slot}")
        state = self.new("call ptr @PyEval_SaveThread()") if self.release_gil else ""
        status = self.new(f"call i32 @{self.entry}(ptr %args_array)")
        if self.release_gil:
            self.emit(f"call void @PyEval_RestoreThread(ptr {state})")
        return arrays, status

    def _finish(self, arrays: list[str], cells: list[str], status: str) -> None:
        bad = self.new(f"icmp ne i32 {status}, 0")
        self.emit(f"br i1 {bad}, label %failed, label %done, !prof !9000002")
        self.lines.append("failed:")
        for array in arrays:
            if array:
                self.emit(f"call void @Py_DecRef(ptr {array})")
        for cell in self._blocks(cells):
            self._free(cell)
        wide = self.new(f"sext i32 {status} to i64")
        code = self.new(f"call ptr @PyLong_FromLongLong(i64 {wide})")
        count = self.new("add i64 %nargs, 1")
        values = self.new(f"alloca ptr, i64 {count}")
        self.emit(f"store ptr {code}, ptr {values}")
        rest = self.new(f"getelementptr ptr, ptr {values}, i64 1")
        size = self.new("mul i64 %nargs, 8")
        self.emit(f"call void @llvm.memcpy.p0.p0.i64(ptr {rest}, ptr %args, i64 {size}, i1 false)")
        raised = self.new(
            f"call ptr @PyObject_Vectorcall("
            f"ptr {self.table('error')}, ptr {values}, i64 {count}, ptr null)"
        )
        self.emit(f"call void @Py_DecRef(ptr {code})")
        self.emit(f"ret ptr {raised}")
        self.lines.append("done:")
        self._return(arrays, cells)

    def _return(self, arrays: list[str], cells: list[str]) -> None:
        specs, places = self.signature.outputs, self._result_cells(cells)
        blocks, values = self._blocks(cells), list(arrays)
        for number, (spec, cell) in enumerate(zip(specs, places, strict=True)):
            if isinstance(spec, ScalarSpec):
                values[number] = self._boxed(spec, cell)
            elif spec.grown:
                values[number] = self._grown(spec, cell, values, blocks)
                blocks = blocks[1:]
        if len(values) == 1:
            self.emit(f"ret ptr {values[0]}")
            return
        result = self.new(f"call ptr @PyTuple_New(i64 {len(values)})")
        for number, value in enumerate(values):
            self.new(f"call i32 @PyTuple_SetItem(ptr {result}, i64 {number}, ptr {value})")
        self.emit(f"ret ptr {result}")

    def _result_cells(self, cells: list[str]) -> list[str]:
        return cells[len(self.signature.inputs) + len(self.signature.sizes) :]

    def _blocks(self, cells: list[str]) -> list[str]:
        """The cells of grown results."""
        results = zip(self.signature.outputs, self._result_cells(cells), strict=True)
        return [cell for spec, cell in results if isinstance(spec, ArraySpec) and spec.grown]

    def _free(self, cell: str) -> None:
        self.emit(f"call void @ts_scratch_free(ptr {self.new(f'load ptr, ptr {cell}')})")

    def _grown(self, spec: ArraySpec, cell: str, made_before: list[str], blocks: list[str]) -> str:
        """A new array with a copy of a grown result, which is given back; `blocks` are the cells
        of this result and of those behind it."""
        data = self.new(f"load ptr, ptr {cell}")
        sizes = self.new(f"getelementptr i64, ptr {cell}, i64 1")
        made = self._empty(spec, sizes)
        self._no_memory(made, made_before, blocks)
        count = str(spec.dtype.itemsize)
        for axis in range(len(spec.shape)):
            count = self.new(f"mul i64 {count}, {self.at(sizes, 8 * axis, 'i64')}")
        to = self.at(made, DATA, "ptr")
        self.emit(f"call void @llvm.memcpy.p0.p0.i64(ptr {to}, ptr {data}, i64 {count}, i1 false)")
        self.emit(f"call void @ts_scratch_free(ptr {data})")
        return made

    def _boxed(self, spec: ScalarSpec, cell: str) -> str:
        if spec.dtype is bool_:
            value = self.new(f"load i8, ptr {cell}")
            return self.new(f"call ptr @PyBool_FromLong(i64 {self.new(f'zext i8 {value} to i64')})")
        if spec.dtype is float64:
            value = self.new(f"load double, ptr {cell}")
            return self.new(f"call ptr @PyFloat_FromDouble(double {value})")
        value = self.new(f"load i64, ptr {cell}")
        return self.new(f"call ptr @PyLong_FromLongLong(i64 {value})")

    def _text(self) -> str:
        body = "\n".join(self.lines)
        return (
            f"define ptr @{self.name}(ptr %self, ptr %args, i64 %nargs, ptr %kwnames) {{\n"
            f"entry:\n{body}\n"
            "clear:\n"  # an integer over 64 bits has set an exception
            "  call void @PyErr_Clear()\n"
            "  br label %miss\n"
            "miss:\n"
            "  %miss_table = call ptr @PyBytes_AsString(ptr %self)\n"
            f"  %miss_slot = getelementptr i8, ptr %miss_table, i64 {8 * self.slots['miss']}\n"
            "  %miss_callee = load ptr, ptr %miss_slot\n"
            "  %missed = call ptr @PyObject_Vectorcall("
            "ptr %miss_callee, ptr %args, i64 %nargs, ptr %kwnames)\n"
            "  ret ptr %missed\n}\n"
        )


def thunk_text(name: str, entry: str, signature: Signature, release_gil: bool = False) -> str:
    """LLVM text of the builtin `name` that guards, calls `entry`, and boxes results.

    `DECLARATIONS` and `METADATA` must stand once in the module.
    """
    writer = _Writer(name, entry, signature, release_gil)
    body = writer.write()
    return body + (_NEW_ARRAY if writer.has_large else "")


METADATA = """
!9000001 = !{!"branch_weights", i32 2000, i32 1}
!9000002 = !{!"branch_weights", i32 1, i32 2000}
"""
