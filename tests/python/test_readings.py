"""Readings: other choices for the whole of a paper, and how near each comes to it."""

import dataclasses
import json
import re

import pytest

from ackclock import papers
from ackclock.cases.model import Judgement
from ackclock.papers import published
from ackclock.papers.catalogue import read_paper
from ackclock.papers.closeness import by_reading, closeness, depending, in_words, under_readings
from ackclock.papers.readings import DEFAULT
from calling import refused, run
from experiments import EXPERIMENT, read

PAPER = """
id = "demo"
title = "A demonstration"
authors = "A. Uthor"
year = 2000
venue = "here"
experiments = ["fig1"]

[[readings]]
name = "the other half"
sets = "goodput from 4 s on"
passage = "section 1 does not say when"
arguments = { goodput = { from = ["2s", "4s"] } }

[[readings]]
name = "one segment"
sets = "a limited window"
passage = "section 1 gives no window"
flows = [{ cc = ["newreno"], named = ["a"], transport = { receive_window = 1 } }]
"""


@pytest.fixture
def demo(tmp_path):
    (tmp_path / "demo").mkdir()
    (tmp_path / "demo" / "fig1.toml").write_text(EXPERIMENT)
    (tmp_path / "demo" / "paper.toml").write_text(PAPER)
    return read_paper(tmp_path / "demo")


def test_a_reading_changes_the_flows_and_measures_that_it_names(demo):
    [experiment], (half, segment) = demo.experiments, demo.readings
    measured = experiment.under(half)
    assert measured.claims[0].measure["from"] == "4s"
    assert (measured.setups, measured.figures, measured.tables) == (experiment.setups, (), ())
    first, second = experiment.under(segment).setup("one").scenario["flows"]
    assert first["transport"] == {"receive_window": 1}
    assert "transport" not in second
    assert experiment.setup("one").scenario["flows"][0].get("transport") is None


def test_an_experiment_that_a_reading_leaves_alone_is_not_run_again(demo):
    [experiment], (half, segment) = demo.experiments, demo.readings
    assert experiment.under(dataclasses.replace(half, arguments={"goodput": {"from": ["3s", "4s"]}})) is None
    assert experiment.under(dataclasses.replace(segment, flows=[{"cc": ["cubic"], "start": "1s"}])) is None
    assert experiment.under(dataclasses.replace(segment, experiments=["fig2"])) is None
    assert experiment.under(dataclasses.replace(segment, experiments=["fig1"])) is not None


def test_wireless_networks_are_changed_all_at_once(demo):
    reading = dataclasses.replace(demo.readings[1], flows=[], wlans={"queue": "9p"})
    text = EXPERIMENT.replace("[scenario]\n", "[scenario]\nwlans = [{ stations = 2, queue = '5p' }]\n", 1)
    changed = read(demo.experiments[0].file.parent, text).under(reading)
    assert changed.setups[0].scenario["wlans"] == [{"stations": 2, "queue": "9p"}]


def test_the_path_keeps_what_a_reading_does_not_set(demo):
    [experiment] = demo.experiments
    reading = dataclasses.replace(demo.readings[1], flows=[], path={"reorder": True})
    before = experiment.setups[0].scenario["path"]
    assert experiment.under(reading).setups[0].scenario["path"] == {**before, "reorder": True}


@pytest.mark.parametrize(
    ("old", "new", "sentence"),
    [
        ('name = "one segment"', 'name = "the other half"', "must be text of its own"),
        ('name = "one segment"', 'name = "default"', "must be text of its own"),
        ('sets = "a limited window"', "", "`sets` is missing"),
        ('cc = ["newreno"]', 'cc = "newreno"', "cc = 'newreno' must be a list of names"),
        ('from = ["2s", "4s"]', 'from = "4s"', "must give each argument its old and its new value"),
        ('arguments = { goodput = { from = ["2s", "4s"] } }', "", "sets nothing"),
        ('passage = "section 1 gives no window"', 'passages = ""', "`passage` is missing"),
    ],
)
def test_a_mistake_in_a_reading_gets_a_sentence(tmp_path, old, new, sentence):
    assert old in PAPER
    (tmp_path / "fig1.toml").write_text(EXPERIMENT)
    (tmp_path / "paper.toml").write_text(PAPER.replace(old, new, 1))
    with pytest.raises(papers.CaseError) as error:
        read_paper(tmp_path)
    assert sentence in str(error.value)
    assert "readings." in str(error.value)


