"""Texts and configurations to compare one model of many pairs with one model for each pair.

    pip install polib
    python benches/languages.py DATA OUT

DATA holds `tatoeba-de-en` and `europarl-en-fr` (gzipped lines) and `django-messages` (a folder of PO
files for each language). OUT gets a `.tsv` for the training, validation and test text of each pair,
`many.toml` with all pairs, and one file for each of three pairs alone. docs/results.md has the commands.

A fifth of the messages of Django is in the test texts, and a tenth in the validation texts, for all
languages alike: no message is trained on in one language and tested in another.
"""

import gzip
import sys
import zlib
from pathlib import Path

import polib

LANGUAGES = {"ar": "ar", "de": "de", "fa": "fa", "fr": "fr", "hi": "hi", "ja": "ja", "ko": "ko", "ru": "ru", "th": "th", "tr": "tr", "zh": "zh_Hans"}
# Sentence pairs of Europarl, and the largest number of words of a side.
EUROPARL = 80_000
MAX_WORDS = 25


def messages(folder):
    """The translated messages of a language by their English texts, on one line each."""
    found = {}
    for path in sorted(folder.glob("*.po")):
        for entry in polib.pofile(str(path)):
            is_line = not any("\n" in text or "\t" in text for text in (entry.msgid, entry.msgstr))
            if entry.translated() and entry.msgstr and is_line:
                found[entry.msgid] = entry.msgstr
    return found


def parts(pairs):
    """Training, validation and test text of messages."""
    divided = {"train": [], "valid": [], "test": []}
    for english, other in pairs.items():
        number = zlib.crc32(english.encode()) % 10
        divided[{0: "test", 1: "test", 2: "valid"}.get(number, "train")].append((english, other))
    return divided


def lines(path):
    return gzip.open(path, "rt", encoding="utf-8").read().splitlines()


def tatoeba(data, part):
    return list(zip(*(lines(data / f"tatoeba-de-en/{part}.{language}.gz") for language in ("de", "en"))))


def europarl(data):
    """Short sentence pairs, French first, in one order for training, validation and test."""
    english, french = (lines(data / f"europarl-en-fr/train.{language}.gz") for language in ("en", "fr"))
    pairs = [pair for pair in zip(french, english) if all(0 < len(text.split()) <= MAX_WORDS and "\t" not in text for text in pair)]
    pairs = list(dict.fromkeys(pairs))
    return {"test": pairs[:1000], "valid": pairs[1000:1500], "train": pairs[1500 : 1500 + EUROPARL]}


def write(path, pairs):
    path.write_text("".join(f"{source}\t{target}\n" for source, target in pairs), encoding="utf-8")


def table(out, source, target, both_ways):
    name = f"{source}-{target}"
    texts = "".join(f'{part} = ["{out}/{part}.{name}.tsv"]\n' for part in ("train", "valid", "test"))
    return f'[[data.pairs]]\nsource = "{source}"\ntarget = "{target}"\n{texts}both_ways = {str(both_ways).lower()}\n'


def main(data, out):
    data, out = Path(data), Path(out)
    out.mkdir(parents=True, exist_ok=True)
    django = {code: messages(data / "django-messages" / folder) for code, folder in LANGUAGES.items()}
    large = {"de-en": {part: tatoeba(data, part) for part in ("train", "valid", "test")}, "fr-en": europarl(data)}
    large["de-en"]["valid"] = large["de-en"]["valid"][:500]
    tables = []
    for code, found in django.items():
        divided = parts(found)
        name = f"{code}-en"
        if name in large:
            reverse = {part: [pair[::-1] for pair in pairs] for part, pairs in divided.items()}
            for part, pairs in large[name].items():
                write(out / f"{part}.{name}.tsv", pairs + (reverse["train"] if part == "train" else []))
            tables.append(table(out, code, "en", True))
        else:
            for part, pairs in divided.items():
                write(out / f"{part}.en-{code}.tsv", pairs)
            tables.append(table(out, "en", code, False))
    # German to French is in no training text.
    common = [(german, django["fr"][english]) for english, german in parts(django["de"])["test"] if english in django["fr"]]
    write(out / "test.de-fr.messages.tsv", common)
    settings = 'preset = "speedrun"\n\n[training]\nmax_minutes = 0\nfit = false\n\n[tokenizer.train]\nvocab_size = '
    (out / "many.toml").write_text(settings + "12000\n\n" + "\n".join(tables))
    for alone in (("de", "en", False), ("fr", "en", False), ("en", "tr", False)):
        (out / f"{alone[0]}-{alone[1]}.toml").write_text(settings + "4000\n\n" + table(out, *alone))
    for path in sorted(out.glob("train.*.tsv")):
        print(path.name, sum(1 for _ in path.open(encoding="utf-8")), sep="\t")


if __name__ == "__main__":
    main(*sys.argv[1:])
