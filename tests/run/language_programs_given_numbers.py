"""Programs whose numbers only the running program knows, and what operators refuse of them.

The format is that of `language_harness`.
"""

TEXT = r"""
=== turns_given
def f(x, k: int):
    return x.rot90(k)
>>> f(T([[1, 2, 3], [4, 5, 6]]), 1)
>>> f(T([[1, 2, 3], [4, 5, 6]]), 2)
>>> f(T([[1, 2, 3], [4, 5, 6]]), -5)

=== diagonal_given
def f(x, k: int):
    return torch.diag(x, k), torch.diag_embed(x, k)
>>> f(T([1, 2]), 1)
>>> f(T([1, 2]), -2)

=== power_given
def f(x, k: int):
    return x ** k
>>> f(T([1, 2]), 3)
>>> f(T([1, 2]), -1)
>>> f(T([1.0, 2.0]), -1)

=== least_length_given
def f(x, k: int):
    return x.bincount(minlength=k)
>>> f(T([1, 2]), 5)
>>> f(T([1, 2]), -1)

=== classes_given
def f(x, k: int):
    return F.one_hot(x, k)
>>> f(T([1, 2]), 4)
>>> f(T([1, 2]), -1)
>>> f(T([1, 2]), -2)
>>> f(T([1, 2]), 2)

=== shuffled_groups_given
def f(x, k: int):
    return F.channel_shuffle(x, k)
>>> f(torch.arange(6.0).view(1, 6, 1, 1), 2)
>>> f(torch.arange(6.0).view(1, 6, 1, 1), 3)

=== normalized_groups_given
def f(x, k: int):
    return F.group_norm(x, k)
>>> f(torch.arange(6.0).view(1, 6), 2)
>>> f(torch.arange(6.0).view(1, 6), 3)
>>> f(torch.arange(6.0).view(1, 6), 4)

=== bins_given
def f(x, k: int):
    return torch.histc(x, k)
>>> f(T([1.0, 2.0]), 2)
>>> f(T([1.0, 2.0]), 5)
>>> f(T([1.0, 2.0]), 0)

=== norm_given
def f(x, k: float):
    return x.renorm(2, 0, k)
>>> f(T([[3.0, 4.0]]), 1.0)
>>> f(T([[3.0, 4.0]]), -1.5)

=== window_given
def f(x, size: int, step: int):
    return x.unfold(0, size, step)
>>> f(torch.arange(5), 2, 2)
>>> f(torch.arange(5), 6, 1)
>>> f(torch.arange(5), 2, 0)
>>> f(torch.arange(5), -1, 1)
>>> f(T(3), 1, 1)
>>> f(T(3), 2, 1)

=== largest_given
def f(x, k: int):
    return x.topk(k)[0]
>>> f(T(1.5), 1)
>>> f(T(1.5), 2)
>>> f(T([1.5, 2.5]), 3)

=== powers_given
def f(x, k: int):
    return torch.vander(x, k)
>>> f(T([1, 2]), 3)
>>> f(T([1, 2]), -1)

=== pooled_step_given
def f(x, k: int):
    return torch.max_pool1d(x, [2], [k])
>>> f(torch.arange(6.0).view(1, 1, 6), 2)
>>> f(torch.arange(6.0).view(1, 1, 6), 0)

=== averaged_step_given
def f(x, k: int):
    return F.avg_pool2d(x, 2, k)
>>> f(torch.arange(6.0).view(1, 2, 3), 1)
>>> f(torch.arange(6.0).view(1, 2, 3), 0)

=== convolved_step_given
def f(x, w, k: int):
    return F.conv2d(x, w, None, k)
>>> f(torch.ones(1, 1, 3, 4), torch.ones(1, 1, 2, 2), 2)
>>> f(torch.ones(1, 1, 3, 4), torch.ones(1, 1, 2, 2), 0)

=== convolved_padding_given
def f(x, w, k: int):
    return F.conv2d(x, w, None, 1, k)
>>> f(torch.ones(1, 1, 3, 4), torch.ones(1, 1, 2, 2), 1)
>>> f(torch.ones(1, 1, 3, 4), torch.ones(1, 1, 2, 2), -1)

=== convolved_dilation_given
def f(x, w, k: int):
    return F.conv2d(x, w, None, 1, 0, k)
>>> f(torch.ones(1, 1, 3, 4), torch.ones(1, 1, 2, 2), 2)
>>> f(torch.ones(1, 1, 3, 4), torch.ones(1, 1, 2, 2), 0)

=== resized_given
def f(x, k: int):
    return F.interpolate(x, k)
>>> f(torch.arange(4.0).view(1, 1, 4), 2)
>>> f(torch.arange(4.0).view(1, 1, 4), 0)

=== shuffled_pixels_given
def f(x, k: int):
    return F.pixel_shuffle(x, k)
>>> f(torch.arange(8.0).view(1, 8, 1, 1), 2)
>>> f(torch.arange(8.0).view(1, 8, 1, 1), 0)

=== gathered_pixels_given
def f(x, k: int):
    return F.pixel_unshuffle(x, k)
>>> f(torch.arange(8.0).view(1, 1, 2, 4), 2)
>>> f(torch.arange(8.0).view(1, 1, 2, 4), 0)

=== cut_given
def f(x, k: int):
    return torch.constant_pad_nd(x, [k, 1])
>>> f(torch.arange(4.0), -2)
>>> f(torch.arange(4.0), 2)
>>> f(torch.arange(4.0), -5)

=== filled_given
def f(x, k: int):
    return x.masked_fill(x > 2, k), x.clone().fill_(k)
>>> f(T([1, 3], dtype=torch.int8), -128)
>>> f(T([1, 3], dtype=torch.int8), 128)
>>> f(T([1, 3], dtype=torch.uint8), -255)
>>> f(T([1, 3], dtype=torch.uint8), 256)
>>> f(T([1.0, 3.0]), 300)

=== transposed_padding_given
def f(x, w, k: int):
    return torch.conv_transpose2d(x, w, None, 2, k)
>>> f(torch.ones(1, 1, 2, 3), torch.ones(1, 1, 2, 2), 1)
>>> f(torch.ones(1, 1, 2, 3), torch.ones(1, 1, 2, 2), 2)

=== delta_given
def f(x, k: float):
    return torch.ops.aten.huber_loss(x, x + 3, 1, k)
>>> f(T([1.0]), 2.0)
>>> f(T([1.0]), 0.0)

=== alpha_given
def f(x, k: float):
    return torch.celu(x, k)
>>> f(T([-1.0]), 2.0)
>>> f(T([-1.0]), 0.0)

=== lambda_given
def f(x, k: float):
    return F.softshrink(x, k)
>>> f(T([-1.0, 3.0]), 2.0)
>>> f(T([-1.0, 3.0]), -1.0)

=== smoothing_below_zero
def f(x, t):
    return torch.ops.aten.cross_entropy_loss(x, t, None, 1, -100, -0.1)
>>> f(torch.arange(6.0).view(2, 3), T([0, 2]))

=== decimals_given
def f(x, k: int):
    return torch.round(x, decimals=k)
>>> f(T([0.125, 2.555]), 2)
>>> f(T([0.125, 2.555]), 0)

=== window_length_given
def f(k: int):
    bells = torch.hamming_window(k), torch.hann_window(k, False), torch.blackman_window(k)
    return bells, torch.kaiser_window(k), torch.bartlett_window(k)
>>> f(1)
>>> f(4)
>>> f(2)

=== histogram_ends_given
def f(x, k: int):
    return torch.histc(x, 3, 2, k)
>>> f(T([1.0, 2.0, 3.0]), 4)
>>> f(T([1.0, 2.0, 3.0]), 2)
>>> f(T([1.0, 2.0, 3.0]), 1)

=== logit_bound
def f(x, e: float):
    return torch.logit(x, e), torch.logit(x, 0.7), torch.logit(x, 0.1), torch.logit(x)
>>> f(T([0.0, 0.2, 0.6, 1.0]), 0.7)
>>> f(T([0.0, 0.2, 0.6, 1.0, float("nan")]), 0.01)
"""
