"""Paths as options spell them: tables in texts, files over time, lines of ``tc``."""

from __future__ import annotations

import json

import pytest

import ackclock
from ackclock.cli import main

RED = '{ limit = "400kB", discipline = "red", min = "30kB", max = "90kB" }'
TABLE = "time_s,rate_mbit,rtt_ms,loss_percent\n0,8,40,0\n1,2,60,0\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A folder with a table over time, in which the test runs."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "leo.csv").write_text(TABLE)
    (tmp_path / "link.trace").write_text("1\n")
    return tmp_path


def said(capsys, *arguments):
    """The scenario of the first run of a command, and its messages."""
    status = main([*arguments, "--json"])
    shown = capsys.readouterr()
    assert status == 0, shown.err
    return json.loads(shown.out)["runs"][0]["scenario"], shown.err


def refused(capsys, *arguments):
    assert main(list(arguments)) == 2
    return capsys.readouterr().err.strip().removeprefix("ackclock: ")


def compare(*options):
    return ("compare", "cubic", "--duration", "2s", *options)


@pytest.mark.usefixtures("folder")
def test_a_queue_has_one_spelling_wherever_it_is_given(capsys):
    of_option = said(capsys, *compare("--queue", RED))[0]["path"]["queue"]
    of_set = said(capsys, *compare("--set", f"path.queue={RED}"))[0]["path"]["queue"]
    in_json = json.dumps({"limit": "400kB", "discipline": "red", "min": "30kB", "max": "90kB"})
    of_json = said(capsys, *compare("--queue", in_json))[0]["path"]["queue"]
    path = ackclock.Path("10mbit", rtt="40ms", queue=RED)
    of_python = ackclock.Scenario(path=path, flows=[ackclock.Flow("cubic")]).resolved()["path"]["queue"]
    assert of_option == of_set == of_json == of_python
    assert said(capsys, *compare("--queue", "codel:50p"))[0]["path"]["queue"]["limit"] == "50p"
    assert main(["sweep", "cubic", "--duration", "1s", "--over", f"queue={RED},1bdp"]) == 0


def test_a_table_over_time_is_a_path(capsys, folder):
    scenario, messages = said(capsys, *compare("--trace", "leo.csv"))
    traced = {"trace": str(folder / "leo.csv")}
    assert [scenario["path"][key] for key in ("rate", "rtt", "loss")] == [traced] * 3
    assert "note: path.rate is that of `leo.csv`: a mean of 5mbit, and it repeats every 2s" in messages
    assert said(capsys, *compare("--trace", "leo.csv", "--rtt", "9ms"))[0]["path"]["rtt"] == "9ms"
    assert said(capsys, *compare("--trace", "link.trace"))[0]["path"]["rtt"] == "40ms"
    assert main(["sweep", "cubic", "--duration", "1s", "--over", "trace=leo.csv,link.trace"]) == 0


def test_columns_behind_the_file_choose_one_of_two_rates(capsys, folder):
    times = "2019.11.25_15.34.34", "2019.11.25_15.34.36"
    log = f"Timestamp,DL_bitrate,UL_bitrate\n{times[0]},2000,9\n{times[1]},4000,9\n"
    (folder / "bus.csv").write_text(log)
    columns = "DL_bitrate=rate_kbit"
    scenario, messages = said(capsys, *compare("--trace", f"bus.csv:{columns}"))
    assert scenario["path"]["rate"] == {"trace": str(folder / "bus.csv"), "columns": columns}
    assert "path.rate is that of `bus.csv`: a mean of 3mbit, and it repeats every 4s" in messages
    (folder / "two.csv").write_text("time_s,ul_rate_mbit,dl_rate_mbit,jitter_ms\n0,5,50,1\n10,5,50,1\n")
    asked = refused(capsys, *compare("--trace", "two.csv"))
    assert asked == (
        "--trace two.csv: `ul_rate_mbit` and `dl_rate_mbit` are both rates: choose one, as in columns = "
        "\"dl_rate_mbit\" beside `trace`, or --trace 'FILE:dl_rate_mbit'"
    )
    scenario, messages = said(capsys, *compare("--trace", "two.csv:dl_rate_mbit"))
    assert "a mean of 50mbit" in messages
    over = "trace=two.csv:dl_rate_mbit,two.csv:ul_rate_mbit"
    assert main(["sweep", "cubic", "--duration", "1s", "--over", over]) == 0
    shown = capsys.readouterr().err
    assert "a mean of 50mbit" in shown
    assert "a mean of 5mbit" in shown
    (folder / "one.csv").write_text("time_s,rate_mbps,jitter_ms\n0,5,1\n10,5,1\n")
    assert (
        "note: `one.csv` counts bits in `rate_mbps`, and has no use here for `jitter_ms`"
        in said(capsys, *compare("--trace", "one.csv"))[1]
    )


