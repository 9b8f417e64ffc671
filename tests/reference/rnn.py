"""Reference numbers of the recurrent baseline, from PyTorch's own GRU in float64.

    python tests/reference/rnn.py          # needs torch, safetensors

Writes rnn.json, rnn.init.safetensors, rnn.fitted.safetensors and rnn.case.safetensors beside itself, as README.md
describes them. Sentences go through the model one by one: nothing here knows of padding, batches or caches.
"""
import json
import math
from pathlib import Path

import torch
import torch.nn.functional as F
from safetensors.torch import save_file
from torch import nn

HERE = Path(__file__).parent
V, D, H, A = 24, 16, 20, 12
PAD, BOS, EOS = 0, 1, 2
EPSILON = 0.1


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.query = nn.Linear(H, A, bias=False)
        self.key = nn.Linear(2 * H, A)
        self.energy = nn.Linear(A, 1, bias=False)


class Encoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.left_to_right = nn.GRU(D, H)
        self.right_to_left = nn.GRU(D, H)


class Decoder(nn.Module):
    def __init__(self):
        super().__init__()
        self.initial = nn.Linear(H, H)
        self.attention = Attention()
        self.cell = nn.GRUCell(D + 2 * H, H)
        self.readout = nn.Linear(3 * H + D, 2 * D)


class Rnn(nn.Module):
    def __init__(self):
        super().__init__()
        self.embedding = nn.Embedding(V, D)
        self.encoder, self.decoder = Encoder(), Decoder()
        for p in self.parameters():
            nn.init.xavier_uniform_(p) if p.dim() > 1 else nn.init.uniform_(p, -0.1, 0.1)
        nn.init.normal_(self.embedding.weight, 0, D**-0.5)

    def embed(self, ids):
        return self.embedding(torch.as_tensor(ids)) * math.sqrt(D)

    def encode(self, source):
        """Source [len] or [len, batch] of one length -> annotations [len, batch, 2H], first state [batch, H]."""
        x = self.embed(source)
        x = x[:, None] if x.dim() == 2 else x
        right, _ = self.encoder.left_to_right(x)
        left, _ = self.encoder.right_to_left(x.flip(0))
        left = left.flip(0)
        return torch.cat([right, left], 2), torch.tanh(self.decoder.initial(left[0]))

    def step(self, token, state, memory):
        """One token [batch] -> logits [batch, V], the next state, weights [len, batch]."""
        a = self.decoder.attention
        scores = a.energy(torch.tanh(a.query(state) + a.key(memory)))[..., 0]
        weights = torch.softmax(scores, 0)
        context = (weights[..., None] * memory).sum(0)
        x = self.embed(token)
        state = self.decoder.cell(torch.cat([x, context], 1), state)
        pieces = self.decoder.readout(torch.cat([state, context, x], 1))
        readout = torch.maximum(pieces[:, :D], pieces[:, D:])
        return F.linear(readout, self.embedding.weight), state, weights

    def forward(self, source, target_input):
        """Logits [len, batch, V] and weights [len, batch, source_len]."""
        memory, state = self.encode(source)
        target_input = torch.as_tensor(target_input)
        target_input = target_input[:, None] if target_input.dim() == 1 else target_input
        logits, maps = [], []
        for token in target_input:
            out, state, weights = self.step(token, state, memory)
            logits.append(out)
            maps.append(weights.T)
        return torch.stack(logits), torch.stack(maps)


def losses(logits, targets):
    logp = torch.log_softmax(logits, -1)
    nll = -logp.gather(-1, targets[..., None])[..., 0]
    return ((1 - EPSILON) * nll + EPSILON * -logp.mean(-1)).sum(), nll.sum()


def rounded(model):
    """Weights as the float32 files hold them."""
    with torch.no_grad():
        for p in model.parameters():
            p.copy_(p.float().double())


def named(model, prefix="", grads=False):
    value = lambda p: (p.grad if grads else p).detach().float().contiguous()
    return {prefix + n.replace("_l0", ""): value(p) for n, p in model.named_parameters()}


PAIRS = [([12, 6, 14], [9, 4, 17, 5]), ([3, 22, 8, 19, 7, 11], [21, 3]), ([5], [6, 7, 8, 9, 10, 23])]


