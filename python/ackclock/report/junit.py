"""JUnit XML: verdicts as systems for continuous integration show them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from xml.etree import ElementTree

from ackclock.printable import printable
from ackclock.report.files import write_whole
from ackclock.verdict import NOT_JUDGED, Verdict


@dataclass(frozen=True)
class Entry:
    """One test case of JUnit."""

    group: str
    """The test class in JUnit: an experiment, a group of situations, the folder of a script."""
    name: str
    verdict: Verdict
    why: str = ""
    """The reason for any verdict but a pass, one sentence."""
    seconds: float = 0.0
    raised: bool = False
    """True for an error in place of a failure: there is no verdict."""


def _kind(one: Entry) -> str:
    """The element of an entry, or the empty text for one that passes."""
    return "error" if one.raised else {"miss": "failure", NOT_JUDGED: "skipped"}.get(one.verdict, "")


def write(file: Path, suite: str, cases: Sequence[Entry]) -> None:
    """Writes or replaces a file with one test suite."""
    kinds = Counter(map(_kind, cases))
    counts = {"tests": str(len(cases)), "failures": str(kinds["failure"]), "errors": str(kinds["error"])}
    counts["skipped"] = str(kinds["skipped"])
    total = f"{sum(one.seconds for one in cases):.3f}"
    root = ElementTree.Element("testsuites", counts | {"time": total})
    inside = ElementTree.SubElement(root, "testsuite", {"name": suite, **counts, "time": total})
    for one in cases:
        about = {"classname": one.group, "name": one.name, "time": f"{one.seconds:.3f}"}
        case = ElementTree.SubElement(
            inside, "testcase", {key: printable(text) for key, text in about.items()}
        )
        if kind := _kind(one):
            inner = ElementTree.SubElement(case, kind, message=printable(one.why))
            inner.text = None if kind == "skipped" else printable(one.why)
    ElementTree.indent(root)
    write_whole(
        file, '<?xml version="1.0" encoding="UTF-8"?>\n' + ElementTree.tostring(root, "unicode") + "\n"
    )
