"""Calls: delays, pairs, playout and quality, with numbers worked out by hand."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest

import ackclock
from ackclock import metrics
from ackclock.metrics import calls


@dataclass(frozen=True)
class Call:
    """A run with the flows ``there`` and ``back``, a datagram every 20 ms each."""

    flows: pa.Table
    datagrams: pa.Table

    def table(self, name: str) -> pa.Table:
        """The only table that calls need."""
        assert name == "datagrams"
        return self.datagrams


@pytest.fixture
def call() -> Call:
    # There: sent at 0, 20, 40, 60 and 80 ms, with 10, 30, (lost), 12 and 50 ms on the way. Back: sent at 5,
    # 25, 45, 65 and 85 ms, 10 ms each.
    flow = [0, 0, 0, 0, 1, 1, 1, 1, 1]
    sent = [0, 20, 60, 80, 5, 25, 45, 65, 85]
    delay = [10, 30, 12, 50, 10, 10, 10, 10, 10]
    return Call(
        flows=pa.table({"flow": pa.array([0, 1], pa.uint32()), "name": ["there", "back"]}),
        datagrams=pa.table(
            {
                "sent_s": [t / 1e3 for t in sent],
                "flow": pa.array(flow, pa.uint32()),
                "sequence": pa.array([0, 1, 3, 4, 0, 1, 2, 3, 4], pa.uint64()),
                "arrived_s": [(t + d) / 1e3 for t, d in zip(sent, delay, strict=True)],
            }
        ),
    )


def test_a_datagram_is_paired_with_the_next_one_back(call: Call) -> None:
    # Arrivals at 10, 50, 72 and 130 ms. Answers leave at 25, 65 and 85 ms, and there is none after 130 ms.
    sent, rtts = calls.call_rtts(call, "there", "back")
    assert sent.tolist() == pytest.approx([0.0, 0.02, 0.06])
    assert rtts.tolist() == pytest.approx([20.0, 40.0, 22.0])
    assert metrics.call_rtt_percentile(call, 50, "there", "back") == pytest.approx(22.0)
    # Differences of 20 and 18 ms.
    assert metrics.call_delta_rtt_percentile(call, 100, "there", "back") == pytest.approx(20.0)
    assert metrics.delay_percentile(call, 100, "there") == pytest.approx(50.0)


def test_the_best_playout_weighs_delay_against_late_datagrams(call: Call) -> None:
    # Four of five arrive, after 10, 12, 30 and 50 ms. Below 100 ms nothing is gained by being earlier, so
    # the best playout waits for all: 20 % are lost, 95 * 20 / 45.1 = 42.13 below 93.2.
    assert metrics.call_loss(call, "there") == pytest.approx(0.2)
    assert metrics.call_best_rating(call, "there") == pytest.approx(93.2 - 95 * 20 / 45.1)
    # With 300 ms of coding each of the 38 ms between 12 and 50 costs some 0.09: 3.6, less than two datagrams.
    least = 93.2 - calls.delay_impairment(350.0) - 95 * 20 / 45.1
    assert metrics.call_best_rating(call, "there", 300.0) == pytest.approx(least)


def test_what_is_late_for_its_playout_is_lost(call: Call) -> None:
    # Played 10 + 20 ms after it was sent: 10, 30 and 12 ms are in time, 50 ms is late, one never arrives.
    assert metrics.playout_delay(call, "there", 20.0) == pytest.approx(30.0)
    assert metrics.playout_loss(call, "there", 20.0) == pytest.approx(0.4)
    assert metrics.playout_loss(call, "there", 40.0) == pytest.approx(0.2)
    assert metrics.playout_loss(call, "back", 0.0) == pytest.approx(0.0)


def test_the_rating_falls_with_delay_and_loss_as_in_g107() -> None:
    assert calls.delay_impairment(100) == 0.0
    # X = 1: 25 (2^(1/6) - 3 (1 + 3^-6)^(1/6) + 2) = 25 (1.122462 - 3.000685 + 2) = 3.044.
    assert calls.delay_impairment(200) == pytest.approx(3.044, abs=0.001)
    # X = 2: 25 (65^(1/6) - 3 (1 + (2/3)^6)^(1/6) + 2) = 25 (2.005175 - 3.042372 + 2) = 24.070.
    assert calls.delay_impairment(400) == pytest.approx(24.070, abs=0.001)
    # 5 % of loss: 95 * 5 / (5 + 25.1) = 15.78.
    assert calls.rating(50, 0.05) == pytest.approx(93.2 - 15.78, abs=0.01)
    # R = 93.2: 1 + 3.262 + 93.2 * 33.2 * 6.8 * 7e-6 = 4.409. R = 50: 1 + 1.75 - 50 * 10 * 50 * 7e-6 = 2.575.
    assert calls.mean_opinion_score(93.2) == pytest.approx(4.409, abs=0.001)
    assert calls.mean_opinion_score(50) == pytest.approx(2.575)
    assert (calls.mean_opinion_score(-5), calls.mean_opinion_score(120)) == (1.0, 4.5)


def test_an_upload_spoils_a_call_over_the_same_wlan() -> None:
    def mos(*uploads: ackclock.Flow) -> float:
        voice = {"kind": "datagram", "packet_size": "186B", "source": {"rate": "74.4kbit"}, "echo": False}
        scenario = ackclock.Scenario(
            duration="10s",
            wlans=[ackclock.Wlan(standard="802.11g", stations=["laptop"])],
            links=[
                ackclock.Link(
                    from_="ap", to="server", rate="100mbit", delay="20ms", queue="250p", duplex=True
                )
            ],
            flows=[
                ackclock.Flow("newreno", name="up", from_="laptop", to="server", **voice),
                ackclock.Flow("newreno", name="down", from_="server", to="laptop", **voice),
                *uploads,
            ],
            record=ackclock.Record(datagrams=True),
        )
        run = ackclock.simulate(scenario)
        assert isinstance(run, ackclock.Run)
        return metrics.call_mos(run, "up")

    assert mos() == pytest.approx(4.409, abs=0.01)
    assert mos(ackclock.Flow("cubic", from_="laptop", to="server")) < 3.5
