"""English messages of programs with their French translations, from Debian packages (package.deb, as `apt-get download` gives them).

    python benches/messages.py FOLDER PACKAGE.deb ...

writes test.en and test.fr (1,000 pairs), valid.en and valid.fr (500) and train.en and train.fr (the rest) to FOLDER: messages of 3 to 60 words
in one line, without placeholders, marks of keyboard shortcuts and tags taken out, each English message once, in an order that a seed decides."""

import gettext
import pathlib
import random
import re
import subprocess
import sys
import tempfile

CATALOGS = "usr/share/locale*/fr/LC_MESSAGES/*.mo"
TAGS = re.compile(r"<[^>]*>")
SHORTCUTS = re.compile(r"(?<!\w)_(?=\w)|(?<=\w)_(?=\w{2,})|&")


def clean(text):
    # A context may stand before the message and an end-of-transmission character.
    return SHORTCUTS.sub("", TAGS.sub("", text.split("\x04")[-1])).strip()


def messages(package):
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
        for file in sorted(pathlib.Path(folder).glob(CATALOGS)):
            with open(file, "rb") as catalog:
                catalog = gettext.GNUTranslations(catalog)._catalog
            for source, target in catalog.items():
                if isinstance(source, str):
                    yield clean(source), clean(target)


def is_wanted(source, target):
    plain = "\n" not in source + target and "%" not in source
    return plain and 3 <= len(source.split()) <= 60 and target and source != target


def main(out, *packages):
    pairs = {}
    for package in sorted(packages):
        for source, target in messages(package):
            if is_wanted(source, target):
                pairs.setdefault(source, target)
    pairs = sorted(pairs.items())
    random.Random(1).shuffle(pairs)
    parts = {"test": pairs[:1000], "valid": pairs[1000:1500], "train": pairs[1500:]}
    for name, part in parts.items():
        for place, side in enumerate(["en", "fr"]):
            lines = "".join(pair[place] + "\n" for pair in part)
            pathlib.Path(out, f"{name}.{side}").write_text(lines, encoding="utf-8")
    print(len(pairs), "pairs")


if __name__ == "__main__":
    main(*sys.argv[1:])
