"""The text from which the models inside the program learn last: what people type beside whole, correct sentences.

    python benches/box_text.py CORPUS OUT

CORPUS has `train.de.gz` and `train.en.gz` (`assets/corpus/tatoeba-de-en`, as gzip). OUT gets `de-en.de`, `de-en.en`, `en-de.en` and `en-de.de`: sentences
as they are and with other names and places, in pairs, in capitals, in small letters, without their full stop and with typing errors; words and phrases
that a word alignment found (IBM model 1 in both directions); and some greetings and signs.
"""

import collections
import gzip
import random
import re
import sys
from pathlib import Path

NAMES = """Anna Peter Lukas Lena Paul Sophie Thomas Julia Max Emma Ben Hannah Felix Laura Jonas Mia Leon Marie Finn Lisa Tim Sarah Jan Nina David
Eva Simon Clara Michael Sabine Andreas Petra Stefan Monika Martin Claudia Frank Susanne Klaus Birgit Jürgen Heike Uwe Karin Dieter Ursula Hans Helga
Karl Ingrid Otto Gerda Emil Frieda Anton Ida Moritz Greta Jakob Luisa Oskar Johanna Philipp Katharina Sebastian Christina Florian Stefanie Tobias
Melanie Markus Nicole Alexander Daniela Robert Vanessa William Alice George Lucy Henry Jane Edward Olivia Charles Grace Oliver Sophia Jack Emily Harry
Amelia Daniel Chloe Matthew Zoe Ahmed Fatima Ali Aylin Mehmet Elif Ivan Olga Marco Giulia Pierre Camille Carlos Lucia Yuki Hiroshi Wei Priya
Kofi""".split()
SURNAMES = """Müller Schmidt Schneider Fischer Weber Meyer Wagner Becker Schulz Hoffmann Koch Bauer Richter Klein Wolf Schröder Neumann Schwarz
Zimmermann Braun Krüger Hartmann Lange Werner Krause Lehmann Köhler Maier Huber Kaiser Fuchs Peters Lang Scholz Möller Weiß Jung Hahn Vogel Smith
Johnson Brown Taylor Wilson Davies Evans Walker Green Baker Hill Cooper Ward Turner Parker Collins Cook Bailey Murphy Kelly Kowalski Novak Rossi
Yilmaz Nguyen Garcia""".split()
PLACES = """Berlin Hamburg München|Munich Köln|Cologne Frankfurt Stuttgart Dresden Leipzig Bremen Hannover|Hanover Nürnberg|Nuremberg Bonn Wien|Vienna
Zürich|Zurich Basel Salzburg London Paris Madrid Rom|Rome Amsterdam Prag|Prague Warschau|Warsaw Kopenhagen|Copenhagen Oslo Stockholm Dublin Edinburgh
Manchester Chicago Seattle Toronto Sydney Tokio|Tokyo Peking|Beijing Moskau|Moscow Athen|Athens Lissabon|Lisbon Brüssel|Brussels Genf|Geneva""".split()
PHRASES = """Hallo|Hello hallo|hello Danke|Thanks Bitte|Please Tschüss|Bye Entschuldigung|Excuse_me Guten_Morgen|Good_morning Guten_Abend|Good_evening
Guten_Tag|Hello Gute_Nacht|Good_night Ja|Yes Nein|No Bis_bald|See_you_soon Bis_morgen|See_you_tomorrow Auf_Wiedersehen|Goodbye
Vielen_Dank|Thank_you_very_much Frohe_Weihnachten|Merry_Christmas Alles_Gute|All_the_best Herzlich_willkommen|Welcome Viel_Glück|Good_luck
Gute_Besserung|Get_well_soon Guten_Appetit|Enjoy_your_meal Achtung|Attention Hilfe|Help Eingang|Entrance Ausgang|Exit Geschlossen|Closed
Geöffnet|Open""".split()
PATTERNS = [
    ("Das ist {name}.", "This is {name}."), ("Herr {surname} ist nicht da.", "Mr. {surname} isn't here."),
    ("Er kommt aus {ort}.", "He comes from {place}."), ("Hallo {name}", "Hello {name}"), ("Frau {surname}", "Mrs. {surname}"),
    ("Herr {surname}", "Mr. {surname}"), ("{name} {surname}", "{name} {surname}"), ("{name}", "{name}"), ("{ort}", "{place}"),
    ("{name} und {other}", "{name} and {other}"), ("Lieber {name}", "Dear {name}"), ("Wir fliegen nach {ort}.", "We're flying to {place}."),
]
# German, English, and what takes its place: a name, its genitive, or a place.
REPLACED = [
    ("Toms", "Tom's", "genitive"), ("Tom", "Tom", "name"), ("Maria", "Mary", "name"), ("Johannes", "John", "name"),
    ("John", "John", "name"), ("Boston", "Boston", "place"), ("Australien", "Australia", "place"),
]  # fmt: skip


