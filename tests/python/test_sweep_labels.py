"""Sweeps: the controllers, links and points that tables and figures name."""

import ackclock
from ackclock.cli.sweep import SEVERAL_LINKS
from ackclock.sweeps import METRICS
from calling import run

PATH = ackclock.Path("10mbit", rtt="20ms", queue="1bdp")


def test_points_joined_by_hundreds_leave_room_for_their_names():
    lines = [f"{rate}mbit:{rtt}ms" for rate in range(10, 40) for rtt in (20, 40)]
    swept = ackclock.sweep(PATH, ["newreno"], over={"rate:rtt": ",".join(lines)}, duration="100ms")
    names = [label.get_text() for label in swept.plot("goodput").axes[0].get_xticklabels()]
    assert names == [line.replace(":", ", ") for line in lines[::3]]


def test_no_tick_of_a_short_logarithmic_axis_is_a_formula(tmp_path):
    over = {"flows.0.cc": ["cubic", "bbr1", "cdg"]}
    swept = ackclock.sweep(own_file(tmp_path), over=over, duration="5s")
    for name in METRICS:
        figure = swept.plot(name)
        figure.canvas.draw()
        axis = figure.axes[0].yaxis
        assert not [text for text in axis.get_ticklabels(which="both") if "$" in text.get_text()], name
    # 1.7 and 26 ms: the axis of the delays is logarithmic, which has such ticks.
    assert swept.plot("queue_delay").axes[0].get_yscale() == "log"


OWN = """
path = { rate = "10mbit", rtt = "40ms", queue = "1bdp" }
[[flows]]
cc = "cubic"
[[flows]]
cc = "newreno"
kind = "datagram"
source = { rate = "80kbit" }
"""


def own_file(folder):
    file = folder / "own.toml"
    file.write_text(OWN)
    return file


def test_a_run_is_named_by_the_controllers_that_it_has(tmp_path):
    swept = ackclock.sweep(own_file(tmp_path), over={"flows.0.cc": ["cubic", "bbr1"]}, duration="1s")
    assert swept.controllers == ["cubic", "bbr1"]
    labels = swept.runs.select(["controller", "flows.0.cc"]).to_pylist()
    assert all(label["controller"] == label["flows.0.cc"] for label in labels), labels
    assert [(row["controller"], row["flows"][0]["cc"]) for row in swept.rows()] == [
        ("cubic", "cubic"),
        ("bbr1", "bbr1"),
    ]
    # Datagrams alone: their controller is all that there is to say.
    kinds = {"flows.0.kind": ["datagram"], "flows.0.source.rate": ["1mbit"]}
    only = ackclock.sweep(own_file(tmp_path), over=kinds, duration="1s")
    assert only.controllers == ["cubic+newreno"]


LINE = """
links = [{ from = "a", to = "b", rate = "20mbit", delay = "9ms", queue = "1s", reverse = { rate = "1mbit" } }]
[[flows]]
cc = "cubic"
from = "a"
to = "b"
[[flows]]
cc = "cubic"
from = "b"
to = "a"
"""


def test_the_link_of_a_queue_is_named_where_there_are_several(capsys, tmp_path):
    file = tmp_path / "line.toml"
    file.write_text(LINE)
    over = ["--over", "links.0.reverse.rate=1mbit,100mbit", "--set", "duration=2s"]
    status, printed, notes = run(capsys, "sweep", file, *over, "--out", tmp_path / "out")
    assert status == 0, notes
    rows = [line for line in printed.splitlines() if "mbit" in line]
    assert ["a-b:reverse" in row for row in rows] == [True, False], printed
    assert SEVERAL_LINKS in (tmp_path / "out" / "index.html").read_text()
