"""Programs on tensors: construction, methods, indexing, attributes.

The format is that of `language_harness`.
"""

TEXT = r"""
=== device_ops
def f(x):
    d = x.device
    return d, d.type, d.index, d == torch.device("cpu"), str(d)
>>> f(T([1.0]))

=== device_constants
def f(x):
    d = torch.device("cpu")
    return torch.ones([2], device=d) + x, d == x.device, str(d), d.type
>>> f(T([1.0, 2.0]))

=== views_reshaped_in_place
def f(x):
    y = x[1:]
    z = y + 1
    y.unsqueeze_(0)
    w = (x * 2).unsqueeze_(1).transpose_(0, 1)
    w += 1
    v = x.view(-1)
    v.unsqueeze_(-1)
    return y * 2, y.size(), z, w.size(), w.sum(0), v + 1, x
>>> f(T([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]))

=== reshaped_in_loops
def f(x, n: int):
    total = x.sum()
    for k in range(n):
        y = x + k
        y.squeeze_(0).unsqueeze_(-1)
        total = total + y.sum(-1).mean()
    return total
>>> f(T([[1.0, 2.0]]), 3)

=== repeats_by_number
def f(x, n: int):
    whole = torch.repeat_interleave(x, n)
    return x.repeat_interleave(n, 0), whole, x.repeat_interleave(torch.tensor(x.size(0)), 1)
>>> f(T([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), 2)
>>> f(T([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]]), 0)

=== repeats_by_counts
def f(x, counts):
    places = torch.repeat_interleave(counts)
    return x.repeat_interleave(counts, 0), places, x.repeat_interleave(counts[:1], 1)
>>> f(T([[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]), T([2, 0, 3]))
>>> f(T([[1.0, 2.0], [3.0, 4.0]]), T([1, 1]))

=== repeats_of_a_size
def f(x, counts, n: int):
    return x.repeat_interleave(counts, 0, output_size=n)
>>> f(T([1.0, 2.0]), T([2, 1]), 3)
>>> f(T([1.0, 2.0]), T([2, 1]), 4)
>>> f(T([1.0, 2.0]), T([2, -1]), 1)
>>> f(T([1.0, 2.0]), T([1, 1, 1]), 3)

=== dtype_ops
def f(x):
    return x.dtype, x.dtype == torch.float32, x.to(torch.int32), x.layout == torch.strided
>>> f(T([1.5]))

=== dtype_arg
def f(x, d: torch.dtype):
    return x.to(d)
>>> f(T([1.5]), torch.int64)

=== shape_ops
def f(x):
    a, b = x.shape
    n = x.shape[0]
    l = x.size()
    m: List[int] = x.shape
    return a, b, n, l, m, len(x.shape), x.ndim, x.numel(), x.size(-1), x.dim()
>>> f(T([[1.0, 2.0, 3.0]]))

=== tensor_methods
def f(x):
    return x.sum(), x.mean(dim=0), x.max(), x.t(), x.view(-1), x.view(2, 2), x.reshape([4]), x.transpose(0, 1), x.float(), x.int(), x.item() if x.numel() == 1 else 0.0
>>> f(T([[1.0, 2.0], [3.0, 4.0]]))

=== tensor_item_types
def f(x):
    a = x.item()
    b = int(x)
    c = float(x)
    d = bool(x)
    return a, b, c, d
>>> f(T(3))
>>> f(T(2.5))

=== tensor_tolist_nested
def f(x):
    a: List[List[float]] = x.tolist()
    return a
>>> f(T([[1.0, 2.0]]))

=== tensor_tolist_nohint
def f(x):
    return x.tolist()
>>> f(T([1, 2]))

=== tensor_ctor
def f(a: int, b: float):
    return torch.tensor(a), torch.tensor([a, a]), torch.tensor([[b]]), torch.tensor(b, dtype=torch.float64), torch.tensor([True, False]), torch.tensor([a], dtype=torch.float32)
>>> f(1, 2.5)

=== torch_fn_variety
def f(x):
    return torch.cat([x, x]), torch.max(x, 0)[0], torch.max(x, dim=0).values, torch.where(x > 1, x, -x), torch.topk(x, 1), torch.arange(3), torch.clamp(x, min=1.5), x.clamp(max=1.0)
>>> f(T([1.0, 2.0]))

=== torch_missing
def f(x):
    return torch.does_not_exist(x)
>>> f(T([1.0]))

=== tensor_missing_attr
def f(x):
    return x.does_not_exist()
>>> f(T([1.0]))

=== tensor_bad_kw
def f(x):
    return torch.sum(x, dims=0)
>>> f(T([1.0]))

=== topk_ret
def f(x):
    return torch.topk(x, 1)
>>> f(T([1.0, 2.0]))

=== max_ret
def f(x):
    return torch.max(x, 0), x.sort()
>>> f(T([1.0, 2.0]))

=== max_var
def f(x):
    r = torch.max(x, 0)
    return r
>>> f(T([1.0, 2.0]))

=== max_attr
def f(x):
    r = torch.max(x, 0)
    return r.values, r.indices, r[0]
>>> f(T([1.0, 2.0]))

=== tensor_cmp_chain
def f(x, a: float):
    return (x > a) & (x < 5), a < x, 2 * x, 1 / x, 1 - x, x ** 2, 2 ** x, -x, ~(x > 1), x // 2, 7 // x, x % 2, 7 % x
>>> f(T([1.0, 3.0]), 2.0)

=== tensor_index_forms
def f(x, i: int):
    return x[0], x[-1], x[i], x[:, 0], x[..., 1], x[None], x[:, None, 0], x[0:1], x[::2], x[i:, :i], x[x > 2], x[torch.tensor([0, 1])], x[[0, 1]], x[:, [0, 1]], x[0, ...], x[0][1]
>>> f(T([[1.0, 2.0], [3.0, 4.0]]), 1)

=== tensor_index_assign
def f(x, i: int):
    x[0] = 5.0
    x[i, 0] = 6
    x[:, 1] = torch.tensor([7.0, 8.0])
    x[x > 7] = 0.0
    x[torch.tensor([0])] = 1.0
    x[..., 0] = x[..., 1]
    return x
>>> f(T([[1.0, 2.0], [3.0, 4.0]]), 1)

=== tensor_bool_index
def f(x):
    return x[True], x[None, True]
>>> f(T([1.0]))

=== tensor_neg_step
def f(x):
    return x[::-1]
>>> f(T([1.0]))

=== tensor_index_str
def f(x):
    return x["a"]
>>> f(T([1.0]))

=== tensor_index_float
def f(x):
    return x[1.5]
>>> f(T([1.0]))

=== tensor_too_many
def f(x):
    return x[0, 0, 0]
>>> f(T([1.0]))

=== tensor_index_tuple_var
def f(x, t: Tuple[int, int]):
    return x[t]
>>> f(T([[1.0]]), (0, 0))

=== tensor_index_list_var
def f(x, t: List[int]):
    return x[t]
>>> f(T([[1.0], [2.0]]), [0, 1])

=== tensor_iter_unpack
def f(x):
    a, b = x.unbind(0)
    c, d = torch.split(x, 1)
    e, g = x.chunk(2)
    return a, b, c, d, e, g
>>> f(T([1.0, 2.0]))

=== getitem_by_name
def f(x: Tensor, i: Tensor):
    return x.__getitem__(i)
>>> f(T([1, 2, 3]), T([0, 2]))
>>> f(T([1, 2, 3]), T([True, False, True]))

=== getitem_by_name_without_index
def f(x: Tensor):
    return x.__getitem__()
>>> f(T([1, 2, 3]))

=== getitem_by_name_of_int
def f(x: Tensor):
    return x.__getitem__(0)
>>> f(T([1, 2, 3]))

=== no_dimensions_flatten
def f(x):
    return x.flatten(1)
>>> f(T(1.5))

=== no_dimensions_transpose
def f(x):
    return x.transpose(0, 1)
>>> f(T(1.5))

=== no_dimensions_softmax
def f(x):
    return x.softmax(1)
>>> f(T(1.5))

=== no_dimensions_log_softmax
def f(x):
    return x.log_softmax(-2)
>>> f(T(1.5))

=== no_dimensions_sort
def f(x):
    return x.sort(1)[0]
>>> f(T(1.5))

=== no_dimensions_argsort
def f(x):
    return x.argsort(1)
>>> f(T(1.5))

=== no_dimensions_topk
def f(x):
    return x.topk(1, 1)[0]
>>> f(T(1.5))

=== no_dimensions_topk_of_two
def f(x):
    return x.topk(2)[0]
>>> f(T(1.5))

=== no_dimensions_unbind
def f(x):
    return x.unbind(1)
>>> f(T(1.5))

=== no_dimensions_split
def f(x):
    return x.split(1)
>>> f(T(1.5))

=== no_dimensions_split_sizes
def f(x):
    return x.split([1, 1])
>>> f(T(1.5))

=== no_dimensions_chunk
def f(x):
    return x.chunk(2)
>>> f(T(1.5))

=== no_dimensions_unfold
def f(x):
    return x.unfold(0, 2, 1)
>>> f(T(1.5))

=== no_dimensions_slice
def f(x):
    return x[1:]
>>> f(T(1.5))

=== no_dimensions_quantile
def f(x):
    return x.quantile(0.5, 1)
>>> f(T(1.5))

=== no_dimensions_size
def f(x):
    return x.size(1)
>>> f(T(1.5))

=== no_dimensions_stride
def f(x):
    return x.stride(0)
>>> f(T(1.5))

=== integers_by_zero
def f(x, n: int):
    return x % n
>>> f(T([5, 6]), 0)
>>> f(T([5, 6]), 4)
>>> f(torch.zeros(0, dtype=torch.int64), 0)
>>> f(T([5, 6], dtype=torch.int8), 256)
>>> f(T([5, 6], dtype=torch.int8), 300)
>>> f(T([True, False]), 0)

=== integers_by_zero_rounded
def f(x, n: int):
    return x // n, x.fmod(n), torch.div(x, n, rounding_mode="trunc")
>>> f(T([5, -6]), 0)
>>> f(T([5, -6]), 4)
>>> f(torch.zeros(0, 2, dtype=torch.int32), 0)

=== zero_by_integers
def f(x, n: int):
    return n // x, n % x
>>> f(T([5, 0]), 7)
>>> f(T([5, 2]), 7)
>>> f(torch.zeros(0, dtype=torch.int64), 7)

=== losses_of_nothing
def f(x, t):
    sums = F.cross_entropy(x, t, reduction="sum")
    return F.cross_entropy(x, t), sums, F.cross_entropy(x, t, reduction="none")
>>> f(torch.zeros(0, 3), torch.zeros(0, 3))
>>> f(torch.zeros(2, 0), torch.zeros(2, 0))
>>> f(torch.zeros(2, 3, 0), torch.zeros(2, 3, 0))
>>> f(torch.zeros(2, 3), torch.ones(2, 3))
"""
