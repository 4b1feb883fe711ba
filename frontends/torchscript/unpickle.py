"""A pickle reader for archives that executes nothing.

It knows the opcodes that TorchScript and `torch.save` write (protocol 2) and the few globals of a
vocabulary (`rebuild`); each builds one of the values of `pickled`. Nothing is imported or called by
a name from the file: an opcode that is not in `_OPCODES`, or another global, is an error that names
it.
"""

from __future__ import annotations

import struct
from collections.abc import Callable

from tensorscript.base.errors import ArchiveError

from .pickled import (
    EnumRef,
    ObjectState,
    PickleLimits,
    StorageRef,
    TaggedDict,
    TaggedList,
    TensorRef,
    Value,
    check_nesting,
)
from .rebuild import ARCHIVE
from .rebuild_tensors import rebuild_storage
from .vocabulary import (
    MARK,
    Arguments,
    Global,
    Item,
    Mark,
    Vocabulary,
    as_value,
    attributes,
    is_class,
)


def unpickle(
    data: memoryview | bytes,
    prefix: str,
    limits: PickleLimits | None = None,
    vocabulary: Vocabulary = ARCHIVE,
) -> Value:
    """The value in one pickle of an archive; its storages are `<prefix>/<key>`.

    Raises:
        ArchiveError: malformed, over a limit, or holding what an archive may not hold.
    """
    return _Machine(memoryview(data), prefix, limits or PickleLimits(), vocabulary).run()


def unpickle_first(
    data: memoryview, prefix: str, limits: PickleLimits, vocabulary: Vocabulary
) -> tuple[Value, int]:
    """The value of the pickle that `data` begins with, and how many bytes that pickle has.

    Raises:
        ArchiveError: as `unpickle`.
    """
    machine = _Machine(data[: limits.size], prefix, limits, vocabulary, whole=False)
    return machine.run(), machine.at


class _Machine:
    """The pickle stack machine: one method an opcode, found by table."""

    def __init__(
        self,
        data: memoryview,
        prefix: str,
        limits: PickleLimits,
        vocabulary: Vocabulary,
        whole: bool = True,
    ) -> None:
        if len(data) > limits.size:
            raise ArchiveError(f"pickle of {len(data)} bytes is over the limit of {limits.size}")
        self.data = data
        self.prefix = prefix
        self.limits = limits
        self.vocabulary = vocabulary
        self.whole = whole
        self.at = 0
        self.stack: list[Item] = []
        self.marks: list[int] = []
        self.memo: dict[int, Item] = {}

    def run(self) -> Value:
        for _ in range(self.limits.opcodes):
            place, code = self.at, self.take(1)[0]
            if code == _STOP:
                return self.finish()
            step = _OPCODES.get(code)
            if step is None:
                raise ArchiveError(f"Unknown opcode for unpickling at {place}: {code:#04x}")
            step(self)
        raise ArchiveError(f"pickle executes more than {self.limits.opcodes} opcodes")

    def finish(self) -> Value:
        value = self.pop_value()
        if self.whole and self.at != len(self.data):
            raise ArchiveError("pickle has bytes after its end")
        if self.stack:
            raise ArchiveError("pickle leaves values on its stack")
        check_nesting(value, self.limits)
        return value

    # Reading the bytes.

    def take(self, count: int) -> memoryview:
        if count < 0 or self.at + count > len(self.data):
            raise ArchiveError("Unexpected end of pickler archive.")
        piece = self.data[self.at : self.at + count]
        self.at += count
        return piece

    def number(self, form: struct.Struct) -> int:
        value: int = form.unpack(self.take(form.size))[0]
        return value

    def line(self) -> str:
        rest = self.data[self.at : self.at + 4096].tobytes()
        end = rest.find(b"\n")
        if end < 0:
            raise ArchiveError("pickle holds a global's name without an end")
        self.at += end + 1
        return self.decode(rest[:end])

    def decode(self, raw: bytes | memoryview) -> str:
        try:
            return str(raw, "utf-8")
        except UnicodeDecodeError:
            raise ArchiveError("pickle holds a string that is not UTF-8") from None

    # The stack. MARK and globals may lie on it, and never get into a value.

    def push(self, item: Item) -> None:
        self.stack.append(item)

    def pop(self) -> Item:
        floor = self.marks[-1] + 1 if self.marks else 0
        if len(self.stack) <= floor:
            raise ArchiveError("pickle takes from an empty stack")
        return self.stack.pop()

    def pop_value(self) -> Value:
        return as_value(self.pop())

    def pop_items(self) -> list[Item]:
        if not self.marks:
            raise ArchiveError("pickle has no MARK where it needs one")
        start = self.marks.pop()
        items = self.stack[start + 1 :]
        del self.stack[start:]
        return items

    def top(self) -> Item:
        item = self.pop()
        self.stack.append(item)
        return item

    # Opcodes.

    def op_proto(self) -> None:
        if (version := self.take(1)[0]) != 2:
            raise ArchiveError(f"pickle protocol {version}; archives use protocol 2")

    def op_global(self) -> None:
        name = f"{self.line()}.{self.line()}"
        self.push(self.vocabulary.item(name))

    def op_memoize(self, index: int) -> None:
        if len(self.memo) >= self.limits.memo or index >= 2 * self.limits.memo:
            raise ArchiveError(f"pickle memoises more than {self.limits.memo} values")
        self.memo[index] = self.top()

    def op_recall(self, index: int) -> None:
        if index not in self.memo:
            raise ArchiveError(f"pickle recalls value {index}, which it never memoised")
        self.push(self.memo[index])

    def op_mark(self) -> None:
        self.marks.append(len(self.stack))
        self.stack.append(MARK)

    def op_text(self) -> None:
        size = self.number(_U32)
        if size > self.limits.text:
            raise ArchiveError(f"pickle holds a string of {size} bytes, over {self.limits.text}")
        self.push(self.decode(self.take(size)))

    def op_short_text(self) -> None:
        self.push(self.decode(self.take(self.take(1)[0])))

    def op_long(self) -> None:
        size = self.take(1)[0]
        if size > 8 and not self.vocabulary.long_integers:
            raise ArchiveError(f"pickle holds an integer of {size} bytes; TorchScript's have 8")
        self.push(int.from_bytes(self.take(size), "little", signed=True))

    def op_tuple(self, count: int) -> None:
        items = [self.pop() for _ in range(count)]
        self.push_tuple(items[::-1])

    def push_tuple(self, items: list[Item]) -> None:
        internal = Global | Mark | StorageRef | Arguments
        values = tuple(item for item in items if not isinstance(item, internal))
        if len(values) == len(items):
            self.push(values)
        else:
            self.push(Arguments(tuple(items)))

    def op_append(self) -> None:
        value = self.pop_value()
        self.list_on_top().elements.append(value)

    def op_appends(self) -> None:
        values = [as_value(item) for item in self.pop_items()]
        self.list_on_top().elements.extend(values)

    def op_list(self) -> None:
        self.push(TaggedList([as_value(item) for item in self.pop_items()]))

    def list_on_top(self) -> TaggedList:
        if isinstance(target := self.top(), TaggedList):
            return target
        raise ArchiveError("pickle appends to what is not a list")

    def op_setitem(self) -> None:
        value, key = self.pop(), self.pop()
        self.set_items([key, value])

    def op_setitems(self) -> None:
        self.set_items(self.pop_items())

    def op_dict(self) -> None:
        items = self.pop_items()
        self.push(TaggedDict())
        self.set_items(items)

    def set_items(self, flat: list[Item]) -> None:
        if not isinstance(target := self.top(), TaggedDict):
            raise ArchiveError("pickle sets items of what is not a dict")
        if len(flat) % 2:
            raise ArchiveError("pickle sets a dict key without a value")
        for key, value in zip(flat[::2], flat[1::2], strict=True):
            if not isinstance(key, bool | int | float | complex | str | TensorRef | EnumRef):
                raise ArchiveError(f"a dict key in the archive is a {type(key).__name__}")
            target.items[key] = as_value(value)

    def op_newobj(self) -> None:
        args, cls = self.pop(), self.pop()
        if not isinstance(cls, Global) or not is_class(cls.name):
            raise ArchiveError("pickle makes an object of what is not a TorchScript class")
        if args != ():
            raise ArchiveError(f"pickle makes an object of {cls.name} with arguments")
        self.push(ObjectState(cls.name))

    def op_build(self) -> None:
        state = self.pop_value()
        target = self.top()
        if isinstance(target, TaggedDict) and target.ordered and isinstance(state, TaggedDict):
            target.attributes.update(attributes(state, "OrderedDict"))
            return
        if not isinstance(target, ObjectState) or target.state is not None:
            raise ArchiveError("pickle sets the state of what is not a new object")
        if isinstance(state, TaggedDict) and not state.type_str:
            target.state = attributes(state, target.type_name)
        else:
            target.state = state

    def op_persid(self) -> None:
        self.push(rebuild_storage(self.pop(), self.prefix))

    def op_reduce(self) -> None:
        args, function = self.pop(), self.pop()
        if not isinstance(function, Global):
            raise ArchiveError("pickle calls what is not a global")
        self.push(self.vocabulary.call(function.name, args, self.limits))


