"""The results of the translator, which are those that the program prints."""

import io
import json
import os
import pickle
import subprocess
import sys
import typing
import zipfile
from pathlib import Path
from types import MappingProxyType

import pytest

import burnformer
from burnformer import BurnformerError, Translator

SCRIPT = Path(sys.executable).with_name("burnformer")
FORMATS = Path(__file__).parents[2] / "cli/tests/it/formats.json"


def test_one_text_gives_one_translation_and_several_a_list(translator):
    one = translator.translate("Wo ist der Bahnhof?")
    assert one.text == str(one) == "Where is the station?"
    assert one.score == one.alternatives[0].score < 0
    assert one.doubts == [] and 0.5 < one.confidence < 1
    assert len(one.alternatives) == 1 and one.alternatives[0].finish == "end-of-sentence"
    assert len(one.alternatives[0].tokens) == len(one.alternatives[0].log_probs)
    both = translator.translate(text for text in ["Wo ist der Bahnhof?", ""])
    assert [found.text for found in both] == [one.text, ""]
    assert translator.translate([]) == []
    assert translator.directions == []  # The model does not know them.


def test_a_callback_follows_translations_and_takes_nothing_back(translator):
    texts = ["Ich weiß nicht, ob er morgen kommen wird.", "Ich habe 12.345 Euro.", "", "Wo wohnst du?"]
    for beam_size in [1, 4]:
        reports = {index: [] for index in range(len(texts))}
        found = translator.translate(
            texts, beam_size=beam_size, callback=lambda index, text: reports[index].append(text)
        )
        assert found == translator.translate(texts, beam_size=beam_size)
        for index, settled in reports.items():
            assert all(later.startswith(text) for text, later in zip(settled, settled[1:]))
            assert (settled or [""])[-1] == found[index].text
        assert len(reports[1]) == 1  # A number is protected.
        assert len(reports[0]) > (5 if beam_size == 1 else 0)


def test_an_error_in_a_callback_ends_the_call(translator):
    def fail(index, text):
        raise KeyError(index)

    undisturbed = translator.translate("Wo wohnst du?")
    with pytest.raises(KeyError):
        translator.translate("Wo wohnst du?", callback=fail)
    again = lambda index, text: translator.translate("Wo?")
    with pytest.raises(RuntimeError, match="a callback cannot compute"):
        translator.translate("Wo wohnst du?", callback=again)
    assert translator.translate("Wo wohnst du?") == undisturbed


def test_the_types_name_every_end_of_a_translation(translator):
    memory = burnformer.Memory({"Guten Morgen!": "Morning!"})
    found = translator.translate(["…", "Guten Morgen!", "Guten Abend!"], memory=memory)
    found += translator.translate(["Guten Abend!"], max_length=1)
    finishes = [translation.alternatives[0].finish for translation in found]
    assert finishes == ["kept", "memory", "end-of-sentence", "limit"]
    assert sorted(finishes) == sorted(typing.get_args(typing.get_type_hints(burnformer.Alternative)["finish"]))


def test_a_memory_answers_what_it_has(translator, tmp_path):
    file = tmp_path / "mine.tsv"
    file.write_text("Wo ist der Bahnhof?\tWhither the trains?\n")
    known = {"Wo ist der Bahnhof?": "Whither the trains?"}
    for memory in [burnformer.Memory(file), burnformer.Memory([file]), burnformer.Memory(known)]:
        assert len(memory) == 1
        both = translator.translate(["Wo  ist der Bahnhof?", "Guten Morgen!"], memory=memory)
        assert both[0].text == "Whither the trains?"
        assert [found.alternatives[0].finish for found in both] == ["memory", "end-of-sentence"]
        text = translator.translate_document("Guten Morgen! Wo ist der Bahnhof?", memory=memory)
        assert text.endswith(" Whither the trains?")
        near = memory.nearest("Wo ist der große Bahnhof?")
        assert near == ("Wo ist der Bahnhof?", "Whither the trains?", pytest.approx(5 / 6))
    with pytest.raises(TypeError, match="memory: give a burnformer.Memory"):
        translator.translate("Ja.", memory=str(file))
    with pytest.raises(BurnformerError, match="missing.tsv"):
        burnformer.Memory(tmp_path / "missing.tsv")


