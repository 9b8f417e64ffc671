"""Translates a file of sentences with CTranslate2 as a user would: load, tokenise, translate, detokenise.

usage: ct2_translate.py MODEL_DIR TOKENIZER.json SOURCE [--beam 4] [--settings int8/2x1/64,float32/2x1/64] [--output FILE]

MODEL_DIR has a folder for each type, which `burnformer export ctranslate2` or `export ctranslate2-int8` wrote; SOURCE is
plain text. A setting is TYPE/WORKERSxTHREADS/BATCH:
the compute type, how many batches are computed at the same time, each by how many threads, and the sentences of a batch.
Each setting is timed in a process of its own, after its imports. Prints one JSON line for each setting.
"""
import argparse
import json
import subprocess
import sys
import time
from pathlib import Path

import ctranslate2
from tokenizers import Tokenizer


def arguments():
    parser = argparse.ArgumentParser(allow_abbrev=False)
    for name in ["model", "tokenizer", "source"]:
        parser.add_argument(name)
    parser.add_argument("--beam", type=int, default=4)
    parser.add_argument("--settings", default="int8/2x1/64,int8/1x2/64,float32/2x1/64,float32/1x2/64")
    parser.add_argument("--length", type=int, help="number of tokens of every translation, with </s>")
    parser.add_argument("--output", help="file for the translations")
    parser.add_argument("--one", action="store_true", help="time the one setting (what the program runs itself with)")
    return parser.parse_known_args()[0]  # the options of both sides arrive here


def peak_memory_bytes():
    """Most memory that this process has held; 0 where the system does not say."""
    try:
        lines = Path("/proc/self/status").read_text().splitlines()
    except OSError:
        return 0
    return next((1024 * int(line.split()[1]) for line in lines if line.startswith("VmHWM:")), 0)


def measure(a):
    """Times the one setting of `a`."""
    kind, division, batch = a.settings.split("/")
    workers, threads = map(int, division.split("x"))
    start, before = time.perf_counter(), time.process_time()
    lines = [line.rstrip("\n") for line in open(a.source, encoding="utf-8")]
    tokenizer = Tokenizer.from_file(a.tokenizer)
    model = ctranslate2.Translator(str(Path(a.model) / kind), compute_type=kind, inter_threads=workers, intra_threads=threads)
    loaded = time.perf_counter() - start
    tokens = [encoding.tokens for encoding in tokenizer.encode_batch(lines, add_special_tokens=False)]
    # Its lengths are without </s>.
    lengths = {} if a.length is None else {"min_decoding_length": a.length - 1, "max_decoding_length": a.length - 1}
    found = model.translate_batch(
        tokens, beam_size=a.beam, max_batch_size=int(batch), batch_type="examples", length_penalty=1.0, **lengths
    )
    ids = [[tokenizer.token_to_id(token) for token in result.hypotheses[0]] for result in found]
    texts = tokenizer.decode_batch(ids)
    if a.output:
        Path(a.output).write_text("\n".join(texts) + "\n", encoding="utf-8")
    seconds, processor = time.perf_counter() - start, time.process_time() - before
    return {
        "framework": "ctranslate2 " + ctranslate2.__version__, "type": kind, "beam": a.beam, "setting": a.settings,
        "sentences": len(lines), "tokens": sum(map(len, ids)), "load_s": loaded, "wall_s": seconds, "processor_s": processor,
        "sentences_per_s": len(lines) / seconds, "sentences_per_processor_s": len(lines) / processor,
        "peak_memory_bytes": peak_memory_bytes(),
    }


def main():
    a = arguments()
    if a.one:
        print(json.dumps(measure(a)))
        return
    for setting in a.settings.split(","):
        command = [sys.executable, __file__, *sys.argv[1:], "--one", "--settings", setting]
        print(subprocess.run(command, check=True, stdout=subprocess.PIPE, text=True).stdout.strip(), flush=True)


if __name__ == "__main__":
    main()
