"""Sweeps: their keys, the tables and figures, continuing after an interruption."""

import json
import os
import signal
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

import pytest

import ackclock
from ackclock.errors import InputError
from ackclock.result import ResultError
from ackclock.sweeps import METRICS, Place, executors, work
from ackclock.sweeps.axes import Design, axis, numbers, parse
from ackclock.sweeps.plan import Plan, Variant
from ackclock.sweeps.run import Pace, execute, finish, of_document
from calling import PATIENCE, refused, run

PATH = ackclock.Path("10mbit", rtt="20ms", queue="1bdp")
SHORT = {"duration": "1s"}


def test_an_axis_is_a_list_a_range_or_joined_keys():
    assert parse("queue=0.1bdp,1bdp").values == (("0.1bdp",), ("1bdp",))
    assert parse("queue=0.1bdp,1bdp").keys == ("path.queue",)
    assert parse("flows.0.count=1..10*4").values == (("1",), ("4",), ("7",), ("10",))
    # Three decades in three steps of the logarithm.
    assert parse("rate=1mbit..1gbit*4log").values == (("1mbit",), ("10mbit",), ("100mbit",), ("1000mbit",))
    assert parse("rate:rtt=1mbit:40ms,1gbit:5ms").values == (("1mbit", "40ms"), ("1gbit", "5ms"))
    assert parse('path.queue={limit="84p",discipline="fq"},1bdp').values == (
        ('{limit="84p",discipline="fq"}',),
        ("1bdp",),
    )


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("queue", "must be KEY=VALUE"),
        ("queue=", "must be KEY=VALUE"),
        ("queue=1bdp,1bdp", "named twice"),
        ("queue=1bdp,,2bdp", "must have a value"),
        ("rate:rtt=1mbit,2mbit", "2 values joined by `:`"),
        ("rate:rate=1mbit:1mbit", "different keys"),
        ("rate=0mbit..10mbit*4log", "above zero"),
        ("rate=1mbit..10ms*4", "one unit"),
        ("rate=1mbit..10mbit*1", "at least 2 values"),
        ("rate=slow..fast*3", "from a number to a number"),
        ("rate=1mbit..1e400mbit*3", "must be finite"),
        ("rate=1mbit..10mbit*99999999999999999999", "at most 1000000"),
    ],
)
def test_a_bad_axis_is_refused_in_one_sentence(text, words):
    with pytest.raises(InputError, match=r"^over ") as refused:
        parse(text)
    assert words in str(refused.value)


def test_a_grid_changes_its_last_axis_fastest():
    points = list(Design((parse("queue=1p,2p"), parse("rtt=1ms,2ms"))).points())
    assert [tuple(point.values()) for point in points] == [
        ("1p", "1ms"),
        ("1p", "2ms"),
        ("2p", "1ms"),
        ("2p", "2ms"),
    ]


