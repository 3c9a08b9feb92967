"""``ackclock read --losses CAPTURE``: errors and congestion as causes of the losses of a connection."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

from rich.table import Table

from ackclock import _engine
from ackclock.cli import output
from ackclock.errors import InputError

if TYPE_CHECKING:
    from ackclock.metrics.tables import Array
    from ackclock.recorded import Recorded

BITS = 8


def losses(
    capture: Path,
    rate: str | None,
    definition: str,
    sensitivity: float,
    iterations: int,
    interface: int,
    as_json: bool,
) -> None:
    """Separates wireless from congestive losses by the times of duplicate ACKs, and by RTTs."""
    from ackclock.captures import connections
    from ackclock.interarrival import DEFINITIONS

    if definition not in DEFINITIONS:
        raise InputError(f"--definition {definition}: must be one of {', '.join(DEFINITIONS)}")
    if not sensitivity > 0:
        raise InputError(f"--sensitivity {sensitivity:g}: must be above 0")
    try:
        bits = None if rate is None else _engine.quantity(rate, "rate")
    except ValueError as error:
        raise InputError(f"--rate: {error}") from None
    if bits is not None and not bits > 0:
        raise InputError(f"--rate {rate}: must be above 0")
    seen = connections(capture, interface)
    output.remark(seen.remark)
    if not seen.flows:
        raise InputError(f"{capture}: there is no TCP connection with data on interface {interface}")
    found = [_connection(one, bits, sensitivity, iterations, definition) for one in seen.flows]
    if as_json:
        output.print_json({"connections": found})
    for number, one in enumerate(found, 1):
        output.show(_sentence(number, one), as_json=as_json)
    output.show(_table(found), as_json=as_json)


def _connection(
    one: Any, rate: float | None, sensitivity: float, iterations: int, definition: str
) -> dict[str, Any]:
    """The losses of a connection, as in ``--json``."""
    import numpy as np

    from ackclock import interarrival
    from ackclock.recorded import Recorded

    times, acknowledged = one.acks()
    captured = interarrival.duplicate_ack_times(times, acknowledged)
    advances = np.diff(times[np.flatnonzero(np.diff(acknowledged, prepend=-1.0) > 0)])
    unit: float | None = None
    if rate is not None:
        unit = one.packet_bytes * BITS / rate
    elif advances[advances > 0].size:
        unit = interarrival.transmission_time(advances[advances > 0])
    history = _History(Recorded(one))
    events = []
    for run in captured:
        gaps = np.diff(run)
        gaps = gaps[gaps > 0]
        if unit is not None and gaps.size >= interarrival.DUPLICATES:
            what = interarrival.differentiate(gaps, unit, sensitivity, iterations, definition)
            loss = {"time_s": float(run[0]), "duplicates": int(run.size - 1), **what.as_json()}
            events.append(loss | history.told(run, unit))
    return {
        "sender": one.sender,
        "receiver": one.receiver,
        "data_packets": one.data.size,
        "transmission_time_s": unit,
        "losses": events,
    }


class _History:
    """The RTTs of a connection, which Spike and ZigZag need, and the segments that its losses lack."""

    def __init__(self, of: Recorded) -> None:
        import numpy as np

        from ackclock.discriminators import Delays

        (times, samples), (later, sacked, missing) = of.rtt, of.sacked
        order = np.argsort(np.concatenate((times, later)), kind="stable")
        self._delays = Delays(np.concatenate((times, later))[order], np.concatenate((samples, sacked))[order])
        self._missing = dict(zip(later.tolist(), missing.tolist(), strict=True))

    def told(self, run: Array, unit: float) -> dict[str, Any]:
        """Gap, lost segments and the causes by the other rules, from the times of duplicate ACKs.

        Without a SACK block a loss is of one segment.
        """
        first = float(run[1])
        gap, lost = first - float(run[0]), self._missing.get(first, 1)
        others = self._delays.told(first, gap, lost, unit)
        causes = {name: "wireless" if is_wireless else "congestion" for name, is_wireless in others.items()}
        return {"gap_s": gap, "lost_segments": lost, "causes": causes}


def _sentence(number: int, one: dict[str, Any]) -> str:
    """The connection in words, and its losses of each cause."""
    from ackclock.discriminators import RULES

    unit = one["transmission_time_s"]
    known = "too few ACKs to estimate T" if unit is None else f"T = {unit * 1e3:.4f} ms"
    wireless = sum(loss["cause"] == "wireless" for loss in one["losses"])
    others = [
        f"{title} {sum(loss['causes'][name] == 'wireless' for loss in one['losses'])}"
        for name, title in RULES.items()
    ]
    return (
        f"{number}: {one['sender']} > {one['receiver']}: {one['data_packets']} packets with data, {known}, "
        f"{wireless} wireless and {len(one['losses']) - wireless} congestive losses "
        f"(wireless by other rules: {', '.join(others)})"
    )


def _table(found: list[dict[str, Any]]) -> Table:
    from ackclock.discriminators import RULES

    table = Table(
        *("", "time (s)", "duplicates", "span", "rho A", "rho B", "rho C", "noise", "decrease", "cause"),
        "others: wireless",
    )
    for number, one in enumerate(found, 1):
        for loss in one["losses"]:
            values = (loss["span"], *loss["rho"].values(), loss["noise"], loss["decrease"])
            table.add_row(
                str(number),
                f"{loss['time_s']:.6f}",
                str(loss["duplicates"]),
                *(f"{value:.3f}" for value in values),
                loss["cause"],
                ", ".join(RULES[name] for name, cause in loss["causes"].items() if cause == "wireless"),
            )
        table.add_section()
    return table
