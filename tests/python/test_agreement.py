"""Numbers of one run agree: table, sentences, charts, hover, JSON. Each statistic has one definition."""

from __future__ import annotations

import json
import re
import shutil
from html import unescape

import numpy as np
import pytest

from ackclock import Run
from ackclock.cli import main
from calling import PATIENCE, run

LINE = 'path = {{ rate = {rate}, rtt = "40ms", queue = {queue} }}\n'
FLOW = '[[flows]]\ncc = "{cc}"\n'
WIRE = (
    'links = [{ from = "ap", to = "server", rate = "RATE", delay = "10ms", queue = "250p", duplex = true }]\n'
)
RADIO = '[[wlans]]\nstandard = "802.11n"\nstations = ["laptop", "tv"]\n'
UP = '[[flows]]\ncc = "cubic"\nfrom = "laptop"\nto = "server"\n'
DOWN = '[[flows]]\ncc = "cubic"\nfrom = "server"\nto = "tv"\n'
CALL = '[[flows]]\ncc = "newreno"\nkind = "datagram"\necho = false\nsource = { rate = "80kbit" }\n'


def line(rate='"10mbit"', queue='"1bdp"', cc="cubic", more=""):
    """A path with a flow."""
    return LINE.format(rate=rate, queue=queue) + FLOW.format(cc=cc) + more


SCENARIOS = {
    "one flow": line(),
    "a deep buffer": line(queue='"1s"'),
    "codel": line(queue='"codel"'),
    "a policer": line(queue='{ discipline = "police", rate = "5mbit", burst = "30kB", limit = "100p" }'),
    "loss": line().replace('rtt = "40ms"', 'rtt = "40ms", loss = "1%"'),
    "two flows and a warm-up": "warmup = '2s'\n" + line(more='count = 2\nstart_jitter = "1s"\n'),
    "short flows": line(more='every = "50ms"\nbytes = "20kB"\n'),
    "steps": line(rate='[["0s", "10mbit"], ["3s", "2mbit"], ["5s", "10mbit"]]', queue='"100p"'),
    "a trace": line(rate='{ trace = "saw.down" }', queue='"500p"'),
    "a flow beside a call": line(more=CALL),
    "a parking lot": (
        'links = [{ from = "a", to = "b", rate = "20mbit", delay = "5ms", queue = "100p", duplex = true },'
        ' { from = "b", to = "c", rate = "20mbit", delay = "5ms", queue = "100p", duplex = true }]\n'
        '[[flows]]\ncc = "cubic"\nfrom = "a"\nto = "c"\n[[flows]]\ncc = "cubic"\nfrom = "b"\nto = "c"\n'
    ),
    "radio, up": WIRE.replace("RATE", "1gbit") + RADIO + UP + CALL + 'from = "server"\nto = "tv"\n',
    "radio, down": WIRE.replace("RATE", "1gbit") + RADIO + DOWN + CALL + 'from = "tv"\nto = "server"\n',
    "a wire before the radio": WIRE.replace("RATE", "10mbit")
    + RADIO
    + DOWN
    + CALL
    + 'from = "tv"\nto = "server"\n',
}
BOTTLENECKS = {
    "a parking lot": "b-c",
    "radio, up": "laptop",
    "radio, down": "ap",
    "a wire before the radio": "ap-server:reverse",
}
"""The links that limit the TCP flows, where there are several."""
TRACE = "examples/traces/saw.down"


@pytest.fixture(scope="module", params=SCENARIOS)
def reported(request, tmp_path_factory):
    """A scenario of the list as it was run: its name, its folder and the numbers of its JSON."""
    folder = tmp_path_factory.mktemp("agreement")
    shutil.copy(request.config.rootpath / TRACE, folder)
    file = folder / "scenario.toml"
    file.write_text(f'duration = "8s"\n{SCENARIOS[request.param]}')
    assert main(["run", str(file), "--out", str(folder / "out")]) == 0
    # What `--json` prints.
    return (
        request.param,
        folder / "out",
        json.loads((folder / "out" / "summary.json").read_text("utf-8"))["runs"][0],
    )


def page_of(folder):
    return (folder / "index.html").read_text("utf-8")