def case(model):
    sources = [s + [EOS] for s, _ in PAIRS]
    inputs, outputs = [[BOS] + t for _, t in PAIRS], [t + [EOS] for _, t in PAIRS]
    longest = [max(map(len, rows)) for rows in (sources, inputs)]
    logits = torch.zeros(len(PAIRS), longest[1], V)
    cross = torch.zeros(len(PAIRS), 1, longest[1], longest[0])
    smoothed = nll = 0.0
    for row, (source, given, wanted) in enumerate(zip(sources, inputs, outputs)):
        out, maps = model(source, given)
        a, b = losses(out[:, 0], torch.tensor(wanted))
        smoothed, nll = smoothed + a, nll + b
        logits[row, : len(given)] = out[:, 0].detach()
        cross[row, 0, : len(given), : len(source)] = maps[:, 0].detach()
    tokens = sum(map(len, outputs))
    model.zero_grad()
    (smoothed / tokens).backward()
    pad = lambda rows, n: torch.tensor([r + [PAD] * (n - len(r)) for r in rows])
    one = lambda x: torch.tensor([float(x.detach()) / tokens]).float()
    return {
        "source": pad(sources, longest[0]),
        "target_input": pad(inputs, longest[1]),
        "target_output": pad(outputs, longest[1]),
        "logits": logits.float(),
        "attention.cross": cross.float(),
        "loss_smoothed": one(smoothed),
        "nll": one(nll),
        **named(model, "grad.", grads=True),
    }


def fit(model, steps=700):
    """Reverse a sequence; batches of one length, so that there is no padding. Ended before it is sure of itself."""
    adam = torch.optim.Adam(model.parameters(), 4e-3)
    generator = torch.Generator().manual_seed(3)
    for step in range(steps):
        n = int(torch.randint(2, 8, (), generator=generator))
        words = torch.randint(3, V, (n, 32), generator=generator)
        mark = lambda i: torch.full((1, 32), i)
        logits, _ = model(torch.cat([words, mark(EOS)]), torch.cat([mark(BOS), words.flip(0)]))
        loss, nll = losses(logits, torch.cat([words.flip(0), mark(EOS)]))
        adam.zero_grad()
        (loss / logits[..., 0].numel()).backward()
        adam.step()
    print(f"fitted: nll {float(nll.detach()) / logits[..., 0].numel():.3f}")


def search(model, source, k, alpha):
    """Beam search as tensor2tensor has it: 2k extensions a step, k live, k finished."""
    source = source + [EOS]
    limit = len(source) + 50
    lp = lambda n: ((5 + n) / 6) ** alpha
    memory, state = model.encode(source)
    live, finished = [([], 0.0, state)], []
    for n in range(1, limit + 1):
        extensions = []
        for tokens, total, state in live:
            last = torch.tensor([tokens[-1] if tokens else BOS])
            logits, after, _ = model.step(last, state, memory)
            logp = torch.log_softmax(logits[0], 0)
            allowed = [i for i in range(V) if i not in (PAD, BOS)]
            extensions += [(total + float(logp[i]), tokens + [i], after) for i in allowed]
        extensions.sort(key=lambda e: -e[0])
        extensions = extensions[: 2 * k if k > 1 else 1]
        finished += [(total / lp(n), tokens) for total, tokens, _ in extensions if tokens[-1] == EOS]
        finished = sorted(finished, key=lambda f: -f[0])[:k]
        live = [(tokens, total, s) for total, tokens, s in extensions if tokens[-1] != EOS][:k]
        if not live or len(finished) == k and finished[-1][0] >= live[0][1] / lp(limit):
            break
    assert finished, "the fitted model ends its sentences"
    return [{"tokens": tokens, "score": score} for score, tokens in finished]


def main():
    torch.set_num_threads(1)
    torch.manual_seed(1)
    torch.set_default_dtype(torch.float64)
    model = Rnn()
    rounded(model)
    save_file(named(model), HERE / "rnn.init.safetensors")
    save_file(case(model), HERE / "rnn.case.safetensors")
    fit(model)
    rounded(model)
    save_file(named(model), HERE / "rnn.fitted.safetensors")
    results = []
    with torch.no_grad():
        for source in [[12, 6, 14], [12, 14, 3, 9, 22], [4, 19], [13, 23, 7, 3, 9, 22, 12, 6, 14]]:
            row = {"source": source + [EOS]}
            for k, alpha in [(1, 0.0), (4, 0.6), (5, 1.0)]:
                row[f"beam{k}_alpha{alpha}"] = search(model, source, k, alpha)
            results.append(row)
            print(source, row["beam1_alpha0.0"][0]["tokens"])
    sizes = {"vocab_size": V, "d_model": D, "d_hidden": H, "d_attention": A, "pad": PAD, "bos": BOS, "eos": EOS}
    (HERE / "rnn.json").write_text(json.dumps({**sizes, "search": results}, indent=1) + "\n")


if __name__ == "__main__":
    main()
