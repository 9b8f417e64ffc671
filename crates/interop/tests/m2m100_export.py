"""Compares an M2M100 or NLLB that was imported, or fine-tuned, here with its export in transformers, token for token.

    pip install torch transformers sentencepiece
    python m2m100_export.py BURNFORMER MODEL_DIRECTORY SOURCE_TEXT SOURCE_LANGUAGE TARGET_LANGUAGE

Seen with torch 2.15 and transformers 5.24: no line of the model in `fixtures/m2m100/relu` differs.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import torch
import transformers


def main(binary, model, text, source, target):
    lines = pathlib.Path(text).read_text(encoding="utf-8").splitlines()
    with tempfile.TemporaryDirectory() as folder:
        out = pathlib.Path(folder, "exported")
        subprocess.run([binary, "export", "hugging-face", "--model", model, "--out", out], check=True)
        tokenizer = transformers.AutoTokenizer.from_pretrained(out, src_lang=source)
        theirs = transformers.M2M100ForConditionalGeneration.from_pretrained(out).eval()
    is_m2m100 = isinstance(tokenizer, transformers.M2M100Tokenizer)
    first = tokenizer.get_lang_id(target) if is_m2m100 else tokenizer.convert_tokens_to_ids(target)
    languages = ["--source-language", source, "--target-language", target]
    command = [binary, "translate", "-q", "--json", "--model", model, "--input", text, *languages]
    found = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    differ = 0
    for line, ours in zip(lines, map(json.loads, found), strict=True):
        with torch.no_grad():
            batch = tokenizer(line, return_tensors="pt")
            ids = theirs.generate(**batch, forced_bos_token_id=first)[0].tolist()[1:]
        if ids != ours["tokens"]:
            differ += 1
            print("line", line, "ours", ours["tokens"], "transformers", ids, sep="\n")
    print(f"{differ} of {len(lines)} lines differ")


if __name__ == "__main__":
    main(*sys.argv[1:])
