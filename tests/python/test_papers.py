"""Experiments of papers: reading, measuring, judging and drawing."""

import dataclasses
import itertools
import math
from pathlib import Path

import pytest

from ackclock import papers, repetitions
from ackclock.cases.judgement import expressions, judge
from ackclock.cases.measure import Samples
from ackclock.engines.simulator import Simulator
from ackclock.papers import CaseError, published
from ackclock.papers.figures import figures, table
from ackclock.papers.tables import tables
from ackclock.report import markdown
from experiments import CELL, EXPERIMENT, read
from handmade import handmade


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('title = "A demonstration"', "", "fig1.toml: `title` is missing"),
        ("repetitions = 3", "repetition = 3", "unknown key `repetition`; did you mean `repetitions`?"),
        ("repetitions = 3", 'repetitions = "3"', "must be of type int"),
        (
            'kind = "reported-number"',
            'kind = "hearsay"',
            "must be one of reported-number, ratio, ordering, shape",
        ),
        ("low = 3.0e6", "low = 6.0e6", "low = 6e+06 is above high = 5e+06"),
        ('"path.loss" = ["0%", "1%", "4%"]', '"path.loss" = [0.01]', "must be a list of texts"),
        ('name = "other"', 'name = "one"', "two runs have the same name"),
        ('id = "demo-fig1"', 'id = "../../out"', "id = '../../out' must be a word"),
        ('id = "demo-fig1"', 'id = ""', "id = '' must be a word"),
        ('name = "demo"', 'name = "a/../../b"', "the name 'a/../../b' of a figure or table must be a word"),
        ('name = "demo"', 'name = ".."', "the name '..' of a figure or table must be a word"),
    ],
)
def test_a_mistake_in_an_experiment_file_gives_a_sentence(tmp_path, old, new, sentence):
    assert old in EXPERIMENT
    with pytest.raises(CaseError) as error:
        read(tmp_path, EXPERIMENT.replace(old, new, 1))
    assert sentence in str(error.value)


def test_a_run_lays_its_scenario_over_the_common_one(experiment):
    assert experiment.setup("other").scenario["path"] == {
        "rate": "8mbit",
        "rtt": "40ms",
        "queue": "50p",
        "loss": "0%",
    }


def test_quick_reduces_repetitions_and_points_only(experiment):
    quick = experiment.reduced()
    assert (quick.repetitions, quick.sweep) == (1, {"path.loss": ("1%",)})
    assert quick.claims == experiment.claims


def test_the_reduced_form_leaves_alone_what_only_the_whole_judges(tmp_path):
    experiment = read(tmp_path, EXPERIMENT.replace('source = "section 1"', 'source = "1"\nwhole_only = true'))
    [whole], [quick] = experiment.claims, experiment.reduced().claims
    assert judge(whole, expressions(whole, experiment), Samples()).unmeasured == "no repetition has finished"
    found = judge(quick, expressions(quick, experiment.reduced()), Samples())
    assert (found.verdict, found.measured) == ("not judged", None)
    assert found.unmeasured == "only the whole form can judge it"


def judgement(experiment, **changes):
    """The verdict on a claim whose measures are constants."""
    claim = dataclasses.replace(experiment.claims[0], **changes)
    return judge(claim, expressions(claim, experiment), Samples())


def test_a_number_is_judged_by_its_band_ends_included(experiment):
    for measured, verdict in ((2.9, "miss"), (3.0, "pass"), (5.0, "pass"), (5.1, "miss")):
        found = judgement(experiment, low=3.0, high=5.0, measure={"value": measured})
        assert (found.measured, found.verdict) == (measured, verdict)


