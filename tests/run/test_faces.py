"""Small public modules beside the operators: `testing`, `version`, `futures`, `jit.annotations`."""

from __future__ import annotations

import pytest

import tensorscript as ts
from tensorscript.jit.annotations import BroadcastingList2


def _total(x: BroadcastingList2[int]) -> int:
    return x[0] + x[1]


def test_close_values_pass() -> None:
    ts.testing.assert_close(ts.tensor([1.0, 2.0]), ts.tensor([1.0, 2.000001]))
    ts.testing.assert_close([ts.ones(1), {"a": 1.0}], [ts.ones(1), {"a": 1.0}])
    nan = ts.tensor([float("nan")])
    ts.testing.assert_close(nan, nan, equal_nan=True)


def test_the_report_names_the_greatest_difference() -> None:
    with pytest.raises(AssertionError) as error:
        ts.testing.assert_close(ts.tensor([1.0, 2.0]), ts.tensor([1.0, 2.5]))
    assert str(error.value) == (
        "Tensor-likes are not close!\n\nMismatched elements: 1 / 2 (50.0%)\n"
        "Greatest absolute difference: 0.5 at index (1,) (up to 1e-05 allowed)\n"
        "Greatest relative difference: 0.2 at index (1,) (up to 1.3e-06 allowed)"
    )


@pytest.mark.parametrize(
    ("actual", "expected", "message"),
    [
        (ts.ones(1), ts.ones(2), "'shape' do not match"),
        (ts.ones(1), ts.ones(1, dtype=ts.float64), "'dtype' do not match"),
        (ts.tensor([float("nan")]), ts.tensor([float("nan")]), "not close"),
        ([ts.ones(1)], [], "length of the sequences"),
        ({"a": 1}, {"b": 1}, "keys of the mappings"),
    ],
)
def test_what_differs_fails(actual: object, expected: object, message: str) -> None:
    with pytest.raises(AssertionError, match=message):
        ts.testing.assert_close(actual, expected)


def test_one_tolerance_alone_is_refused() -> None:
    with pytest.raises(ValueError, match="must be either"):
        ts.testing.assert_close(1.0, 1.0, rtol=0.1)


def test_names() -> None:
    assert ts.version.__version__ == ts.__version__
    assert ts.version.cuda is None
    assert ts.futures.Future is ts.jit.Future


def test_futures_are_collected() -> None:
    first, second = ts.futures.Future(), ts.futures.Future()
    both = ts.futures.collect_all([first, second])
    second.set_result(2)
    assert not both.done()
    first.set_result(1)
    assert both.wait() == [first, second]
    assert ts.futures.wait_all([first, second]) == [1, 2]
    assert ts.futures.collect_all([]).wait() == []


def test_collected_futures_fail_with_the_first_one() -> None:
    first, second = ts.futures.Future(), ts.futures.Future()
    second.set_exception(ValueError("no"))
    with pytest.raises(ValueError, match="no"):
        ts.futures.wait_all([first, second])
    assert ts.jit.annotations.BroadcastingList2 is BroadcastingList2


def test_a_number_is_repeated_for_a_broadcasting_list() -> None:
    f = ts.jit.script(_total)
    assert (f(2), f([2, 3])) == (4, 5)