def test_a_latin_hypercube_has_a_sample_in_every_stratum():
    design = Design((parse("rate=0bit..100bit"), parse("rtt=1ms..1000ms*log")), samples=10)
    rates, spans = zip(*((one["path.rate"], one["path.rtt"]) for one in design.points()), strict=True)
    assert sorted(int(float(rate[:-3]) // 10) for rate in rates) == list(range(10))
    # On the logarithm the strata are a tenth of three decades each.
    bounds = [1000 ** (k / 10) for k in range(11)]
    ordered = sorted(float(span[:-2]) for span in spans)
    assert all(low <= value <= high for value, (low, high) in zip(ordered, pairwise(bounds), strict=True))


@pytest.mark.parametrize("draw", ["sobol", "random", "latin-hypercube"])
def test_draws_repeat_with_their_seed(draw):
    axes = (parse("rate=1mbit..2mbit"), axis("queue", ["1p", "2p"]))
    first, again, other = (list(Design(axes, 5, draw, seed).points()) for seed in (1, 1, 2))
    assert first == again != other


def test_a_range_without_a_count_is_only_for_samples():
    with pytest.raises(InputError, match="number of its values"):
        Design((parse("rate=1mbit..2mbit"),))


def test_numbers_of_values_share_a_unit():
    assert numbers(["1mbit", "20mbit"]) == ([1.0, 20.0], "mbit")
    assert numbers(["500kbit", "1mbit"]) == ([5e5, 1e6], "")
    assert numbers(["1bdp", "84p"])[0] == [None, None]


def test_a_run_of_a_sweep_is_that_of_simulate():
    swept = ackclock.sweep(PATH, ["newreno", "cdg"], over={"queue": ["5p", "20p"]}, repeat=2, **SHORT)
    for row in swept.rows():
        path = ackclock.Path("10mbit", rtt="20ms", queue=row["point"]["path.queue"])
        run = ackclock.simulate(path, [row["controller"]], seed=row["seed"], **SHORT)
        assert row["flows"][0]["goodput_bps"] == run.flows["goodput_bps"][0].as_py()
        assert row["links"][0]["utilization"] == run.links["utilization"][0].as_py()
    assert swept.runs.num_rows == 2 * 2 * 2
    place = Place("cdg", (("path.queue", "5p"),))
    assert set(swept.values[place]) == set(METRICS)


def test_rows_are_in_the_order_of_the_sweep():
    swept = ackclock.sweep(PATH, ["newreno", "cdg"], over={"rtt": ["9ms", "5ms"]}, repeat=2, **SHORT)
    columns = [swept.runs[name].to_pylist() for name in ("controller", "path.rtt", "seed")]
    assert list(zip(*columns, strict=True))[:5] == [
        ("newreno", "9ms", 1),
        ("newreno", "9ms", 2),
        ("newreno", "5ms", 1),
        ("newreno", "5ms", 2),
        ("cdg", "9ms", 1),
    ]


class Ten(ackclock.Controller):
    """A window of ten segments."""

    def __init__(self) -> None:
        self.window = 10.0

    def on_ack(self, cx: ackclock.Context, ack: ackclock.Ack) -> None:
        pass

    def on_loss(self, cx: ackclock.Context, loss: ackclock.Loss) -> None:
        pass

    def on_timeout(self, cx: ackclock.Context, loss: ackclock.Loss) -> None:
        pass


def test_a_controller_in_python_is_swept():
    swept = ackclock.sweep(PATH, [Ten, "newreno"], over={"rtt": ["20ms", "40ms"]}, **SHORT)
    assert set(swept.runs["controller"].to_pylist()) == {"Ten", "newreno"}
    # Ten segments of 1448 bytes in 20 and 40 ms.
    short, long = (swept.values[Place("Ten", (("path.rtt", rtt),))]["goodput"][0] for rtt in ("20ms", "40ms"))
    assert short > 1.5 * long


def test_figures_are_drawn_for_each_number_of_axes():
    over = {"queue": ["5p", "1bdp"], "rtt": ["5ms", "9ms"], "loss": ["0%", "1%"]}
    for count in (1, 2, 3):
        swept = ackclock.sweep(
            PATH, ["newreno", "cdg"], over=dict(list(over.items())[:count]), duration="200ms"
        )
        titles = [axes.get_title() for axes in swept.plot("goodput").axes]
        assert len(titles) == {1: 1, 2: 3, 3: 5}[count]  # maps of two controllers, and the bar of colours
    delays = ackclock.sweep(PATH, ["newreno"], over={"queue": ["0.1bdp", "10bdp"]}, duration="5s")
    # A hundredfold buffer that NewReno fills.
    assert delays.plot("queue_delay_p95").axes[0].get_yscale() == "log"
    assert delays.plot("goodput").axes[0].get_yscale() == "linear"
    over = {"queue": ["0.1bdp", "10bdp"], "rtt": ["20ms", "40ms"]}
    maps = ackclock.sweep(PATH, ["newreno"], over=over, duration="5s")
    scales = [
        type(maps.plot(name).axes[0].collections[0].norm).__name__ for name in ("queue_delay_p95", "goodput")
    ]
    assert scales == ["LogNorm", "Normalize"]
    # Nothing is lost without loss: no logarithm has a place for it.
    lost = ackclock.sweep(PATH, ["cdg"], over={"loss": ["0%", "5%"]}, duration="2s")
    values = [value for of in lost.values.values() for value in of["loss"]]
    assert min(values) == 0.0 < max(values)
    assert lost.plot("loss").axes[0].get_yscale() == "linear"
    drawn = ackclock.sweep(PATH, ["cdg"], over=["rtt=5ms..50ms*log"], samples=4, duration="200ms")
    assert drawn.plot("loss").axes[0].get_xlabel() == "rtt (ms)"
    with pytest.raises(InputError, match="no metric `speed`"):
        drawn.plot("speed")


def document(cc):
    return json.dumps(
        {
            "name": cc,
            "duration": "1s",
            "flows": [{"cc": cc}],
            "path": {"rate": "10mbit", "rtt": "20ms", "queue": "1bdp"},
        }
    )


def plan_of(queues=6):
    design = Design((axis("queue", [f"{k}p" for k in range(2, 2 + queues)]),))
    return Plan([Variant(of_document(document("cdg"), ackclock._engine.Files()), "cdg")], design, range(1, 3))


def test_an_interrupted_sweep_goes_on_where_it_was(tmp_path):
    plan, whole = plan_of(), tmp_path / "whole"
    whole.mkdir()
    list(execute(plan, whole, executors.workers(ThreadPoolExecutor(1)), None))
    expected = finish(plan, whole).runs
    steps = execute(plan, tmp_path, executors.workers(ThreadPoolExecutor(1)), None)
    done = next(steps).done
    steps.close()
    there = {file.name for file in (tmp_path / "chunks").glob("*.flows.parquet")}
    assert 0 < done < len(plan)
    list(execute(plan, tmp_path, executors.workers(ThreadPoolExecutor(1)), None))
    assert there < {file.name for file in (tmp_path / "chunks").glob("*.flows.parquet")}
    assert finish(plan, tmp_path).runs.equals(expected)


def test_a_run_that_is_there_is_not_repeated(tmp_path):
    class Refusing(ThreadPoolExecutor):
        def submit(self, *_args, **_kwargs):
            raise AssertionError("a run is repeated")

    plan = plan_of()
    list(execute(plan, tmp_path, executors.workers(None, 1), None))
    outcome = list(execute(plan, tmp_path, executors.workers(Refusing(1)), None))[-1]
    assert outcome.done == len(plan)


def test_a_worker_that_is_killed_costs_its_chunk_only(tmp_path):
    distributed = pytest.importorskip("distributed")
    plan, apart = plan_of(60), tmp_path / "apart"
    apart.mkdir()
    list(execute(plan, apart, executors.workers(ThreadPoolExecutor(1)), None))
    with distributed.LocalCluster(
        n_workers=2, threads_per_worker=1, processes=True, dashboard_address=None
    ) as cluster:
        killed = False
        address = cluster.scheduler_address.removeprefix("tcp://")
        with distributed.Client(cluster) as client:
            victim = next(iter(client.run(os.getpid).values()))
        for outcome in execute(plan, tmp_path, executors.workers(f"dask://{address}"), None):
            if not killed and outcome.done:
                os.kill(victim, signal.SIGKILL)
                killed = True
    assert killed
    assert finish(plan, tmp_path).runs.equals(finish(plan, apart).runs)


def test_json_of_the_command_has_the_rows(capsys, tmp_path):
    out = tmp_path / "swept"
    status, printed, notes = run(
        capsys, "sweep", "newreno", "cdg", "--rate", "5mbit", "--over", "queue=5p,1bdp",
        "--duration", "500ms", "--repeat", "2", "--out", out, "--json",
    )  # fmt: skip
    assert status == 0, notes
    found = json.loads(printed)["sweep"]
    assert found["over"] == {"path.queue": ["5p", "1bdp"]}
    assert len(found["rows"]) == 8
    assert found["rows"][0].keys() == {"controller", "point", "seed", "valid", "flows", "links"}
    assert found["rows"][3]["point"] == {"path.queue": "1bdp"}
    assert all(row["valid"] for row in found["rows"])
    names = {file.name for file in out.iterdir()}
    assert names >= {"index.html", "runs.parquet", "links.parquet", "goodput.png", "sweep.json"}
    assert list(ackclock.Sweep.load(out).rows()) == found["rows"]


QUICKSTART = Path(__file__).parents[2] / "examples" / "quickstart.toml"


def test_a_warning_says_at_which_points_it_holds(capsys):
    path = ("sweep", "newreno", "--rate", "2mbit", "--rtt", "10ms", "--duration", "100ms")
    _, _, notes = run(capsys, *path, "--over", "queue=0.7bdp,0.8bdp,50p", "--json")
    # A BDP is 2500 bytes: eight tenths of it are one packet of 1500.
    assert "less than two packets of 1500 bytes, at path.queue=0.7bdp and at 1 more\n" in notes
    assert "1500 bytes\n" in run(capsys, *path, "--queue", "0.8bdp", "--json")[2]


def test_repetitions_that_came_out_the_same_are_named(capsys):
    exact = ("--set", "phase_noise=false")
    swept = ("sweep", "newreno", "cdg", "--over", "queue=5p", "--duration", "2s", *exact)
    assert "the repetitions of newreno came out the same" in run(capsys, *swept, "--repeat", 2)[2]
    assert run(capsys, *swept, "--repeat", 2, "--set", "flows.*.start_jitter=1s")[2] == ""
    assert run(capsys, *swept)[2] == ""
    compared = ("compare", "newreno", "cdg", "--queue", "5p", "--duration", "2s", *exact)
    assert "the repetitions of newreno came out the same" in run(capsys, *compared, "--repeat", 2)[2]
    assert "came out the same" not in run(capsys, *compared)[2]


def test_a_scenario_file_is_swept_over_any_key(capsys):
    status, printed, notes = run(
        capsys, "sweep", QUICKSTART, "--over", "path.loss=0%,1%", "--set", "duration=11s", "--json"
    )
    assert status == 0, notes
    rows = json.loads(printed)["sweep"]["rows"]
    assert [row["point"] for row in rows] == [{"path.loss": "0%"}, {"path.loss": "1%"}]


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        (["cdg", "--over", "queue"], "must be KEY=VALUE"),
        (["cdg", "--over", "queues=1,2"], "did you mean `queue`?"),
        (["cdg", "--over", "queue=1bdp,many"], "queue"),
        (["cdg", "cdg", "--over", "queue=1bdp"], "named twice"),
        ([QUICKSTART, "cdg"], "or one scenario file"),
        ([QUICKSTART, "--rate", "1mbit"], "--rate"),
        (["cdg", "--over", "queue=1bdp,2bdp", "--set", "path.queue=1p"], "as well"),
        (["cdg", "--over", "rate=1mbit..2mbit"], "number of its values"),
        (["cdg", "--over", "queue=1bdp", "--over", "path.queue=2bdp"], "over path.queue: is swept twice"),
        (["cdg", "--queue", ""], "--queue '': must not be empty"),
        (["cdg", "--engine", "sim:retries=2"], "no option `retries`"),
        (["cdg", "--executor", "slurm"], "must be local, dask or"),
        (["cdg", "--executor", "local:0"], "--executor local:0: processes must be a whole number from 1"),
        (["cdg", "--samples", "0"], "--samples 0: must be N or N:DRAW"),
        (["cdg", "--over", "rate=1mbit..2mbit", "--samples", "3:halton"], "must be one of"),
    ],
)
def test_bad_input_is_refused_before_anything_runs(arguments, words, capsys, tmp_path):
    assert words in refused(capsys, "sweep", *arguments, "--out", tmp_path / "new")
    assert not (tmp_path / "new").exists()


