"""Does a pivot gain from several translations into the language between?

    pip install sacrebleu
    python benches/pivot.py FIRST SECOND TEXT FROM THROUGH TO [PROGRAM]

FIRST and SECOND are models (or one model of several pairs), TEXT is a `.tsv` of sources and references.
For n = 1, 2, 4, 8: translates each source into its n best translations in the language THROUGH, each of
these into the language TO, and takes the translation with the largest sum of both log-probabilities per
token. Prints BLEU and chrF for each n.
"""

import json
import subprocess
import sys

import sacrebleu


def translate(program, model, lines, languages, n):
    """The n best translations of each line, with their scores."""
    options = ["--json", "--nbest", str(n), "--beam", str(max(n, 4)), "--source-language", languages[0], "--target-language", languages[1]]
    command = [program, "translate", "-q", "-m", model, *options]
    text = "".join(f"{line}\n" for line in lines)
    found = subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout.splitlines()
    return [[(one["translation"], one["score"]) for one in rows(json.loads(line))] for line in found]


def rows(value):
    return value.get("n_best") or [value]


def main(first, second, text, source, through, target, program="burnformer"):
    pairs = [line.rstrip("\n").split("\t") for line in open(text, encoding="utf-8")]
    sources, references = zip(*pairs)
    print("n\tBLEU\tchrF")
    for n in (1, 2, 4, 8):
        middles = translate(program, first, sources, (source, through), n)
        flat = [middle for candidates in middles for middle, _ in candidates]
        ends = iter(translate(program, second, flat, (through, target), 1))
        chosen = []
        for candidates in middles:
            scored = [(score + best[0][1], best[0][0]) for (_, score), best in zip(candidates, ends)]
            chosen.append(max(scored)[1])
        bleu = sacrebleu.corpus_bleu(chosen, [references])
        chrf = sacrebleu.corpus_chrf(chosen, [references])
        print(n, f"{bleu.score:.2f}", f"{chrf.score:.2f}", sep="\t", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
