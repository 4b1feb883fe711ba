"""The state of emitting one function, handed to every emission row."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import field

from xdsl.ir import Operation

from tensorscript.base.dtypes import DType
from tensorscript.base.errors import InternalError
from tensorscript.base.records import dataclass
from tensorscript.dialects.te.buffers import Parameter
from tensorscript.dialects.te.expr import Expr
from tensorscript.dialects.te.rewriting import substitute

from .emit_ahead import Ahead
from .emit_arith import Site
from .emit_scope import Lane, Place, Scope
from .emit_text import Code
from .emit_types import STAGE, Value, register_type, vector_of
from .weights import Block


@dataclass(frozen=True)
class EmitOptions:
    """What the emitters may do.

    Attributes:
        strict: no contraction of products into sums, no reassociation in reductions.
        external_constants: te.constant data is an external symbol that the loader resolves.
        block: where the large te.constants lie, else.
        groups: dtypes of which the target adds products of all in 32 bits in one instruction.
        lanes: 32-bit lanes of the target's vectors.
        tiles: dtypes that the target's matrix unit multiplies.
        picks_bytes: bytes of two vectors are gathered by one instruction.
        halves_registers: the target's units take its widest registers in two halves.
        timed: kernels whose calls are counted and timed (`emit_clock.py`).
    """

    strict: bool = False
    external_constants: bool = False
    block: Block | None = None
    groups: frozenset[DType] = frozenset()
    lanes: int = 4
    tiles: frozenset[DType] = frozenset()
    picks_bytes: bool = False
    halves_registers: bool = False
    timed: tuple[str, ...] = ()


Row = Callable[["Context", Operation], None]


@dataclass
class Context:
    """One function under emission.

    Attributes:
        rows: one emission function per op kind.
        vector: the vector loop around the current statement.
        mask: the lanes that are active in it (None: all).
        mask_is_any: at least one lane of the mask is known to be active.
        on: which lanes the mask leaves active, where that is known.
        cache: values of the current statement's expression nodes.
        steady: nodes that may be evaluated where they are not asked for.
        status: the slot that error exits store to before they branch to the label `exit`.
        heap: slots of all runtime allocations; `live` those of open te blocks.
        arena: the block that holds planned allocations.
        frame: the ring of the lists of this call.
        streams: something was written past the caches.
        tiles: buffers in registers of the matrix unit, with the rows and columns of tiles.
        callees: parameters of the module's functions.
        symbols: their LLVM names where these differ.
        ahead: pointers that were computed before the loop at hand, for `finds_sizes`: a kernel
            that has sizes for parameters.
        given: of such a kernel the names that are the same in the whole function.
        gpu: one thread of a GPU; `launch` has the extents of its grid and block.
    """

    name: str
    code: Code
    rows: Mapping[type[Operation], Row]
    options: EmitOptions
    is_flat: bool
    scope: Scope = field(default_factory=Scope)
    vector: Lane | None = None
    mask: str | None = None
    mask_is_any: bool = False
    on: tuple[bool, ...] | None = None
    cache: dict[Expr, Value] = field(default_factory=dict)
    steady: set[Expr] = field(default_factory=set)
    status: str = ""
    heap: list[str] = field(default_factory=list)
    live: list[str] = field(default_factory=list)
    arena: str = ""
    frame: str = ""
    streams: bool = False
    tiles: dict[str, tuple[int, int]] = field(default_factory=dict)
    callees: Mapping[str, tuple[Parameter, ...]] = field(default_factory=dict)
    symbols: Mapping[str, str] = field(default_factory=dict)
    outlined: int = 0
    inside_parallel: bool = False
    ahead: Ahead | None = None
    finds_sizes: bool = False
    given: frozenset[str] = frozenset()
    gpu: bool = False
    launch: Mapping[str, Expr] = field(default_factory=dict)

    @property
    def can_fail(self) -> bool:
        """Whether what was emitted so far may give another status than 0."""
        return bool(self.status)

    @property
    def width(self) -> int:
        return self.vector.width if self.vector else 1

    def site(self, dtype: DType, lanes: int, wraps: str = "") -> Site:
        return Site(self.code, dtype, lanes, not self.options.strict, wraps=wraps)

    def resolve(self, e: Expr) -> Expr:
        """`e` with the names that stand for expressions replaced."""
        replaced = self.scope.replaced
        return substitute(e, replaced) if replaced else e

    def place(self, buffer: str) -> Place:
        if (found := self.scope.places.get(buffer)) is None:
            raise InternalError(f"@{self.name}: unknown buffer {buffer}", STAGE)
        if buffer in self.tiles:
            raise self.refuse(f"only matrix loops reach {buffer} in registers of the matrix unit")
        return found

    def varies(self, e: Expr) -> bool:
        return self.vector is not None and self.vector.varies(e)

    def block(self, statements: Sequence[Operation]) -> None:
        """Emit statements; each starts with an empty cache, for stores change what loads give."""
        for op in statements:
            if (row := self.rows.get(type(op))) is None:
                raise InternalError(f"@{self.name}: cannot emit {op.name}: {op}", STAGE)
            self.new_statement()
            row(self, op)

    def new_statement(self) -> None:
        self.cache.clear()
        self.steady.clear()
        if self.vector:
            self.vector.affine.clear()

    @contextmanager
    def branch_cache(self) -> Iterator[None]:
        """Values made inside do not dominate what comes after: forget them."""
        kept = dict(self.cache)
        try:
            yield
        finally:
            self.cache = kept

    @contextmanager
    def masked(self, mask: str | None, on: tuple[bool, ...] | None = None) -> Iterator[None]:
        before = self.mask, self.mask_is_any, self.on
        self.mask, self.on = mask, on
        try:
            yield
        finally:
            self.mask, self.mask_is_any, self.on = before

    def widen(self, value: Value, dtype: DType, lanes: int) -> str:
        """The operand text of `value` with `lanes` lanes (a scalar is copied to all)."""
        if value.lanes == lanes:
            return value.text
        return self.splat(value.text, register_type(dtype), lanes)

    def splat(self, text: str, element: str, lanes: int) -> str:
        if text[0] not in "%@":
            return f"splat ({element} {text})"
        kind = vector_of(element, lanes)
        first = self.code.let(f"insertelement {kind} poison, {element} {text}, i64 0")
        return self.code.let(
            f"shufflevector {kind} {first}, {kind} poison, <{lanes} x i32> zeroinitializer"
        )

    def conjoin(self, mask: str) -> str:
        """`mask` and the mask in force."""
        if self.mask is None:
            return mask
        return self.code.let(f"and {vector_of('i1', self.width)} {self.mask}, {mask}")

    def refuse(self, what: str) -> InternalError:
        return InternalError(f"@{self.name}: {what}", STAGE)
