"""Published measurements of papers: the file that a run writes, and the documentation from it."""

import json
import platform
from dataclasses import replace
from math import inf

import pytest

import pages
from ackclock import papers
from ackclock.cases.model import Count
from ackclock.errors import InputError
from ackclock.papers import published
from ackclock.verdict import NOT_JUDGED
from calling import refused, run
from experiments import EXPERIMENT, read

PAPERS = [paper.id for paper in papers.catalogue()]


def written(path, done, options=()):
    published.write(path, done, list(options))
    return json.loads(path.read_text())


def test_a_file_has_a_head_and_every_claim_s_value(tmp_path):
    experiment = read(tmp_path, EXPERIMENT)
    done = papers.reproduce([experiment.reduced()])
    document = written(tmp_path / "new" / "demo.json", done, ["--quick"])
    assert document["command"].startswith("ackclock reproduce demo --quick --measurements ")
    assert document["options"] == ["--quick"]
    [(name, claims)] = [(one, found["claims"]) for one, found in document["experiments"].items()]
    [judgement] = done.results[0].judgements
    assert (name, claims) == ("demo-fig1", {judgement.claim.id: {"measured": judgement.measured}})
    assert published.judgements([experiment], document) == [judgement]


@pytest.mark.parametrize(("engine", "named"), [("live", True), ("uml", False), ("linux", False)])
def test_the_machine_of_a_real_time_engine_has_its_kernel(tmp_path, engine, named):
    done = papers.reproduce([read(tmp_path, EXPERIMENT).reduced()])
    done.others[engine] = papers.reproduce([read(tmp_path, EXPERIMENT).reduced()])
    machine = written(tmp_path / "demo.json", done)["machine"]
    assert (f"{platform.system()} {platform.release()}, " in machine) == named
    assert machine.endswith(published.machine())


def test_readings_have_the_claims_that_they_change(tmp_path):
    done = papers.reproduce([read(tmp_path, EXPERIMENT).reduced()])
    [judged] = done.results[0].judgements
    elsewhere = replace(judged, claim=replace(judged.claim, id="demo-other"))
    done.readings = {
        "half": {"demo-c1": replace(judged, measured=9e6), "demo-other": elsewhere},
        "counted": {"demo-c1": replace(judged, measured=-inf, holds=Count(2, 3))},
        # Of another experiment, so this one has nothing of it.
        "other": {"demo-other": elsewhere},
    }
    found = written(tmp_path / "demo.json", done)["experiments"]["demo-fig1"]
    assert found["readings"] == {"half": {"demo-c1": [9e6]}, "counted": {"demo-c1": ["-inf", 2, 3]}}


def test_counts_and_values_of_others_are_beside_the_measured_one(tmp_path):
    done = papers.reproduce([read(tmp_path, EXPERIMENT).reduced()])
    [judged] = done.results[0].judgements
    done.results[0].judgements[0] = replace(
        judged, measured=inf, holds=Count(1, 3), counted=Count(2, 3), unmeasured="no loss"
    )
    done.others["live"] = papers.reproduce([])
    done.others["live"].results = [replace(done.results[0], judgements=[replace(judged, measured=3e6)])]
    done.perturbed.append(papers.reproduce([read(tmp_path, EXPERIMENT).reduced()]))
    [claim] = written(tmp_path / "demo.json", done)["experiments"]["demo-fig1"]["claims"].values()
    assert claim == {
        "measured": "inf", "live": 3e6, "holds": [1, 3], "counted": [2, 3], "shaken": [1, 1],
        "why": "no loss",
    }  # fmt: skip


def test_what_did_not_run_again_keeps_its_values(tmp_path):
    done = papers.reproduce([read(tmp_path, EXPERIMENT).reduced()])
    file = tmp_path / "demo.json"
    before = written(file, done)
    before["experiments"] = {"demo-fig2": {"claims": {"demo-fig2-c1": {"measured": 3.0}}}}
    file.write_text(json.dumps(before))
    assert list(written(file, done)["experiments"]) == ["demo-fig2", "demo-fig1"]
    with pytest.raises(InputError, match="was measured with no option; remove it"):
        published.write(file, done, ["--quick"])


@pytest.mark.parametrize(
    ("text", "sentence"),
    [("", "Expecting value"), ("[]", "is no file of measurements"), ("{}", "is no file")],
)
def test_another_file_is_not_overwritten(tmp_path, text, sentence):
    done = papers.reproduce([read(tmp_path, EXPERIMENT).reduced()])
    file = tmp_path / "other.json"
    file.write_text(text)
    with pytest.raises(InputError, match=sentence):
        published.write(file, done, [])
    assert file.read_text() == text


def test_claims_of_infinity_and_over_sets_are_judged_as_before(tmp_path):
    chosen = papers.select(papers.catalogue(), ["da1992-table1", "da1992-fig9"])
    done = papers.reproduce([experiment.reduced() for experiment in chosen])
    document = written(tmp_path / "da1992.json", done)
    table1 = document["experiments"]["da1992-table1"]
    assert table1["claims"]["da1992-table1-c8"] == {"measured": "inf"}
    assert table1["tables"][""][0][0] == "DA source"
    judged = [judgement for result in done.results for judgement in result.judgements]
    assert any(judgement.holds is not None for judgement in judged)
    assert published.judgements(chosen, document) == judged


def test_the_command_line_writes_the_file(capsys, tmp_path):
    file = tmp_path / "claims.json"
    command = ("reproduce", "da1992-table1", "--measurements", file, "--out")
    assert run(capsys, *command, tmp_path / "report")[0] == 0
    document = json.loads(file.read_text())
    assert len(document["experiments"]["da1992-table1"]["claims"]) == 9
    assert "was measured with no option" in refused(capsys, *command, tmp_path / "again", "--seed", 7)


@pytest.mark.parametrize("paper", PAPERS)
def test_claims_have_published_values_and_misses_have_causes(paper):
    _, document = pages.load(f"papers/{paper}.json")
    experiments = papers.select(papers.catalogue(), [paper])
    claims = {claim.id: claim for experiment in experiments for claim in experiment.claims}
    values = {
        name: value for one in document["experiments"].values() for name, value in one["claims"].items()
    }
    assert set(values) <= set(claims)
    # Claims that nothing hangs on may be left out: the thesis's take half an hour of runs.
    missing = [claim for name, claim in claims.items() if name not in values]
    assert [claim.id for claim in missing if not (claim.trivial or claim.cited)] == []
    judged = published.judgements(experiments, document)
    assert [one.claim.id for one in judged if one.word == NOT_JUDGED] == []
    assert [one.claim.id for one in judged if one.verdict == "miss" and not one.claim.why] == []
    silent = [one for one in judged if one.word in ("pass", "miss") and one.measured is None]
    assert [one.claim.id for one in silent if not one.reason] == []
