"""The Transformer of "Attention Is All You Need" in PyTorch, written from the paper and independent of the Rust code.

It is made for comparing numbers, not for speed: sentences of one length go through it together, so that nothing here
knows of padding or caches. Every parameter has the name that it has in a model directory (README.md lists them).
Shapes: B batch, S source length, T target length, D d_model, H heads, V vocabulary.
"""
import math
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn

ACTIVATIONS = {"relu": F.relu, "gelu": F.gelu, "silu": F.silu}
LEARNED_POSITIONS = 32


def sinusoids(count, d_model):
    """Positions of section 3.5 [count, D]: even features are sines, odd ones cosines."""
    position = torch.arange(count, dtype=torch.float64)[:, None]
    angle = position / 10000 ** (torch.arange(0, d_model, 2, dtype=torch.float64) / d_model)
    return torch.stack([angle.sin(), angle.cos()], 2).reshape(count, -1)[:, :d_model]


class ScaleNorm(nn.Module):
    """Nguyen and Salazar (2019), section 3.2: unit length times one number; epsilon is added to the mean square."""

    def __init__(self, d_model, epsilon):
        super().__init__()
        self.weight, self.least = nn.Parameter(torch.tensor([d_model**0.5])), d_model * epsilon

    def forward(self, x):
        return self.weight * x / torch.sqrt(torch.linalg.vector_norm(x, dim=-1, keepdim=True) ** 2 + self.least)


def norm(c):
    """The norm around a sub-layer."""
    is_scale = getattr(c, "norm_kind", "layer") == "scale"
    return ScaleNorm(c.d_model, c.layer_norm_eps) if is_scale else nn.LayerNorm(c.d_model, eps=c.layer_norm_eps)


class Attention(nn.Module):
    """Section 3.2.2."""

    def __init__(self, c, cross=False):
        super().__init__()
        self.c = c
        self.query, self.key = (nn.Linear(c.d_model, c.heads * c.d_k) for _ in range(2))
        self.value = nn.Linear(c.d_model, c.heads * c.d_v)
        self.output = nn.Linear(c.heads * c.d_v, c.d_model)
        if getattr(c, "qk_norm", False):
            # Over all heads together for the queries of the cross-attention.
            widths = (c.heads * c.d_k if cross else c.d_k, c.d_k)
            self.query_norm, self.key_norm = (nn.LayerNorm(width, eps=c.layer_norm_eps) for width in widths)

    def forward(self, x, memory, hidden=None):
        """x [B, T, D], memory [B, S, D], hidden [T, S] (true hides) -> [B, T, D], weights [B, H, T, S]."""
        split = lambda y: y.unflatten(2, (self.c.heads, -1)).transpose(1, 2)
        query, key, value = self.query(x), split(self.key(memory)), split(self.value(memory))
        if hasattr(self, "query_norm"):
            query = query.unflatten(2, (-1, self.query_norm.normalized_shape[0]))
            query, key = self.query_norm(query).flatten(2), self.key_norm(key)
        query = split(query)
        scores = query @ key.transpose(2, 3) / math.sqrt(self.c.d_k)
        if hidden is not None:
            scores = scores.masked_fill(hidden, -math.inf)
        weights = torch.softmax(scores, 3)
        return self.output((weights @ value).transpose(1, 2).flatten(2)), weights


class FeedForward(nn.Module):
    """Section 3.3."""

    def __init__(self, c):
        super().__init__()
        self.inner, self.outer = nn.Linear(c.d_model, c.d_ff), nn.Linear(c.d_ff, c.d_model)
        self.activation = ACTIVATIONS[c.activation]

    def forward(self, x):
        return self.outer(self.activation(self.inner(x)))


class Layer(nn.Module):
    """A layer of the encoder, or of the decoder, which attends to the memory as well (section 3.1)."""

    def __init__(self, c, is_decoder):
        super().__init__()
        self.pre = c.norm == "pre"
        self.self_attention, self.self_attention_norm = Attention(c), norm(c)
        if is_decoder:
            self.cross_attention, self.cross_attention_norm = Attention(c, cross=True), norm(c)
        self.feed_forward, self.feed_forward_norm = FeedForward(c), norm(c)

    def around(self, x, norm, sublayer):
        """A sub-layer with its residual connection and its norm after (paper) or before it."""
        return x + sublayer(norm(x)) if self.pre else norm(x + sublayer(x))

    def forward(self, x, hidden, memory=None):
        maps = {}

        def attend(name, attention, memory=None, hidden=None):
            def sublayer(y):
                out, maps[name] = attention(y, y if memory is None else memory, hidden)
                return out

            return sublayer

        x = self.around(x, self.self_attention_norm, attend("self_attention", self.self_attention, hidden=hidden))
        if memory is not None:
            cross = attend("cross_attention", self.cross_attention, memory)
            x = self.around(x, self.cross_attention_norm, cross)
        return self.around(x, self.feed_forward_norm, self.feed_forward), maps


