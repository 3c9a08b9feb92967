"""The playground in a real browser: it has the numbers of the engine, and does what its page promises."""

import base64
import json
import math
import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest

import ackclock
from ackclock import _engine
from ackclock.overview import request as page_request
from ackclock.plots.style import looks
from calling import PATIENCE, run
from playground import __main__ as playground
from playground import papers

ROOT = Path(__file__).resolve().parents[2]
TARGET = "wasm32-unknown-unknown"
CHROMIUM = shutil.which("chromium")
EXAMPLES = sorted((ROOT / "examples").glob("*.toml"))
pytestmark = pytest.mark.skipif(CHROMIUM is None, reason="needs chromium (Debian: apt install chromium)")


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """The page, in a folder of its own."""
    if shutil.which("cargo") is None:
        pytest.skip("cargo is not installed")
    command = ["rustc", "--print", "target-libdir", "--target", TARGET]
    library = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout.strip()
    if not Path(library).is_dir():
        pytest.skip(f"the target is not installed: rustup target add {TARGET}")
    build = ["cargo", "build", "--quiet", "--locked", "--profile", "wasm", "--target", TARGET]
    subprocess.run([*build, "--package", "ackclock-wasm"], cwd=ROOT, check=True)
    folder = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target"))
    module = (folder / TARGET / "wasm" / "playground.wasm").read_bytes()
    page = tmp_path_factory.mktemp("playground") / "app.html"
    page.write_text(playground.page(module), "utf-8")
    return page


@pytest.fixture(scope="module")
def browser():
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as started:
        browser = started.chromium.launch(
            executable_path=CHROMIUM, args=["--no-sandbox"], timeout=1000 * PATIENCE
        )
        yield browser
        browser.close()


def show(browser, written, fragment="", **options):
    """The page in a tab of its own, and the complaints of the browser."""
    page = browser.new_page(**({"viewport": {"width": 1200, "height": 900}} | options))
    page.set_default_timeout(1000 * PATIENCE)
    page.complaints = []
    page.on("console", lambda message: page.complaints.append(message.text))
    page.on("pageerror", lambda error: page.complaints.append(str(error)))
    inside = ("file:", "blob:", "data:")
    page.on("request", lambda request: request.url.startswith(inside) or page.complaints.append(request.url))
    page.goto(f"file://{written}{fragment}")
    return page


@pytest.fixture(scope="module")
def opened(browser, written):
    page = show(browser, written)
    wait_for_runs(page, 1)
    return page


def wait_for_runs(page, count):
    page.wait_for_function(f"Number(document.documentElement.dataset.runs) >= {count}")


RUN = """async (request) => {
  const answer = await playground.run(request);
  if (answer.error) return answer;
  const texts = (c) => (c.codes ? Array.from(c.codes, (code) => c.names[code]) : Array.from(c));
  const one = (v) => (typeof v !== "number" || Number.isFinite(v) ? v : v > 0 ? "inf" : null);
  const plain = (c) => texts(c).map(one);
  const table = (columns) => Object.fromEntries(Object.entries(columns).map(([name, c]) => [name, plain(c)]));
  const of = Object.entries(answer.tables);
  const tables = Object.fromEntries(of.map(([name, columns]) => [name, table(columns)]));
  const shown = await playground.firstPage([{ label: answer.scenario.name, of: [answer] }]);
  const capture = answer.capture && btoa(Array.from(answer.capture, (b) => String.fromCharCode(b)).join(""));
  return { tables, shown, capture };
}"""


def request_of(path, **more):
    found = playground.scenario(path, "")
    return {key: found[key] for key in ("text", "file", "files")} | more


def of_engine(run):
    """The tables of a run as the page gives them."""

    def plain(value):
        if isinstance(value, float) and not math.isfinite(value):
            return "inf" if value > 0 else None
        return value

    return {
        name: {key: [plain(one) for one in values] for key, values in run.table(name).to_pydict().items()}
        for name in run.table_names
    }


def assert_same_tables(answer, run):
    ours, theirs = answer["tables"], of_engine(run)
    for name in theirs:
        assert ours[name] == theirs[name], name
    # Those that this run does not have are empty.
    assert not any(any(ours[name].values()) for name in ours.keys() - theirs.keys())


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_the_page_has_the_numbers_of_the_engine(opened, path):
    native = ackclock.simulate(path)
    answer = opened.evaluate(RUN, request_of(path))
    assert_same_tables(answer, native)
    expected = json.loads(_engine.first_page(page_request({native.scenario["name"]: [native]})))
    assert without_looks(answer["shown"]) == expected
    assert opened.complaints == []


