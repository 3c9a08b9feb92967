"""The report in a real browser: zoom and legends work, names are only text, a phone can read it."""

import json
import shutil

import pytest

from ackclock.cli import main
from calling import PATIENCE, run

CHROMIUM = shutil.which("chromium")
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian: apt install chromium)")

HOSTILE = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as playwright:
        browser = playwright.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=1000 * PATIENCE
        )
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def report(tmp_path_factory):
    """The report of two controllers in three repetitions."""
    out = tmp_path_factory.mktemp("report") / "compared"
    path = ["--rate", "20mbit", "--rtt", "20ms", "--queue", "500ms", "--duration", "5s"]
    written = ["--repeat", "3", "--out", str(out), "--also", "pdf,svg"]
    assert main(["compare", "cubic", "cdg", *path, *written]) == 0
    return out


@pytest.fixture
def opened(browser, report):
    """The report in a page of its own, and the complaints of the browser."""
    return show(browser, report)


def show(browser, folder, **options):
    page = browser.new_page(viewport={"width": 1000, "height": 900}, **options)
    page.set_default_timeout(1000 * PATIENCE)
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    page.on("request", lambda request: request.url.startswith("file:") or page.complaints.append(request.url))
    page.goto(f"file://{folder}/index.html")
    page.wait_for_function("document.documentElement.dataset.charts > 0")
    return page


def spans(page):
    """The ends of the time axis of each chart of the stack."""
    return page.evaluate(
        "ackclock.charts.filter((c) => c.stacked).map((c) => [c.scales.x.min, c.scales.x.max])"
    )


def test_a_report_is_drawn_without_a_complaint_or_a_request(opened):
    assert opened.complaints == []
    # Goodput, RTT, queue, window; the plane; the distribution of the RTT.
    assert opened.locator(".uplot").count() == 6
    assert opened.locator(".answers dt").all_inner_texts() == ["Throughput", "Delay", "Loss", "Fairness"]


def test_dragging_zooms_all_charts_of_the_stack(opened):
    assert spans(opened) == [[0, 5]] * 4
    box = opened.locator(".uplot .u-over").first.bounding_box()
    opened.mouse.move(box["x"] + 0.25 * box["width"], box["y"] + 50)
    opened.mouse.down()
    opened.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 50, steps=5)
    opened.mouse.up()
    # A quarter to a half of five seconds.
    for low, high in spans(opened):
        assert low == pytest.approx(1.25, abs=0.05)
        assert high == pytest.approx(2.5, abs=0.05)
    opened.locator(".uplot .u-over").first.dblclick()
    assert spans(opened) == [[0, 5]] * 4
    assert opened.complaints == []


def test_a_name_in_a_legend_switches_its_curves_off_everywhere(opened):
    def visible():
        return opened.evaluate(
            "ackclock.charts.map((c) => c.series.filter((s) => s.label === 'cdg').map((s) => s.show))"
        )

    assert all(all(of) for of in visible())
    opened.locator(".u-legend .u-series", has_text="cdg").first.click()
    assert not any(any(of) for of in visible())
    opened.locator(".u-legend .u-series", has_text="cdg").first.click()
    assert all(all(of) for of in visible())


def test_keys_of_a_legend_show_dashes_and_shapes(opened):
    # CUBIC is solid, CDG dashed: ink in the middle row of each key, of 30 points at a ratio of 1.
    ink = """(key) => { const { data } = key.getContext("2d").getImageData(0, 6, key.width, 1);
      return Array.from({ length: key.width }, (_, at) => data[4 * at + 3] > 100); }"""
    legend = opened.locator(".u-legend").first
    cubic, cdg = (
        legend.locator(".u-series", has_text=name).locator("canvas").evaluate(ink)
        for name in ("cubic", "cdg")
    )
    assert len(cubic) == len(cdg) == 30
    assert all(cubic)
    assert 0 < sum(cdg) < 30
    plane = opened.locator("[data-chart=plane] .u-legend .u-series canvas")
    assert [one.evaluate("(key) => key.width") for one in plane.all()] == [14, 14]


def test_every_chart_has_a_sentence_for_readers_who_hear_it(opened):
    sentences = opened.locator("canvas[role=img]").evaluate_all("(all) => all.map((one) => one.ariaLabel)")
    assert len(sentences) == 6
    assert sentences[0].startswith("throughput (Mbit/s) against time (s): cubic lies between ")
    assert "with a median of" in sentences[0]
    assert "half of cubic is at most" in sentences[5]


def test_hovering_shows_the_values(opened):
    box = opened.locator(".uplot .u-over").first.bounding_box()
    opened.mouse.move(box["x"] + 0.5 * box["width"], box["y"] + 50)
    value = opened.locator(".u-legend .u-series", has_text="cubic").first.locator(".u-value")
    assert 10.0 < float(value.inner_text()) < 30.0


