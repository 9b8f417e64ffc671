"""Translation with Transformer models on a CPU.

>>> from burnformer import Translator
>>> translator = Translator("de-en")
>>> translator.translate("Wo ist der Bahnhof?").text
'Where is the station?'
"""

from ._burnformer import MODELS, BurnformerError, Translator, __version__, detect
from .results import Alternative, Detection, Score, Translation

__all__ = [
    "MODELS",
    "Alternative",
    "BurnformerError",
    "Detection",
    "Score",
    "Translation",
    "Translator",
    "__version__",
    "detect",
]
