"""Tensors of a GPU: where they are, how they move, and that they compute as those of the CPU.

There is no GPU here: a driver stands in whose memory is the host's (`host_driver.py`).
"""

from __future__ import annotations

import copy
import gc
import pickle
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from host_driver import HostDriver, host_gpus

import tensorscript as ts
from tensorscript.base.errors import NoDeviceError, OperatorError


@pytest.fixture
def gpu() -> Iterator[HostDriver]:
    """A machine with two GPUs."""
    with host_gpus() as driver:
        yield driver


def test_without_a_gpu_nothing_pretends() -> None:
    if ts.cuda.is_available():
        pytest.skip("there is a GPU")
    x = ts.ones(2)
    asks: list[Callable[[], Any]] = [
        lambda: x.cuda(),
        lambda: x.to("cuda:0"),
        lambda: x.to(0),
        lambda: ts.zeros(2, device="cuda"),
        lambda: ts.tensor([1], device="cuda"),
        lambda: ts.zeros_like(x, device="cuda"),
        lambda: ts.nn.Linear(2, 2).cuda(),
        lambda: ts.cuda.current_device(),
        lambda: ts.cuda.synchronize(),
    ]
    for ask in asks:
        with pytest.raises(NoDeviceError, match="Found no NVIDIA driver"):
            ask()
        with pytest.raises(AssertionError):  # as PyTorch without CUDA
            ask()
    assert (ts.cuda.device_count(), ts.cuda.memory_allocated()) == (0, 0)
    with ts.device("cuda"), pytest.raises(NoDeviceError):
        ts.zeros(1)
    assert ts.zeros(1).device == ts.device("cpu")


def test_a_tensor_moves_and_comes_back(gpu: HostDriver) -> None:
    x = ts.arange(6.0).reshape(2, 3)
    y = x.cuda()
    assert y.device == ts.device("cuda:0") and y.is_cuda and not y.is_cpu
    assert (y.get_device(), x.get_device()) == (0, -1)
    assert y.cuda() is y and y.to("cuda") is y and y.to(0) is y
    assert x.to("cpu") is x and y.to(1).device.index == 1
    y[0, 0] = 7.0
    assert x[0, 0] == 0 and y.cpu()[0, 0] == 7 and y.cpu().device.type == "cpu"
    assert y.type() == "torch.cuda.FloatTensor" and y.cpu().type() == "torch.FloatTensor"
    assert y.data_ptr() in gpu.memory


def test_strides_survive_the_move(gpu: HostDriver) -> None:
    x = ts.randn(2, 3, 4, 5).to(memory_format=ts.channels_last)
    assert x.cuda().stride() == x.stride() and ts.equal(x.cuda().cpu(), x)
    assert x[:, ::2].cuda().stride() == x[:, ::2].clone().stride()
    assert x.cuda().cpu().stride() == x.stride()


@pytest.mark.parametrize("dtype", [ts.float16, ts.bfloat16, ts.int64, ts.bool, ts.complex64])
def test_every_dtype_moves(gpu: HostDriver, dtype: Any) -> None:
    x = ts.tensor([0, 1, 1]).to(dtype)
    y = x.to("cuda")
    assert y.dtype is dtype and y.tolist() == x.tolist() and y[1:].is_cuda


def test_empty_tensors_live_somewhere(gpu: HostDriver) -> None:
    x = ts.zeros(0, 3, device="cuda")
    assert x.is_cuda and x.shape == (0, 3) and (x + 1).is_cuda and x.reshape(3, 0).is_cuda


def test_makers_take_a_device(gpu: HostDriver) -> None:
    x = ts.ones(2, device="cuda")
    made = [
        ts.zeros(2, device="cuda"), ts.tensor([1.0], device="cuda:0"), ts.zeros_like(x),
        ts.rand_like(x), x.new_zeros(3), x.new_tensor([1]), ts.arange(3, device="cuda"),
        ts.as_tensor([1], device="cuda"), ts.asarray([1], device="cuda"), ts.empty(2, device=0),
        ts.randn(2, device=ts.device("cuda")), x.clone(), ts.eye(2, device="cuda"),
        ts.zeros(2).to(x), ts.zeros(2).type_as(x), ts.full((2,), 1.0, device="cuda"),
    ]  # fmt: skip
    assert all(t.device == ts.device("cuda:0") for t in made)
    back = [ts.zeros_like(x, device="cpu"), x.new_ones(2, device="cpu"), x.to(ts.zeros(1))]
    assert all(t.device == ts.device("cpu") for t in back)


