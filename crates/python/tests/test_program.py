"""The program in the wheel."""

import re
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import burnformer

SCRIPT = Path(sys.executable).with_name("burnformer")
PAGES = [Path(__file__).parents[1] / "README.md", Path(__file__).parents[3] / "docs/guide/how-to/python.md"]


@pytest.mark.parametrize("command", [[str(SCRIPT)], [sys.executable, "-m", "burnformer"]])
def test_the_program_translates(command):
    run = subprocess.run([*command, "translate"], input="Wo ist der Bahnhof?\n", capture_output=True, text=True)
    assert (run.returncode, run.stdout) == (0, "Where is the station?\n"), run.stderr
    version = subprocess.run([*command, "--version"], capture_output=True, text=True, check=True)
    assert version.stdout == f"burnformer {burnformer.__version__}\n"


@pytest.mark.parametrize("page", PAGES)
def test_the_first_lines_of_the_pages_run_with_nothing_but_python(only_python, tmp_path, page):
    code = re.findall(r"```python\n(.*?)```", page.read_text(encoding="utf-8"), re.DOTALL)[0]
    run = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, timeout=60)
    assert (run.returncode, run.stdout.splitlines()[0]) == (0, "Where is the station?"), run.stderr


def test_the_program_answers_at_once(only_python):
    took = []
    for _ in range(5):
        begun = time.monotonic()
        subprocess.run(["burnformer", "translate"], input="Guten Morgen!\n", capture_output=True, text=True, check=True)
        took.append(time.monotonic() - begun)
    assert min(took) < 0.3, took


def test_exit_codes_are_the_program_s():
    def code(*args: str) -> tuple[int, str]:
        run = subprocess.run([SCRIPT, *args], input="", capture_output=True, text=True)
        return run.returncode, run.stderr

    assert code("translate", "--beam", "0")[0] == 2
    status, message = code("translate", "--model", "no/such")
    assert status == 1 and message.startswith("error: no/such: no such folder"), message
    assert "Usage: burnformer" in code("frobnicate")[1]
    assert code("score", "--model", "embedded:de-en", "--source", "no/such.tsv")[0] == 1


def test_the_program_reads_names_that_are_not_utf_8(tmp_path):
    name = bytes(tmp_path) + b"/\xff.txt"
    Path(name.decode("utf-8", "surrogateescape")).write_text("Guten Morgen!\n")
    run = subprocess.run([SCRIPT, b"translate", b"--input", name], capture_output=True)
    assert run.returncode == 0 and run.stdout.strip(), run.stderr


def test_a_reader_that_leaves_ends_the_program_without_a_word():
    line = f"yes 'Guten Morgen!' | head -5000 | {SCRIPT} --quiet translate | head -1"
    run = subprocess.run(["sh", "-c", line], capture_output=True, text=True, timeout=120)
    assert run.stderr == "" and run.stdout


@pytest.mark.skipif(shutil.which("sleep") is None, reason="no sleep here")
def test_an_interrupt_ends_the_program_at_once():
    with subprocess.Popen([SCRIPT, "translate"], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True) as run:
        assert run.stdin and run.stdout
        run.stdin.write("Guten Morgen!\n")
        run.stdin.flush()
        assert run.stdout.readline().strip()
        asked = time.monotonic()
        run.send_signal(signal.SIGINT)
        assert run.wait(timeout=10) == 130
        assert time.monotonic() - asked < 1
