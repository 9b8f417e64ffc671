"""Makes 200 updates of two models in float64, for the test crates/train/tests/it/updates.rs.

    python tests/reference/updates.py           # makes the updates and compares with the file here
    python tests/reference/updates.py --write   # writes the file anew

It needs torch and safetensors. `updates.safetensors` holds, in float32, the loss before each update (`NAME.losses`) of
the models `paper`, which has ReLU, and `pre_gelu_untied`, and the weights of the latter after the last update. The
updates begin with the weights of NAME.init.safetensors.
"""
import argparse
import json
import sys

import torch
from generate import BOS, EOS, HERE, batch_loss, load, model_of, named, single
from safetensors.torch import load_file, save_file

FILE = HERE / "updates.safetensors"
UPDATES, SENTENCES = 200, 8
FACTOR, WARMUP = 0.3, 50
TOLERANCE = 1e-6


def sentence(t, b):
    """Sentence b of update t: tokens, and the same backwards as its translation."""
    words = [3 + (t * t + 5 * b * b + 3 * t * b + 7 * j * j + t * j) % 21 for j in range(1 + (t + b) % 7)]
    return words + [EOS], [BOS] + words[::-1], words[::-1] + [EOS]


def rate(t, d_model):
    """Section 5.3, times FACTOR."""
    return FACTOR * d_model**-0.5 * min(t**-0.5, t * WARMUP**-1.5)


def updates(name):
    """The losses before the updates of model `name`, and the weights after them."""
    config = json.loads((HERE / f"{name}.json").read_text())
    del config["search"]
    model = load(model_of(config), load_file(HERE / f"{name}.init.safetensors"))
    adam = torch.optim.Adam(model.parameters(), 1.0, betas=(0.9, 0.98), eps=1e-9)
    losses = []
    for t in range(1, UPDATES + 1):
        batch = [sentence(t, b) for b in range(SENTENCES)]
        adam.param_groups[0]["lr"] = rate(t, model.c.d_model)
        loss = batch_loss(model, batch)[0] / sum(len(wanted) for _, _, wanted in batch)
        losses.append(loss.detach())
        adam.zero_grad()
        loss.backward()
        adam.step()
    print(f"{name}: losses {losses[0]:.4f} … {losses[-1]:.4f}")
    return {f"{name}.losses": torch.stack(losses)}, named(model)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--write", action="store_true", help="write the file anew")
    a = parser.parse_args()
    torch.set_num_threads(1)
    torch.set_default_dtype(torch.float64)
    losses, _ = updates("paper")
    smooth_losses, weights = updates("pre_gelu_untied")
    own = single(losses | smooth_losses | weights)
    if a.write:
        save_file(own, FILE)
    theirs = load_file(FILE)
    assert own.keys() == theirs.keys(), sorted(own.keys() ^ theirs.keys())
    apart = max(float((own[name] - theirs[name]).abs().max()) for name in own)
    print(f"largest difference {apart:.1e}")
    if apart > TOLERANCE:
        sys.exit(f"error: a tensor differs by more than {TOLERANCE}")


if __name__ == "__main__":
    main()