def tokens(text):
    return re.findall(r"\w+(?:['’-]\w+)*|[^\w\s]", text)


def model_1(pairs, rounds=4):
    """p(word of the second side | word of the first)."""
    table = collections.defaultdict(lambda: 1.0)
    for _ in range(rounds):
        counts, totals = collections.defaultdict(float), collections.defaultdict(float)
        for first, second in pairs:
            for word in second:
                shares = [table[other, word] for other in first]
                whole = sum(shares)
                for other, share in zip(first, shares):
                    counts[other, word] += share / whole
                    totals[other] += share / whole
        table = collections.defaultdict(lambda: 1e-9)
        table.update({(other, word): count / totals[other] for (other, word), count in counts.items()})
    return table


def linked(german, english, forward, backward):
    """The links of both directions: those that agree, and all."""
    best = lambda words, rate: max(range(len(words)), key=rate)
    one = {(best(german, lambda i: forward[german[i], word]), j) for j, word in enumerate(english)}
    other = {(i, best(english, lambda j: backward[english[j], word])) for i, word in enumerate(german)}
    return one & other, one | other


def spans(german, english, agreed, every):
    """Spans of up to three German words that are linked with one English span, and with nothing else."""
    is_mark = lambda words: any(re.fullmatch(r"[^\w]+", word) for word in words)
    for i in range(len(german)):
        for k in range(i + 1, min(i + 3, len(german)) + 1):
            places = [j for x, j in agreed if i <= x < k]
            if not places or is_mark(german[i:k]):
                continue
            begin, end = min(places), max(places) + 1
            inside = [(i <= x < k, begin <= j < end) for x, j in every]
            whole = {x for x, _ in every}.issuperset(range(i, k)) and {j for _, j in every}.issuperset(range(begin, end))
            if end - begin <= 4 and not is_mark(english[begin:end]) and all(a == b for a, b in inside) and whole:
                yield (i, k), (begin, end)


def fragments(pairs):
    """Words and phrases: German, English, how often they are linked, and its share of all links of each side."""
    words = [(tokens(german), tokens(english)) for german, english in pairs]
    small = [([w.lower() for w in german], [w.lower() for w in english]) for german, english in words]
    forward, backward = model_1(small), model_1([(english, german) for german, english in small])
    counts, sides = collections.Counter(), [collections.Counter(), collections.Counter()]
    forms = [collections.defaultdict(collections.Counter) for _ in sides]
    for whole, (german, english) in zip(words, small):
        for places in spans(german, english, *linked(german, english, forward, backward)):
            keys = [" ".join(side[a:b]) for side, (a, b) in zip((german, english), places)]
            counts[tuple(keys)] += 1
            for side, text, key, seen, (a, b) in zip(whole, forms, keys, sides, places):
                seen[key] += 1
                if a > 0:  # The first word of a sentence has a capital letter of its own.
                    text[key][" ".join(side[a:b])] += 1
    for (german, english), count in counts.items():
        written = [form[key].most_common(1) for form, key in zip(forms, (german, english))]
        if count > 2 and all(written):
            shares = [count / seen[key] for seen, key in zip(sides, (german, english))]
            yield written[0][0][0], written[1][0][0], count, shares


def made_up(rng):
    starts, vowels, ends = "b br d f fr g h j k kl l m n p r s sch st t tr v w z".split(), "a e i o u ei au".split(), "n l r s t nn ck x m".split()
    return ("".join(rng.choice(starts) + rng.choice(vowels) for _ in range(rng.randrange(1, 3))) + rng.choice(ends)).capitalize()


def one_of(rng, names):
    return rng.choice(names) if rng.random() < 0.7 else made_up(rng)


def sides(entry):
    return [entry.split("|")[0].replace("_", " "), entry.split("|")[-1].replace("_", " ")]


