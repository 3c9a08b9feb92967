"""Cases: bounds that follow from other controllers, the worst of several seeds, and mistakes in files."""

import dataclasses
import json
from pathlib import Path

import pytest

from ackclock import checks
from ackclock.cases.document import CaseError
from ackclock.cases.judgement import expressions, judge, members, others, with_band
from ackclock.cases.measure import Samples
from ackclock.cases.model import Claim, Relative, Setup
from ackclock.errors import InputError
from ackclock.metrics import MetricError
from calling import run

FILE = """
title = "t"
why = "w."
source = "own"
seeds = 2

[scenario]
duration = "5s"
path = { rate = "1mbit", rtt = "20ms", queue = "20p" }
flows = [{ name = "target" }]

[[judges]]
words = "goodput, Mbit/s"
measure = { metric = "goodput", times = 1e-6 }
"""
RELATIVE = 'low = { beside = ["newreno", "cubic"], of = "largest", share = 0.5 }\n'


def itself(run):
    """The run of these tests: a number, or None for a run without a value."""
    if run is None:
        raise MetricError("there is no value")
    return run


def case(seeds, **of_claim):
    claim = Claim(
        id="c",
        text="a number",
        source="s",
        measure={"metric": "itself"} | of_claim.pop("measure", {}),
        **of_claim,
    )
    return checks.TargetCase(
        id="c",
        file=Path("own.toml"),
        group="own",
        title="t",
        why="w.",
        source="s",
        setups=(Setup("main", {"flows": [{}]}),),
        repetitions=seeds,
        claims=(claim,),
        measures={"itself": itself},
    )


def judged(one, **runs):
    """The judgement on the claim of a case. Runs are the numbers of the seeds, ours and of others."""
    one = one.with_target(checks.target("vegas"))
    (claim,), samples = one.claims, Samples()
    measures = expressions(claim, one)
    beside, of = others(claim, one, samples), members(claim, one, samples)
    for view in (samples, *of, *(member for each in beside.values() for member in each)):
        for demand in measures[0][0].demands():
            view.want(*demand)
    for name, numbers in runs.items():
        run = "main" if name == "target" else f"main, {name}"
        for repetition, number in enumerate(numbers):
            samples.add((run, ()), repetition, number)
    band, values = with_band(claim, measures, beside)
    return judge(band, measures, samples, of), values


def test_a_bound_follows_from_the_better_of_two_controllers_over_the_same_seeds():
    half = {"low": Relative(("newreno", "cubic"), "largest", share=0.5)}
    one = case(3, relative=half, measure={"statistic": "median"})
    # Medians of 8 and 5: half of the larger is 4.
    beside = {"newreno": [6.0, 10.0, 8.0], "cubic": [5.0, 5.0, 5.0]}
    found, values = judged(one, target=[9.0, 4.0, 3.0], **beside)
    assert (found.verdict, found.measured, found.claim.low) == ("pass", 4.0, 4.0)
    assert values == {"newreno": 8.0, "cubic": 5.0}
    found, _ = judged(one, target=[9.0, 3.9, 3.0], **beside)
    assert (found.verdict, found.sentence) == ("miss", "a number: measured 3.9, allowed is at least 4")


def test_the_worst_seed_has_to_lie_near_the_range_of_the_seeds_of_another():
    near = {
        "low": Relative(("cubic",), "smallest", margin=1.0),
        "high": Relative(("cubic",), "largest", share=0.1),
    }
    worst = {"over": "repetitions", "share": 1.0, "is_worst": True}
    one = case(3, relative=near, **worst)
    # 6 - 1 to 10 + 1.
    for target, verdict, measured in (
        ([5.0, 8.0, 11.0], "pass", 5.0),
        ([5.0, 8.0, 11.5], "miss", 11.5),
        ([4.0, 8.0, 11.5], "miss", 4.0),
    ):
        found, values = judged(one, target=target, cubic=[6.0, 10.0, 8.0])
        assert (found.verdict, found.measured, values) == (verdict, measured, {"cubic": 8.0})
        assert (found.claim.low, found.claim.high) == (5.0, 11.0)
    found, _ = judged(one, target=[8.0, None, 8.0], cubic=[6.0, 10.0, 8.0])
    assert (found.verdict, found.measured, found.reason) == ("miss", None, "there is no value")


def test_a_controller_without_a_value_gives_no_bound():
    one = case(1, relative={"low": Relative(("cubic",), "median")}, measure={"statistic": "median"})
    with pytest.raises(MetricError, match="cubic: there is no value"):
        judged(one, target=[8.0], cubic=[None])