def test_an_ordering_shows_the_ratio_that_misses_or_the_smallest(experiment):
    ordering = {"kind": "ordering", "low": 1.5, "high": math.inf}
    good = judgement(experiment, **ordering, measure=[{"value": 12}, {"value": 4}, {"value": 2}])
    assert (good.measured, good.verdict) == (2.0, "pass")
    bad = judgement(experiment, **ordering, measure=[{"value": 4}, {"value": 4}, {"value": 1}])
    assert (bad.measured, bad.verdict) == (1.0, "miss")
    assert bad.as_json()["high"] is None


def test_nothing_over_nothing_proves_no_ordering_and_no_ratio(experiment):
    zeros = [{"value": 0}, {"value": 0}]
    for kind, tree in (("ordering", zeros), ("ratio", {"ratio": zeros})):
        found = judgement(experiment, kind=kind, low=1.5, high=math.inf, measure=tree)
        assert (found.measured, found.verdict, found.unmeasured) == (
            None,
            "miss",
            "both sides of a ratio are 0",
        )
    something = [{"value": 2}, {"value": 0}]
    assert judgement(experiment, kind="ordering", low=1.5, high=math.inf, measure=something).verdict == "pass"


def test_an_ordering_holds_at_every_point(experiment):
    two = {"metric": "goodput", "run": "one", "from": "4s", "to": "8s"}
    each = {"each": [two | {"flow": "a"}, two | {"flow": "b"}], "along": "path.loss"}
    claim = dataclasses.replace(experiment.claims[0], kind="ordering", low=1.2, high=1.5, measure=each)
    groups = expressions(claim, experiment)
    assert [len(group) for group in groups] == [2, 2, 2]
    samples = Samples()
    for condition, sample in (d for group in groups for member in group for d in member.demands()):
        samples.want(condition, sample)
    for condition in samples.conditions():
        samples.add(condition, 0, handmade())
    assert judge(claim, groups, samples).measured == pytest.approx(4 / 3)


def test_cited_and_informative_claims_never_miss(experiment):
    out = {"measure": {"value": 99}, "low": 0.0, "high": 1.0}
    assert judgement(experiment, **out, cited=True).word == "cited"
    assert judgement(experiment, **out, informative=True).word == "informative"


def test_a_claim_whose_runs_have_not_finished_is_not_judged(experiment):
    claim = experiment.claims[0]
    found = judge(claim, expressions(claim, experiment), Samples())
    assert (found.measured, found.verdict, found.unmeasured) == (
        None,
        "not judged",
        "no repetition has finished",
    )


def test_a_figure_holds_percentiles_over_repetitions_and_the_model(experiment):
    sweep, time = figures(experiment)
    samples = Samples()
    for figure in (sweep, time):
        for condition, sample in figure.demands():
            samples.want(condition, sample)
    for repetition in range(3):
        samples.add(CELL, repetition, handmade())
    rows = table(sweep.panels(samples)).to_pylist()
    assert rows[0] == {
        "panel": "",
        "curve": "a",
        "cc": "newreno",
        "x": 1.0,
        "y": 4.0,
        "low": 4.0,
        "high": 4.0,
    }
    assert {row["curve"] for row in rows[1:]} == {"model"}
    curve = {
        "label": "a",
        "cc": "newreno",
        "measure": sweep.spec["panels"][0]["curves"][0]["measure"] | {"times": 3},
    }
    spec = sweep.spec | {"panels": [{"curves": [curve]}], "bars": "range"}
    tripled = table(type(sweep)(spec, experiment).panels(samples)).to_pylist()
    assert (tripled[0]["low"], tripled[0]["y"], tripled[0]["high"]) == (12.0, 12.0, 12.0)
    binned = table(time.panels(samples)).to_pylist()
    assert [(row["curve"], row["x"], row["y"]) for row in binned] == [
        ("first", 2.5, 4.0),
        ("first", 7.5, 4.0),
        ("b", 7.5, pytest.approx(3.6)),
    ]


