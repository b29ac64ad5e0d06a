"""Values as JSON can hold them: JSON has no number for what is undefined."""

import math
from collections.abc import Mapping
from typing import Any


def undefined_as_null(value: Any) -> Any:  # noqa: ANN401 - whatever JSON can hold
    """Return the value with None in place of every number that is not finite; tuples become lists."""
    if isinstance(value, Mapping):
        return {key: undefined_as_null(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [undefined_as_null(item) for item in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value
