"""Share of known word pairs that the links of `burnformer attention --alignments` connect.

    burnformer attention --model MODEL --file SOURCE TARGET --layer 2 --alignments | python benches/alignments.py SOURCE TARGET
    burnformer attention … --alignments | python benches/alignments.py SOURCE TARGET --dictionary

It needs Python alone. Without --dictionary the known pairs are the capitalised words that are the same in both languages
(names); with it, 23 German words that have one common English translation. A word counts if it stands exactly once in its
sentence, on both sides, punctuation around it removed. Links are lines of source-target word numbers (0-0 1-2), one line for
each pair of sentences, on standard input; sentences behind its end are left out.
"""
import argparse
import sys

PUNCTUATION = ".,!?;:\"'„“”»«()’"
DICTIONARY = {
    "mann": "man", "männer": "men", "frau": "woman", "frauen": "women", "kinder": "children", "mädchen": "girl",
    "junge": "boy", "menschen": "people", "gruppe": "group", "hund": "dog", "hunde": "dogs", "zwei": "two",
    "drei": "three", "wasser": "water", "strand": "beach", "straße": "street", "gras": "grass", "ball": "ball",
    "spielt": "playing", "roten": "red", "blauen": "blue", "weißen": "white", "schwarzen": "black",
}


def words(sentence, lower):
    found = [word.strip(PUNCTUATION) for word in sentence.split()]
    return [word.lower() for word in found] if lower else found


def known_pairs(source, target, dictionary):
    """Places of words that translate each other."""
    source, target = words(source, dictionary), words(target, dictionary)
    pairs = DICTIONARY.items() if dictionary else ((word, word) for word in set(source) if word[:1].isupper())
    once = [(a, b) for a, b in pairs if source.count(a) == 1 and target.count(b) == 1]
    return [(source.index(a), target.index(b)) for a, b in once]


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("source")
    parser.add_argument("target")
    parser.add_argument("--dictionary", action="store_true", help="23 German words instead of names")
    a = parser.parse_args()
    linked = known = 0
    with open(a.source, encoding="utf-8") as source, open(a.target, encoding="utf-8") as target:
        for x, y, links in zip(source, target, sys.stdin):
            links = {tuple(map(int, link.split("-"))) for link in links.split()}
            pairs = known_pairs(x, y, a.dictionary)
            known, linked = known + len(pairs), linked + sum(pair in links for pair in pairs)
    print(f"{linked} of {known} words linked: {100 * linked / max(known, 1):.0f} %")


if __name__ == "__main__":
    main()