def test_the_plane_has_a_point_for_each_flow_and_repetition(browser, capsys, tmp_path):
    # Two repetitions without anything random are alike, so every delay is there twice.
    path = ["--duration", "2s", "--flows", "3", "--repeat", "2", "--out", tmp_path / "out"]
    assert run(capsys, "compare", "newreno", "vegas", *path)[0] == 0
    page = show(browser, tmp_path / "out")
    plane = "ackclock.charts.find((c) => c.series[0].label === 'delay (ms)')"
    counts = f"{plane}.data.slice(1).map((column) => column.filter((y) => y !== null).length)"
    assert page.evaluate(counts) == [6, 6]
    assert page.evaluate(f"new Set({plane}.data[0]).size") < 12
    assert page.complaints == []


def test_a_logarithmic_axis_fits_its_values_with_round_ticks(opened):
    # CUBIC waits half a second, CDG a few milliseconds. An empty queue is on the edge.
    queue = "ackclock.charts[2].scales.y"
    assert opened.evaluate(f"{queue}.distr") == 3
    low, high = opened.evaluate(f"[{queue}.min, {queue}.max]")
    assert 0.1 < low < 5.0
    assert 500.0 < high < 700.0
    least = opened.evaluate(
        "Math.min(...ackclock.charts[2].data.slice(1).flat().filter((v) => v !== null && v !== undefined))"
    )
    assert least == pytest.approx(1.1 * low, rel=0.01)
    ticks = opened.evaluate("ackclock.charts[2].axes[1]._splits")
    assert ticks
    assert all(f"{tick:g}".strip("0.") in ("1", "2", "5") for tick in ticks), ticks


def test_a_dark_page_has_a_dark_background(browser, report):
    page = show(browser, report, color_scheme="dark")
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 19, 24)"
    assert page.complaints == []


def test_a_phone_shows_the_page_without_scrolling_sideways(browser, report):
    page = browser.new_page(viewport={"width": 375, "height": 700})
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(f"file://{report}/index.html")
    page.wait_for_function("document.documentElement.dataset.charts > 0")
    assert page.evaluate("document.documentElement.scrollWidth") <= 375


def test_readers_who_use_a_keyboard_reach_all_of_a_page(browser, report):
    page = browser.new_page(viewport={"width": 375, "height": 700})
    page.set_default_timeout(1000 * PATIENCE)
    page.goto(f"file://{report}/index.html")
    page.wait_for_function("document.documentElement.dataset.charts > 0")
    # All text is in the one main part, and what scrolls by itself takes the focus.
    assert page.locator("main").count() == 1
    outside = "[...document.body.children].filter((one) => !['MAIN', 'SCRIPT'].includes(one.tagName)).length"
    assert page.evaluate(outside) == 0
    page.locator("details").evaluate_all("(all) => all.forEach((one) => { one.open = true })")
    scrolling = page.evaluate(
        "[...document.querySelectorAll('main *')].filter((one) => one.scrollWidth > one.clientWidth + 1 && "
        "['auto', 'scroll'].includes(getComputedStyle(one).overflowX))"
        ".map((one) => [one.className, one.tabIndex])"
    )
    assert scrolling, "a wide table or a block of text scrolls on a phone"
    assert all(index == 0 for _, index in scrolling), scrolling


def test_names_are_text_and_never_markup(browser, capsys, tmp_path):
    scenario = tmp_path / "hostile.toml"
    name = json.dumps(f"</script>{HOSTILE}")
    scenario.write_text(
        f'name = {name}\nduration = "1s"\n[path]\nrate = "5mbit"\nrtt = "20ms"\nqueue = "30p"\n'
        f'[[flows]]\ncc = "cdg"\nname = {name}\n[[flows]]\ncc = "cubic"\n'
    )
    status, _, notes = run(capsys, "run", scenario, "--out", tmp_path / "out")
    assert status == 0, notes
    page = show(browser, tmp_path / "out")
    assert page.complaints == []
    assert page.locator("img[src=x]").count() == 0
    assert page.locator("h1").inner_text() == f"</script>{HOSTILE}"


