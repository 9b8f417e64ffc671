"""Translates a file of sentences with CTranslate2 on a graphics card, from tokenising to text. Prints one JSON line per compute type.

usage: ct2_gpu.py MODEL_DIR TOKENIZER.json SOURCE.txt [--device cuda] [--beam 4] [--types float32,float16,int8] [--batch 64]
MODEL_DIR is what `burnformer export ctranslate2` wrote. Needs ctranslate2 (with CUDA for --device cuda) and tokenizers.
"""
import argparse
import json
import time

import ctranslate2
from tokenizers import Tokenizer

parser = argparse.ArgumentParser()
for name in ["model", "tokenizer", "source"]:
    parser.add_argument(name)
parser.add_argument("--device", default="cuda")
parser.add_argument("--beam", type=int, default=4)
parser.add_argument("--types", default="float32,float16,int8")
parser.add_argument("--batch", type=int, default=64)
a = parser.parse_args()
lines = [line.rstrip("\n") for line in open(a.source, encoding="utf-8")]
for compute in a.types.split(","):
    start = time.time()
    tokenizer = Tokenizer.from_file(a.tokenizer)
    model = ctranslate2.Translator(a.model, device=a.device, compute_type=compute)
    loaded = time.time() - start
    tokens = [tokenizer.encode(line, add_special_tokens=False).tokens for line in lines]
    found = model.translate_batch(tokens, beam_size=a.beam, max_batch_size=a.batch, batch_type="examples")
    for hypothesis in found:
        tokenizer.decode([tokenizer.token_to_id(token) for token in hypothesis.hypotheses[0]])
    print(json.dumps({
        "framework": "ctranslate2 " + ctranslate2.__version__, "type": compute, "beam": a.beam, "sentences": len(lines),
        "wall_s": time.time() - start, "load_s": loaded,
    }), flush=True)
