"""`ackclock check`: the verdicts, their printed and written forms, and refusals."""

import json
from dataclasses import replace
from xml.etree import ElementTree

import pytest

import ackclock
from ackclock import _engine, checks
from ackclock.cases.model import Claim
from ackclock.checks import reference, stack, suites
from ackclock.cli import marks
from ackclock.cli.check import _judged
from ackclock.engines import registry
from ackclock.papers.reproduction import ExperimentInProgress
from calling import refused, run

FEW = ["--only", "idle-path,after-burst,self"]

MINE = '''
import ackclock

class Mine(ackclock.Controller):
    """Half the window on a loss."""

    def on_ack(self, cx, ack):
        if ack.window_limited:
            self.window += ack.avoidance_credit() / self.window

    def on_loss(self, cx, loss):
        self.window = self.slow_start_threshold = max(self.window / 2, 2.0)

    def on_timeout(self, cx, loss):
        self.window = 1.0

class Stuck(Mine):
    """Stays at two segments after its first loss."""

    aim = "scavenger"
    lost = False

    def on_ack(self, cx, ack):
        if not self.lost:
            super().on_ack(cx, ack)

    def on_loss(self, cx, loss):
        self.lost, self.window = True, 2.0

class Silent(Mine):
    """Has half its window in flight at once after a loss, and waits for that."""

    wants = ("governs_recovery",)

class Broken(Mine):
    """Divides by zero after a timeout."""

    def on_timeout(self, cx, loss):
        self.window = 1 / 0
'''


@pytest.fixture
def mine(tmp_path):
    file = tmp_path / "mine.py"
    file.write_text(MINE)
    return file


def verdicts(document):
    return {case["id"]: case["verdict"] for case in document["check"]["cases"]}


def test_every_controller_has_an_aim_and_every_aim_is_used():
    assert {one["aim"] for one in ackclock.controllers()} == set(checks.AIMS)


def test_laws_have_one_id_each_and_say_why():
    named = [claim.id for case in checks.laws() for claim in case.claims]
    assert len(set(named)) == len(named)
    assert all(case.why.endswith(".") and case.source for case in checks.laws())


def test_newreno_keeps_every_law_and_the_same_seed_gives_the_same_bytes(capsys):
    status, out, _ = run(capsys, "check", "newreno", "--json")
    document = json.loads(out)
    assert status == 0
    assert set(verdicts(document).values()) == {"pass"}
    assert run(capsys, "check", "newreno", "--json")[1] == out


def test_a_controller_that_stays_small_after_a_loss_fails(capsys, mine, tmp_path):
    status, out, err = run(
        capsys, "check", f"{mine}:Stuck", *FEW[:1], "after-burst", "--json", "--out", tmp_path / "r"
    )
    assert status == 1
    assert json.loads(out)["check"]["aim"] == "scavenger"
    assert verdicts(json.loads(out)) == {"after-burst": "fail"}
    assert "after-burst fails: utilization afterwards: measured 0." in err
    assert "Takes the path again after a burst" in (tmp_path / "r/index.html").read_text()
    assert json.loads((tmp_path / "r/after-burst.json").read_text())["duration"] == "60s"


def test_an_exception_of_a_controller_is_an_error_with_its_line_and_no_verdict(capsys, mine, tmp_path):
    file = tmp_path / "check.xml"
    said = "mine.py, line 39: ZeroDivisionError: division by zero"
    status, out, err = run(
        capsys, "check", f"{mine}:Broken", "--only", "idle-path,after-outage", "--json", "--junit", file
    )
    assert status == 2
    assert said in err.splitlines()[-1]
    assert verdicts(json.loads(out))["after-outage"] == "skipped"
    (suite,) = ElementTree.parse(file).getroot()
    assert (suite.get("errors"), suite.get("failures"), suite.get("skipped")) == ("1", "0", "0")
    # The first verdict of a case has the time of its runs.
    assert all(float(case.get("time")) > 0 for case in suite if not len(case))
    assert {case.get("name"): [one.tag for one in case] for case in suite} == {
        "idle-path/10-mbit-s": [],
        "idle-path/100-mbit-s": [],
        "after-outage": ["error"],
    }
    # No case ends: there is nothing to show but the sentence.
    assert refused(capsys, "check", f"{mine}:Broken", "--only", "after-outage").endswith(said)


