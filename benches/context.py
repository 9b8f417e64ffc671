"""Right pronouns, forms of address and verbs where only the sentence before tells them.

    python benches/context.py write TRAIN.en TRAIN.de FOLDER [PAIRS]
    python benches/context.py count FOLDER MODEL [PROGRAM]

`write` makes training, validation and contrastive texts from English to German in FOLDER. The training text is the first PAIRS (40,000 by default) pairs of
TRAIN, each a document of its own, and 6,000 generated documents of two sentences, repeated as `train.en` and `train.de`. `count` translates the contrastive
set with the model, with and without context, and counts answers by their words alone. PROGRAM is `burnformer` by default.

In each document of the set, the first sentence decides about a word of the second:

    pronoun    The lamp is in the kitchen. / It is old.            → Sie ist alt.
    address    Good morning, Mr Miller. / You are late.            → Sie sind spät dran.
    ellipsis   Does Anna sing? / Yes, she does.                    → Ja, sie singt.

No document of the set is in the training text: each noun, name and verb is, but not in this pair of sentences."""

import gzip
import random
import re
import subprocess
import sys
import tempfile
from pathlib import Path

NOUNS = {
    "er": "table:Tisch key:Schlüssel hat:Hut car:Wagen train:Zug letter:Brief apple:Apfel chair:Stuhl coat:Mantel spoon:Löffel",
    "sie": "lamp:Lampe clock:Uhr door:Tür bag:Tasche bottle:Flasche newspaper:Zeitung bridge:Brücke cup:Tasse map:Karte shirt:Bluse",
    "es": "house:Haus book:Buch window:Fenster picture:Bild bed:Bett glass:Glas knife:Messer bicycle:Fahrrad shop:Geschäft ship:Schiff",
}
ARTICLES = {"er": "Der", "sie": "Die", "es": "Das"}
PLACES = [("in the kitchen", "in der Küche"), ("in Berlin", "in Berlin"), ("over there", "dort drüben"), ("here", "hier"), ("upstairs", "oben")]
QUALITIES = "old:alt new:neu small:klein big:groß beautiful:schön cheap:billig broken:kaputt clean:sauber".split()
NAMES = "Tom Mary Anna Peter John Lisa Paul Emma".split()
LAST_NAMES = "Miller Smith Brown Fischer Weber Wagner Becker Schulz".split()
GREETINGS = [
    ("du", "Hey, {name}!", "Hey, {name}!"),
    ("du", "Hi {name}, my friend.", "Hallo {name}, mein Freund."),
    ("du", "Mum calls you, {name}.", "Mama ruft dich, {name}."),
    ("Sie", "Good morning, Mr {last}.", "Guten Morgen, Herr {last}."),
    ("Sie", "Excuse me, Mrs {last}.", "Entschuldigung, Frau {last}."),
    ("Sie", "Dear Dr {last},", "Sehr geehrter Herr Dr. {last},"),
]
ADDRESSED = [
    ("You are late.", {"du": "Du bist spät dran.", "Sie": "Sie sind spät dran."}),
    ("Do you have time?", {"du": "Hast du Zeit?", "Sie": "Haben Sie Zeit?"}),
    ("Where do you live?", {"du": "Wo wohnst du?", "Sie": "Wo wohnen Sie?"}),
    ("Can you help me?", {"du": "Kannst du mir helfen?", "Sie": "Können Sie mir helfen?"}),
    ("I will see you tomorrow.", {"du": "Ich sehe dich morgen.", "Sie": "Ich sehe Sie morgen."}),
    ("What do you want to drink?", {"du": "Was willst du trinken?", "Sie": "Was wollen Sie trinken?"}),
]
VERBS = "sing:singt dance:tanzt cook:kocht swim:schwimmt smoke:raucht work:arbeitet study:studiert paint:malt".split()
PERSONS = {"Tom": "er", "Peter": "er", "John": "er", "Paul": "er", "Mary": "sie", "Anna": "sie", "Lisa": "sie", "Emma": "sie"}
ENGLISH = {"er": "he", "sie": "she"}
ANSWERS = [("Yes, {he} does.", "Ja, {er} {verb}."), ("I think {he} does.", "Ich glaube, {er} {verb}."), ("Of course {he} does.", "Natürlich {verb} {er}.")]


