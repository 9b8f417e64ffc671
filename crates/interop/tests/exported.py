"""Compares translations of a model trained here with those of transformers and CTranslate2 after `export`: greedy ones, or
those of a beam search.

    pip install torch transformers ctranslate2 tokenizers
    python exported.py BURNFORMER MODEL_DIRECTORY SOURCE_TEXT [BEAM [TARGET_LANGUAGE]]

The target language is for a model of several pairs of languages, whose sources begin with a token such as `>>de<<`.

Prints how many of the lines differ, and which. With a beam, searches are compared without a length penalty and with the mean
log-probability, the two that all three have. They stop by rules of their own.
"""

import pathlib
import shutil
import subprocess
import sys
import tempfile

import ctranslate2
import tokenizers
import torch
import transformers

# Below what this project adds to the length of a source, so that all have one limit.
LIMIT = 50


def of_transformers(folder, lines, beam, alpha):
    tokenizer = transformers.PreTrainedTokenizerFast.from_pretrained(folder)
    model = transformers.MarianMTModel.from_pretrained(folder).eval()
    texts = []
    settings = {} if beam == 1 else dict(length_penalty=alpha, early_stopping=False)
    for start in range(0, len(lines), 50):
        batch = tokenizer(lines[start:start + 50], return_tensors="pt", padding=True, return_token_type_ids=False)
        with torch.no_grad():
            ids = model.generate(**batch, num_beams=beam, do_sample=False, max_length=LIMIT + 1, **settings)
        texts += tokenizer.batch_decode(ids, skip_special_tokens=True)
    return texts


def of_ctranslate2(folder, tokenizer, lines, beam, alpha):
    translator = ctranslate2.Translator(str(folder), compute_type="float32")
    tokens = [tokenizer.encode(line, add_special_tokens=False).tokens for line in lines]
    results = translator.translate_batch(
        tokens, beam_size=beam, length_penalty=alpha, max_decoding_length=LIMIT, max_batch_size=50
    )
    ids = [[tokenizer.token_to_id(token) for token in result.hypotheses[0]] for result in results]
    return [tokenizer.decode(ids, skip_special_tokens=True) for ids in ids]


def main(binary, model, source, beam="1", language=None):
    beam, lines = int(beam), pathlib.Path(source).read_text(encoding="utf-8").splitlines()
    run = lambda *arguments, **more: subprocess.run([binary, *arguments], check=True, **more)
    with tempfile.TemporaryDirectory() as folder:
        folder = pathlib.Path(folder)
        for name in ["hugging-face", "ctranslate2"]:
            run("export", name, "--model", model, "--out", folder / name)
            run("import", folder / name, "--out", folder / f"{name}-again")
            weights = [pathlib.Path(f, "model.safetensors").read_bytes() for f in [model, folder / f"{name}-again"]]
            print(name, "comes back with", "the same weights" if weights[0] == weights[1] else "OTHER WEIGHTS")
        tokenizer = tokenizers.Tokenizer.from_file(f"{model}/tokenizer.json")
        for penalty, alpha in [("none", 0.0), ("average", 1.0)][: 1 if beam == 1 else 2]:
            copy = shutil.copytree(model, folder / penalty)
            run("settings", copy, "--set", f"length_penalty={penalty}", stdout=subprocess.DEVNULL)
            limits = ["--beam", str(beam), "--max-length", str(LIMIT), "--second-search", "false", "--keep-parts", "false"]
            text = "\n".join(lines) + "\n"
            into = ["--target-language", language] if language else []
            own = run("translate", "--model", copy, *limits, *into, input=text, text=True, stdout=subprocess.PIPE)
            tagged = [f">>{language}<< {line}" for line in lines] if language else lines
            theirs = {
                "transformers": of_transformers(folder / "hugging-face", tagged, beam, alpha),
                "ctranslate2": of_ctranslate2(folder / "ctranslate2", tokenizer, tagged, beam, alpha),
            }
            compare(f"beam {beam}, penalty {penalty}", lines, own.stdout.splitlines(), theirs)


def compare(what, lines, own, theirs):
    for name, texts in theirs.items():
        different = [i for i, (a, b) in enumerate(zip(own, texts)) if a != b]
        print(f"{what}: {name}: {len(different)} of {len(lines)} lines differ")
        for i in different[:10]:
            print(f"  {i + 1}: {lines[i]}\n    {own[i]}\n    {texts[i]}")


main(*sys.argv[1:])