LOOKS = {"colour", "dark", "dash"}


def without_looks(page):
    """A page without the colours and dashes that the playground adds."""
    if isinstance(page, dict):
        return {key: without_looks(one) for key, one in page.items() if key not in LOOKS}
    return [*map(without_looks, page)] if isinstance(page, list) else page


class Mine(ackclock.Controller):
    """The controller that the page opens with, in Python."""

    def on_ack(self, cx, ack):
        if not ack.window_limited:
            return
        if self.window < self.slow_start_threshold:
            self.window += ack.slow_start_credit()
        else:
            self.window += ack.avoidance_credit() / self.window

    def on_loss(self, cx, loss):
        self.window = self.slow_start_threshold = max(self.window / 2, 2)

    def on_timeout(self, cx, loss):
        if not loss.again:
            self.slow_start_threshold = max(loss.in_flight / 2, 2)
        self.window = 1


PATH = """name = "own"
duration = "20s"
[path]
rate = "10mbit"
rtt = "40ms"
queue = "40p"
loss = "0.2%"
[[flows]]
cc = "Mine"
name = "own"
"""


def test_a_lesson_opens_as_a_figure_with_its_slider(browser, written):
    page = show(browser, written, "#open=2-bufferbloat&slide=queue&embed")
    wait_for_runs(page, 1)
    assert page.locator("header").is_hidden()
    assert page.locator("#slid").inner_text() == "queue: 1"
    # A tenth of a second, though 1 is a whole number.
    page.locator("#slider").fill("-1")
    wait_for_runs(page, 2)
    assert 'queue = "0.1s"' in page.locator("#scenario").input_value()
    assert page.complaints == []


OF_POINTS = """async (names) => {
  const runs = [];
  for (const cc of names) {
    const overrides = [["duration", "2s"], ["warmup", "0s"], ["flows.*.cc", cc]];
    const text = document.getElementById("scenario").value;
    runs.push({ label: cc, of: [await playground.run({ text, file: "x.toml", overrides })] });
  }
  const { plane } = await playground.firstPage(runs);
  return plane.points.map(({ colour, dark, dash }) => ({ colour, dark, dash }));
}"""


@pytest.mark.parametrize("names", ["cubic cdg bbr1", "bic htcp veno pert", "chd hd gentle-1 siad"])
def test_the_page_has_the_colours_of_reports(opened, names):
    names = names.split()
    assert opened.evaluate(OF_POINTS, names) == [*looks([(name, name) for name in names]).values()]


def test_a_controller_in_javascript_has_the_numbers_of_one_in_python(opened):
    path = ackclock.Path("10mbit", rtt="40ms", queue="40p", loss="0.2%")
    native = ackclock.simulate(path, [ackclock.Flow(Mine, name="own")], duration="20s")
    source = {"text": PATH, "file": "own.toml", "classes": ["Mine"], "source": playground.SCRIPT}
    ours, theirs = opened.evaluate(RUN, source)["tables"], of_engine(native)
    for name in theirs:
        assert ours[name] == theirs[name], name


FAILING = [
    ("on_ack(", "on_ack2(", "Mine.on_ack2: there is no such event"),
    ("Controller {", "Controller {\n  wants = ['more'];", "Mine.wants has `more`: allowed are sent"),
    ("Math.max(this.window / 2, 2)", "NaN", "Mine.window is NaN: allowed is a number of segments"),
    ("Math.max(this.window / 2, 2)", "null", "Mine.window is null: allowed is a number of segments"),
    ("Math.max(this.window / 2, 2)", "'7'", "Mine.window is 7: allowed is a number of segments"),
    (
        "Controller {",
        "Controller {\n  pacing_rate = [9e9];",
        "Mine.pacing_rate is 9000000000: allowed is a finite",
    ),
    (
        "Controller {",
        "Controller {\n  wake_up_at = undefined;",
        "Mine.wake_up_at is undefined: allowed is a time",
    ),
    ("ack.avoidance_credit()", "ack.none()", "line 5 of the controllers: ack.none is not a function"),
    ("if (!ack.window_limited) return;", "throw null;", "a controller threw null"),
    ("class Mine", "none;\nclass Mine", "line 1 of the controllers: none is not defined"),
    ("this.window = 1;", "this window = 1;", "line 14 of the controllers: Unexpected identifier 'window'"),
    (
        "class Mine",
        "\n\nclass Mine extends {\n}\nclass Mine",
        "line 5 of the controllers: Unexpected token 'class'",
    ),
    ("Controller {", "Controller {{", "line 1 of the controllers: Unexpected token '{'"),
    ("class Mine", "if (true) {\nclass Mine", "line LAST of the controllers: Unexpected token"),
]


