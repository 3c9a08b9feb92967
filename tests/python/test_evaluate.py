"""`ackclock evaluate`: intervals worked out by hand, verdicts, the document, and controllers with a fault."""

import json
import re
from pathlib import Path
from xml.etree import ElementTree

import pytest

from ackclock import _engine, checks, evaluation
from ackclock.cases.document import CaseError
from ackclock.cases.model import Relative
from ackclock.checks.cases import read
from ackclock.engines import registry
from ackclock.evaluation import suite
from ackclock.evaluation.estimates import Estimate, compared
from calling import refused, run

BAD = Path(__file__).with_name("bad_controllers.py")


def test_the_interval_of_seven_seeds_leaves_out_both_extremes():
    # The median of seven draws is the smallest value if four draws are: the chance is 1.0 %, below 2.5 %.
    # It is at most the second with a chance of 10 %.
    one = Estimate((3.0, 1.0, 2.0, 7.0, 5.0, 4.0, 6.0))
    assert (one.median, one.ends) == (4.0, (2.0, 6.0))


def test_the_interval_of_five_seeds_is_their_range():
    # Three of five draws are the smallest value with a chance of 5.8 %.
    assert Estimate((3.0, 1.0, 2.0, 5.0, 4.0)).ends == (1.0, 5.0)


@pytest.mark.parametrize(
    ("value", "better", "verdict"),
    [
        (12.0, "less", "like"),  # within a tenth of 11
        (13.0, "less", "worse"),
        (13.0, "more", "better"),
        (8.2, "more", "like"),  # within a tenth of 9
        (8.0, "more", "worse"),
        (8.0, "less", "better"),
    ],
)
def test_a_verdict_needs_a_distance_from_both_standards(value, better, verdict):
    standards = [Estimate((9.0,)), Estimate((11.0,))]
    assert compared(Estimate((value,)), standards, better, Relative((), "largest", 0.1)) == verdict


def test_a_margin_is_the_least_distance():
    standards = [Estimate((0.0,))]
    assert compared(Estimate((0.5,)), standards, "less", Relative((), "largest", 0.1, 0.5)) == "like"
    assert compared(Estimate((0.6,)), standards, "less", Relative((), "largest", 0.1, 0.5)) == "worse"
    assert compared(Estimate((-0.5,)), standards, "more", Relative((), "largest", 0.1, 0.5)) == "like"
    assert compared(Estimate((-0.6,)), standards, "more", Relative((), "largest", 0.1, 0.5)) == "worse"


def test_every_criterion_of_the_rfc_is_there():
    sections = [one.section for one in evaluation.criteria()]
    below = {"5.1": 5, "5.2": 3, "5.3": 2, "6": 4, "7": 11}
    assert sections == [
        *(f"5.1.{n}" for n in range(1, 6)),
        "5.2",
        *(f"5.2.{n}" for n in range(1, below["5.2"] + 1)),
        *(f"5.3.{n}" for n in range(1, below["5.3"] + 1)),
        *(f"6.{n}" for n in range(1, below["6"] + 1)),
        *(f"7.{n}" for n in range(1, below["7"] + 1)),
        "8",
    ]
    assert [one.section for one in evaluation.choose(["5.2", "8"])] == ["5.2", "5.2.1", "5.2.2", "5.2.3", "8"]


def test_every_case_of_the_suite_belongs_to_a_criterion():
    files = {file.stem for file in (suite.SUITE / "cases").glob("*.toml")}
    assert files == set(suite.names(evaluation.criteria()))
    measured = {m for name in files for case in suite.cases(name) for m in map(_measure, case.claims)}
    assert all(any(one.takes(measure) for one in evaluation.criteria()) for measure in measured)


def _measure(claim):
    return suite.measure_id(claim.id)


def test_a_direction_stands_in_place_of_a_band(tmp_path):
    text = (suite.SUITE / "cases" / "iot.toml").read_text("utf-8")
    file = tmp_path / "mine.toml"
    for before, after, why in [
        ('better = "more"', 'better = "most"', "better = 'most' must be more or less"),
        ('better = "more"', 'better = "more"\nlow = 1', "stands in place of `low` and `high`"),
        ('better = "more"', 'better = "more"\nmargin = -1', "margin = -1 must be a number from 0 on"),
    ]:
        file.write_text(text.replace(before, after, 1), "utf-8")
        with pytest.raises(CaseError, match=why):
            list(read(file, "own"))


@pytest.fixture(scope="module")
def engine():
    return registry.ENGINES["sim"]


