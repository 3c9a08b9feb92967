"""``ackclock kernel differential``: the simulated TCP and the kernel's in the same random networks."""

from __future__ import annotations

import os
import time
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Protocol

from rich.table import Table

from ackclock import repetitions
from ackclock.cli import output
from ackclock.cli.command import FILE, Argument, Number, OneOf, Option, command, given
from ackclock.cli.engine import LIVE, VIRTUAL, Chosen, engine_options
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.options import SEED, report_options
from ackclock.cli.output import Report, say
from ackclock.cli.status import INVALID, Interrupted
from ackclock.errors import InputError
from ackclock.report.folders import new_folder

if TYPE_CHECKING:
    from ackclock.replay import differential as runs
    from ackclock.uml.kernels import Kernel

DEFAULT_RETRIES = 20
DEFAULT_AT_ONCE = 4
DEFAULT_RUNS = 100
FAULTS = (
    *("losses", "all", "pauses", "steps", "long", "thin", "windows", "small", "sizes", "bleached"),
    *("modules", "bbr", "both", "buffers", "close", "flows"),
)
Outcome = tuple["runs.DrawnSituation", "runs.Played"]
Compared = tuple["runs.RecordedRun", "runs.Difference | None"]


@command(
    Argument(
        "recording",
        required=False,
        type=FILE,
        metavar="[FILE]",
        help="Recorded answers of a kernel; without them, an engine.",
    ),
    Option(
        "--runs",
        "count",
        type=Number(1, repetitions.MOST_REPETITIONS),
        default=DEFAULT_RUNS,
        help="Situations to draw.",
    ),
    Option(
        "--faults",
        type=OneOf(*FAULTS),
        metavar="KIND",
        default="all",
        help=f"What is drawn: {', '.join(FAULTS)}.",
    ),
    SEED,
    engine_options(
        without=("threads", "gso_max_segs", "kernels", "disciplines", "qlog"),
        defaults={"retries": DEFAULT_RETRIES, "at_once": DEFAULT_AT_ONCE},
    ),
    Option(
        "--record",
        heading="Output",
        type=FILE,
        metavar="FILE",
        help="Write the answers of the kernel into this file.",
    ),
    report_options(
        out=Option(
            "--out",
            heading="Output",
            type=FILE,
            metavar="DIR",
            help="Make each difference small; write it here as a packet script.",
        )
    ),
)
def differential(
    recording: Path | None,
    count: int,
    faults: runs.Faults,
    seed: int | None,
    engine: Chosen,
    record: Path | None,
    report: Report,
) -> int:
    """Compare the simulated TCP with the kernel's in random networks: every packet, and states between.

    Losses, reordering, duplicates, lost and stretched ACKs, marks and small windows, with Reno and CUBIC. The
    kernel's answers come from a recording, with `--live` (as root) from this machine, or with `--engine uml`
    from a kernel in virtual time.
    Example: `ackclock kernel differential --live --runs 20 --faults losses --out differences`
    """
    from ackclock.replay import differential as runs

    if engine.name not in (LIVE, VIRTUAL):
        named = [name for name in ("count", "faults", "seed", "record", "out") if given(name)]
        if recording is None or named:
            what = f"--{named[0].replace('count', 'runs')}: plays" if named else "FILE: without one it plays"
            raise InputError(f"{what} on the kernel's TCP, with --live or --engine {VIRTUAL}")
        recorded = runs.Recording.read(recording)
        found = [(run, run.compared()) for run in recorded.runs]
        return _show(found, report.as_json, recorded.origin.kernel)
    if recording is not None:
        raise InputError(
            f"{recording}: a recording is compared with the simulator; {engine.spelled} plays anew"
        )
    report.check()
    first = 1 if seed is None else seed
    situations = [runs.drawn(one, faults) for one in range(first, first + count)]
    tcp = _tcp(engine)
    with Interrupts() as interrupts:
        found, late = _play(situations, tcp, interrupts)
        found, vanished = _played_again(found, tcp, interrupts)
        if interrupts.asked and not found:
            raise KeyboardInterrupt
        if record is not None:
            drawn = f"{engine.spelled} --faults {faults} --runs {count} --seed {first}"
            command = f"ackclock kernel differential {drawn}"
            origin = runs.Origin(tcp.release, tcp.ticks, time.strftime("%Y-%m-%d"), command)
            runs.Recording(origin, [run for run, _ in found]).write(record)
        status = _show(found, report.as_json, tcp.release)
        if report.out is not None and not interrupts.asked:
            with new_folder(report.out, report.force) as folder, interrupts.stoppable():
                interrupts.check()
                for run, difference in found:
                    if difference is not None:
                        _write(run, difference, folder, tcp)
        if interrupts.asked:
            raise Interrupted
    if vanished:
        say(f"{vanished} differences vanished when they were played again")
    if late:
        say(f"{late} runs were too late and do not count")
    return INVALID if late and status == 0 else status


class Tcp(Protocol):
    """The TCP of a kernel that situations are played on."""

    @property
    def release(self) -> str:
        """The version of the kernel."""

    @property
    def ticks(self) -> int:
        """Its ticks in a second."""

    @property
    def varies(self) -> bool:
        """True if its timers may be late, so that a difference may vanish."""

    def play(self, situations: Sequence[runs.DrawnSituation]) -> Iterable[Outcome]:
        """Plays situations, and yields each as it ends."""


