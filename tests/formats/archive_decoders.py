"""Decoders, detectors and other programs around models: lists and dicts of state, loops that depend
on data, traces within scripts and scripts within traces."""

import math
from typing import NamedTuple

import torch
import torch.nn.functional as F
from archive_program import ArchiveProgram, values
from torch import Tensor, nn

DECODERS: dict[str, ArchiveProgram] = {}


def scripted(make: type[nn.Module], *calls: tuple[object, ...]) -> None:
    def build() -> object:
        torch.manual_seed(0)
        return torch.jit.script(make().eval())

    DECODERS[make.__name__] = ArchiveProgram(build, calls)


class CachedDecoder(nn.Module):
    """Keys and values of what went before come in and go out as a list of pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(11, 8)
        self.inner = nn.ModuleList([nn.Linear(8, 24) for _ in range(2)])
        self.outer = nn.ModuleList([nn.Linear(8, 8) for _ in range(2)])

    def forward(
        self, ids: Tensor, past: list[tuple[Tensor, Tensor]] | None = None
    ) -> tuple[Tensor, list[tuple[Tensor, Tensor]]]:
        x = self.table(ids)
        held: list[tuple[Tensor, Tensor]] = []
        batch, steps = ids.shape
        for at, (inner, outer) in enumerate(zip(self.inner, self.outer)):  # noqa: B905 - TorchScript's zip
            q, k, v = [t.view(batch, steps, 2, 4).transpose(1, 2) for t in inner(x).chunk(3, -1)]
            if past is not None:
                before = past[at]
                k, v = torch.cat([before[0], k], 2), torch.cat([before[1], v], 2)
            held.append((k, v))
            mask = torch.ones(steps, k.size(2), dtype=torch.bool).tril(k.size(2) - steps)
            y = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
            x = x + outer(y.transpose(1, 2).reshape(batch, steps, 8))
        return F.linear(x, self.table.weight), held


class RotaryDecoder(nn.Module):
    """Places turn pairs of numbers as complex ones; keys and values are buffers of a fixed length,
    and two heads share one of them."""

    def __init__(self) -> None:
        super().__init__()
        self.table = nn.Embedding(10, 8)
        self.query, self.shared = (nn.Linear(8, 8, bias=False) for _ in range(2))
        self.register_buffer("keys", torch.zeros(1, 1, 16, 4), persistent=False)
        self.register_buffer("held", torch.zeros(1, 1, 16, 4), persistent=False)
        self.register_buffer("steps", 1.0 / (100.0 ** (torch.arange(0, 4, 2) / 4)))

    def turned(self, x: Tensor, at: int) -> Tensor:
        angles = torch.outer(torch.arange(at, at + x.size(2)), self.steps)
        pairs = torch.view_as_complex(x.reshape(x.size(0), x.size(1), x.size(2), 2, 2))
        return torch.view_as_real(pairs * torch.polar(torch.ones_like(angles), angles)).flatten(3)

    def forward(self, ids: Tensor, at: int) -> Tensor:
        x = self.table(ids)
        batch, steps, width = x.shape
        x = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-6)
        query = self.query(x).view(batch, steps, 2, 4).transpose(1, 2)
        key, value = self.shared(x).view(batch, steps, 1, 8).transpose(1, 2).chunk(2, -1)
        self.keys[:, :, at : at + steps] = self.turned(key, at)
        self.held[:, :, at : at + steps] = value
        keys = self.keys[:, :, : at + steps].repeat_interleave(2, 1)
        scores = self.turned(query, at) @ keys.transpose(2, 3) / 2.0
        scores = scores + torch.full((steps, at + steps), float("-inf")).triu(at + 1)
        found = torch.softmax(scores, -1) @ self.held[:, :, : at + steps].repeat_interleave(2, 1)
        return found.transpose(1, 2).reshape(batch, steps, width) @ self.table.weight.t()


class GrowingCache(nn.Module):
    """State in a dict whose keys the program makes."""

    def __init__(self) -> None:
        super().__init__()
        self.layers = nn.ModuleList([nn.Linear(4, 4) for _ in range(2)])

    def forward(self, x: Tensor, cache: dict[str, Tensor]) -> tuple[Tensor, dict[str, Tensor]]:
        for at, layer in enumerate(self.layers):
            key = "layer" + str(at) + ".keys"
            cache[key] = torch.cat([cache[key], x], 1) if key in cache else x
            x = layer(x) + cache[key].mean(1, keepdim=True)
        return x, cache


class PrefixBeams(nn.Module):
    """CTC prefix search (A. Graves, "Supervised Sequence Labelling", 2012): a dict of pairs."""

    def __init__(self) -> None:
        super().__init__()
        self.labels: list[str] = ["_", "a", "b", "c"]

    def both(self, a: float, b: float) -> float:
        most = max(a, b)
        return most + math.log(math.exp(a - most) + math.exp(b - most))

    def forward(self, scores: Tensor, width: int = 3) -> list[tuple[str, float]]:
        beams: dict[str, tuple[float, float]] = {"": (0.0, -1e30)}
        rows: list[list[float]] = scores.tolist()
        for row in rows:
            after: dict[str, tuple[float, float]] = {}
            for prefix, ends in beams.items():
                total = self.both(ends[0], ends[1])
                for label in range(len(self.labels)):
                    if label == 0:
                        known = after.get(prefix, (-1e30, -1e30))
                        after[prefix] = (self.both(known[0], total + row[0]), known[1])
                        continue
                    letter = self.labels[label]
                    repeats = len(prefix) > 0 and prefix[-1] == letter
                    if repeats:
                        known = after.get(prefix, (-1e30, -1e30))
                        after[prefix] = (known[0], self.both(known[1], ends[1] + row[label]))
                    longer = prefix + letter
                    known = after.get(longer, (-1e30, -1e30))
                    start = ends[0] if repeats else total
                    after[longer] = (known[0], self.both(known[1], start + row[label]))
            order: list[tuple[float, str]] = []
            for prefix, ends in after.items():
                order.append((-self.both(ends[0], ends[1]), prefix))
            order.sort()
            beams = torch.jit.annotate(dict[str, tuple[float, float]], {})
            for at in range(min(width, len(order))):
                beams[order[at][1]] = after[order[at][1]]
        found: list[tuple[str, float]] = []
        for prefix, ends in beams.items():
            found.append((prefix, self.both(ends[0], ends[1])))
        return found


class Batch(NamedTuple):
    images: Tensor
    mask: Tensor


def _padded(images: list[Tensor]) -> Batch:
    height = max([x.shape[1] for x in images])
    width = max([x.shape[2] for x in images])
    out = torch.zeros(len(images), images[0].shape[0], height, width)
    mask = torch.ones((len(images), height, width), dtype=torch.bool)
    for k in range(len(images)):
        x = images[k]
        out[k, : x.shape[0], : x.shape[1], : x.shape[2]].copy_(x)
        mask[k, : x.shape[1], : x.shape[2]] = False
    return Batch(out, mask)


class SetDetector(nn.Module):
    """Images of several sizes in, a dict of boxes out (N. Carion et al., DETR, 2020)."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, 2, 1)
        self.queries = nn.Embedding(5, 8)
        self.attend = nn.MultiheadAttention(8, 2)
        self.boxes = nn.Linear(8, 4)

    def forward(self, images: list[Tensor]) -> dict[str, Tensor]:
        batch = _padded(images)
        seen = self.stem(batch.images)
        small = F.interpolate(batch.mask[None].float(), size=seen.shape[-2:]).to(torch.bool)[0]
        rows = (~small).cumsum(1, dtype=torch.float32)
        source = (seen + rows.unsqueeze(1)).flatten(2).permute(2, 0, 1)
        asked = self.queries.weight.unsqueeze(1).repeat(1, seen.size(0), 1)
        found = self.attend(asked, source, source, key_padding_mask=small.flatten(1))[0]
        return {"boxes": self.boxes(found).sigmoid(), "mask": small}