@pytest.mark.parametrize(("old", "new", "sentence"), FAILING)
def test_a_controller_that_fails_is_a_sentence(opened, old, new, sentence):
    source = playground.SCRIPT.replace(old, new)
    request = {"text": PATH, "file": "own.toml", "classes": ["Mine"], "source": source}
    said = sentence.replace("LAST", str(len(source.rstrip().split("\n"))))
    assert opened.evaluate(RUN, request)["error"]["text"].startswith(said)


def test_a_capture_has_the_bytes_of_the_engine(opened, capsys, tmp_path):
    path, file = ROOT / "examples/quickstart.toml", tmp_path / "all.pcapng"
    shorter = ["--set", "duration=3s", "--set", "warmup=0s"]
    status, _, notes = run(capsys, "run", path, *shorter, "--pcap", f"bottleneck:{file}")
    assert status == 0, notes
    overrides = [["duration", "3s"], ["warmup", "0s"]]
    answer = opened.evaluate(RUN, request_of(path, capture="bottleneck", overrides=overrides))
    assert base64.b64decode(answer["capture"]) == file.read_bytes()


def test_every_scenario_that_the_page_offers_is_one(opened):
    for group in playground.groups():
        for one in group["scenarios"]:
            runs = opened.evaluate("(lines) => playground.variants(lines)", one.get("variants", ""))
            for overrides in [[], *(line["overrides"] for line in runs)]:
                answer = opened.evaluate(
                    "(request) => playground.check(request)", one | {"overrides": overrides}
                )
                assert "error" not in answer, (one["id"], overrides, answer)


def test_a_line_is_a_run_with_its_name_and_what_it_changes(opened):
    named = 'G = 1 ms: flows.0.parameters.G = "1ms"'
    lines = f'{named}\n# none\n\npath.queue="1s";  flows = [{{ cc = "a:b", stop = "2;s" }}]\n'
    first, second = opened.evaluate("(lines) => playground.variants(lines)", lines)
    assert first == {"label": "G = 1 ms", "overrides": [["flows.0.parameters.G", '"1ms"']]}
    assert second["overrides"] == [["path.queue", '"1s"'], ["flows", '[{ cc = "a:b", stop = "2;s" }]']]


def test_papers_have_their_experiments_in_the_page():
    groups = {group["name"]: group["scenarios"] for group in papers.groups(ROOT / "papers")}
    assert len(groups) == 5
    assert sum(map(len, groups.values())) >= 40
    one = next(one for one in groups["D. A. Hayes, G. Armitage, 2011"] if one["id"] == "cdg2011-fig4")
    assert 'loss = "0.5%"' in one["text"]  # the middle of the sweep
    assert [line.split(":")[0] for line in one["variants"].splitlines()] == ["newreno", "vegas", "cdg"]


def test_links_of_the_pages_open_scenarios():
    known = {one["id"] for group in playground.groups() for one in group["scenarios"]}
    pages = [*(ROOT / "docs").rglob("*.md"), *(ROOT / "docs").rglob("*.ipynb")]
    linked = [name for page in pages for name in re.findall(r"#open=([\w.-]+)", page.read_text("utf-8"))]
    assert len(linked) > 10
    assert set(linked) <= known


@pytest.mark.skipif(shutil.which("wasm-opt") is None, reason="needs wasm-opt (Debian: apt install binaryen)")
def test_the_page_is_below_1400_kilobytes(written):
    assert written.stat().st_size < 1_400_000


def test_the_page_is_drawn_without_a_complaint_or_a_request(browser, written):
    page = show(browser, written)
    wait_for_runs(page, 1)
    assert page.locator(".uplot").count() == 6
    assert page.locator(".answers dt").all_inner_texts() == ["Throughput", "Delay", "Loss", "Fairness"]
    assert page.complaints == []


