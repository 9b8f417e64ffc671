"""Minimum Bayes risk decoding beside the beam.

    pip install sacrebleu
    python benches/mbr.py MODEL TEXT N [PROGRAM] [OPTION ...]

MODEL is a model, TEXT a `.tsv` of sources and references; the options go to `translate`, such as the two
languages. Takes N samples of each source (Eikema and Aziz, 2020, <https://arxiv.org/abs/2005.10283>), and
the sample with the largest mean chrF beside all others. The second metric is BLEU, as chrF chose. Prints
both for the beam, for the samples alone, and for samples and the n best of a beam together.
"""

import json
import subprocess
import sys
from functools import cache

import sacrebleu

CHRF = sacrebleu.CHRF()


def translate(program, model, sources, options):
    command = [program, "translate", "-q", "-m", model, "--json", *options]
    text = "".join(f"{line}\n" for line in sources)
    found = subprocess.run(command, input=text, check=True, capture_output=True, text=True).stdout.splitlines()
    values = [json.loads(line) for line in found]
    return [[one["translation"] for one in value.get("n_best") or [value]] for value in values]


@cache
def chrf(candidate, other):
    return CHRF.sentence_score(candidate, [other]).score


def least_risk(candidates):
    """The candidate with the largest mean chrF beside all."""
    return max(candidates, key=lambda one: sum(chrf(one, other) for other in candidates))


def main(model, text, n, program="burnformer", *options):
    pairs = [line.rstrip("\n").split("\t") for line in open(text, encoding="utf-8")]
    sources, references = zip(*pairs)
    beam = translate(program, model, sources, [*options, "--beam", "8", "--nbest", "8"])
    samples = translate(program, model, sources, [*options, "--sample", "--nbest", n])
    found = {
        "beam": [candidates[0] for candidates in beam],
        f"MBR of {n} samples": [least_risk(candidates) for candidates in samples],
        "MBR of the 8 best": [least_risk(candidates) for candidates in beam],
        "MBR of both": [least_risk(some + more) for some, more in zip(samples, beam)],
    }
    print("\tchrF\tBLEU")
    for name, chosen in found.items():
        bleu = sacrebleu.corpus_bleu(chosen, [references])
        print(name, f"{CHRF.corpus_score(chosen, [references]).score:.2f}", f"{bleu.score:.2f}", sep="\t", flush=True)


if __name__ == "__main__":
    main(*sys.argv[1:])
