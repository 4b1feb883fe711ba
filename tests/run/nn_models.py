"""Small copies of well-known models, written once and built on either library.

Each function takes the library (`torch` or `tensorscript`) and gives (model, inputs as arrays).
The shapes are the models', the widths are not: a test runs in well under a second.
"""

from __future__ import annotations

import math
from typing import Any

import numpy as np

RNG = np.random.default_rng(17)


def normal(*shape: int) -> Any:
    return RNG.standard_normal(shape).astype(np.float32)


IMAGE, TOKENS, STEPS = normal(1, 3, 32, 32), RNG.integers(0, 50, (2, 7)), normal(2, 6, 5)


def resnet18(torch: Any) -> Any:
    return resnet18_of_width(torch, 8, 10), (IMAGE,)


def resnet18_of_width(torch: Any, width: int, classes: int) -> Any:
    """ResNet-18; 64 and 1000 are the sizes of the original."""
    nn = torch.nn

    class BasicBlock(nn.Module):
        def __init__(self, inputs: int, outputs: int, stride: int) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(inputs, outputs, 3, stride, 1, bias=False)
            self.bn1 = nn.BatchNorm2d(outputs)
            self.relu = nn.ReLU(inplace=True)
            self.conv2 = nn.Conv2d(outputs, outputs, 3, padding=1, bias=False)
            self.bn2 = nn.BatchNorm2d(outputs)
            self.downsample = None
            if stride != 1 or inputs != outputs:
                self.downsample = nn.Sequential(
                    nn.Conv2d(inputs, outputs, 1, stride, bias=False), nn.BatchNorm2d(outputs)
                )

        def forward(self, x):
            identity = x
            out = self.relu(self.bn1(self.conv1(x)))
            out = self.bn2(self.conv2(out))
            if self.downsample is not None:
                identity = self.downsample(x)
            out += identity
            return self.relu(out)

    class ResNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.conv1 = nn.Conv2d(3, width, kernel_size=7, stride=2, padding=3, bias=False)
            self.bn1 = nn.BatchNorm2d(width)
            self.relu = nn.ReLU(inplace=True)
            self.maxpool = nn.MaxPool2d(kernel_size=3, stride=2, padding=1)
            self.layer1 = self._layer(width, width, 1)
            self.layer2 = self._layer(width, 2 * width, 2)
            self.layer3 = self._layer(2 * width, 4 * width, 2)
            self.layer4 = self._layer(4 * width, 8 * width, 2)
            self.avgpool = nn.AdaptiveAvgPool2d((1, 1))
            self.fc = nn.Linear(8 * width, classes)
            for m in self.modules():
                if isinstance(m, nn.Conv2d):
                    nn.init.kaiming_normal_(m.weight, mode="fan_out", nonlinearity="relu")

        def _layer(self, inputs: int, outputs: int, stride: int) -> Any:
            return nn.Sequential(
                BasicBlock(inputs, outputs, stride), BasicBlock(outputs, outputs, 1)
            )

        def forward(self, x):
            x = self.maxpool(self.relu(self.bn1(self.conv1(x))))
            x = self.layer4(self.layer3(self.layer2(self.layer1(x))))
            x = torch.flatten(self.avgpool(x), 1)
            return self.fc(x)

    return ResNet()