def test_five_hundred_translations_equal_the_program_s(translator, sentences):
    program = os.environ.get("BURNFORMER")
    assert program, "name the program in BURNFORMER, as `cargo xtask wheel --test` does"
    command = [program, "--quiet", "translate", "--nbest", "2"]
    text = "\n".join(sentences) + "\n"
    printed = subprocess.run(command, input=text, capture_output=True, text=True, check=True)
    found = translator.translate(sentences, n_best=2)
    lines = [
        f"{number} ||| {one.text} ||| {one.score:.4f}"
        for number, translation in enumerate(found)
        for one in translation.alternatives
    ]
    assert len(set(sentences)) == 500
    assert printed.stdout.splitlines() == lines


def test_a_stream_is_in_order_lazy_and_equal_to_a_list(translator, sentences):
    read = 0

    def texts():
        nonlocal read
        for text in sentences:
            read += 1
            yield text

    stream = translator.translate_iterable(texts(), chunk=16)
    first = next(stream)
    assert read == 16
    assert [first, *stream] == translator.translate(sentences)
    assert next(stream, None) is None


def test_what_precedes_a_failure_of_a_stream_arrives_first(translator):
    def texts():
        yield "Guten Morgen!"
        raise OSError("the disk is gone")

    stream = translator.translate_iterable(texts())
    assert next(stream).text
    with pytest.raises(OSError, match="the disk is gone"):
        next(stream)
    assert next(stream, None) is None
    stream = translator.translate_iterable(["Guten Morgen!", "Ja. " * 2000, "Nein."])
    assert next(stream).text
    with pytest.raises(BurnformerError, match="sentence 2: the source has .* tokens"):
        next(stream)
    assert next(stream, None) is None


def test_nothing_is_left_out_silently_after_an_interruption(translator):
    def texts(error):
        yield "Guten Morgen!"
        raise error

    stream = translator.translate_iterable(texts(KeyboardInterrupt()))
    with pytest.raises(KeyboardInterrupt):
        next(stream)
    assert next(stream, None) is None
    stream = translator.translate_iterable(["Guten Morgen!", "\ud800", "Nein."], chunk=1)
    assert next(stream).text
    with pytest.raises(UnicodeEncodeError):
        next(stream)
    assert next(stream, None) is None


class Number:
    """A number like those of NumPy."""

    def __init__(self, value):
        self.value = value

    def __index__(self):
        return self.value


def test_any_mapping_sequence_or_number_is_an_option(translator):
    text = "Der Mann liest jeden Tag ein Buch."
    settings = MappingProxyType({"temperature": 0.5, "seed": 3})
    drawn = translator.translate(text, sampling=settings, n_best=Number(2), suppress=range(7, 9))
    assert drawn == translator.translate(text, sampling=dict(settings), n_best=2, suppress=[7, 8])
    assert len(translator.translate(text, n_best=9, sampling=None).alternatives) == 9


def test_options_are_those_of_the_search(translator):
    text = "Der Mann liest jeden Tag ein Buch."
    assert len(translator.translate(text, n_best=7).alternatives) == 7
    assert len(translator.translate(text, max_length=3).alternatives[0].tokens) == 3
    draws = {translator.translate(text, sampling={"seed": seed}).text for seed in range(8)}
    assert len(draws) > 1
    again = [translator.translate(text, sampling={"seed": 3}, n_best=4) for _ in range(2)]
    assert again[0] == again[1]
    for penalty, value in [("none", None), (0.0, None), ({"gnmt": 0.0}, None)]:
        found = translator.translate(text, length_penalty=penalty).alternatives[0]
        assert found.score == pytest.approx(sum(found.log_probs), abs=1e-4), (penalty, value)
    assert translator.translate(text, prefix="Every day").text.startswith("Every day")
    cut = translator.translate("Ja. " * 2000, truncate=True, max_length=5)
    assert len(cut.alternatives[0].tokens) <= 5
    assert "automobile" in translator.translate("Das Auto ist rot.", glossary={"Auto": "automobile"}).text


def test_an_alignment_counts_characters(translator):
    source = "😀 Größe: das Auto ist rot."
    found = translator.translate(source, alignment=True)
    assert found.alignment
    for (begin, end), (to, until) in found.alignment:
        assert 0 <= begin <= end <= len(source) and 0 <= to <= until <= len(found.text)
    assert found.alignment[-1][0][1] == len(source)
    assert translator.translate(source).alignment is None


def test_a_document_keeps_its_markup(translator):
    page = translator.translate_document("<p id=x>Guten <b>Morgen</b>!</p>\n<hr>", "html", language="de")
    assert page.startswith("<p id=x>") and page.endswith("</p>\n<hr>") and "<b>" in page
    assert translator.translate_document("") == ""
    assert translator.translate_document("Guten Morgen!".encode()) == b"Good morning!"