def renamed(german, english, rng):
    """The pair with other names and places; the same pair where it has none."""
    for of_german, of_english, kind in REPLACED:
        found = [re.compile(rf"(?<!\w){word}(?!\w)") for word in (of_german, of_english)]
        if not all(len(pattern.findall(text)) == 1 for pattern, text in zip(found, (german, english))):
            continue
        name = one_of(rng, NAMES)
        new = [name, name]
        if kind == "place":
            new = sides(rng.choice(PLACES))
        elif kind == "genitive":
            new = [name + "s", name + "'s"] if name[-1] not in "sxzß" else [of_german, of_english]
        elif rng.random() < 0.25:
            surname, titles = one_of(rng, SURNAMES), rng.choice([("Herr", "Mr."), ("Frau", "Mrs.")])
            # A title inside a sentence would be declined.
            new = [f"{title} {surname}" for title in titles] if german.startswith(of_german) else [f"{name} {surname}"] * 2
        german, english = found[0].sub(new[0], german), found[1].sub(new[1], english)
    return german, english


def mistyped(text, rng):
    words = text.split(" ")
    long = [i for i, word in enumerate(words) if len(word) > 4]
    if long:
        i = rng.choice(long)
        word, at = words[i], rng.randrange(1, len(words[i]) - 2)
        changed = [word[at + 1] + word[at] + word[at + 2 :], word[at + 1 :], word[at] + word[at:], rng.choice("enisratdhu") + word[at + 1 :]]
        words[i] = word[:at] + rng.choice(changed)
    return " ".join(words)


def without_stop(text):
    return text[:-1] if text.endswith(".") and not text.endswith("..") else text


def text(pairs, found, from_german, rng):
    """Pairs of source and target."""
    base = []
    for german, english in pairs:
        if rng.random() < 0.45:
            base.append((german, english))
        if rng.random() < 0.22 and (other := renamed(german, english, rng)) != (german, english):
            base.append(other)
        if rng.random() < 0.06:
            base.append(tuple(f"{a} {b}" for a, b in zip((german, english), rng.choice(pairs))))
        if rng.random() < 0.05 and len(german) < 45:
            base.append((german.upper(), english.upper()))
    for _ in range(6000):
        ort, place = sides(rng.choice(PLACES))
        new = {"name": one_of(rng, NAMES), "other": one_of(rng, NAMES), "surname": one_of(rng, SURNAMES), "ort": ort, "place": place}
        base.append(tuple(pattern.format(**new) for pattern in rng.choice(PATTERNS)))
    for phrase in map(sides, PHRASES):
        base += 6 * [tuple(change(side) for side in phrase) for change in (str, lambda s: s + "!", lambda s: s + ".", str.upper)]
    turn = (lambda pair: pair) if from_german else (lambda pair: pair[::-1])
    base = [turn(pair) for pair in base]
    out = list(base)
    for source, target in base:
        kind = rng.random()
        if kind < 0.06 and source.endswith(".") and target.endswith("."):
            out.append((without_stop(source), without_stop(target)))
        elif kind < 0.09:
            out.append((without_stop(source).lower(), without_stop(target) if source.endswith(".") else target))
        elif kind < 0.17:
            out.append((mistyped(source, rng), target))
    for german, english, count, shares in found:
        # A common reading of the source; that of the target matters less.
        least = (0.4, 0.08) if from_german else (0.35, 0.4)
        if all(share >= limit for share, limit in zip(shares, least)):
            pair = turn((german, english))
            chances = [(1, 0.6, str), (6, 0.15, lambda s: s[0].upper() + s[1:]), (10, 0.2, str.upper)]
            out += [tuple(map(change, pair)) for often, chance, change in chances if count >= often and rng.random() < chance]
    rng.shuffle(out)
    return out


def main(corpus, out):
    read = lambda side: gzip.open(corpus / f"train.{side}.gz", "rt", encoding="utf8").read().splitlines()
    pairs = list(zip(read("de"), read("en")))
    found = list(fragments(pairs))
    for names, seed in ((("de-en.de", "de-en.en"), 11), (("en-de.en", "en-de.de"), 12)):
        made = text(pairs, found, names[0].endswith(".de"), random.Random(seed))
        for name, lines in zip(names, zip(*made)):
            (out / name).write_text("".join(line + "\n" for line in lines), encoding="utf8")
        print(f"{names[0]}: {len(made)} pairs")


main(*map(Path, sys.argv[1:3]))
