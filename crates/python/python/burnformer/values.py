"""Python values in JSON, for the keys of `generation.json`."""

import json
import math
import operator
from collections.abc import Mapping, Sequence
from typing import Any

from ._burnformer import BurnformerError


def to_json(name: str, value: object) -> str:
    """`value`, of the keyword `name`, in JSON: also a number of NumPy, and any mapping or sequence."""
    return json.dumps(_plain(name, value))


def _plain(name: str, value: Any) -> object:
    if value is None or isinstance(value, bool | str):
        return value
    if hasattr(value, "__index__"):
        whole = operator.index(value)
        if not -(2**63) <= whole < 2**63:
            raise BurnformerError(f"{name}: {value} is out of range")
        return whole
    if hasattr(value, "__float__"):
        number = float(value)
        if not math.isfinite(number):
            raise BurnformerError(f"{name}: {value} is not a finite number")
        return number
    if isinstance(value, Mapping):
        return {key: _plain(name, item) for key, item in value.items()}
    if isinstance(value, Sequence):
        return [_plain(name, item) for item in value]
    raise TypeError(f"{name}: {type(value)} is none of the types that it can have")
