"""Results whose files are damaged or from elsewhere: commands that read them say so in one sentence."""

import json
import re
import shutil
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import ackclock
from ackclock import identify as identifying
from ackclock import stored
from ackclock.cli import main
from ackclock.identify import training
from ackclock.result import DATAGRAM_TABLES, TABLES, VIDEO_TABLES, WIRELESS_TABLES, Run
from calling import refused

TABLES_OF_ALL = TABLES + WIRELESS_TABLES + DATAGRAM_TABLES + VIDEO_TABLES

SCENARIO = """
name = "all"
duration = "6s"
links = [{ from = "ap", to = "server", rate = "4mbit", delay = "10ms", queue = "20p", duplex = true }]
wlans = [{ standard = "802.11n", stations = ["laptop"] }]
record = { flow_series = "5ms", frames = true, datagrams = true }

[[flows]]
cc = "cubic"
from = "laptop"
to = "server"

[[flows]]
name = "call"
kind = "datagram"
cc = "newreno"
source = { rate = "200kbit" }
from = "laptop"
to = "server"

[[flows]]
name = "video"
kind = "media"
cc = "gcc"
from = "laptop"
to = "server"
"""
"""It has every table."""

TYPES = (
    *(pa.float64(), pa.float32(), pa.int64(), pa.int8(), pa.uint64(), pa.bool_(), pa.string(), pa.binary()),
    *(pa.null(), pa.timestamp("us"), pa.list_(pa.int64()), pa.dictionary(pa.int8(), pa.string())),
)


@pytest.fixture(scope="module")
def result(tmp_path_factory):
    """A result with every table."""
    folder = tmp_path_factory.mktemp("stored")
    (folder / "all.toml").write_text(SCENARIO)
    made = ackclock.simulate(folder / "all.toml").save(folder / "result")
    assert {one.stem for one in made.glob("*.parquet")} == set(TABLES_OF_ALL)
    return made


@pytest.fixture(scope="module")
def readers():
    """The commands that read a result, each with the options that make it read the most."""
    formats = ("csv", "flent", "iperf3", "mm-link", "qlog", "radiotap")
    exports = [["read", "RESULT", "--to", one, "--out", "OUT", "--force"] for one in formats]
    return [["read", "RESULT", "--controllers"], ["read", "RESULT"], *exports]


DRAWN = ["read", "RESULT", "--out", "OUT", "--force"]
"""It takes most of a second, so few cases have it."""


def status_of(reader, folder):
    """The exit status of a reader of the result in ``folder``."""
    out = folder.parent / "out" / reader[0]
    places = {"RESULT": str(folder), "OUT": str(out)}
    shutil.rmtree(out, ignore_errors=True)
    return main([places.get(word, word) for word in reader])


def column(kind, rows):
    """A column of a type, of values that its rows may have."""
    chosen = {
        pa.string(): ["12", "x", ""], pa.binary(): [b"\xff", b"1"], pa.bool_(): [True, False],
        pa.list_(pa.int64()): [[1], []], pa.dictionary(pa.int8(), pa.string()): ["a", "b"],
    }.get(kind, [0, 1, 100, -1] if not pa.types.is_unsigned_integer(kind) else [0, 1, 2**63])  # fmt: skip
    values = [None if kind == pa.null() else chosen[row % len(chosen)] for row in range(rows)]
    return pa.array(values, kind)


@st.composite
def damages(draw):
    """A change of one table: a function of it."""
    place, other = draw(st.integers(0, 99)), draw(st.integers(0, 99))
    kind, what = draw(st.sampled_from(TYPES)), draw(st.sampled_from(("drop", "name", "swap", "type", "null")))

    def damaged(table):
        name = table.column_names[place % table.num_columns]
        names = list(table.column_names)
        if what == "drop":
            return table.drop_columns([name])
        if what == "name":
            return table.rename_columns([one if one != name else draw_name for one in names])
        if what == "swap":
            with_name = names[other % len(names)]
            return table.rename_columns([{name: with_name, with_name: name}.get(one, one) for one in names])
        if what == "null":
            new = pa.nulls(table.num_rows, table.schema.field(name).type)
        else:
            new = column(kind, table.num_rows)
        return table.set_column(names.index(name), name, new)

    draw_name = draw(st.sampled_from(("x", "flow", "time_s", "name", "")))
    return damaged


