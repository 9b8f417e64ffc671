"""Ray and Spark on this machine, with two workers of which one is killed. `pip install "ray[data]" pyspark` has these tests run."""

import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path
from shutil import which

import pytest

EXAMPLE = Path(__file__).parents[3] / "examples/engines/translate.py"
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
