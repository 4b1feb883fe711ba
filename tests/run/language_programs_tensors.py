"""Programs on tensors; the format is that of `language_harness`."""

TEXT = r"""
=== tensor_arithmetic
def f(x: Tensor, y: Tensor):
    return x + y, x - y, x * y, x / y, x // y, x % y, x ** 2, -x
>>> f(T([5.0, -7.0]), T([2.0, 2.0]))

=== tensor_scalar
def f(x, a: int, b: float):
    return x + a, x * b, 1 - x, 2.0 / x, x - b, a * x, x // 2, x % 3
>>> f(T([1.0, 2.0]), 3, 0.5)
>>> f(T([1, 2]), 3, 0.5)

=== tensor_compare
def f(x, y):
    return x < y, x >= y, x == y, x != y, (x > 0) & (y > 0), (x > 0) | (y > 1), ~(x > 0)
>>> f(T([1.0, -1.0]), T([1.0, 2.0]))

=== tensor_matmul
def f(x, y):
    return x @ y, torch.mm(x, y), x.matmul(y), x.t() @ x
>>> f(T([[1.0, 2.0], [3.0, 4.0]]), T([[0.5, 1.0], [1.5, 2.0]]))

=== tensor_inplace
def f(x):
    y = x.clone()
    y += 1
    y *= 2
    y.add_(3)
    y[0] = 9.0
    return x, y
>>> f(T([1.0, 2.0]))

=== tensor_caller_mutation
def f(x):
    x.mul_(2)
    return x.sum()
>>> f(T([1.0, 2.0]))

=== tensor_index
def f(x):
    return x[0], x[-1], x[:, 1], x[0, 1], x[1:], x[..., 0], x[None], x[:, None, 0]
>>> f(T([[1.0, 2.0], [3.0, 4.0]]))

=== tensor_index_behind_ellipsis
def f(x):
    y = x.clone()
    y[..., None, 0] = 7.0
    return x[..., None, -1], x[..., None], x[..., 0, None], x[..., None, 0:1, None], x[None, ..., 1, :], y
>>> f(T([[[1.0, 2.0], [3.0, 4.0], [5.0, 6.0]]]))

=== tensor_index_tensor_behind_ellipsis
def f(x, i):
    return x[..., i]
>>> f(T([[1.0, 2.0], [3.0, 4.0]]), T([1, 0]))

=== tensor_index_tensor
def f(x, i):
    return x[i], x[i, 0], x[x > 2], x[:, i]
>>> f(T([[1.0, 2.0], [3.0, 4.0]]), T([1, 0]))

=== tensor_index_list
def f(x):
    return x[[1, 0]]
>>> f(T([[1.0, 2.0], [3.0, 4.0]]))

=== tensor_slices
def f(x):
    return x[1:3], x[::2], x[:-1], x[-2:], x[1:10]
>>> f(T([1.0, 2.0, 3.0, 4.0]))

=== tensor_assign
def f(x):
    y = x.clone()
    y[0] = 5
    y[1:, 0] = 7.0
    y[:, 1] += 1
    y[y > 6] = 0
    return y
>>> f(T([[1.0, 2.0], [3.0, 4.0]]))

=== tensor_assign_index
def f(x, i, v):
    y = x.clone()
    y[i] = v
    return y
>>> f(T([1.0, 2.0, 3.0]), T([2, 0]), T([8.0, 9.0]))

=== tensor_condition
def f(x):
    if x.sum() > 0:
        return x * 2
    else:
        return -x
>>> f(T([1.0, 2.0]))
>>> f(T([-1.0, -2.0]))

=== tensor_while
def f(x):
    n = 0
    while bool(x.sum() < 100):
        x = x * 2
        n += 1
    return x, n
>>> f(T([1.0, 2.0]))

=== tensor_loop
def f(x, n: int):
    for i in range(n):
        x = x + i
        if i > 2:
            break
    return x
>>> f(T([1.0, 2.0]), 2)
>>> f(T([1.0, 2.0]), 9)

=== tensor_iterate
def f(x):
    total = torch.zeros(2)
    for row in x:
        total = total + row
    return total
>>> f(T([[1.0, 2.0], [3.0, 4.0]]))

=== tensor_shape
def f(x):
    a, b = x.shape
    return x.shape, x.size(), x.size(0), x.dim(), x.ndim, len(x), x.numel(), a * b, x.shape[1]
>>> f(T([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]))

=== tensor_view
def f(x):
    return x.view(-1), x.view(3, 2), x.reshape([6]), x.permute(1, 0), x.transpose(0, 1), x.T, x.flatten(), x.unsqueeze(0)
>>> f(T([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]))

=== tensor_view_sizes
def f(x):
    n, m = x.size(0), x.size(1)
    return x.view(m, n), x.reshape(n * m), x.expand(2, n, m)
>>> f(T([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]))

=== tensor_reduce
def f(x):
    return x.sum(), x.mean(), x.max(), x.min(), x.prod(), x.sum(0), x.mean(1, True), x.sum(dim=[0, 1]), x.argmax(), x.argmax(1)
>>> f(T([[1.0, 2.0, 3.0], [3.0, 4.0, 5.0]]))

=== tensor_max_dim
def f(x):
    values, indices = torch.max(x, 1)
    m = x.max(dim=0)
    return values, indices, m.values, m[1]
>>> f(T([[1.0, 5.0, 3.0], [3.0, 4.0, 5.0]]))

=== tensor_topk_sort
def f(x):
    v, i = x.topk(2)
    s = torch.sort(x, descending=True)
    return v, i, s[0], s.indices
>>> f(T([1.0, 5.0, 3.0]))

=== tensor_item
def f(x):
    return x.item(), x[0].item() if x.dim() > 0 else 1.0
>>> f(T(2.5))

=== tensor_casts
def f(x):
    return int(x), float(x), bool(x), x.int(), x.float(), x.long(), x.double(), x.to(torch.float64)
>>> f(T(2.5))
>>> f(T(3))

=== tensor_tolist
def f(x):
    a: List[float] = x.tolist()
    return a
>>> f(T([1.0, 2.0]))

=== tensor_creation
def f(n: int):
    return (torch.zeros(n), torch.ones(2, n), torch.arange(n), torch.full([2], 1.5), torch.eye(n),
            torch.tensor([1, 2]), torch.tensor(3.5), torch.linspace(0.0, 1.0, 3), torch.empty(0))
>>> f(3)

=== tensor_creation_dtype
def f(n: int):
    return torch.zeros(n, dtype=torch.int64), torch.ones([n], dtype=torch.double), torch.arange(1, n, 2), torch.arange(0.0, 1.0, 0.25)
>>> f(5)

=== tensor_like
def f(x):
    return torch.zeros_like(x), torch.ones_like(x), torch.full_like(x, 3.0), x.new_zeros([2]), x.new_ones(2)
>>> f(T([1.0, 2.0]))

=== tensor_tensor_of_values
def f(a: int, b: float, xs: List[float]):
    return torch.tensor([a, a + 1]), torch.tensor(xs), torch.tensor(b), torch.tensor([[a], [2]]), torch.tensor(a, dtype=torch.float32)
>>> f(3, 0.5, [1.5, 2.5])

=== tensor_cat_stack
def f(x, y):
    return torch.cat([x, y]), torch.stack([x, y]), torch.cat((x, y), dim=0), torch.stack([x, y], 1)
>>> f(T([1.0, 2.0]), T([3.0, 4.0]))

=== tensor_split
def f(x):
    a, b = x.chunk(2, dim=0)
    parts = x.split(1)
    return a, b, parts, len(parts), torch.unbind(x)
>>> f(T([[1.0, 2.0], [3.0, 4.0]]))

=== tensor_list_append
def f(x):
    out: List[Tensor] = []
    for i in range(x.size(0)):
        out.append(x[i] * i)
    return torch.stack(out), out
>>> f(T([[1.0, 2.0], [3.0, 4.0]]))

=== tensor_where
def f(x):
    return torch.where(x > 0, x, torch.zeros_like(x)), x.clamp(min=0.0), x.clamp(-1, 1), torch.clamp(x, max=1.0), x.masked_fill(x < 0, 0.5)
>>> f(T([1.5, -2.0]))

=== tensor_pointwise
def f(x):
    return (x.exp(), x.log(), torch.sin(x), x.sqrt(), x.abs(), x.sigmoid(), torch.tanh(x), x.relu(), x.floor(), x.round(),
            x.reciprocal(), x.rsqrt(), x.pow(3), torch.erf(x))
>>> f(T([1.5, 2.0]))

=== tensor_dtype_attr
def f(x):
    return x.dtype == torch.float32, x.device, x.is_cuda, x.requires_grad, x.type_as(x), x.is_floating_point()
>>> f(T([1.5]))

=== tensor_device
def f(x):
    return torch.zeros([2], device=x.device, dtype=x.dtype), x.device.type, str(x.device)
>>> f(T([1.5]))

=== tensor_functional
def f(x):
    return F.relu(x), F.softmax(x, dim=-1), F.gelu(x), F.leaky_relu(x, 0.2), F.log_softmax(x, 1), F.sigmoid(x), F.tanh(x), F.elu(x), F.silu(x), F.softplus(x)
>>> f(T([[1.5, -2.0], [0.5, 1.0]]))

=== tensor_dropout
def f(x):
    return F.dropout(x, 0.5, training=False), F.dropout(x, p=0.0)
>>> f(T([1.5, 2.0]))

=== tensor_linear
def f(x, w, b):
    return F.linear(x, w, b), F.linear(x, w)
>>> f(T([[1.0, 2.0]]), T([[0.5, 1.0], [1.0, 1.0]]), T([0.5, 0.25]))

=== tensor_norms
def f(x, w, b):
    return F.layer_norm(x, [2], w, b), F.batch_norm(x, w, w + 1, None, None, False), F.normalize(x, dim=1)
>>> f(T([[1.0, 2.0], [3.0, 5.0]]), T([0.5, 1.0]), T([0.5, 0.25]))

=== tensor_conv
def f(x, w):
    return F.conv2d(x, w), F.conv2d(x, w, None, 2, 1), F.max_pool2d(x, 2), F.avg_pool2d(x, 2), F.adaptive_avg_pool2d(x, [1, 1])
>>> f(torch.arange(16.0).reshape(1, 1, 4, 4), T([[[[1.0, 0.5], [0.25, 2.0]]]]))

=== tensor_interpolate
def f(x):
    return F.interpolate(x, scale_factor=2.0), F.interpolate(x, size=[3, 3], mode="bilinear", align_corners=False)
>>> f(torch.arange(4.0).reshape(1, 1, 2, 2))

=== tensor_losses
def f(x, t, c):
    return F.mse_loss(x, t), F.cross_entropy(x, c), F.l1_loss(x, t), F.nll_loss(F.log_softmax(x, 1), c), F.mse_loss(x, t, reduction="sum")
>>> f(T([[1.0, 2.0]]), T([[0.5, 1.0]]), T([1]))

=== tensor_pad
def f(x):
    return F.pad(x, [1, 1]), F.pad(x, (0, 2), "constant", 3.0), F.pad(x, [1, 0], value=0.5)
>>> f(T([[1.0, 2.0]]))

=== tensor_embedding
def f(i, w):
    return F.embedding(i, w), F.one_hot(i, 3)
>>> f(T([1, 0]), T([[1.0, 2.0], [3.0, 4.0]]))

=== tensor_bmm_einsum
def f(x, y):
    return torch.bmm(x, y), torch.einsum("bij,bjk->bik", x, y), torch.einsum("bij->b", [x])
>>> f(torch.ones(1, 2, 2), torch.arange(4.0).reshape(1, 2, 2))

=== tensor_attribute_refused
def f(x):
    return x.foobar(2)
>>> f(T([1.0]))

=== tensor_bad_overload
def f(x):
    return torch.cat(x, "s")
>>> f(T([1.0]))

=== tensor_shape_error
def f(x, y):
    return torch.mm(x, y)
>>> f(torch.ones(2, 3), torch.ones(2, 3))

=== tensor_bool_ambiguous
def f(x):
    if x:
        return 1
    return 0
>>> f(T([1.0, 2.0]))
>>> f(T([1.0]))

=== tensor_unannotated_argument
def f(x):
    return x + 1
>>> f(3)
>>> f(T(3))

=== tensor_implicit_int
def f(x, n: int):
    return n + int(x)
>>> f(T(3), 2)

=== tensor_int_parameter
def f(n: int, x: float):
    return n * x
>>> f(T(3), 2.0)
>>> f(3, 2)

=== tensor_promotion
def f(x, y):
    return x + y, x * 2, x / 2, y / 2, x * 0.5, torch.result_type(x, y) == torch.float32
>>> f(T([1, 2]), T([0.5, 0.5]))

=== tensor_out_keyword
def f(x):
    y = torch.empty_like(x)
    torch.add(x, x, out=y)
    return y, torch.add(x, x, alpha=3)
>>> f(T([1.0]))

=== tensor_scan
def f(x):
    return x.cumsum(0), torch.cumprod(x, dim=0), torch.flip(x, [0]), x.roll(1), torch.diff(x)
>>> f(T([1.0, 2.0, 3.0]))

=== tensor_gather
def f(x, i):
    return x.gather(1, i), x.index_select(0, T1(i)), torch.zeros_like(x).scatter(1, i, 2.0), x.scatter_add(1, i, x)
def T1(i):
    return i[0]
>>> f(T([[1.0, 2.0], [3.0, 4.0]]), T([[1, 0], [0, 0]]))

=== tensor_rnn_step
def cell(x, h, w, u):
    return torch.tanh(x @ w + h @ u)
def f(xs, h, w, u):
    outs = []
    for t in range(xs.size(0)):
        h = cell(xs[t], h, w, u)
        outs.append(h)
    return torch.stack(outs), h
>>> f(torch.ones(3, 1, 2), torch.zeros(1, 2), torch.eye(2), torch.eye(2) * 0.5)

=== tensor_newton
def f(x, steps: int = 5):
    y = x
    for _ in range(steps):
        y = 0.5 * (y + x / y)
    return y
>>> f(T([4.0, 9.0]))

=== tensor_softmax_by_hand
def f(x):
    m, _ = x.max(-1, keepdim=True)
    e = (x - m).exp()
    return e / e.sum(-1, keepdim=True)
>>> f(T([[1.0, 2.0], [3.0, 0.0]]))

=== tensor_attention
def f(q, k, v, mask: Optional[Tensor] = None):
    s = q @ k.transpose(-2, -1) / math.sqrt(q.size(-1))
    if mask is not None:
        s = s.masked_fill(mask == 0, float("-inf"))
    return s.softmax(-1) @ v
>>> f(torch.eye(2), torch.eye(2), torch.ones(2, 2))
>>> f(torch.eye(2), torch.eye(2), torch.ones(2, 2), T([[1, 0], [1, 1]]))

=== tensor_dict_result
def f(x):
    return {"double": x * 2, "half": x / 2}
>>> f(T([1.0]))

=== tensor_fork
def g(x, n: int):
    return x * n
def f(x):
    a = torch.jit.fork(g, x, 2)
    b = torch.jit.fork(g, x, n=3)
    return torch.jit.wait(a) + torch.jit.wait(b)
>>> f(T([1.0]))

=== tensor_fork_list
def g(x):
    return x.relu()
def f(xs: List[Tensor]):
    futures = [torch.jit.fork(g, x) for x in xs]
    return [torch.jit.wait(q) for q in futures]
>>> f([T([1.0]), T([-1.0])])

=== tensor_meshgrid
def f(x, y):
    a, b = torch.meshgrid([x, y], indexing="ij")
    return a + b
>>> f(T([1.0, 2.0]), T([0.0, 1.0]))

=== tensor_broadcast_error
def f(x, y):
    return x + y
>>> f(torch.ones(2), torch.ones(3))

=== tensor_negative_step_refused
def f(x):
    return x[::-1]
>>> f(torch.ones(2))

=== tensor_randn_shape
def f(n: int):
    return torch.rand(n, 2).shape, torch.randn([n]).size(0), torch.randint(0, 5, [n]).dtype == torch.int64
>>> f(3)

=== tensor_std_var
def f(x):
    return x.std(), x.var(unbiased=False), torch.norm(x), x.norm(2, dim=0), torch.logsumexp(x, 0), x.median()
>>> f(T([1.0, 2.0, 4.0]))

=== tensor_any_all
def f(x):
    return torch.any(x > 1), torch.all(x > 0), (x > 1).any(), x.isnan().any(), torch.allclose(x, x), torch.equal(x, x)
>>> f(T([1.0, 2.0]))

=== as_tensor_of_lists
def f(x: List[int], y: List[float], z: List[bool]):
    return torch.as_tensor(x), torch.tensor(x), torch.as_tensor(y), torch.as_tensor(z)
>>> f([], [], [])
>>> f([1], [1.5], [True])

=== ranges_against_their_step
def f(x, n: int, m: int, v: float):
    a = torch.arange(n, m)
    b = torch.arange(x.size(0) - 3)
    c = torch.arange(v, 0.9, 0.5)
    return a, b, c, torch.arange(m, n - 1, -2)
>>> f(torch.ones(4), 0, 2, 0.0)
>>> f(torch.ones(4), 2, 0, 0.0)
>>> f(torch.ones(2), 0, 2, 0.0)
>>> f(torch.ones(4), 0, 2, 1.0)
>>> f(torch.ones(4), 0, -2, 0.0)

=== range_against_its_known_step
def f(x):
    return torch.arange(1.0, 0.9, 1)
>>> f(T(1))

=== parts_from_either_end
def f(x, n: int, m: int):
    y = x.narrow(0, n, m)
    return y + x.narrow(0, x.size(0) - 2, 1), x.narrow(0, -1, 1)
>>> f(T([1.0, 2.0, 3.0, 4.0]), 1, 2)
>>> f(T([1.0, 2.0, 3.0, 4.0]), -1, 1)
>>> f(T([1.0, 2.0, 3.0, 4.0]), -4, 4)
>>> f(T([1.0, 2.0, 3.0, 4.0]), -5, 1)
>>> f(T([1.0, 2.0, 3.0, 4.0]), 3, 2)
>>> f(T([1.0]), 0, 1)

=== parts_of_negative_sizes
def f(x, a: int, b: int):
    p, q = x.split([a, b])
    return p.sum() - q.sum()
>>> f(torch.ones(4), 3, 1)
>>> f(torch.ones(4), 0, 4)
>>> f(torch.ones(4), -1, 5)
>>> f(torch.ones(4), 3, 2)

=== copies_by_device
def f(x):
    return x.cpu() + x.to("cpu")
>>> f(T([1.0]))

=== dtypes_promoted
def f(x, y, a: int, b: int):
    both = torch.promote_types(x.dtype, y.dtype), torch.promote_types(torch.int32, torch.float16)
    casts = torch.can_cast(torch.float32, torch.int32), torch.can_cast(x.dtype, y.dtype)
    kinds = torch.result_type(x, y), torch.result_type(x, 1.5), torch.result_type(2, y)
    return x.to(both[0]), both, casts, kinds, torch.promote_types(a, b), torch.can_cast(a, b)
>>> f(T([1]), T([1.5]), 6, 3)
>>> f(T([1.5]), T([1]), 3, 11)
"""
