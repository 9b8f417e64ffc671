"""Whether other programs read in a written catalogue what a translation memory answered, control characters and syntax included: PyYAML and
ruamel.yaml (YAML 1.1 and 1.2), fluent.syntax and fluent.runtime, polib, Python's json, lxml and ElementTree, javaproperties, openstep-plist
(PyPI), translate-toolkit and Qt's `lrelease` (Qt and .NET), plistlib (Apple's plural tables), nbformat (notebooks), and gettext's `msgfmt`.

    OUT=FOLDER cargo test --release -p burnformer-documents --test it other_programs_read_the_answers -- --ignored
    python benches/judge_answers.py FOLDER

The first command writes files with 10,000 answers; beside each file stands a list of its answers. The second one reads each file with each
reader of its format, prints what differs, and counts."""

import collections
import gettext
import json
import pathlib
import plistlib
import re
import subprocess
import sys
import tempfile
import xml.etree.ElementTree

import javaproperties
import lxml.etree
import nbformat
import openstep_plist
import polib
import ruamel.yaml
import yaml
from fluent.runtime import FluentBundle, FluentResource
from fluent.syntax import ast, parse
from translate.storage.resx import RESXFile
from translate.storage.ts2 import tsfile

LOST_IN_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ufffe\uffff]")
SHOWN = {"n": "\n", "t": "\t", "r": "\r"}


def keyed(root, path, text):
    return {element.get("id") or element.get("tuid") or element.get("name"): text(element) for element in root.iter(path)}


def yaml_texts(data):
    return {key: text for key, text in data["de"].items() if key != "z"}


def po(file, data):
    texts = {entry.msgctxt: entry.msgstr for entry in polib.pofile(str(file), wrapwidth=0)}
    yield "polib", texts
    with tempfile.NamedTemporaryFile(suffix=".mo") as out:
        subprocess.run(["msgfmt", "-c", "--use-fuzzy", "-o", out.name, file], check=True, capture_output=True)
        catalog = gettext.GNUTranslations(open(out.name, "rb"))._catalog
    yield "msgfmt", {key.split("\x04")[0]: text for key, text in catalog.items() if "\x04" in key}


def xml_readers(data):
    yield "lxml", lxml.etree.fromstring(data.encode())
    yield "ElementTree", xml.etree.ElementTree.fromstring(data.encode())


def xliff(file, data):
    for name, root in xml_readers(data):
        yield name, keyed(root, "trans-unit", lambda unit: unit.find("target").text)


def tmx(file, data):
    for name, root in xml_readers(data):
        yield name, keyed(root, "tu", lambda unit: unit.findall("tuv")[1].find("seg").text)


def android_text(text):
    """The text that aapt makes of a string without quotes: one space for white space, then escapes."""
    text = re.sub(r"[ \t\r\n]+", " ", text).strip(" ")
    return re.sub(r"\\(u[0-9a-fA-F]{4}|.)", lambda it: chr(int(it[1][1:], 16)) if len(it[1]) > 1 else SHOWN.get(it[1], it[1]), text)


def android(file, data):
    for name, root in xml_readers(data):
        yield name, keyed(root, "string", lambda string: android_text(string.text))


def json_file(file, data):
    yield "json", {key: text for key, text in json.loads(data).items() if key != "z"}


def yaml_file(file, data):
    yield "PyYAML", yaml_texts(yaml.safe_load(data))
    yield "libyaml", yaml_texts(yaml.load(data, yaml.CSafeLoader))
    for version in ("1.1", "1.2"):
        reader = ruamel.yaml.YAML(typ="safe", pure=True)
        reader.version = version
        yield "ruamel.yaml " + version, yaml_texts(reader.load(data))


def properties(file, data):
    yield "javaproperties", javaproperties.loads(data)


def strings(file, data):
    yield "openstep-plist", openstep_plist.loads("{" + data + "}")


