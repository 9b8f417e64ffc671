"""The results of translation, scoring and detection."""

from __future__ import annotations

import html
from dataclasses import dataclass, field
from typing import Literal

Link = tuple[tuple[int, int], tuple[int, int]]
"""Where a token stands in the source, and where in the translation: begin and end, in characters."""


@dataclass(frozen=True)
class Alternative:
    """A translation of a sentence."""

    text: str
    #: The log-probability divided by the length penalty.
    score: float
    #: The ids of its tokens, with `</s>` if the model ended the sentence.
    tokens: list[int]
    #: The natural log-probability of each token.
    log_probs: list[float]
    #: Why the translation ends: by `</s>`, at the length limit, because a translation memory has it, or
    #: because the source has nothing to translate.
    finish: Literal["end-of-sentence", "limit", "memory", "kept"]

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Translation:
    """The translations of a sentence."""

    #: The best one first, as many as `n_best` says or the search found.
    alternatives: list[Alternative]
    #: The signs that the best one is wrong: it repeats itself, is its source, is far longer or shorter, or
    #: lost a number or a placeholder.
    doubts: list[Literal["loop", "copy", "length", "parts"]]
    #: The expected quality of the best one, from 0 to 1: the chrF, over 100, of translations that are as
    #: probable. `None` for a model that is not calibrated.
    confidence: float | None
    #: The links from the characters of the best translation to those of the source; `None` if not requested.
    alignment: list[Link] | None = None

    @property
    def text(self) -> str:
        """The text of the best translation."""
        return self.alternatives[0].text

    @property
    def score(self) -> float:
        """The score of the best translation."""
        return self.alternatives[0].score

    def __str__(self) -> str:
        return self.text


@dataclass(frozen=True)
class Score:
    """The probability that a model gives to a translation."""

    #: The natural log-probability of the whole translation.
    log_prob: float
    #: The log-probability divided by the length penalty.
    score: float
    #: e to the power of minus the log-probability per token.
    perplexity: float
    #: The natural log-probability of each token, `</s>` last.
    log_probs: list[float]


@dataclass(frozen=True)
class Detection:
    """The language of a text."""

    #: The code of the language, such as `de`.
    language: str
    #: The confidence in the language, from 0 to 1.
    confidence: float


@dataclass(frozen=True)
class AttentionPart:
    """The weights of one kind of attention."""

    #: The tokens that attend.
    queries: list[str]
    #: The tokens that are attended to.
    keys: list[str]
    #: float32 `[layers, heads, queries, keys]`, by the buffer protocol: `numpy.asarray` takes it without a copy.
    weights: memoryview


@dataclass(frozen=True)
class Attention:
    """To which tokens the model attends while it reads a sentence and writes its translation."""

    source: str
    target: str
    #: Aligned words, as indices of the words of `source` and of `target`.
    alignment: list[tuple[int, int]]
    #: `encoder`, `decoder` and `cross`, as far as the model has them.
    parts: dict[str, AttentionPart]
    #: A page in which layers and heads can be chosen.
    page: str = field(repr=False)

    def _repr_html_(self) -> str:
        return f'<iframe srcdoc="{html.escape(self.page)}" width="100%" height="600"></iframe>'
