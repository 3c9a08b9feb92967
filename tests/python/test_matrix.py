"""`ackclock matrix`: harm worked out by hand, the rows of every pair, the folder, and going on in it."""

import csv
import json

import pyarrow.parquet as pq
import pytest

from ackclock.cli.matrix import READ, _tables
from ackclock.contenders import contenders
from ackclock.matrix import Matrix, Row, Setting, every_pair, harm_of_less, harm_of_more, matrix, plan
from ackclock.plots.matrix import draw_matrix
from ackclock.plots.style import on_colour
from ackclock.sweeps import executors
from ackclock.sweeps.run import execute, finish
from calling import refused, run

SHORT = ("--duration", "4s", "--warmup", "1s", "--rate", "5mbit")


def test_harm_is_the_share_that_the_other_flow_takes():
    # 8 of 10 Mbit/s are left: a fifth is lost. An RTT of 80 ms in place of 40: half of it is the other's.
    assert harm_of_more(10e6, 8e6) == pytest.approx(0.2)
    assert harm_of_less(40.0, 80.0) == pytest.approx(0.5)
    # Better off beside the other: 12 of 10, and 40 ms in place of 50.
    assert harm_of_more(10e6, 12e6) == pytest.approx(-0.2)
    assert harm_of_less(50.0, 40.0) == pytest.approx(-0.25)
    assert harm_of_more(10e6, 0.0) == 1.0


def test_there_is_no_harm_without_both_numbers():
    assert harm_of_more(0.0, 1e6) is None
    assert harm_of_less(40.0, None) is None
    assert harm_of_less(float("nan"), 40.0) is None


def test_pairs_are_each_alone_and_each_pair_once():
    assert every_pair(["a", "b"]) == [("a",), ("b",), ("a", "a"), ("a", "b"), ("b", "b")]


def row(controller, beside, seed, **values):
    names = Row.__dataclass_fields__
    return Row(**(dict.fromkeys(names) | {"controller": controller, "beside": beside, "seed": seed} | values))


def test_the_median_covers_repetitions_and_both_flows_of_a_kind():
    rows = [row("a", "a", 1, share=0.4), row("a", "a", 1, share=0.6), row("a", "a", 2, share=0.55)]
    rows += [row("a", "b", 1, share=0.9), row("b", "a", 1, share=0.1)]
    found = Matrix(["a", "b"], rows)
    assert found.median("share", "a", "a") == 0.55
    assert found.shown("share", "a", "b") == "90"
    assert found.shown("share", "b", "b") == "-"


@pytest.fixture(scope="module")
def found(tmp_path_factory):
    folder = tmp_path_factory.mktemp("matrix")
    setting = Setting({"rate": "5mbit", "rtt": "20ms", "queue": "1bdp"}, "4s", "1s", "linux")
    planned, runs = plan(contenders(["newreno", "vegas"]), setting, range(1, 3), {})
    for _ in execute(planned, folder, executors.workers("local", 1), None):
        pass
    return matrix(finish(planned, folder), runs, ["newreno", "vegas"])


def test_every_pair_has_a_row_for_each_flow_and_seed(found):
    places = [(one.controller, one.beside, one.seed) for one in found.rows]
    assert len(places) == 2 * (2 * 1 + 3 * 2)
    for one, other in (("newreno", "vegas"), ("vegas", "newreno")):
        assert places.count((one, other, 1)) == 1
        assert places.count((one, one, 1)) == 2
        assert places.count((one, None, 2)) == 1


def test_harm_compares_with_the_lone_run_of_the_same_seed(found):
    rows = {(one.controller, one.beside, one.seed): one for one in found.rows}
    for seed in (1, 2):
        one, other = rows["newreno", "vegas", seed], rows["vegas", "newreno", seed]
        assert one.share + other.share == pytest.approx(1.0)
        alone = rows["vegas", None, seed]
        assert (alone.harm_goodput, alone.harm_rtt, alone.share) == (None, None, 1.0)
        assert other.harm_goodput == pytest.approx(1.0 - other.goodput_bps / alone.goodput_bps)
        assert other.harm_rtt == pytest.approx(1.0 - alone.rtt_mean_ms / other.rtt_mean_ms)
        # Both share one bottleneck.
        assert one.queue_delay_mean_ms == other.queue_delay_mean_ms
    assert found.median("share", "newreno", "vegas") > 0.5


def test_the_figure_has_a_map_for_each_quantity(found):
    figure = draw_matrix(found.heat_maps())
    titles = [axes.get_title(loc="left") for axes in figure.axes]
    assert [one for one in titles if one] == [
        "share of the goodput (%)",
        "mean RTT (ms)",
        "harm to its goodput",
        "harm to its RTT",
    ]
    maps = [axes for axes in figure.axes if axes.get_title(loc="left")]
    # Square cells, one for each pair, the first row at the top.
    assert {(axes.get_ylim(), axes.get_aspect()) for axes in maps} == {((1.5, -0.5), 1.0)}
    assert {axes.collections[0].get_array().shape for axes in maps} == {(2, 2)}