def test_errors_have_their_line_while_one_types(browser, written):
    page = show(browser, written)
    wait_for_runs(page, 1)
    page.locator("#scenario").fill('duration = "5s"\n[path]\nrate = "10mbi"\n')
    page.wait_for_function("document.getElementById('fault').textContent !== ''")
    assert page.locator("#fault").inner_text().startswith("quickstart.toml, line 3: path.rate: ")
    assert page.locator("#lines .bad").inner_text() == "3"
    assert page.complaints == []


def test_keys_and_controllers_are_completed(browser, written):
    page = show(browser, written)
    wait_for_runs(page, 1)
    area = page.locator("#scenario")
    area.fill("[path]\nra")
    area.press("End")
    area.press("Control+Space")
    assert page.locator("#choices li").first.inner_text().startswith("rate")
    area.press("Enter")
    assert area.input_value() == "[path]\nrate = "
    area.fill("[path]\nreorder = t")
    area.press("Control+Space")
    assert page.locator("#choices li").first.inner_text().startswith("true")
    area.fill('[[flows]]\ncc = "cub')
    area.press("Control+Space")
    names = [text.split("\n")[0].split()[0] for text in page.locator("#choices li").all_inner_texts()]
    assert names[0].startswith("cubic")
    area.press("Escape")
    assert page.locator("#choices").is_hidden()


def test_controllers_are_compared_and_kept_side_by_side(browser, written):
    page = show(browser, written)
    wait_for_runs(page, 1)
    page.locator("#scenario").fill(PATH.replace('"Mine"', '"newreno"').replace("20s", "4s"))
    page.locator("#compare summary").click()
    page.locator("#names input[value=cubic]").check()
    wait_for_runs(page, 2)
    page.locator("#names input[value=vegas]").check()
    page.wait_for_function("playground.runs().length === 2")
    page.locator("#keep").click()
    page.locator("#run").click()
    page.wait_for_function("playground.runs().length === 4")
    labels = page.evaluate("playground.runs().map((one) => one.label)")
    assert labels == ["cubic", "vegas", "cubic 2", "vegas 2"]
    lines = page.evaluate("playground.csv('flows')").splitlines()
    assert lines[0].startswith("run,flow,name,")
    assert [line.split(",")[0] for line in lines[1:]] == labels


def test_runs_stand_side_by_side(browser, written):
    page = show(browser, written)
    wait_for_runs(page, 1)
    page.locator("#scenario").fill(PATH.replace('"Mine"', '"newreno"').replace("20s", "4s"))
    page.locator("#beside summary").click()
    page.locator("#variants").fill('small: path.queue = "5p"\nlarge: path.queue = "1s"; path.loss = 0')
    assert page.locator("#counted").inner_text() == "2"
    page.locator("#run").click()
    page.wait_for_function("playground.runs().length === 2")
    queues = page.evaluate("playground.runs().map(({ label, of }) => [label, of[0].scenario.path.queue])")
    assert [label for label, _ in queues] == ["small", "large"]
    assert queues[0][1] != queues[1][1]
    page.locator("#share").click()
    page.wait_for_function("location.hash.startsWith('#s=')")
    other = show(browser, written, page.evaluate("location.hash"))
    other.wait_for_function("playground.runs().length === 2")
    page.locator("#variants").fill("wrong: path.rat = 1")
    page.locator("#run").click()
    page.wait_for_function("document.getElementById('fault').textContent.startsWith('wrong: ')")
    assert "path.rat" in page.locator("#fault").inner_text()


def test_the_keyboard_reaches_and_works_everything(browser, written):
    page = show(browser, written)
    wait_for_runs(page, 1)
    page.locator("#open").focus()
    reached = []
    for _ in range(20):
        reached.append(page.evaluate("document.activeElement.id || document.activeElement.textContent"))
        page.keyboard.press("Tab")
    for name in ("scenario", "run", "keep", "share", "table", "csv", "figure", "point", "capture"):
        assert name in reached, (name, reached)
    page.locator("#compare summary").focus()
    page.keyboard.press("Enter")
    page.keyboard.press("Tab")
    page.keyboard.press("Space")
    wait_for_runs(page, 2)
    assert page.locator("#chosen").inner_text() != ""


