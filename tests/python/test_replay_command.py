"""The command ``ackclock replay``: files, folders, summaries and statuses."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import pytest

from ackclock import replay
from ackclock.replay import LATENESS_S, Verdict
from calling import refused, run
from test_replay import OPENING, SCRIPTS

LATE = Verdict("x.pkt", "divergence", 1, "", 2 * LATENESS_S)
ON_TIME = replace(LATE, late_s=LATENESS_S)
MATCH = Verdict("x.pkt", "match")


@pytest.mark.parametrize(
    ("verdicts", "retries", "last"),
    [
        ([LATE], 0, LATE),
        ([LATE, LATE], 1, LATE),
        ([LATE, LATE, LATE, MATCH], 3, MATCH),
        ([LATE, MATCH], 3, MATCH),
        # A machine that was in time is not the cause of a divergence.
        ([ON_TIME], 3, ON_TIME),
    ],
)
def test_a_script_is_played_again_while_the_machine_was_late(
    monkeypatch: pytest.MonkeyPatch, verdicts: list[Verdict], retries: int, last: Verdict
) -> None:
    left = [*verdicts]
    monkeypatch.setattr(replay, "in_namespace", lambda _: left.pop(0))
    assert replay.replay_live(Path("x.pkt"), retries=retries) == last
    assert left == []


def test_json_has_a_verdict_for_each_script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    good, bad = SCRIPTS[0], tmp_path / "bad.pkt"
    bad.write_text(OPENING + "+0 > P. 1:1001(1000) ack 1\n", encoding="utf-8")
    status, out, err = run(capsys, "replay", good, "--json")
    match = {"file": str(good), "verdict": "match", "line": None, "why": ""}
    assert (status, json.loads(out), err) == (0, {"scripts": [match], "counts": {"match": 1}}, "")
    status, out, _ = run(capsys, "replay", good, bad, "--json")
    verdicts = [(script["verdict"], script["line"]) for script in json.loads(out)["scripts"]]
    assert (status, verdicts) == (1, [("match", None), ("divergence", 9)])
    status, out, _ = run(capsys, "replay", good, bad)
    assert status == 1
    assert "divergence" in out
    other = tmp_path / "other.pkt"
    other.write_text(OPENING + "+0 %{ assert unknown_field == 1 }%\n", encoding="utf-8")
    # A script that is not modelled was not judged. One that diverges counts more.
    assert run(capsys, "replay", good, other)[0] == 3
    assert run(capsys, "replay", other, bad)[0] == 1


def test_a_folder_of_scripts_has_a_summary(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    inside = tmp_path / "scripts" / "deeper"
    inside.mkdir(parents=True)
    good = SCRIPTS[0].read_text(encoding="utf-8")
    for name, text in {
        "b": OPENING + "+0 > P. 1:1001(1000) ack 1\n",
        "c": OPENING + "+0 setsockopt(4, SOL_TCP, TCP_CORK, [1], 4) = 0\n",
        "d": OPENING + "+0 < . 1:1(0) ack 1 win 9 <FO abcd>\n",
        "e": OPENING + "+0 < . 1:1(0) ack 1 win 9 <FO 0123>\n",
        "deeper/a": good,
    }.items():
        (tmp_path / "scripts" / f"{name}.pkt").write_text(text, encoding="utf-8")
    (tmp_path / "scripts" / "defaults.sh").write_text("exit 1\n", encoding="utf-8")
    status, out, _ = run(capsys, "replay", tmp_path / "scripts", "--json")
    found = json.loads(out)
    names = [Path(script["file"]).stem for script in found["scripts"]]
    assert (status, names) == (1, ["b", "c", "d", "a", "e"])
    assert found["counts"] == {"match": 1, "divergence": 1, "unsupported": 3}
    status, out, _ = run(capsys, "replay", tmp_path / "scripts")
    assert "5 scripts: 1 matches, 1 diverges, 3 are unsupported." in out
    assert re.search(r"the TCP option `FO` is not modelled +│ 2 ", out)
    (tmp_path / "scripts" / "f.pkt").write_bytes(b"\xff\xfe")
    junit = tmp_path / "j.xml"
    status, out, _ = run(capsys, "replay", tmp_path / "scripts", "--junit", junit)
    assert status == 2
    assert "6 scripts: 1 matches, 1 diverges, 3 are unsupported, 1 is no script." in " ".join(out.split())
    assert 'errors="1"' in junit.read_text(encoding="utf-8")
    assert "is no text in UTF-8" in junit.read_text(encoding="utf-8")


def test_a_folder_without_scripts_is_bad_input(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "holds no packet script (.pkt)" in refused(capsys, "replay", tmp_path)


@pytest.mark.parametrize(
    ("content", "sentence"),
    [
        (b"hello\n", "line 1: `hello` begins with no time"),
        (b"\xff\xfe", "is no text in UTF-8"),
        (None, "No such file"),
    ],
)
def test_what_is_no_script_ends_with_one_sentence(
    content: bytes | None, sentence: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "x.pkt"
    if content is not None:
        file.write_bytes(content)
    assert sentence in refused(capsys, "replay", file)


def test_an_unknown_profile_is_bad_input(capsys: pytest.CaptureFixture[str]) -> None:
    assert "profile" in refused(capsys, "replay", SCRIPTS[0], "--profile", "lunix")