def test_figures_are_written_in_the_formats_that_are_asked_for(report):
    for name in ("overview", "delay-throughput", "distributions"):
        assert (report / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert (report / f"{name}.pdf").read_bytes().startswith(b"%PDF")
        assert b"<svg" in (report / f"{name}.svg").read_bytes()


@pytest.fixture(scope="module")
def reproduced(tmp_path_factory):
    """The report of two experiments of papers: a figure of one panel, and one of three columns."""
    out = tmp_path_factory.mktemp("papers") / "reproduced"
    asked = ["--quick", "--seed", "1", "--also", "pdf,svg", "--out", str(out)]
    assert main(["reproduce", "cdg2011-fig4", "siad2016-fig3", *asked]) in (0, 1)
    return out


def of_figure(page, panel):
    """The chart of a panel, and how many points of each colour of a curve its canvas has."""
    return page.evaluate(
        """(name) => {
          const place = document.querySelector(`[data-chart="figures/${name}"]`);
          const chart = ackclock.charts.find((one) => place.contains(one.root));
          const { data } = chart.ctx.getImageData(0, 0, chart.ctx.canvas.width, chart.ctx.canvas.height);
          const drawn = {};
          for (const one of chart.series.slice(1)) {
            const wanted = one.stroke(chart).match(/[0-9a-f]{2}/gi).map((part) => parseInt(part, 16));
            let count = 0;
            for (let at = 0; at < data.length; at += 4)
              if (data[at + 3] > 200 && wanted.every((part, of) => Math.abs(data[at + of] - part) < 12))
                count++;
            drawn[one.label] = count;
          }
          return { drawn, x: [chart.scales.x.min, chart.scales.x.max] };
        }""",
        panel,
    )


def test_figures_of_papers_are_drawn_curve_by_curve(browser, reproduced):
    page = show(browser, reproduced)
    assert page.complaints == []
    assert page.locator(".uplot").count() == 1 + 18
    drawn = of_figure(page, "cdg2011-fig4-0")["drawn"]
    assert set(drawn) >= {"NewReno", "Vegas", "CDG", "Mathis model"}
    assert all(count > 60 for count in drawn.values()), drawn
    row = [one["y"] for one in (page.locator(".panel").nth(at).bounding_box() for at in range(1, 5))]
    assert row[0] == row[1] == row[2] < row[3], "three panels stand in a row, as in the paper"
    for name in ("cdg2011-fig4.pdf", "cdg2011-fig4.svg", "siad2016-fig3.png"):
        assert (reproduced / name).stat().st_size > 1000


def test_a_label_longer_than_its_axis_stands_above_the_chart(browser, reproduced):
    page = show(browser, reproduced)
    place = page.locator('[data-chart="figures/cdg2011-fig4-0"]')
    label = "smoothed throughput of the first of two flows (Mbit/s)"
    assert place.locator(".y-label").count() == 0
    page.evaluate(
        """(label) => {
          const numbers = JSON.parse(document.getElementById("overview").textContent);
          numbers.figures["cdg2011-fig4-0"].y.label = label;
          ackclock.show(numbers);
        }""",
        label,
    )
    assert place.locator(".y-label").inner_text() == label
    assert page.evaluate("ackclock.charts[0].axes[1].label") is None


def test_a_figure_of_a_paper_zooms_and_its_legend_switches_curves_off(browser, reproduced):
    page = show(browser, reproduced)
    name, over = "cdg2011-fig4-0", page.locator(".u-over").first
    whole = of_figure(page, name)["x"]
    box = over.bounding_box()
    page.mouse.move(box["x"] + 0.2 * box["width"], box["y"] + 50)
    page.mouse.down()
    page.mouse.move(box["x"] + 0.6 * box["width"], box["y"] + 50, steps=5)
    page.mouse.up()
    low, high = of_figure(page, name)["x"]
    assert high - low == pytest.approx(0.4 * (whole[1] - whole[0]), rel=0.02)
    over.dblclick()
    assert of_figure(page, name)["x"] == whole
    drawn = of_figure(page, name)["drawn"]["CDG"]
    page.locator(".u-legend th", has_text="CDG").first.click()
    # The reported value, with its band, has the colour of its controller.
    assert of_figure(page, name)["drawn"]["CDG"] < drawn / 4


def test_the_cursor_shows_the_nearest_point_of_every_curve_of_a_figure(browser, reproduced):
    page = show(browser, reproduced)
    # Between loss rates of 1 and 3 %, where the model alone has points.
    box = page.locator(".u-over").first.bounding_box()
    page.mouse.move(box["x"] + 0.37 * box["width"], box["y"] + 60)
    rows = page.locator(".u-legend").first.locator("tr").all()
    shown = {row.locator("th").inner_text(): row.locator("td").inner_text() for row in rows}
    assert {"NewReno", "Vegas", "CDG", "Mathis model"} < shown.keys()
    assert all(float(value) > 0 for value in shown.values()), shown


def test_a_claim_begins_with_its_verdict_on_a_phone(browser, reproduced):
    page = browser.new_page(viewport={"width": 390, "height": 800})
    page.goto(f"file://{reproduced}/index.html")
    page.wait_for_function("document.documentElement.dataset.charts > 0")
    assert page.evaluate("document.documentElement.scrollWidth") <= 390
    row = page.locator(".verdicts tbody tr").first
    cells = [(cell.bounding_box()["y"], cell.inner_text()) for cell in row.locator("td").all()]
    assert min(cells)[1] == "pass"