def test_the_default_device(gpu: HostDriver) -> None:
    with ts.device("cuda:1"):
        assert ts.zeros(1).get_device() == 1 and ts.tensor([1]).is_cuda
        assert ts.get_default_device() == ts.device("cuda:1")
        assert ts.zeros(1, device="cpu").is_cpu and not ts.from_numpy(np.ones(1)).is_cuda
        assert ts.nn.Linear(1, 1).weight.is_cuda
    assert ts.zeros(1).is_cpu
    ts.set_default_device("cuda")
    try:
        assert ts.rand(2).get_device() == 0 and repr(ts.ones(1)) == "tensor([1.])"
    finally:
        ts.set_default_device(None)
    assert ts.rand(2).is_cpu


def test_results_are_beside_the_operands(gpu: HostDriver) -> None:
    x, y = ts.randn(3, 3).cuda(), ts.randn(3, 3).cuda()
    before = ts.cuda.operators_on_host()
    one = [x + y, x @ y, x.sum(), x > 0, x.to(ts.float64), x[[0, 2]], x[x > 0], ts.cat([x, y])]
    assert all(t.is_cuda for t in one) and ts.cuda.operators_on_host() > before
    assert all(t.is_cuda for t in (*x.sort(), *x.split(2), *ts.linalg.svd(x), *x.max(0)))
    np.testing.assert_allclose((x @ y).cpu().numpy(), x.cpu().numpy() @ y.cpu().numpy(), 1e-5)
    assert (x + ts.tensor(2.0)).is_cuda and (2 * x).is_cuda  # 0-dim tensors of the CPU may join
    assert x.sum().item() == pytest.approx(x.cpu().sum().item(), rel=1e-5)


def test_views_and_writes_stay_in_memory(gpu: HostDriver) -> None:
    x = ts.zeros(4, 4, device="cuda")
    views = [x[1], x.t(), x.view(16), x.detach(), x.data, x.expand(2, 4, 4), *x.unbind()]
    assert all(v.is_cuda and v.untyped_storage() is x.untyped_storage() for v in views)
    x[1].add_(3)
    x.t().mul_(2)
    x[:, 0] = ts.ones(4)
    x[0] = 5
    assert x.is_cuda and x.cpu()[1].tolist() == [1.0, 6.0, 6.0, 6.0]
    x.resize_(8, 8)
    out = ts.empty(0, device="cuda")
    ts.add(views[0], 1, out=out)
    assert x.is_cuda and out.is_cuda and out.tolist() == [2.0, 7.0, 7.0, 7.0]
    x.copy_(ts.ones(8, 8))
    assert x.is_cuda and x.cpu().sum() == 64
    cpu = ts.zeros(8, 8)
    assert cpu.copy_(x).is_cpu and cpu.sum() == 64


def test_operands_on_two_devices_are_refused(gpu: HostDriver) -> None:
    x, y, z = ts.ones(2), ts.ones(2, device="cuda"), ts.ones(2, device="cuda:1")
    text = "Expected all tensors to be on the same device, but found at least two devices, {}!"
    for call in (lambda: x + y, lambda: y + x, lambda: y.add_(x), lambda: ts.cat([x, y])):
        with pytest.raises(RuntimeError, match=text.format("cuda:0 and cpu")):
            call()
    with pytest.raises(RuntimeError, match=text.format("cuda:1 and cuda:0")):
        y + z
    with pytest.raises(RuntimeError, match="cuda:0 and cpu"):
        x + y[0]  # a 0-dim tensor of a GPU may not
    with pytest.raises(RuntimeError, match="cuda:0 and cpu"):
        ts.tensor(1.0).add_(y[0])
    with pytest.raises(OperatorError, match="invalid device ordinal"):
        x.cuda(2)


def test_numpy_is_refused(gpu: HostDriver) -> None:
    x = ts.ones(2, device="cuda")
    text = "can't convert cuda:0 device type tensor to numpy. Use Tensor.cpu()"
    for call in (lambda: x.numpy(), lambda: np.asarray(x)):
        with pytest.raises(TypeError, match=text):
            call()
    assert x.cpu().numpy().tolist() == [1.0, 1.0]
    with pytest.raises(BufferError, match="tensors of a GPU"):
        np.from_dlpack(x)


