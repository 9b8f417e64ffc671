"""Heads that bind `it` to its noun (paper, appendix, Figure 5).

    python benches/pronouns.py MODEL [PROGRAM]

MODEL translates from English; PROGRAM is `burnformer` by default. Half of 192 sentences end in `because it was …`, the others in `because he was …`, and
each has a thing and two persons. For every encoder head: how often the weight from `it` is largest on the thing, and how often the weight from `he` on the
person whom the sentence means is above that on the thing."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

THINGS = "car house book dog boat bicycle computer horse camera watch guitar table".split()
PERSONS = [("Tom", "his brother"), ("Tom", "his father"), ("John", "his friend"), ("Ken", "his neighbor")]
PATTERNS = [
    ("{name} sold the {thing} to {person} because it was too old.", "it", "person"),
    ("{name} sold the {thing} to {person} because he was too poor.", "he", "person"),
    ("{Person} gave the {thing} to {name} because it was broken.", "it", "name"),
    ("{Person} gave the {thing} to {name} because he was kind.", "he", "person"),
]


def sentences():
    for thing in THINGS:
        for name, person in PERSONS:
            names = {"name": name, "person": person, "Person": person.capitalize(), "thing": thing}
            for pattern, pronoun, man in PATTERNS:
                yield pattern.format(**names), pronoun, thing, names[man].split()[-1]


def main(model, program="burnformer"):
    cases = list(sentences())
    with tempfile.TemporaryDirectory() as folder:
        source, target = Path(folder, "source"), Path(folder, "target")
        source.write_text("".join(f"{text}\n" for text, *_ in cases))
        subprocess.run([program, "translate", "-q", "-m", model, "-i", source, "-o", target], check=True)
        command = [program, "attention", "-q", "-m", model, "--json", "--input", source, target]
        lines = subprocess.run(command, check=True, capture_output=True, text=True).stdout.splitlines()
    counts = {}
    for line, (_, pronoun, thing, person) in zip(lines, cases, strict=True):
        panel = next(panel for panel in json.loads(line)["panels"] if panel["kind"] == "encoder")
        words = [piece.strip("▁.").lower() for piece in panel["keys"]]
        if any(word.lower() not in words for word in (pronoun, thing, person)):
            continue  # a word of several pieces
        query, noun, man = (words.index(word.lower()) for word in (pronoun, thing, person))
        for layer, heads in enumerate(panel["layers"], 1):
            for head, weights in enumerate(heads, 1):
                row = weights[query]
                is_bound = row[noun] == max(row) if pronoun == "it" else row[man] > row[noun]
                counts.setdefault((layer, head), {"it": [], "he": []})[pronoun].append(is_bound)
    print("layer\thead\tit → thing\the → person\tsentences")
    for (layer, head), found in sorted(counts.items()):
        shares = [f"{sum(all_) / len(all_):.0%}" if all_ else "–" for all_ in found.values()]
        print(layer, head, *shares, sum(map(len, found.values())), sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
