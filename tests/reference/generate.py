"""Makes the reference numbers, and checks those that are here, in float64 and independently of the Rust code.

    python tests/reference/generate.py                    # recomputes every number of the files here and compares
    python tests/reference/generate.py --write FOLDER     # makes all files anew, from seeds alone

It needs torch and safetensors. README.md says what the files hold.

What can be made again: the files of `rnn`, `qk_norm` and `fix_scale` come out of `--write` as they are here, bit for bit (PyTorch 2.15.0
on a CPU). The weights of the other four models, their batch and the sources of their searches were drawn by an earlier program
whose seeds are not known; the check takes these from the files and recomputes everything that the tests expect: the
logits, log-probabilities, memory, attention weights, losses, gradients, the trajectory of ten updates, positions, and every
hypothesis and score of every search. It fails if a tensor differs by more than 1e-6 (files hold float32, values are
below ten), a score by more than 1e-5 (the earlier program searched with weights that were not yet rounded to
float32), or a hypothesis by a token. A set that `--write` makes has other weights, passes the
same check (`--check FOLDER`), and can replace this one, except for the test that names the fourth search of learned_dk.
"""
import argparse
import json
import sys
from pathlib import Path

import torch
from rnn import Rnn
from safetensors.torch import load_file, save_file
from transformer import Transformer, sinusoids

HERE = Path(__file__).parent
PAD, BOS, EOS = 0, 1, 2
SMOOTHING = 0.1
TOLERANCE, SCORE_TOLERANCE = 1e-6, 1e-5
SEARCHES = {"beam1_alpha0.0": (1, 0.0), "beam4_alpha0.6": (4, 0.6), "beam5_alpha1.0": (5, 1.0)}

SPECIAL = {"pad": PAD, "bos": BOS, "eos": EOS}
PAPER = {
    "vocab_size": 24, "d_model": 16, "heads": 4, "d_k": 4, "d_v": 4, "d_ff": 32, "encoder_layers": 2, "decoder_layers": 2,
    "norm": "post", "activation": "relu", "position": "sinusoidal", "tied": True, "attention_window": None,
    "layer_norm_eps": 1e-05, **SPECIAL,
}
CONFIGS = {
    "paper": PAPER,
    "pre_gelu_untied": PAPER | {"norm": "pre", "activation": "gelu", "tied": False},
    "learned_dk": PAPER | {"d_k": 6, "d_v": 5, "position": "learned"},
    "window": PAPER | {"attention_window": 2},
    "qk_norm": PAPER | {"norm": "pre", "activation": "gelu", "d_k": 6, "qk_norm": True},
    "fix_scale": PAPER | {"norm": "pre", "norm_kind": "scale", "fix_norm": True},
    "rnn": {"vocab_size": 24, "d_model": 16, "d_hidden": 20, "d_attention": 12, **SPECIAL},
}
# One ragged batch, and the sources of the searches, without their end marks.
PAIRS = [([12, 6, 14], [9, 4, 17, 5]), ([3, 22, 8, 19, 7, 11], [21, 3]), ([5], [6, 7, 8, 9, 10, 23])]
SOURCES = [[12, 6, 14], [12, 14, 3, 9, 22], [4, 19], [13, 23, 7, 3, 9, 22, 12, 6, 14]]


def model_of(config):
    return Rnn(config) if "d_hidden" in config else Transformer(config)


def losses(logits, wanted):
    """Sums over tokens: the smoothed loss, and the negative log-likelihood."""
    logp = torch.log_softmax(logits, -1)
    nll = -logp.gather(-1, wanted[..., None])[..., 0]
    return ((1 - SMOOTHING) * nll + SMOOTHING * -logp.mean(-1)).sum(), nll.sum()


def named(model, gradients=False):
    """Parameters, or their gradients, by their names in the files."""
    value = lambda p: (p.grad if gradients else p).detach().clone()
    return {model.file_name(name): value(p) for name, p in model.named_parameters()}


def load(model, tensors):
    """Gives `model` the weights of a file."""
    own = {model.file_name(name): p for name, p in model.named_parameters()}
    assert own.keys() == tensors.keys(), f"names differ: {sorted(own.keys() ^ tensors.keys())}"
    with torch.no_grad():
        for name, p in own.items():
            assert p.shape == tensors[name].shape, (name, p.shape, tensors[name].shape)
            p.copy_(tensors[name])
    return model


def single(tensors):
    """As a file holds them: float32, and integers as they are."""
    return {name: t.float().contiguous() if t.is_floating_point() else t.contiguous() for name, t in tensors.items()}


def padded(rows):
    longest = max(map(len, rows))
    return torch.tensor([row + [PAD] * (longest - len(row)) for row in rows])