def test_text(gpu: HostDriver) -> None:
    assert repr(ts.ones(2, device="cuda")) == "tensor([1., 1.], device='cuda:0')"
    told = repr(ts.ones(2, dtype=ts.float64, device="cuda:1", requires_grad=True))
    assert told == "tensor([1., 1.], device='cuda:1', dtype=torch.float64, requires_grad=True)"
    with ts.device("cuda"):
        assert repr(ts.zeros(1, device="cpu")) == "tensor([0.], device='cpu')"


def test_memory_is_counted_and_given_back(gpu: HostDriver) -> None:
    ts.cuda.reset_peak_memory_stats()
    before = ts.cuda.memory_allocated()
    x = ts.zeros(1000, device="cuda")
    view = x[10:]
    assert ts.cuda.memory_allocated() - before == 4000
    del x
    assert ts.cuda.memory_allocated() - before == 4000 and view.sum() == 0
    del view
    gc.collect()
    assert ts.cuda.memory_allocated() == before and ts.cuda.max_memory_allocated() >= 4000
    assert ts.cuda.memory_stats()["allocated_bytes.all.current"] == before


def test_what_cuda_tells(gpu: HostDriver) -> None:
    assert ts.cuda.is_available() and ts.cuda.device_count() == 2
    assert ts.cuda.get_device_name(1) == "Emulated 1"
    assert ts.cuda.get_device_capability() == (9, 0)
    assert ts.cuda.get_device_properties("cuda:1").total_memory == 1 << 30
    ts.cuda.set_device(1)
    assert ts.cuda.current_device() == 1 and ts.zeros(1, device="cuda").get_device() == 1
    with ts.cuda.device(0):
        assert ts.zeros(1).cuda().get_device() == 0
    with ts.cuda.device_of(ts.zeros(1, device="cuda:0")):
        assert ts.cuda.current_device() == 0
    assert ts.cuda.current_device() == 1
    ts.cuda.synchronize()
    with pytest.raises(ValueError, match="Expected a cuda device"):
        ts.cuda.set_device("cpu")
    ts.cuda.manual_seed(3)
    first = ts.rand(2, device="cuda")
    ts.cuda.manual_seed_all(3)
    assert ts.equal(ts.rand(2, device="cuda"), first)


def test_modules_move(gpu: HostDriver) -> None:
    module = ts.nn.Sequential(ts.nn.Linear(3, 4), ts.nn.BatchNorm1d(4), ts.nn.ReLU()).eval()
    x = ts.randn(5, 3)
    expected = module(x)
    weight = module[0].weight
    assert module.cuda() is module and module[0].weight is weight and weight.is_cuda
    assert all(t.is_cuda for t in (*module.parameters(), *module.buffers()))
    assert weight.requires_grad and module[1].num_batches_tracked.dtype is ts.int64
    found = module(x.cuda())
    assert found.is_cuda and ts.equal(found.cpu(), expected)
    with pytest.raises(RuntimeError, match="Expected all tensors to be on the same device"):
        module(x)
    assert all(t.is_cpu for t in module.to("cpu", ts.float64).parameters())
    assert ts.nn.Linear(2, 2, device="cuda").bias.is_cuda


def test_layers_with_state_compute(gpu: HostDriver) -> None:
    ts.manual_seed(0)
    layers = [ts.nn.LSTM(3, 4), ts.nn.GRU(3, 4), ts.nn.MultiheadAttention(4, 2)]
    inputs = [(ts.randn(5, 2, 3),), (ts.randn(5, 2, 3),), (ts.randn(5, 2, 4),) * 3]
    for layer, given in zip(layers, inputs, strict=True):
        expected = layer.eval()(*given)
        found = layer.cuda()(*(x.cuda() for x in given))
        assert found[0].is_cuda
        np.testing.assert_allclose(
            found[0].detach().cpu().numpy(), expected[0].detach().numpy(), 1e-6, 1e-6
        )


def test_gradient_flags_move(gpu: HostDriver) -> None:
    x = ts.ones(2, requires_grad=True)
    y = x.cuda()
    assert y.requires_grad and not y.is_leaf and y.detach().cuda().is_leaf
    assert ts.ones(2, device="cuda", requires_grad=True).is_leaf