def sentences(folder):
    return dict(re.findall("<dt>(.*?)</dt><dd>(.*?)</dd>", unescape(page_of(folder))))


def charts(folder):
    numbers = re.search('<script type="application/json" id="overview">(.*?)</script>', page_of(folder), re.S)
    return json.loads(numbers[1])


def numbers_of(text):
    return [float(one) for one in re.findall(r"(?<![\w.])\d+(?:\.\d+)?", text)]


def bottleneck(one):
    return next(link for link in one["links"] if link["is_bottleneck"])


def test_the_bottleneck_is_the_link_that_limits_the_flows(reported):
    name, _, one = reported
    assert bottleneck(one)["name"] == BOTTLENECKS.get(name, "bottleneck")


def test_sentences_are_the_numbers_of_the_json(reported):
    _, folder, one = reported
    said, flows = sentences(folder), one["flows"]
    interval = one["duration_s"] - float(one["scenario"]["warmup"].rstrip("s"))
    link = next(row for row, link in enumerate(one["links"]) if link["is_bottleneck"])
    routes = Run.load(folder).routes
    known = len(routes) == len(flows)
    crossing = [flow for row, flow in enumerate(flows) if not known or link in routes[row]]
    total = sum(flow["throughput_bps"] * flow["measured_s"] for flow in crossing) * 1e-6 / interval
    assert numbers_of(said["Throughput"])[0] == pytest.approx(total, rel=0.005)
    queue = bottleneck(one)["queue_delay_ms"]
    mean, share, most = numbers_of(re.sub("at the bottleneck, [^;]*", "", said["Delay"]))
    assert share == 95
    assert (mean, most) == pytest.approx((queue["mean"], queue["p95"]), rel=0.005)
    sent = sum(flow["data_packets"] for flow in flows)
    lost = sum(flow["data_packets"] * flow["loss_rate"] for flow in flows)
    assert numbers_of(said["Loss"])[0] == pytest.approx(100 * lost / sent, rel=0.005)
    if one["fairness"]["jain"] is not None and len(flows) > 1:
        assert numbers_of(said["Fairness"])[0] == pytest.approx(one["fairness"]["jain"], rel=0.005)


def test_nothing_carries_more_than_its_link(reported):
    _, folder, one = reported
    link = bottleneck(one)
    if link["capacity_bytes"] is not None:
        interval = one["duration_s"] - float(one["scenario"]["warmup"].rstrip("s"))
        assert numbers_of(sentences(folder)["Throughput"])[0] <= link["capacity_bytes"] * 8e-6 / interval


