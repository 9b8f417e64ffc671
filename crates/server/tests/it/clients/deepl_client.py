"""What DeepL's client library does (the package `deepl`), against a server with the key "key"
that translates by capital letters."""

import io
import os
import pathlib
import sys
import tempfile

import deepl

address = sys.argv[1]
deepl.http_client.max_network_retries = 0
translator = deepl.DeepLClient("key", server_url=address)


def refused(kind, call, *words):
    try:
        call()
    except kind as error:
        assert all(word in str(error) for word in words), error
    else:
        raise AssertionError(f"{words} is not refused")


# Texts.
one = translator.translate_text("Größe & 100%", source_lang="DE", target_lang="EN-US")
assert (one.text, one.detected_source_lang, one.billed_characters) == ("GRÖSSE & 100%", "DE", 12)
text = "Der alte Mann wohnt am Meer und fischt jeden Tag."
found = translator.translate_text([text, "zwei Häuser und drei Hunde"], target_lang="en-gb")
assert [one.text for one in found] == [text.upper(), "ZWEI HÄUSER UND DREI HUNDE"]
assert found[0].detected_source_lang == "DE"
for kind in deepl.ModelType:
    one = translator.translate_text(text, source_lang="DE", target_lang="EN-US", model_type=kind)
    assert one.model_type_used == kind.value.removeprefix("prefer_"), one.model_type_used
for split in [*deepl.SplitSentences, "0", "1", "nonewlines"]:
    translator.translate_text("a\nb", source_lang="DE", target_lang="EN-US", split_sentences=split)
for formality in [deepl.Formality.DEFAULT, deepl.Formality.PREFER_LESS, "prefer_more"]:
    translator.translate_text(text, source_lang="DE", target_lang="EN-US", formality=formality, context="Meer")
for switch in [True, False]:
    translator.translate_text(
        text, source_lang="DE", target_lang="EN-US", preserve_formatting=switch, outline_detection=switch,
        tag_handling="xml", tag_handling_version="v2",
    )
one = translator.translate_text(
    "<a>eins <raw>zwei</raw></a>", source_lang="DE", target_lang="EN-US", tag_handling="xml",
    ignore_tags=["raw"], splitting_tags="par", non_splitting_tags=["a", "b"],
)
assert one.text == "<a>EINS <raw>zwei</raw></a>", one.text
one = translator.translate_text(
    text, source_lang="DE", target_lang="EN-US", extra_body_parameters={"target_lang": "EN-GB", "debug": "1"}
)
assert one.text == text.upper()

# Refusals.
ask = lambda **options: lambda: translator.translate_text("a", **{"source_lang": "DE", "target_lang": "EN-US", **options})
refused(deepl.DeepLException, ask(target_lang="XX"), "target_lang", "not supported")
refused(deepl.DeepLException, ask(source_lang="XX"), "source_lang", "not supported")
refused(deepl.DeepLException, ask(formality="more"), "formality", "prefer_more")
refused(deepl.DeepLException, ask(formality="invalid"), "formality")
refused(deepl.DeepLException, ask(split_sentences="invalid"), "split_sentences")
refused(deepl.DeepLException, ask(custom_instructions=["shout"]), "custom_instructions")
refused(deepl.DeepLException, ask(style_rule="x"), "style_id")
refused(deepl.DeepLException, ask(translation_memory="x"), "translation_memory_id")
wrong = deepl.Translator("invalid", server_url=address)
refused(deepl.AuthorizationException, wrong.get_usage)
refused(deepl.AuthorizationException, lambda: wrong.translate_text("a", target_lang="DE"))

# What there is.
assert "Usage this billing period" in str(translator.get_usage()) and not translator.get_usage().any_limit_reached
assert [str(language) for language in translator.get_source_languages()] == ["DE", "EN"]
targets = translator.get_target_languages()
assert [str(language) for language in targets] == ["DE", "EN-GB", "EN-US"]
assert not any(language.supports_formality for language in targets)
translator.translate_text("a", source_lang=translator.get_source_languages()[0], target_lang=targets[1])

# Glossaries.
refused(deepl.GlossaryNotFoundException, lambda: translator.get_glossary("96ab91fd-e715-41a1-adeb-5d701f84a483"))
pairs = [(pair.source_lang, pair.target_lang) for pair in translator.get_glossary_languages()]
assert pairs == [("de", "en"), ("en", "de")]
entries = {"Apfel": "apple", "A%=&": "B&=%", "Δぁ": "深", "\U0001faa8": "\U0001fab5"}
glossary = translator.create_glossary("mine", "DE", "EN", entries)
assert (glossary.name, glossary.source_lang, glossary.target_lang, glossary.entry_count) == ("mine", "DE", "EN", 4)
again = translator.get_glossary(glossary.glossary_id)
assert again.creation_time == glossary.creation_time and again.ready
assert translator.get_glossary_entries(glossary) == entries
assert [one.glossary_id for one in translator.list_glossaries()] == [glossary.glossary_id]
for target in [None, "EN-US"]:
    one = translator.translate_text_with_glossary(["Apfel"], glossary, target_lang=target)
    assert one[0].text == "APFEL [apple]", one[0].text