def test_a_number_slides(browser, written):
    page = show(browser, written)
    wait_for_runs(page, 1)
    page.evaluate(
        "() => { const a = document.getElementById('scenario'); const at = a.value.indexOf('10mbit') + 1;"
        " a.focus(); a.setSelectionRange(at, at); a.click(); }"
    )
    assert page.locator("#slid").inner_text() == "rate: 10"
    page.locator("#slider").fill("-1")
    wait_for_runs(page, 2)
    assert 'rate = "1mbit"' in page.locator("#scenario").input_value()


def test_a_link_brings_scenario_and_controllers(browser, written):
    page = show(browser, written)
    wait_for_runs(page, 1)
    page.locator("#scenario").fill(PATH.replace('"Mine"', '"newreno"'))
    page.locator("#share").click()
    page.wait_for_function("location.hash.startsWith('#s=')")
    other = show(browser, written, page.evaluate("location.hash"))
    wait_for_runs(other, 1)
    assert 'name = "own"' in other.locator("#scenario").input_value()


def test_a_link_opens_a_scenario_by_its_name(browser, written):
    page = show(browser, written, "#open=2-bufferbloat")
    wait_for_runs(page, 1)
    assert page.locator("#open").input_value() == "2-bufferbloat"
    assert 'name = "Bufferbloat"' in page.locator("#scenario").input_value()


def test_the_code_of_a_link_runs_only_when_the_reader_says_so(browser, written):
    page = show(browser, written)
    wait_for_runs(page, 1)
    page.locator("#scenario").fill(PATH)
    page.locator("#own summary").click()
    page.locator("#share").click()
    page.wait_for_function("location.hash.startsWith('#s=')")
    other = show(browser, written, page.evaluate("location.hash"))
    other.wait_for_function("document.getElementById('said').textContent.includes('press Run')")
    assert other.locator(".uplot").count() == 0
    # Nothing else that runs a scenario is the reader's word.
    by = "const by = (id) => document.getElementById(id), changed = new Event('change'); "
    for act in (
        "by('open').selectedIndex = 2; by('open').dispatchEvent(changed)",
        "document.querySelector('#names input').click()",
        f"by('scenario').value = {json.dumps(PATH)};"
        "by('scenario').setSelectionRange(26, 26); by('scenario').click();"
        "by('slider').dispatchEvent(new Event('input'))",
    ):
        other.evaluate(f"() => {{ {by} by('said').textContent = ''; {act} }}")
        other.wait_for_function("document.getElementById('said').textContent.includes('press Run')")
    assert other.locator(".uplot").count() == 0
    other = show(browser, written, page.evaluate("location.hash"))
    other.locator("#run").click()
    wait_for_runs(other, 1)
    assert "Mine" in other.locator("#results").inner_text()


def test_the_check_of_a_scenario_can_be_stopped_and_goes_on_later(browser, written):
    page = show(browser, written)
    wait_for_runs(page, 1)
    # A worker that never answers stands for a check without end.
    page.evaluate("""() => {
      window.post = Worker.prototype.postMessage;
      Worker.prototype.postMessage = function (message) {
        if (message.kind !== "check") window.post.call(this, message);
      };
      document.getElementById("scenario").dispatchEvent(new Event("input"));
    }""")
    page.wait_for_function("!document.getElementById('stop').disabled")
    page.evaluate("() => { Worker.prototype.postMessage = window.post; }")
    page.locator("#stop").click()
    page.wait_for_function("document.getElementById('stop').disabled")
    page.locator("#scenario").fill('duration = "5s"\n[path]\nrate = "10mbi"\n')
    page.wait_for_function("document.getElementById('fault').textContent !== ''")


def test_a_long_text_without_a_class_is_read_once(opened):
    """Steps that grow with the square of the blank lines would take hours here."""
    app = (ROOT / "tools/playground/assets/app.js").read_text("utf-8")
    expression = re.search(r"matchAll\((/.*?/gm)\)", app)[1]
    count = "([text, source]) => [...source.matchAll(eval(text))].length"
    blank = "\n" * 2_000_000
    assert opened.evaluate(count, [expression, blank + "let none"]) == 0
    assert opened.evaluate(count, [expression, blank + "  class Own extends Controller {}"]) == 1


def test_a_phone_shows_the_page_without_scrolling_sideways(browser, written):
    for fragment in ("", "#open=cdg2011-fig4"):
        page = show(browser, written, fragment, viewport={"width": 390, "height": 800}, color_scheme="dark")
        wait_for_runs(page, 1)
        assert page.evaluate("document.documentElement.scrollWidth") <= 390
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(15, 19, 24)"
