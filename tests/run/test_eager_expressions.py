"""Expressions in PyTorch's words, in eager mode and in PyTorch: the same value, or the same kind of
refusal with the same beginning."""

from __future__ import annotations

import pytest

import tensorscript as ts

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.torch

VALUES = """
torch.tensor(3.).flip(0)
torch.tensor(3.).mT, torch.tensor(3.).mH, torch.tensor(3.).adjoint()
torch.mean(torch.ones(2, 3), 1, keepdim=True, out=None)
torch.add(x1=torch.ones(2), x2=torch.ones(2))
torch.ones(2, dtype=torch.int64).__ilshift__(2)
torch.ones(2, dtype=torch.int64).__irshift__(torch.tensor(1))
torch.ones(5).expand(1, 1, 5).stride(), torch.ones(2, 3).expand(1, 4, 2, 3).stride()
torch.result_type(1, 1.5), torch.result_type(1, True), torch.result_type(1, 2j)
torch.ones(3, 3).fill_diagonal_(5), torch.ones(5, 2).fill_diagonal_(5, wrap=True)
torch.ones(3).is_signed(), torch.ones(3, dtype=torch.uint8).is_signed(), torch.ones(3).is_pinned()
torch.randint(3, (2,), generator=torch.Generator().manual_seed(3))
torch.randint(1, 3, (2,), generator=torch.Generator().manual_seed(3))
torch.randperm(5, generator=torch.Generator().manual_seed(3))
torch.Generator().manual_seed(-1).initial_seed(), torch.Generator().get_state().shape
torch.rand(2, generator=torch.Generator().set_state(torch.Generator().manual_seed(4).get_state()))
torch._aminmax(torch.arange(3.))
torch.asarray(b"abcdefgh", dtype=torch.uint8), torch.asarray(3.5), torch.asarray([1, 2], copy=True)
torch.asarray(torch.ones(2), requires_grad=True).requires_grad
torch.repeat_interleave(torch.tensor([1, 2]))
torch.block_diag(), torch.combinations(torch.arange(3), 0)
torch.cat([torch.ones(0), torch.ones(0)], 1)
torch.addcmul(torch.ones(2), 0.5, torch.ones(2), torch.ones(2))
torch.addcdiv(torch.ones(2), 0.5, torch.ones(2), torch.ones(2)), torch.add(torch.ones(2), 2, torch.ones(2))
torch.ones(2).new(size=(2, 3)).shape, torch.ones(2).new_full((2,), 3., requires_grad=True).requires_grad
torch.ones(2).map2_(torch.ones(2), torch.ones(2), lambda a, b, c: a + b + c)
torch.index_add(torch.ones(3, dtype=torch.uint8), 0, torch.tensor([1]), torch.ones(1, dtype=torch.uint8), alpha=-1)
torch.logspace(0.9, 3.7, 6, dtype=torch.int64)
torch.logspace(0.9, -3.7, 6, 2.5, dtype=torch.int16)
torch.logspace(0.9, 3.7, 1, dtype=torch.int64)
torch.logspace(4.3, 6.9, 4, 2.0, dtype=torch.uint8)
torch.arange(0, 2, 0.5, dtype=torch.int32)
torch.nextafter(torch.tensor([0., 1., -1., 256.]).bfloat16(), torch.tensor([-1.]).bfloat16())
torch.nextafter(torch.tensor([0., 1., 3.3895e38]).bfloat16(), torch.tensor([2e38]).bfloat16())
torch.logspace(0, 3, 4, 2, out=torch.zeros(2, 3).narrow(1, 1, 2))
torch.arange(0, 4, out=torch.zeros(2, 3).narrow(1, 1, 2))
torch.split_copy(torch.arange(4.), 2, out=(torch.empty(2), torch.empty(2)))
torch.ones(3)[1:].untyped_storage().nbytes(), torch.ones(3).is_set_to(torch.ones(3))
torch.ones(2).type(torch.DoubleTensor).dtype
list(reversed(torch.arange(6).view(3, 2)))
torch.Tensor.add is torch.Tensor.add, torch.Tensor.add.__name__
torch.ones(2, dtype=float).dtype, torch.arange(3, dtype=int), torch.ones(2).to(bool)
torch.tensor([1, 2], dtype=float), torch.as_tensor([1.5], dtype=int), torch.finfo(float).bits
torch.can_cast(float, int), torch.ones(2).sum(dtype=complex)
torch.arange(3.)[..., ...], torch.arange(6).view(2, 3)[[[0, 1], [1, 2]]]
torch.arange(3.)[torch.tensor([1, 0, 1], dtype=torch.uint8)]
(lambda x: (x.__setitem__(torch.tensor(1, dtype=torch.uint8), torch.tensor(5.)), x))(torch.zeros(2))
torch.zeros(3).index_put_((torch.tensor([True, False, True]),), torch.tensor(2))
torch.empty(3, 2).t().resize_as_(torch.empty(3, 2).t()).stride()
torch.ones(1).resize_as_(torch.ones(2, 3, 4, 5).to(memory_format=torch.channels_last), memory_format=torch.preserve_format).stride()
torch.view_as_complex(torch.ones(0, 2)).shape
(lambda x: x.flatten(1, 1) is x)(torch.ones(2, 2))
torch.maximum(torch.ones(2), torch.ones(2), out=torch.empty(2, dtype=torch.complex64))
torch.clamp(torch.ones(2), torch.zeros(2), out=torch.empty(2, dtype=torch.double))
""".strip().splitlines()  # noqa: E501  # one expression a line

