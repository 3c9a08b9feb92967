"""Ten stations of 802.11g that always have datagrams to send, under other readings of the standard.

Prints the throughput in Mbit/s with datagrams of 1500 and of 200 bytes, as comma-separated values.
"""

import sys

import ackclock

CONVENTIONS = {
    "as it is": {},
    "others after EIFS": {"after_collision": "standard"},
    "all after EIFS": {"after_collision": "eifs"},
    "all after DIFS": {"after_collision": "difs"},
    "EIFS for 1 Mbit/s": {"eifs_rate": "1mbit"},
    "every slot": {"countdown": "every-slot"},
    "window kept": {"reset_after_drop": False},
    "always a backoff": {"immediate_access": False},
    "Bianchi": {"after_collision": "difs", "countdown": "every-slot"},
}


def throughput(conventions, size):
    """What all stations together get across, in Mbit/s."""
    home = ackclock.Wlan(standard="802.11g", stations=10, conventions=conventions)
    wire = ackclock.Link(from_="ap", to="server", rate="1gbit", delay="1ms", queue="infinite", duplex=True)
    flows = [
        ackclock.Flow(
            "newreno",
            from_=f"sta-{station}",
            to="server",
            kind="datagram",
            echo=False,
            packet_size=f"{size}B",
            source={"rate": "40mbit"},
        )
        for station in range(10)
    ]
    record = ackclock.Record(flow_series="off", probes="off", link_series="off", events=False)
    scenario = ackclock.Scenario(
        duration="10s", warmup="1s", wlans=[home], links=[wire], flows=flows, record=record
    )
    run = ackclock.simulate(scenario)
    return sum(flow["throughput_bps"] for flow in run.flows.to_pylist()) / 1e6


def rows():
    """A row for each convention: its name, and the throughput at either size beside the default."""
    first = {size: throughput({}, size) for size in (1500, 200)}
    for name, conventions in CONVENTIONS.items():
        found = {size: throughput(conventions, size) for size in first}
        cells = [f"{found[size]:.2f} ({100 * (found[size] / first[size] - 1):+.1f} %)" for size in first]
        yield [name, *cells]


if __name__ == "__main__":
    for row in (["convention", "1500 bytes", "200 bytes"], *rows()):
        sys.stdout.write(",".join(row) + "\n")