def test_a_file_of_each_format_is_that_of_the_program(translator, tmp_path):
    formats = json.loads(FORMATS.read_text(encoding="utf-8"))
    with pytest.raises(BurnformerError) as refused:
        translator.translate_document("x", "quux")
    known = str(refused.value).rpartition(" is one of ")[2].split(", ")
    office = "docx docm dotx dotm pptx pptm potx ppsx xlsx xlsm xltx odt odp ods odg ott otp ots epub"
    assert set(formats) == set(known) - set(office.split())
    for extension, (name, text) in formats.items():
        source, target = tmp_path / f"in.{extension}", tmp_path / f"out.{extension}"
        source.write_bytes(text.encode())
        command = [SCRIPT, "--quiet", "translate", "--format", name, "--input", source, "--output", target]
        subprocess.run(command, check=True)
        expected = target.read_bytes()
        assert b"Good morning!" in expected, extension
        assert translator.translate_document(text.encode(), extension) == expected, extension
        assert translator.translate_document(text, name) == expected.decode(), extension


def test_a_file_of_an_office_program_is_bytes(translator):
    """Every format that the program reads is read here, and a broken file says what to do."""
    content = (
        '<office:document-content xmlns:office="o" xmlns:text="t"><office:body>'
        "<text:p>Guten Morgen!</text:p></office:body></office:document-content>"
    )
    odt = io.BytesIO()
    with zipfile.ZipFile(odt, "w") as archive:
        archive.writestr("mimetype", "application/vnd.oasis.opendocument.text")
        archive.writestr("content.xml", content)
    translated = translator.translate_document(odt.getvalue(), "odt")
    with zipfile.ZipFile(io.BytesIO(translated)) as archive:
        assert archive.read("content.xml").decode() == content.replace("Guten Morgen!", "Good morning!")
    with pytest.raises(BurnformerError, match="no whole archive"):
        translator.translate_document(b"no archive", "docx")
    with pytest.raises(BurnformerError, match="not UTF-8"):
        translator.translate_document(b"\xe4", "txt")


def test_scores_are_those_of_the_search(translator):
    source = "Wo ist der Bahnhof?"
    found = translator.translate(source)
    score = translator.score(source, found.text)
    assert score.score == pytest.approx(found.score, abs=2e-2)
    assert score.log_prob == pytest.approx(sum(score.log_probs), abs=1e-5) and score.perplexity > 1
    worse = translator.score([source] * 300, ["A dog sleeps."] * 300)
    assert len(worse) == 300 and worse[0].log_prob < score.log_prob


def test_a_language_is_detected():
    german = burnformer.detect("Der alte Mann wohnt am Meer und fischt jeden Tag.")
    assert german and german.language == "de" and 0 < german.confidence <= 1
    short = burnformer.detect("Good morning!", among=["de", "en"])
    assert short and short.language == "en"
    assert burnformer.detect("12345 !?") is None


def test_a_folder_is_a_model_too_and_several_are_an_ensemble(translator):
    folder = translator.__reduce__()[1][0][0]
    assert str(folder) == "de-en"
    both = Translator(["de-en", "de-en"])
    text = "Das Auto ist rot."
    assert both.translate(text).text == translator.translate(text).text


