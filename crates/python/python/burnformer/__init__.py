"""Training and translation with Transformer models.

>>> from burnformer import Translator
>>> translator = Translator("de-en")
>>> translator.translate("Wo ist der Bahnhof?").text
'Where is the station?'
"""

from ._burnformer import MODELS, BurnformerError, Memory, Translator, __version__, detect
from .commands import Run, distill, evaluate, export_model, import_model, quantize, train
from .results import Alternative, Attention, AttentionPart, Detection, Score, Translation

__all__ = [
    "MODELS",
    "Alternative",
    "Attention",
    "AttentionPart",
    "BurnformerError",
    "Detection",
    "Memory",
    "Run",
    "Score",
    "Translation",
    "Translator",
    "__version__",
    "detect",
    "distill",
    "evaluate",
    "export_model",
    "import_model",
    "quantize",
    "train",
]