def test_a_scavenger_is_not_judged_on_shares(capsys):
    listed = json.loads(run(capsys, "check", "ledbat", "--list", "--json")[1])["cases"]
    assert "self" not in {case["id"] for case in listed}
    assert "yields" in {case["id"] for case in listed}
    other = json.loads(run(capsys, "check", "ledbat", "--aim", "general", "--list", "--json")[1])["cases"]
    assert "self" in {case["id"] for case in other}


def test_a_case_of_your_own_is_read_and_judged(capsys, tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(
        'title = "t"\nwhy = "w."\nsource = "own"\n'
        '[scenario]\nduration = "5s"\npath = { rate = "1mbit", rtt = "20ms", queue = "20p" }\nflows = [{ }]\n'
        '[[judges]]\nwords = "goodput, Mbit/s"\nmeasure = { metric = "goodput", times = 1e-6 }\nlow = 0.9\n'
        '[[variants]]\nname = "slow"\n[[variants]]\nname = "no more"\nhigh = 0.5\nlow = 0\n'
    )
    status, out, _ = run(capsys, "check", "cubic", "--case", file, "--only", "own", "--json")
    assert status == 1
    assert verdicts(json.loads(out)) == {"own/slow": "pass", "own/no-more": "fail"}
    file.write_text(file.read_text().replace("goodput", "godput", 2))
    said = refused(capsys, "check", "cubic", "--case", file)
    assert said == "own.toml, claim own/slow, measure: there is no metric `godput`; did you mean `goodput`?"
    file.write_text('title = "t"\n')
    assert "own.toml: `scenario` is missing" in refused(capsys, "check", "cubic", "--case", file)


def test_bad_input_is_one_sentence(capsys, mine):
    assert "did you mean `cdg`?" in refused(capsys, "check", "cdgg")
    assert "the target has no such case; there are ack-loss" in refused(capsys, "check", "cdg", "--only", "x")
    assert "must be" in refused(capsys, "check", "cdg", "--aim", "world peace")
    assert "--as x: there is neither a controller" in refused(capsys, "check", f"{mine}:Mine", "--as", "x")
    assert "has no class" in refused(capsys, "check", __file__)
    sentence = "--as prr: is for windows of TCP, and tfrc has none: it sets a rate"
    assert refused(capsys, "check", "tfrc", "--as", "prr") == sentence
    mine.write_text(MINE.replace('"scavenger"', '"sky"'))
    assert "the aim `sky` must be one of general, fast" in refused(capsys, "check", f"{mine}:Stuck")


def test_a_rule_set_is_that_of_the_algorithm_or_of_what_is_named(capsys, mine):
    start = 'newreno(slow_start="hystart++")'
    status, out, _ = run(capsys, "check", start, "--only", "decrease,loss", "--json")
    assert (status, set(verdicts(json.loads(out)).values())) == (0, {"pass"})
    status, out, _ = run(capsys, "check", "newreno", "--as", "hystart++", "--only", "loss", "--json")
    assert (status, verdicts(json.loads(out))["loss/loss"]) == (1, "fail")
    # Half the window is no seven tenths.
    status, out, _ = run(capsys, "check", f"{mine}:Mine", "--as", "cubic", "--only", "decrease", "--json")
    assert (status, verdicts(json.loads(out))) == (1, {"decrease": "fail"})


def test_proportional_rate_reduction_is_told_from_silence_and_from_bursts(capsys, mine):
    few = ["--as", "prr", "--only", "spread,bursts", "--json"]
    status, out, _ = run(capsys, "check", "cubic", *few)
    assert (status, verdicts(json.loads(out))) == (
        0,
        {"spread/pause": "pass", "spread/end": "pass", "bursts": "pass"},
    )
    status, out, _ = run(capsys, "check", f"{mine}:Silent", *few)
    assert (status, verdicts(json.loads(out))) == (
        1,
        {"spread/pause": "fail", "spread/end": "pass", "bursts": "fail"},
    )


def test_the_cases_of_the_draft_judge_bbr_and_leave_out_signals_that_are_not_shown():
    engine = registry.make("sim")
    own = suites.check(checks.target("bbr3", rule_sets=checks.rule_sets()), engine, 1)
    assert len(own) > 40
    assert {one.verdict for one in own} == {"pass", "miss"}
    other = checks.target("cubic", algorithm="bbr3", rule_sets=checks.rule_sets())
    skipped = suites.check(replace(other, foreign=True), engine, 1)
    assert {one.verdict for one in skipped} == {"pass", "miss", "not judged"}


@pytest.mark.skipif("quic" not in _engine.engines(), reason="built without QUIC")
def test_cases_of_the_draft_that_a_stack_cannot_run_are_no_mistakes():
    target, engine = checks.target("noq:bbr3", rule_sets=checks.rule_sets()), registry.make("quic")
    works = [ExperimentInProgress(one, 1, engine) for one in suites.experiments(target)]
    refused = {one.case.id: [*one.refused] for one in works if one.refused}
    assert len(works) > len(refused)
    assert "transport.ack_every: it is a rule of TCP" in refused["ccwg-bbr-aggregation"][0]


def test_another_controller_beside_ours_is_told_apart(mine):
    text = f"{mine}:Mine"
    same = checks.target(text, algorithm="newreno")
    engine = registry.make("sim", controllers=(same.contender.factory,))
    found = reference.check(same, engine)
    assert len(found) == 2 * 27 + 1
    assert (found[-1].claim.id, found[-1].verdict) == ("ours/trajectories", "miss")
    missed = [one.claim.id for one in found[:-1] if one.verdict == "miss"]
    # It has no slow start, which shows where twenty seconds are few round trips.
    assert missed
    assert all("150ms" in one or "100mbit" in one or "25mbit" in one for one in missed)
    assert reference.check(checks.target("newreno"), registry.make("sim")) == []


def test_a_stack_from_outside_has_the_cases_that_a_link_can_judge(capsys):
    commands = ["--server", "iperf3 -s", "--client", "iperf3 -c {server} -t {duration}"]
    listed = json.loads(run(capsys, "check", *commands, "--list", "--json")[1])["cases"]
    names = {case["id"] for case in listed}
    assert {"idle-path/10-mbit-s", "after-outage", "ack-loss"} <= names
    assert not names & {"self", "application", "rate/10-gbit-s", "answers-marks"}
    near, far = stack.Stack("srv {server}", "cli {server} {duration}", download=False).commands(5.0)
    assert (near[:2], near[-3:], far[-2:]) == (
        ["timeout", "6"],
        ["cli", "10.0.0.2", "5"],
        ["srv", "10.0.0.2"],
    )
    assert all('exec "$@" >&2' in words[words.index("-c") + 1] for words in (near, far))
    near, far = stack.Stack("srv {server}", "cli {server}", download=True).commands(5.0)
    assert (near[:2], near[-2:], far[-2:]) == (["timeout", "6"], ["srv", "10.0.0.1"], ["cli", "10.0.0.1"])
    assert "TARGET is missing" in refused(capsys, "check", "--server", "x")
    assert "TARGET names cubic" in refused(capsys, "check", "cubic", "--server", "x")


def test_a_check_whose_live_runs_were_late_is_no_pass(capsys, monkeypatch):
    reason = "a delivery was 300 ms late"
    claim = Claim(id="idle-path", text="utilization", source="", measure=None, low=0.8, group="laws")
    late = checks.Judgement(claim, None, "not judged", reason, valid=False)
    missed = replace(late, verdict="miss", measured=0.1, valid=True)
    commands = ["check", "--server", "srv", "--client", "cli", "--only", "idle-path"]
    for found, status in (([late], 3), ([late, missed], 1), ([replace(late, valid=True)], 0)):
        monkeypatch.setattr(stack, "check", lambda *_, found=found: found)
        assert run(capsys, *commands)[0] == status


def test_bbr_fills_a_path_and_one_that_does_not_is_noticed(capsys):
    def found(target):
        status, out, err = run(capsys, "check", target, "--only", "fills/10-mbit-s", "--json")
        assert err == "" or status in (0, 1), err
        return status, verdicts(json.loads(out))

    for own in ("bbr1", "bbr3"):
        assert found(own) == (0, {"fills/10-mbit-s": "pass"})
    # A tenth of the estimated bandwidth is never used.
    assert found("bbr3(pacing_margin=0.1)") == (1, {"fills/10-mbit-s": "fail"})
    if "quic" in _engine.engines():
        assert found("noq:bbr3") == (1, {"fills/10-mbit-s": "fail"})


def test_windows_of_quic_stacks_have_the_rules_of_rfc_9002(capsys):
    rules = [
        checks.target(one, rule_sets=checks.rule_sets()).rules for one in ("noq:cubic", "noq:bbr3", "cubic")
    ]
    assert rules == [("cubic", "rfc9002"), ("bbr3",), ("cubic",)]
    if "quic" not in _engine.engines():
        return
    only = "persistent-congestion,application-limited,ecn-validation"
    status, out, err = run(capsys, "check", "noq:newreno", "--only", only, "--json")
    assert (status, set(verdicts(json.loads(out)).values())) == (0, {"pass"}), err
    # noq's BBRv3 keeps more than four packets.
    status, out, _ = run(
        capsys, "check", "noq:bbr3", "--as", "rfc9002", "--only", "persistent-congestion", "--json"
    )
    assert (status, verdicts(json.loads(out))) == (1, {"persistent-congestion": "fail"})


def test_a_controller_of_noq_runs_on_its_engine(capsys):
    command = ["check", "noq:cubic", "--only", "after-slow-link", "--json"]
    if "quic" not in _engine.engines():
        assert "make build QUIC=1" in refused(capsys, *command)
        return
    status, out, _ = run(capsys, *command)
    assert (status, verdicts(json.loads(out))) == (0, {"after-slow-link": "pass"})


def test_a_failure_is_said_as_soon_as_it_is_known_and_once(capsys, monkeypatch, mine):
    """Short cases run first, so it comes while the long ones run."""
    from ackclock.checks import judging

    order = []
    add = judging.CheckInProgress.add
    monkeypatch.setattr(
        judging.CheckInProgress,
        "add",
        lambda self, *of: (order.append(self.case.id), add(self, *of))[1],
    )
    only = "idle-path,after-burst"
    status, _, err = run(capsys, "check", f"{mine}:Stuck", "--only", only, "--engine", "sim:threads=1")
    assert status == 1
    assert order[-1] == "idle-path/100-mbit-s"
    lines = [line for line in err.splitlines() if line.startswith("after-burst fails: ")]
    assert len(lines) == 1


@pytest.mark.parametrize(
    ("algorithm", "rules", "whole", "expected"),
    [
        ("cubic", ("cubic",), True, ["cases", "suites", "beside"]),
        # Rules of another algorithm, or of none, have no suites.
        ("cubic", ("newreno",), True, ["cases", "beside"]),
        (None, ("cubic",), True, ["cases", "beside"]),
        ("cubic", ("cubic",), False, ["cases"]),
    ],
)
def test_the_suites_of_an_algorithm_are_judged_by_its_rules_alone(
    monkeypatch, algorithm, rules, whole, expected
):
    monkeypatch.setattr(checks, "check", lambda *_: ["cases"])
    monkeypatch.setattr(suites, "check", lambda *_: ["suites"])
    monkeypatch.setattr(reference, "check", lambda *_: ["beside"])
    chosen = replace(checks.target("cubic"), algorithm=algorithm, rules=rules)
    assert _judged([], chosen, registry.find("sim"), 1, set(), whole=whole) == expected


def test_a_target_that_cannot_be_checked_has_a_row_with_its_sentence():
    found = marks._judged("nosuch", [], None)
    assert (found.target, found.verdict, found.passed, found.failed) == ("nosuch", "broken", 0, 0)
    assert "nosuch" in found.reason
