"""Whether other programs find in translated documents what was in them: translate-toolkit (PyPI, with ruamel.yaml, fluent.syntax, aeidon,
cssselect and its other extras) reads each file before and after, nbformat (PyPI) reads notebooks, and gettext's `msgfmt` and Qt's `lrelease` check
catalogues.

    FILES=FOLDER OUT=OTHER cargo test --release -p burnformer-documents --test it real_files -- --ignored --nocapture
    python benches/judge_documents.py FOLDER OTHER

The first command translates the files under FOLDER with an engine that puts a number behind each word. The second one takes these numbers out and
compares units: as many, with the same identifiers, contexts and words (without spaces and the formats' own escapes); a source and a translation
that was there stay; a new translation has the words of its source, or of its plural. It prints counts by kind and each unit that differs."""

import collections
import html
import json
import pathlib
import re
import subprocess
import sys
import warnings

import nbformat
from translate.storage import aresource, fluent, jsonl10n, properties, pypo, resx, stringsdict, subtitles, tmx, ts2, xliff, xliff2, yaml
from translate.storage import html as pages

# The sign of an accelerator may stand in a number.
NUMBERS = re.compile(" ?q[&_]?x[bcdfghjklmnprstvwyzu&_]+x[&_]?q")
SUBTITLES, PAGES = {"srt", "ass", "ssa"}, {"html", "htm", "xhtml"}
INVISIBLE = re.compile("[\\s\x00-\x1f\x7f-\x9f\u00ad\u034f\u061c\u115f\u1160\u17b4\u17b5\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\u3164\ufe00-\ufe0f\ufeff]")
TWO_LANGUAGES = {"po", "pot", "xlf", "xliff", "tmx", "ts", "xcstrings"}
LARGEST = 3 << 20
READERS = {
    "po": pypo.pofile, "pot": pypo.pofile, "tmx": tmx.tmxfile, "json": jsonl10n.JsonNestedFile, "arb": jsonl10n.ARBJsonFile,
    "yaml": yaml.YAMLFile, "yml": yaml.YAMLFile, "xml": aresource.AndroidResourceFile, "ftl": fluent.FluentFile,
    "ts": ts2.tsfile, "resx": resx.RESXFile, "resw": resx.RESXFile, "stringsdict": stringsdict.StringsDictFile,
    "srt": subtitles.SubRipFile, "ass": subtitles.AdvSubStationAlphaFile,
    "ssa": subtitles.SubStationAlphaFile, "html": pages.htmlfile, "htm": pages.htmlfile, "xhtml": pages.htmlfile,
}


def reader(kind, data):
    if kind in ("xlf", "xliff"):
        return xliff2.Xliff2File if b"urn:oasis:names:tc:xliff:document:2" in data[:3000] else xliff.xlifffile
    if kind == "properties":
        return properties.javafile if data.isascii() else properties.javautf8file
    if kind == "strings":
        return properties.stringsfile if data[:2] in (b"\xff\xfe", b"\xfe\xff") else properties.stringsutf8file
    return READERS.get(kind)


def words(kind, text):
    text = NUMBERS.sub(lambda number: re.sub("[^&_]", "", number[0]), str(text or ""))
    # Arguments get numbers where their order changes.
    text = re.sub(r"%\d+\$", "%", text)
    # In languages without letters for a key, the accelerator stands behind the text.
    text = re.sub(r"\(([&_])\w\)", r"\1", text)
    if kind in ("properties", "yaml", "yml", "strings", "ftl", "xml"):
        text = re.sub(r"\\u([0-9a-fA-F]{4})", lambda code: chr(int(code[1], 16)), text).replace("\\", "")
    if kind == "ftl":
        # A string that Fluent needs at the beginning of a line.
        text = re.sub(r'\{ "(.)" \}', r"\1", text)
    if kind == "xml":
        text = re.sub(r"<!\[CDATA\[(.*?)\]\]>", lambda it: html.escape(it[1], False), text, flags=re.S)
    if kind != "json":
        text = html.unescape(html.unescape(text))
    text = text.encode("utf-16", "surrogatepass").decode("utf-16", "replace")
    # A placeholder or a tag may stand in another place.
    return sorted(INVISIBLE.sub("", re.sub("[\"']", "", text) if kind in ("yaml", "yml", "xml", "ftl", "strings") else text))


def notebook(data):
    """The cells; what is not translated is a part of their identifiers."""
    root = nbformat.reads(data.decode(), nbformat.NO_CONVERT)
    nbformat.validate(root)
    sheets = root.pop("worksheets", [root])
    for cell in [cell for sheet in sheets for cell in sheet.pop("cells", [])] + [root]:
        source = cell.pop("source", "") if cell.get("cell_type") == "markdown" else ""
        yield json.dumps(cell), "", [source], []


