"""Models that PyTorch saves and we load, scripted and traced; smaller programs are in
`archive_program`."""

import warnings
from collections.abc import Callable
from typing import Any

import torch
import torch.nn.functional as F
from archive_program import ArchiveProgram, values
from torch import Tensor, nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

MODELS: dict[str, ArchiveProgram] = {}


def scripted(name: str, make: Callable[[], nn.Module], *calls: tuple[Any, ...]) -> None:
    def build() -> Any:
        torch.manual_seed(0)
        return torch.jit.script(make().eval())

    MODELS[f"scripted_{name}"] = ArchiveProgram(build, calls)


def traced(name: str, make: Callable[[], Any], *calls: tuple[Any, ...]) -> None:
    """Traced with the inputs of the first call."""

    def build() -> Any:
        torch.manual_seed(0)
        made = make()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            model = made.eval() if isinstance(made, nn.Module) else made
            return torch.jit.trace(model, calls[0], strict=False, check_trace=False)

    MODELS[f"traced_{name}"] = ArchiveProgram(build, calls)


def both(name: str, make: Callable[[], nn.Module], *calls: tuple[Any, ...]) -> None:
    scripted(name, make, *calls)
    traced(name, make, *calls)


# -- vision ----------------------------------------------------------------------------------------


class Block(nn.Module):
    def __init__(self, width: int, wider: int, stride: int = 1) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(width, wider, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(wider)
        self.conv2 = nn.Conv2d(wider, wider, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(wider)
        self.down: nn.Module | None = None
        if stride != 1 or width != wider:
            self.down = nn.Sequential(nn.Conv2d(width, wider, 1, stride), nn.BatchNorm2d(wider))

    def forward(self, x: Tensor) -> Tensor:
        y = self.bn2(self.conv2(F.relu(self.bn1(self.conv1(x)))))
        return F.relu(y + (x if self.down is None else self.down(x)))


class ResNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, 8, 3, 2, 1, bias=False), nn.BatchNorm2d(8), nn.ReLU(), nn.MaxPool2d(2)
        )
        self.blocks = nn.Sequential(Block(8, 8), Block(8, 16, 2))
        self.head = nn.Linear(16, 5)

    def forward(self, x: Tensor) -> Tensor:
        x = F.adaptive_avg_pool2d(self.blocks(self.stem(x)), (1, 1))
        return self.head(torch.flatten(x, 1))


class Inverted(nn.Module):
    """A mobile block: expand, depthwise, squeeze and excite, project."""

    def __init__(self) -> None:
        super().__init__()
        self.expand = nn.Sequential(nn.Conv2d(4, 8, 1), nn.BatchNorm2d(8), nn.ReLU6())
        self.depth = nn.Sequential(
            nn.Conv2d(8, 8, 3, padding=1, groups=8), nn.BatchNorm2d(8), nn.Hardswish()
        )
        self.squeeze = nn.Sequential(
            nn.AdaptiveAvgPool2d(1), nn.Conv2d(8, 2, 1), nn.SiLU(), nn.Conv2d(2, 8, 1), nn.Sigmoid()
        )
        self.project = nn.Conv2d(8, 4, 1)

    def forward(self, x: Tensor) -> Tensor:
        y = self.depth(self.expand(x))
        return x + self.project(y * self.squeeze(y))


class UNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.down = nn.Conv2d(2, 4, 3, padding=1)
        self.middle = nn.Conv2d(4, 8, 3, padding=1)
        self.up = nn.ConvTranspose2d(8, 4, 2, stride=2)
        self.out = nn.Conv2d(8, 1, 1)

    def forward(self, x: Tensor) -> Tensor:
        wide = F.leaky_relu(self.down(x), 0.1)
        deep = F.elu(self.middle(F.max_pool2d(wide, 2)))
        return torch.sigmoid(self.out(torch.cat([wide, self.up(deep)], dim=1)))


