"""Which functions a Zen 4 gets in registers of 256 bits."""

from __future__ import annotations

import re

import pytest

import tensorscript as ts
from tensorscript.backends.target import parse

HALVED = re.compile(r'define internal i32 @\S+\(.*"prefer-vector-width"="256"')


def chosen(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.where(x > y, x.clamp(-1.0, 1.0), y * 0.1)


def exponential(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return ts.exp(x) + y


def crossed(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x.t().contiguous()


def product(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return x @ y


def summed(x: ts.Tensor, y: ts.Tensor) -> ts.Tensor:
    return (x + y).sum(1)


def text_of(program: object, cpu: str, size: int = 256) -> str:
    given = (ts.ones(size, size), ts.ones(size, size))
    compiled = ts.compile(program, given, target="x86_64-unknown-linux-gnu", cpu=cpu)
    return compiled.ir("ll")


def test_streams_take_half_registers() -> None:
    assert HALVED.search(text_of(chosen, "znver4"))


@pytest.mark.parametrize("cpu", ["znver3", "znver5", "sapphirerapids", "x86-64-v4"])
def test_other_processors_take_whole_ones(cpu: str) -> None:
    assert not HALVED.search(text_of(chosen, cpu))
    assert not parse("x86_64-unknown-linux-gnu", cpu).halves_registers


@pytest.mark.parametrize("program", [exponential, crossed, summed])
def test_what_works_by_whole_registers_keeps_them(program: object) -> None:
    assert not HALVED.search(text_of(program, "znver4"))


def test_of_a_product_only_what_moves_its_operands_does() -> None:
    functions = text_of(product, "znver4", 1024).split("\n}\n")
    halved = [f for f in functions if HALVED.search(f)]
    multiplying = [f for f in functions if "fmul" in f or "@llvm.fma" in f]
    assert halved and multiplying and not set(halved) & set(multiplying)
