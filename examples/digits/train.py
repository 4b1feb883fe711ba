"""Train the digit classifier of the demo with PyTorch, and store it with its predictions.

Needs PyTorch and scikit-learn (`pip install torch scikit-learn`); the demo itself needs neither.
Writes beside this file:
    digits.pt     the scripted network, in eval mode
    heldout.npz   inputs float32 (450, 1, 8, 8), labels int64 (450,) and PyTorch's own outputs:
                  torch_outputs float32 (450, 10), the log-probabilities

Run: `python examples/digits/train.py` (about ten seconds on one core; the seeds are fixed).
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
import torch
from sklearn.datasets import load_digits
from torch import Tensor, nn

HERE = Path(__file__).parent
HELD_OUT = 450
EPOCHS = 60
BATCH = 64


class Digits(nn.Module):
    """8x8 grey images to log-probabilities of ten digits."""

    def __init__(self) -> None:
        super().__init__()
        self.conv1 = nn.Conv2d(1, 16, 3, padding=1)
        self.norm1 = nn.BatchNorm2d(16)
        self.conv2 = nn.Conv2d(16, 32, 3, padding=1)
        self.norm2 = nn.BatchNorm2d(32)
        self.pool = nn.MaxPool2d(2)
        self.hidden = nn.Linear(32 * 2 * 2, 64)
        self.out = nn.Linear(64, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.pool(torch.relu(self.norm1(self.conv1(x))))
        x = self.pool(torch.relu(self.norm2(self.conv2(x))))
        x = torch.relu(self.hidden(x.flatten(1)))
        return torch.log_softmax(self.out(x), dim=1)


def load() -> tuple[Tensor, Tensor]:
    """All images, scaled from 0..16 to 0..1, and their labels, in a fixed random order."""
    digits = load_digits()
    order = np.random.default_rng(0).permutation(len(digits.target))
    images = digits.images[order].astype(np.float32)[:, None] / 16.0
    return torch.from_numpy(images), torch.from_numpy(digits.target[order].astype(np.int64))


def train(model: Digits, images: Tensor, labels: Tensor) -> None:
    """Adam over shuffled batches, with each image shifted by up to one pixel each time."""
    optimizer = torch.optim.Adam(model.parameters(), lr=2e-3, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS)
    for epoch in range(EPOCHS):
        total = 0.0
        for batch in torch.randperm(len(images)).split(BATCH):
            down, right = (int(s) for s in torch.randint(-1, 2, (2,)))
            padded = nn.functional.pad(images[batch], (1, 1, 1, 1))
            shifted = padded[:, :, 1 + down : 9 + down, 1 + right : 9 + right]
            loss = nn.functional.nll_loss(model(shifted), labels[batch])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += float(loss) * len(batch)
        schedule.step()
        if epoch % 10 == 9:
            print(f"epoch {epoch + 1}: loss {total / len(images):.4f}")


def main() -> None:
    torch.manual_seed(0)
    torch.set_num_threads(1)
    images, labels = load()
    model = Digits()
    train(model, images[HELD_OUT:], labels[HELD_OUT:])
    model.eval()
    scripted = torch.jit.script(model)
    with torch.no_grad():
        outputs = scripted(images[:HELD_OUT])
    accuracy = float((outputs.argmax(1) == labels[:HELD_OUT]).float().mean())
    print(f"accuracy on {HELD_OUT} held-out digits: {accuracy:.4f}")
    scripted.save(str(HERE / "digits.pt"))
    np.savez_compressed(
        HERE / "heldout.npz",
        inputs=images[:HELD_OUT].numpy(),
        labels=labels[:HELD_OUT].numpy(),
        torch_outputs=outputs.numpy(),
    )


if __name__ == "__main__":
    main()
