"""Training, scoring and converting, and the pictures of a notebook."""

import array
import json
import os
import random
import signal
import subprocess
import sys
import time
from contextlib import contextmanager
from pathlib import Path

import pytest

import burnformer
from burnformer import BurnformerError, Run, Translator
from burnformer.commands import _toml

WORDS = dict(zip("eins zwei drei vier fünf sechs sieben acht neun null".split(), "one two three four five six seven eight nine zero".split()))
NOTEBOOK = Path(__file__).parents[3] / "examples/notebook.ipynb"


def write_pairs(path, count, seed):
    draw = random.Random(seed)
    sources = [" ".join(draw.choices(list(WORDS), k=draw.randint(2, 6))) for _ in range(count)]
    lines = [f"{source}\t{' '.join(WORDS[word] for word in source.split())}\n" for source in sources]
    path.write_text("".join(lines), encoding="utf-8")
    return path


def arguments(folder, **training):
    """A model that learns number words in seconds."""
    training = {"budget": 512, "max_minutes": 0, "log_every": 10, **training}
    return {
        "text": write_pairs(folder / "train.tsv", 2000, 1),
        "valid": write_pairs(folder / "valid.tsv", 20, 2),
        "out": folder / "run",
        "model": {"d_model": 32, "heads": 2, "d_ff": 64, "encoder_layers": 1, "decoder_layers": 1, "dropout": 0.0},
        "tokenizer": {"train.vocab_size": 320, "train.allow_smaller": True},
        "validation": {"every": 40},
        "checkpoints": {"every": 20},
        "data": {"cache": str(folder / "cache")},
        "training": training,
    }


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("train")
    rows = []
    run = burnformer.train(callback=rows.append, **arguments(folder, max_updates=80))
    return run, rows


def test_a_run_has_its_metrics_and_its_model(run):
    run, rows = run
    assert run.metrics == rows
    losses = [row["loss"] for row in rows if row["kind"] == "train"]
    assert len(losses) >= 8 and losses[-1] < losses[0]
    assert run.model.name in ("best", "last")
    assert run.translator().translate("eins zwei").alternatives
    assert Run(run.folder) == run and "<svg" in run._repr_html_()


def test_a_model_is_scored_distilled_quantised_and_converted(run, tmp_path):
    model = run[0].model
    scores = burnformer.evaluate(model, source=["eins", "zwei"], reference=["one", "two"], metrics=["bleu", "chrf"])
    assert list(scores) == ["bleu", "chrf"] and "signature" in scores["bleu"]
    same = burnformer.evaluate(hypothesis=["one two three four"], reference=["one two three four"])
    assert same["bleu"]["score"] == 100
    with pytest.warns(UserWarning, match="no text has four"):
        short = burnformer.evaluate(hypothesis=["Good morning!"], reference=["Good morning!"])
    assert short["bleu"]["score"] == 0
    pairs = burnformer.distill(model, ["eins zwei", "drei"], tmp_path / "pairs.tsv")
    assert all("\t" in line for line in pairs.read_text().splitlines())
    small = burnformer.quantize(model, tmp_path / "small")
    other = burnformer.export_model("de-en", tmp_path / "other", "ctranslate2")
    again = burnformer.import_model(other, tmp_path / "again")
    assert Translator(small).translate("eins").alternatives
    assert Translator(again).translate("Wo ist der Bahnhof?").text == "Where is the station?"


def test_an_exception_of_the_callback_ends_a_run_that_goes_on_later(tmp_path):
    seen = []

    def stop(row):
        seen.append(row)
        if len(seen) == 2:
            raise KeyError("enough")

    given = arguments(tmp_path, max_updates=200)
    with pytest.raises(KeyError, match="enough"):
        burnformer.train(callback=stop, **given)
    time.sleep(1)
    assert list((tmp_path / "run/checkpoints").iterdir())
    given["training"]["max_updates"] = 60
    rows = []
    burnformer.train(resume=True, callback=rows.append, **given)
    steps = [row["step"] for row in rows if row["kind"] == "train"]
    assert steps == sorted(steps) and steps[-1] == 60


INTERRUPTED = """
import json, sys
import burnformer
given = json.loads(sys.argv[1])
try:
    burnformer.train(callback=lambda row: print("row", flush=True), **given)
except KeyboardInterrupt:
    print("interrupted", flush=True)
"""


def test_a_model_with_context_reads_the_sentences_before(tmp_path):
    settings = arguments(tmp_path, max_updates=4)
    settings["data"]["context"] = {"source": 1}
    translator = Translator(burnformer.train(**settings).model)
    [_, second] = translator.translate(["zwei drei", "eins"], context=[])
    behind = translator.translate("eins", context=["zwei drei"])
    assert (behind.text, behind.score) == (second.text, second.score)
    assert behind.score != translator.translate("eins").score
    with pytest.raises(TypeError):
        translator.translate("eins", context=[1])


def test_a_model_of_sentences_takes_no_context(translator):
    with pytest.raises(BurnformerError, match="trained on sentences alone; leave context out"):
        translator.translate("Guten Morgen!", context=["Hallo!"])


