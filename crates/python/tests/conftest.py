import pytest

from burnformer import Translator


@pytest.fixture(scope="session")
def translator() -> Translator:
    return Translator("de-en")


@pytest.fixture(scope="session")
def sentences() -> list[str]:
    """Two hundred different German sentences that the model can translate."""
    who = ["Der Mann", "Die Frau", "Mein Bruder", "Ihre Tochter", "Das Kind"]
    what = ["liest ein Buch", "trinkt Wasser", "kauft ein Auto", "isst einen Apfel", "sucht den Bahnhof"]
    when = ["", " heute", " jeden Tag", " am Abend"]
    ends = [".", "?"]
    return [w + " " + v + t + e for w in who for v in what for t in when for e in ends]
