"""Speed of PyTorch's affine maps at a Transformer's shapes, forward and backward.

usage: torch_matmul.py [--rows 4096] [--seconds 1.0]
Prints one JSON line: GFLOP/s of each shape `rows x in -> out`, three products each.
"""
import argparse, json, time
import torch, torch.nn.functional as F
a = argparse.ArgumentParser()
a.add_argument("--rows", type=int, default=4096); a.add_argument("--seconds", type=float, default=1.0); a.add_argument("--shapes", default="256x256,256x1024,1024x256,256x8000,512x512,512x2048,2048x512,512x8000")
a = a.parse_args(); torch.manual_seed(0)
shapes, work, spent = {}, 0.0, 0.0
for shape in a.shapes.split(","):
    i, o = map(int, shape.split("x"))
    x, w, g = torch.randn(a.rows, i, requires_grad=True), torch.randn(o, i, requires_grad=True), torch.randn(a.rows, o)
    best, start = float("inf"), time.perf_counter()
    while time.perf_counter() - start < a.seconds:
        x.grad = w.grad = None
        s = time.perf_counter(); F.linear(x, w).backward(g); best = min(best, time.perf_counter() - s)
    flop = 6.0 * a.rows * i * o
    shapes[shape] = flop / best / 1e9; work += flop; spent += best
print(json.dumps({"framework": "torch " + torch.__version__, "threads": torch.get_num_threads(), "gflops": work / spent / 1e9, "shapes": shapes}))
