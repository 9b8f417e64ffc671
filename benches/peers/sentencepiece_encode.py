#!/usr/bin/env python3
"""Lines that the C++ library and this crate encode in a second, on one thread, in turns: the best of five rounds each.

    cargo build --release -p burnformer-sentencepiece --example lines_per_second
    python3 benches/peers/sentencepiece_encode.py target/release/examples/lines_per_second TEXT MODEL...
"""

import subprocess
import sys
import time

import sentencepiece


def main():
    program, text, *models = sys.argv[1:]
    # Lines as Rust's `lines` has them.
    lines = open(text, encoding="utf-8", newline="\n").read().removesuffix("\n").split("\n")
    lines = [line.removesuffix("\r") for line in lines]
    for model in models:
        processor = sentencepiece.SentencePieceProcessor(model_file=model)
        best, ids = float("inf"), 0
        for _ in range(5):
            start = time.perf_counter()
            # One call for all lines, without threads: what the Python wrapper costs for each line is not counted.
            encoded = processor.encode(lines, out_type=int, num_threads=1)
            best = min(best, time.perf_counter() - start)
            ids = sum(map(len, encoded))
        ours = subprocess.run([program, model, text], check=True, capture_output=True, text=True).stdout
        theirs = len(lines) / best
        ratio = float(ours.split(" ")[0]) / theirs
        print(f"{model}: C++ {theirs:.0f} lines/s ({ids} ids), Rust {ours.strip()}, ratio {ratio:.2f}")


if __name__ == "__main__":
    main()
