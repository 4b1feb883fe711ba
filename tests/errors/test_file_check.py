"""`testing.FileCheck` finds what a text says, by calls and by the comments of another text."""

from __future__ import annotations

import pytest

from tensorscript.base.errors import OperatorError
from tensorscript.testing import FileCheck

HELD = [
    ("# CHECK: 2\n# CHECK: 3\n# CHECK: 2", "232"),
    ("# CHECK-COUNT-2: 22", "22222"),
    ("# CHECK-COUNT-EXACTLY-5: 2", "22222"),
    ("# CHECK: 2\n # CHECK-SAME: 3", "22  1  3"),
    ("# CHECK: 1\n# CHECK-NEXT: 2\n# CHECK-NOT: 4", "1\n2\n3"),
    ("# CHECK-SOURCE-HIGHLIGHTED: b.c", "a b.c d\n  ~~~ <--- HERE"),
]

BROKEN = [
    ("# CHECK: 22", "23", 'Expected to find "22"'),
    ("# CHECK-COUNT-EXACTLY-2: 2", "22222", "Expected to not find"),
    ("# CHECK-NOT: 3", "1 3", "Expected to not find"),
    ("# CHECK-SOURCE-HIGHLIGHTED: b.c", "a b.c d\n ~~~~", "Expected to find"),
    ("nothing", "text", "Could not parse"),
]


@pytest.mark.parametrize(("checks", "text"), HELD)
def test_holds(checks: str, text: str) -> None:
    FileCheck().run(checks, text)
    FileCheck().run(checks_file=checks, test_file=text)


@pytest.mark.parametrize(("checks", "text", "message"), BROKEN)
def test_is_broken(checks: str, text: str, message: str) -> None:
    with pytest.raises(OperatorError, match=message):
        FileCheck().run(checks, text)


def test_too_many_texts() -> None:
    with pytest.raises(TypeError):
        FileCheck().run("# CHECK: 1", "1", test_file="1")