def test_chunks_grow_where_writing_takes_longer_than_running():
    pace = Pace()
    # A slow file system: a second to write a chunk, whatever is in it, and 10 ms a run.
    for _ in range(5):
        runs = pace.size(100_000, 4)
        pace.saw(work.Done(runs, 0.01 * runs, 1.0, ()))
    assert pace.size(100_000, 4) == 1000
    pace = Pace()
    pace.saw(work.Done(4, 0.04, 0.01, ()))
    assert pace.size(100_000, 4) == 150
    # 100 runs of 10 ms for four chunks: a quarter of a second each. The last ones have a tenth, and no less.
    assert [pace.size(left, 4) for left in (600, 100, 40, 1)] == [150, 25, 10, 10]


def test_memory_stays_flat_over_thousands_of_runs(tmp_path):
    """The process that leads a sweep holds names of runs, and a worker the rows of a chunk."""
    script = tmp_path / "lead.py"
    script.write_text(
        "import resource, sys\n"
        "import ackclock\n"
        "if __name__ == '__main__':\n"
        "    path = ackclock.Path('2mbit', rtt='20ms', queue='1bdp')\n"
        "    over = {'loss': ['0%', '1%']}\n"
        "    short = {'duration': '100ms', 'repeat': int(sys.argv[1])}\n"
        "    ackclock.sweep(path, ['newreno'], over=over, out=sys.argv[2], **short)\n"
        "    for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN):\n"
        "        print(resource.getrusage(who).ru_maxrss // 1024)\n"
    )

    def peaks(repeat):
        """The largest memory of the leading process and of a worker, in MB."""
        command = [sys.executable, str(script), str(repeat), str(tmp_path / f"swept-{repeat}")]
        done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=PATIENCE)
        return [int(line) for line in done.stdout.split()]

    few, many = peaks(50), peaks(2000)
    # 3900 runs more, at most some kilobytes each.
    assert [after - before < 40 for before, after in zip(few, many, strict=True)] == [True, True], (few, many)


