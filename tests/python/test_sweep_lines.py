"""Sweeps over a file of lines: its columns, the lines that are counted, and the worst ones."""

from __future__ import annotations

import json
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest

import ackclock
from ackclock.errors import InputError
from ackclock.sweeps.axes import Design
from ackclock.sweeps.fleet import Fleet, Group
from ackclock.sweeps.lines import Condition, parse_over, read
from ackclock.sweeps.metrics import METRICS
from ackclock.sweeps.result import Sweep
from calling import refused, run

HOMES = """\
# from the register
name,rate_mbit,rtt_ms,path.reverse.rate_kbit,loss_percent,"town, county"
a,10,20,1000,0,"Troy, NY"
b,20,40,2000,0.1,Y
b,20,40,2000,0.1,Y
"""


def written(tmp_path, text=HOMES):
    file = tmp_path / "homes.csv"
    file.write_text(text, "utf-8")
    return file


def test_columns_are_keys_with_units_or_the_names_of_lines(tmp_path):
    axis = read(written(tmp_path))
    assert axis.keys[: axis.labels] == ("line", "name", "town, county")
    assert axis.keys[axis.labels :] == ("path.rate", "path.rtt", "path.reverse.rate", "path.loss")
    assert axis.values[0] == ("1", "a", "Troy, NY", "10mbit", "20ms", "1000kbit", "0%")
    # Equal lines are two places.
    assert axis.values[1][1:] == axis.values[2][1:]
    design = Design((axis, parse_over("queue=1bdp,5bdp")))
    assert len(design) == 6
    assert design.overrides(next(design.points())) == {
        "path.rate": "10mbit",
        "path.rtt": "20ms",
        "path.reverse.rate": "1000kbit",
        "path.loss": "0%",
        "path.queue": "1bdp",
    }
    assert "name" not in dict(design.settings())
    units = read(written(tmp_path, "rate;queue_packets;flows.0.transport.rto_min\n1mbit;9;1s\n"))
    assert units.values == (("1", "1mbit", "9p", "1s"),)
    assert units.keys[3] == "flows.0.transport.rto_min"


REGISTER = """\
Line ID;Town;Downstream (Mbit/s);Upstream [kbit/s];RTT (ms);Buffer [ms];Loss (%)
L1;Köln;93,4;1024;12,5;500;0,1
"""


def test_columns_may_be_spelled_as_registers_and_speed_tests_do(tmp_path):
    axis = read(written(tmp_path, REGISTER))
    assert axis.keys == (
        *("line", "Line ID", "Town"),
        *("path.rate", "path.reverse.rate", "path.rtt", "path.queue", "path.loss"),
    )
    assert axis.values == (("1", "L1", "Köln", "93.4mbit", "1024kbit", "12.5ms", "500ms", "0.1%"),)
    axis = read(written(tmp_path, "download_Mbps,upload_mbps,ping_ms,down\n100,20,9,a\n"))
    assert axis.values == (("1", "a", "100mbit", "20mbit", "9ms"),)
    # Two columns of one key are refused, and a quantity without a unit is the file's own.
    with pytest.raises(InputError, match=r"the column path\.rate is there twice"):
        read(written(tmp_path, "rate_mbit,Download (Mbit/s)\n1,2\n"))
    assert read(written(tmp_path, "rate_mbit,Download\n1,2\n")).labels == 2


def test_a_column_with_a_unit_that_is_no_key_is_named(tmp_path, capsys):
    file = written(tmp_path, "ID;Town (old);Downstream (Mbit/s);CPE buffer [ms];modem_ms\n1;Ulm;5;9;3\n")
    status, _, err = run(capsys, "sweep", "cubic", "--lines", file, "--duration", "1s")
    assert (status, "note: no key of a scenario is `CPE buffer [ms]`, `modem_ms`: the" in err) == (0, True)
    file.write_text(HOMES, "utf-8")
    assert "no key" not in run(capsys, "sweep", "cubic", "--lines", file, "--duration", "1s")[2]


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("", "is empty"),
        ("rate_mbit\n", "has a header and no lines"),
        ("name,city\na,b\n", "has no column that is a key of a scenario, like rate_mbit or rtt_ms, among"),
        ("rate_mbit,rtt_ms\n1,2\n3\n", "line 3: has 1 cells, not the 2 of the header"),
        ("rate_mbit,rtt_ms\n1,\n", "line 2: rtt_ms is empty"),
        ("rate_mbit,path.rate\n1,2mbit\n", "the column path.rate is there twice"),
        ("rate_mbit,line\n1,7\n", "the column line is there twice"),
        ("rate_mbit,loss\n1,1\n", "a bare number may mean a percentage or a share"),
    ],
)
def test_files_without_lines_are_one_sentence(tmp_path, text, words):
    file = written(tmp_path, text)
    with pytest.raises(InputError) as caught:
        read(file)
    assert str(caught.value).startswith(str(file))
    assert words in str(caught.value)