one = translator.translate_text("Apfel", source_lang="DE", target_lang="EN-US", glossary=glossary.glossary_id)
assert one.text == "APFEL [apple]"
one = translator.translate_text("Apfel", source_lang="DE", target_lang="EN-US", glossary_ids=[glossary])
assert one.text == "APFEL [apple]"
table = translator.create_glossary_from_csv("table", "DE", "EN", 'eins,one,de,en\n"zw""ei","t,wo",de,en')
assert translator.get_glossary_entries(table.glossary_id) == {"eins": "one", 'zw"ei': "t,wo"}
large = translator.create_glossary("large", "DE", "EN", {f"Source-${i}": f"Target-${i}" for i in range(10000)})
assert large.entry_count == 10000 and len(translator.get_glossary_entries(large)) == 10000
refused(deepl.DeepLException, lambda: translator.create_glossary("other", "EN", "XX", {"a": "b"}))
for one in [table, large]:
    translator.delete_glossary(one)
    refused(deepl.GlossaryNotFoundException, lambda: translator.get_glossary_entries(one))

# Glossaries of several pairs of languages (version 3), as the tests of the package use them.
terms = deepl.api_data.MultilingualGlossaryDictionaryEntries
both = [terms("EN", "DE", {"Hello": "Hallo"}), terms("DE", "EN", {"Hallo": "Hello", "Apfel": "fruit"})]
several = translator.create_multilingual_glossary("several", both)
told = lambda found: [(one.source_lang, one.target_lang, one.entry_count) for one in found.dictionaries]
assert (several.name, told(several)) == ("several", [("EN", "DE", 1), ("DE", "EN", 2)])
assert told(translator.get_multilingual_glossary(several.glossary_id)) == told(several)
assert several.glossary_id in [one.glossary_id for one in translator.list_multilingual_glossaries()]
ask = lambda text, source, target, **more: translator.translate_text(
    text, source_lang=source, target_lang=target, **more
).text
assert ask("Hello", "EN", "DE", glossary=several) == "HELLO [Hallo]"
assert ask("Hallo", "DE", "EN-US", glossary=several) == "HALLO [Hello]"
assert ask("Apfel", "DE", "EN-US", glossary_ids=[glossary, several]) == "APFEL [apple]", "the first counts"
assert ask("Apfel", "DE", "EN-US", glossary_ids=[several.glossary_id, glossary]) == "APFEL [fruit]"
lines = lambda source, target: translator.get_multilingual_glossary_entries(several, source, target).dictionaries[0].entries
assert (lines("EN", "DE"), deepl.util.convert_tsv_to_dict(lines("DE", "EN"))) == ("Hello\tHallo", both[1].entries)
table = translator.create_multilingual_glossary_from_csv("table", "EN", "DE", 'Plum,"Pflaume"')
refused(deepl.GlossaryNotFoundException, lambda: translator.get_multilingual_glossary_entries(table, "DE", "EN"))
# Changes of glossaries.
renamed = translator.update_multilingual_glossary_name(several, "renamed")
assert (renamed.name, told(renamed)) == ("renamed", told(several))
assert renamed.creation_time == several.creation_time
more = terms("DE", "EN-US", {"Apfel": "pome", "Birne": "pear"})
changed = translator.update_multilingual_glossary_dictionary(several, more)
assert (changed.name, told(changed)) == ("renamed", [("EN", "DE", 1), ("DE", "EN", 3)])
entries_of = lambda *pair: deepl.util.convert_tsv_to_dict(lines(*pair))
assert entries_of("DE", "EN") == {"Hallo": "Hello", "Apfel": "pome", "Birne": "pear"}
assert ask("Birne", "DE", "EN-US", glossary=several) == "BIRNE [pear]"
translator.update_multilingual_glossary_dictionary_from_csv(several, "EN", "DE", 'Plum,"Pflaume"')
assert entries_of("EN", "DE") == {"Hello": "Hallo", "Plum": "Pflaume"}
replaced = translator.replace_multilingual_glossary_dictionary(several, terms("EN", "DE", {"Pear": "Birne"}))
assert (replaced.source_lang, replaced.target_lang, replaced.entry_count) == ("EN", "DE", 1)
assert entries_of("EN", "DE") == {"Pear": "Birne"}
replaced = translator.replace_multilingual_glossary_dictionary_from_csv(several, "EN", "DE", "a,b\nc,d")
assert replaced.entry_count == 2 and entries_of("EN", "DE") == {"a": "b", "c": "d"}
translator.delete_multilingual_glossary_dictionary(several, source_lang="EN", target_lang="DE")
refused(deepl.GlossaryNotFoundException, lambda: lines("EN", "DE"))
delete = translator.delete_multilingual_glossary_dictionary
refused(deepl.GlossaryNotFoundException, lambda: delete(several, source_lang="EN", target_lang="DE"))
delete(several, replaced.__class__("DE", "EN", 3))
assert told(translator.get_multilingual_glossary(several.glossary_id)) == [], "a glossary may be empty"
assert several.glossary_id in [one.glossary_id for one in translator.list_glossaries()]
refused(deepl.DeepLException, lambda: ask("Birne", "DE", "EN-US", glossary=several.glossary_id), "these languages")
created = translator.replace_multilingual_glossary_dictionary(several, both[1])
assert created.entry_count == 2 and ask("Apfel", "DE", "EN-US", glossary=several.glossary_id) == "APFEL [fruit]"
refused(
    deepl.DeepLException,
    lambda: translator.update_multilingual_glossary_dictionary(several, terms("EN", "XX", {"a": "b"})),
)
refused(deepl.GlossaryNotFoundException, lambda: translator.update_multilingual_glossary_name("x", "renamed"))
refused(deepl.DeepLException, lambda: translator.create_multilingual_glossary("other", [terms("EN", "XX", {"a": "b"})]))
translator.delete_multilingual_glossary(several)
refused(deepl.GlossaryNotFoundException, lambda: translator.get_multilingual_glossary(several.glossary_id))

