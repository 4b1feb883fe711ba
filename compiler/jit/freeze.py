"""`freeze`, `run_frozen_optimizations`, `optimize_for_inference`: modules with constant weights."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from tensorscript.base.errors import GuardError
from tensorscript.base.records import dataclass
from tensorscript.compiler.folding import freeze_methods, optimize
from tensorscript.compiler.program import object_value
from tensorscript.dialects.ts import ops as ts
from tensorscript.dialects.ts.operator_functions import OPERATOR_FUNCTIONS
from tensorscript.dialects.walks import walk_ops
from tensorscript.frontends.script.contexts import CUSTOM_CLASSES
from tensorscript.frontends.script.function import class_type
from tensorscript.frontends.script.program import ClassInfo, Compiled, Program
from tensorscript.frontends.script.signature import Signature
from tensorscript.lowering.ts.freeze import ModuleTree
from tensorscript.lowering.ts.freeze_tasks import drop_objects, split_tasks
from tensorscript.lowering.ts.transpose_linear import transpose_linear
from tensorscript.lowering.ts_to_tg.values import ObjectValue
from tensorscript.runtime.values import ScriptObject

from .copying import module_copies
from .freeze_refusals import refuse_interfaces, refuse_self, refuse_structure
from .home import ProgramHome
from .module import RecursiveScriptModule, face_of


def freeze(
    mod: RecursiveScriptModule,
    preserved_attrs: Sequence[str] | None = None,
    optimize_numerics: bool = True,
) -> RecursiveScriptModule:
    """A copy of a module with its calls in place and its attributes as constants.

    What the preserved methods change stays an attribute, and so does what is asked for. The
    constants share memory with the module's tensors until something is folded into them.

    Args:
        mod: a scripted, traced or loaded module in eval mode.
        preserved_attrs: attributes (`a`, `sub.a`) and methods (`f`, `sub.f`) to keep besides
            `forward`; the methods are frozen as well, and a submodule asked for stays whole.
        optimize_numerics: also fold what changes results by roundings (`run_frozen_optimizations`).

    Raises:
        GuardError: not a scripted module, one in training mode, or an unknown name.
        AttributeError: a frozen one, which has no `training`, unless `eval()` has set it.
    """
    mod = face_of(mod)
    if not isinstance(mod, RecursiveScriptModule):
        raise GuardError(
            "Freezing expects a ScriptModule as input. Please use torch.jit.script or "
            "torch.jit.trace to script your 'nn.Module'."
        )
    if mod.training:
        raise GuardError(
            "Freezing is currently only implemented for modules in eval mode. Please call .eval() "
            "on your module before freezing."
        )
    return Freezer(mod, preserved_attrs or ()).frozen(optimize_numerics)


def run_frozen_optimizations(
    mod: RecursiveScriptModule,
    optimize_numerics: bool = True,
    preserved_methods: Sequence[str] | None = None,
) -> None:
    """Optimise the methods of a frozen module in place.

    Dropout that is off is removed; with `optimize_numerics`, batch norms are folded into
    convolutions and linear layers, and sums and products with constants into convolutions.

    Raises:
        AttributeError: the module has no such method.
    """
    interpreter = mod._home.interpreter
    for name in ("forward", *(preserved_methods or ())):
        if name == "forward" and not mod._c._has_method("forward"):
            continue
        entry = mod._home.entry(mod._script_object, name)
        optimize(entry.op, interpreter, optimize_numerics)


def optimize_for_inference(
    mod: RecursiveScriptModule, other_methods: Sequence[str] | None = None
) -> RecursiveScriptModule:
    """A frozen module with its linear weights transposed; freezes it if it is not.

    Raises:
        GuardError: not a scripted module, or an unknown name.
    """
    mod = face_of(mod)
    if not isinstance(mod, RecursiveScriptModule):
        raise GuardError(
            "optimize_for_inference expects a ScriptModule as input. Please use torch.jit.script "
            "or torch.jit.trace to script your 'nn.Module'."
        )
    methods = list(other_methods or ())
    if "training" in mod._script_object.attributes:
        mod = freeze(mod.eval(), methods)
    for name in ("forward", *methods):
        transpose_linear(mod._home.entry(mod._script_object, name).op)
    return mod


_OPAQUE = (OPERATOR_FUNCTIONS, CUSTOM_CLASSES)
"""How the names begin of what PyTorch has in C++: such calls stay calls."""


@dataclass(frozen=True)
class _Method:
    """A method that is frozen.

    Attributes:
        owner: whose it is.
        function: with what it calls in place.
    """

    owner: ScriptObject
    name: str
    signature: Signature
    function: ts.FuncOp


def _has_method(info: ClassInfo, name: str) -> bool:
    return name in info.methods or name in info.compiled


class Freezer:
    """Freezes one module into a program of its own.

    Args:
        preserved: attributes and methods to keep.
        keep_tensors: keep all parameters and buffers that are read, and what says that a module
            is trained.
        interfaces: modules behind interfaces are frozen; else they are refused.
    """

    def __init__(
        self,
        mod: RecursiveScriptModule,
        preserved: Iterable[str],
        keep_tensors: bool = False,
        interfaces: bool = True,
    ) -> None:
        self._info = mod._info
        self._home = mod._home
        self._target = mod._script_object
        self._copies = self._restated_copies()
        self._program = Program()
        self._objects: dict[int, ObjectValue] = {}
        root = object_value(self._copy(self._target), self._objects)
        self._home.interpreter.refresh()
        functions = self._home.interpreter.functions
        inlined = {name: f for name, f in functions.items() if not name.startswith(_OPAQUE)}
        self._tree = ModuleTree(root, inlined)
        for held in self._objects.values():
            if held.class_name.startswith(CUSTOM_CLASSES):
                self._tree.whole.add(id(held))
        self._methods: list[tuple[ScriptObject, str]] = []
        if _has_method(self._info, "forward"):
            self._methods.append((self._target, "forward"))
        self._interfaces = interfaces
        for name in preserved:
            self._preserve(name)
        if keep_tensors:
            self._keep_tensors()

    def _restated_copies(self) -> dict[int, ScriptObject]:
        """Copies of the modules, if one says itself what a copy of it holds (`__setstate__`)."""
        asked = False

        def restate(original: ScriptObject, made: ScriptObject) -> None:
            nonlocal asked
            if "__getstate__" not in self._class_of(original).methods:
                return
            asked = True
            get, set = (self._home.entry(original, f"__{how}state__") for how in ("get", "set"))
            run = self._home.interpreter.call
            run(set.symbol, [made, run(get.symbol, [made])])

        def is_module(held: ScriptObject) -> bool:
            return self._class_of(held).category == "module"

        copies = module_copies(self._target, is_module, restate)
        return copies if asked else {}

    def _copy(self, target: ScriptObject) -> ScriptObject:
        """What is frozen in the place of an object."""
        return self._copies.get(id(target), target)

    def _keep_tensors(self) -> None:
        for held in self._objects.values():
            info = self._home.class_info(held.class_name)
            mode = ["training"] if held.attributes.get("training") else []
            for name in (*info.parameters, *info.buffers, *mode):
                if name in held.attributes:
                    self._tree.kept.add((id(held), name))

    def _preserve(self, name: str) -> None:
        path, _, last = name.rpartition(".")
        try:
            owner = self._object_at(path)
            if not _has_method(self._class_of(owner), last):
                self._tree.keep(name)
            elif (owner, last) not in self._methods:
                self._tree.keep_object(path)
                self._methods.append((owner, last))
        except LookupError:
            raise GuardError(f"Unknown name: {name}") from None

    def _object_at(self, path: str) -> ScriptObject:
        """The object at a dotted path.

        Raises:
            LookupError: there is none.
        """
        found = self._target
        for name in path.split(".") if path else ():
            value = found.attributes.get(name)
            if not isinstance(value, ScriptObject):
                raise LookupError(path)
            found = value
        return found

    def _class_of(self, target: ScriptObject) -> ClassInfo:
        return self._home.class_info(target.class_name)

    def frozen(self, optimize_numerics: bool) -> RecursiveScriptModule:
        methods = self._inlined_methods()
        inlined = [method.function for method in methods]
        interpreter = self._home.interpreter
        tasks = split_tasks(self._tree, inlined)
        functions = [*inlined, *tasks]
        refuse_interfaces(self._tree, functions, self._home.class_info, self._interfaces)
        refuse_structure(self._tree, functions)
        freeze_methods(self._tree, functions, interpreter, optimize_numerics)
        drop_objects(self._tree, inlined, tasks)
        self._copy_program()
        made = self._rebuilt(functions)
        for method in methods:
            self._add_method(made.get(id(self._objects[id(method.owner)]), method.owner), method)
        for task in tasks:
            self._program.module.body.block.add_op(task)
        self._program.declare_classes()
        root = self._copy(self._target)
        target = made.get(id(self._objects[id(root)]), root)
        face: RecursiveScriptModule = ProgramHome(self._program).wrap(target)
        return face

    def _inlined_methods(self) -> list[_Method]:
        """The methods to freeze, with what they call in place."""
        out = []
        for owner, name in self._methods:
            copied = self._copy(owner)
            held = self._objects[id(copied)]
            if owner is not self._target and id(held) in self._tree.whole:
                continue
            entry = self._home.entry(owner, name)
            if owner is self._target and name == "forward":
                refuse_self(entry.op)
            function = self._tree.inlined(entry.op, held)
            out.append(_Method(copied, name, entry.signature, function))
        return out

    def _copy_program(self) -> None:
        """Everything that was compiled: what frozen methods still call, and its classes."""
        # Of a module that stays whole the methods are replaced; else it gets a class of its own.
        own = [name for owner, name in self._methods if owner is self._target]
        replaced = {f"{self._info.name}.{name}" for name in own}
        for op in self._home.interpreter.module.body.block.ops:
            if isinstance(op, ts.FuncOp) and op.sym_name.data not in replaced:
                self._program.module.body.block.add_op(op.clone())
            elif isinstance(op, ts.ClassOp):
                info = self._home.class_info(op.sym_name.data)
                self._program.classes[info.name] = replace(
                    info, methods=dict(info.methods), compiled=dict(info.compiled)
                )

    # The tree of what is left

    def _rebuilt(self, functions: Sequence[ts.FuncOp]) -> dict[int, ScriptObject]:
        """The objects that do not stay whole, by the identities of what they were: with the
        attributes that are left, of classes with no others."""
        read = self._tree.read_by(functions) | self._tree.asked
        made: dict[int, ScriptObject] = {}
        self._object(self._copy(self._target), read, made)
        for function in functions:
            self._retype(function, made)
        return made

    def _object(
        self, source: ScriptObject, read: set[tuple[int, str]], made: dict[int, ScriptObject]
    ) -> ScriptObject:
        seen = self._objects[id(source)]
        if id(seen) in self._tree.whole:
            return source
        if id(seen) in made:
            return made[id(seen)]
        info = self._home.class_info(source.class_name)
        new = ClassInfo(class_type(self._program.unique(source.class_name)), info.category)
        self._program.classes[new.name] = new
        out = made[id(seen)] = ScriptObject(new.name)
        for name, type in info.attributes.items():
            if (id(seen), name) not in read:
                continue
            value = source.attributes[name]
            if isinstance(value, ScriptObject):
                value = self._object(value, read, made)
                type = class_type(value.class_name)
            new.attributes[name] = type
            out.attributes[name] = value
        new.parameters = [n for n in info.parameters if n in new.attributes]
        new.buffers = [n for n in info.buffers if n in new.attributes]
        return out

    def _retype(self, method: ts.FuncOp, made: dict[int, ScriptObject]) -> None:
        """Give the objects that a method reads their new classes."""
        values: list[SSAValue] = [*method.block.args]
        values += (op.result for op in walk_ops(method) if isinstance(op, ts.GetAttrOp))
        known = [(value, self._tree.object_of(value)) for value in values]
        for value, seen in known:
            if seen is not None and id(seen) in made:
                type: Attribute = class_type(made[id(seen)].class_name)
                Rewriter.replace_value_with_new_type(value, type)

    def _add_method(self, owner: ScriptObject, method: _Method) -> None:
        info = self._program.classes[owner.class_name]
        symbol = f"{info.name}.{method.name}"
        first, *rest = method.signature.arguments
        arguments = (replace(first, type=info.type), *rest)
        own = replace(method.signature, name=symbol, arguments=arguments)
        method.function.properties["sym_name"] = StringAttr(symbol)
        info.methods[method.name] = lambda: own
        info.compiled[method.name] = own
        self._program.add(Compiled(symbol, own, method.function))
