"""Claims that can fail: sets of runs, single realisations, missing values, trivial claims."""

import dataclasses

import pytest

from ackclock import papers
from ackclock.cases.judgement import expressions, judge, members
from ackclock.cases.measure import Samples
from ackclock.engines.simulator import Simulator
from ackclock.metrics import MetricError
from ackclock.papers import CaseError, page
from ackclock.papers.catalogue import read_experiment
from ackclock.papers.figures import figures
from ackclock.papers.perturbation import perturbed
from ackclock.papers.reproduction import ExperimentInProgress, Reproduction, Result
from experiments import CELL, EXPERIMENT
from handmade import handmade

CLAIM = """
[[claims]]
id = "demo-c2"
kind = "reported-number"
text = "a number of the run"
reported = 4.0
low = 3.0
high = 5.0
source = "section 1"
measure = { metric = "itself", run = "one", where = { "path.loss" = "1%" } }
"""
VARIED = """
[[variations]]
name = "queues"
runs = ["one"]
set = { "path.queue" = ["10p", "30p", "40p", "60p"] }
"""
OVER = CLAIM + 'judged_over = "4 queues"\nover = "queues"\n'
TRACES = """
[[figures]]
name = "second"
kind = "traces"
repetition = 2
[[figures.panels]]
run = "one"
where = { "path.loss" = "1%" }
curves = [{ label = "a", flow = "a", signal = "window" }]
"""
REPEATED = CLAIM + "fragile = true\n"


def itself(run):
    """The run of these tests: a number, or None for a run without a value."""
    if run is None:
        raise MetricError("there is no value")
    return run


def read(folder, text):
    path = folder / "fig1.toml"
    path.write_text(EXPERIMENT + text)
    return read_experiment(path, "demo", {"itself": itself})


def judged(experiment, by_condition):
    """The judgement of the last claim. Runs are the numbers of each condition's repetitions."""
    claim, samples = experiment.claims[-1], Samples()
    measures = expressions(claim, experiment)
    of = members(claim, experiment, samples)
    for one in (samples, *of):
        for demand in measures[0][0].demands():
            one.want(*demand)
    for point, runs in by_condition.items():
        for repetition, run in enumerate(runs):
            samples.add(("one", (("path.loss", "1%"), *point)), repetition, run)
    return judge(claim, measures, samples, of)


def queues(*values):
    """A single run at each of the first queues of the variation."""
    sizes = ("10p", "30p", "40p", "60p")
    return {(("path.queue", size),): [value] for size, value in zip(sizes, values, strict=False)}


def test_half_of_a_variation_in_the_band_is_enough(tmp_path):
    experiment = read(tmp_path, VARIED + OVER)
    # 3.5 and 5 are in 3 to 5. The median of 3.5, 5, 6 and 9 is 5.5.
    found = judged(experiment, queues(3.5, 5.0, 6.0, 9.0))
    assert (found.verdict, str(found.holds), found.measured) == ("pass", "2 of 4", 5.5)
    found = judged(experiment, queues(3.5, 5.1, 6.0, 9.0))
    assert (found.verdict, str(found.holds)) == ("miss", "1 of 4")


def test_a_stated_share_replaces_the_half(tmp_path):
    experiment = read(tmp_path, VARIED + OVER + "share = 0.75\n")
    assert judged(experiment, queues(4.0, 4.0, 4.0, 9.0)).verdict == "pass"
    assert judged(experiment, queues(4.0, 4.0, 9.0, 9.0)).verdict == "miss"


def test_a_member_without_a_value_lies_outside(tmp_path):
    experiment = read(tmp_path, VARIED + OVER)
    found = judged(experiment, queues(4.0, None, None, None))
    assert (found.verdict, str(found.holds), found.measured) == ("miss", "1 of 4", 4.0)
    found = judged(experiment, queues(None, None, None, None))
    assert (found.verdict, found.measured, found.unmeasured) == ("miss", None, "there is no value")


def test_the_set_up_itself_decides_nothing_beside_a_variation(tmp_path):
    found = judged(read(tmp_path, VARIED + OVER), {(): [4.0]} | queues(6.0, 6.0, 6.0, 4.0))
    assert (found.verdict, str(found.holds)) == ("miss", "1 of 4")


def test_members_that_have_not_run_are_not_counted(tmp_path):
    found = judged(read(tmp_path, VARIED + OVER), queues(4.0, 9.0))
    assert (found.verdict, str(found.holds)) == ("pass", "1 of 2")