REFUSALS = """
torch.tensor([3.]).mT
torch.tensor([3.]).adjoint()
torch.maximum(torch.ones(2, dtype=torch.complex64), torch.ones(2))
torch.heaviside(torch.ones(2, dtype=torch.complex64), torch.ones(2))
torch.isposinf(torch.ones(2), out=torch.empty(2))
torch.all(torch.ones(2, 2), 0, out=torch.empty(2))
torch.ones(2, dtype=torch.int16).float_power_(2)
torch.ones(2, dtype=torch.complex64).float_power_(2)
torch.float_power(torch.ones(2, dtype=torch.complex64), 2, out=torch.empty(2, dtype=torch.complex64))
torch.tensor_split(torch.tensor(1), 2)
torch.mode(torch.ones(0))
torch.kthvalue(torch.ones(0, 3), 1, 0)
torch.hann_window(3, dtype=torch.int64)
torch.ones(2).random_(5, 3)
torch.ones(2, dtype=torch.uint8).random_(-5, 3)
torch.ones(2, dtype=torch.uint8).random_(0, 300)
torch.ones(2, 3)[:, 1.5:]
torch.nonzero(torch.ones(2), out=torch.empty(2))
torch.nonzero(torch.ones(2), as_tuple=True, out=torch.empty(2, dtype=torch.int64))
"x" in torch.ones(2)
torch.randperm(-1)
torch._assert_async(torch.tensor(0))
torch.ones(2).__iadd__([1])
torch.zeros(3).__setitem__(torch.tensor([0, 1]), torch.ones(2, dtype=torch.double))
torch.zeros(3).__setitem__(torch.tensor([0, 1]), torch.ones(3, dtype=torch.double))
torch.zeros(3).__setitem__(torch.tensor([1, 0, 1], dtype=torch.uint8), torch.tensor(1.))
torch.zeros(3).__setitem__(slice(0, 2), torch.ones(3))
torch.zeros(3).__setitem__(0, "a")
torch.zeros(3).index_put_((torch.tensor([0]),), torch.ones(1, dtype=torch.int64), accumulate=True)
torch.zeros(3).index_copy_(0, torch.tensor([0]), torch.ones(1, dtype=torch.int64))
torch.zeros(3).index_add_(0, torch.tensor([0]), torch.ones(1, dtype=torch.int64))
torch.zeros(3).index_select(0, torch.tensor([[0]]))
torch.zeros(3).index_select(0, torch.tensor([0.]))
torch.zeros(3).masked_scatter_(torch.tensor([True, False, True]), torch.ones(3, dtype=torch.double))
torch.unravel_index(torch.tensor(0.5), (2, 2))
torch.unravel_index(torch.tensor(5), 2.5)
torch.unravel_index(torch.tensor(5), (2.5, 2))
torch.tensor_split(torch.tensor(1), torch.tensor(2))
torch.tensor_split(torch.ones(3), torch.tensor([1.5]))
torch.tensor_split(torch.ones(3), torch.tensor([[1]]))
torch.empty((), dtype=torch.float64).resize_([2, 4, 2**29, 2**29])
torch.empty((), dtype=torch.float64).resize_([8, 8, 2**29, 2**29])
torch.empty((), dtype=torch.float64).resize_([0, 4, 2**61])
torch.ones(2, dtype=torch.complex64) < 1
torch.ones(2, dtype=torch.complex64).max()
torch.ones(2, dtype=torch.complex64).max(0)
torch.ones(2, dtype=torch.complex64).sort()
torch.ones(2, dtype=torch.complex64).floor()
torch.ones(2, dtype=torch.complex64).relu()
torch.ones(2, dtype=torch.complex64) % 2
torch.ones(2, dtype=torch.complex64).sign()
torch.ones(2, dtype=torch.complex64) & 1
torch.nn.functional.mse_loss(torch.ones(2, dtype=torch.complex64), torch.ones(2))
torch.neg(torch.ones(2), out=torch.empty(2, dtype=torch.double))
torch.clamp(torch.ones(2), 0, 1, out=torch.empty(2, dtype=torch.double))
torch.mm(torch.ones(2, 2), torch.ones(2, 2), out=torch.empty(2, 2, dtype=torch.int64))
torch.sort(torch.ones(2), out=(torch.empty(2, dtype=torch.double), torch.empty(2, dtype=torch.int64)))
torch.argmax(torch.ones(2), out=torch.empty((), dtype=torch.int32))
""".strip().splitlines()  # noqa: E501  # one expression a line


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", VALUES)
def test_value(text: str) -> None:
    assert repr(eval(text, {"torch": ts})) == repr(eval(text, {"torch": torch}))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("text", REFUSALS)
def test_refusal(text: str) -> None:
    def outcome(namespace: object) -> object:
        try:
            return eval(text, {"torch": namespace})
        except (RuntimeError, TypeError, IndexError) as error:
            kind = next(k for k in (IndexError, TypeError, RuntimeError) if isinstance(error, k))
            return kind, str(error)[:40]

    assert outcome(ts) == outcome(torch)


def test_parts_of_complex_numbers_are_assigned() -> None:
    z = ts.zeros(2, dtype=ts.complex64)
    z.real, z.imag = ts.tensor([1.0, 2.0]), 3.0
    assert z.tolist() == [1 + 3j, 2 + 3j]


def test_masks_of_bytes_are_deprecated() -> None:
    with pytest.warns(UserWarning, match="indexing with dtype torch.uint8 is now deprecated"):
        found = ts.arange(3)[ts.tensor([1, 0, 1], dtype=ts.uint8)]
    assert found.tolist() == [0, 2]
