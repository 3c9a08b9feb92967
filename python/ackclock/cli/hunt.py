"""``ackclock check --hunt``: the conditions that make a controller worse than others."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from rich.table import Table
from rich.text import Text

from ackclock import _engine
from ackclock.cli import output
from ackclock.cli.engine import Chosen
from ackclock.cli.interrupts import Interrupts
from ackclock.cli.output import Report
from ackclock.cli.status import Interrupted
from ackclock.engines import NamedEngine
from ackclock.errors import InputError
from ackclock.report import resumable_folder

if TYPE_CHECKING:
    from ackclock import hunting
    from ackclock.checks import Target

JOURNAL = "tries.jsonl"


def hunt(
    target: str,
    budget: str,
    tries: int | None,
    aim: str | None,
    cases: Path | None,
    seed: int | None,
    engine: Chosen,
    report: Report,
) -> None:
    """Searches for conditions in which a target is worse than the better of NewReno and CUBIC.

    ``budget`` is the CPU time of the search, ``tries`` the number of conditions in its place. Each finding is
    written as a case into the folder ``cases``.
    """
    from ackclock import checks, hunting

    spend = _seconds(budget)
    chosen = checks.target(target, aim=aim)
    kind = engine.instead(chosen.engine)
    factory = chosen.contender.factory
    runner = kind.make(**kind.with_python([] if factory is None else [factory]))
    first = 1 if seed is None else seed
    weaknesses = hunting.Weaknesses(chosen, runner)
    search = hunting.Search(weaknesses, first)
    _refuse(chosen, runner)
    settings = {"hunt": chosen.name, "code": chosen.contender.context, "seed": first, "engine": kind.name}
    found: list[hunting.Finding] = []
    with Interrupts() as interrupts, _journal(report.out, settings, report.force, weaknesses) as folder:
        with interrupts.stoppable(), output.progress(f"hunt for {chosen.name}") as at:
            interrupts.check()
            found = search.run(_more(search, spend, tries, at), tries)
        if interrupts.asked:
            raise Interrupted
        words = f"{search.tried} conditions tried, seed {first}"
        if folder is not None and report.out is not None:
            hunting.page(found, chosen, runner, folder, f"{words}.")
            report.done(report.out)
    if cases is not None:
        _write_cases(found, chosen, first, cases)
    output.show(_table(found, chosen.name), f"{words}; {_tally(found)}", as_json=report.as_json)
    if report.as_json:
        output.print_json({"hunt": document(found, chosen, search.tried)})


def _seconds(budget: str) -> float:
    try:
        spend = float(_engine.quantity(budget, "time"))
    except ValueError as error:
        raise InputError(f"--budget {budget}: {error}") from None
    if spend <= 0:
        raise InputError(f"--budget {budget}: must be above 0, like `60s`")
    return spend


def _refuse(chosen: Target, runner: NamedEngine) -> None:
    """Refuses a target that the engine cannot run, before the search."""
    from ackclock.hunting import Condition

    runner.check(_engine.resolve_json(json.dumps(Condition().scenario(chosen)), [], chosen.files()))


@contextmanager
def _journal(
    out: Path | None, settings: dict[str, object], force: bool, weaknesses: hunting.Weaknesses
) -> Iterator[Path | None]:
    """Keeps the answers in the folder of ``--out``, from which the same command goes on."""
    from ackclock import hunting

    if out is None:
        yield None
        return
    with resumable_folder(out, settings, force) as folder:
        file = folder / JOURNAL
        if file.exists():
            known = hunting.load(file.read_text("utf-8", "replace").splitlines())
            weaknesses.known.update(known)
            # A line that was cut off or damaged goes.
            file.write_text("".join(json.dumps([*one]) + "\n" for one in known.items()), encoding="utf-8")
        with file.open("a", encoding="utf-8") as lines:
            weaknesses.learnt = lambda name, value: print(json.dumps([name, value]), file=lines, flush=True)
            yield folder


def _more(
    search: hunting.Search, spend: float, tries: int | None, at: Callable[[float], None]
) -> Callable[[], bool]:
    """Returns a function that shows the progress and returns True until the budget is spent."""

    def more() -> bool:
        share = search.weaknesses.cpu_s / spend if tries is None else search.tried / tries
        at(min(share, 1.0))
        return share < 1.0

    return more


def _write_cases(found: Sequence[hunting.Finding], chosen: Target, seed: int, folder: Path) -> None:
    from ackclock import hunting
    from ackclock.report import write_whole

    folder.mkdir(parents=True, exist_ok=True)
    for number, one in enumerate((one for one in found if one.kind != "knife edge"), 1):
        write_whole(folder / f"hunt-{number}.toml", hunting.case(one, chosen, seed))


def document(found: Sequence[hunting.Finding], chosen: Target, tried: int) -> dict[str, object]:
    """The object of ``--json``."""
    from ackclock.hunting import NOISES

    findings = [
        {
            "class": one.kind,
            "weakness": one.weakness,
            "survives": f"{one.survives} of {NOISES}",
            "numbers": len(one.condition),
            "condition": dict(one.condition.values),
            "reason": one.why or None,
            "scenario": one.condition.scenario(chosen),
        }
        for one in found
    ]
    return {"target": chosen.name, "tried": tried, "findings": findings}


def _table(found: Sequence[hunting.Finding], name: str) -> Table:
    from ackclock.hunting import NOISES

    table = Table(title=f"{name}, beside the better of NewReno and CUBIC", title_justify="left")
    for head in ("class", "weakness", "survives", "condition"):
        table.add_column(head, justify="right" if head == "weakness" else "left")
    for one in found:
        words = f"{one.condition.words}{': ' + one.why if one.why else ''}"
        table.add_row(one.kind, f"{one.weakness:.2f}", f"{one.survives} of {NOISES}", Text(words))
    return table


def _tally(found: Sequence[hunting.Finding]) -> str:
    counts = [sum(one.kind == kind for one in found) for kind in ("stall", "slow", "knife edge")]
    return f"{counts[0]} stalls, {counts[1]} slow, {counts[2]} on a knife edge."