def test_a_fragile_claim_says_in_how_many_repetitions_it_holds(tmp_path):
    # The median of 4, 4.5 and 9 is 4.5, in the band. So is 4, and 9 is not.
    found = judged(read(tmp_path, REPEATED), {(): [4.0, 4.5, 9.0]})
    assert (found.verdict, found.measured, str(found.holds)) == ("pass", 4.5, "2 of 3")


def test_every_repetition_can_be_asked_to_hold(tmp_path):
    every = CLAIM + 'judged_over = "3 seeds: each"\nover = "repetitions"\nshare = 1.0\n'
    assert judged(read(tmp_path, every), {(): [4.0, 4.5, 5.0]}).verdict == "pass"
    assert judged(read(tmp_path, every), {(): [4.0, 4.5, 9.0]}).verdict == "miss"


def test_values_of_half_the_repetitions_are_counted_aloud(tmp_path):
    found = judged(read(tmp_path, CLAIM), {(): [4.0, None, 4.2, None]})
    assert (found.verdict, found.measured, str(found.counted)) == ("pass", 4.1, "2 of 4")
    assert judged(read(tmp_path, CLAIM), {(): [4.0, 4.0]}).counted is None


def test_values_of_less_than_half_the_repetitions_are_a_miss(tmp_path):
    found = judged(read(tmp_path, CLAIM), {(): [4.0, None, None]})
    assert (found.verdict, found.measured) == ("miss", None)
    assert found.unmeasured == "only 1 of 3 repetitions have a value"


def test_a_figure_draws_the_chosen_repetition_if_it_has_run(tmp_path):
    experiment, samples = read(tmp_path, TRACES), Samples()
    [figure] = [one for one in figures(experiment) if one.name == "second"]
    for demand in figure.demands():
        samples.want(*demand)
    # The handmade run has 11 samples of the window of `a`, and the other run its first 6.
    whole = handmade()
    part = dataclasses.replace(whole, flow_series=whole.flow_series.slice(0, 6))
    drawn = []
    for repetition, run in enumerate((whole, part)):
        samples.add(CELL, repetition, run)
        drawn += [series.x.size for panel in figure.panels(samples) for series in panel.series]
    assert drawn == [11, 6]


def test_a_figure_shows_what_is_reported_with_its_band(tmp_path):
    claim = CLAIM.replace('metric = "itself"', 'metric = "goodput", flow = "a"').replace("4.0", "4.0e6")
    experiment = read(tmp_path, claim.replace("3.0", "3.0e6").replace("5.0", "5.0e6"))
    [figure] = [one for one in figures(experiment) if one.name == "demo"]
    [panel] = figure.panels(Samples())
    [reported] = [series for series in panel.series if series.look == "reported"]
    # At 1 % of loss, in Mbit/s.
    ends = (reported.x, reported.low, reported.y, reported.high)
    assert [float(end[0]) for end in ends] == [1.0, 3.0, 4.0, 5.0]


def test_a_trace_shows_the_band_where_a_claim_is_measured(tmp_path):
    measured = CLAIM.replace('metric = "itself"', 'metric = "itself", from = "2s", to = "6s"')
    experiment = read(tmp_path, TRACES + 'claims = ["demo-c2"]\n' + measured)
    [figure] = [one for one in figures(experiment) if one.name == "second"]
    [panel] = figure.panels(Samples())
    [band] = [series for series in panel.series if series.look == "band"]
    assert (band.x.tolist(), band.low.tolist(), band.high.tolist()) == ([2.0, 6.0], [3.0, 3.0], [5.0, 5.0])
    with pytest.raises(CaseError, match="there is no claim `demo-c3`"):
        figures(read(tmp_path, TRACES + 'claims = ["demo-c3"]\n' + measured))[-1].panels(Samples())


def test_a_trivial_claim_can_miss_but_never_hit(tmp_path):
    experiment = read(tmp_path, CLAIM + "trivial = true\n")
    assert judged(experiment, {(): [4.0]}).word == "trivial"
    assert judged(experiment, {(): [9.0]}).verdict == "miss"


def test_a_miss_gives_its_reason_and_a_hit_does_not(tmp_path):
    experiment = read(tmp_path, CLAIM + 'why = "the queue is too short"\n')
    assert judged(experiment, {(): [9.0]}).as_json()["why"] == "the queue is too short"
    assert judged(experiment, {(): [4.0]}).as_json()["why"] is None


