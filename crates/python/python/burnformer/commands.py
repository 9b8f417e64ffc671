"""Training, scoring and converting: commands of the program as functions.

Each runs the program in a process of its own. So its memory is free again afterwards, Python goes on meanwhile in other threads,
and an interrupted training leaves the checkpoint that the program leaves.
"""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
import time
import warnings
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from os import PathLike, fspath
from pathlib import Path
from typing import Any, Literal, Union

from ._burnformer import PROGRAM, BurnformerError, Translator, model_name

Name = Union[str, PathLike[str]]
Texts = Union[Name, Sequence[Name]]
Lines = Union[Name, Iterable[str]]
Callback = Callable[[dict[str, Any]], object]

PARENT = "BURNFORMER_PARENT"
"""The environment variable with the id of the process that waits for the program, if one does."""

PATIENCE = 0.7
"""The seconds for which an interrupt waits for the program, which ends in good order, if need be after that."""


@dataclass(frozen=True)
class Run:
    """A training run: its folder, and what is in it."""

    folder: Path

    @property
    def metrics(self) -> list[dict[str, Any]]:
        """The rows of `metrics.jsonl`: losses, rates and speeds (`kind` is `train`) and scores (`kind` is `valid`)."""
        return list(_rows(self.folder, 0)[0])

    @property
    def model(self) -> Path:
        """The model directory of the best model, or of the last before there is a best one."""
        best = self.folder / "best"
        return best if best.exists() else self.folder / "last"

    def translator(self, **arguments: Any) -> Translator:
        """The model as a translator."""
        return Translator(self.model, **arguments)

    def _repr_html_(self) -> str:
        with tempfile.TemporaryDirectory() as folder:
            picture = Path(folder) / "curves.svg"
            _run(["plot", fspath(self.folder), "--output", fspath(picture)])
            return picture.read_text(encoding="utf-8")


def train(
    config: Name | None = None,
    *,
    preset: str | None = None,
    text: Texts = (),
    valid: Texts = (),
    test: Texts = (),
    start: Name | None = None,
    out: Name,
    device: str = "auto",
    resume: bool = False,
    callback: Callback | None = None,
    **settings: Mapping[str, Any],
) -> Run:
    """Trains a model in the folder `out`.

    `config` is a file of settings over those of the `preset`; `settings` come last, by section: `training={"max_updates": 100}`.
    `text`, `valid` and `test` are two files each, which are translations of each other line by line, or one TSV file; without any,
    the German-English text inside the package is learned. `start` is a model to fine-tune. `callback` is called with each new row
    of the metrics; an exception in it, such as Ctrl-C, ends the training, which `resume=True` continues.
    """
    args = ["train", "--out", fspath(out), "--device", device]
    args += [f"--config={fspath(config)}"] if config is not None else []
    args += [f"--preset={preset}"] if preset is not None else []
    args += ["--from", _model(start)] if start is not None else []
    args += ["--resume"] if resume else []
    for option, names in (("--train", text), ("--valid", valid), ("--test", test)):
        names = [names] if isinstance(names, (str, PathLike)) else names
        args += [option, *(str(fspath(name)) for name in names)] if names else []
    for section, keys in settings.items():
        if not isinstance(keys, Mapping):
            raise TypeError(f"{section}: give a dict of the section's keys, such as training={{'max_updates': 100}}")
        for key, value in keys.items():
            args += ["--set", f"{section}.{key}={_toml(value)}"]
    run = Run(Path(out))
    done = _rows(run.folder, 0)[1] if resume else 0

    def follow() -> None:
        nonlocal done
        rows, done = _rows(run.folder, done)
        for row in rows:
            if callback is not None:
                callback(row)

    _run(args, follow)
    follow()
    return run


def evaluate(
    model: Name | Sequence[Name] = (),
    *,
    source: Lines | None = None,
    hypothesis: Lines | None = None,
    reference: Lines | None = None,
    metrics: Sequence[str] = ("bleu",),
    beam_size: int | None = None,
    device: str = "auto",
) -> dict[str, dict[str, Any]]:
    """Scores the translations of `source` by a model, or those of `hypothesis`, against `reference`.

    Each text is a file, or an iterable of lines. The result has sacreBLEU's fields (`score`, `signature`, ...) for each of `metrics`:
    bleu, chrf, chrf++ or ter.
    """
    models = [model] if isinstance(model, (str, PathLike)) else model
    args = ["eval-bleu", "--json", "--width", "4", "--device", device]
    for name in models:
        args += ["--model", _model(name)]
    args += ["--beam", str(beam_size)] if beam_size is not None else []
    for metric in metrics:
        args += ["--metric", metric]
    with tempfile.TemporaryDirectory() as folder:
        for option, lines in (("source", source), ("hypothesis", hypothesis), ("reference", reference)):
            if lines is not None:
                args += [f"--{option}", _file(lines, Path(folder) / option)]
        found = json.loads(_run(args))
    scores = dict(zip(metrics, found if isinstance(found, list) else [found]))
    _warn_of_short_texts(scores)
    return scores


