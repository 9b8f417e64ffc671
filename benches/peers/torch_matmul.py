"""Speed of PyTorch's affine maps at a Transformer's shapes, forward and backward.

usage: torch_matmul.py [--rows 4096] [--seconds 1.0] [--shapes 256x256,...] [--settings 1,2]

A setting is a number of threads. Prints one JSON line for each (without --settings for PyTorch's own choice): GFLOP/s of
each shape `rows x in -> out`, three products each.
"""
import argparse
import json
import time

import torch
import torch.nn.functional as F

SHAPES = "256x256,256x1024,1024x256,256x8000,512x512,512x2048,2048x512,512x8000"


def best_time(rows, given, wanted, seconds):
    """Seconds of one forward and backward pass."""
    torch.manual_seed(0)
    x = torch.randn(rows, given, requires_grad=True)
    weight = torch.randn(wanted, given, requires_grad=True)
    gradient = torch.randn(rows, wanted)
    best, begin = float("inf"), time.perf_counter()
    while time.perf_counter() - begin < seconds:
        x.grad = weight.grad = None
        start = time.perf_counter()
        F.linear(x, weight).backward(gradient)
        best = min(best, time.perf_counter() - start)
    return best


def measure(a):
    shapes, work, spent = {}, 0.0, 0.0
    for shape in a.shapes.split(","):
        given, wanted = map(int, shape.split("x"))
        seconds, flop = best_time(a.rows, given, wanted, a.seconds), 6.0 * a.rows * given * wanted
        shapes[shape] = flop / seconds / 1e9
        work, spent = work + flop, spent + seconds
    threads = torch.get_num_threads()
    return {
        "framework": "torch " + torch.__version__,
        "threads": threads,
        "setting": str(threads),
        "gflops": work / spent / 1e9,
        "shapes": shapes,
    }


def main():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    parser.add_argument("--rows", type=int, default=4096)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--shapes", default=SHAPES)
    parser.add_argument("--settings", default="")
    a = parser.parse_known_args()[0]  # the options of both sides arrive here
    for threads in [int(n) for n in a.settings.split(",") if n] or [torch.get_num_threads()]:
        torch.set_num_threads(threads)
        print(json.dumps(measure(a)), flush=True)


if __name__ == "__main__":
    main()
