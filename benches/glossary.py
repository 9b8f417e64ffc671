"""A glossary of nouns from a parallel text, and how many of its terms a translation has.

    python benches/glossary.py make TRAIN_SOURCE TRAIN_TARGET SOURCE TARGET > terms.tsv
    python benches/glossary.py check terms.tsv SOURCE TRANSLATION

It needs Python alone. `make` takes the capitalised words within the sentences of TRAIN_SOURCE (German nouns), and pairs each
with the word of TRAIN_TARGET that goes with it most: by Dice's coefficient, twice the sentence pairs with both over the
sentences with either, at least 0.4. It leaves out words that are the same in both languages. Of these pairs it prints the 100
that are most frequent in SOURCE and whose translation TARGET has wherever SOURCE has the noun. `check` counts the sentences and
terms of SOURCE, and how many of them TRANSLATION has as whole words.
"""
import argparse
import collections
import re
import sys

WORD = re.compile(r"[^\W_]+")
TERMS = 100


def lines(path):
    with open(path, encoding="utf-8") as file:
        return [line.rstrip("\n") for line in file]


def dictionary(source, target):
    """The best translation of each noun."""
    together, of_source, of_target = collections.Counter(), collections.Counter(), collections.Counter()
    for left, right in zip(lines(source), lines(target), strict=True):
        sources, targets = set(WORD.findall(left)), set(WORD.findall(right))
        of_source.update(sources)
        of_target.update(targets)
        nouns = {word for word in WORD.findall(left)[1:] if word[0].isupper() and len(word) > 2}
        together.update((noun, word) for noun in nouns - targets for word in targets if word.islower())
    best = {}
    for (noun, word), count in together.items():
        dice = 2 * count / (of_source[noun] + of_target[word])
        best[noun] = max(best.get(noun, (0, "")), (dice, word))
    return {noun: word for noun, (dice, word) in best.items() if dice >= 0.4}


def make(train_source, train_target, source, target):
    translations = dictionary(train_source, train_target)
    of_noun, without = collections.Counter(), set()
    for left, right in zip(lines(source), lines(target), strict=True):
        nouns = {word for word in WORD.findall(left) if word in translations}
        of_noun.update(nouns)
        without.update(noun for noun in nouns if translations[noun] not in WORD.findall(right))
    kept = [(-count, noun) for noun, count in of_noun.items() if noun not in without]
    for _, noun in sorted(kept)[:TERMS]:
        print(f"{noun}\t{translations[noun]}")


def check(glossary, source, translation):
    terms = dict(line.split("\t") for line in lines(glossary))
    wanted = [[terms[word] for word in dict.fromkeys(WORD.findall(line)) if word in terms] for line in lines(source)]
    found = [sum(term in WORD.findall(line) for term in words) for words, line in zip(wanted, lines(translation), strict=True)]
    total = sum(map(len, wanted))
    print(f"{len(terms)} terms, {sum(map(bool, wanted))} of {len(wanted)} sentences have some, {total} in all; "
          f"{sum(found)} ({sum(found) / max(total, 1):.1%}) are in the translation")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["make", "check"])
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    action, expected = {"make": (make, 4), "check": (check, 3)}[arguments.action]
    if len(arguments.files) != expected:
        sys.exit(f"{arguments.action} takes {expected} files")
    action(*arguments.files)


if __name__ == "__main__":
    main()