@contextmanager
def training(folder, **settings):
    """A Python process that trains, of which the first row of metrics was read."""
    given = json.dumps({**arguments(folder, max_updates=20_000), **settings}, default=str)
    command = [sys.executable, "-c", INTERRUPTED, given]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as child:
        assert child.stdout and child.stdout.readline() == "row\n"
        yield child


def test_an_interrupt_ends_a_training_within_a_second_and_leaves_a_checkpoint(tmp_path):
    with training(tmp_path) as child:
        asked = time.monotonic()
        child.send_signal(signal.SIGINT)
        while (line := child.stdout.readline()) == "row\n":
            pass
        took = time.monotonic() - asked
    assert line == "interrupted\n"
    assert took < 1.0, f"{took:.2f} s"
    time.sleep(1)
    assert list((tmp_path / "run/checkpoints").iterdir())


@pytest.mark.skipif(not hasattr(os, "fork"), reason="this system does not tell a process that its parent is gone")
def test_a_training_ends_with_a_checkpoint_when_its_python_is_killed(tmp_path):
    with training(tmp_path, checkpoints={"every": 1_000_000}) as child:
        child.kill()
    deadline = time.monotonic() + 20
    while not list((tmp_path / "run/checkpoints").glob("step-*")):
        assert time.monotonic() < deadline, "the training goes on"
        time.sleep(0.1)
    time.sleep(1)
    written = Run(tmp_path / "run").metrics
    time.sleep(1)
    assert Run(tmp_path / "run").metrics == written


def test_files_of_the_current_folder_are_not_imported(tmp_path, monkeypatch):
    (tmp_path / "json.py").write_text("raise SystemExit('the wrong module')")
    monkeypatch.chdir(tmp_path)
    scores = burnformer.evaluate(hypothesis=["one two three four"], reference=["one two three four"])
    assert scores["bleu"]["score"] == 100


def test_settings_are_toml():
    given = {"a b": [1e-9, 0.5, True, "ü\"\n\x7f"], "path": Path("x")}
    assert _toml(given) == '{"a b" = [1e-09, 0.5, true, "ü\\"\\n\\u007f"], "path" = "x"}'
    assert [_toml(float(number)) for number in ("inf", "-inf", "nan")] == ["inf", "-inf", "nan"]


@pytest.mark.parametrize(
    "call, kind, words",
    [
        (lambda out: burnformer.train(out=out, training={"max_update": 1}), BurnformerError, "max_updates"),
        (lambda out: burnformer.train(out=out, training={"max_minutes": float("nan")}), BurnformerError, "max_minutes is NaN\nhint: it must be"),
        (lambda out: burnformer.train(out=out, training={"max_minutes": None}), TypeError, "leave it out"),
        (lambda out: burnformer.train(out=out, training=1), TypeError, "give a dict of the section's keys"),
        (lambda out: burnformer.train("no/such.toml", out=out), BurnformerError, "no/such.toml"),
        (lambda out: burnformer.evaluate("de-en", source=["x"]), BurnformerError, "no reference"),
        (lambda out: burnformer.quantize("no/such/folder", out), BurnformerError, "no/such/folder: no such folder"),
        (lambda out: burnformer.quantize("de-en", out), BurnformerError, "quantised already"),
        (lambda out: burnformer.import_model("no-such", out), BurnformerError, "no-such"),
        (lambda out: burnformer.export_model("de-en", out, "onnx"), BurnformerError, "onnx"),
    ],
)
def test_a_mistake_has_the_program_s_sentence(tmp_path, call, kind, words):
    with pytest.raises(kind) as caught:
        call(tmp_path / "out")
    assert words in str(caught.value) and not str(caught.value).startswith("error")


def test_attention_is_a_buffer_whose_rows_sum_to_one(translator):
    found = translator.attention("Wo ist der Bahnhof?")
    assert found.target == "Where is the station?" and found.alignment
    assert set(found.parts) == {"encoder", "decoder", "cross"}
    for part in found.parts.values():
        layers, heads, queries, keys = part.weights.shape
        assert (queries, keys) == (len(part.queries), len(part.keys)) and part.weights.format == "f"
        flat = array.array("f", part.weights.tobytes())
        rows = [sum(flat[start : start + keys]) for start in range(0, len(flat), keys)]
        assert len(rows) == layers * heads * queries and rows == pytest.approx([1.0] * len(rows), abs=1e-4)
    assert found._repr_html_().startswith("<iframe")
    assert translator.attention("Wo ist der Bahnhof?", "Here!").target == "Here!"


def test_a_name_of_the_hub_is_fetched_and_its_errors_are_sentences(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_ENDPOINT", "http://127.0.0.1:9")
    monkeypatch.setenv("HF_HOME", str(tmp_path))
    with pytest.raises(BurnformerError, match="no folder owner/name, and as a name of the hub: .* cannot be reached"):
        Translator("owner/name")
    with pytest.raises(BurnformerError, match="OWNER/NAME"):
        Translator("hf:name")


def test_the_notebook_runs(only_python, tmp_path):
    cells = json.loads(NOTEBOOK.read_text(encoding="utf-8"))["cells"]
    code = "\n".join("".join(cell["source"]) for cell in cells if cell["cell_type"] == "code")
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