@dataclass(frozen=True)
class Here:
    """The TCP of this machine."""

    retries: int
    at_once: int

    release = property(lambda _: os.uname().release)
    varies = True

    @property
    def ticks(self) -> int:
        """See ``Tcp.ticks``."""
        from ackclock.replay.jiffies import tick

        return round(1e9 / tick())

    def play(self, situations: Sequence[runs.DrawnSituation]) -> Iterable[Outcome]:
        """See ``Tcp.play``."""
        from ackclock.replay import differential as runs

        if len(situations) == 1:
            return [(situations[0], runs.play_live(situations[0], self.retries))]
        return runs.play_all(situations, self.retries, self.at_once)


@dataclass(frozen=True)
class Virtual:
    """The TCP of a kernel in virtual time."""

    kernel: Kernel

    ticks = 250
    varies = False

    @property
    def release(self) -> str:
        """See ``Tcp.release``."""
        return self.kernel.release

    def play(self, situations: Sequence[runs.DrawnSituation]) -> Iterable[Outcome]:
        """See ``Tcp.play``."""
        from ackclock.replay.differential.virtual import play_virtual

        return play_virtual(situations, self.kernel)


def _tcp(engine: Chosen) -> Tcp:
    if engine.name == LIVE:
        return Here(engine.option("retries"), engine.option("at_once"))
    from ackclock.uml import kernels

    return Virtual(kernels.find(engine.option("linux")))


def _play(
    situations: Sequence[runs.DrawnSituation], tcp: Tcp, interrupts: Interrupts
) -> tuple[list[Compared], int]:
    """Plays situations on a kernel and simulated, until Ctrl-C. Gives valid runs, and how many were late."""
    from ackclock.replay import differential as runs

    found: list[Compared] = []
    late = 0
    with interrupts.stoppable(), output.progress(f"{len(situations)} situations live") as at:
        interrupts.check()
        for number, (situation, live) in enumerate(tcp.play(situations), 1):
            if runs.is_valid(live):
                run = runs.RecordedRun(situation.seed, situation.faults, live.trace)
                found.append((run, run.compared()))
            else:
                late += 1
            at(number / len(situations))
    return sorted(found, key=lambda one: one[0].seed), late


def _played_again(found: Sequence[Compared], tcp: Tcp, interrupts: Interrupts) -> tuple[list[Compared], int]:
    """Plays differences again on a kernel whose timers may be late. Gives the runs, and how many agree now.

    A timer of the kernel that expires late is seen by no clock of the player, so a difference counts only if
    the same run differs twice.
    """
    from ackclock.replay import differential as runs

    differ = [run.situation for run, difference in found if difference is not None]
    if not tcp.varies or not differ or interrupts.asked:
        return [*found], 0
    agreeing: dict[int, Compared] = {}
    with interrupts.stoppable(), output.progress(f"{len(differ)} differences again") as at:
        interrupts.check()
        for number, (situation, live) in enumerate(tcp.play(differ), 1):
            run = runs.RecordedRun(situation.seed, situation.faults, live.trace)
            if runs.is_valid(live) and run.compared() is None:
                agreeing[situation.seed] = (run, None)
            at(number / len(differ))
    return [agreeing.get(run.seed, (run, difference)) for run, difference in found], len(agreeing)


def _show(found: Sequence[Compared], as_json: bool, kernel: str) -> int:
    table = Table("seed", "faults", "first difference")
    for run, difference in found:
        if difference is not None:
            table.add_row(str(run.seed), run.faults, difference.why)
    agree = sum(difference is None for _, difference in found)
    tally = f"{agree} of {len(found)} runs agree with Linux {kernel}"
    output.show(*([table] if agree < len(found) else []), tally, as_json=as_json)
    if as_json:
        output.print_json({"kernel": kernel, "runs": [*_rows(found)]})
    return 0 if agree == len(found) else 1


def _rows(found: Sequence[Compared]) -> Iterator[dict[str, object]]:
    for run, difference in found:
        row: dict[str, object] = {"seed": run.seed, "faults": run.faults, "agrees": difference is None}
        yield row if difference is None else row | {"at_ms": difference.at_ms, "why": difference.why}


def _write(run: runs.RecordedRun, difference: runs.Difference, folder: Path, tcp: Tcp) -> None:
    """Makes a situation with a difference small, and writes it as a script if it still differs."""
    from ackclock.replay import differential as runs

    def on_kernel(situation: runs.DrawnSituation) -> runs.Played:
        ((_, played),) = tcp.play([situation])
        return played

    def differs(situation: runs.DrawnSituation) -> runs.Difference | None:
        return runs.parted(situation, on_kernel(situation).trace)

    shrinking = runs.Shrinking(run.situation, difference, differs)
    situation = shrinking.run()
    played = on_kernel(situation)
    file = folder / f"{run.faults}-{run.seed}.pkt"
    file.write_text(runs.script(situation, played, shrinking.difference.why), encoding="utf-8")
    say(f"{file}: {shrinking.difference.why}")