def test_what_no_run_shows_is_not_worked_out_after_an_interruption(experiment, monkeypatch):
    (model,) = papers.select(papers.catalogue(), ["edwan2010-eq4.22"])
    assert not papers.reproduction.ExperimentInProgress(model, 1, Simulator()).plans
    run_jobs = Simulator.run

    def interrupted(*arguments, **options):
        yield from itertools.islice(run_jobs(*arguments, **options), 1)
        raise KeyboardInterrupt

    monkeypatch.setattr(Simulator, "run", interrupted)
    monkeypatch.setattr(papers.reproduction.ExperimentInProgress, "judgements", None)
    done = papers.reproduce([experiment, model], seed=5)
    begun, untouched = done.results
    assert (done.interrupted, begun.runs_done) == (True, 1)
    assert begun.judgements
    assert (untouched.judgements, untouched.figures) == ([], [])


def test_a_small_experiment_is_run_measured_and_judged(experiment):
    done = papers.reproduce([experiment.reduced()], seed=5)
    (result,) = done.results
    assert (result.runs_done, result.runs, done.interrupted) == (1, 1, False)
    measured = result.judgements[0].measured
    assert measured is not None
    assert 0 < measured < 8e6
    assert done.scenarios[0]["seeds"] == [5]
    assert result.figures[0].panels[0].series[0].y == pytest.approx(
        result.figures[0].panels[0].series[0].low
    ), "one repetition has no spread"


def test_the_same_seed_gives_the_same_measurements(experiment):
    first, second = (papers.reproduce([experiment], engine=Simulator(n)).as_json() for n in (1, 2))
    for result in (*first["experiments"], *second["experiments"]):
        del result["seconds"]
    assert first == second


def test_runs_that_no_judged_claim_needs_have_fewer_repetitions(tmp_path):
    from ackclock.papers.reproduction import ExperimentInProgress

    text = EXPERIMENT.replace("repetitions = 3", "repetitions = 3\ndrawn_repetitions = 2", 1)
    for trivial, judged in (("", 3), ("trivial = true\n", 2)):
        whole = text.replace('source = "section 1"\n', f'source = "section 1"\n{trivial}')
        work = ExperimentInProgress(read(tmp_path, whole), None, Simulator())
        found = {point.key[1]: len(point.seeds) for point in work.points()}
        assert found == {CELL: judged} | {(run, point): 2 for run, point in found if (run, point) != CELL}
    with pytest.raises(CaseError, match="repetitions = 0: from 1"):
        read(tmp_path, text.replace("drawn_repetitions = 2", "drawn_repetitions = 0"))


def test_the_longest_runs_begin_first(tmp_path):
    class Listed(Simulator):
        def run(self, jobs, progress=None):
            lasted.extend(job.plan.inspect()["duration_s"] for job in jobs)
            return super().run(jobs, progress)

    lasted = []
    short = read(tmp_path, EXPERIMENT)
    long = read(tmp_path, EXPERIMENT.replace('duration = "10s"', 'duration = "11s"', 1))
    papers.reproduce([short, long], engine=Listed())
    assert set(lasted) == {10.0, 11.0}
    assert lasted == sorted(lasted, reverse=True)


def test_every_experiment_that_ships_can_be_planned_whole_and_quick():
    from ackclock.papers.reproduction import ExperimentInProgress

    shipped = [e for paper in papers.catalogue() for e in paper.experiments]
    assert shipped
    for experiment in shipped:
        for one in (experiment, experiment.reduced()):
            work = ExperimentInProgress(one, None, Simulator())
            assert repetitions.count(work.points()) >= one.repetitions * bool(work.samples.conditions())


def test_ids_are_unique_and_begin_with_their_paper():
    shipped = [e for paper in papers.catalogue() for e in paper.experiments]
    ids = [e.id for e in shipped] + [c.id for e in shipped for c in e.claims]
    assert len(set(ids)) == len(ids)
    assert all(e.id.startswith(f"{e.paper}-") for e in shipped)


