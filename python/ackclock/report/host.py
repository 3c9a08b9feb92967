"""Versions and machine of a result."""

from __future__ import annotations

import os
import platform
from datetime import UTC, datetime
from typing import Any

from ackclock import _engine


def host() -> dict[str, Any]:
    """Versions and machine, for the files of a result."""
    return {
        "ackclock": _engine.version(),
        "python": platform.python_version(),
        "system": f"{platform.system()} {platform.release()}",
        "machine": platform.machine(),
        "cores": os.cpu_count(),
        "written": datetime.now(UTC).isoformat(timespec="seconds"),
    }