def evaluated(engine, text, criteria, seed=1, known=None):
    target = checks.target(text)
    factory = target.contender.factory
    made = engine(controllers=() if factory is None else (factory,))
    return evaluation.evaluate(criteria, target, made, seed, known=known)


def test_the_document_is_the_same_for_the_same_seed(capsys, tmp_path):
    arguments = ("evaluate", "cubic", "--only", "5.1.1,5.3.1,7.4", "--json")
    status, out, _ = run(capsys, *arguments, "--out", tmp_path / "a", "--junit", tmp_path / "a.xml")
    assert status == 0
    assert run(capsys, *arguments, "--out", tmp_path / "b")[1] == out
    files = {file.name for file in (tmp_path / "a").iterdir()}
    assert files == {"index.html", "evaluate.md", "evaluate.json", "measures.png", "inputs.json"}
    for name in files:
        assert (tmp_path / "a" / name).read_bytes() == (tmp_path / "b" / name).read_bytes(), name
    document = json.loads(out)["evaluate"]
    assert document == json.loads((tmp_path / "a" / "evaluate.json").read_text("utf-8"))
    assert [(one["section"], one["verdict"]) for one in document["criteria"]] == [
        ("5.1.1", "like"),
        ("5.3.1", "text"),
        ("7.4", "like"),
    ]
    (first, *_) = document["criteria"]
    assert first["command"] == "ackclock evaluate cubic --only 5.1.1"
    (sent, *_) = first["measures"]
    assert sent["low"] <= sent["target"] == sent["standards"]["cubic"] <= sent["high"]
    cases = ElementTree.parse(tmp_path / "a.xml").getroot().iter("testcase")
    assert "iot/loss" in [one.get("name") for one in cases]
    text = (tmp_path / "a" / "evaluate.md").read_text("utf-8")
    assert "Part for the author: Explain each deviation" in text
    assert "ackclock evaluate cubic --only 7.4" in text


@pytest.mark.skipif("quic" not in _engine.engines(), reason="built without QUIC")
def test_the_command_of_a_document_names_its_engine(capsys):
    status, out, _ = run(capsys, "evaluate", "noq:cubic", "--engine", "quic", "--only", "7.10", "--json")
    assert status == 0
    (multipath,) = json.loads(out)["evaluate"]["criteria"]
    assert multipath["command"] == "ackclock evaluate noq:cubic --only 7.10 --engine quic"
    assert [one["id"] for one in multipath["measures"] if one["verdict"] == "text"] == []


FAULTS = {
    "Blind": ("5.1.3", "heavy-loss/breaker"),
    "Stubborn": ("5.1.1", "collapse/sent"),
    "Greedy": ("5.2.1", "newreno/left"),
    "Bursting": ("5.1.3", "bursts/peak"),
    "Forgetful": ("7.8", "pauses/rate"),
    "Unmarked": ("7.1", "marks/queue"),
}
"""The criterion and the measure that show the fault of each bad controller."""

FOLLOWS = {
    # It never yields, timeouts end its windows, after which it starts anew, and a mark is a loss to it.
    "Blind": {"newreno/left", "bursts/peak", "marks/queue"},
    # Its bursts overflow this short buffer, so its window is small when the application comes back.
    "Bursting": {"pauses/rate"},
}
"""Other measures that show the fault, too."""

SHOWING = evaluation.Criterion(
    "-", "-", "-", tuple({m.partition("/")[0]: None for _, m in FAULTS.values()}), (), (), ""
)
"""The cases of these measures in one."""


@pytest.fixture(scope="module")
def standards(engine):
    chosen = [*evaluation.choose(["5.1.3", "5.1.4", "7.4", "7.5"]), SHOWING]
    return evaluated(engine, "newreno", chosen).measures


@pytest.mark.parametrize("fault", ["Halving", *FAULTS])
def test_a_fault_shows_in_its_measure_and_in_no_other(engine, standards, fault):
    section, own = FAULTS.get(fault, ("5.1.3", ""))
    (criterion,) = evaluation.choose([section])
    assert not own or criterion.takes(own)
    done = evaluated(engine, f"{BAD}:{fault}", [SHOWING], known=standards)
    shown = {key for _, key in FAULTS.values() if done.measures[key].verdict == "worse"}
    assert shown == ({own} if own else set()) | FOLLOWS.get(fault, set())


@pytest.mark.parametrize("standard", ["newreno", "cubic"])
def test_a_standard_with_other_seeds_is_like_the_standards(engine, standards, standard):
    chosen = evaluation.choose(["5.1.3", "5.1.4", "7.4", "7.5"])
    done = evaluated(engine, standard, chosen, seed=1001, known=standards)
    assert {one.verdict for one in done.measures.values()} == {"like"}