@pytest.fixture(scope="module")
def classifier():
    """One of a small table: identification is not under test."""
    columns = training.train(count=1, controllers=("newreno",)).columns
    values = np.arange(6.0 * len(columns)).reshape(6, -1)
    return identifying.Classifier(training.Table(columns, values, ["a", "b", "c"] * 2))


@pytest.fixture
def few(monkeypatch, classifier):
    """Commands identify by it."""
    monkeypatch.setattr(identifying, "table", lambda _: None)
    monkeypatch.setattr(identifying, "Classifier", lambda _: classifier)


def copied(result, tmp_path):
    """A copy of the result, to be damaged."""
    folder = tmp_path / "result"
    shutil.rmtree(folder, ignore_errors=True)
    return shutil.copytree(result, folder)


PROPERTY = settings(
    max_examples=25, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture]
)
DRAWING = settings(PROPERTY, max_examples=6)


@pytest.mark.usefixtures("few")
def test_every_reader_reads_the_whole_result(result, readers):
    assert [status_of(reader, result) for reader in (*readers, DRAWN)] == [0] * (len(readers) + 1)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("few")
@PROPERTY
@given(st.sampled_from(TABLES_OF_ALL), damages())
def test_no_damage_to_a_column_is_more_than_bad_input(result, readers, tmp_path, name, damaged):
    folder = copied(result, tmp_path)
    file = folder / f"{name}.parquet"
    pq.write_table(damaged(pq.read_table(file)), file)
    for reader in readers:
        assert status_of(reader, folder) in (0, 2), reader


@pytest.mark.filterwarnings("ignore")
@DRAWING
@given(st.sampled_from(TABLES_OF_ALL), damages())
def test_no_damage_to_a_column_breaks_a_page(result, tmp_path, name, damaged):
    folder = copied(result, tmp_path)
    file = folder / f"{name}.parquet"
    pq.write_table(damaged(pq.read_table(file)), file)
    assert status_of(DRAWN, folder) in (0, 2)


VALUES = (None, 0, -1.5, "", "x", [], [1], {}, {"a": 1}, True)


def spoilt(value, place, by):
    """A value of JSON in which the ``place``-th part is ``by``, or gone if that is None."""
    parts = []

    def collect(one):
        for key in list(one) if isinstance(one, dict) else range(len(one)):
            parts.append((one, key))
            if isinstance(one[key], dict | list):
                collect(one[key])

    collect(value)
    container, key = parts[place % len(parts)]
    if by is None:
        del container[key]
    else:
        container[key] = by
    return value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("few")
@PROPERTY
@given(st.integers(0, 999), st.sampled_from(VALUES))
def test_no_damage_to_the_description_is_more_than_bad_input(result, readers, tmp_path, place, by):
    file = copied(result, tmp_path) / "run.json"
    file.write_text(json.dumps(spoilt(json.loads(file.read_text()), place, by)))
    for reader in readers:
        assert status_of(reader, file.parent) in (0, 2), reader


@pytest.mark.filterwarnings("ignore")
@DRAWING
@given(st.integers(0, 999), st.sampled_from(VALUES))
def test_no_damage_to_the_description_breaks_a_page(result, tmp_path, place, by):
    file = copied(result, tmp_path) / "run.json"
    file.write_text(json.dumps(spoilt(json.loads(file.read_text()), place, by)))
    assert status_of(DRAWN, file.parent) in (0, 2)


def empty(file):
    file.write_bytes(b"")


def cut(file):
    file.write_bytes(file.read_bytes()[:-20])


def text(file):
    file.write_text("a,b\n1,2\n")


def folder(file):
    file.unlink()
    file.mkdir()


def without_rows(file):
    pq.write_table(pq.read_table(file).slice(0, 0), file)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.usefixtures("few")
@pytest.mark.parametrize("damage", [empty, cut, text, folder, without_rows])
@pytest.mark.parametrize("name", [*TABLES_OF_ALL, "run"])
def test_a_damaged_file_is_bad_input(result, readers, tmp_path, name, damage):
    if (name, damage) == ("run", without_rows):
        return
    file = copied(result, tmp_path) / ("run.json" if name == "run" else f"{name}.parquet")
    damage(file)
    # The first two read every table, or refuse.
    for reader in (readers[2], readers[-1], readers[1]):
        assert status_of(reader, file.parent) in (0, 2), reader


