"""Compares greedy translations of a model trained here with those of transformers and CTranslate2 after `export`.

    pip install torch transformers ctranslate2 tokenizers
    python exported.py BURNFORMER MODEL_DIRECTORY SOURCE_TEXT

Prints how many of the lines differ, and which.
"""

import pathlib
import subprocess
import sys
import tempfile

import ctranslate2
import tokenizers
import torch
import transformers

# Below what this project adds to the length of a source, so that all have one limit.
LIMIT = 50


def of_transformers(folder, lines):
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    model = transformers.MarianMTModel.from_pretrained(folder).eval()
    texts = []
    for start in range(0, len(lines), 50):
        batch = tokenizer(lines[start:start + 50], return_tensors="pt", padding=True, return_token_type_ids=False)
        with torch.no_grad():
            ids = model.generate(**batch, num_beams=1, do_sample=False, max_length=LIMIT + 1)
        texts += tokenizer.batch_decode(ids, skip_special_tokens=True)
    return texts


def of_ctranslate2(folder, tokenizer, lines):
    translator = ctranslate2.Translator(str(folder), compute_type="float32")
    tokens = [tokenizer.encode(line, add_special_tokens=False).tokens for line in lines]
    results = translator.translate_batch(tokens, beam_size=1, max_decoding_length=LIMIT, max_batch_size=50)
    ids = [[tokenizer.token_to_id(token) for token in result.hypotheses[0]] for result in results]
    return [tokenizer.decode(ids, skip_special_tokens=True) for ids in ids]


def main(binary, model, source):
    lines = pathlib.Path(source).read_text(encoding="utf-8").splitlines()
    run = lambda *arguments, **more: subprocess.run([binary, *arguments], check=True, **more)
    limits = ["--beam", "1", "--max-length", str(LIMIT)]
    own = run("translate", "--model", model, *limits, input="\n".join(lines) + "\n", text=True, stdout=subprocess.PIPE)
    own = own.stdout.splitlines()
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in ["hugging-face", "ctranslate2"]:
            run("export", name, "--model", model, "--out", folder / name)
            run("import", folder / name, "--out", folder / f"{name}-again")
            weights = [pathlib.Path(f, "model.safetensors").read_bytes() for f in [model, folder / f"{name}-again"]]
            print(name, "comes back with", "the same weights" if weights[0] == weights[1] else "OTHER WEIGHTS")
        tokenizer = tokenizers.Tokenizer.from_file(f"{model}/tokenizer.json")
        theirs = {
            "transformers": of_transformers(folder / "hugging-face", lines),
            "ctranslate2": of_ctranslate2(folder / "ctranslate2", tokenizer, lines),
        }
    for name, texts in theirs.items():
        different = [i for i, (a, b) in enumerate(zip(own, texts)) if a != b]
        print(f"{name}: {len(different)} of {len(lines)} lines differ")
        for i in different[:10]:
            print(f"  {i + 1}: {lines[i]}\n    {own[i]}\n    {texts[i]}")


main(*sys.argv[1:])