def test_numbers_contrast_with_the_colour_below_them():
    # Luminance 1, 0, and 0.2126 of pure red: (0.2126 + 0.05) / 0.05 = 5.3 against 1.05 / 0.2626 = 4.0.
    assert [on_colour(one) for one in ("#ffffff", "#000000", "#ff0000")] == ["black", "white", "black"]
    # 0.5776 of full red is 0.2917 in linear light: 0.0620 of luminance, 2.2 against 9.4.
    assert on_colour("#930000") == "white"
    # 0.7152 of pure green, 0.0722 of pure blue: 15.3 against 1.4, and 2.4 against 8.6.
    assert [on_colour(one) for one in ("#00ff00", "#0000ff")] == ["black", "white"]


def test_the_command_writes_its_rows_and_resumes_its_folder(tmp_path, capsys):
    command = ("matrix", "newreno", "vegas", *SHORT, "--json", "--out", tmp_path / "out")
    status, out, _ = run(capsys, *command)
    document = json.loads(out)["matrix"]
    assert (status, len(document["rows"])) == (0, 8)
    assert document["path"]["path"]["rate"] == "5mbit"
    table = pq.read_table(tmp_path / "out" / "matrix.parquet")
    assert table.to_pylist() == document["rows"]
    with (tmp_path / "out" / "matrix.csv").open() as file:
        assert [one["controller"] for one in csv.DictReader(file)] == table["controller"].to_pylist()
    assert (tmp_path / "out" / "matrix.png").stat().st_size > 10_000
    # A third controller takes the runs that are new: of seven pairs and three alone, five are there.
    chunks = set((tmp_path / "out" / "chunks").iterdir())
    status, out, _ = run(capsys, *command[:3], "cubic", *command[3:])
    rows = json.loads(out)["matrix"]["rows"]
    assert (status, len(rows)) == (0, 3 + 6 * 2)
    old = [one for one in rows if "cubic" not in (one["controller"], one["beside"])]
    assert sorted(map(str, old)) == sorted(map(str, document["rows"]))
    assert chunks < set((tmp_path / "out" / "chunks").iterdir())


def test_the_terminal_shows_squares_or_a_line_for_each_pair(capsys):
    _, out, _ = run(capsys, "matrix", "newreno", "vegas", *SHORT)
    assert "harm to its goodput" in out
    assert "Ware et al. 2019" in out
    long = [f"cdg(G={number}ms, beta_d=0.5)" for number in range(1, 10)]
    rows = [row(one, other, 1, harm_goodput=0.1 * len(other)) for one in long for other in long]
    table, read = _tables(Matrix(long, rows), "10mbit", as_json=False)
    assert (table.title, table.row_count) == ("10mbit, the 60 most harmed of 81", 60)
    assert read == READ


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (("newreno", "newreno"), "named twice"),
        (("newreno", "nosuch"), "there is no controller `nosuch`"),
        (("newreno", "--loss", "1"), "as in --loss 1%"),
        (("newreno", "--retries", "2"), "--retries: is an option of an engine: --engine live:retries=VALUE"),
        (("newreno", "--warmup", "80s"), "warmup"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(arguments, words, capsys):
    assert words in refused(capsys, "matrix", *arguments)


def test_controllers_in_python_run_beside_others(tmp_path, capsys):
    file = tmp_path / "still.py"
    file.write_text(
        "import ackclock\n\n\nclass Still(ackclock.Controller):\n"
        "    def on_ack(self, cx, ack):\n        self.window = 4.0\n\n"
        "    on_loss = on_timeout = on_ack\n"
    )
    status, out, err = run(capsys, "matrix", "newreno", f"{file}:Still", *SHORT, "--json")
    assert status == 0, err
    rows = json.loads(out)["matrix"]["rows"]
    still = next(one for one in rows if one["controller"] == "still.py:Still" and one["beside"] == "newreno")
    # Four segments of 1448 bytes a round trip of at least 40 ms.
    assert 0 < still["goodput_bps"] < 4 * 1448 * 8 / 0.04


def test_a_note_on_a_trace_comes_once(capsys, tmp_path):
    trace = tmp_path / "slow.trace"
    trace.write_text("10\n20\n30\n")
    path = ("newreno", "cdg", "--trace", trace, "--duration", "2s", "--json")
    for command in (("sweep", *path, "--over", "queue=5p,6p"), ("matrix", *path, "--warmup", "0s")):
        _, _, notes = run(capsys, *command)
        assert notes.count("a mean of 1.2mbit, and it repeats every 30ms") == 1, notes