def test_a_condition_is_a_metric_and_a_bound():
    assert Condition.read("loss > 1.5") == Condition("loss", True, 1.5)
    assert str(Condition.read("goodput<10")) == "goodput of all flows below 10 Mbit/s"
    for wrong in ("delay>1", "loss", "loss=1", "loss>x"):
        with pytest.raises(InputError, match="must be METRIC>NUMBER or METRIC<NUMBER"):
            Condition.read(wrong)
    with pytest.raises(InputError, match="needs a file, as in lines=homes"):
        parse_over("lines=")


def fleet(values, conditions):
    """A fleet of one controller, whose lines have these values of ``queue_delay``."""
    lines = "".join(f"{number},{number % 3}\n" for number in range(1, len(values) + 1))
    with TemporaryDirectory() as folder:
        axis = read(written(Path(folder), f"rate_mbit,name\n{lines}"), conditions)
    of = {str(line): {"queue_delay": value} for line, value in enumerate(values, 1)}
    return Fleet(axis, {Group("cubic", (("path.queue", "1bdp"),)): of})


def test_lines_are_counted_and_the_worst_come_first():
    of = fleet([float(value) for value in range(100, -1, -1)], ["queue_delay>90", "queue_delay<0.5"])
    [group] = of.groups
    # 101 values from 0 to 100: the quantile in percent is its own value.
    assert of.quantiles(group, "queue_delay") == [5.0, 25.0, 50.0, 75.0, 95.0, 99.0]
    assert of.quantiles(group, "loss") == []
    # 91 to 100, and 0.
    assert [of.count(group, one) for one in of.conditions] == [(10, 101), (1, 101)]
    assert of.sentences() == [
        "mean queueing delay above 90 ms: cubic, queue=1bdp: 10 of 101 lines (9.9 %)",
        "mean queueing delay below 0.5 ms: cubic, queue=1bdp: 1 of 101 lines (1.0 %)",
    ]
    worst = of.worst()
    assert (len(worst), worst[0], worst[-1]) == (20, ("1", [100.0]), ("20", [81.0]))
    # A line at the bound is neither above nor below.
    assert fleet([5.0, 5.0], ["queue_delay>5"]).sentences()[0].endswith("0 of 2 lines (0.0 %)")
    least = fleet([3.0, 1.0, 2.0], ["queue_delay<10"]).worst()
    assert [line for line, _ in least] == ["2", "3", "1"]


def test_a_sweep_over_lines_answers_in_tables_page_and_json(capsys, tmp_path):
    out = tmp_path / "out"
    file = written(tmp_path)
    status, printed, said = run(
        capsys, "sweep", "cubic", "--lines", file, "--over", "queue=1bdp,50ms",
        "--duration", "1s", "--set", "path.reverse.queue=50p", "--out", out, "--json",
    )  # fmt: skip
    assert status == 0
    document = json.loads(printed)["sweep"]
    assert len(document["rows"]) == 6
    assert document["rows"][0]["point"]["town, county"] == "Troy, NY"
    answers = document["lines"]
    assert {one["metric"] for one in answers["quantiles"]} == set(METRICS)
    assert [(one["point"], one["of"]) for one in answers["conditions"]] == [
        ({"path.queue": "1bdp"}, 3),
        ({"path.queue": "50ms"}, 3),
    ]
    assert {one["name"] for one in answers["worst"]} == {"a", "b"}
    assert "quantiles over 3 lines" in said
    assert (out / "map.png").exists()
    assert "Troy, NY" in (out / "index.html").read_text("utf-8")
    again = Sweep.load(out)
    assert again.design.lines is not None
    assert again.design.lines.conditions == ("queue_delay_p95>100",)
    # `name` is a column of flows.
    assert again.runs["scenario.name"].to_pylist() == ["a", "a", "b", "b", "b", "b"]
    assert Fleet.of(again).described() == answers


def test_the_line_of_a_wrong_value_is_named(capsys, tmp_path):
    file = written(tmp_path, "name,rate_mbit,rtt\na,10,40ms\nb,10,40\n")
    said = refused(capsys, "sweep", "cubic", "--over", f"lines={file}", "--duration", "1s")
    assert "path.rtt: invalid type: integer `40`, expected a time" in said
    assert said.strip().endswith("at line=2, name=b")


def test_python_takes_a_file_of_lines(tmp_path):
    path = ackclock.Path("10mbit", rtt="20ms", queue="1bdp")
    swept = ackclock.sweep(path, ["cubic"], over={"lines": written(tmp_path)}, duration="1s")
    assert len(Fleet.of(swept).groups[Group("cubic", ())]) == 3
    assert swept.plot("queue_delay").axes[0].get_ylabel() == "lines (%)"
