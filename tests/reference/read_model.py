"""PyTorch reads a model directory: its log-probabilities beside those of `burnformer score`.

    python tests/reference/read_model.py MODEL SOURCE TARGET [--sentences 200] [--burnformer burnformer]

It needs torch, safetensors and tokenizers. MODEL is the directory of a Transformer, for example runs/default/average;
SOURCE and TARGET are plain texts that are translations of each other line by line. The directory's config.json,
model.safetensors and tokenizer.json are read with these packages alone, into the Transformer of transformer.py, which was
written from the paper; each sentence is computed by itself in float64. The program runs `burnformer score --json` on the
same lines, prints the largest differences of a token's and of a sentence's log-probability, and fails if a token's is
above 1e-3 (the Rust code computes in float32).
"""
import argparse
import json
import subprocess
import sys
import tempfile
from pathlib import Path

import torch
from safetensors.torch import load_file
from tokenizers import Tokenizer
from transformer import Transformer

TOLERANCE = 1e-3


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("source", type=Path)
    parser.add_argument("target", type=Path)
    parser.add_argument("--sentences", type=int, default=200, help="only the first so many")
    parser.add_argument("--burnformer", default="burnformer", help="the program to compare with")
    return parser.parse_args()


def tokenizers(folder):
    """The tokenizer of each side, which may be one and the same."""
    both = folder / "tokenizer.json"
    names = [both, both] if both.exists() else [folder / f"{side}_tokenizer.json" for side in ("source", "target")]
    return [Tokenizer.from_file(str(name)) for name in names]


def load(folder):
    """The model of a directory."""
    file = json.loads((folder / "config.json").read_text())
    if file["arch"] != "transformer":
        sys.exit(f"error: {folder} holds the architecture {file['arch']}; this program has the Transformer alone")
    config = file["model"]
    if config["sharing"] not in ("all", "none"):
        sys.exit(f"error: {folder} shares embeddings as {config['sharing']}; this program knows all and none")
    config |= {"tied": config["sharing"] == "all", "position": config["positions"]}
    config["vocab_size"] = config["source_vocab"]
    tensors = load_file(folder / "model.safetensors")
    if config["source_vocab"] != config["target_vocab"]:
        sys.exit(f"error: {folder} has vocabularies of different sizes; this program knows equal ones")
    model = Transformer(config, config["max_positions"])
    model.load_state_dict(tensors, strict=True)
    return model.double().eval()


def log_probs(model, source, target):
    """The log-probability of every token of `target` and of the end mark."""
    eos, bos = model.c.eos, model.c.bos
    logits = model(torch.tensor([[*source, eos]]), torch.tensor([[bos, *target]]))[0]
    wanted = torch.tensor([*target, eos])
    return torch.log_softmax(logits[0], 1).gather(1, wanted[:, None])[:, 0]


def scores(a, texts):
    """The score of each pair by `burnformer score`."""
    with tempfile.TemporaryDirectory() as folder:
        paths = [Path(folder, side) for side in ("source", "target")]
        for path, lines in zip(paths, texts):
            path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
        options = [f"--{path.name}={path}" for path in paths]
        command = [a.burnformer, "score", "--json", "--model", str(a.model), *options]
        out = subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout
    return [json.loads(line)["log_probs"] for line in out.splitlines()]


def main():
    a = arguments()
    read = lambda path: path.read_text(encoding="utf-8").split("\n")[:-1][: a.sentences]
    texts = [read(a.source), read(a.target)]
    model, (source, target) = load(a.model), tokenizers(a.model)
    tokens, worst, worst_sentence = 0, 0.0, 0.0
    with torch.no_grad():
        for x, y, theirs in zip(*texts, scores(a, texts), strict=True):
            own = log_probs(model, source.encode(x).ids, target.encode(y).ids)
            assert len(own) == len(theirs), f"{len(own)} tokens here, {len(theirs)} there: {y}"
            apart = own - torch.tensor(theirs, dtype=torch.float64)
            tokens += len(own)
            worst, worst_sentence = max(worst, float(apart.abs().max())), max(worst_sentence, abs(float(apart.sum())))
    print(f"{len(texts[0])} sentences, {tokens} tokens; largest difference of a log-probability: "
          f"token {worst:.1e}, sentence {worst_sentence:.1e}")
    if worst > TOLERANCE:
        sys.exit(f"error: a token's log-probability differs by more than {TOLERANCE}")


if __name__ == "__main__":
    main()
