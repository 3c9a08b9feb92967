"""Results: tables, summary, saving and loading."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import polars
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

import ackclock
from ackclock import metrics
from ackclock.parity import comparison
from ackclock.result import TABLES


@pytest.fixture(scope="module")
def run() -> ackclock.Run:
    path = ackclock.Path("10mbit", "40ms", "84p", loss="0.5%")
    result = ackclock.simulate(path, ["newreno", "cdg"], duration="10s", warmup="2s", seed=3)
    assert isinstance(result, ackclock.Run)
    return result


def test_tables_have_the_columns_of_the_schema_with_units(run: ackclock.Run) -> None:
    assert run.flow_series.schema.names == [
        "time_s", "flow", "window_segments", "threshold_segments", "in_flight_segments", "latest_rtt_ms",
        "smoothed_rtt_ms", "min_rtt_ms", "base_rtt_ms", "delivered_bytes", "arrived_packets", "arrived_bytes",
        "sent_packets", "retransmitted_packets", "pacing_rate_bps", "state",
    ]  # fmt: skip
    assert run.events.schema.names == ["time_s", "kind", "flow", "link", "sequence", "value"]
    assert run.flows.schema.field("goodput_bps").metadata == {b"unit": b"bit/s"}
    assert run.links.schema.field("queue_delay_p99_ms").metadata == {b"unit": b"ms"}
    for name in TABLES:
        assert run.table(name).schema.metadata[b"ackclock.schema_version"] == b"3"


def test_the_numbers_of_a_run_hang_together(run: ackclock.Run) -> None:
    assert (run.duration_s, run.warmup_s, run.seed) == (10.0, 2.0, 3)
    assert run.flows["measured_s"].to_pylist() == [8.0, 8.0]
    (link,) = run.links.to_pylist()
    arrived = link["departed_packets"] + link["dropped_packets"] + link["lost_packets"]
    assert abs(link["arrived_packets"] - arrived) <= 85
    assert 0.5 < link["utilization"] <= 1.0
    throughput = sum(run.flows["throughput_bps"].to_pylist())
    # Only packets on the wire at either end of the interval may differ: 20 ms of 8 s.
    assert throughput == pytest.approx(link["throughput_bps"], rel=0.003)
    # The first sample of a flow has no round-trip time yet, and the threshold is infinite.
    first = run.flow_series.slice(0, 1).to_pylist()[0]
    assert first["threshold_segments"] is None
    assert set(run.events["kind"].to_pylist()) >= {
        "start",
        "lost",
        "loss-event",
        "retransmission",
        "recovered",
    }


def test_the_summary_is_the_object_of_the_command_line(run: ackclock.Run) -> None:
    summary = run.summary("both")
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    names = ["label", "seed", "duration_s", "scenario", "flows", "controllers", "links", "fairness", "engine"]
    assert list(summary) == names
    assert (summary["label"], run.summary()["label"]) == ("both", "scenario")
    goodput = [flow["goodput_bps"] for flow in summary["flows"]]
    assert list(summary["flows"][0]["rtt_ms"]) == ["min", "mean", "p50", "p90", "p95", "p99", "max"]
    a, b = goodput
    assert summary["fairness"]["jain"] == pytest.approx((a + b) * (a + b) / 2 / (a * a + b * b))


def test_fairness_is_that_of_the_flows_that_last() -> None:
    path = ackclock.Path("10mbit", "20ms", "20p")
    transfer = ackclock.Flow("cubic", bytes="30kB")
    both = ackclock.simulate(path, [ackclock.Flow("cubic", count=2), transfer], duration="5s")
    a, b, _ = both.flows["goodput_bps"].to_pylist()
    assert both.fairness == pytest.approx((a + b) ** 2 / 2 / (a * a + b * b))
    assert both.summary()["fairness"] == {"jain": both.fairness}
    # One flow alone is equal to itself. Beside a transfer it is compared with nothing.
    assert ackclock.simulate(path, ["cubic"], duration="5s").fairness == 1.0
    beside = ackclock.simulate(path, ["cubic", transfer], duration="5s")
    assert beside.summary()["fairness"] == {"jain": None}
    assert math.isnan(beside.fairness)


def test_a_call_is_not_compared_with_flows_that_send_all_they_can() -> None:
    call = ackclock.Flow("cubic", source={"rate": "100kbit"})
    beside = ackclock.simulate(
        ackclock.Path("10mbit", "20ms", "20p"), [ackclock.Flow("cubic", count=2), call], duration="5s"
    )
    a, b, _ = beside.flows["goodput_bps"].to_pylist()
    assert beside.fairness == metrics.jain([a, b])


def test_rows_are_those_of_the_table_for_runs_of_the_engine_and_of_files(
    run: ackclock.Run, tmp_path: Path
) -> None:
    again = ackclock.Run.load(run.save(tmp_path / "result"))
    for name in TABLES:
        # As text: a value that is not known equals itself.
        assert str(run.rows(name)) == str(run.table(name).to_pylist()) == str(again.rows(name)), name
    assert again.fairness == run.fairness
    with pytest.raises(KeyError, match="there is no table `flow`; there are flows, links"):
        run.rows("flow")


def test_what_is_saved_is_loaded_again(run: ackclock.Run, tmp_path: Path) -> None:
    folder = run.save(tmp_path / "result")
    again = ackclock.Run.load(folder)
    for name in TABLES:
        assert again.table(name).schema.equals(run.table(name).schema, check_metadata=True), name
        assert again.table(name).equals(run.table(name)), name
    assert (again.scenario, again.seed, again.engine) == (run.scenario, run.seed, run.engine)
    assert again.summary() == run.summary()
    described = json.loads((folder / "run.json").read_text())
    assert set(described) == {"version", "schema_version", "seed", "scenario", "engine", "routes", "host"}


def test_metrics_and_parity_take_a_parking_lot_s_slowest_link() -> None:
    links = [
        ackclock.Link(from_="a", to="b", rate="10mbit", delay="5ms", queue="50p", name="west"),
        ackclock.Link(from_="b", to="c", rate="8mbit", delay="5ms", queue="30p", name="east"),
        ackclock.Link(from_="c", to="a", rate="1mbit", delay="5ms", queue="50p", name="back"),
    ]
    flows = [ackclock.Flow("newreno", from_="a", to="c")]
    lot = ackclock.simulate(ackclock.Scenario(links=links, flows=flows, duration="10s"))
    assert isinstance(lot, ackclock.Run)
    assert lot.links["is_bottleneck"].to_pylist() == [False, True, False]
    assert metrics.link_rate(lot) == 8e6
    assert metrics.buffer(lot) == 30
    east = lot.links.to_pylist()[1]
    assert metrics.queue_curve(lot).values.max() <= 30
    assert comparison.measured(lot)["utilization"] == east["utilization"]


def test_the_summary_has_every_column_of_flows_and_links(run: ackclock.Run) -> None:
    def columns(of: dict[str, Any]) -> set[str]:
        """Nested objects (``queue_delay_ms``: ``p95`` and so on) by the names of the columns."""
        found = set()
        for name, value in of.items():
            base, ms, _ = name.partition("_ms")
            found |= {f"{base}_{key}{ms}" for key in value} if isinstance(value, dict) else {name}
        return found

    summary = run.summary()
    # All but the number of the row.
    assert columns(summary["flows"][0]) == set(run.flows.column_names) - {"flow"}
    assert columns(summary["links"][0]) == (set(run.links.column_names) - {"link"}) | {"jain"}


def test_tables_of_version_1_have_the_bottleneck_that_they_had(run: ackclock.Run, tmp_path: Path) -> None:
    folder = run.save(tmp_path / "result")
    described = json.loads((folder / "run.json").read_text())
    (folder / "run.json").write_text(json.dumps(described | {"schema_version": 1}))
    added = [c for c in run.links.column_names if c.startswith("packet_queue_delay")]
    earlier = run.links.drop_columns(["is_bottleneck", "busy_share", "capacity_bytes", *added])
    pq.write_table(earlier, folder / "links.parquet")
    again = ackclock.Run.load(folder)
    assert again.links.column_names == run.links.column_names
    assert again.links["is_bottleneck"].to_pylist() == [True]
    assert again.links["busy_share"].to_pylist() == run.links["utilization"].to_pylist()
    assert again.summary()["links"][0]["packet_queue_delay_ms"]["mean"] is None


def test_parquet_carries_units_and_dictionaries(run: ackclock.Run, tmp_path: Path) -> None:
    folder = run.save(tmp_path)
    schema = pq.read_schema(folder / "events.parquet")
    assert schema.field("kind").type == pa.dictionary(pa.int16(), pa.string())
    assert schema.field("time_s").metadata[b"unit"] == b"s"


def test_a_folder_of_several_runs_names_what_reads_it(run: ackclock.Run, tmp_path: Path) -> None:
    run.save(tmp_path / "cubic-seed-1")
    with pytest.raises(ackclock.ResultError, match=r"holds several runs: Runs\.load reads them all"):
        ackclock.Run.load(tmp_path)


def test_a_folder_without_a_result_is_refused_in_one_sentence(run: ackclock.Run, tmp_path: Path) -> None:
    with pytest.raises(ackclock.ResultError, match=r"run\.json cannot be read"):
        ackclock.Run.load(tmp_path)
    folder = run.save(tmp_path / "result")
    with pytest.raises(ackclock.ResultError, match="the folder is not empty"):
        run.save(folder)
    with pytest.raises(ackclock.ResultError, match="is a file, but must be a folder"):
        run.save(folder / "run.json")
    described = json.loads((folder / "run.json").read_text())
    (folder / "events.parquet").unlink()
    with pytest.raises(ackclock.ResultError, match=r"events\.parquet is missing"):
        ackclock.Run.load(folder)
    (folder / "run.json").write_text(json.dumps(described | {"schema_version": 99}))
    with pytest.raises(ackclock.ResultError, match="schema version 99, this package reads 3"):
        ackclock.Run.load(folder)
    (folder / "run.json").write_text("[]")
    with pytest.raises(ackclock.ResultError, match="not the description of a run"):
        ackclock.Run.load(folder)


def test_csv_has_the_same_rows_with_names_written_out(run: ackclock.Run, tmp_path: Path) -> None:
    folder = run.to_csv(tmp_path / "csv")
    events = pacsv.read_csv(folder / "events.csv")
    assert events["kind"].to_pylist() == run.events["kind"].to_pylist()
    assert events["time_s"].to_pylist() == run.events["time_s"].to_pylist()
    assert sorted(file.stem for file in folder.iterdir()) == sorted(TABLES)


def test_arrow_and_polars_share_the_memory_of_the_engine(run: ackclock.Run) -> None:
    frame = run.polars("flow_series")
    for name in ("time_s", "delivered_bytes", "flow"):
        column = run.flow_series[name].chunk(0)
        address = frame[name].to_arrow().buffers()[1].address
        assert address == column.buffers()[1].address, name
    again = ackclock.simulate(ackclock.Path("1mbit", "40ms", "10p"), ["newreno"], duration="1s")
    assert isinstance(again, ackclock.Run)
    assert isinstance(again.polars("events"), polars.DataFrame)


def test_tables_outlive_their_run() -> None:
    result = ackclock.simulate(ackclock.Path("1mbit", "40ms", "10p"), ["newreno"], duration="5s")
    times = result.flow_series["time_s"]
    del result
    assert times.to_pylist()[:3] == [0.0, 0.1, 0.2]


def test_repetitions_come_in_the_order_of_their_seeds() -> None:
    path = ackclock.Path("10mbit", "40ms", "84p", loss="1%")
    seen: list[float] = []
    runs = ackclock.simulate(path, ["newreno"], duration="3s", seed=5, repeat=3, progress=seen.append)
    assert isinstance(runs, ackclock.Runs)
    assert [run.seed for run in runs] == [5, 6, 7]
    flows = runs.table("flows")
    assert flows["seed"].to_pylist() == [5, 6, 7]
    assert len(set(flows["goodput_bps"].to_pylist())) == 3
    events = runs.table("events")
    assert events.num_rows == sum(run.events.num_rows for run in runs)
    assert [summary["seed"] for summary in runs.summary("x")] == [5, 6, 7]
    assert seen
    assert math.isclose(seen[-1], 1.0)
    alone = ackclock.simulate(path, ["newreno"], duration="3s", seed=6)
    assert isinstance(alone, ackclock.Run)
    assert alone.events.equals(runs[1].events)