class Losses(nn.Module):
    """Optional lists of dicts in, a dict and a list of dicts out, with a refusal in between."""

    def __init__(self) -> None:
        super().__init__()
        self.head = nn.Linear(4, 3)

    def forward(
        self, images: list[Tensor], targets: list[dict[str, Tensor]] | None = None
    ) -> tuple[dict[str, Tensor], list[dict[str, Tensor]]]:
        losses: dict[str, Tensor] = {}
        found: list[dict[str, Tensor]] = []
        if targets is not None:
            total = torch.zeros(())
            for x, target in zip(images, targets):  # noqa: B905 - TorchScript's zip
                if target["boxes"].dim() != 2:
                    raise ValueError(f"Expected [N, 4], got {target['boxes'].shape}.")
                total = total + F.cross_entropy(self.head(x), target["labels"])
            losses["classes"] = total
        for x in images:
            scores, labels = self.head(x).softmax(-1).max(-1)
            sure = scores > 0.34
            found.append({"scores": scores[sure], "labels": labels[sure], "boxes": x[sure]})
        return losses, found


class MessagePassing(nn.Module):
    """A graph network: gathers, scatters, a cell, and means over the graphs of a batch."""

    def __init__(self) -> None:
        super().__init__()
        self.message = nn.Linear(9, 4)
        self.update = nn.GRUCell(4, 4)

    def forward(self, x: Tensor, edges: Tensor, weights: Tensor, graphs: Tensor) -> Tensor:
        for _ in range(2):
            start, end = edges[0], edges[1]
            sent = F.relu(self.message(torch.cat([x[start], x[end], weights], 1)))
            total = torch.zeros_like(x).index_add(0, end, sent)
            where = end.unsqueeze(1).expand(-1, x.size(1))
            most = torch.full_like(x, -1.0).scatter_reduce(0, where, sent, "amax")
            x = self.update(total + most, x)
        count = int(graphs.max()) + 1
        sums = torch.zeros(count, x.size(1)).scatter_add_(0, graphs.unsqueeze(1).expand_as(x), x)
        return sums / torch.bincount(graphs, minlength=count).clamp(min=1).unsqueeze(1)