def judged(claim, identity, measured, verdict, **changes):
    return Judgement(dataclasses.replace(claim, id=identity, **changes), measured, verdict)


def test_the_mean_error_is_over_numbers_that_every_reading_measures(demo):
    claim = dataclasses.replace(demo.experiments[0].claims[0], reported=10.0)
    default = [
        judged(claim, "a", 12.0, "pass"),
        judged(claim, "b", 5.0, "miss"),
        judged(claim, "c", 3.0, "pass", kind="ordering", reported="greater"),
        judged(claim, "d", 9.0, "trivial"),
        judged(claim, "e", 11.0, "pass"),
    ]
    other = {"a": judged(claim, "a", 11.0, "pass"), "e": judged(claim, "e", None, "miss")}
    found = by_reading(default, {"other": other})
    first, second = closeness(found)
    # a is off by 20 % and b by 50 %. The other reading has no value of e.
    assert (str(first.inside), first.error, str(first.holds)) == ("2 of 3", pytest.approx(0.35), "3 of 4")
    assert (str(second.inside), second.error, str(second.holds)) == ("1 of 3", pytest.approx(0.3), "2 of 4")
    assert first.row() == [DEFAULT, "2 of 3", "35.00 %", "3 of 4"]
    [(name, verdicts)] = depending(found).items()
    assert name == "e"
    assert [in_words(*one) for one in verdicts] == ["default: 11 (pass)", "other: - (miss)"]


def test_readings_are_run_beside_the_default_and_published(demo, tmp_path):
    done = under_readings([demo], [one.reduced() for one in demo.experiments], seed=5)
    assert [result.experiment.id for result in done.results] == ["demo-fig1"]
    assert {name: list(found) for name, found in done.readings.items()} == {
        "the other half": ["demo-c1"],
        "one segment": ["demo-c1"],
    }
    file = tmp_path / "demo.json"
    published.write(file, done, ["--readings"])
    names = [reading.name for reading in demo.readings]
    assert published.readings(demo.experiments, names, json.loads(file.read_text())) == done.readings


def test_the_command_prints_how_near_each_reading_comes(capsys, demo, tmp_path):
    folder = demo.experiments[0].file.parent
    command = ("reproduce", f"{folder}/", "--quick", "--readings", "--out")
    _, shown, _ = run(capsys, *command, tmp_path / "report")
    assert "numbers inside" in shown
    assert "the other half" in shown
    assert (tmp_path / "report" / "readings.md").exists()
    assert json.loads(run(capsys, *command, tmp_path / "again", "--json")[1])["readings"]["one segment"]
    assert "cannot be combined with --shake" in refused(capsys, *command, tmp_path / "x", "--shake", 2)
    (folder / "paper.toml").write_text(PAPER[: PAPER.index("[[readings]]")])
    assert "none of these papers lists" in refused(capsys, *command, tmp_path / "y")


def test_a_report_begins_with_links_to_its_experiments_and_counts_misses(capsys, demo, tmp_path):
    folder = demo.experiments[0].file.parent
    # The same experiment with a band that no goodput of 8 Mbit/s is in.
    other = EXPERIMENT.replace("demo-", "demo-other-").replace("low = 3.0e6", "low = 9.0e6")
    other = other.replace("high = 5.0e6", "high = 9.9e6")
    (folder / "fig2.toml").write_text(other)
    text = (folder / "paper.toml").read_text().replace('["fig1"]', '["fig1", "fig2"]')
    (folder / "paper.toml").write_text(text)
    _, out, _ = run(capsys, "reproduce", f"{folder}/", "--quick", "--json", "--out", tmp_path / "report")
    page = (tmp_path / "report" / "index.html").read_text()
    entries = re.findall(r'<li><a href="#(.*?)">(.*?)</a>(.*?)</li>', page)
    for (anchor, title, remark), one in zip(entries, json.loads(out)["experiments"], strict=True):
        assert (anchor, title) == (one["id"], f"{one['id']}: A demonstration")
        assert f'<h2 id="{anchor}">' in page
        verdicts = [claim["verdict"] for claim in one["claims"]]
        missed = f"{verdicts.count('miss')} of {len(verdicts)} claims miss"
        assert (missed in remark) == ("miss" in verdicts)
    assert [bool(remark) for _, _, remark in entries] == [False, True]
