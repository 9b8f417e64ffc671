"""Compares what Marian itself makes of the fixtures of `marian/` and of what `burnformer export marian` writes of them.

    pip install pymarian==1.12.31
    python marian.py BURNFORMER      # the binary, such as target/release/burnformer

Greedy search over the sources of `fixtures/marian/expected.json`. Each fixture is imported and exported; int8 fixtures become float32 on
the way, so that their translations could differ. The third column compares with the formulas in NumPy (`fixtures/marian_models.py`), which for the
model with norms before sub-layers are those of Marian's training, not those of its decoder: from the second token on that does not normalise
keys and values.
"""

import json
import pathlib
import subprocess
import sys
import tempfile

import pymarian

HERE = pathlib.Path(__file__).parent / "fixtures/marian"
TOKENS = ["</s>", "<unk>"] + [f"▁t{i}" for i in range(2, 24)]


def greedy(model, vocabulary, sources):
    translator = pymarian.Translator(
        models=[str(model)], vocabs=[str(vocabulary)] * 2, beam_size=1, normalize=0.6, max_length_factor=10, cpu_threads=1
    )
    lines = translator.translate([" ".join(TOKENS[i] for i in ids if i != 0) for ids in sources])
    return [line.split()[:10] for line in lines]


def main():
    expected = json.loads((HERE / "expected.json").read_text())
    sources = expected["sources"]
    for name, results in expected["models"].items():
        original = next(path for path in (HERE / name).iterdir() if path.suffix in [".npz", ".bin"])
        with tempfile.TemporaryDirectory() as folder:
            run = lambda *arguments: subprocess.run([sys.argv[1], *arguments], check=True, capture_output=True)
            run("import", str(HERE / name), "--out", f"{folder}/in")
            run("export", "marian", "--model", f"{folder}/in", "--out", f"{folder}/out")
            exported = greedy(f"{folder}/out/model.npz", f"{folder}/out/vocab.yml", sources)
        theirs = greedy(original, HERE / name / "vocab.yml", sources) if original.suffix == ".npz" else None
        formulas = [[TOKENS[i] for i in ids if i != 0] for ids in results["greedy"]]
        same = lambda other: None if other is None else sum(a == b for a, b in zip(exported, other))
        print(f"{name}: of {len(sources)} translations {same(theirs)} as the original's, {same(formulas)} as the formulas'")


main()