def texts_of(value, path=()):
    """The texts of a localization of Xcode by their paths. A new text is no translation yet."""
    if "value" in value and "state" in value:
        yield path, "" if value["state"] == "new" else value["value"]
    for name, child in value.items():
        if isinstance(child, dict):
            yield from texts_of(child, path + (name,))


def xcode(data):
    """The strings, with all of their translations."""
    root = json.loads(data.decode())
    for key, string in root["strings"].items():
        localizations = string.get("localizations", {})
        source = dict(texts_of(localizations.pop(root["sourceLanguage"], {})))
        yield key, string.get("comment", ""), [key, *source.values()], dict(texts_of(localizations))


def units(kind, data):
    if kind in OWN_READERS:
        yield from OWN_READERS[kind](data)
        return
    store = reader(kind, data)()
    # Words decide which encoding the reader of subtitles takes.
    store.parse(re.sub(NUMBERS.pattern.encode(), b"", data) if kind in SUBTITLES else data)
    if kind == "tmx":
        store.setsourcelanguage(None)
    strings = lambda text: [] if text is None else [str(one) for one in getattr(text, "strings", [text])]
    for unit in store.units:
        if not unit.isheader():
            state = unit.target_dom.get("state") if kind in ("xlf", "xliff") and getattr(unit, "target_dom", None) is not None else None
            target = [] if state in ("new", "needs-translation") else strings(unit.target)
            yield unit.getid(), unit.getcontext() or "", strings(unit.source), target


OWN_READERS = {"ipynb": notebook, "xcstrings": xcode}


def differs(kind, before, after):
    texts = lambda all: [words(kind, text) for text in all]
    (old_id, old_context, old_source, old_target), (new_id, new_context, source, target) = before, after
    # Pages and subtitles have their words in their identifiers.
    if texts(old_source) != texts(source) or kind not in ("html", "htm", "xhtml", "srt", "ass", "ssa") and old_id != new_id:
        return True
    if kind not in TWO_LANGUAGES:
        return texts(old_target) != texts(target)
    if old_context != new_context or any(NUMBERS.search(str(text)) for text in source):
        return True
    if kind == "xcstrings":
        paths = [*old_target, *(path for path in target if path not in old_target)]
        old_target, target = ([texts.get(path, "") for path in paths] for texts in (old_target, target))
    old_target += [""] * (len(target) - len(old_target))
    kept = len(old_target) == len(target) and all(old == new or not str(old).strip() for old, new in zip(old_target, target))
    new = [words(kind, new) for old, new in zip(old_target, target) if old != new]
    return not kept or any(text and text not in texts(source) for text in new)


COMPILERS = {
    "po": ["msgfmt", "-c", "--use-fuzzy", "-o", "/dev/null"], "pot": ["msgfmt", "-c", "--use-fuzzy", "-o", "/dev/null"],
    "ts": ["lrelease", "-qm", "/dev/null"],
}


def compiles(kind, file):
    return subprocess.run([*COMPILERS[kind], file], capture_output=True).returncode == 0


def judge(kind, old, new, counts):
    counts["files"] += 1
    if kind in COMPILERS and compiles(kind, old):
        counts["compiled sources"] += 1
        if not compiles(kind, new):
            counts["results do not compile"] += 1
            print(new, "does not compile", sep="\n  ")
    data = old.read_bytes()
    if len(data) > LARGEST:
        counts["too large"] += 1
        return
    text = "source"
    try:  # Its exceptions are of all types.
        before = list(units(kind, data))
        text = "result"
        after = list(units(kind, new.read_bytes()))
    except Exception:
        counts[f"another program does not read the {text}"] += 1
        return
    counts["units"] += len(before)
    found = [pair for pair in zip(before, after) if differs(kind, *pair)]
    counts["units differ"] += len(found) + abs(len(before) - len(after))
    for pair in found:
        print(old, *pair, sep="\n  ")


def main(sources, results):
    warnings.filterwarnings("ignore")
    by_kind = collections.defaultdict(collections.Counter)
    for new in sorted(pathlib.Path(results).rglob("*")):
        kind, old = new.suffix[1:].lower(), pathlib.Path(sources) / new.relative_to(results)
        if (kind in OWN_READERS or reader(kind, b"")) and new.is_file():
            judge(kind, old, new, by_kind[kind])
    for kind, counts in sorted(by_kind.items()):
        print(kind, dict(counts))
    print("all", dict(sum(by_kind.values(), collections.Counter())))


if __name__ == "__main__":
    main(*sys.argv[1:])