_U8, _U16, _U32 = struct.Struct("<B"), struct.Struct("<H"), struct.Struct("<I")
_I32, _F64 = struct.Struct("<i"), struct.Struct(">d")
_STOP = ord(".")
_OPCODES: dict[int, Callable[[_Machine], None]] = {
    0x80: _Machine.op_proto,
    ord("c"): _Machine.op_global,
    ord("q"): lambda m: m.op_memoize(m.number(_U8)),
    ord("r"): lambda m: m.op_memoize(m.number(_U32)),
    ord("h"): lambda m: m.op_recall(m.number(_U8)),
    ord("j"): lambda m: m.op_recall(m.number(_U32)),
    ord(")"): lambda m: m.push(()),
    ord("]"): lambda m: m.push(TaggedList()),
    ord("}"): lambda m: m.push(TaggedDict()),
    ord("("): _Machine.op_mark,
    ord("t"): lambda m: m.push_tuple(m.pop_items()),
    0x85: lambda m: m.op_tuple(1),
    0x86: lambda m: m.op_tuple(2),
    0x87: lambda m: m.op_tuple(3),
    ord("a"): _Machine.op_append,
    ord("e"): _Machine.op_appends,
    ord("l"): _Machine.op_list,
    ord("s"): _Machine.op_setitem,
    ord("u"): _Machine.op_setitems,
    ord("d"): _Machine.op_dict,
    0x81: _Machine.op_newobj,
    ord("b"): _Machine.op_build,
    ord("R"): _Machine.op_reduce,
    ord("Q"): _Machine.op_persid,
    0x88: lambda m: m.push(True),
    0x89: lambda m: m.push(False),
    ord("N"): lambda m: m.push(None),
    ord("K"): lambda m: m.push(m.number(_U8)),
    ord("M"): lambda m: m.push(m.number(_U16)),
    ord("J"): lambda m: m.push(m.number(_I32)),
    0x8A: _Machine.op_long,
    ord("G"): lambda m: m.push(_F64.unpack(m.take(8))[0]),
    ord("X"): _Machine.op_text,
    ord("U"): _Machine.op_short_text,
}