class Upsampler(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 8, 3, padding=1)
        self.shuffle = nn.PixelShuffle(2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.shuffle(self.conv(x))
        near = F.interpolate(x, scale_factor=2.0, mode="nearest")
        smooth = F.interpolate(x, size=[8, 8], mode="bilinear", align_corners=False)
        return y + near + smooth


class VisionTransformer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, 8, 4, 4)
        self.token = nn.Parameter(values(1, 1, 8))
        self.places = nn.Parameter(values(1, 5, 8))
        self.layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True, activation="gelu")
        self.norm = nn.LayerNorm(8)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(x.size(0), -1, -1), x], 1) + self.places
        return self.norm(self.layer(x))[:, 0]


IMAGE = values(2, 3, 16, 16)
both("resnet", ResNet, (IMAGE,))
both("inverted_residual", Inverted, (values(1, 4, 6, 6),))
both("unet", UNet, (values(1, 2, 8, 8),))
both("upsampler", Upsampler, (values(1, 2, 4, 4),))
both("vision_transformer", VisionTransformer, (values(1, 3, 8, 8),))


# -- sequences -------------------------------------------------------------------------------------


class Tagger(nn.Module):
    def __init__(self, kind: str = "LSTM") -> None:
        super().__init__()
        self.embed = nn.Embedding(20, 6, padding_idx=0)
        make = nn.LSTM if kind == "LSTM" else nn.GRU
        self.rnn = make(6, 5, num_layers=2, bidirectional=True, batch_first=True)
        self.head = nn.Linear(10, 4)

    def forward(self, tokens: Tensor) -> Tensor:
        return F.log_softmax(self.head(self.rnn(self.embed(tokens))[0]), dim=-1)