def _warn_of_short_texts(scores: Mapping[str, Mapping[str, Any]]) -> None:
    """Warns if BLEU is 0 because no text has four words, although words match."""
    bleu = scores.get("bleu")
    if bleu is not None and bleu["score"] == 0 and not bleu["verbose_score"].startswith("0.0/"):
        message = "BLEU counts four words in a row, and no text has four: give longer texts, or metrics=['chrf']"
        warnings.warn(message, stacklevel=3)


def distill(
    model: Name | Sequence[Name],
    source: Lines,
    out: Name,
    *,
    reference: Lines | None = None,
    n_best: int | None = None,
    beam_size: int | None = None,
    length_penalty: float | None = None,
    device: str = "auto",
) -> Path:
    """Writes `out`, a TSV file of the texts of `source` and their translations by a model, for a smaller one to learn from."""
    models = [model] if isinstance(model, (str, PathLike)) else model
    args = ["distill", "--out", fspath(out), "--device", device]
    for name in models:
        args += ["--model", _model(name)]
    for option, value in (("nbest", n_best), ("beam", beam_size), ("alpha", length_penalty)):
        args += [f"--{option}={value}"] if value is not None else []
    with tempfile.TemporaryDirectory() as folder:
        for option, lines in (("source", source), ("reference", reference)):
            if lines is not None:
                args += [f"--{option}", _file(lines, Path(folder) / option)]
        _run(args)
    return Path(out)


def quantize(model: Name, out: Name) -> Path:
    """Writes the model directory `out`, which is `model` in 8-bit integers."""
    _run(["quantize", "--model", _model(model), "--out", fspath(out)])
    return Path(out)


def import_model(source: Name, out: Name, *, format: str | None = None) -> Path:
    """Writes the model directory `out` of another system's model: a folder, a file, or a name such as `hf:OWNER/NAME`."""
    kind = [format] if format is not None else []
    _run(["import", *kind, fspath(source), "--out", fspath(out)])
    return Path(out)


def export_model(
    model: Name, out: Name, format: Literal["hugging-face", "ctranslate2", "ctranslate2-int8"]
) -> Path:
    """Writes the folder `out`, which is `model` in another system's format."""
    _run(["export", format, "--model", _model(model), "--out", fspath(out)])
    return Path(out)


def _toml(value: object) -> str:
    """`value` in TOML, which writes tables, infinite numbers and the character DEL in another way than JSON."""
    if isinstance(value, Mapping):
        return "{" + ", ".join(f"{_toml(str(key))} = {_toml(given)}" for key, given in value.items()) + "}"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(map(_toml, value)) + "]"
    if isinstance(value, float):
        return float.__repr__(value)
    if value is None:
        raise TypeError("a setting cannot be None: leave it out, and it has the value of the preset")
    return json.dumps(value, ensure_ascii=False, default=fspath).replace("\x7f", "\\u007f")


def _model(name: Name) -> str:
    return fspath(model_name(name))


def _file(lines: Lines, path: Path) -> str:
    """The file that `lines` name, or a new one with them."""
    if isinstance(lines, (str, PathLike)):
        return fspath(lines)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return fspath(path)


def _rows(folder: Path, start: int) -> tuple[Iterator[dict[str, Any]], int]:
    """The whole rows of the run's metrics from the byte `start` on, and where they end."""
    try:
        with open(folder / "metrics.jsonl", "rb") as file:
            file.seek(start)
            text = file.read()
    except FileNotFoundError:
        return iter(()), start
    text = text[: text.rfind(b"\n") + 1]
    return map(json.loads, text.splitlines()), start + len(text)


@contextmanager
def _interruptible(process: subprocess.Popen[bytes]) -> Iterator[None]:
    """Asks the process to end in good order if an exception comes."""
    try:
        yield
    except BaseException:
        process.send_signal(signal.SIGINT if sys.platform != "win32" else signal.SIGTERM)
        try:
            process.wait(PATIENCE)
        except subprocess.TimeoutExpired:
            pass
        raise


def _run(args: Sequence[str], follow: Callable[[], object] = lambda: None) -> str:
    """The output of the program. `follow` is called ten times a second until it has ended."""
    command = [*PROGRAM, "--quiet", *args]
    # A process that is killed cannot pass anything on: the program looks whether it is still there.
    environment = {**os.environ, PARENT: str(os.getpid())}
    with tempfile.TemporaryFile() as output, tempfile.TemporaryFile() as messages:
        # A session of its own: Ctrl-C reaches this process alone, and is passed on once.
        process = subprocess.Popen(
            command,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=messages,
            env=environment,
            start_new_session=True,
        )
        with _interruptible(process):
            while process.poll() is None:
                follow()
                time.sleep(0.02)
        output.seek(0)
        messages.seek(0)
        said = messages.read().decode("utf-8", "replace").strip()
        if process.returncode != 0:
            raise BurnformerError(said.removeprefix("error: ").split("\n\nUsage:")[0] or "the program was killed")
        if said:
            warnings.warn(said, stacklevel=3)
        return output.read().decode("utf-8")
