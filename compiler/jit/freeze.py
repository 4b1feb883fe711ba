"""`freeze`, `run_frozen_optimizations`, `optimize_for_inference`: modules with constant weights."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace

from xdsl.dialects.builtin import StringAttr
from xdsl.ir import Attribute, SSAValue
from xdsl.rewriter import Rewriter

from tensorscript.base.errors import GuardError
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

from .freeze_refusals import refuse_interfaces, refuse_self, refuse_structure
from .home import ProgramHome
from .module import RecursiveScriptModule


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
        preserved_attrs: attributes (`a`, `sub.a`) and methods to keep besides `forward`; a
            submodule whose method is asked for (`sub.f`) stays whole.
        optimize_numerics: also fold what changes results by roundings (`run_frozen_optimizations`).

    Raises:
        GuardError: not a scripted module, one in training mode, or an unknown name.
        AttributeError: a frozen one, which has no `training`, unless `eval()` has set it.
    """
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


class Freezer:
    """Freezes one module into a program of its own.

    Args:
        preserved: attributes and methods to keep.
        keep_tensors: keep all parameters and buffers, and what says whether it is trained.
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
        self._program = Program()
        self._objects: dict[int, ObjectValue] = {}
        root = object_value(self._target, self._objects)
        self._home.interpreter.refresh()
        functions = self._home.interpreter.functions
        inlined = {name: f for name, f in functions.items() if not name.startswith(_OPAQUE)}
        self._tree = ModuleTree(root, inlined)
        for held in self._objects.values():
            if held.class_name.startswith(CUSTOM_CLASSES):
                self._tree.whole.add(id(held))
        self._methods = ["forward"] if self._has_method("forward") else []
        self._interfaces = interfaces
        for name in preserved:
            self._preserve(name)
        if keep_tensors:
            self._keep_tensors()

    def _keep_tensors(self) -> None:
        for held in self._objects.values():
            info = self._home.class_info(held.class_name)
            for name in (*info.parameters, *info.buffers, "training"):
                if name in held.attributes:
                    self._tree.kept.add((id(held), name))

    def _has_method(self, name: str) -> bool:
        return name in self._info.methods or name in self._info.compiled

    def _preserve(self, name: str) -> None:
        if self._has_method(name):
            self._methods.append(name)
            return
        owner, _, last = name.rpartition(".")
        try:
            is_method = owner and last in self._methods_of(owner)
            self._tree.keep(owner if is_method else name)
        except LookupError:
            raise GuardError(f"Unknown name: {name}") from None

    def _methods_of(self, path: str) -> Collection[str]:
        """Names of the methods of the submodule at a path."""
        info = self._home.class_info(self._tree.object_at(path).class_name)
        return info.methods.keys() | info.compiled.keys()

    def frozen(self, optimize_numerics: bool) -> RecursiveScriptModule:
        entries = {name: self._home.entry(self._target, name) for name in self._methods}
        if "forward" in entries:
            refuse_self(entries["forward"].op)
        methods = {name: self._tree.inlined(entry.op) for name, entry in entries.items()}
        interpreter = self._home.interpreter
        tasks = split_tasks(self._tree, list(methods.values()))
        functions = [*methods.values(), *tasks]
        refuse_interfaces(self._tree, functions, self._home.class_info, self._interfaces)
        refuse_structure(self._tree, functions)
        freeze_methods(self._tree, functions, interpreter, optimize_numerics)
        drop_objects(self._tree, list(methods.values()), tasks)
        self._copy_program()
        target = self._rebuilt(functions)
        info = self._program.classes[target.class_name]
        for name, method in methods.items():
            self._add_method(info, name, method, entries[name].signature)
        for task in tasks:
            self._program.module.body.block.add_op(task)
        self._program.declare_classes()
        made: RecursiveScriptModule = ProgramHome(self._program).wrap(target)
        return made

    def _copy_program(self) -> None:
        """Everything that was compiled: what frozen methods still call, and its classes."""
        # Of a module that stays whole the methods are replaced; else it gets a class of its own.
        replaced = {f"{self._info.name}.{name}" for name in self._methods}
        for op in self._home.interpreter.module.body.block.ops:
            if isinstance(op, ts.FuncOp) and op.sym_name.data not in replaced:
                self._program.module.body.block.add_op(op.clone())
            elif isinstance(op, ts.ClassOp):
                info = self._home.class_info(op.sym_name.data)
                self._program.classes[info.name] = replace(
                    info, methods=dict(info.methods), compiled=dict(info.compiled)
                )

    # The tree of what is left

    def _rebuilt(self, functions: Sequence[ts.FuncOp]) -> ScriptObject:
        """The module with the attributes that are left, of classes with no others."""
        read = self._tree.read_by(functions) | self._tree.kept
        made: dict[int, ScriptObject] = {}
        target = self._object(self._target, read, made)
        for function in functions:
            self._retype(function, made)
        return target

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

    def _add_method(
        self, info: ClassInfo, name: str, method: ts.FuncOp, signature: Signature
    ) -> None:
        symbol = f"{info.name}.{name}"
        first, *rest = signature.arguments
        own = replace(signature, name=symbol, arguments=(replace(first, type=info.type), *rest))
        method.properties["sym_name"] = StringAttr(symbol)
        info.methods[name] = lambda: own
        info.compiled[name] = own
        self._program.add(Compiled(symbol, own, method))
