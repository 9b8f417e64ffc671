"""A glossary of nouns from a parallel text, and how many of its terms a translation has.

    python benches/glossary.py make TRAIN_SOURCE TRAIN_TARGET SOURCE TARGET > terms.tsv
    python benches/glossary.py check terms.tsv SOURCE TRANSLATION
    python benches/glossary.py exchange SOURCE FREE FOLDER
    python benches/glossary.py place FOLDER/exchanged TRANSLATION

It needs Python alone. `make` takes the capitalised words within the sentences of TRAIN_SOURCE (German nouns), and pairs each
with the word of TRAIN_TARGET that goes with it most: by Dice's coefficient, twice the sentence pairs with both over the
sentences with either, at least 0.4. It leaves out words that are the same in both languages. Of these pairs it prints the 100
that are most frequent in SOURCE and whose translation TARGET has wherever SOURCE has the noun. `check` counts the sentences and
terms of SOURCE, and how many of them TRANSLATION has as whole words.

`exchange` is for terms that a model would not say. FREE is a translation of SOURCE without a glossary. In 200 of its sentences it
exchanges a word for a rarer one (EXCHANGES), and writes to FOLDER what to translate (`source`), with which glossary (`terms.tsv`),
and what should come out (`exchanged`). `place` compares a translation with the glossary with that: whether it has the word, at
the same place or one word beside it, and ends in the same way.
"""
import argparse
import collections
import pathlib
import re
import sys

WORD = re.compile(r"[^\W_]+")
TERMS = 100
SENTENCES = 200
# A German noun, the usual word for it, and another one.
EXCHANGES = """Haus house mansion, Hund dog hound, Katze cat kitty, Buch book volume, Auto car vehicle, Schule school academy,
Lehrer teacher tutor, Arzt doctor physician, Geld money cash, Wasser water fluid, Brief letter missive, Frau woman lady,
Mann man gentleman, Kind child kid, Kinder children kids, Freund friend buddy, Freunde friends buddies, Vater father dad,
Mutter mother mom, Stadt city metropolis, Straße street avenue, Tisch table desk, Zimmer room chamber, Tür door gate,
Fenster window pane, Problem problem dilemma, Fehler mistake blunder, Arbeit work labor, Film movie feature, Regen rain drizzle,
Garten garden backyard, Bruder brother sibling, Schwester sister sibling, Fisch fish trout, Brot bread loaf, Kuchen cake pastry,
Bild picture image, Idee idea notion, Antwort answer reply, Frage question query, Reise trip journey, Unfall accident mishap,
Krieg war conflict, Fluss river stream, Meer sea ocean, Berg mountain peak, Vogel bird sparrow, Baum tree oak, Blumen flowers blossoms,
Hut hat cap, Telefon phone handset, Zeitung newspaper gazette, Geschichte story tale, Geschenk present souvenir, Spiel game match,
Wetter weather climate, Nacht night evening, Leben life existence, Welt world globe, Junge boy lad, Mädchen girl lass,
Kaffee coffee espresso, Bier beer ale, Apfel apple pear, Flugzeug plane aircraft, Bus bus coach, Schiff ship vessel,
Büro office bureau, Chef boss chief, Polizei police constabulary, Rat advice counsel, Lied song tune, Schuhe shoes boots,
Kleid dress gown, Hand hand palm, Zug train tram, Hause home base, Essen food cuisine, Sohn son heir, Tochter daughter heiress,
Bett bed couch, Plan plan scheme, Sprache language dialect, Tag day morning, Kopf head skull, Stuhl chair stool"""


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


def exchange(source, free, folder):
    words = dict((noun, (usual, other)) for noun, usual, other in (entry.split() for entry in EXCHANGES.split(",")))
    taken = []
    for left, right in zip(lines(source), lines(free), strict=True):
        nouns = [word for word in WORD.findall(left) if word in words]
        if len(nouns) != 1 or len(taken) == SENTENCES:
            continue
        usual, other = words[nouns[0]]
        if WORD.findall(right).count(usual) == 1 and other not in WORD.findall(right):
            taken.append((left, re.sub(rf"\b{usual}\b", other, right), other))
    folder = pathlib.Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    for name, column in [("source", 0), ("exchanged", 1), ("words", 2)]:
        (folder / name).write_text("".join(row[column] + "\n" for row in taken), encoding="utf-8")
    terms = "".join(f"{noun}\t{other}\n" for noun, (_, other) in words.items())
    (folder / "terms.tsv").write_text(terms, encoding="utf-8")


def place(exchanged, translation):
    words = lines(pathlib.Path(exchanged).with_name("words"))
    present = placed = ended = same = 0
    for word, right, found in zip(words, lines(exchanged), lines(translation), strict=True):
        expected, own = WORD.findall(right), WORD.findall(found)
        places = [place for place, other in enumerate(own) if other == word]
        present += bool(places)
        placed += any(abs(place - expected.index(word)) <= 1 for place in places)
        ends = [re.findall(r"[.!?]", text) for text in (right, found)]
        ended += found[-1:] == right[-1:] and ends[0] == ends[1]
        same += right == found
    total = len(words)
    print(f"{total} sentences: {present} have the term ({present / total:.1%}), {placed} at its place ({placed / total:.1%}), "
          f"{ended} end as they should ({ended / total:.1%}), {same} are the free translation with the word exchanged ({same / total:.1%})")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("action", choices=["make", "check", "exchange", "place"])
    parser.add_argument("files", nargs="+")
    arguments = parser.parse_args()
    action, expected = {"make": (make, 4), "check": (check, 3), "exchange": (exchange, 3), "place": (place, 2)}[arguments.action]
    if len(arguments.files) != expected:
        sys.exit(f"{arguments.action} takes {expected} paths")
    action(*arguments.files)


if __name__ == "__main__":
    main()