def test_copies_stay(gpu: HostDriver) -> None:
    x = ts.arange(4.0).cuda()
    twins = copy.deepcopy([x, x[1:]])
    assert all(t.is_cuda for t in twins) and twins[1].data_ptr() == twins[0].data_ptr() + 4
    assert copy.copy(x).is_cuda
    again = pickle.loads(pickle.dumps([x, x[1:]]))
    assert all(t.is_cuda for t in again) and again[1].tolist() == [1.0, 2.0, 3.0]
    storage = x.untyped_storage()
    assert storage.device == ts.device("cuda:0") and storage.is_cuda and storage.clone().is_cuda
    assert storage.cpu().device.type == "cpu" and len(storage.cuda(1)) == 16


def test_files_say_where_tensors_are(gpu: HostDriver, tmp_path: Path) -> None:
    path = str(tmp_path / "state.pt")
    weight = ts.arange(6.0, device="cuda:1")
    ts.save({"weight": weight, "tail": weight[2:], "other": ts.ones(2)}, path)
    state = ts.load(path)
    assert state["weight"].get_device() == 1 and state["other"].is_cpu
    assert state["tail"].data_ptr() == state["weight"].data_ptr() + 8
    assert state["tail"].tolist() == [2.0, 3.0, 4.0, 5.0]
    asked: list[Any] = [
        "cpu", ts.device("cuda"), {"cuda:1": "cpu"}, {"cpu": "cuda:0"},
        lambda storage, location: storage, lambda storage, location: storage.cuda(0),
        lambda storage, location: None,
    ]  # fmt: skip
    found = [ts.load(path, map_location=where) for where in asked]
    assert [(f["weight"].get_device(), f["other"].get_device()) for f in found] == [
        (-1, -1), (0, 0), (-1, -1), (1, 0), (-1, -1), (0, 0), (1, -1),
    ]  # fmt: skip
    assert all(f["tail"].tolist() == [2.0, 3.0, 4.0, 5.0] for f in found)


def test_archives_load_onto_a_device(gpu: HostDriver, tmp_path: Path) -> None:
    path, x = str(tmp_path / "module.pt"), ts.randn(2, 3)
    module = ts.jit.script(ts.nn.Linear(3, 4))
    expected = module(x)
    module.save(path)
    there = ts.jit.load(path, map_location="cuda")
    assert there.weight.is_cuda and ts.equal(there(x.cuda()).cpu(), expected)
    there.save(path)
    assert ts.jit.load(path).weight.is_cuda and ts.jit.load(path, map_location="cpu").weight.is_cpu
    gpu.count = lambda: 0  # type: ignore[method-assign]  # the file goes to a machine without
    with pytest.raises(RuntimeError, match=r"please use torch.load with map_location"):
        ts.jit.load(path)


def test_scripts_and_traces_see_devices(gpu: HostDriver) -> None:
    @ts.jit.script
    def where(x: ts.Tensor) -> tuple[bool, ts.device, int, ts.Tensor, ts.Tensor]:
        zeros = ts.zeros([2], device=x.device)
        return x.is_cuda, x.device, x.get_device(), zeros + x, x.cpu()

    is_cuda, device, number, total, back = where(ts.ones(2, device="cuda:1"))
    assert (is_cuda, device, number) == (True, ts.device("cuda:1"), 1)
    assert total.get_device() == 1 and back.is_cpu
    assert where(ts.ones(2))[0] is False
    traced = ts.jit.trace(lambda x: x * 2 + 1, (ts.ones(2, device="cuda"),))
    assert traced(ts.ones(2, device="cuda")).is_cuda and traced(ts.ones(2)).is_cpu