def test_a_sentence_names_file_and_column(capsys, result, tmp_path):
    folder = copied(result, tmp_path)
    file = folder / "flow_series.parquet"
    table = pq.read_table(file)
    for damaged, why in (
        (table.drop_columns(["latest_rtt_ms"]), "the column `latest_rtt_ms` is missing"),
        (
            table.set_column(0, "time_s", pa.array(["x"] * table.num_rows)),
            "the column `time_s` must be double (Failed to parse string: 'x' as a scalar of type double)",
        ),
        (
            table.set_column(1, "flow", pa.nulls(table.num_rows, pa.uint32())),
            f"the column `flow` has {table.num_rows} rows without a value",
        ),
    ):
        pq.write_table(damaged, file)
        assert refused(capsys, "read", "--controllers", folder) == f"{file}: {why}"
    pq.write_table(pq.read_table(folder / "flows.parquet").slice(0, 0), folder / "flows.parquet")
    assert refused(capsys, "read", folder).endswith("flows.parquet: has no rows, and every run has flows")


def test_tables_that_do_not_fit_together_are_no_capture(capsys, result, tmp_path):
    folder = copied(result, tmp_path)
    stations = pq.read_table(folder / "stations.parquet")
    pq.write_table(stations.slice(0, 0), folder / "stations.parquet")
    sentence = refused(capsys, "read", folder, "--to", "radiotap", "--out", tmp_path)
    assert sentence.startswith("frames, stations and `wlans` of the result do not fit together (KeyError: ")


def test_columns_of_others_are_left_out_and_their_types_become_ours(result, tmp_path):
    folder = copied(result, tmp_path)
    file = folder / "flow_series.parquet"
    table = pq.read_table(file).append_column("own", pa.nulls(pq.read_table(file).num_rows))
    state = table.column_names.index("state")
    wide = table.set_column(state, "state", table["state"].cast(pa.large_string()))
    pq.write_table(wide.select(list(reversed(wide.column_names))), file)
    # As text, where NaN is itself.
    assert str(Run.load(folder).flow_series.to_pylist()) == str(Run.load(result).flow_series.to_pylist())
    assert Run.load(folder).flow_series.schema.equals(stored.schemas()["flow_series"], check_metadata=True)


def test_a_series_of_before_gets_bytes_and_base_rtt_from_its_flows(tmp_path):
    path = ackclock.Path("5mbit", "20ms", "30p")
    scenario = ackclock.Scenario(
        path=path,
        flows=[ackclock.Flow("newreno")],
        duration="2s",
        record=ackclock.Record(flow_series="100ms"),
    )
    made = ackclock.simulate(scenario).save(tmp_path / "run")
    now = Run.load(made).flow_series
    file = made / "flow_series.parquet"
    pq.write_table(pq.read_table(file).drop_columns(["arrived_bytes", "base_rtt_ms"]), file)
    then = Run.load(made).flow_series
    # All packets have one size here, and nothing changes the base.
    assert now["arrived_bytes"].to_pylist()[-1] > 1e6
    assert then["arrived_bytes"].to_pylist() == pytest.approx(now["arrived_bytes"].to_pylist(), rel=0.01)
    assert then["base_rtt_ms"].to_pylist() == now["base_rtt_ms"].to_pylist()


def test_flows_without_names_are_read(tmp_path):
    # Each gets one only in the tables.
    flow = ackclock.Flow("newreno", count=2)
    path = ackclock.Path("5mbit", "20ms", "30p")
    made = ackclock.simulate(ackclock.Scenario(path=path, flows=[flow], duration="1s")).save(tmp_path / "run")
    assert json.loads((made / "run.json").read_text())["scenario"]["flows"][0].get("name") is None
    assert Run.load(made).flows["name"].to_pylist() == ["newreno-0", "newreno-1"]


def test_tables_are_read_without_threads_that_memory_may_lack(tmp_path):
    """Where a thread cannot begin, `read_table` waits for it for ever, and no signal ends that."""
    package = [*(Path(ackclock.__file__).parent).rglob("*.py")]
    threads = re.compile(r"\bread_table\(|pyarrow\.dataset")
    calls = [file.name for file in package if threads.search(file.read_text("utf-8"))]
    assert len(package) > 100
    assert calls == []
    table = pa.table({"a": [1, 2], "b": pa.array(["x", "y"]).dictionary_encode()})
    pq.write_table(table, tmp_path / "t.parquet")
    assert stored.table_in(tmp_path / "t.parquet").equals(table)
    assert stored.table_in(tmp_path / "t.parquet", ["b"]).equals(table.select(["b"]))
