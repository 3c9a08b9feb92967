"""``ackclock read`` of the folder of a sweep: its tables and figures, also in other formats."""

from __future__ import annotations

import json

import pytest

from calling import refused, run


@pytest.fixture
def swept(capsys, tmp_path):
    out = tmp_path / "swept"
    command = ("sweep", "cubic", "cdg", "--over", "queue=0.5bdp,2bdp", "--loss", "0.1%", "--duration", "2s")
    status, printed, _ = run(capsys, *command, "--repeat", "3", "--json", "--out", out)
    assert status == 0
    return out, json.loads(printed)


def test_a_sweep_is_read_again_with_figures_in_other_formats(capsys, tmp_path, swept):
    folder, rows = swept
    before = {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}
    out = tmp_path / "again"
    status, printed, shown = run(capsys, "read", folder, "--json", "--out", out, "--also", "pdf,svg")
    assert (status, json.loads(printed)) == (0, rows)
    # Three repetitions have intervals.
    assert "median of the repetitions [95 % bootstrap interval of the median]" in " ".join(shown.split())
    figures = [name for name in before if name.endswith(".png")]
    assert figures
    for name in figures:
        assert (out / name).read_bytes() == before[name]
        assert (out / name).with_suffix(".pdf").read_bytes()[:5] == b"%PDF-"
        assert b"<svg" in (out / name).with_suffix(".svg").read_bytes()[:1000]
    assert before == {one.name: one.read_bytes() for one in folder.iterdir() if one.is_file()}


def test_a_sweep_is_read_alone(capsys, tmp_path, swept):
    folder, _ = swept
    assert refused(capsys, "read", tmp_path, folder) == f"{folder}: is a sweep, which is read alone"
    assert refused(capsys, "read", folder, folder) == f"{folder}: is a sweep, which is read alone"
    (folder / "sweep.json").write_text("[]")
    assert "is not the description of a sweep" in refused(capsys, "read", folder)
