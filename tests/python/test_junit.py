"""Verdicts as JUnit XML: of claims, packet scripts and cells of parity."""

from pathlib import Path
from xml.etree import ElementTree

import pytest

from ackclock.report.junit import Entry, write
from ackclock.verdict import NOT_JUDGED
from calling import run

SCRIPT = Path(__file__).parents[1] / "packetdrill" / "limited-transmit.pkt"


def read(file):
    """The attributes of the suite, and for each case its name, class, kind of result and message."""
    root = ElementTree.parse(file).getroot()
    (suite,) = root
    assert root.tag == "testsuites"
    assert suite.tag == "testsuite"
    cases = []
    for one in suite:
        (result,) = list(one) or [ElementTree.Element("passed")]
        cases.append((one.get("classname"), one.get("name"), result.tag, result.get("message")))
    return suite.attrib, cases


def test_cases_are_counted_and_escaped(tmp_path):
    cases = [
        Entry("a", "one", "pass", seconds=1.5),
        Entry("a", 'x < "y"\x1b', "miss", "1 & 2\x00"),
        Entry("b", "z", NOT_JUDGED, "no value"),
    ]
    write(tmp_path / "j.xml", "suite", cases)
    about, found = read(tmp_path / "j.xml")
    assert about == {
        "name": "suite",
        "tests": "3",
        "failures": "1",
        "errors": "0",
        "skipped": "1",
        "time": "1.500",
    }
    assert found == [
        ("a", "one", "passed", None),
        ("a", 'x < "y"\u241b', "failure", "1 & 2\u2400"),
        ("b", "z", "skipped", "no value"),
    ]


def test_scripts_are_cases(capsys, tmp_path):
    text = SCRIPT.read_text()
    (tmp_path / "other.pkt").write_text(text.replace("tcpi_snd_cwnd ==", "tcpi_snd_cwnd == 1 +"))
    (tmp_path / "no.pkt").write_text(text + "\n+0 %{ assert unknown_field == 1 }%\n")
    files = (SCRIPT, tmp_path / "other.pkt", tmp_path / "no.pkt")
    status, _, _ = run(capsys, "replay", *files, "--junit", tmp_path / "j.xml")
    about, cases = read(tmp_path / "j.xml")
    assert (about["tests"], about["skipped"]) == ("3", "1")
    assert cases[0] == (str(SCRIPT.parent), "limited-transmit", "passed", None)
    assert cases[2][:3] == (str(tmp_path), "no", "skipped")
    assert "is not modelled" in cases[2][3]
    assert status == int(about["failures"])


def test_an_experiment_without_runs_has_a_report(capsys, tmp_path):
    # Its claims are about formulas alone.
    status, _, notes = run(capsys, "reproduce", "edwan2010-eq4.22", "--out", tmp_path / "report")
    assert (status, "report:" in notes) == (0, True)
    assert "edwan2010-eq4.22" in (tmp_path / "report" / "index.html").read_text(encoding="utf-8")


def test_claims_are_cases(capsys, tmp_path):
    status, _, _ = run(
        capsys,
        "reproduce",
        "cdg2011-fig4",
        "--quick",
        "--out",
        tmp_path / "out",
        "--junit",
        tmp_path / "j.xml",
    )
    about, cases = read(tmp_path / "j.xml")
    assert about["name"] == "ackclock reproduce"
    assert {group for group, *_ in cases} == {"cdg2011-fig4"}
    assert float(about["time"]) > 0
    assert status == (1 if int(about["failures"]) else 0)


@pytest.mark.usefixtures("kernel")
def test_cells_of_parity_are_cases(capsys, tmp_path):
    few = ("--quick", "--controllers", "newreno", "--duration", "3s", "--warmup", "1s", "--simulations", 2)
    assert run(capsys, "kernel", "parity", *few, "--junit", tmp_path / "j.xml")[0] == 0
    about, cases = read(tmp_path / "j.xml")
    assert (about["tests"], len(cases)) == ("1", 1)
    assert cases[0][0].startswith("greedy")