def test_translations_and_translators_are_pickled(translator):
    found = translator.translate("Das Auto ist rot.", alignment=True)
    assert pickle.loads(pickle.dumps(found)) == found
    again = pickle.loads(pickle.dumps(translator))
    assert again.translate("Das Auto ist rot.", alignment=True) == found


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda t: t.translate("x", beam=3), TypeError, "no keyword \"beam\"; did you mean \"beam_size\"? there are prefix, context, alignment, callback, beam_size"),
        (lambda t: t.translate("x", num_beams=3), TypeError, "did you mean \"beam_size\"?"),
        (lambda t: t.translate("x", lenght_penalty=1), TypeError, "did you mean \"length_penalty\"?"),
        (lambda t: t.score("x", "y", num_return_sequences=2), TypeError, "no keyword \"num_return_sequences\"; there are "),
        (lambda t: t.translate("x", beam_size="3"), TypeError, "beam_size: invalid type"),
        (lambda t: t.translate("x", beam_size=0), BurnformerError, "beam_size = 0: between 1 and 1000"),
        (lambda t: t.translate("x", beam_size=-1), TypeError, "beam_size: invalid value"),
        (lambda t: t.translate("x", beam_size=10**30), BurnformerError, "out of range"),
        (lambda t: t.translate("x", length_penalty=float("nan")), BurnformerError, "not a finite number"),
        (lambda t: t.translate("x", batch_size=0), BurnformerError, "max_sentences = 0"),
        (lambda t: t.translate("x", batch_size=1.5), TypeError, "batch_size: "),
        (lambda t: t.translate("x", sampling={"heat": 1}), TypeError, "sampling: unknown field `heat`"),
        (lambda t: t.translate("x", target_language="fr"), BurnformerError, "target language"),
        (lambda t: t.translate_iterable("ab"), TypeError, "an iterable of texts"),
        (lambda t: t.translate(3), TypeError, "a text was expected, not int; give a str"),
        (lambda t: t.translate(None), TypeError, "a text was expected, not NoneType; give a str"),
        (lambda t: t.translate(b"Haus"), TypeError, "not bytes; decode it first"),
        (lambda t: t.translate(["x", 3]), TypeError, "among the texts: a text was expected, not int"),
        (lambda t: t.translate(["x", b"y"]), TypeError, "not bytes; decode it first"),
        (lambda t: t.translate("x", prefix=["a", "b"]), BurnformerError, "1 sources but 2 prefixes"),
        (lambda t: t.translate("Ja. " * 2000), BurnformerError, "sentence 1: the source has"),
        (lambda t: t.translate("\ud800"), UnicodeEncodeError, "surrogates"),
        (lambda t: t.translate("x", glossary="no/such.tsv"), BurnformerError, "no/such.tsv"),
        (lambda t: t.translate_document("x", "quux"), BurnformerError, "no document format `quux`"),
        (lambda t: t.translate_document("x", n_best=2), TypeError, "no keyword \"n_best\""),
        (lambda t: t.score("x", ["y"]), TypeError, "give two texts, or two lists"),
        (lambda t: t.score(["x", "z"], ["y"]), BurnformerError, "2 sources but 1 targets"),
        (lambda t: Translator("no/such/folder"), BurnformerError, "no/such/folder: no such folder"),
        (lambda t: Translator("fr-en"), BurnformerError, "fr-en: no such folder and no model of this name; there are de-en"),
        (lambda t: Translator("embedded:de-fr"), BurnformerError, "no model \"de-fr\""),
        (lambda t: Translator("de-en", device="gpu"), BurnformerError, "`gpu` is not a device"),
        (lambda t: Translator("de-en", compute="int4"), BurnformerError, "compute type `int4`"),
        (lambda t: Translator([]), BurnformerError, "at least one model"),
        (lambda t: Translator(3), TypeError, "Models"),
    ],
)
def test_a_mistake_is_an_exception_that_says_what_to_do(translator, call, kind, words):
    with pytest.raises(kind) as caught:
        call(translator)
    assert words in str(caught.value)


def test_a_damaged_model_names_its_file(tmp_path):
    (tmp_path / "manifest.json").write_text("{")
    with pytest.raises(BurnformerError, match="manifest.json"):
        Translator(tmp_path)


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"prefix": "Well,"},
        {"glossary": {"Haus": "building"}},
        {"memory": burnformer.Memory({"Ein anderer Satz.": "Another sentence."})},
        {"n_best": 3},
        {"sampling": True},
        {"beam_size": 1},
        {"max_length": 40},
    ],
    ids=lambda options: "".join(options) or "none",
)
def test_what_a_sentence_must_keep_it_keeps_with_every_option(translator, options):
    """The table of `crates/cli/tests/it/crossing.rs`, at this door."""
    kept = {
        "Hallo {name}, du hast %d Nachrichten.": ["{name}", "%d"],
        "Das ist ein <b>kleines</b> Haus.": ["<b>", "</b>"],
        "Ich habe 1.234,5 Euro und 17 Hunde.": ["1,234.5", "17"],
        "Schreib an tom@example.org.": ["tom@example.org"],
        "HALLO {name}, DU HAST %d NACHRICHTEN.": ["{name}", "%d"],
        "Das Haus (das alte) ist klein.": ["(", ")"],
        "2026 - 2025 = 1": ["2026", "2025"],
    }
    options = dict(options)
    prefix = options.pop("prefix", None)
    if prefix:
        options["prefix"] = [prefix] * len(kept)
    for source, found in zip(kept, translator.translate(list(kept), **options)):
        for alternative in found.alternatives:
            for part in kept[source]:
                assert alternative.text.count(part) == 1, (source, alternative.text)