def more(x: ts.Tensor, y: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    z = ts.softmax(x * y + ts.zeros(y.size(0), device=x.device), -1)
    return z, z.sum(-1)


def test_compiled_functions_run_on_the_gpu(gpu: HostDriver) -> None:
    x, y = ts.randn(3, 5), ts.randn(5)
    expected = ts.compile(more, fallback="error")(x, y)
    for target in ("cpu", "cuda"):
        compiled = ts.compile(more, target=target, fallback="error")
        gpu.started.clear()
        on_host, far = ts.cuda.operators_on_host(), (x.cuda(1), y.cuda(1))
        for _ in range(2):
            gpu.copied = 0
            found = compiled(*far)
            assert gpu.started and not gpu.copied  # from device memory into device memory
            for got, wanted in zip(found, expected, strict=True):
                assert got.device == ts.device("cuda:1")
                np.testing.assert_allclose(got.cpu().numpy(), wanted.numpy(), 1e-5, 1e-6)
        assert ts.cuda.operators_on_host() == on_host and len(compiled.stats.native) == 1
        with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu!"):
            compiled(x.cuda(), y)
        with pytest.raises(RuntimeError, match="at least two devices, cuda:1 and cuda:0!"):
            compiled(x.cuda(1), y.cuda(0))


def test_views_that_begin_anywhere_are_copied_for_vectors(gpu: HostDriver) -> None:
    def scaled(x: ts.Tensor) -> ts.Tensor:
        return x * 2 + 1

    x = ts.arange(68.0)
    compiled = ts.compile(scaled, fallback="error")
    for start in (0, 1, 4):
        view = x.cuda()[start : start + 64]
        assert compiled(view).cpu().tolist() == scaled(x[start : start + 64]).tolist()
    assert gpu.started


def test_compiled_code_for_both_devices_side_by_side(gpu: HostDriver) -> None:
    compiled = ts.compile(more, fallback="error")
    x, y = ts.randn(3, 5), ts.randn(5)
    assert [t.is_cuda for t in (*compiled(x, y), *compiled(x.cuda(), y.cuda()))] == [
        False, False, True, True,
    ]  # fmt: skip
    strided = compiled(x.t().contiguous().cuda().t(), y.cuda())
    assert ts.allclose(strided[0].cpu(), compiled(x, y)[0])


def test_compiled_modules_run_where_their_weights_are(gpu: HostDriver) -> None:
    module = ts.nn.Sequential(ts.nn.Linear(3, 4), ts.nn.BatchNorm1d(4), ts.nn.ReLU()).eval()
    x = ts.randn(5, 3)
    expected = module(x)
    compiled = ts.compile(module.cuda(), fallback="error")
    found = compiled(x.cuda())
    assert found.is_cuda and gpu.started and ts.allclose(found.cpu(), expected, atol=1e-5)
    with pytest.raises(RuntimeError, match="at least two devices, cuda:0 and cpu!"):
        compiled(x)


def grown(x: ts.Tensor) -> ts.Tensor:
    x.add_(1)
    return x


def facts(x: ts.Tensor) -> tuple[bool, bool, int, ts.device, ts.Tensor]:
    return x.is_cuda, x.is_cpu, x.get_device(), x.device, x + 1


def test_compiled_code_writes_to_its_arguments_and_knows_where_it_is(gpu: HostDriver) -> None:
    compiled, x = ts.compile(grown, fallback="error"), ts.zeros(3, device="cuda")
    assert compiled(x) is x and x.tolist() == [1.0, 1.0, 1.0] and x._version == 1
    told = ts.compile(facts, fallback="error")
    assert told(x)[:4] == (True, False, 0, ts.device("cuda:0"))
    assert told(ts.zeros(3))[:4] == (False, True, -1, ts.device("cpu"))


def leaves(x: ts.Tensor) -> tuple[ts.Tensor, ts.Tensor]:
    return x.cpu() + 1, ts.zeros(2)


def test_what_leaves_the_gpu_is_interpreted(gpu: HostDriver) -> None:
    compiled = ts.compile(leaves)
    assert not any(t.is_cuda for t in compiled(ts.ones(2, device="cuda")))
    assert compiled.stats.interpreted_calls == 1
    assert compiled.stats.fallbacks == ["(2:f32): aten::cpu: tensors on the CPU"]


def test_libraries_of_tensors_follow(gpu: HostDriver) -> None:
    x = ts.rand(3, device="cuda")
    normal = ts.distributions.Normal(x, 1.0)
    assert normal.sample().is_cuda and normal.log_prob(x).is_cuda
    assert ts.masked.var(x, 0).is_cuda and ts.svd_lowrank(x.reshape(1, 3))[1].is_cuda
    ts.testing.assert_close(x, x.clone())
    with pytest.raises(AssertionError, match="attribute 'device' do not match: cuda:0 != cpu"):
        ts.testing.assert_close(x, x.cpu())
    ts.testing.assert_close(x, x.cpu(), check_device=False)
    with pytest.warns(UserWarning, match="Autocast of GPUs is not available"):
        ts.autocast("cuda")


def test_what_no_gpu_holds(gpu: HostDriver) -> None:
    with pytest.raises(OperatorError, match="live on the CPU only"):
        ts.eye(3).to_sparse().cuda()