# Translation memories, which the server is started with.
memories = translator.list_translation_memories()
told = lambda it: (it.translation_memory_id, it.name, it.source_language, it.target_languages, it.segment_count)
assert [told(one) for one in memories] == [("de-en", "letters.tmx", "de", ["en"], 3)]
assert told(translator.get_translation_memory(memories[0])) == told(memories[0])
assert translator.list_translation_memories(page=0, page_size=25) and not translator.list_translation_memories(page=1)
refused(deepl.DeepLException, lambda: translator.list_translation_memories(page_size=26), "page_size")
refused(deepl.DeepLException, lambda: translator.get_translation_memory("fr-en"), "one of de-en")
for threshold in [None, 0, 100]:
    one = ask("eins", "DE", "EN-US", translation_memory=memories[0], translation_memory_threshold=threshold)
    assert one == "EINS", one
refused(deepl.DeepLException, lambda: ask("a", "EN", "DE", translation_memory="de-en"), "translation_memory_id", "these languages")
handle = translator.translate_document_upload(
    "eins", source_lang="DE", target_lang="EN-US", filename="a.txt", translation_memory="de-en",
    translation_memory_threshold=75,
)
assert translator.translate_document_wait_until_done(handle).done

# Documents.
with tempfile.TemporaryDirectory() as folder:
    source, target = pathlib.Path(folder, "brief.md"), pathlib.Path(folder, "letter.md")
    source.write_text("# Apfel\n\nGröße & mehr\n")
    status = translator.translate_document_from_filepath(
        source, target, source_lang="DE", target_lang="EN-US", glossary=glossary
    )
    assert status.done and status.billed_characters == len(source.read_text())
    assert target.read_text() == "# APFEL [apple]\n\nGRÖSSE & MEHR\n", target.read_text()
    # Another format, a format that there is not, and the language that it has already.
    other = pathlib.Path(folder, "letter.txt")
    refused(deepl.DeepLException, lambda: translator.translate_document_from_filepath(source, other, target_lang="EN-US"), "output_format")
    invalid = pathlib.Path(folder, "document.invalid")
    invalid.write_text("a")
    refused(
        deepl.DeepLException,
        lambda: translator.translate_document_from_filepath(invalid, other.with_suffix(".invalid"), target_lang="EN-US"),
        "file extension",
    )
    refused(
        deepl.DocumentTranslationException,
        lambda: translator.translate_document_from_filepath(source, target, source_lang="DE", target_lang="DE"),
        "Source and target language", "ID: ", "key: ",
    )
handle = translator.translate_document_upload("eins", source_lang="DE", target_lang="EN-US", filename="a.txt")
status = translator.translate_document_wait_until_done(handle)
assert status.ok and status.done
out = io.BytesIO()
translator.translate_document_download(handle, out)
assert out.getvalue() == b"EINS"
refused(deepl.DeepLException, lambda: translator.translate_document_get_status(deepl.DocumentHandle("12AB" * 8, "CD34" * 16)), "Not found")

# The command line of the package.
sys.argv = ["deepl", "--auth-key", "key", "--server-url", address, "text", "--to", "EN-US", "--from", "DE", "eins"]
os.environ.pop("DEEPL_AUTH_KEY", None)
import runpy

printed, sys.stdout = sys.stdout, io.StringIO()
try:
    runpy.run_module("deepl", run_name="__main__")
except SystemExit as end:
    assert not end.code
printed, sys.stdout = sys.stdout.getvalue(), printed
assert printed == "EINS\n", printed
