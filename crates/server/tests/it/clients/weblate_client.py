"""What Weblate's machine translation does (the package `weblate`, of which its classes for
LibreTranslate and DeepL run, without its data base), against a server with the key "key" that
translates by capital letters."""

import re
import sys
from types import ModuleType, SimpleNamespace

import django
from django.conf import settings

settings.configure(CACHES={"default": {"BACKEND": "django.core.cache.backends.locmem.LocMemCache"}})
django.setup()

address = sys.argv[1]
PLACEHOLDER = re.compile(r"%[sd]|%\(\w+\)s|\{\w*\}")
terms = "Apfel\tapple\nHaus\thouse"


def module(name, **items):
    """A part of Weblate that needs its data base, in short."""
    sys.modules[name] = ModuleType(name)
    vars(sys.modules[name]).update(items)


def request(method, url, raise_for_status=True, **options):
    import requests

    return requests.request(method, url, **options)


def highlight_string(text, unit, **_):
    return [(found.start(), found.end(), found.group()) for found in PLACEHOLDER.finditer(text)]


class PluralMapper:
    def __init__(self, *_):
        pass

    def map_units(self, units, _):
        for unit in units:
            unit.plural_map = unit.sources


module("weblate.checks.utils", highlight_string=highlight_string)
module("weblate.lang.models", Language=SimpleNamespace, PluralMapper=PluralMapper)
forms = ["BaseMachineryForm", "DeepLMachineryForm", "LibreTranslateMachineryForm"]
module("weblate.machinery.forms", **dict.fromkeys(forms))
module("weblate.utils.errors", report_error=lambda *_, **__: None)
hashes = {"calculate_hash": hash, "hash_to_checksum": "{:x}".format}
module("weblate.utils.hash", calculate_dict_hash=lambda it: hash(str(it)), **hashes)
module("weblate.utils.requests", request=request)
module("weblate.utils.similarity", Comparer=object)
module("weblate.utils.site", get_site_url=lambda *_: "http://weblate.example/")
module("weblate.glossary.models", get_glossary_tsv=lambda _: terms)

from weblate.machinery.base import MachineTranslationError
from weblate.machinery.deepl import DeepLTranslation
from weblate.machinery.libretranslate import LibreTranslateTranslation

language = lambda code: SimpleNamespace(code=code, plural=None)
project = SimpleNamespace(id=1)
component = SimpleNamespace(source_language=language("de"), secondary_language=None, project=project)
translation = lambda code: SimpleNamespace(
    component=component, language=language(code), plural=None, log_debug=lambda *_: None
)
units = lambda code, texts: [
    SimpleNamespace(sources=[text], translation=translation(code), machinery={}) for text in texts
]


def translated(machinery, code, texts):
    all = units(code, texts)
    machinery.batch_translate(all)
    return [unit.machinery["translation"][0] for unit in all]


texts = ["Größe & 100 %", "Hallo %s, {name}!", "<b>fett</b> „so“", "eine %s\nund {noch}\n\neine <b>Zeile</b>"] + [f"Text {number}" for number in range(17)]
large = [text.upper() for text in texts]
large[1:4] = ["HALLO %s, {name}!", "<b>FETT</b> „SO“", "EINE %s\nUND {noch}\n\nEINE <b>ZEILE</b>"]
for url in [address, address + "/"]:
    libre = LibreTranslateTranslation({"url": url, "key": "key"})
    libre.validate_settings()
    assert {"de", "en"} <= libre.supported_languages
    assert translated(libre, "en", texts) == large, translated(libre, "en", texts)
assert not libre.is_supported("de", "fr")

for url in [address + "/v2", address + "/v2/"]:
    deepl = DeepLTranslation({"url": url, "key": "key", "formality": "default ", "context": "a program"})
    deepl.validate_settings()
    found = translated(deepl, "en_US", texts)
    assert found == large, found
assert translated(deepl, "en", ["Apfel"]) == ["APFEL [apple]"], "with the glossary of the project"
assert len(deepl.list_glossaries()) == 2, "one for each code of the target"
terms = "Apfel\tfruit"
assert translated(deepl, "en", ["Apfel"]) == ["APFEL [fruit]"], "with the glossary of today"
assert len(deepl.list_glossaries()) == 2, "a stale one is deleted"
deepl.delete_oldest_glossary()
assert len(deepl.list_glossaries()) == 1

for kind, url in [(LibreTranslateTranslation, address), (DeepLTranslation, address + "/v2/")]:
    wrong = kind({"url": url, "key": "wrong"})
    try:
        wrong.download_languages()
        wrong.download_multiple_translations("de", "en", [("a", None)])
    except Exception as error:
        assert "403" in str(error), error
    else:
        raise AssertionError("a wrong key is refused")