@pytest.mark.parametrize(
    ("over", "points"),
    [
        ("profile=linux,freebsd-9", ["linux", "freebsd-9"]),
        ("seed=3,5", ["3", "5"]),
        ("name=a,b", ["a", "b"]),
        ("profile:seed=linux:3,freebsd-9:5", ["linux", "freebsd-9"]),
    ],
)
def test_a_swept_key_may_have_the_name_of_a_column(over, points, capsys, tmp_path):
    command = ("sweep", "cubic", "--over", over, "--duration", "1s", "--repeat", 2, "--json")
    status, out, err = run(capsys, *command, "--out", tmp_path / "out")
    assert status == 0, err
    rows = json.loads(out)["sweep"]["rows"]
    key = over.partition("=")[0].partition(":")[0]
    assert [row["point"][key] for row in rows] == [point for point in points for _ in range(2)]
    if "seed" in over:
        assert [row["seed"] for row in rows] == [3, 4, 5, 6]
    loaded = ackclock.sweeps.Sweep.load(tmp_path / "out")
    assert loaded.runs[f"scenario.{key}"].to_pylist() == [row["point"][key] for row in rows]
    assert set(loaded.values) == {place for place in loaded.values if dict(place.point)[key] in points}


def test_a_seed_is_swept_or_given(capsys):
    words = refused(capsys, "sweep", "cubic", "--over", "seed=3,5", "--seed", 7)
    assert words == "--seed 7: the seed is swept"


