"""Ray and Spark on this machine, with two workers of which one is killed. `pip install "ray[data]" pyspark` has these tests run."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest

ROOT = Path(__file__).parents[3]
EXAMPLE = ROOT / "examples/engines/translate.py"
PAGE = ROOT / "docs/guide/how-to/shards.md"
ROWS = 10_000

KILLED = """
import os, signal, sys
from pathlib import Path
import translate

class Killed(translate.Translate):
    def __call__(self, rows):
        killed = Path(sys_argv[2] + ".killed")
        if rows["id"][0] >= 4000 and not killed.exists():
            killed.touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().__call__(rows)

sys_argv, translate.Translate = sys.argv, Killed
translate.main()
"""


@pytest.mark.parametrize("engine", ["ray", "spark"])
def test_a_killed_worker_loses_nothing(engine, tmp_path, translator, sentences):
    pytest.importorskip({"ray": "ray.data", "spark": "pyspark"}[engine], reason=f"{engine} is not installed")
    if engine == "spark" and which("java") is None:
        pytest.skip("there is no Java, which Spark needs")
    from pyarrow import Table, parquet

    texts = (sentences * (ROWS // len(sentences) + 1))[:ROWS]
    rows = Table.from_pydict({"id": range(ROWS), "de": texts})
    (tmp_path / "in").mkdir()
    for name, part in {"0": rows[:4096], "1": rows[4096:]}.items():
        parquet.write_table(part, tmp_path / f"in/{name}.parquet")
    script = tmp_path / "killed.py"
    script.write_text(KILLED)
    more = ["in", "out", "--column", "de", "--beam", "1", "--engine", engine]
    environment = os.environ | {"PYTHONPATH": str(EXAMPLE.parent)}
    run = subprocess.run([sys.executable, script, *more], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300)
    assert run.returncode == 0, run.stderr
    assert (tmp_path / "out.killed").exists(), "a worker was killed"
    found = parquet.read_table(tmp_path / "out").sort_by("id").to_pydict()
    assert found["id"] == list(range(ROWS)) and found["de"] == texts
    expected = translator.translate_iterable(texts, beam_size=1, chunk=2048)
    assert found["translation"] == [one.text for one in expected]


def commands_of_the_page() -> str:
    """The commands of the page's section, without the installation."""
    section = PAGE.read_text().split("## Ray, Spark, and Parquet")[1]
    block = section.split("```text\n")[1].split("```")[0]
    return "\n".join(line for line in block.splitlines() if not line.startswith("pip "))


def test_the_commands_of_the_page_keep_every_line_in_its_place(tmp_path, translator, sentences):
    pytest.importorskip("ray.data", reason="ray is not installed")
    from pyarrow import parquet

    ends_of_lines_elsewhere = ["\u2028", "\u2029", "\x85", "\r", "\x0c", "\x1c"]
    unusual = ["", "", " ", "\t", "\ufeffJa."] + [f"Ja.{end}Nein." for end in ends_of_lines_elsewhere]
    lines = [unusual[i // 3 % len(unusual)] if i % 3 == 0 else f"{i}: {sentences[i % len(sentences)]}" for i in range(5000)]
    # Two empty lines stand together, and the last line has no end.
    lines[1] = ""
    text = "\n".join(lines)
    (tmp_path / "input.de").write_text(text, newline="")
    (tmp_path / "examples").symlink_to(ROOT / "examples")
    environment = os.environ | {"PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}"}
    run = subprocess.run(
        ["bash", "-e", "-c", commands_of_the_page()], cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=300
    )
    assert run.returncode == 0, run.stderr
    found = parquet.read_table(tmp_path / "output").to_pydict()
    assert found["de"] == lines
    expected = translator.translate_iterable(lines, truncate=True, chunk=2048)
    assert found["translation"] == [one.text for one in expected]
    # The last command made the text again of the column.
    assert (tmp_path / "input.de").read_bytes().decode() == text + "\n"
