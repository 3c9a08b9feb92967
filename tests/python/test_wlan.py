"""Wireless networks from Python: the language, the tables, the saved files."""

from __future__ import annotations

from pathlib import Path

import pytest

import ackclock


@pytest.fixture(scope="module")
def run() -> ackclock.Run:
    scenario = ackclock.Scenario(
        duration="2s",
        wlans=[ackclock.Wlan(standard="802.11g", stations=["laptop", {"name": "tv", "rate": "6mbit"}])],
        links=[
            ackclock.Link(from_="ap", to="server", rate="100mbit", delay="5ms", queue="infinite", duplex=True)
        ],
        flows=[
            ackclock.Flow("cubic", from_="laptop", to="server"),
            ackclock.Flow("cubic", from_="server", to="tv"),
        ],
        record=ackclock.Record(frames=True),
    )
    result = ackclock.simulate(scenario)
    assert isinstance(result, ackclock.Run)
    return result


def test_stations_have_rows_with_what_they_did(run: ackclock.Run) -> None:
    stations = {row["name"]: row for row in run.stations.to_pylist()}
    assert list(stations) == ["ap", "laptop", "tv"]
    assert stations["ap"]["is_access_point"]
    assert stations["tv"]["rate_mean_bps"] == 6e6
    assert stations["laptop"]["rate_mean_bps"] == 54e6
    assert sum(row["airtime_share"] for row in stations.values()) < 1.0
    assert run.frames.num_rows == sum(row["attempts"] for row in stations.values())
    assert set(run.frames["fate"].to_pylist()) == {"acknowledged", "collision"}


def test_tables_of_wireless_networks_are_saved(run: ackclock.Run, tmp_path: Path) -> None:
    again = ackclock.Run.load(run.save(tmp_path / "run"))
    assert again.stations.equals(run.stations)
    assert again.frames.equals(run.frames)
    assert again.table_names[-2:] == ("stations", "frames")


def test_a_run_without_wireless_networks_saves_six_tables(tmp_path: Path) -> None:
    run = ackclock.simulate(ackclock.Path("10mbit", "40ms", "84p"), ["newreno"], duration="1s")
    assert isinstance(run, ackclock.Run)
    assert run.stations.num_rows == 0
    assert len(list(run.save(tmp_path / "run").glob("*.parquet"))) == 6


def test_a_resolved_scenario_is_read_again(run: ackclock.Run) -> None:
    again = ackclock.Scenario.from_document(run.scenario)
    assert again.resolved() == run.scenario
