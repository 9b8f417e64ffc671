import sys
from pathlib import Path

import pytest

from burnformer import Translator


@pytest.fixture
def only_python(monkeypatch):
    """Nothing is found by its name but what the environment of the package has."""
    monkeypatch.setenv("PATH", str(Path(sys.executable).parent))


@pytest.fixture(scope="session")
def translator() -> Translator:
    return Translator("de-en")


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """Five hundred different German sentences that the model can translate."""
    who = ["Der Mann", "Die Frau", "Mein Bruder", "Ihre Tochter", "Das Kind"]
    what = ["liest ein Buch", "trinkt Wasser", "kauft ein Auto", "isst einen Apfel", "sucht den Bahnhof"]
    when = ["", " heute", " jeden Tag", " am Abend", " am Montag", " im Sommer", " nie", " oft", " zu Hause", " allein"]
    ends = [".", "?"]
    return [w + " " + v + t + e for w in who for v in what for t in when for e in ends]
