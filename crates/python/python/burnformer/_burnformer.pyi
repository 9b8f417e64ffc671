from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from os import PathLike
from typing import Any, Literal, TypedDict, final, overload, type_check_only

from typing_extensions import Unpack

from .results import Attention, Detection, Score, Translation

__all__ = [
    "BurnformerError",
    "MODELS",
    "Memory",
    "OPTIONS",
    "PROGRAM",
    "Translations",
    "Translator",
    "__version__",
    "detect",
    "main",
    "model_name",
]

__version__: str
MODELS: list[str]
OPTIONS: list[str]
PROGRAM: list[str]

class BurnformerError(ValueError): ...

@type_check_only
class Sampling(TypedDict, total=False):
    temperature: float
    top_k: int
    top_p: float
    seed: int

@type_check_only
class ScoreOptions(TypedDict, total=False):
    beam_size: int
    length_penalty: float | Literal["none", "average"] | Mapping[Literal["gnmt", "power"], float]
    word_penalty: float
    min_length: int
    max_length: int | None
    max_length_factor: float
    max_length_extra: int
    no_repeat_ngram: int
    no_repeat_source_ngram: int
    repetition_penalty: float
    prefix_bias: float
    suppress: Sequence[int]
    suppress_sequences: Sequence[Sequence[int]]
    begin_suppress: Sequence[int]
    forced_bos: int | None
    end_tokens: Sequence[int]
    beam_rule: Literal["gnmt", "near", "transformers", "marian", "ctranslate2"]
    early_stopping: Literal["current", "full", "never"]
    patience: float
    coverage_penalty: float
    at_limit: Literal["cut", "close"]
    batch_size: int
    batch_tokens: int
    longest: int
    truncate: bool
    source_language: str | None
    target_language: str | None
    zero_shot: bool

@type_check_only
class DocumentOptions(ScoreOptions, total=False):
    sampling: bool | Sampling | None
    small_letters: bool
    second_search: bool
    keep_parts: bool
    glossary: dict[str, str] | str | PathLike[str] | None
    memory: Memory | None
    shortlist: str | PathLike[str] | None

@type_check_only
class Options(DocumentOptions, total=False):
    n_best: int

@final
class Memory:
    def __new__(
        cls,
        segments: Mapping[str, str] | str | PathLike[str] | Sequence[str | PathLike[str]],
        source_language: str | None = None,
        target_language: str | None = None,
    ) -> Memory: ...
    def nearest(self, text: str) -> tuple[str, str, float] | None: ...
    def __len__(self) -> int: ...

@final
class Translator:
    def __new__(
        cls,
        model: str | PathLike[str] | Sequence[str | PathLike[str]] = "de-en",
        device: str = "auto",
        compute: Literal["float32", "bfloat16", "int8"] | None = None,
    ) -> Translator: ...
    @property
    def directions(self) -> list[tuple[str, str]]: ...
    # A text is an iterable of texts, too; the first overload that fits holds.
    @overload
    def translate(  # type: ignore[overload-overlap]
        self,
        text: str,
        *,
        prefix: str | None = None,
        context: Iterable[str] | None = None,
        alignment: bool = False,
        callback: Callable[[int, str], object] | None = None,
        **options: Unpack[Options],
    ) -> Translation: ...
    @overload
    def translate(
        self,
        text: Iterable[str],
        *,
        prefix: Iterable[str] | None = None,
        context: Iterable[str] | None = None,
        alignment: bool = False,
        callback: Callable[[int, str], object] | None = None,
        **options: Unpack[Options],
    ) -> list[Translation]: ...
    def translate_iterable(
        self,
        texts: Iterable[str],
        *,
        chunk: int = 2048,
        alignment: bool = False,
        **options: Unpack[Options],
    ) -> Translations: ...
    @overload
    def translate_document(
        self,
        text: str,
        format: str = "text",
        *,
        language: str | None = None,
        **options: Unpack[DocumentOptions],
    ) -> str: ...
    @overload
    def translate_document(
        self,
        text: bytes,
        format: str = "text",
        *,
        language: str | None = None,
        **options: Unpack[DocumentOptions],
    ) -> bytes: ...
    @overload
    def score(  # type: ignore[overload-overlap]
        self, source: str, target: str, **options: Unpack[ScoreOptions]
    ) -> Score: ...
    @overload
    def score(
        self, source: Iterable[str], target: Iterable[str], **options: Unpack[ScoreOptions]
    ) -> list[Score]: ...
    def attention(
        self, source: str, target: str | None = None, **options: Unpack[ScoreOptions]
    ) -> Attention: ...
    def __reduce__(self) -> tuple[type[Translator], tuple[Any, ...]]: ...

@final
class Translations(Iterator[Translation]):
    def __iter__(self) -> Translations: ...
    def __next__(self) -> Translation: ...

def detect(text: str | Iterable[str], among: Sequence[str] = ...) -> Detection | None: ...
def main(args: Sequence[str]) -> int: ...
def model_name(name: str | PathLike[str]) -> str: ...