def batch_loss(model, batch, visit=lambda *found: None):
    """The sums of both losses over a batch (source, target input, target output), a sentence at a time."""
    smoothed = nll = 0.0
    for row, sentence in enumerate(batch):
        source, given, wanted = (torch.tensor(ids)[None] for ids in sentence)
        logits, maps, memory = model(source, given)
        found = losses(logits, wanted)
        smoothed, nll = smoothed + found[0], nll + found[1]
        visit(row, logits, maps, memory)
    return smoothed, nll


def case(model, batch):
    """Everything that the tests compare for one ragged batch; zeros at padded positions."""
    columns = [padded(list(rows)) for rows in zip(*batch)]
    tensors = dict(zip(["source", "target_input", "target_output"], columns))
    lengths = {"queries": columns[1].shape[1], "keys": columns[0].shape[1]}

    def keep(name, row, value):
        """Puts a sentence's value [..., len, ...] into the batch's tensor, which has zeros beyond."""
        if name not in tensors:
            tensors[name] = torch.zeros(len(batch), *sizes(name, value))
        tensors[name][(row, *(slice(0, n) for n in value.shape))] = value.detach()

    def sizes(name, value):
        s, t = lengths["keys"], lengths["queries"]
        if name.startswith("attention."):
            return (value.shape[0], s if "encoder" in name else t, t if "decoder" in name and "self" in name else s)
        return (s if name == "memory" else t, value.shape[-1])

    def visit(row, logits, maps, memory):
        keep("logits", row, logits[0])
        if memory is not None:
            keep("log_probs", row, torch.log_softmax(logits[0], -1))
            keep("memory", row, memory[0])
        for name, weights in maps.items():
            keep("attention." + name, row, weights[0])

    smoothed, nll = batch_loss(model, batch, visit)
    tokens = sum(len(wanted) for _, _, wanted in batch)
    model.zero_grad()
    (smoothed / tokens).backward()
    tensors |= {"loss_smoothed": (smoothed / tokens).detach()[None], "nll": (nll / tokens).detach()[None]}
    tensors |= {"grad." + name: gradient for name, gradient in named(model, gradients=True).items()}
    if isinstance(model, Transformer):
        tensors |= {"trajectory_loss": trajectory(model, batch, tokens), "positions": sinusoids(64, model.c.d_model)}
    return tensors


def trajectory(model, batch, tokens, updates=10):
    """The loss before each of ten updates; the weights are those of before again afterwards."""
    before = named(model)
    adam = torch.optim.Adam(model.parameters(), 1.0, betas=(0.9, 0.98), eps=1e-9)
    found = []
    for t in range(1, updates + 1):
        adam.param_groups[0]["lr"] = 0.1 * model.c.d_model**-0.5 * min(t**-0.5, t * 4**-1.5)
        loss = batch_loss(model, batch)[0] / tokens
        found.append(loss.detach())
        adam.zero_grad()
        loss.backward()
        adam.step()
    load(model, before)
    return torch.stack(found)


def beam_search(model, source, k, alpha):
    """The search of tensor2tensor: each step the 2k best extensions, k of which stay alive and k are kept when finished."""
    limit = len(source) + 50
    if model.longest is not None:
        limit = min(limit, model.longest - 1)
    penalty = lambda n: ((5 + n) / 6) ** alpha
    live, finished = [([], 0.0, model.start(source))], []
    for n in range(1, limit + 1):
        extensions = []
        for tokens, total, state in live:
            logits, after = model.step(tokens[-1] if tokens else BOS, state)
            logp = torch.log_softmax(logits, 0).tolist()
            extensions += [(total + p, tokens + [i], after) for i, p in enumerate(logp) if i not in (PAD, BOS)]
        extensions.sort(key=lambda e: -e[0])
        extensions = extensions[: 2 * k if k > 1 else 1]
        finished += [(total / penalty(n), tokens) for total, tokens, _ in extensions if tokens[-1] == EOS]
        finished = sorted(finished, key=lambda f: -f[0])[:k]
        live = [e for e in extensions if e[1][-1] != EOS]
        live = [(tokens, total, state) for total, tokens, state in live[:k]]
        if not live or len(finished) == k and finished[-1][0] >= live[0][1] / penalty(limit):
            break
    if not finished:  # the limit came first: what is alive counts as it is
        finished = sorted(((total / penalty(limit), tokens) for tokens, total, _ in live), key=lambda f: -f[0])
    return [{"tokens": tokens, "score": score} for score, tokens in finished]


def searches(model, sources):
    """`sources` with their end marks."""
    with torch.no_grad():
        row = lambda source: {name: beam_search(model, source, *how) for name, how in SEARCHES.items()}
        return [{"source": source} | row(source) for source in sources]


