"""The recurrent baseline in PyTorch, with PyTorch's own GRU, independent of the Rust code.

Sentences of one length go through it together, so that nothing here knows of padding or caches. `generate.py` computes
the reference numbers with it. Shapes: B batch, S source length, T target length, V vocabulary, H hidden features.
"""
import math
from types import SimpleNamespace

import torch
import torch.nn.functional as F
from torch import nn


class Attention(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.query = nn.Linear(c.d_hidden, c.d_attention, bias=False)
        self.key = nn.Linear(2 * c.d_hidden, c.d_attention)
        self.energy = nn.Linear(c.d_attention, 1, bias=False)


class Encoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.left_to_right = nn.GRU(c.d_model, c.d_hidden)
        self.right_to_left = nn.GRU(c.d_model, c.d_hidden)


class Decoder(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.initial = nn.Linear(c.d_hidden, c.d_hidden)
        self.attention = Attention(c)
        self.cell = nn.GRUCell(c.d_model + 2 * c.d_hidden, c.d_hidden)
        self.readout = nn.Linear(3 * c.d_hidden + c.d_model, 2 * c.d_model)


class Rnn(nn.Module):
    """`config` has the keys of rnn.json; weights are random until they are loaded."""

    longest = None

    def __init__(self, config):
        super().__init__()
        self.c = c = SimpleNamespace(**config)
        self.embedding = nn.Embedding(c.vocab_size, c.d_model)
        self.encoder, self.decoder = Encoder(c), Decoder(c)
        for p in self.parameters():
            nn.init.xavier_uniform_(p) if p.dim() > 1 else nn.init.uniform_(p, -0.1, 0.1)
        nn.init.normal_(self.embedding.weight, 0, c.d_model**-0.5)

    def embed(self, ids):
        return self.embedding(ids) * math.sqrt(self.c.d_model)

    def encode(self, source):
        """Source [S, B] -> annotations [S, B, 2H], the decoder's first state [B, H]."""
        x = self.embed(source)
        right, _ = self.encoder.left_to_right(x)
        left, _ = self.encoder.right_to_left(x.flip(0))
        left = left.flip(0)
        return torch.cat([right, left], 2), torch.tanh(self.decoder.initial(left[0]))

    def next(self, token, state, memory):
        """One token [B] -> logits [B, V], the next state, attention weights [S, B]."""
        a = self.decoder.attention
        scores = a.energy(torch.tanh(a.query(state) + a.key(memory)))[..., 0]
        weights = torch.softmax(scores, 0)
        context = (weights[..., None] * memory).sum(0)
        x = self.embed(token)
        state = self.decoder.cell(torch.cat([x, context], 1), state)
        pieces = self.decoder.readout(torch.cat([state, context, x], 1))
        d = self.c.d_model
        readout = torch.maximum(pieces[:, :d], pieces[:, d:])
        return F.linear(readout, self.embedding.weight), state, weights

    def forward(self, source, target_input):
        """Logits [B, T, V] and attention weights by name [B, 1, T, S]; no memory, as the case has none."""
        memory, state = self.encode(source.T)
        logits, maps = [], []
        for token in target_input.T:
            out, state, weights = self.next(token, state, memory)
            logits.append(out)
            maps.append(weights.T)
        return torch.stack(logits, 1), {"cross": torch.stack(maps, 1)[:, None]}, None

    def start(self, source):
        """The state before the first token of a translation of `source`, a list of ids."""
        return self.encode(torch.tensor(source)[:, None])

    def step(self, token, state):
        """Logits of the next token [V] after `token`, and the state behind it."""
        memory, hidden = state
        logits, hidden, _ = self.next(torch.tensor([token]), hidden, memory)
        return logits[0], (memory, hidden)

    @staticmethod
    def file_name(name):
        """A parameter's name in the files: torch.nn.GRU numbers its layers, the files do not."""
        return name.replace("_l0", "")