def pronouns():
    for pronoun, nouns in NOUNS.items():
        for english, german in (noun.split(":") for noun in nouns.split()):
            for place, ort in PLACES:
                for quality, eigenschaft in (pair.split(":") for pair in QUALITIES):
                    first = f"The {english} is {place}.", f"{ARTICLES[pronoun]} {german} ist {ort}."
                    yield "pronoun", pronoun, first, (f"It is {quality}.", f"{pronoun.capitalize()} ist {eigenschaft}.")


def addresses():
    for form, english, german in GREETINGS:
        for name, last in ((name, last) for name in NAMES for last in LAST_NAMES):
            if "{last}" in english and name != NAMES[0] or "{name}" in english and last != LAST_NAMES[0]:
                continue
            first = tuple(text.format(name=name, last=last) for text in (english, german))
            for question, forms in ADDRESSED:
                yield "address", form, first, (question, forms[form])


def ellipses():
    for person, pronoun in PERSONS.items():
        for english, german in (verb.split(":") for verb in VERBS):
            for answer, antwort in ANSWERS:
                first = f"Does {person} {english}?", f"{german.capitalize()} {person}?"
                second = answer.format(he=ENGLISH[pronoun]), antwort.format(er=pronoun, verb=german)
                yield "ellipsis", german, first, second


def documents():
    """The documents of the training text and of the contrastive set: a fifth of each kind is in the set."""
    train, test = [], []
    for kind in (pronouns, addresses, ellipses):
        all_ = list(kind())
        random.Random(f"{kind.__name__}").shuffle(all_)
        cut = len(all_) // 5
        train += all_[cut:]
        test += all_[: min(cut, 120)]
    return train, test


def write(source, target, folder, pairs="40000"):
    folder = Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    train, test = documents()
    rng = random.Random(1)
    opened = [gzip.open(path, "rt") if path.endswith(".gz") else open(path) for path in (source, target)]
    texts = [[pair] for pair, _ in zip(zip(*opened), range(int(pairs)))]
    texts = [[tuple(text.strip() for text in pair) for pair in document] for document in texts]
    kinds = [[document for document in train if document[0] == kind] for kind in ("pronoun", "address", "ellipsis")]
    texts += [rng.choice(kinds[number % 3])[2:] for number in range(6000)]
    rng.shuffle(texts)
    for name, all_ in [("train", texts), ("test", [document[2:] for document in test])]:
        for side, language in enumerate(("en", "de")):
            lines = ("".join(f"{pair[side]}\n" for pair in document) for document in all_)
            (folder / f"{name}.{language}").write_text("\n".join(lines))
    print(f"{len(texts)} documents to learn from, {len(test)} in the contrastive set")


def is_right(kind, expected, text):
    """Whether the translation has the expected word, and none that excludes it."""
    words = re.findall(r"\w+", text)
    if kind == "pronoun":
        return {word.lower() for word in words} & {"er", "sie", "es"} == {expected}
    if kind == "address":
        informal = {"du", "dich", "dir", "dein", "deine"} & {word.lower() for word in words}
        formal = {"Sie", "Ihnen", "Ihr", "Ihre"} & set(words)
        return bool(informal) != bool(formal) and bool(informal) == (expected == "du")
    return expected in {word.lower() for word in words}


def count(folder, model, program="burnformer"):
    _, test = documents()
    rows = {}
    with tempfile.TemporaryDirectory() as temporary:
        for name, options in [("with context", []), ("alone", ["--no-context"])]:
            target = Path(temporary, "target")
            command = [program, "translate", "-q", "-m", model, "-i", Path(folder, "test.en"), "-o", target, *options]
            subprocess.run(command, check=True)
            # Two sentences and an empty line for each document.
            second = target.read_text().splitlines()[1::3]
            for (kind, expected, *_), text in zip(test, second, strict=True):
                rows.setdefault(kind, {}).setdefault(name, []).append(is_right(kind, expected, text))
    print("kind\tdocuments\twith context\talone")
    for kind, found in rows.items():
        shares = [f"{sum(all_) / len(all_):.0%}" for all_ in found.values()]
        print(kind, len(found["alone"]), *shares, sep="\t")


if __name__ == "__main__":
    {"write": write, "count": count}[sys.argv[1]](*sys.argv[2:])
