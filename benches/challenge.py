"""Counts the accepted translations of the 200 inputs of assets/models/challenge.tsv, by category.

    python benches/challenge.py BURNFORMER [--from-english] [--misses] [OPTION of `translate` ...]

BURNFORMER is the program; --misses prints each translation that is not accepted. A line of the list has a category, the input in German and in
English, and the accepted translations into German and into English, separated by `|`; without any, the input in that language is the one accepted."""

import collections
import pathlib
import subprocess
import sys

LIST = pathlib.Path(__file__).parent.parent / "assets/models/challenge.tsv"
SHORT_FORMS = {"can't": "cannot", "won't": "will not", "n't": " not", "'m": " am", "'re": " are", "'ll": " will", "'ve": " have",
               "'d like": " would like", "what's": "what is"}


def plain(text):
    """`text` in small letters, with single spaces, straight apostrophes and short forms written out."""
    text = " ".join(text.lower().replace("’", "'").split())
    for short, long in SHORT_FORMS.items():
        text = text.replace(short, long)
    return text


def main():
    program, *options = sys.argv[1:]
    from_english, misses = [option in options for option in ["--from-english", "--misses"]]
    options = [option for option in options if option not in ["--from-english", "--misses"]]
    if "--model" not in options and "-m" not in options:
        options += ["--model", "embedded:en-de" if from_english else "embedded:de-en"]
    cases = [line.rstrip("\n").split("\t") for line in open(LIST, encoding="utf-8") if not line.startswith("#")]
    sources = [case[1 + from_english] for case in cases]
    command = [program, "translate", *options]
    run = subprocess.run(command, input="\n".join(sources) + "\n", stdout=subprocess.PIPE, text=True, check=True, encoding="utf-8")
    accepted, stops = collections.defaultdict(lambda: [0, 0]), 0
    for case, source, text in zip(cases, sources, run.stdout.splitlines(), strict=True):
        answers = (case[4 - from_english] or case[2 - from_english]).split("|")
        right = plain(text) in map(plain, answers)
        for category in [case[0], "all"]:
            accepted[category][0] += right
            accepted[category][1] += 1
        stops += source[-1].isalnum() and text.endswith(".")
        if misses and not right:
            print(f"{case[0]}: {source} → {text}")
    for category, (right, count) in sorted(accepted.items()):
        print(f"{category:<22} {right} of {count}")
    print(f"{'full stops added':<22} {stops}")


if __name__ == "__main__":
    main()