def test_tables_are_the_numbers_of_the_json(reported):
    _, folder, one = reported
    # A table of the sums of controllers, or of arrivals, may be between.
    flows, *_, links = re.findall("<table>(.*?)</table>", page_of(folder), re.S)
    rows = [re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", links, re.S)]
    for row, link in zip([row for row in rows if row], one["links"], strict=True):
        shown = [float(cell) for cell in row[2:6]]
        queue, delay = link["queue_packets"]["mean"], link["queue_delay_ms"]
        expected = [link["utilization"], queue, delay["mean"], delay["p95"]]
        assert shown == pytest.approx(expected, abs=0.051)
    rows = [re.findall("<td[^>]*>(.*?)</td>", row) for row in re.findall("<tr>(.*?)</tr>", flows, re.S)]
    rows = [row for row in rows if row]
    if len(rows) == len(one["flows"]):
        for row, flow in zip(rows, one["flows"], strict=True):
            assert float(row[2]) == pytest.approx(flow["goodput_bps"] / 1e6, abs=0.0006)
            if flow["rtt_ms"]["p50"] is not None:
                shown = [float(row[3]), float(row[4])]
                assert shown == pytest.approx([flow["rtt_ms"]["p50"], flow["rtt_ms"]["p95"]], abs=0.051)
            assert float(row[5]) == pytest.approx(100 * flow["loss_rate"], abs=0.0006)


def test_charts_are_the_numbers_of_the_json(reported):
    name, folder, one = reported
    shown = charts(folder)
    points = {
        (x, y) for group in shown["plane"]["points"] for x, y in zip(group["x"], group["y"], strict=True)
    }
    expected = {
        (
            float(f"{flow['rtt_ms']['p50'] - flow['base_rtt_ms']:.5g}"),
            float(f"{flow['goodput_bps'] / 1e6:.5g}"),
        )
        for flow in one["flows"]
        if flow["rtt_ms"]["p50"] is not None
    }
    assert points == expected
    panels = {panel["name"]: panel for panel in shown["stack"]}
    throughput = np.array(
        [[np.nan if y is None else y for y in c["median"]] for c in panels["throughput"]["curves"]]
    )
    if name not in ("short flows", "two flows and a warm-up"):
        # Bins of the whole run. The last one may be behind its end.
        arrived = sum(flow["throughput_bps"] * flow["measured_s"] for flow in one["flows"])
        total = arrived * 1e-6 / one["duration_s"]
        assert np.nanmean(np.nansum(throughput, axis=0)) == pytest.approx(total, rel=0.05)
    queue = np.array(panels["queue"]["curves"][0]["median"], float)
    for level in panels["queue"]["levels"]:
        # A trace is sampled every 100 ms. Between two samples its rate changes.
        assert np.nanmax(queue - np.array(level["values"], float)) <= (60 if name == "a trace" else 2)


def test_titles_say_what_ran(capsys, tmp_path):
    for given, title in (
        (("--set", "path.queue=codel"), "cubic: 5mbit, 40ms, queue codel, loss 0%; 1s"),
        (
            ("--queue", "30p", "--set", "path.queue.discipline=red", "--set", "duration=2s"),
            "cubic: 5mbit, 40ms, queue 30p, loss 0%; 2s; with path.queue.discipline=red",
        ),
    ):
        arguments = ("--rate", "5mbit", "--duration", "1s", *given, "--out", tmp_path / "out", "--force")
        assert run(capsys, "compare", "cubic", *arguments)[0] == 0
        assert f"<h1>{title}</h1>" in page_of(tmp_path / "out")
    path = ("--rate", "5mbit", "--duration", "3s", "--warmup", "0s")
    near = (*path, "--set", "path.queue.discipline=red", "--set", "path.rtt=9ms")
    status, _, err = run(capsys, "matrix", "cubic", "cdg", *near, "--out", tmp_path / "matrix")
    assert status == 0, err
    title = "Beside each other: 5mbit, 9ms, queue 1bdp, loss 0%; with path.queue.discipline=red"
    assert f"<h1>{title}</h1>" in page_of(tmp_path / "matrix")
    file = tmp_path / "named.toml"
    file.write_text(f'name = "mine"\nduration = "1s"\n{line()}')
    assert run(capsys, "run", file, "--set", "path.queue=20p", "--out", tmp_path / "out", "--force")[0] == 0
    assert "<h1>mine; with path.queue=20p</h1>" in page_of(tmp_path / "out")


@pytest.mark.skipif(shutil.which("chromium") is None, reason="needs chromium (Debian: apt install chromium)")
def test_the_hover_shows_the_value_that_lies_below_a_logarithmic_axis(tmp_path, capsys):
    sync_api = pytest.importorskip("playwright.sync_api")
    arguments = ("--rate", "20mbit", "--queue", "1s", "--duration", "3s", "--out", tmp_path / "out")
    assert run(capsys, "compare", "cubic", "nice", *arguments)[0] == 0
    panel = next(one for one in charts(tmp_path / "out")["stack"] if one["name"] == "queue")
    assert panel["log"]
    values = panel["curves"][1]["median"]
    at = next(n for n, value in enumerate(values) if value is not None and value < panel["floor"])
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=shutil.which("chromium"), args=["--no-sandbox"], timeout=1000 * PATIENCE
        )
        page = browser.new_page()
        page.goto(f"file://{tmp_path / 'out' / 'index.html'}")
        page.wait_for_function("document.documentElement.dataset.charts > 0")
        chart = "ackclock.charts.filter((one) => one.stacked)[2]"
        page.evaluate(f"{chart}.setLegend({{ idx: {at} }})")
        shown = page.evaluate(f"[...{chart}.root.querySelectorAll('.u-value')].map((one) => one.textContent)")
        browser.close()
    assert float(shown[2]) == pytest.approx(values[at], abs=1e-9, rel=1e-3)