class Stack(nn.Module):
    """The encoder or the decoder; pre-norm layers end in a norm."""

    def __init__(self, c, is_decoder):
        super().__init__()
        count = c.decoder_layers if is_decoder else c.encoder_layers
        self.layers = nn.ModuleList(Layer(c, is_decoder) for _ in range(count))
        if c.norm == "pre":
            self.norm = norm(c)

    def forward(self, x, hidden, memory=None):
        maps = {}
        for i, layer in enumerate(self.layers):
            x, found = layer(x, hidden, memory)
            maps |= {f"layers.{i}.{name}": weights for name, weights in found.items()}
        return (self.norm(x) if hasattr(self, "norm") else x), maps


class Table(nn.Module):
    """Vectors by number: embeddings, learned positions, or the output's weights."""

    def __init__(self, count, d_model):
        super().__init__()
        self.weight = nn.Parameter(torch.randn(count, d_model) * d_model**-0.5)


class Transformer(nn.Module):
    """`config` has the keys of the reference's JSON files; weights are random until they are loaded."""

    def __init__(self, config, positions=LEARNED_POSITIONS):
        super().__init__()
        self.c = c = SimpleNamespace(**config)
        names = ["embedding"] if c.tied else ["source_embedding", "target_embedding", "generator"]
        for name in names:
            setattr(self, name, Table(c.vocab_size, c.d_model))
        if c.position == "learned":
            self.source_position, self.target_position = Table(positions, c.d_model), Table(positions, c.d_model)
        self.encoder, self.decoder = Stack(c, False), Stack(c, True)
        for part in self.modules():
            if isinstance(part, nn.Linear):
                nn.init.xavier_uniform_(part.weight)
                nn.init.zeros_(part.bias)

    @property
    def longest(self):
        """Most target positions that the model has, where there is a limit."""
        return self.target_position.weight.shape[0] if self.c.position == "learned" else None

    def embed(self, ids, side):
        """Embedded ids with their positions, section 3.4 and 3.5 [B, len, D]."""
        table = self.embedding if self.c.tied else getattr(self, side + "_embedding")
        if self.c.position == "learned":
            positions = getattr(self, side + "_position").weight[: ids.shape[1]]
        else:
            positions = sinusoids(ids.shape[1], self.c.d_model).to(table.weight)
        return self.rows(table)[ids] * math.sqrt(self.c.d_model) + positions

    def rows(self, table):
        """The vectors of tokens: of unit length under FixNorm (Nguyen and Chiang, 2018)."""
        return F.normalize(table.weight, dim=1) if getattr(self.c, "fix_norm", False) else table.weight

    def hidden(self, length, causal):
        """The keys that a query does not see [length, length]: later ones in the decoder, and those outside the window."""
        place = torch.arange(length)
        hidden = (place[None, :] > place[:, None]) & causal
        if self.c.attention_window is not None:
            hidden = hidden | ((place[None, :] - place[:, None]).abs() > self.c.attention_window)
        return hidden

    def encode(self, source):
        """Source [B, S] -> memory [B, S, D], attention weights by name."""
        return self.encoder(self.embed(source, "source"), self.hidden(source.shape[1], False))

    def decode(self, target_input, memory):
        """Target [B, T] -> logits [B, T, V], attention weights by name."""
        x = self.embed(target_input, "target")
        x, maps = self.decoder(x, self.hidden(target_input.shape[1], True), memory)
        return x @ self.rows(self.embedding if self.c.tied else self.generator).T, maps

    def forward(self, source, target_input):
        """Logits [B, T, V], attention weights by name [B, H, queries, keys], memory [B, S, D]."""
        memory, encoder = self.encode(source)
        logits, decoder = self.decode(target_input, memory)
        maps = {f"encoder.{name}": weights for name, weights in encoder.items()}
        return logits, maps | {f"decoder.{name}": weights for name, weights in decoder.items()}, memory

    def start(self, source):
        """The state before the first token of a translation of `source`, a list of ids."""
        return self.encode(torch.tensor([source]))[0], ()

    def step(self, token, state):
        """Logits of the next token [V] after `token`, and the state behind it; the whole prefix is computed again."""
        memory, before = state
        tokens = (*before, token)
        return self.decode(torch.tensor([tokens]), memory)[0][0, -1], (memory, tokens)

    @staticmethod
    def file_name(name):
        """A parameter's name in the files."""
        return name
