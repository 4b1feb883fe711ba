"""What has been compiled so far: functions and classes by qualified name, and their `ts` module."""

from __future__ import annotations

import builtins
from collections.abc import Callable
from dataclasses import field

from xdsl.dialects.builtin import ArrayAttr, ModuleOp, StringAttr
from xdsl.ir import Attribute

from tensorscript.base.records import dataclass
from tensorscript.base.source import Span
from tensorscript.dialects.ts.constants import ValueAttr
from tensorscript.dialects.ts.ops import ClassOp, FuncOp
from tensorscript.dialects.ts.types import ClassType, TupleType

from .signature import Signature

MANGLE = "___torch_mangle_"


@dataclass
class Compiled:
    """A compiled function."""

    name: str
    signature: Signature
    op: FuncOp


@dataclass
class ClassInfo:
    """A class or module type while its methods are being compiled.

    Attributes:
        category: module, class, interface, enum or namedtuple.
        attributes: name to type, in order of definition.
        constants: name to value (Final attributes, enum members).
        methods: name to a function that compiles the method and gives its signature.
        properties: name to the names of its getter and setter methods.
        defining: `__init__` is being compiled, so that a first assignment defines an attribute.
        is_module_interface: an interface that modules implement.
        container: list or dict, for module containers; children names their modules.
        python_methods: name to a function that gives the call of a method left in Python.
        overloads: name to the names of the methods that overload it.
        pre_hooks: functions called with the arguments before `forward`, hooks: with them and the
            result behind it; by name, in order.
        refused: name to the reason why a Python attribute is not one of the type.
        python: the Python class of a script class, whose methods may name it.
        module_class: the Python class of a module.
        sharing: what instances of one module type agree in beside the attributes; None if there
            is only the one, as of a trace or an archive.
    """

    type: ClassType
    category: str = "class"
    attributes: dict[str, Attribute] = field(default_factory=dict)
    constants: dict[str, object] = field(default_factory=dict)
    methods: dict[str, Callable[[], Signature]] = field(default_factory=dict)
    static_methods: dict[str, object] = field(default_factory=dict)
    properties: dict[str, tuple[str, str | None]] = field(default_factory=dict)
    compiled: dict[str, Signature] = field(default_factory=dict)
    parameters: list[str] = field(default_factory=list)
    buffers: list[str] = field(default_factory=list)
    refused: dict[str, str] = field(default_factory=dict)
    python_methods: dict[str, Callable[[Span | None], object]] = field(default_factory=dict)
    defining: bool = False
    is_module_interface: bool = False
    container: str = ""
    children: list[str] = field(default_factory=list)
    overloads: dict[str, list[str]] = field(default_factory=dict)
    pre_hooks: list[str] = field(default_factory=list)
    hooks: list[str] = field(default_factory=list)
    python: builtins.type | None = None
    module_class: builtins.type | None = None
    sharing: tuple[object, ...] | None = None

    @property
    def name(self) -> str:
        return self.type.class_name.data


class Program:
    """A growing `ts` module. Functions stand behind what they call."""

    def __init__(self) -> None:
        self.module = ModuleOp([])
        self.functions: dict[str, Compiled] = {}
        self.classes: dict[str, ClassInfo] = {}
        self.named_tuples: dict[str, TupleType] = {}
        self.names: dict[object, str] = {}
        self.compiling: set[str] = set()
        self.mangled = 0
        self.declared: set[str] = set()
        self.python_functions: dict[str, Callable[..., object]] = {}

    def add(self, compiled: Compiled) -> None:
        self.functions[compiled.name] = compiled
        self.module.body.block.add_op(compiled.op)

    def unique(self, name: str) -> str:
        """`name`, mangled if it is taken."""
        if name not in self.functions and name not in self.classes and name not in self.compiling:
            return name
        return self.mangle(name)

    def mangle(self, name: str) -> str:
        """Another name for what `name` would be."""
        prefix, _, last = name.rpartition(".")
        out = f"{prefix}.{MANGLE}{self.mangled}.{last}"
        self.mangled += 1
        return out

    def declare_classes(self) -> None:
        """Write the `ts.class` of every class that has none yet, in front of the functions."""
        block = self.module.body.block
        for name, info in self.classes.items():
            if name in self.declared:
                continue
            self.declared.add(name)
            op = class_op(info)
            if block.first_op is None:
                block.add_op(op)
            else:
                block.insert_op_before(op, block.first_op)


def _names(values: list[str]) -> ArrayAttr[StringAttr]:
    return ArrayAttr([StringAttr(v) for v in values])


def class_op(info: ClassInfo) -> ClassOp:
    """The declaration of a class."""
    return ClassOp.create(
        properties={
            "sym_name": StringAttr(info.name),
            "category": StringAttr(info.category),
            "attribute_names": _names(list(info.attributes)),
            "attribute_types": ArrayAttr(list(info.attributes.values())),
            "constant_names": _names(list(info.constants)),
            "constant_values": ArrayAttr([ValueAttr(v) for v in info.constants.values()]),
            # Those of an interface are declared when something calls them.
            "methods": _names(
                list(info.methods if info.category == "interface" else info.compiled)
            ),
            "parameters": _names(info.parameters),
            "buffers": _names(info.buffers),
        }
    )
