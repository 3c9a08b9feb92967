"""Calls live: the ends are the simulator's, and so are controllers of one's own."""

import json
import shutil
from pathlib import Path

import pytest

from calling import ENDED, run


@pytest.mark.usefixtures("live")
@pytest.mark.parametrize(
    ("language", "file", "tool"), [("rust", "mine.rs", "cargo"), ("c", "mine.bpf.c", "clang")]
)
def test_a_controller_of_ones_own_sets_the_rate_of_a_live_call(
    capsys, tmp_path, monkeypatch, language, file, tool
):
    if shutil.which(tool) is None:
        pytest.skip(f"a controller in {language} needs {tool}")
    monkeypatch.chdir(tmp_path)
    assert run(capsys, "new", "controller", "mine", "--in", language)[0] == 0
    flow = f'{{ cc = "{file}", kind = "media" }}'
    Path("call.toml").write_text(
        f'duration = "4s"\npath = {{ rate = "2mbit", rtt = "40ms", queue = "100ms" }}\nflows = [{flow}]\n'
    )
    for engine in ("sim", "live:retries=5"):
        status, out, err = run(capsys, "run", "call.toml", "--trust", "--engine", engine, "--json")
        assert status in ENDED, err
        (found,) = json.loads(out)["runs"][0]["flows"]
        # The encoder begins with 150 kbit/s. Ten packets in the RTT and the interval of feedback, 140 ms,
        # are 0.8 Mbit/s.
        assert 0.3e6 < found["goodput_bps"] < 1.6e6