@pytest.mark.parametrize("seeds", [3, 4, 6])
def test_a_case_of_the_suite_has_an_odd_number_of_seeds_from_five_on(tmp_path, seeds):
    """So that their median is a value, and their range says something."""
    source = next(iter(sorted((suite.SUITE / "cases").glob("*.toml"))))
    text, changed = re.subn(r"(?m)^seeds = \d+$", f"seeds = {seeds}", source.read_text("utf-8"))
    assert changed == 1
    (tmp_path / "cases").mkdir()
    (tmp_path / "cases" / source.name).write_text(text, "utf-8")
    with pytest.raises(CaseError, match=f"seeds = {seeds} must be odd and at least 5"):
        suite.cases(source.stem, tmp_path)


def test_two_versions_stand_side_by_side(capsys, tmp_path):
    both = (f"{BAD}:Halving", "--beside", f"{BAD}:Blind", "--only", "7.4", "--junit", tmp_path / "j.xml")
    status, out, _ = run(capsys, "evaluate", *both, "--json", "--out", tmp_path / "out")
    document = json.loads(out)["evaluate"]
    assert (document["first"], document["second"]) == (f"{BAD.name}:Halving", f"{BAD.name}:Blind")
    verdicts = {one["id"]: one["verdict"] for one in document["changes"]}
    assert (status, verdicts) == (1, {"iot/use": "like", "iot/loss": "worse"})
    assert json.loads((tmp_path / "out" / "beside.json").read_text("utf-8")) == document
    told = 'message="30.8 % (30.8 to 30.8), before 2.01 % (2.01 to 2.02)"'
    assert told in (tmp_path / "j.xml").read_text("utf-8")
    assert run(capsys, "evaluate", both[0], "--beside", "newreno", "--only", "7.4")[0] == 0


def test_a_finding_of_a_hunt_is_a_criterion_of_its_own(capsys, tmp_path):
    file = tmp_path / "found.toml"
    file.write_text(
        """
        title = "Found by a hunt: jitter of ACKs of 10 ms"
        why = "vegas lacks 78% of what the better of NewReno and CUBIC has here."
        source = "ackclock check --hunt, seed 1"
        seeds = 3
        [scenario]
        duration = "20s"
        warmup = "5s"
        path = { rate = "2mbit", rtt = "200ms", queue = "1bdp", reverse = { jitter = "1ms" } }
        flows = [{ name = "target" }]
        [[judges]]
        words = "utilization"
        measure = { metric = "utilization" }
        statistic = "median"
        low = { beside = ["newreno", "cubic"], of = "largest", share = 0.5 }
        """,
        "utf-8",
    )
    both = ("cubic", "--case", file, "--json")
    status, out, _ = run(capsys, "evaluate", *both, "--only", "own")
    (found,) = json.loads(out)["evaluate"]["criteria"]
    (one,) = found["measures"]
    assert (status, found["section"], one["id"], one["verdict"]) == (0, "own", "found/found", "like")
    assert one["target"] == one["standards"]["cubic"]
    assert found["command"] == f"ackclock evaluate cubic --only own --case {file}"
    assert refused(capsys, "evaluate", "cubic", "--only", "own").startswith("--only own: RFC 9743 has no")
    file.write_text(file.read_text("utf-8").replace("low = {", "high = 1 #"), "utf-8")
    assert refused(capsys, "evaluate", *both) == (
        "found.toml: found: needs `better`, or one end of a band beside newreno and cubic"
    )
    taken = file.rename(tmp_path / "loss.toml")
    assert refused(capsys, "evaluate", "cubic", "--case", taken) == (
        "loss.toml: there is a case `loss` already"
    )


def test_a_mistake_of_the_target_is_bad_input(capsys, tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(
        f"{BAD.read_text('utf-8')}\n\nclass Mine(Halving):\n    def on_loss(self, cx, loss):\n        1 / 0\n"
    )
    why = refused(capsys, "evaluate", f"{file}:Mine", "--only", "7.4")
    assert "mine.py, line" in why
    assert "ZeroDivisionError" in why
    assert refused(capsys, "evaluate", "cubic", "--only", "9").startswith(
        "--only 9: RFC 9743 has no such criterion"
    )


def test_the_command_of_a_part_names_its_criteria(capsys, tmp_path):
    assert run(capsys, "evaluate", "cubic", "--only", "5.1.2", "--out", tmp_path / "d")[0] == 0
    text = (tmp_path / "d" / "evaluate.md").read_text()
    assert "ackclock evaluate cubic --only 5.1.2" in text
    assert "ackclock evaluate cubic\n" not in text
    assert "The author answers" not in text
