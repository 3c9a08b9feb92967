"""The verdicts on a measured value, for every command that judges."""

from __future__ import annotations

from typing import Literal, TypeAlias

Verdict: TypeAlias = Literal["pass", "miss", "not judged"]

NOT_JUDGED: Verdict = "not judged"
"""The verdict without a value that could be judged. The reason is given beside it."""