def fluent(file, data):
    tree = parse(data)
    junk = [entry.content for entry in tree.body if isinstance(entry, ast.Junk)]
    assert not junk, junk[0]
    bundle = FluentBundle(["de"], use_isolating=False)
    bundle.add_resource(FluentResource(data))
    yield "fluent.runtime", {entry.id.name: bundle.format_pattern(bundle.get_message(entry.id.name).value)[0] for entry in tree.body}


def qt_text(element):
    """A text of Qt, which writes some characters as elements: `<byte value="xd"/>`."""
    return (element.text or "") + "".join(chr(int(byte.get("value")[1:], 16)) + (byte.tail or "") for byte in element)


def qt(file, data):
    yield "translate-toolkit", {unit.getcontext().removeprefix("de\n"): unit.target for unit in tsfile.parsestring(data.encode()).units}
    with tempfile.NamedTemporaryFile(suffix=".qm") as out:
        subprocess.run(["lrelease", file, "-qm", out.name], check=True, capture_output=True)
        read = subprocess.run(["lconvert", out.name, "-if", "qm", "-of", "ts"], check=True, capture_output=True).stdout
    for name, root in xml_readers(read.decode()):
        messages = root.iter("message")
        yield f"lrelease, {name}", {"k" + message.find("source").text.split()[1]: qt_text(message.find("translation")) for message in messages}


def resx(file, data):
    yield "translate-toolkit", {unit.getid(): unit.target for unit in RESXFile.parsestring(data.encode()).units}
    for name, root in xml_readers(data):
        yield name, {item.get("name"): item.find("value").text for item in root.iter("data")}


def xcstrings(file, data):
    strings = json.loads(data)["strings"]
    units = {key: string["localizations"]["de"].get("stringUnit") for key, string in strings.items() if key != "a"}
    assert all(unit["state"] == "needs_review" for unit in units.values() if unit)
    assert all(string["localizations"]["en"]["stringUnit"]["state"] == "new" for key, string in strings.items() if key != "a")
    yield "json", {key: unit and unit["value"] for key, unit in units.items()}


def stringsdict(file, data):
    yield "plistlib", {key: text for key, text in plistlib.loads(data.encode()).items() if key != "a"}


def notebook(file, data):
    read = nbformat.reads(data, as_version=4)
    nbformat.validate(read)
    yield "nbformat", {cell.id: cell.source for cell in read.cells if cell.cell_type == "markdown"}


READERS = {
    "po": po, "xliff": xliff, "tmx": tmx, "android": android, "json": json_file, "yaml": yaml_file, "properties": properties,
    "strings": strings, "fluent": fluent, "qt": qt, "resx": resx, "xcstrings": xcstrings, "stringsdict": stringsdict, "ipynb": notebook,
}


def held(kind, text):
    if kind in ("xliff", "tmx", "qt", "resx", "stringsdict"):
        text = LOST_IN_XML.sub("\ufffd", text)
    return text.replace("\0", "\ufffd") if kind == "po" else text


def main(folder):
    counts = collections.defaultdict(collections.Counter)
    for file in sorted(pathlib.Path(folder).iterdir()):
        kind = file.suffix[1:]
        if kind == "json" and pathlib.Path(file.stem).suffix:
            continue
        answers = json.loads(file.with_name(file.name + ".json").read_text())
        data = file.read_bytes().decode()
        try:  # The exceptions of readers are of all types.
            for reader, texts in READERS[kind](file, data):
                count = counts[kind, reader]
                count["files"] += 1
                wanted = {f"k{number}": held(kind, answer) for number, answer in enumerate(answers)}
                for key in wanted.keys() | texts.keys():
                    text = texts.get(key)
                    count["answers"] += 1
                    if text is None or not isinstance(text, str) or text.strip("\n") != wanted.get(key):
                        count["differ"] += 1
                        print(f"{file.name} {reader} {key}: {wanted.get(key)!a} is {text!a}")
        except Exception as error:
            counts[kind, "refused"]["files"] += 1
            print(f"{file.name}: {type(error).__name__} {str(error)[:300]!a}")
    for (kind, reader), count in sorted(counts.items()):
        print(kind, reader, dict(count))


if __name__ == "__main__":
    main(*sys.argv[1:])