def fit(model, steps=700):
    """Teaches the model to reverse a sequence, ended before it is sure of itself; batches of one length."""
    adam = torch.optim.Adam(model.parameters(), 4e-3)
    generator = torch.Generator().manual_seed(3)
    for _ in range(steps):
        n = int(torch.randint(2, 8, (), generator=generator))
        words = torch.randint(3, model.c.vocab_size, (n, 32), generator=generator).T
        mark = lambda i: torch.full((32, 1), i)
        logits = model(torch.cat([words, mark(EOS)], 1), torch.cat([mark(BOS), words.flip(1)], 1))[0]
        smoothed, nll = losses(logits, torch.cat([words.flip(1), mark(EOS)], 1))
        adam.zero_grad()
        (smoothed / logits[..., 0].numel()).backward()
        adam.step()
    print(f"  fitted: {float(nll.detach()) / logits[..., 0].numel():.3f} nats per token")


def write(name, folder):
    """Makes the files of model `name` from seeds."""
    config = CONFIGS[name]
    torch.manual_seed(1)
    model = model_of(config)
    load(model, single(named(model)))  # the weights as float32 files hold them
    batch = [(source + [EOS], [BOS] + target, target + [EOS]) for source, target in PAIRS]
    save_file(single(named(model)), folder / f"{name}.init.safetensors")
    save_file(single(case(model, batch)), folder / f"{name}.case.safetensors")
    fit(model)
    load(model, single(named(model)))
    save_file(single(named(model)), folder / f"{name}.fitted.safetensors")
    found = config | {"search": searches(model, [source + [EOS] for source in SOURCES])}
    (folder / f"{name}.json").write_text(json.dumps(found, indent=1) + "\n")


def batch_of(tensors):
    """The sentences of a case without their padding."""
    names = ["source", "target_input", "target_output"]
    rows = [[[i for i in row if i != PAD] for row in tensors[name].tolist()] for name in names]
    return list(zip(*rows))


def difference(name, own, theirs, tensors):
    """The largest difference at real positions, which is where a query or a token is no padding."""
    assert own.shape == theirs.shape, f"{name}: {list(own.shape)} here, {list(theirs.shape)} in the file"
    apart = (own.double() - theirs.double()).abs()
    of_source = name == "memory" or name.startswith("attention.encoder")
    if name in ("logits", "log_probs", "memory") or name.startswith("attention."):
        real = tensors["source" if of_source else "target_output"] != PAD
        apart = apart.movedim(2, 1)[real] if name.startswith("attention.") else apart[real]
    return float(apart.max())


def search_difference(name, own, theirs):
    """The largest difference of a score; fails where a hypothesis is another one."""
    worst = 0.0
    for a, b in zip(own, theirs, strict=True):
        for how in SEARCHES:
            tokens = lambda row: [hypothesis["tokens"] for hypothesis in row[how]]
            assert tokens(a) == tokens(b), f"{name}: {how} of {a['source']}: {tokens(a)} here, {tokens(b)} in the file"
            worst = max([worst, *(abs(x["score"] - y["score"]) for x, y in zip(a[how], b[how]))])
    return worst


def check(name, folder):
    """Recomputes the numbers of model `name` and prints how far those of `folder` are from them; whether all agree."""
    file = json.loads((folder / f"{name}.json").read_text())
    config = {key: value for key, value in file.items() if key != "search"}
    assert config == CONFIGS[name], f"{name}.json: the configuration is not the one of generate.py"
    model = model_of(config)
    tensors = load_file(folder / f"{name}.case.safetensors")
    load(model, load_file(folder / f"{name}.init.safetensors"))
    own = case(model, batch_of(tensors))
    assert own.keys() == tensors.keys(), f"{name}.case: names differ: {sorted(own.keys() ^ tensors.keys())}"
    apart = {key: difference(key, value, tensors[key], tensors) for key, value in own.items()}
    groups = {}
    for key, value in apart.items():
        group = key.split(".")[0]
        groups[group] = max(groups.get(group, 0.0), value)
    load(model, load_file(folder / f"{name}.fitted.safetensors"))
    scores = search_difference(name, searches(model, [row["source"] for row in file["search"]]), file["search"])
    print(f"{name}: " + ", ".join(f"{group} {value:.1e}" for group, value in groups.items()))
    print(f"  {len(file['search']) * len(SEARCHES)} searches: the same tokens; scores {scores:.1e}")
    return max(groups.values()) <= TOLERANCE and scores <= SCORE_TOLERANCE


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    what = parser.add_mutually_exclusive_group()
    what.add_argument("--check", type=Path, default=HERE, metavar="FOLDER", help="the files to check [default: those here]")
    what.add_argument("--write", type=Path, metavar="FOLDER", help="make all files anew in this folder")
    a = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    folder = a.write or a.check
    if a.write:
        folder.mkdir(parents=True, exist_ok=True)
        for name in CONFIGS:
            print(f"{name}: making its files")
            write(name, folder)
    print("largest differences from what is recomputed:")
    if not all([check(name, folder) for name in CONFIGS]):
        sys.exit(f"error: a tensor differs by more than {TOLERANCE} or a score by more than {SCORE_TOLERANCE}")
    print("all agree")


if __name__ == "__main__":
    main()
