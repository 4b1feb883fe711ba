"""Modules as users write them, over `torch`; the tests run this file with either library.

Each is here for what a trace of it shows: the names that PyTorch finds in its own Python, equal
constants, names that end in a number, layouts that attention and packed batches give.
"""

import math

import torch
import torch.nn.functional as F
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence


class GatedBlock(nn.Module):
    """T5's: numbered names, one number in several places, masks made by `1.0 - mask`."""

    def __init__(self):
        super().__init__()
        self.wi_0 = nn.Linear(6, 8, bias=False)
        self.wi_1 = nn.Linear(6, 8, bias=False)
        self.wo = nn.Linear(8, 6, bias=False)

    def forward(self, x, mask):
        ext = mask[:, None].to(torch.float32)
        ext = (1.0 - ext) * -10000.0
        h_1 = F.gelu(self.wi_0(x), approximate="tanh") * self.wi_1(x)
        x_1 = x * 4 + self.wo(h_1) / 4
        return x_1 * 4 - ext


class Attention(nn.Module):
    """Grouped heads by `scaled_dot_product_attention`, rotated by complex numbers' angles."""

    def __init__(self):
        super().__init__()
        self.q_proj = nn.Linear(16, 16, bias=False)
        self.kv_proj = nn.Linear(16, 16, bias=False)

    def forward(self, x, positions):
        b, n, _ = x.shape
        q = self.q_proj(x).view(b, n, 4, 4).transpose(1, 2)
        k, v = self.kv_proj(x).view(b, n, 2, 8).transpose(1, 2).split(4, dim=-1)
        freqs = 1.0 / (10000.0 ** (torch.arange(start=0, end=4, step=2).float() / 4))
        angles = torch.einsum("bl,d->bld", positions.float(), freqs).to(device=x.device)
        emb = torch.cat((angles, angles), dim=-1).unsqueeze(1)
        q1, q2 = q.chunk(2, dim=-1)
        q = q * emb.cos() + torch.cat((-q2, q1), dim=-1) * emb.sin()
        y = F.scaled_dot_product_attention(q, k, v, enable_gqa=True)
        return y.transpose(1, 2).reshape(b, n, -1), (q**2).mean().cpu()


class Packed(nn.Module):
    """A bidirectional GRU over a packed batch that is not sorted."""

    def __init__(self):
        super().__init__()
        self.emb = nn.Embedding(12, 4, padding_idx=0)
        self.gru = nn.GRU(4, 5, batch_first=True, bidirectional=True)

    def forward(self, x, lengths):
        p = pack_padded_sequence(self.emb(x), lengths, batch_first=True, enforce_sorted=False)
        o, h = self.gru(p)
        y, n = pad_packed_sequence(o, batch_first=True, padding_value=-1.0, total_length=x.size(1))
        return y, n, torch.cat([h[-2], h[-1]], dim=1)


class Spectrum(nn.Module):
    """Power of short spectra in decibels, mirrored at the ends."""

    def __init__(self):
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))

    def forward(self, x):
        spec = torch.stft(x, 16, 4, 16, window=self.window, return_complex=True)
        db = 10.0 * torch.log10(spec.abs().pow(2.0).clamp(min=1e-10))
        return torch.max(db, db.amax(dim=(-2, -1), keepdim=True) - 80.0)


class GraphConv(nn.Module):
    """Messages summed into zeros that are made like features which require gradients."""

    def __init__(self):
        super().__init__()
        self.lin = nn.Linear(4, 3)

    def forward(self, x, edges):
        row, col = edges[0], edges[1]
        h = self.lin(x)
        deg = torch.zeros(x.size(0)).scatter_add_(0, col, torch.ones(col.size(0)))
        scale = deg.clamp(min=1).pow(-0.5)
        return torch.zeros_like(h).index_add_(0, col, (scale[row] * scale[col])[:, None] * h[row])


class Positions(nn.Module):
    """A position table resized on the fly, in channels-last memory as it is permuted."""

    def __init__(self):
        super().__init__()
        self.pos = nn.Parameter(torch.arange(4 * 6).float().view(1, 4, 6))

    def forward(self, x):
        grid = self.pos.reshape(1, 2, 2, -1).permute(0, 3, 1, 2)
        grid = F.interpolate(grid, size=(3, 3), mode="bicubic", antialias=True)
        return x + grid.permute(0, 2, 3, 1).reshape(1, 9, -1)


class Divergence(nn.Module):
    """Sums of one element times numbers: an archive keeps the numbers as float64 tensors."""

    def forward(self, mu, logvar):
        total = torch.sum(1 + logvar - mu.pow(2) - logvar.exp())
        return -0.5 * total, total / math.log(2.0) + 1.5, total - 2.5


class Modulated(nn.Module):
    """StyleGAN's: a convolution of one group a sample, whose weights the style scales."""

    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(numbers(1, 3, 2, 3, 3))

    def forward(self, x, style):
        b, c, h, w = x.shape
        weight = self.weight * style.view(b, 1, c, 1, 1)
        weight = weight * torch.rsqrt(weight.pow(2).sum([2, 3, 4], keepdim=True) + 1e-8)
        y = F.conv2d(x.view(1, b * c, h, w), weight.view(b * 3, c, 3, 3), padding=1, groups=b)
        peaks = [row * 2 for row in y.view(b, 3, h, w)]
        return peaks[0] + peaks[1], torch.where(x > 0)[1]


def numbers(*shape):
    return torch.linspace(-1, 1, math.prod(shape)).view(shape)


CASES = {
    "gated": (GatedBlock, lambda: (numbers(2, 6), torch.tensor([0, 1]))),
    "attention": (Attention, lambda: (numbers(2, 5, 16), torch.arange(5).repeat(2, 1))),
    "packed": (Packed, lambda: (torch.arange(12).view(2, 6), torch.tensor([3, 5]))),
    "spectrum": (Spectrum, lambda: (numbers(2, 40),)),
    "graph": (GraphConv, lambda: (numbers(3, 4), torch.tensor([[0, 1, 2, 2], [1, 2, 0, 1]]))),
    "positions": (Positions, lambda: (numbers(2, 9, 6),)),
    "modulated": (Modulated, lambda: (numbers(2, 2, 4, 4), numbers(2, 2))),
    "divergence": (Divergence, lambda: (numbers(2, 3), numbers(2, 3))),
}
