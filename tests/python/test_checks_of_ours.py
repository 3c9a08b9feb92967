"""`ackclock check` of our own controllers: the runs give the committed verdicts.

`UPDATE_DOCS=1 pytest tests/python/test_checks_of_ours.py` writes the verdicts of some, and of all that are
new. `CHECKED=all` checks every one, which takes minutes. The pages of the controllers show them.
"""

import json
import os
import shlex

import pytest

import ackclock
import pages
from ackclock import checks
from ackclock.checks import suites
from ackclock.engines import registry
from ackclock.report import number
from ackclock.verdict import NOT_JUDGED
from pages import measure
from pages.makers.checked import FILE

UPDATE = os.environ.get("UPDATE_DOCS") == "1"
SOME = ("newreno", "bbr3", "c4", "dctcp", "ledbat")
EVERY = [one["name"] for one in ackclock.controllers()]


def checked(name):
    target = checks.target(name, rule_sets=checks.rule_sets())
    engine = registry.make("sim")
    every = [*checks.laws(), *(case for rules in target.rules for case in checks.rules(rules))]
    cases = [case for case in every if target.aim in case.aims and not case.long]
    found = [*checks.check(cases, target, engine), *suites.check(target, engine, 1)]
    missed = [
        {
            "id": one.claim.id,
            "measure": one.claim.text,
            "measured": number(one.measured, 2),
            "allowed": one.allowed,
        }
        for one in found
        if one.verdict == "miss"
    ]
    return {"bounds": sum(one.verdict != NOT_JUDGED for one in found), "missed": missed}


def committed():
    file = pages.MEASUREMENTS / FILE
    return json.loads(file.read_text())["controllers"] if file.exists() else {}


def write(found):
    head = measure.head(shlex.split("UPDATE_DOCS=1 CHECKED=all pytest tests/python/test_checks_of_ours.py"))
    head["machine"] = "simulated, the same on every machine"
    document = head | {"controllers": dict(sorted(found.items()))}
    (pages.MEASUREMENTS / FILE).write_text(json.dumps(document, indent=1) + "\n")
    pages.measurements.forget()


@pytest.mark.skipif(not UPDATE, reason="writes with UPDATE_DOCS=1")
def test_verdicts_are_written():
    before = committed()
    names = EVERY if os.environ.get("CHECKED") == "all" else [*SOME, *(set(EVERY) - set(before))]
    found = {name: one for name, one in before.items() if name in EVERY}
    found |= {name: checked(name) for name in names}
    if found != before:
        write(found)


@pytest.mark.parametrize("name", SOME)
def test_the_committed_verdicts_are_those_of_the_runs(name):
    assert committed()[name] == checked(name)


def test_every_controller_has_verdicts():
    assert set(committed()) == set(EVERY)
