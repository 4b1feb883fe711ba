"""Mistakes of tensors that people make in scripts; see language_harness."""

TEXT = """\

=== tensor_unknown_attribute
def f(x):
    return x.length
>>> f(T([1.0]))

=== tensor_unknown_method
def f(x):
    return x.plus(1)
>>> f(T([1.0]))

=== tensor_numpy
def f(x):
    return x.numpy()
>>> f(T([1.0]))

=== tensor_tolist_unannotated
def f(x):
    return x.tolist()
>>> f(T([1.0]))

=== tensor_tolist_wrong
def f(x):
    y: List[int] = x.tolist()
    return y
>>> f(T([1.0]))

=== tensor_plus_string
def f(x):
    return x + "a"
>>> f(T([1.0]))

=== tensor_plus_list
def f(x):
    return x + [1.0]
>>> f(T([1.0]))

=== tensor_plus_none
def f(x):
    return x + None
>>> f(T([1.0]))

=== tensor_shapes_differ
def f(x, y):
    return x + y
>>> f(T([1.0, 2.0]), T([1.0, 2.0, 3.0]))

=== tensor_matmul_shapes
def f(x, y):
    return x @ y
>>> f(T([[1.0, 2.0]]), T([[1.0, 2.0, 3.0]]))

=== tensor_matmul_dtypes
def f(x, y):
    return torch.mm(x, y)
>>> f(T([[1.0]]), T([[1]]))

=== tensor_view_size
def f(x):
    return x.view(2, 2)
>>> f(T([1.0, 2.0, 3.0]))

=== tensor_reshape_minus
def f(x):
    return x.reshape(-1, -1)
>>> f(T([1.0, 2.0, 3.0]))

=== tensor_view_strings
def f(x):
    return x.view("a")
>>> f(T([1.0, 2.0, 3.0]))

=== tensor_sum_dim_out
def f(x):
    return x.sum(dim=2)
>>> f(T([1.0, 2.0, 3.0]))

=== tensor_cat_shapes
def f(x, y):
    return torch.cat([x, y], dim=0)
>>> f(T([[1.0, 2.0]]), T([[1.0]]))

=== tensor_cat_tensors
def f(x, y):
    return torch.cat(x, y)
>>> f(T([[1.0, 2.0]]), T([[1.0]]))

=== tensor_stack_shapes
def f(x, y):
    return torch.stack([x, y])
>>> f(T([1.0, 2.0]), T([1.0]))

=== tensor_axis_name
def f(x):
    return torch.softmax(x, axis=0)
>>> f(T([1.0, 2.0]))

=== tensor_mean_of_ints
def f(x):
    return x.mean()
>>> f(T([1, 2]))

=== tensor_item_of_many
def f(x):
    return x.item()
>>> f(T([1, 2]))

=== tensor_as_condition
def f(x):
    if x > 0:
        return x
    return -x
>>> f(T([1, 2]))

=== tensor_index_out
def f(x):
    return x[3]
>>> f(T([1, 2]))

=== tensor_index_too_many
def f(x):
    return x[0, 0]
>>> f(T([1, 2]))

=== tensor_index_float
def f(x):
    return x[1.5]
>>> f(T([1, 2]))

=== tensor_index_string
def f(x):
    return x["a"]
>>> f(T([1, 2]))

=== tensor_index_float_tensor
def f(x, i):
    return x[i]
>>> f(T([1, 2]), T([1.0]))

=== tensor_index_list_of_floats
def f(x):
    return x[[0.5, 1.0]]
>>> f(T([1, 2]))

=== tensor_mask_shape
def f(x, m):
    return x[m]
>>> f(T([1, 2]), T([True, False, True]))

=== tensor_negative_step
def f(x):
    return x[::-1]
>>> f(T([1, 2]))

=== tensor_set_shape
def f(x):
    x[0:2] = T3(x)
    return x
def T3(x: Tensor) -> Tensor:
    return torch.ones([3])
>>> f(T([1.0, 2.0]))

=== tensor_set_string
def f(x):
    x[0] = "a"
    return x
>>> f(T([1.0, 2.0]))

=== tensor_set_list
def f(x):
    x[0] = [1.0]
    return x
>>> f(T([1.0, 2.0]))

=== tensor_gather_dtype
def f(x, i):
    return torch.gather(x, 0, i)
>>> f(T([1.0, 2.0]), T([0.0]))

=== tensor_gather_out
def f(x, i):
    return torch.gather(x, 0, i)
>>> f(T([1.0, 2.0]), T([5]))

=== tensor_scatter_dtype
def f(x, i, s):
    return x.scatter(0, i, s)
>>> f(T([1.0, 2.0]), T([1]), T([1]))

=== tensor_masked_fill_mask
def f(x, m):
    return x.masked_fill(m, 0.0)
>>> f(T([1.0, 2.0]), T([1, 0]))

=== tensor_where_condition
def f(x, m):
    return torch.where(m, x, x)
>>> f(T([1.0, 2.0]), T([1.0, 0.0]))

=== tensor_transpose_dims
def f(x):
    return x.transpose(0, 3)
>>> f(T([[1.0, 2.0]]))

=== tensor_permute_short
def f(x):
    return x.permute(0)
>>> f(T([[1.0, 2.0]]))

=== tensor_permute_twice
def f(x):
    return x.permute(0, 0)
>>> f(T([[1.0, 2.0]]))

=== tensor_expand_shape
def f(x):
    return x.expand(3, 3)
>>> f(T([1.0, 2.0]))

=== tensor_squeeze_out
def f(x):
    return x.squeeze(4)
>>> f(T([1.0, 2.0]))

=== tensor_chunk_zero
def f(x):
    return torch.chunk(x, 0)
>>> f(T([1.0, 2.0]))

=== tensor_split_sizes
def f(x):
    return torch.split(x, [1, 3])
>>> f(T([1.0, 2.0]))

=== tensor_arange_step
def f(n: int):
    return torch.arange(0, n, -1)
>>> f(5)

=== tensor_zeros_negative
def f(n: int):
    return torch.zeros([n, -2])
>>> f(5)

=== tensor_zeros_float
def f(n: float):
    return torch.zeros(n)
>>> f(5.0)

=== tensor_ones_of_string
def f(n: int):
    return torch.ones(n, dtype="float32")
>>> f(5)

=== tensor_dtype_attribute
def f(x):
    return x.to(torch.float31)
>>> f(T([1.0]))

=== tensor_to_string_dtype
def f(x):
    return x.to("float32")
>>> f(T([1.0]))

=== tensor_to_bad_device
def f(x):
    return x.to("gpu")
>>> f(T([1.0]))

=== tensor_device_of_word
def f(x):
    return x.to(device=torch.device("nowhere"))
>>> f(T([1.0]))

=== tensor_shape_call
def f(x):
    return x.shape()
>>> f(T([1.0]))

=== tensor_size_attribute
def f(x):
    return x.size + 1
>>> f(T([1.0]))

=== tensor_dim_attribute
def f(x):
    return x.dim == 1
>>> f(T([1.0]))

=== tensor_shape_index_out
def f(x):
    return x.shape[4]
>>> f(T([1.0]))

=== tensor_size_index_out
def f(x):
    return x.size(4)
>>> f(T([1.0]))

=== tensor_shape_unpack
def f(x):
    a, b = x.shape
    return a
>>> f(T([1.0]))

=== tensor_loop_over_scalar
def f(x):
    n = 0
    for v in x:
        n += 1
    return n
>>> f(T(1.0))

=== tensor_range
def f(x):
    n = 0
    for v in range(x):
        n += v
    return n
>>> f(T(3))

=== tensor_inplace_dtype
def f(x):
    x += 1.5
    return x
>>> f(T([1]))

=== tensor_inplace_shape
def f(x, y):
    x += y
    return x
>>> f(T([1.0]), T([1.0, 2.0]))

=== tensor_bitwise_floats
def f(x):
    return x & x
>>> f(T([1.0]))

=== tensor_not_of_float
def f(x):
    return ~x
>>> f(T([1.0]))

=== tensor_minus_bools
def f(x):
    return x - x
>>> f(T([True]))

=== tensor_neg_bools
def f(x):
    return -x
>>> f(T([True]))

=== tensor_max_twice
def f(x):
    v = x.max(0)
    return v + 1
>>> f(T([1.0]))

=== tensor_sort_unpack
def f(x):
    v = torch.sort(x)
    return v.mean()
>>> f(T([1.0]))

=== tensor_topk_large
def f(x):
    return torch.topk(x, 5)
>>> f(T([1.0]))

=== tensor_argmax_dim
def f(x):
    return x.argmax(1)
>>> f(T([1.0]))

=== tensor_einsum_letters
def f(x, y):
    return torch.einsum("ij,jk->ik", x, y)
>>> f(T([1.0]), T([1.0]))

=== tensor_linear_shapes
def f(x, w):
    return F.linear(x, w)
>>> f(T([[1.0, 2.0]]), T([[1.0, 2.0, 3.0]]))

=== tensor_conv_channels
def f(x, w):
    return F.conv2d(x, w)
>>> f(torch.ones(1, 3, 4, 4), torch.ones(2, 4, 3, 3))

=== tensor_conv_kernel
def f(x, w):
    return F.conv2d(x, w)
>>> f(torch.ones(1, 3, 2, 2), torch.ones(2, 3, 3, 3))

=== tensor_conv_rank
def f(x, w):
    return F.conv2d(x, w)
>>> f(torch.ones(3), torch.ones(2, 3, 3, 3))

=== tensor_pool_rank
def f(x):
    return F.max_pool2d(x, 2)
>>> f(torch.ones(3))

=== tensor_embedding_floats
def f(x, w):
    return F.embedding(x, w)
>>> f(T([1.0]), torch.ones(3, 4))

=== tensor_embedding_out
def f(x, w):
    return F.embedding(x, w)
>>> f(T([7]), torch.ones(3, 4))

=== tensor_cross_entropy_shapes
def f(x, t):
    return F.cross_entropy(x, t)
>>> f(torch.ones(2, 3), T([1]))

=== tensor_cross_entropy_classes
def f(x, t):
    return F.cross_entropy(x, t)
>>> f(torch.ones(2, 3), T([1, 4]))

=== tensor_nll_dtype
def f(x, t):
    return F.nll_loss(x, t)
>>> f(torch.ones(2, 3), T([1.0, 2.0]))

=== tensor_mse_string
def f(x, t):
    return F.mse_loss(x, t, reduction="average")
>>> f(torch.ones(2), torch.ones(2))

=== tensor_dropout_probability
def f(x):
    return F.dropout(x, 1.5)
>>> f(torch.ones(2))

=== tensor_layer_norm_shape
def f(x):
    return F.layer_norm(x, [3])
>>> f(torch.ones(2, 4))

=== tensor_batch_norm_one
def f(x):
    return F.batch_norm(x, None, None, training=True)
>>> f(torch.ones(1, 4))

=== tensor_interpolate_nothing
def f(x):
    return F.interpolate(x)
>>> f(torch.ones(1, 1, 4, 4))

=== tensor_interpolate_mode
def f(x):
    return F.interpolate(x, scale_factor=2.0, mode="best")
>>> f(torch.ones(1, 1, 4, 4))

=== tensor_pad_odd
def f(x):
    return F.pad(x, [1])
>>> f(torch.ones(2))

=== tensor_pad_mode
def f(x):
    return F.pad(x, [1, 1], mode="mirror")
>>> f(torch.ones(1, 2))

=== tensor_one_hot_negative
def f(x):
    return F.one_hot(x)
>>> f(T([-1]))

=== tensor_one_hot_floats
def f(x):
    return F.one_hot(x)
>>> f(T([1.0]))
"""