FAMILY = """
[[claims]]
id = "demo-{flow}-{until}"
kind = "reported-number"
text = "{flow} until {until} s"
unit = "{{bit/s}}"
source = "table 1, row {until}"
columns = ["flow", "until", "reported", "low", "high"]
rows = [["a", "6", 4e6, 3e6, 5e6], ["b", "8", 3e6, 2.5e6, 2.9e6]]
[claims.measure]
metric = "goodput"
run = "one"
flow = "{flow}"
from = "4s"
to = "{until}s"
where = { "path.loss" = "1%" }
"""


def measured(experiment):
    """Samples of all that the claims and tables of an experiment need, from three repetitions by hand."""
    samples = Samples()
    groups = [group for claim in experiment.claims for group in expressions(claim, experiment)]
    wanted = [measure for group in groups for measure in group] + tables(experiment)
    for one in wanted:
        for condition, sample in one.demands():
            samples.want(condition, sample)
    for condition in samples.conditions():
        for repetition in range(3):
            samples.add(condition, repetition, handmade())
    return samples


def test_an_entry_with_rows_stands_for_a_claim_a_row(tmp_path):
    experiment = read(tmp_path, EXPERIMENT + FAMILY)
    _, first, second = experiment.claims
    assert (first.id, first.text, first.unit) == ("demo-a-6", "a until 6 s", "{bit/s}")
    assert (second.id, second.source, second.reported) == ("demo-b-8", "table 1, row 8", 3e6)
    samples = measured(experiment)
    # a delivers 4 Mbit/s throughout. b delivers 2 Mbit/s for 2 s and 4 Mbit/s for 2 s, which its band leaves
    # out.
    found = [judge(claim, expressions(claim, experiment), samples) for claim in (first, second)]
    assert [(j.measured, j.verdict) for j in found] == [
        (pytest.approx(4e6), "pass"),
        (pytest.approx(3e6), "miss"),
    ]


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('"b", "8", 3e6', '"b", 3e6', "claims.1, row 1: must be a list of 5, one for each of `columns`"),
        ("{flow} until", "{flaw} until", "`{flaw} until {until} s` has a blank that is none of flow, until"),
        ("{flow} until", "{flow until", "has a blank that is none of"),
        ("columns =", "column =", "claims.1: `columns` and `rows` must be lists"),
        ('"reported", "low"', '"unit", "low"', "claims.1: `unit` is both a key and a column"),
        ("4e6, 3e6, 5e6", "4e6, 3e6, 2e6", "claims.1, row 0: low = 3e+06 is above high = 2e+06"),
    ],
)
def test_a_mistake_in_a_family_is_told_with_its_row(tmp_path, old, new, sentence):
    assert old in FAMILY
    with pytest.raises(CaseError) as error:
        read(tmp_path, EXPERIMENT + FAMILY.replace(old, new, 1))
    assert sentence in str(error.value)


TABLE = """
[[tables]]
name = "both"
title = "Both flows"
heading = "flow"
columns = [
  { label = "goodput", claim = "demo-{id}" },
  { label = "RTT (ms)", measure = { metric = "rtt_percentile", percentile = 50, run = "one", \
flow = "{flow}", where = { "path.loss" = "1%" }, from = "{from}s", to = "3s" } },
]
rows = [
  { label = "first", id = "a-6", flow = "a", from = "1" },
  { label = "second", id = "b-8", flow = "b", from = "1" },
]
"""


