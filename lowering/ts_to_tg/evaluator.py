"""The abstract evaluator: walks a ts function with abstract values and lets rows emit tg.

One method a kind of op; operators go through the table. Calls are inlined.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence

from xdsl.dialects.builtin import ModuleOp
from xdsl.ir import Attribute, Block, Operation, SSAValue

from tensorscript.base.dtypes import bool_ as tt_bool
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts import types as tt
from tensorscript.dialects.ts.autocast import Autocast
from tensorscript.dialects.ts.constants import (
    DictLiteral,
    GeneratorLiteral,
    ListLiteral,
    ObjectLiteral,
    Opaque,
    QuantizedLiteral,
    SparseLiteral,
    TensorLiteral,
)
from tensorscript.dialects.ts.locations import span_of

from .builder import Builder, Row
from .complex_tensors import complex_literal
from .element_kinds import MapElement, joined, of_dict, of_list, of_type, of_values
from .elements import known
from .grown import Hints, grown_of, must_grow
from .kinds import kind_text
from .paths import SELF, below
from .plain_rows import PlainRows
from .record import Record
from .sparse import call_sparse, has_sparse
from .values import (
    ComplexTensor,
    DictRef,
    Grown,
    ListRef,
    ObjectRef,
    ObjectValue,
    QuantizedTensor,
    Site,
    SparseTensor,
    Storage,
    Tensor,
    Text,
    TupleValue,
    UnknownString,
    Value,
    Variant,
)

Env = dict[SSAValue, Value]
MOST_WITHIN = 200
"""A call that is within so many calls of the same function recurs without end."""


class Evaluator:
    """Evaluates functions of one ts module.

    Args:
        tables: rows by kind. "container" rows get the evaluator and references; "scalar" rows are
            taken when no argument is a tensor; "tensor" rows get the builder and plain lists.
    """

    def __init__(
        self,
        module: ModuleOp,
        builder: Builder,
        tables: Mapping[str, Mapping[str, Row]],
        handlers: Mapping[type[Operation], Callable[[Evaluator, Operation, Env], None]],
        hints: Hints,
    ) -> None:
        self.b = builder
        self.hints = hints
        self.op: Operation | None = None
        self.calls: Site = ()
        self.handlers = handlers
        self.functions: dict[str, ts.FuncOp] = {}
        self.classes: dict[str, ts.ClassOp] = {}
        for op in module.body.block.ops:
            if isinstance(op, ts.FuncOp):
                self.functions[op.sym_name.data] = op
            elif isinstance(op, ts.ClassOp):
                self.classes[op.sym_name.data] = op
        self.containers = tables["container"]
        self.grown_rows = tables["grown"]
        self.map_rows = tables["map"]
        self.scalar_rows = tables["scalar"]
        self.text_rows = tables["text"]
        self.rows = PlainRows(builder, tables["tensor"], tables["scalar"])
        self.active: Counter[str] = Counter()
        self.autocasts: list[Autocast] = []
        self.objects: dict[int, ObjectRef] = {}
        self.state: dict[str, Value] = {}
        self.record = Record()
        self.requiring_grad: set[Storage] = set()
        self.held: dict[ListRef | DictRef, str] = {}

    # --- values of the outside --------------------------------------------------------------------

    def import_value(self, value: object, path: str = "") -> Value:
        """A constant of the dialect or the caller's world as an abstract value."""
        if path in self.state:
            return self.state[path]
        if isinstance(value, TensorLiteral):
            made: Tensor | ComplexTensor
            if value.dtype.is_complex:
                made = complex_literal(self.b, value.array, value.dtype, path)
            else:
                made = self.b.literal(value.array, value.dtype, path)
            if value.requires_grad:
                self.requiring_grad.add(made.storage)
            return made
        if isinstance(value, Opaque):
            self.b.cannot(f"{value.kind} as an argument")
        if isinstance(value, GeneratorLiteral):
            self.b.cannot("a random generator of the program's own")
        if isinstance(value, ObjectLiteral):
            self.b.cannot("an object among the constants of an archive")
        if isinstance(value, SparseLiteral):
            at, values = self.import_value(value.indices), self.import_value(value.values)
            return SparseTensor(value.size, at, values, value.coalesced)
        if isinstance(value, QuantizedLiteral):
            scale, zero = self.import_value(value.scale), self.import_value(value.zero_point)
            integers = self.import_value(value.integers, path)
            return QuantizedTensor(integers, value.dtype, scale, zero, value.axis)
        if isinstance(value, ListLiteral | list):
            items = value.elements if isinstance(value, ListLiteral) else value
            elements = [self.import_value(v, below(path, i)) for i, v in enumerate(items)]
            return self._import_list(elements, path) if path else self.new_list(elements)
        if isinstance(value, tuple):
            parts = tuple(self.import_value(v, below(path, i)) for i, v in enumerate(value))
            fields = tuple(getattr(value, "_fields", ()))
            return TupleValue(parts, fields, type(value).__name__ if fields else "")
        if isinstance(value, DictLiteral | dict):
            pairs = value.items if isinstance(value, DictLiteral) else value.items()
            named = {k: self.import_value(v, below(path, k)) for k, v in pairs}
            return self._import_dict(named, path) if path else self.new_dict(named)
        if isinstance(value, ObjectValue):
            return self.import_object(value, path)
        return value

    def imported(self, ref: ListRef | DictRef, content: Value, path: str) -> Value:
        self.b.heap.imported[ref] = content
        self.held[ref] = path
        return ref

    def import_object(self, value: ObjectValue, path: str) -> ObjectRef:
        if (found := self.objects.get(id(value))) is not None:
            return found
        made = self.objects[id(value)] = ObjectRef(value.class_name, path or SELF)
        self.b.heap.imported[made] = _Lazy(self, value.attributes, made.path)
        return made

    def attribute_of(self, path: str) -> str:
        """The attribute that holds what stands at `path`."""
        owners = {o.path for o in self.objects.values()}
        names = path.split(".")
        for k in range(len(names) - 1, 0, -1):
            if (owner := ".".join(names[:k])) in owners:
                return f"{owner}.{names[k]}"
        return path

    def _import_list(self, elements: Sequence[Value], path: str) -> ListRef:
        """A list of the caller: constant, so a run-time one is made at the start."""
        site: Site = ("import", path)
        made = ListRef((site,), frozen=True)
        content: Value = tuple(elements)
        if site in self.hints.elements:
            with self.b.at_start():
                content = self._grown(site, made, content)
        self.imported(made, content, path)
        return made

    def _import_dict(self, items: dict[Value, Value], path: str) -> DictRef | ListRef:
        """A dict of the caller: constant, as such a list is."""
        site: Site = ("import", path)
        made = DictRef((site,))
        self.imported(made, items, path)
        if site not in self.hints.elements:
            return made
        grown = ListRef((site,), frozen=True)
        with self.b.at_start():
            content = self._grown_dict(site, made, items)
        self.imported(grown, content, path)
        return grown

    @property
    def site(self) -> Site:
        """The place in the program under evaluation."""
        return (*self.calls, id(self.op))

    def new_list(
        self, elements: Sequence[Value], type_: Attribute | None = None, site: Site | None = None
    ) -> ListRef:
        """A new list; a run-time one where the hints ask for it.

        Args:
            type_: ts type of an element.
        """
        site = site or self.site
        made = ListRef((site,), type_ or self._element_type())
        self.b.heap[made] = content = tuple(elements)
        if site in self.hints.elements:
            self.b.heap[made] = self._grown(site, made, content)
        return made

    def _element_type(self) -> Attribute | None:
        """The element of the list that the op under evaluation gives."""
        types = [r.type for r in self.op.results] if self.op is not None else []
        return types[0].element if len(types) == 1 and isinstance(types[0], tt.ListType) else None

    def _grown(self, site: Site, ref: ListRef, content: tuple[Value, ...]) -> Grown:
        own = of_values(self.b, content) if content else of_type(ref.type)
        wanted = self.hints.elements[site]
        element = joined(wanted, own) if wanted is not None and own is not None else wanted or own
        if element is None:
            self.b.cannot("a list that grows, of such elements")
        return grown_of(self.b, element, content)

    def new_dict(self, items: Mapping[Value, Value], site: Site | None = None) -> DictRef | ListRef:
        """A new dict; a run-time one where the hints ask for it."""
        site = site or self.site
        types = [r.type for r in self.op.results] if self.op is not None else []
        made = DictRef((site,), types[0] if len(types) == 1 else None)
        self.b.heap[made] = dict(items)
        if site not in self.hints.elements:
            return made
        grown = ListRef((site,))
        self.b.heap[grown] = self._grown_dict(site, made, items)
        return grown

    def _grown_dict(self, site: Site, ref: DictRef, items: Mapping[Value, Value]) -> Grown:
        own, wanted = of_dict(self.b, ref), self.hints.elements[site]
        element = joined(wanted, own) if wanted is not None and own is not None else wanted or own
        if element is None:
            self.b.cannot("a dict that grows, of such items")
        return grown_of(self.b, element, [TupleValue(pair) for pair in items.items()])

    def plain(self, value: Value) -> Value:
        """Lists as Python lists, for rows that only read."""
        if isinstance(value, ListRef):
            content = self.b.heap[value]
            if isinstance(content, Grown):
                self.b.cannot("a list whose length is not known")
            if any(self.is_grown(v) for v in content):
                must_grow(self.b, value.sites, of_list(self.b, value), "a list of run-time lists")
            return [self.plain(v) for v in content]
        if isinstance(value, Variant):
            self.b.cannot(f"a list in which there is {kind_text(value)}")
        return value

    def is_grown(self, value: Value) -> bool:
        """A run-time list or dict."""
        return isinstance(value, ListRef) and isinstance(self.b.heap[value], Grown)

    def is_map(self, value: Value) -> bool:
        """A run-time dict."""
        return self.is_grown(value) and isinstance(self.b.heap[value].element, MapElement)

    def boxed(self, value: Value) -> Value:
        """Python lists as references."""
        if isinstance(value, list):
            return self.new_list([self.boxed(v) for v in value])
        if isinstance(value, tuple):
            return TupleValue(tuple(self.boxed(v) for v in value))
        if not isinstance(value, Expr):
            return value
        return self.b.shortened(known(self.b.unsized(value)))

    @property
    def autocast(self) -> Autocast:
        """Which casts are made here."""
        return self.autocasts[-1] if self.autocasts else Autocast()

    # --- functions and blocks ---------------------------------------------------------------------

    def call(self, name: str, arguments: Sequence[Value]) -> Value:
        """Inline the function `name`.

        Raises:
            NotCompilable: no such function, or recursion.
        """
        if (func := self.functions.get(name)) is None:
            self.b.cannot(f"no function {name}")
        if self.active[name] >= MOST_WITHIN:
            self.b.cannot(f"recursion in {name}")
        env: Env = dict(zip(func.block.args, arguments, strict=True))
        self.active[name] += 1
        before, self.calls = self.calls, self.site
        try:
            self.run_block(func.block, env)
        finally:
            self.active[name] -= 1
            self.calls = before
        values = [env[v] for v in func.return_op.values]
        return values[0] if values else None

    def run_block(self, block: Block, env: Env) -> None:
        """Evaluate the ops of a block but its terminator."""
        entered = len(self.autocasts)
        try:
            for op in block.ops:
                if isinstance(op, ts.YieldOp | ts.ReturnOp):
                    return
                self.op = op
                self.b.span = span_of(op) or self.b.span
                handler = self.handlers.get(type(op))
                if handler is None:
                    self.b.operator = op.name
                    self.b.cannot("has no native form")
                handler(self, op, env)
        finally:
            del self.autocasts[entered:]  # a block that raises leaves the contexts in it

    def run_region(self, block: Block, env: Env, arguments: Sequence[Value]) -> list[Value]:
        env.update(zip(block.args, arguments, strict=True))
        self.run_block(block, env)
        last = block.last_op
        assert isinstance(last, ts.YieldOp)
        return [env[v] for v in last.values]

    # --- operators --------------------------------------------------------------------------------

    def operator(self, name: str, arguments: Sequence[Value]) -> Value:
        """The result of an operator of the schema table (a tuple for several results)."""
        b = self.b
        b.operator = name
        base = name.partition(".")[0]
        if has_sparse(arguments) and not base.startswith("prim::"):
            return self.boxed(call_sparse(b, name, [self.plain(a) for a in arguments]))
        if any(isinstance(a, UnknownString) for a in arguments) and base not in _OF_MESSAGES:
            b.cannot("computes with a string that depends on unknown values")
        if self.is_map(arguments[0] if arguments else None):
            if row := self.map_rows.get(base):
                return row(self, *arguments)
            b.cannot("has no native form on a dict that the running program makes")
        on_container = bool(arguments) and isinstance(arguments[0], DictRef | ListRef)
        if not on_container and any(isinstance(a, Text) for a in arguments):
            if row := self.text_rows.get(base):
                return row(self, *arguments)
            if base not in _OF_MESSAGES | _OF_ELEMENTS:
                b.cannot("has no native form on a string that depends on unknown values")
        grown = [self.is_grown(a) for a in arguments]
        if any(grown[:1]) or (any(grown) and base in _OF_TWO_LISTS):
            if row := self.grown_rows.get(name) or self.grown_rows.get(base):
                return row(self, *arguments)
            b.cannot("has no native form on a list whose length is not known")
        if row := self.containers.get(name) or self.containers.get(base):
            return row(self, *arguments)
        return self.rows.call(name, [self.plain(a) for a in arguments])

    def truth(self, value: Value) -> Value:
        """A condition as a bool or a b1 expression."""
        if isinstance(value, Tensor):
            return known(self.b.item(self.b.cast(value, tt_bool)))
        return value


_OF_TWO_LISTS = frozenset(f"aten::{name}" for name in ("add", "add_", "extend", "eq", "ne", "mul"))
"""Operators in which the second argument may be the only run-time list."""

_OF_MESSAGES = frozenset(
    f"aten::{name}" for name in ("format", "str", "add", "warn", "percentFormat")
)
"""Operators on strings that messages are made of."""


_OF_ELEMENTS = frozenset(
    {"aten::append", "aten::insert", "aten::_set_item", "aten::__is__", "aten::__isnot__"}
)
"""Operators that take an element, whatever it is."""


class _Lazy(dict[str, Value]):
    """Attributes of an imported object; tensors become constants when they are first read."""

    def __init__(self, evaluator: Evaluator, raw: Mapping[str, object], path: str) -> None:
        super().__init__((k, _UNREAD) for k in raw)
        self.evaluator = evaluator
        self.raw = raw
        self.path = path

    def __getitem__(self, name: str) -> Value:
        found = super().__getitem__(name)
        if found is _UNREAD:
            found = self.evaluator.import_value(self.raw[name], below(self.path, name))
            super().__setitem__(name, found)
        return found


_UNREAD = object()