def test_a_window_of_bytes_is_so_many_whole_segments(capsys):
    def sent(window):
        options = ("--rate", "1gbit", "--rtt", "100ms", "--set", f"flows.0.transport.receive_window={window}")
        assert main([*compare(*options), "--json"]) == 0
        return json.loads(capsys.readouterr().out)["runs"][0]["flows"][0]["data_packets"]

    # 65536 / 1448 = 45.3.
    assert sent("64KiB") == sent(45) > sent(44)


@pytest.mark.parametrize(
    ("options", "words"),
    [
        (("--trace", "missing.csv"), "--trace missing.csv: cannot be read: No such file"),
        (
            ("--trace", "leo.csv", "--rate", "1mbit"),
            "--trace leo.csv: has the rate of the path; leave --rate out",
        ),
        (("--tc", "tbf rate 1mbit burst 2k limit 9k", "--queue", "9p"), "--tc: has the queue of the path"),
        (("--tc", "nothing"), "--tc nothing: describes no path"),
        (("--rate", "1Mbps"), "tc reads bytes, 8mbit, and others read 1mbit"),
        (
            ("--networks", "802.11g", "--trace", "leo.csv"),
            "--trace: describes a path, and --networks 802.11g",
        ),
        (("--networks", "lte", "--tc", "pfifo limit 9"), "--tc: is of the path, and --networks names others"),
    ],
)
@pytest.mark.usefixtures("folder")
def test_what_does_not_go_together_is_one_sentence(capsys, options, words):
    assert words in refused(capsys, *compare(*options))


@pytest.mark.usefixtures("folder")
def test_lines_of_tc_are_a_path(capsys):
    lines = "tbf rate 1Mbps burst 32kbit latency 50ms; netem delay 30ms 5ms loss 1%"
    scenario, messages = said(capsys, *compare("--tc", lines))
    assert scenario["path"]["rate"] == {"rate": "8mbit", "burst": "4096B"}
    assert scenario["path"]["delay"] == {"forward": "30ms", "reverse": "0s"}
    assert scenario["path"]["jitter"] == {"around": "5ms", "reorder": True}
    scenario, messages = said(
        capsys, *compare("--tc", "netem delay 30ms ecn", "--rtt", "20ms", "--rate", "5mbit")
    )
    assert scenario["path"]["delay"] == {"forward": "40ms", "reverse": "10ms"}
    assert (scenario["path"]["rate"], "note: --tc leaves out ecn" in messages) == ("5mbit", True)
    assert "note: --tc: data: delay 30ms\n" in messages


def test_a_file_of_lines_of_tc_is_a_path(capsys, folder):
    (folder / "lab.sh").write_text("tc qdisc add dev eth0 root netem rate 5mbit delay 30ms\n")
    scenario, _ = said(capsys, *compare("--tc", "lab.sh"))
    assert (scenario["path"]["rate"], scenario["path"]["delay"]["forward"]) == ("5mbit", "30ms")
    (folder / "lab.bin").write_bytes(b"\xff\xfe")
    assert "--tc lab.bin: is no text" in refused(capsys, *compare("--tc", "lab.bin"))