def test_a_table_has_measured_and_reported_numbers_or_a_dash(tmp_path):
    experiment = read(tmp_path, EXPERIMENT + FAMILY + TABLE)
    samples = measured(experiment)
    (shown,) = tables(experiment)
    assert shown.headings == ("flow", "goodput", "RTT (ms)")
    # The RTT of a climbs from 50 to 70 ms between 1 and 3 s. b has none before 5 s.
    assert shown.rows(samples) == [
        ["first", "4000000 (4000000)", "60"],
        ["second", "3000000 (3000000)", "-"],
    ]
    assert shown.values(samples).to_pylist()[1:3] == [
        {"row": "first", "column": "RTT (ms)", "measured": 60.0, "reported": None},
        {"row": "second", "column": "goodput", "measured": pytest.approx(3e6), "reported": "3000000.0"},
    ]
    assert markdown(("a", "b"), [["1|2", "3"]]) == "| a | b |\n| --- | --- |\n| 1/2 | 3 |\n"


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('title = "Both', 'titel = "Both', "table both: unknown key `titel`"),
        ('claim = "demo-{id}"', 'claim = "demo-{flow}"', "first, goodput: there is no claim `demo-a`"),
        ('label = "goodput", claim', 'label = "goodput", claims', "either a `claim` or a `measure`"),
        ("percentile = 50", 'percentile = "{half}"', "`{half}` has a blank that is none of label, id"),
    ],
)
def test_a_mistake_in_a_table_gives_a_sentence(tmp_path, old, new, sentence):
    assert old in TABLE
    experiment = read(tmp_path, EXPERIMENT + FAMILY + TABLE.replace(old, new, 1))
    with pytest.raises(CaseError) as error:
        tables(experiment)
    assert sentence in str(error.value)


def test_figures_and_tables_of_an_experiment_have_different_names(tmp_path):
    with pytest.raises(CaseError, match="two figures or tables have the same `name`"):
        read(tmp_path, EXPERIMENT + FAMILY + TABLE.replace('"both"', '"time"'))


def test_the_experiments_of_da1992_come_out_to_the_packet():
    chosen = papers.select(papers.catalogue(), ["da1992"])
    done = papers.reproduce([experiment.reduced() for experiment in chosen])
    judged = [j for result in done.results for j in result.judgements]
    assert [j.claim.id for j in judged if j.verdict == "miss"] == []
    assert [sum(j.word == v for j in judged) for v in ("pass", "trivial")] == [133, 16]
    # The first two rows of table 2 for DA: 976, 965, 996 and 1004 are printed.
    [table2] = [result for result in done.results if result.experiment.id == "da1992-table2"]
    [readings] = [one for one in table2.tables if one.table.name == "readings"]
    assert readings.rows[0][:5] == ["DA as decided", "976", "964", "999", "1001"]
    # The pages have these values, except for the emulation, which has fewer repetitions here.
    exact = [experiment for experiment in chosen if experiment.id != "da1992-sec6-internet"]
    file = Path(__file__).parents[2] / "measurements" / "papers" / "da1992.json"
    assert published.judgements(exact, published.read(file)) == [
        j
        for result in done.results
        if result.experiment.id != "da1992-sec6-internet"
        for j in result.judgements
    ]


def test_experiments_are_selected_by_id_or_paper():
    catalogue = papers.catalogue()
    assert [e.id for e in papers.select(catalogue, ["cdg2011-fig4"])] == ["cdg2011-fig4"]
    assert len(papers.select(catalogue, ["cdg2011"])) == 8
    with pytest.raises(CaseError, match="no experiment `cdg2011-fig44`; did you mean `cdg2011-fig4`"):
        papers.select(catalogue, ["cdg2011-fig44"])


def test_quick_experiments_of_siad_pass_their_claims():
    chosen = ["intro-newreno-5to10g", "fig1", "fig2", "fig9", "srtt-only", "nonlinear-increase"]
    experiments = papers.select(papers.catalogue(), [f"siad2016-{name}" for name in chosen])
    done = papers.reproduce([experiment.reduced() for experiment in experiments])
    verdicts = {claim["id"]: claim["verdict"] for e in done.as_json()["experiments"] for claim in e["claims"]}
    assert {name: verdict for name, verdict in verdicts.items() if verdict not in ("pass", "trivial")} == {
        "siad2016-nonlinear-increase-c1": "informative",
        # With the smoothed RTT the decrease is as accurate as without, reported as less accurate.
        "siad2016-srtt-only-c2": "miss",
    }