def mobilenet_v2(torch: Any) -> Any:
    nn = torch.nn

    class ConvBNReLU(nn.Sequential):
        def __init__(
            self, i: int, o: int, kernel: int = 3, stride: int = 1, groups: int = 1
        ) -> None:
            conv = nn.Conv2d(i, o, kernel, stride, (kernel - 1) // 2, groups=groups, bias=False)
            super().__init__(conv, nn.BatchNorm2d(o), nn.ReLU6(inplace=True))

    class InvertedResidual(nn.Module):
        def __init__(self, i: int, o: int, stride: int, expand: int) -> None:
            super().__init__()
            self.use_res_connect = stride == 1 and i == o
            hidden = i * expand
            layers: list[Any] = [] if expand == 1 else [ConvBNReLU(i, hidden, 1)]
            layers += [
                ConvBNReLU(hidden, hidden, stride=stride, groups=hidden),
                nn.Conv2d(hidden, o, 1, bias=False), nn.BatchNorm2d(o),
            ]  # fmt: skip
            self.conv = nn.Sequential(*layers)

        def forward(self, x):
            if self.use_res_connect:
                return x + self.conv(x)
            return self.conv(x)

    class MobileNetV2(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            settings = ((1, 8, 1, 1), (6, 8, 2, 2), (6, 16, 2, 2))
            features: list[Any] = [ConvBNReLU(3, 8, stride=2)]
            width = 8
            for expand, outputs, count, first in settings:
                for at in range(count):
                    stride = first if at == 0 else 1
                    features.append(InvertedResidual(width, outputs, stride, expand))
                    width = outputs
            features.append(ConvBNReLU(width, 32, 1))
            self.features = nn.Sequential(*features)
            self.classifier = nn.Sequential(nn.Dropout(0.2), nn.Linear(32, 10))

        def forward(self, x):
            x = self.features(x)
            x = nn.functional.adaptive_avg_pool2d(x, (1, 1)).reshape(x.shape[0], -1)
            return self.classifier(x)

    return MobileNetV2(), (IMAGE,)


def unet(torch: Any) -> Any:
    nn = torch.nn

    def double(i: int, o: int) -> Any:
        return nn.Sequential(
            nn.Conv2d(i, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
            nn.Conv2d(o, o, 3, padding=1), nn.BatchNorm2d(o), nn.ReLU(inplace=True),
        )  # fmt: skip

    class Up(nn.Module):
        def __init__(self, i: int, o: int, bilinear: bool) -> None:
            super().__init__()
            if bilinear:
                self.up = nn.Sequential(
                    nn.Upsample(scale_factor=2, mode="bilinear", align_corners=True),
                    nn.Conv2d(i, i // 2, 1),
                )
            else:
                self.up = nn.ConvTranspose2d(i, i // 2, 2, stride=2)
            self.conv = double(i, o)

        def forward(self, x, skip):
            x = self.up(x)
            dy, dx = skip.size(2) - x.size(2), skip.size(3) - x.size(3)
            x = nn.functional.pad(x, [dx // 2, dx - dx // 2, dy // 2, dy - dy // 2])
            return self.conv(torch.cat([skip, x], dim=1))

    class UNet(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.inc = double(3, 4)
            self.downs = nn.ModuleList(
                nn.Sequential(nn.MaxPool2d(2), double(4 * 2**k, 8 * 2**k)) for k in range(2)
            )
            self.ups = nn.ModuleList([Up(16, 8, False), Up(8, 4, True)])
            self.outc = nn.Conv2d(4, 2, 1)

        def forward(self, x):
            skips = [self.inc(x)]
            for down in self.downs:
                skips.append(down(skips[-1]))
            x = skips[2]
            for k, up in enumerate(self.ups):
                x = up(x, skips[1 - k])
            return torch.sigmoid(self.outc(x))

    return UNet(), (IMAGE[:, :, :14, :13].copy(),)


def bert(torch: Any) -> Any:
    nn = torch.nn

    class SelfAttention(nn.Module):
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.heads, self.size = heads, width // heads
            self.query = nn.Linear(width, width)
            self.key = nn.Linear(width, width)
            self.value = nn.Linear(width, width)
            self.dropout = nn.Dropout(0.1)

        def split(self, x):
            return x.view(x.size(0), x.size(1), self.heads, self.size).permute(0, 2, 1, 3)

        def forward(self, x, mask: torch.Tensor | None = None):
            q, k, v = self.split(self.query(x)), self.split(self.key(x)), self.split(self.value(x))
            scores = torch.matmul(q, k.transpose(-1, -2)) / math.sqrt(self.size)
            if mask is not None:
                scores = scores + mask
            weights = self.dropout(nn.functional.softmax(scores, dim=-1))
            out = torch.matmul(weights, v).permute(0, 2, 1, 3).contiguous()
            return out.view(x.size(0), x.size(1), self.heads * self.size)

    class Layer(nn.Module):
        def __init__(self, width: int, heads: int) -> None:
            super().__init__()
            self.attention = SelfAttention(width, heads)
            self.output = nn.Linear(width, width)
            self.norm1 = nn.LayerNorm(width, eps=1e-12)
            self.intermediate = nn.Linear(width, 4 * width)
            self.final = nn.Linear(4 * width, width)
            self.norm2 = nn.LayerNorm(width, eps=1e-12)

        def forward(self, x, mask: torch.Tensor | None = None):
            x = self.norm1(x + self.output(self.attention(x, mask)))
            return self.norm2(x + self.final(nn.functional.gelu(self.intermediate(x))))

    class Bert(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.words = nn.Embedding(50, 16, padding_idx=0)
            self.positions = nn.Embedding(12, 16)
            self.norm = nn.LayerNorm(16, eps=1e-12)
            self.layers = nn.ModuleList([Layer(16, 4) for _ in range(2)])
            self.pooler = nn.Linear(16, 16)
            self.register_buffer("position_ids", torch.arange(12).unsqueeze(0), persistent=False)

        def forward(self, tokens, mask):
            at = self.position_ids[:, : tokens.size(1)]
            x = self.norm(self.words(tokens) + self.positions(at))
            hidden = (1.0 - mask[:, None, None, :]) * -10000.0
            for layer in self.layers:
                x = layer(x, hidden)
            return x, torch.tanh(self.pooler(x[:, 0]))

    mask = np.ones((2, 7), np.float32)
    mask[1, 4:] = 0
    return Bert(), (TOKENS, mask)


def gpt2(torch: Any) -> Any:
    nn = torch.nn

    class Block(nn.Module):
        def __init__(self, width: int, heads: int, context: int) -> None:
            super().__init__()
            self.heads = heads
            self.ln_1 = nn.LayerNorm(width)
            self.c_attn = nn.Linear(width, 3 * width)
            self.c_proj = nn.Linear(width, width)
            self.ln_2 = nn.LayerNorm(width)
            self.mlp = nn.ModuleDict(
                {"fc": nn.Linear(width, 4 * width), "proj": nn.Linear(4 * width, width)}
            )
            self.register_buffer(
                "bias", torch.tril(torch.ones(context, context)).view(1, 1, context, context)
            )

        def attend(self, x):
            b, t, c = x.size()
            q, k, v = self.c_attn(x).split(c, dim=2)
            q = q.view(b, t, self.heads, c // self.heads).transpose(1, 2)
            k = k.view(b, t, self.heads, c // self.heads).transpose(1, 2)
            v = v.view(b, t, self.heads, c // self.heads).transpose(1, 2)
            att = (q @ k.transpose(-2, -1)) * (1.0 / math.sqrt(k.size(-1)))
            att = att.masked_fill(self.bias[:, :, :t, :t] == 0, float("-inf"))
            y = nn.functional.softmax(att, dim=-1) @ v
            return self.c_proj(y.transpose(1, 2).contiguous().view(b, t, c))

        def forward(self, x):
            x = x + self.attend(self.ln_1(x))
            h = self.mlp["fc"](self.ln_2(x))
            return x + self.mlp["proj"](nn.functional.gelu(h, approximate="tanh"))

    class GPT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.wte = nn.Embedding(50, 16)
            self.wpe = nn.Embedding(12, 16)
            self.h = nn.ModuleList([Block(16, 2, 12) for _ in range(2)])
            self.ln_f = nn.LayerNorm(16)
            self.lm_head = nn.Linear(16, 50, bias=False)
            self.lm_head.weight = self.wte.weight

        def forward(self, tokens):
            at = torch.arange(0, tokens.size(1), dtype=torch.long, device=tokens.device)
            x = self.wte(tokens) + self.wpe(at)
            for block in self.h:
                x = block(x)
            return self.lm_head(self.ln_f(x))

    return GPT(), (TOKENS,)


def vit(torch: Any) -> Any:
    nn = torch.nn

    class ViT(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.patches = nn.Conv2d(3, 16, 8, 8)
            self.cls_token = nn.Parameter(torch.zeros(1, 1, 16))
            self.positions = nn.Parameter(torch.empty(1, 17, 16))
            nn.init.trunc_normal_(self.positions, std=0.02)
            layer = nn.TransformerEncoderLayer(
                16, 4, 32, dropout=0.0, activation="gelu", batch_first=True, norm_first=True
            )
            self.encoder = nn.TransformerEncoder(layer, 2, enable_nested_tensor=False)
            self.norm = nn.LayerNorm(16)
            self.head = nn.Linear(16, 10)

        def forward(self, x):
            x = self.patches(x).flatten(2).transpose(1, 2)
            x = torch.cat([self.cls_token.expand(x.size(0), -1, -1), x], dim=1) + self.positions
            return self.head(self.norm(self.encoder(x))[:, 0])

    return ViT(), (IMAGE,)


def lstm_tagger(torch: Any) -> Any:
    nn = torch.nn

    class Tagger(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.embedding = nn.Embedding(50, 6)
            self.lstm = nn.LSTM(6, 5, num_layers=2, batch_first=True, bidirectional=True)
            self.out = nn.Linear(10, 4)

        def forward(self, tokens):
            x, (h, c) = self.lstm(self.embedding(tokens))
            return torch.log_softmax(self.out(x), dim=-1), h, c

    return Tagger(), (TOKENS,)


def gru_decoder(torch: Any) -> Any:
    nn = torch.nn

    class Decoder(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.encoder = nn.GRU(5, 4, batch_first=True)
            self.cell = nn.GRUCell(3, 4)
            self.out = nn.Linear(4, 3)

        def forward(self, x):
            h = self.encoder(x)[1][0]
            y = torch.zeros(x.size(0), 3)
            found = []
            for _ in range(4):
                h = self.cell(y, h)
                y = torch.tanh(self.out(h))
                found.append(y)
            return torch.stack(found, 1)

    return Decoder(), (STEPS,)


def seq2seq(torch: Any) -> Any:
    model = torch.nn.Transformer(8, 2, 1, 1, 16, dropout=0.0, batch_first=True)
    return model, (normal(2, 5, 8), normal(2, 4, 8))


def autoencoder(torch: Any) -> Any:
    nn = torch.nn
    model = nn.Sequential(
        nn.Conv2d(3, 8, 3, stride=2, padding=1), nn.InstanceNorm2d(8, affine=True),
        nn.LeakyReLU(0.2), nn.Conv2d(8, 16, 3, stride=2, padding=1), nn.GroupNorm(4, 16), nn.SiLU(),
        nn.PixelShuffle(2), nn.ReflectionPad2d(1), nn.Conv2d(4, 8, 3), nn.PReLU(8),
        nn.ConvTranspose2d(8, 3, 4, stride=2, padding=1), nn.Tanh(),
    )  # fmt: skip
    return model, (IMAGE,)


MODELS = (
    resnet18, mobilenet_v2, unet, bert, gpt2, vit, lstm_tagger, gru_decoder, seq2seq, autoencoder,
)  # fmt: skip
