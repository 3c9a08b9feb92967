"""`ackclock check --hunt`: its findings, how it shrinks and writes them, and how it continues."""

import html
import json
import random

import pytest

from ackclock import _engine, checks, hunting
from ackclock.cli import hunt
from ackclock.engines import registry
from ackclock.hunting import conditions, writing
from ackclock.hunting.search import MOST_NUMBERS
from calling import refused, run
from test_check import MINE


@pytest.fixture
def stuck(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return f"{file}:Stuck"


def test_conditions_name_only_what_is_not_neutral_and_run():
    chance = random.Random(1)
    engine = registry.make("sim")
    for _ in range(50):
        condition = conditions.drawn(chance)
        weaknesses = hunting.Weaknesses(checks.target("newreno"), engine)
        plan = weaknesses._plan(("", condition, 1))
        engine.check(plan)
        assert len(condition) >= 1
        name = condition.values[-1][0]
        assert len(condition.without(name)) == len(condition) - 1
        assert conditions.changed(condition, chance).kind == condition.kind


def test_a_controller_that_stays_small_is_found_and_its_condition_made_small(capsys, stuck, tmp_path):
    command = [
        "hunt",
        stuck,
        "--tries",
        32,
        "--out",
        tmp_path / "out",
        "--cases",
        tmp_path / "cases",
        "--json",
    ]
    status, out, _ = run(capsys, *command)
    assert status == 0
    document = json.loads(out)["hunt"]
    worst = document["findings"][0]
    assert (document["target"], document["tried"]) == ("mine.py:Stuck", 32)
    assert worst["class"] in ("stall", "slow")
    assert worst["weakness"] >= hunting.WEAK
    assert worst["numbers"] <= MOST_NUMBERS
    assert "finding-1" in (tmp_path / "out/index.html").read_text()
    assert (tmp_path / "out/finding-1.png").exists()
    case = tmp_path / "cases/hunt-1.toml"
    check = ["check", stuck, "--aim", "general", "--case", case, "--only", "hunt-1"]
    assert run(capsys, *check)[0] == 1
    assert run(capsys, "check", "newreno", *check[2:])[0] == 0


def test_a_page_has_the_scenario_and_the_figure_of_each_finding(tmp_path):
    found = hunting.Finding(conditions.drawn(random.Random(1)), 0.4, 5, "ValueError: of the target")
    writing.page([found, found], checks.target("newreno"), registry.make("sim"), tmp_path, "a few words")
    names = {f"finding-{place}.{kind}" for place in (1, 2) for kind in ("json", "png")}
    assert names | {"index.html"} <= {file.name for file in tmp_path.iterdir()}
    plan = _engine.resolve_json((tmp_path / "finding-2.json").read_text(), [])
    registry.make("sim").check(plan)
    text = (tmp_path / "index.html").read_text()
    for said in (
        "a few words",
        found.condition.words,
        "ValueError: of the target",
        "ackclock run finding-2.json",
    ):
        assert html.escape(said, quote=False) in text


def test_a_hunt_goes_on_where_it_was_stopped_and_finds_the_same(capsys, tmp_path):
    whole = run(capsys, "hunt", "vegas", "--tries", 64, "--json")[1]
    out = ["--out", tmp_path / "out"]
    run(capsys, "hunt", "vegas", "--tries", 32, *out)
    journal = tmp_path / "out/tries.jsonl"
    before = journal.read_text().splitlines()
    journal.write_text("\n".join(before) + '\n["cut')
    assert run(capsys, "hunt", "vegas", "--tries", 64, *out, "--json")[1] == whole
    assert journal.read_text().splitlines()[: len(before)] == before
    assert "was started with hunt vegas, and now it is cubic" in refused(capsys, "hunt", "cubic", *out)


@pytest.mark.parametrize("damage", [b"null", b"[1, null]", b"\x83\xff"], ids=["null", "no number", "bytes"])
def test_a_damaged_line_of_a_hunt_ends_what_is_known(capsys, tmp_path, damage):
    hunt = ["hunt", "newreno", "--tries", 2, "--out", tmp_path / "out", "--json"]
    status, whole, _ = run(capsys, *hunt)
    assert status == 0
    journal = tmp_path / "out/tries.jsonl"
    before = journal.read_bytes()
    first, rest = before.split(b"\n", 1)
    journal.write_bytes(first + b"\n" + damage + b"\n" + rest)
    assert run(capsys, *hunt)[:2] == (0, whole)
    assert journal.read_bytes() == before


def test_an_exception_of_the_target_is_a_finding(capsys, stuck):
    broken = stuck.replace("Stuck", "Broken")
    document = json.loads(run(capsys, "hunt", broken, "--tries", 32, "--json")[1])["hunt"]
    assert any("ZeroDivisionError" in (one["reason"] or "") for one in document["findings"])


def test_bad_input_is_one_sentence(capsys):
    assert "did you mean `cdg`?" in refused(capsys, "hunt", "cdgg")
    assert refused(capsys, "check", "--hunt") == "TARGET is missing: the controller that --hunt is about"
    assert refused(capsys, "hunt", "cdg", "--only", "x").startswith(
        "--only: is of cases, and --hunt searches"
    )
    assert refused(capsys, "check", "cdg", "--tries", "3") == "--tries: is of a search, with --hunt"
    assert refused(capsys, "hunt", "cdg", "--budget", "60").startswith("--budget 60: ")
    assert refused(capsys, "hunt", "cdg", "--budget", "0s") == "--budget 0s: must be above 0, like `60s`"
    assert hunt._seconds("500ms") == 0.5
    assert refused(capsys, "hunt", "cdg", "--tries", "0") == "--tries 0: must be at least 1"
    assert refused(capsys, "hunt", "cdg", "--tries", "1000001").startswith("--tries 1000001: must be")


def test_a_number_of_tries_is_the_number_of_conditions(capsys):
    # Conditions come in batches of 32.
    for tries in (1, 12, 33):
        _, out, _ = run(capsys, "hunt", "vegas", "--tries", tries, "--json")
        assert json.loads(out)["hunt"]["tried"] == tries


def test_a_number_of_a_condition_has_its_digits_and_keeps_to_its_ends():
    share = conditions.Number("", 0.0, 0.01, 2.0)
    assert [share.rounded(value, 2) for value in (0.0012, 0.1239, 3.0)] == [0.01, 0.12, 2.0]
    flows = conditions.Number("", 0.0, 0.2, 9.0, whole=True)
    assert [flows.rounded(value, 3) for value in (0.3, 1.4, 2.6, 10.0)] == [1.0, 1.0, 3.0, 9.0]
