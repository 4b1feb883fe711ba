"""Spelling of targets."""

import pytest

from tensorscript.backends.target import host, parse
from tensorscript.base.errors import UserError


def test_host_and_named_cpus() -> None:
    assert parse("cpu") is host()
    assert parse("x86_64-unknown-linux-gnu", "haswell").vector_bytes == 32
    assert parse("aarch64-unknown-linux-gnu").vector_bytes == 16
    assert parse("aarch64-unknown-linux-gnu").key != parse("x86_64-unknown-linux-gnu").key


def test_gpus() -> None:
    assert parse("cuda:sm_80").arch == "sm_80"
    assert parse("cuda:0").is_ptx
    assert parse("ptx-emulate").emulate
    assert not parse("cuda").allows("exp")
    assert not parse("cuda").allows("vector.reduce.fadd")


@pytest.mark.parametrize("text", ["gpu", "cuda:sm_1", "nonsense-unknown-linux"])
def test_unknown_targets(text: str) -> None:
    with pytest.raises(UserError, match="unknown"):
        parse(text)
