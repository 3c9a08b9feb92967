"""What `make` builds again."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]


def test_a_tool_that_vanishes_builds_the_extension_again(tmp_path: Path) -> None:
    (tmp_path / "Makefile").write_text((ROOT / "Makefile").read_text())
    (tmp_path / ".venv").mkdir()
    stale = ["crates", "kernel", "Cargo.toml", "Cargo.lock", "pyproject.toml", "requirements-dev.lock"]
    for index, name in enumerate([*stale, ".venv/.installed", ".venv/.with-native-live", ".venv/.built"]):
        path = tmp_path / name
        path.mkdir() if name in ("crates", "kernel") else path.touch()
        os.utime(path, (index, index))

    def planned(live: str) -> str:
        command = ["make", "-n", "build", "NATIVE=native", f"LIVE={live}"]
        return subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=True).stdout

    assert "maturin" not in planned("live")
    assert "maturin develop --release --quiet --no-default-features --features native" in planned("")
