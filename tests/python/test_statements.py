"""Published statements about controllers beside the measures of `ackclock evaluate`.

The committed table is what the runs give. `UPDATE_DOCS=1 pytest tests/python/test_statements.py` writes it in
minutes. Look at the difference. `docs/evaluate.md` shows it.
"""

import os

import pytest

from ackclock import checks, evaluation
from ackclock.cases.document import CaseError
from ackclock.engines import registry
from ackclock.evaluation import suite
from ackclock.evaluation.document import beside_standards
from ackclock.evaluation.statements import answers, statements
from pages import measure
from pages.measurements import load_csv

UPDATE = os.environ.get("UPDATE_DOCS") == "1"
FILE = "evaluate/statements.csv"
SOME = ("dctcp",)
"""The controllers whose statements every run of the tests judges."""


def rows(controllers):
    known, found = None, []
    for name in controllers:
        measures = {one.measure for one in statements()[name]}
        # The standards run once, so the first evaluation has the cases of all that follow.
        if known is None:
            measures |= {one.measure for other in controllers for one in statements()[other]}
        chosen = [one for one in evaluation.criteria() if any(map(one.takes, measures))]
        done = evaluation.evaluate(chosen, checks.target(name), registry.make("sim"), known=known)
        known = known or done.measures
        for one in answers(done):
            about = one.statement
            found.append(
                {
                    "controller": name,
                    "published statement": about.text,
                    "source": about.source,
                    "measured": f"{beside_standards(one.measure)}"
                    + (f" ({about.variant})" if about.variant else ""),
                    "verdict": one.word,
                }
            )
    return found


@pytest.mark.skipif(not UPDATE, reason="writes with UPDATE_DOCS=1")
def test_write_the_table():
    measure.write_rows(FILE, "UPDATE_DOCS=1 pytest tests/python/test_statements.py", rows(list(statements())))


def test_the_committed_answers_are_those_of_the_runs():
    _, committed = load_csv(FILE)
    assert [row for row in committed if row["controller"] in SOME] == rows(SOME)


def test_at_least_27_published_statements_agree_and_the_others_have_a_reason():
    _, committed = load_csv(FILE)
    assert len(committed) == sum(map(len, statements().values())) >= 30
    other = [row["verdict"] for row in committed if row["verdict"] != "agrees"]
    assert len(committed) - len(other) >= 27
    assert [verdict for verdict in other if ". " not in verdict] == []


def test_a_statement_about_no_measure_is_refused(tmp_path):
    text = (suite.SUITE / "statements.toml").read_text("utf-8")
    for before, after, why in [
        ('measure = "loss/loss"', 'measure = "loss/most"', "there is no measure `loss/most`"),
        ('variant = "1 % random loss"', 'variant = "2 %"', "the case has no variant `2 %`"),
        ('verdict = "worse"', 'verdict = "bad"', "verdict = 'bad' must be one of worse, like, better"),
    ]:
        (tmp_path / "statements.toml").write_text(text.replace(before, after, 1), "utf-8")
        with pytest.raises(CaseError, match=why):
            statements.__wrapped__(tmp_path)