def test_a_row_says_what_was_judged_over_what(tmp_path):
    experiment = read(
        tmp_path, VARIED + OVER + 'why = "the queue is too short"\nmeasured_as = "the median"\n'
    )
    judgement = judged(experiment, queues(3.5, 9.0, 9.0, 9.0))
    result = Result(experiment, [judgement], [], [], 4, 4, 1.0)
    done = Reproduction([result], None, False)
    assert page.headings(done)[-3:] == ["unit", "holds in", "verdict"]
    [row] = page.rows(result, done)
    assert row[1] == (
        "a number of the run (section 1); measured: the median; judged over 4 queues; "
        "why it misses: the queue is too short"
    )
    assert row[-2:] == ["1 of 4", "miss"]


@pytest.mark.parametrize(
    ("text", "sentence"),
    [
        (OVER, "fig1.toml, claim demo-c2: over = `queues` is none of repetitions"),
        (VARIED + CLAIM + 'over = "queues"\n', "`over` needs `judged_over`"),
        (VARIED + OVER + "share = 0\n", "share = 0 must be above 0 and at most 1"),
        (VARIED.replace('"queues"', '"repetitions"'), "must be text other than `repetitions`"),
        (VARIED.replace('["one"]', '["two"]'), "runs = ['two'] must be a list of runs (one, other)"),
        (VARIED.replace("set", "sets"), "fig1.toml, variations.0: `set` is missing"),
        (VARIED.replace('["10p", "30p", "40p", "60p"]', "[10]"), "path.queue must be a list of texts"),
        (VARIED.replace('{ "path', '{ "path.rtt" = ["1ms"], "path'), "its lists have 1 to 4 values"),
        (VARIED + VARIED, "the run `one` is already varied by `queues`"),
        (VARIED.replace('{ "path.queue" = ["10p", "30p", "40p", "60p"] }', "{}"), "set = {} must be a table"),
    ],
)
def test_a_mistake_in_a_variation_gets_a_sentence(tmp_path, text, sentence):
    with pytest.raises(CaseError) as error:
        read(tmp_path, text)
    assert sentence in str(error.value)


def test_a_shake_changes_seeds_starts_and_delays_a_little(tmp_path):
    path = tmp_path / "fig1.toml"
    path.write_text(
        EXPERIMENT.replace('rtt = "40ms", queue', 'rtt = [["0s", "40ms"], ["5s", "80ms"]], queue')
    )
    experiment = read_experiment(path, "demo")
    one, again, other = perturbed(experiment, 1), perturbed(experiment, 1), perturbed(experiment, 2)
    assert one.setups == again.setups != other.setups
    assert (one.seed, other.seed) == (experiment.seed + 1000, experiment.seed + 2000)
    (_, first), (at, second) = one.setup("one").scenario["path"]["rtt"]
    nanos = [int(step.removesuffix("ns")) for step in (first, second)]
    assert at == "5s"
    assert 39_600_000 <= nanos[0] <= 40_400_000 != nanos[0]
    assert nanos[1] == pytest.approx(2 * nanos[0], abs=1)
    starts = [int(flow["start"].removesuffix("ns")) for flow in one.setup("one").scenario["flows"]]
    assert 0 < starts[0] <= 100_000_000
    assert 4_000_000_000 < starts[1] <= 4_100_000_000


def test_every_experiment_of_the_papers_can_be_shaken():
    for experiment in (one for paper in papers.catalogue() for one in paper.experiments):
        # Each run is planned, as before a reproduction.
        ExperimentInProgress(perturbed(experiment, 1), None, Simulator())


def test_a_shaken_claim_says_how_often_it_holds(tmp_path):
    experiment = read(tmp_path, CLAIM)

    def done(*values):
        judgements = [judged(experiment, {(): [value]}) for value in values]
        return [Reproduction([Result(experiment, [j], [], [], 1, 1, 1.0)], None, False) for j in judgements]

    [base] = done(4.0)
    base.perturbed = done(4.0, 9.0, 3.5)
    assert str(base.steadiness()["demo-c2"]) == "2 of 3"
    assert page.headings(base)[-2:] == ["shaken", "verdict"]
    assert page.rows(base.results[0], base)[0][-2:] == ["2 of 3", "pass"]
    assert base.as_json()["experiments"][0]["claims"][0]["shaken"] == {"holds": 2, "of": 3}