@pytest.mark.usefixtures("folder")
def test_netem_on_both_ends_delays_both_ways(capsys):
    lines = "tc qdisc add dev a root netem delay 20ms; tc qdisc add dev b root netem delay 15ms rate 5mbit"
    scenario, messages = said(capsys, *compare("--tc", lines, "--rate", "10mbit"))
    assert scenario["path"]["delay"] == {"forward": "20ms", "reverse": "15ms"}
    assert scenario["path"]["reverse"]["rate"] == "5mbit"
    assert "data over a: delay 20ms; ACKs over b: rate 5mbit" in messages


def test_the_title_says_the_path(capsys, folder):
    assert main([*compare("--tc", "netem delay 30ms 5ms", "--out", "out")]) == 0
    capsys.readouterr()
    page = (folder / "out" / "index.html").read_text()
    assert "10mbit, queue 1bdp, loss 0%, jitter around" in page


@pytest.mark.parametrize(
    ("keys", "low", "high"),
    [
        # 100 packets within 100 ms of 50 Mbit/s, of which 417 would be under way: 1448 bytes each.
        ({"queue": {"limit": "100p", "count_delayed": True}, "delay": "100ms", "rate": "50mbit"}, 6.0, 11.6),
        # 32 cells of 53 bytes for 1510: the share of the payload is 1500 / 1696.
        ({"queue": {"discipline": "cake", "overhead": 10, "link_layer": "atm"}, "rtt": "20ms"}, 8.2, 8.6),
    ],
)
def test_what_takes_room_bounds_the_goodput(keys, low, high):
    path = ackclock.Path(**({"rate": "10mbit"} | keys))
    run = ackclock.simulate(path, [ackclock.Flow("cubic")], duration="20s", warmup="10s")
    goodput = ackclock.metrics.goodput(run) / 1e6
    assert low <= goodput <= high


def test_data_that_arrive_twice_are_counted_twice():
    path = ackclock.Path("10mbit", rtt="20ms", queue="100p")
    path.duplicate = "10%"
    run = ackclock.simulate(path, [ackclock.Flow("cubic")], duration="10s")
    link = run.links.to_pylist()[0]
    flow = run.flows.to_pylist()[0]
    # A tenth of the packets is repeated. On the link a tenth of 10 Mbit/s is lost to copies.
    assert link["arrived_packets"] == pytest.approx(1.1 * flow["data_packets"], rel=0.02)
    assert ackclock.metrics.goodput(run) / 1e6 == pytest.approx(10 / 1.1 * 1448 / 1500, rel=0.05)


def test_a_receive_window_opens_while_the_flow_runs():
    path = ackclock.Path("10mbit", rtt="40ms", queue="100p")
    flow = ackclock.Flow(
        "cubic", transport={"receive_window": 5}, changes=[{"at": "10s", "receive_window": 1000}]
    )
    run = ackclock.simulate(path, [flow], duration="20s")
    before, after = (ackclock.metrics.goodput(run, start=start, stop=start + 8) / 1e6 for start in (1, 12))
    # Five segments of 1448 bytes a round of 40 ms and some services of 1.2 ms, then all of the link.
    assert 5 * 1448 * 8 / 45e3 < before < 5 * 1448 * 8 / 41.2e3
    assert after == pytest.approx(10 * 1448 / 1500, rel=0.03)


def test_each_law_of_jitter_moves_arrivals():
    seen = {}
    for law in ("uniform", "around", "normal", "pareto", "paretonormal"):
        path = ackclock.Path("10mbit", rtt="80ms", queue="100p", jitter={law: "5ms"})
        run = ackclock.simulate(
            path, [ackclock.Flow("cubic", transport={"receive_window": 2})], duration="5s"
        )
        seen[law] = run.flows["rtt_min_ms"][0].as_py()
        assert seen[law] < 81.3
    # At 80 ms and 1.2 ms a packet is early by at most 5, 20 and 3.3 ms.
    assert seen["uniform"] >= 80 > seen["around"] >= 75 > seen["normal"] >= 60
    assert seen["around"] < seen["pareto"] < 80
