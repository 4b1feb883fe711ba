"""Module and its containers behave as PyTorch's: registration, state, hooks, text, copies."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from nn_module_program import transcript

import tensorscript as ts
from tensorscript import nn
from tensorscript.eager.nn.calling import register_module_forward_hook


class Pair(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.scale = nn.Parameter(ts.tensor([2.0]))
        self.register_buffer("shift", ts.tensor([1.0]))
        self.tail = nn.ModuleList([nn.Module()])

    def forward(self, x: ts.Tensor) -> ts.Tensor:
        return x * self.scale + self.shift


@pytest.mark.torch
def test_the_program_reads_the_same_on_both_libraries() -> None:
    torch = pytest.importorskip("torch")
    expected, found = transcript(torch), transcript(ts)
    assert len(found) == len(expected) > 80
    for a, b in zip(found, expected, strict=True):
        assert a == b


def test_registered_things_are_found_by_their_tables() -> None:
    m = Pair()
    assert list(m._parameters) == ["scale"]
    assert list(m._buffers) == ["shift"]
    assert list(m._modules) == ["tail"]
    assert list(m.state_dict()) == ["scale", "shift"]
    assert repr(m) == "Pair(\n  (tail): ModuleList(\n    (0): Module()\n  )\n)"


def test_loading_names_what_is_missing_and_unexpected() -> None:
    with pytest.raises(RuntimeError) as caught:
        Pair().load_state_dict({"scale": ts.ones(2), "other": ts.ones(1)})
    assert str(caught.value) == (
        "Error(s) in loading state_dict for Pair:\n"
        '\tMissing key(s) in state_dict: "shift". \n'
        '\tUnexpected key(s) in state_dict: "other". \n'
        "\tsize mismatch for scale: copying a param with shape torch.Size([2]) from checkpoint, "
        "the shape in current model is torch.Size([1])."
    )


def test_assign_takes_the_tensors_over() -> None:
    m, new = Pair(), ts.tensor([5.0])
    m.load_state_dict({"scale": new, "shift": ts.zeros(1)}, assign=True)
    assert isinstance(m.scale, nn.Parameter)
    assert m.scale.data_ptr() == new.data_ptr()


def test_hooks_run_around_forward_and_can_be_removed() -> None:
    m, x = Pair(), ts.ones(1)
    with m.register_forward_pre_hook(lambda _, args: args[0] + 1):
        with m.register_forward_hook(lambda _, args, out: out * 10):
            assert m(x).item() == 50.0
        assert m(x).item() == 5.0
    assert m(x).item() == 3.0


def test_backward_hooks_are_of_one_kind() -> None:
    """They are kept and never called; a module that has some is not traced."""
    module = nn.Linear(1, 1)
    handle = module.register_backward_hook(lambda *_: None)
    with pytest.raises(RuntimeError, match="Cannot use both regular backward hooks and full"):
        module.register_full_backward_hook(lambda *_: None)
    with pytest.raises(ValueError, match="backward hooks assigned can't be compiled"):
        ts.jit.trace(module, ts.ones(1, 1))
    handle.remove()
    assert ts.jit.trace(module, ts.ones(1, 1)) is not module


def test_a_public_hook_of_states_is_not_a_private_one_as_well() -> None:
    module, hook = nn.Linear(1, 1), lambda *_: None
    module.register_state_dict_post_hook(hook)
    with pytest.raises(RuntimeError, match="previously registered via register_state_dict_post"):
        module._register_state_dict_hook(hook)


def test_hooks_of_all_modules() -> None:
    seen: list[Any] = []
    with register_module_forward_hook(lambda m, args, out: seen.append(type(m))):
        Pair()(ts.ones(1))
    assert seen == [Pair]


def test_pickle_and_to_keep_the_parts() -> None:
    m = pickle.loads(pickle.dumps(Pair().double()))
    assert m.scale.dtype is ts.float64 and isinstance(m.scale, nn.Parameter)
    assert m(ts.ones(1, dtype=ts.float64)).item() == 3.0


def test_devices() -> None:
    with pytest.raises(RuntimeError, match="there is no device xpu"):
        Pair().to("xpu")
    assert Pair().to("cpu").scale.dtype is ts.float32


def test_our_modules_are_scripted_and_compiled() -> None:
    x = np.array([1.0, 3.0], np.float32)
    for made in (ts.jit.script(Pair()), ts.compile(Pair())):
        assert np.asarray(made(ts.from_numpy(x))).tolist() == [3.0, 7.0]


def spectrum(x: ts.Tensor) -> ts.Tensor:
    return ts.stft(x, 4, 2, window=ts.ones(4), return_complex=True).abs()


def test_stft_is_centred_in_script_as_it_is_eagerly() -> None:
    x = ts.arange(12.0)
    expected = spectrum(x)
    assert expected.shape == (3, 7)
    assert ts.allclose(ts.jit.script(spectrum)(x), expected)
