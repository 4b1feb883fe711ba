"""The code of an archive as syntax trees, parsed when first needed and never executed.

`__torch__.a.b.X` stands in `code/__torch__/a/b.py`. Lines of old writers (`op_version_set = 1`,
`import __torch__.a`) are neither functions nor classes and are passed over.
"""

from __future__ import annotations

import ast
import warnings
from collections.abc import Callable, Mapping
from dataclasses import field, replace

from tensorscript.base.errors import ArchiveError, FrontendError
from tensorscript.base.records import dataclass
from tensorscript.base.source import Origin
from tensorscript.frontends.script.source import Text, parse_text
from tensorscript.frontends.script.text_library import Found

Rewrite = Callable[[ast.Module], None]
Parse = Callable[[str, str], tuple[ast.Module, Text]]


@dataclass(frozen=True)
class CodeLimits:
    """What the text of one code file may ask for.

    Attributes:
        size: characters.
        depth: nesting of syntax (blocks and expressions together).
    """

    size: int = 1 << 26
    depth: int = 180


@dataclass
class CodeLibrary:
    """Definitions of an archive by qualified name.

    Attributes:
        code: qualified module name to its text.
        rewrite: applied to each parsed file, e.g. to bring old operators up to date.
        parse: from a text and its name to its tree.
        origin: tells what the text was made from.
    """

    code: Mapping[str, str]
    rewrite: Rewrite | None = None
    limits: CodeLimits = field(default_factory=CodeLimits)
    parse: Parse = parse_text
    origin: Origin | None = None
    _parsed: dict[str, dict[str, Found]] = field(default_factory=dict)

    def find(self, qualified_name: str) -> Found | None:
        """The definition called `__torch__.a.b.X`; None if there is none.

        Raises:
            ArchiveError: its file does not parse, or is over the limits.
        """
        module, _, name = qualified_name.rpartition(".")
        return self.definitions(module).get(name)

    def definitions(self, module: str) -> dict[str, Found]:
        """The definitions in one file by name; none if there is no such file.

        Raises:
            ArchiveError: it does not parse, or is over the limits.
        """
        if module not in self.code:
            return {}
        if module not in self._parsed:
            self._parsed[module] = self._parse(module)
        return self._parsed[module]

    def _parse(self, module: str) -> dict[str, Found]:
        name = f"code/{module.replace('.', '/')}.py"
        text = self.code[module]
        if len(text) > self.limits.size:
            raise ArchiveError(f"{name} has {len(text)} characters, over {self.limits.size}")
        try:
            with warnings.catch_warnings():
                # What Python finds odd in the text (`1if x`) is for nobody here to mend.
                warnings.simplefilter("ignore", SyntaxWarning)
                tree, where = self.parse(text, name)
        except FrontendError as error:
            raise ArchiveError(error.message) from error
        where = replace(where, source=replace(where.source, origin=self.origin))
        check_depth(tree, where, self.limits.depth)
        if self.rewrite is not None:
            self.rewrite(tree)
        out: dict[str, Found] = {}
        for node in tree.body:
            if isinstance(node, ast.FunctionDef | ast.ClassDef):
                if (known := out.get(node.name)) is not None:
                    if ast.dump(known.tree) == ast.dump(node):  # PyTorch 1.2 writes NamedTuples so
                        continue
                    raise ArchiveError(
                        f"'{module}.{node.name}' is defined twice", where.name_of(node)
                    )
                out[node.name] = Found(node, where)
        return out


def check_depth(tree: ast.AST, text: Text, limit: int) -> None:
    """Raise ArchiveError where syntax is nested over `limit` deep."""
    level: list[ast.AST] = [tree]
    for _ in range(limit):
        level = [child for node in level for child in ast.iter_child_nodes(node)]
        if not level:
            return
    placed = next((n for n in level if hasattr(n, "lineno")), None)
    span = text.span(placed) if placed is not None else None
    raise ArchiveError(f"code in the archive is nested over {limit} deep", span)