def test_a_case_runs_other_controllers_in_the_place_of_the_target(capsys, tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(FILE + RELATIVE)
    (one,) = checks.read(file, "own")
    filled = one.with_target(checks.target("vegas"))
    flows = {setup.name: setup.scenario["flows"][0]["cc"] for setup in filled.setups + filled.others}
    assert flows == {"main": "vegas", "main, newreno": "newreno", "main, cubic": "cubic"}
    command = ["check", "newreno", "--case", file, "--only", "own", "--json"]
    status, out, _ = run(capsys, *command)
    [found] = json.loads(out)["check"]["cases"]
    assert (status, found["verdict"]) == (0, "pass")
    # Both seeds are the same run, so the median is the measured value.
    assert found["beside"]["newreno"] == found["measured"]
    assert found["low"] == pytest.approx(max(found["beside"].values()) / 2)


@pytest.mark.parametrize(
    ("ends", "sentence"),
    [
        ('low = "1"\n', "judges.0: low = '1' must be of type int or float or dict"),
        ("low = 2\nhigh = 1\n", "own: low = 2 is above high = 1"),
        ("low = nan\n", "own: low = nan must be a number"),
        (RELATIVE.replace("largest", "best"), "judges.0, low: of = 'best' must be one of median, mean"),
        (
            RELATIVE.replace("cubic", "cubik"),
            "low: beside: there is no controller `cubik`; did you mean `cubic`?",
        ),
        (RELATIVE.replace('["newreno", "cubic"]', "[]"), "low: beside = [] must be a list of controllers"),
        (RELATIVE.replace("0.5", "-1"), "low: share = -1 must be a number from 0 on"),
        (RELATIVE.replace("0.5", "0.5, seeds = -1"), "low: seeds = -1: from 1 to 100000 are allowed"),
        (RELATIVE.replace("share", "shares"), "low: unknown key `shares`; did you mean `share`?"),
        ('statistic = "best"\n', "statistic = 'best' must be one of worst, median"),
    ],
)
def test_a_mistake_in_a_bound_gets_a_sentence(tmp_path, ends, sentence):
    file = tmp_path / "own.toml"
    file.write_text(FILE + ends)
    with pytest.raises(CaseError) as error:
        list(checks.read(file, "own"))
    assert sentence in str(error.value)


def test_a_variant_may_have_ends_of_its_own(tmp_path):
    file = tmp_path / "own.toml"
    variants = (
        '[[variants]]\nname = "a"\n[[variants]]\nname = "b"\nlow = 0.25\n[[variants]]\nname = "c"\nhigh = 2\n'
    )
    file.write_text(FILE + RELATIVE + variants)
    claims = [one.claims[0] for one in checks.read(file, "own")]
    assert [(one.id, one.low, one.high, set(one.relative)) for one in claims] == [
        ("own/a", -float("inf"), float("inf"), {"low"}),
        ("own/b", 0.25, float("inf"), set()),
        ("own/c", -float("inf"), 2.0, {"low"}),
    ]


def test_a_sweep_makes_a_variant_of_each_combination(tmp_path):
    file = tmp_path / "own.toml"
    swept = '[sweep]\n"path.rate" = ["1mbit", "2mbit"]\n"path.queue" = ["10p", "0.5bdp"]\n'
    file.write_text(FILE + swept)
    found = {one.id: dict(one.setups[0].settings) for one in checks.read(file, "own")}
    assert list(found) == ["own/1mbit-10p", "own/1mbit-0.5bdp", "own/2mbit-10p", "own/2mbit-0.5bdp"]
    assert set(found["own/2mbit-10p"]) == {"path.rate", "path.queue"}
    file.write_text(FILE + swept.replace('["10p", "0.5bdp"]', "[10]"))
    with pytest.raises(CaseError, match=r"own.toml: sweep.path.queue must be a list of texts"):
        list(checks.read(file, "own"))


def test_ours_is_the_controller_of_the_algorithm_of_the_target(tmp_path):
    file = tmp_path / "own.toml"
    file.write_text(FILE + RELATIVE.replace('"newreno", "cubic"', '"ours"'))
    (one,) = checks.read(file, "own")
    (other,) = one.with_target(checks.target("vegas", algorithm="cubic")).others
    assert (other.name, other.scenario["flows"][0]["cc"]) == ("main, ours", "cubic")
    with pytest.raises(InputError, match=r"own.toml: ours: name the algorithm of .* with --as"):
        one.with_target(dataclasses.replace(checks.target("vegas"), algorithm=None))