class FakeQuantized(nn.Module):
    """Weights and activations on a grid, as training for quantization has them."""

    def __init__(self) -> None:
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3)
        self.register_buffer("scale", torch.rand(3) * 0.1 + 0.01)
        self.register_buffer("zero", torch.zeros(3, dtype=torch.int32))

    def forward(self, x: Tensor) -> Tensor:
        x = torch.fake_quantize_per_tensor_affine(x, 0.05, 128, 0, 255)
        weight = torch.fake_quantize_per_channel_affine(
            self.conv.weight, self.scale, self.zero, 0, -128, 127
        )
        y = F.conv2d(x, weight, self.conv.bias)
        return torch.fake_quantize_per_tensor_affine(y, self.scale[:1], self.zero[:1], -128, 127)


@torch.jit.script
def _limited(x: Tensor, most: float) -> Tensor:
    norm = x.norm()
    return x * (most / norm) if bool(norm > most) else x


class ScriptInTrace(nn.Module):
    """A trace keeps the branch of the script within it."""

    def __init__(self) -> None:
        super().__init__()
        self.layer = nn.Linear(4, 4)

    def forward(self, x: Tensor) -> Tensor:
        return _limited(self.layer(x), 1.0)


class TraceInScript(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        body = nn.Sequential(nn.Linear(4, 3), nn.ReLU(), nn.Dropout()).eval()
        self.body = torch.jit.trace(body, values(2, 4))
        self.pair = torch.jit.trace(lambda a, b: (a * b, a - b.mean()), (values(2, 3),) * 2)

    def forward(self, x: Tensor, rounds: int) -> Tensor:
        y = self.body(x)
        z = y
        for _ in range(rounds):
            z, y = self.pair(z, y)
        return z + y


def _trace() -> object:
    torch.manual_seed(0)
    return torch.jit.trace(ScriptInTrace().eval(), values(2, 4))


class PaddedTexts(nn.Module):
    """An encoder that makes nested tensors, if the mask hides nothing but ends of texts."""

    def __init__(self) -> None:
        super().__init__()
        layer = nn.TransformerEncoderLayer(8, 2, 16, batch_first=True)
        self.table = nn.Embedding(9, 8, padding_idx=0)
        self.encoder = nn.TransformerEncoder(layer, 2)

    def forward(self, tokens: Tensor) -> Tensor:
        hidden = tokens == 0
        found = self.encoder(self.table(tokens), src_key_padding_mask=hidden)
        shown = (~hidden).unsqueeze(2)
        return (found * shown).sum(1) / shown.sum(1)


IDS = torch.tensor([[3, 1, 7], [0, 10, 2]])
PAST = [(values(2, 2, 2, 4), values(2, 2, 2, 4)) for _ in range(2)]
EDGES = torch.tensor([[0, 1, 2, 3, 4, 0], [1, 2, 0, 4, 3, 4]])
TARGETS = [{"boxes": values(3, 4), "labels": torch.tensor([0, 2, 1])}]

scripted(CachedDecoder, (IDS, None), (IDS[:, :1], PAST))
scripted(RotaryDecoder, (torch.tensor([[1, 2, 3]]), 0), (torch.tensor([[4]]), 3), (IDS[:1, :1], 4))
scripted(GrowingCache, (values(1, 2, 4), {}), (values(1, 1, 4), {"layer0.keys": values(1, 2, 4)}))
scripted(PrefixBeams, (F.log_softmax(values(5, 4) * 2, -1),))
scripted(SetDetector, ([values(3, 12, 16), values(3, 16, 10)],), ([values(3, 8, 8)],))
scripted(Losses, ([values(3, 4), values(5, 4)],), ([values(3, 4)], TARGETS))
scripted(MessagePassing, (values(5, 4), EDGES, values(6, 1), torch.tensor([0, 0, 0, 1, 1])))
scripted(FakeQuantized, (values(1, 2, 5, 5),))
scripted(TraceInScript, (values(2, 4), 3), (values(5, 4), 0))
DECODERS["ScriptInTrace"] = ArchiveProgram(_trace, ((values(2, 4),), (values(2, 4) * 0.01,)))
scripted(
    PaddedTexts,
    (torch.tensor([[3, 4, 0], [5, 0, 0]]),),
    (torch.tensor([[3, 4, 1], [0, 2, 0]]),),
)