class StatefulLSTM(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.rnn = nn.LSTM(4, 6)

    def forward(
        self, x: Tensor, state: tuple[Tensor, Tensor] | None = None
    ) -> tuple[Tensor, tuple[Tensor, Tensor]]:
        return self.rnn(x, state)


class CellLoop(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.cell = nn.LSTMCell(4, 6)

    def forward(self, x: Tensor) -> Tensor:
        h = torch.zeros(x.size(1), 6)
        c = torch.zeros(x.size(1), 6)
        out: list[Tensor] = []
        for t in range(x.size(0)):
            h, c = self.cell(x[t], (h, c))
            out.append(h)
        return torch.stack(out)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)

    def forward(self, x: Tensor) -> Tensor:
        return self.encoder(x)


class Decoder(nn.Module):
    """Causal attention written out, as small language models do."""

    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(30, 8)
        self.qkv, self.out = nn.Linear(8, 24), nn.Linear(8, 8)
        self.norm = nn.LayerNorm(8)
        self.register_buffer("mask", torch.tril(torch.ones(16, 16)) == 0)

    def forward(self, tokens: Tensor) -> Tensor:
        x = self.embed(tokens)
        n, t, width = x.shape
        q, k, v = self.qkv(self.norm(x)).split(8, dim=2)
        q = q.view(n, t, 2, 4).transpose(1, 2)
        k = k.view(n, t, 2, 4).transpose(1, 2)
        v = v.view(n, t, 2, 4).transpose(1, 2)
        scores = (q @ k.transpose(-2, -1)) / 2.0
        scores = scores.masked_fill(self.mask[:t, :t], float("-inf"))
        y = (F.softmax(scores, -1) @ v).transpose(1, 2).reshape(n, t, width)
        return (x + self.out(y)) @ self.embed.weight.t()


class RotaryBlock(nn.Module):
    """Root-mean-square norm, rotary positions, gated feed-forward."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = nn.Parameter(torch.ones(8))
        self.q, self.k, self.v = (nn.Linear(8, 8, bias=False) for _ in range(3))
        self.gate, self.up, self.down = nn.Linear(8, 16), nn.Linear(8, 16), nn.Linear(16, 8)
        angles = torch.outer(torch.arange(6.0), torch.tensor([1.0, 0.1]))
        self.register_buffer("cos", torch.cat([angles, angles], -1).cos())
        self.register_buffer("sin", torch.cat([angles, angles], -1).sin())

    def norm(self, x: Tensor) -> Tensor:
        return x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6) * self.weight

    def rotate(self, x: Tensor) -> Tensor:
        first, second = x.chunk(2, dim=-1)
        return x * self.cos + torch.cat([-second, first], dim=-1) * self.sin

    def heads(self, x: Tensor) -> Tensor:
        return x.view(x.size(0), x.size(1), 2, 4).transpose(1, 2)

    def forward(self, x: Tensor) -> Tensor:
        y = self.norm(x)
        q, k = self.rotate(self.heads(self.q(y))), self.rotate(self.heads(self.k(y)))
        v = self.heads(self.v(y))
        z = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + z.transpose(1, 2).reshape(x.shape)
        y = self.norm(x)
        return x + self.down(F.silu(self.gate(y)) * self.up(y))


class CrossAttention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.MultiheadAttention(8, 2, batch_first=True)

    def forward(self, x: Tensor, memory: Tensor) -> tuple[Tensor, Tensor | None]:
        return self.attention(x, memory, memory, need_weights=True)


class GreedyDecoder(nn.Module):
    """A loop that feeds its own output back, with a list that grows."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.cell = nn.Embedding(12, 6), nn.GRUCell(6, 6)
        self.head = nn.Linear(6, 12)

    def forward(self, context: Tensor, limit: int) -> tuple[Tensor, list[int]]:
        state, token = context, torch.zeros(1, dtype=torch.long)
        found: list[int] = []
        while len(found) < limit:
            state = self.cell(self.embed(token), state)
            token = self.head(state).argmax(-1)
            found.append(int(token.item()))
            if found[-1] == 11:
                break
        return state, found


TOKENS = torch.tensor([[1, 5, 3, 0], [2, 2, 7, 9]])
both("lstm_tagger", Tagger, (TOKENS,))
both("gru_tagger", lambda: Tagger("GRU"), (TOKENS,))
both("lstm_state", StatefulLSTM, (values(5, 2, 4),))
both("lstm_cell_loop", CellLoop, (values(5, 2, 4),))
both("transformer_encoder", Encoder, (values(2, 5, 8),))
both("causal_decoder", Decoder, (TOKENS,))
both("rotary_block", RotaryBlock, (values(1, 6, 8),))
both("cross_attention", CrossAttention, (values(2, 3, 8), values(2, 5, 8)))
scripted("greedy_decoder", GreedyDecoder, (values(1, 6), 5))


# -- audio, detection, numbers ---------------------------------------------------------------------


class Spectrogram(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("window", torch.hann_window(16))
        self.register_buffer("mel", values(9, 4).abs())

    def forward(self, wave: Tensor) -> Tensor:
        found = torch.stft(wave, 16, 8, 16, self.window, return_complex=True)
        power = found.abs().pow(2.0)
        return torch.log(torch.matmul(power.transpose(1, 2), self.mel) + 1e-6)


class WaveNet(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Conv1d(4, 8, 2, dilation=1 << i) for i in range(3)])

    def forward(self, x: Tensor) -> Tensor:
        for i, layer in enumerate(self.layers):
            y = layer(F.pad(x, [1 << i, 0]))
            gate, value = y.chunk(2, 1)
            x = x + torch.tanh(value) * torch.sigmoid(gate)
        return x


class Detector(nn.Module):
    """Post-processing: decode boxes, drop weak ones, suppress overlaps in a loop."""

    def overlap(self, box: Tensor, boxes: Tensor) -> Tensor:
        low = torch.maximum(box[:2], boxes[:, :2])
        high = torch.minimum(box[2:], boxes[:, 2:])
        inner = (high - low).clamp(min=0.0).prod(1)
        area = (boxes[:, 2:] - boxes[:, :2]).prod(1)
        return inner / (area + (box[2:] - box[:2]).prod() - inner)

    def forward(self, boxes: Tensor, scores: Tensor) -> tuple[Tensor, Tensor]:
        keep = scores > 0.2
        boxes, scores = boxes[keep], scores[keep]
        order = scores.argsort(descending=True)
        chosen: list[Tensor] = []
        while order.numel() > 0:
            first = order[0]
            chosen.append(first)
            order = order[1:]
            order = order[self.overlap(boxes[first], boxes[order]) < 0.5]
        picked = torch.stack(chosen)
        return boxes[picked], scores[picked]


class Normalizations(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.group, self.instance = nn.GroupNorm(2, 4), nn.InstanceNorm2d(4, affine=True)
        self.batch = nn.BatchNorm2d(4)

    def forward(self, x: Tensor) -> Tensor:
        return self.batch(self.instance(self.group(x)))


class Autoencoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.encode = nn.Sequential(nn.Linear(6, 4), nn.PReLU(), nn.Linear(4, 2))
        self.decode = nn.Sequential(nn.Linear(2, 4), nn.Softplus(), nn.Linear(4, 6))

    def forward(self, x: Tensor) -> dict[str, Tensor]:
        code = self.encode(x)
        return {"code": code, "out": self.decode(code)}


class Pools(nn.Module):
    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        found, places = F.max_pool2d_with_indices(x, 2)
        return F.avg_pool2d(x, 3, 1, 1), found, places


def numerics(x: Tensor, y: Tensor) -> tuple[Tensor, Tensor, Tensor, Tensor, Tensor]:
    best, where = torch.topk(x, 2, dim=1)
    return (
        torch.einsum("ij,kj->ik", x, y),
        torch.cumsum(x, 1).clamp(-1.0, 1.0),
        best,
        torch.gather(y, 1, where),
        torch.logsumexp(x, 0) + torch.var(y, 0) + torch.norm(x, dim=0),
    )


def shapes(x: Tensor) -> tuple[Tensor, Tensor]:
    y = x.view(x.size(0), 2, x.size(1) // 2).permute(2, 0, 1)
    return y.reshape(-1, x.shape[0]), torch.arange(x.size(1)).repeat(2).unsqueeze(0)


def in_place(x: Tensor) -> Tensor:
    y = x.clone()
    y[:, 1] = 3.0
    y += 1
    y[0].mul_(2)
    return y


BOXES = torch.tensor([[0.0, 0, 2, 2], [0.1, 0, 2, 2], [3, 3, 5, 5], [0, 0, 1, 1]])
both("spectrogram", Spectrogram, (values(2, 64),))
both("wavenet", WaveNet, (values(1, 4, 20),))
scripted("detector", Detector, (BOXES, torch.tensor([0.9, 0.8, 0.7, 0.1])))
both("normalizations", Normalizations, (values(2, 4, 5, 5),))
both("autoencoder", Autoencoder, (values(3, 6),))
both("pools", Pools, (values(1, 2, 6, 6),))
traced("numerics", lambda: numerics, (values(3, 4), values(5, 4)[:3]))
traced("shapes", lambda: shapes, (values(3, 4),), (values(5, 6),))
traced("in_place", lambda: in_place, (values(3, 4),))


# -- packed sequences ------------------------------------------------------------------------------


class PackedTagger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embed = nn.Embedding(9, 4)
        self.rnn = nn.LSTM(4, 3, 2, batch_first=True, bidirectional=True)

    def forward(self, tokens: Tensor, lengths: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        packed = pack_padded_sequence(
            self.embed(tokens), lengths, batch_first=True, enforce_sorted=False
        )
        out, (h, c) = self.rnn(packed)
        padded, counts = pad_packed_sequence(out, batch_first=True)
        return padded, counts, h + c


SEQUENCES = torch.arange(15).reshape(3, 5) % 9
both(
    "packed_tagger",
    PackedTagger,
    (SEQUENCES, torch.tensor([2, 5, 4])),
    (SEQUENCES, torch.tensor([3, 3, 1])),
)
