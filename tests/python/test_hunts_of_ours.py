"""`ackclock check --hunt` of our own controllers: the search gives the committed findings.

`UPDATE_DOCS=1 pytest tests/python/test_hunts_of_ours.py` writes the findings of some, and of all that are
new. `HUNTED=all` hunts every one, which takes minutes. The page of the hunts shows them.
"""

import json
import os
import shlex

import pytest

import ackclock
import pages
from ackclock import checks, hunting
from ackclock.engines import registry
from pages import measure
from pages.makers.hunts import FILE, classes

UPDATE = os.environ.get("UPDATE_DOCS") == "1"
SOME = ("cubic", "vegas")
EVERY = [one["name"] for one in ackclock.controllers()]
TRIES = 128


def hunted(name):
    search = hunting.Search(hunting.Weaknesses(checks.target(name), registry.make("sim")), 1)
    found = search.run(lambda: search.tried < TRIES)
    return [
        {
            "class": one.kind,
            "kind": one.condition.kind,
            "weakness": f"{one.weakness:.2f}",
            "survives": f"{one.survives} of {hunting.NOISES}",
            "condition": one.condition.words,
        }
        for one in found
    ]


def committed():
    file = pages.MEASUREMENTS / FILE
    return json.loads(file.read_text())["controllers"] if file.exists() else {}


def write(found):
    head = measure.head(shlex.split("UPDATE_DOCS=1 HUNTED=all pytest tests/python/test_hunts_of_ours.py"))
    head["machine"] = "simulated, the same on every machine"
    document = head | {"tries": TRIES, "controllers": dict(sorted(found.items()))}
    (pages.MEASUREMENTS / FILE).write_text(json.dumps(document, indent=1) + "\n")
    pages.measurements.forget()


@pytest.mark.skipif(not UPDATE, reason="writes with UPDATE_DOCS=1")
def test_findings_are_written():
    before = committed()
    names = EVERY if os.environ.get("HUNTED") == "all" else [*SOME, *(set(EVERY) - set(before))]
    found = {name: one for name, one in before.items() if name in EVERY}
    for name in names:
        found[name] = hunted(name)
        write(found)


@pytest.mark.parametrize("name", SOME)
def test_the_committed_findings_are_those_of_the_search(name):
    assert committed()[name] == hunted(name)


def test_every_controller_was_hunted_and_every_finding_has_a_class():
    found = committed()
    assert set(found) == set(EVERY)
    classes(found)
