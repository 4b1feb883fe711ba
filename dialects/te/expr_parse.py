"""The text form of expressions, read back: `parse` is the inverse of `expr_text.text`."""

from __future__ import annotations

import ast
from functools import cache

from tensorscript.base.dtypes import BY_SHORT, bool_

from .expr import Expr, Number, binary, bitcast, call, const, load, node, select, unary, var
from .expr_text import BITS
from .vocabulary import NAMED_BINARY

_BINARY_NODES: dict[type, str] = {
    ast.Add: "add", ast.Sub: "sub", ast.Mult: "mul", ast.Div: "div", ast.FloorDiv: "floordiv",
    ast.Mod: "mod", ast.BitAnd: "and", ast.BitOr: "or", ast.BitXor: "xor", ast.LShift: "shl",
    ast.RShift: "shr", ast.Lt: "lt", ast.LtE: "le", ast.Eq: "eq", ast.NotEq: "ne", ast.Gt: "gt",
    ast.GtE: "ge",
}  # fmt: skip


def _literal(node_: ast.expr) -> Number | None:
    match node_:
        case ast.Constant(bool() | int() | float() as value):
            return value
        case ast.Name("inf" | "nan" as name):
            return float(name)
        case ast.UnaryOp(ast.USub(), operand) if (inner := _literal(operand)) is not None:
            return -inner
    return None


def _from_ast(tree: ast.expr) -> Expr:
    match tree:
        case ast.Constant(bool() as value):
            return const(value, bool_)
        case ast.Constant(int() as value):
            return const(value)
        case ast.UnaryOp(ast.USub(), ast.Constant(int() as value)):
            return const(-value)
        case ast.Name(name):
            return var(name)
        case ast.Attribute(inner, short) if (number := _literal(inner)) is not None:
            return const(number, BY_SHORT[short])
        case ast.Attribute(ast.Name(name), short):
            return var(name, BY_SHORT[short])
        case ast.Subscript(ast.Attribute(ast.Name(name), short), index):
            items = index.elts if isinstance(index, ast.Tuple) else [index]
            return load(name, [_from_ast(i) for i in items], BY_SHORT[short])
        case ast.Call(ast.Name(name), [only]) if name in BY_SHORT:
            return node("cast", (_from_ast(only),), None, BY_SHORT[name])
        case ast.Call(ast.Name(name), [only]) if name.removeprefix(BITS) in BY_SHORT:
            return bitcast(_from_ast(only), BY_SHORT[name.removeprefix(BITS)])
        case ast.Call(ast.Name(name), items):
            args = [_from_ast(i) for i in items]
            if name == "select":
                return select(*args)
            return binary(name, *args) if name in NAMED_BINARY else call(name, *args)
        case ast.UnaryOp(ast.Invert(), operand):
            return unary("not", _from_ast(operand))
        case ast.UnaryOp(ast.USub(), operand):
            return unary("neg", _from_ast(operand))
        case ast.BinOp(left, op, right):
            return binary(_BINARY_NODES[type(op)], _from_ast(left), _from_ast(right))
        case ast.Compare(left, [op], [right]):
            return binary(_BINARY_NODES[type(op)], _from_ast(left), _from_ast(right))
    raise ValueError(f"not an expression: {ast.unparse(tree)}")


@cache
def parse(source: str) -> Expr:
    """The expression that `source` spells; inverse of `text`.

    Raises:
        ValueError: the text is not an expression.
    """
    try:
        return _from_ast(ast.parse(source, mode="eval").body)
    except (SyntaxError, KeyError, TypeError) as error:
        raise ValueError(f"not an expression: {source}") from error
