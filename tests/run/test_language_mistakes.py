"""Mistakes in scripts: when they are refused, in which words, and what is underlined."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

import language_mistakes_control
import language_mistakes_tensors
import language_mistakes_values
import pytest
from language_harness import Refusal, close, programs_of, run_program

import tensorscript

PROGRAMS = programs_of(
    language_mistakes_control, language_mistakes_tensors, language_mistakes_values
)

OTHER_WORDS = {
    "control_async": "PyTorch finds no function",
    "string_index_out": "the text of C++'s string::at",
    "string_to_float": "the text of C++'s stod",
    "string_to_int": "the text of C++'s stoll",
    "tensor_zeros_negative": "the operator is named",
}
"""Programs refused by both sides with different messages, and why."""

OTHER_PLACES = {
    "annotation_bare_dict": "PyTorch shows no place",
    "annotation_bare_list": "PyTorch shows no place",
    "list_unpack_size": "PyTorch shows no place",
    "tensor_dropout_probability": "PyTorch shows the library's line alone",
    "tensor_batch_norm_one": "PyTorch shows the library's line alone",
    "tensor_shape_unpack": "PyTorch shows no place",
    "tensor_tolist_wrong": "PyTorch shows no place",
}
"""Programs refused by both sides that show or underline another place, and which."""


def own_places(refused: Refusal) -> list[str]:
    """What is shown and underlined in the program: what follows of the library differs."""
    shown: list[str] = []
    for place in refused.places:
        if place.startswith("File ") and "language_" not in place:
            break
        shown.append(place)
    return shown


@pytest.mark.parametrize("name", PROGRAMS)
def test_refused_as_by_pytorch(name: str, tmp_path: Path) -> None:
    torch = pytest.importorskip("torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        ours, theirs = (run_program(PROGRAMS[name], lib, tmp_path) for lib in (tensorscript, torch))
    assert len(ours) == len(theirs)
    for mine, wanted in zip(ours, theirs, strict=True):
        _compare(name, mine, wanted)


def _compare(name: str, mine: Any, wanted: Any) -> None:
    assert isinstance(mine, Refusal) == isinstance(wanted, Refusal)
    if not isinstance(mine, Refusal):
        assert close(mine, wanted)
        return
    assert mine.when == wanted.when
    assert (mine == wanted) != (name in OTHER_WORDS), (mine, wanted)
    if name not in OTHER_WORDS:
        same = own_places(mine) == own_places(wanted)
        assert same != (name in OTHER_PLACES), (mine.places, wanted.places)