HEADER = """#include "ack.h"
#include "mine.h"
CALLBACK_1(u32, mine_ssthresh, struct sock *, sk)
{
	return max_u64(scaled_down(tcp_sk(sk)->snd_cwnd, REAL(BETA)), 2);
}
CALLBACK_3(void, mine_cong_avoid, struct sock *, sk, u32, ack, u32, acked)
{
	tcp_cong_avoid_ai(tcp_sk(sk), tcp_sk(sk)->snd_cwnd, acked);
}
CALLBACK_1(u32, mine_undo_cwnd, struct sock *, sk)
{
	return tcp_reno_undo_cwnd(sk);
}
CONTROLLER("mine", .ssthresh = mine_ssthresh, .cong_avoid = mine_cong_avoid, .undo_cwnd = mine_undo_cwnd);
"""


def test_a_run_of_a_controller_in_c_is_made_again_each_time(capsys, tmp_path):
    (tmp_path / "mine.bpf.c").write_text(HEADER)
    command = ("sweep", tmp_path / "mine.bpf.c", "--over", "queue=20p", "--duration", "5s", "--json")
    found = []
    for beta in (0.7, 0.2, 0.7):
        (tmp_path / "mine.h").write_text(f"#define BETA {beta}\n")
        status, out, err = run(capsys, *command, "--out", tmp_path / "out")
        assert status == 0, err
        assert "is in C" in err
        found.append(json.loads(out)["sweep"]["rows"][0]["flows"])
    assert found[0] != found[1]
    assert found[0] == found[2]


@pytest.mark.usefixtures("kernel")
def test_a_sweep_goes_on_after_an_update_of_the_kernel(capsys, tmp_path, monkeypatch):
    command = ("sweep", "cubic", "--over", "queue=20p", "--duration", "1s", "--out", tmp_path / "out")
    assert run(capsys, *command)[0] == 0
    monkeypatch.setattr("platform.release", lambda: "99.0")
    assert run(capsys, *command)[0] == 0
    words = refused(capsys, *command, "--live")
    assert "was started with engine sim, and now it is live" in words


@pytest.mark.parametrize("kind", ["flows", "links"])
def test_rows_that_are_missing_are_made_again(tmp_path, kind):
    plan = plan_of()
    list(execute(plan, tmp_path, executors.workers(ThreadPoolExecutor(1)), None))
    whole = finish(plan, tmp_path)
    flows, links = whole.runs, whole.links
    next(iter((tmp_path / "chunks").glob(f"*.{kind}.parquet"))).unlink()
    steps = list(execute(plan, tmp_path, executors.workers(ThreadPoolExecutor(1)), None))
    assert steps[-1].done == len(plan)
    again = finish(plan, tmp_path)
    assert (again.runs.equals(flows), again.links.equals(links)) == (True, True)


@pytest.mark.parametrize("kind", ["flows", "links"])
def test_a_damaged_file_is_named_with_its_remedy(tmp_path, kind):
    plan = plan_of()
    list(execute(plan, tmp_path, executors.workers(ThreadPoolExecutor(1)), None))
    whole = finish(plan, tmp_path).links
    damaged = next(iter((tmp_path / "chunks").glob(f"*.{kind}.parquet")))
    damaged.write_bytes(damaged.read_bytes()[:-9])
    with pytest.raises(ResultError, match="without it the same command makes its runs again"):
        list(execute(plan, tmp_path, executors.workers(ThreadPoolExecutor(1)), None))
    damaged.unlink()
    list(execute(plan, tmp_path, executors.workers(ThreadPoolExecutor(1)), None))
    assert finish(plan, tmp_path).links.equals(whole)
