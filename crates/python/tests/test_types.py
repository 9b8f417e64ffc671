"""The stubs are those of the module, and the examples keep to them."""

import ast
import subprocess
import sys
from importlib.resources import files
from pathlib import Path

from burnformer import _burnformer

EXAMPLE = Path(__file__).with_name("example.py")


def mypy(*args: str) -> subprocess.CompletedProcess[str]:
    return subprocess.run([sys.executable, "-m", *args], capture_output=True, text=True)


def test_the_stubs_are_those_of_the_module():
    run = mypy("mypy.stubtest", "burnformer._burnformer")
    assert run.returncode == 0, run.stdout + run.stderr


def test_the_stubs_have_every_option():
    tree = ast.parse(files("burnformer").joinpath("_burnformer.pyi").read_text())
    kinds = [node for node in tree.body if isinstance(node, ast.ClassDef) and node.name.endswith("Options")]
    fields = [node for kind in kinds for node in kind.body if isinstance(node, ast.AnnAssign)]
    assert sorted(field.target.id for field in fields) == sorted(_burnformer.OPTIONS)


def test_an_example_is_strictly_typed_and_runs():
    run = mypy("mypy", "--strict", str(EXAMPLE))
    assert run.returncode == 0, run.stdout
    run = subprocess.run([sys.executable, EXAMPLE], capture_output=True, text=True, check=True)
    assert "Where is the station?" in run.stdout
