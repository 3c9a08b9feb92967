"""The document of an evaluation: its sentences and tables, as a page and as Markdown."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ackclock.cases.reading import STANDARD_SHARE, STANDARDS
from ackclock.evaluation.judging import VERDICTS, Evaluation, Finding
from ackclock.evaluation.measuring import TARGET, Measure
from ackclock.evaluation.statements import answers
from ackclock.figure import Interval
from ackclock.report import Page, host, markdown, number, write_json, write_whole

TITLES = {"newreno": "NewReno", "cubic": "CUBIC"}
"""The standards in words."""

PART = "Part for the author"

RULE = (
    "Each measure is the mean over the variants of its case, in the same seeds for every controller. An "
    "estimate is the median over the seeds with its 95 % bootstrap interval. A measure is worse, or better, "
    "than the standards where its whole interval lies beyond the intervals of both NewReno and CUBIC, by at "
    f"least {STANDARD_SHARE:.0%} of their value and by the margin of the measure. A criterion is worse if "
    "one of its measures is. RFC 9743 names no thresholds, and there are none here."
)


@dataclass(frozen=True)
class Heading:
    """A heading; the summary and the appendix have level 2, as the criteria have."""

    text: str


@dataclass(frozen=True)
class Sentence:
    """A paragraph; ``css`` is a verdict that colours it on the page."""

    text: str
    css: str = ""


@dataclass(frozen=True)
class Command:
    """A command line."""

    text: str


@dataclass(frozen=True)
class Rows:
    """A table; ``verdicts`` is true if its last column has verdicts."""

    headings: Sequence[str]
    rows: Sequence[Sequence[str]]
    verdicts: bool = False


@dataclass(frozen=True)
class Picture:
    """A figure of the evaluation, by the name of its file."""

    file: str
    caption: str


Part = Heading | Sentence | Command | Rows | Picture


def title(done: Evaluation) -> str:
    """The title of the document."""
    return f"{done.target.name}: evaluation after RFC 9743"


def parts(done: Evaluation) -> Iterator[Part]:
    """The document: a summary, the criteria, an appendix."""
    yield from _summary(done)
    for one in done.findings:
        yield from _criterion(done, one)
    yield from _published(done)
    yield from _appendix(done)


def _summary(done: Evaluation) -> Iterator[Part]:
    yield Heading("Summary")
    yield Sentence(
        f"{done.target.name} beside NewReno (RFC 5681) and CUBIC (RFC 9438), simulated by ackclock. "
        f"{counted(done)}"
    )
    yield Rows(("section", "criterion", "finding", "verdict"), [line(one) for one in done.findings], True)
    if any(not one.missing for one in done.measures.values()):
        yield Picture("measures.png", "Each measure over the standards' values")
    yield Sentence(RULE)
    yield Command(done.command())


def counted(done: Evaluation) -> str:
    """The number of criteria with each verdict, in words."""
    counts = ", ".join(f"{done.tally[word]} {word}" for word in VERDICTS if done.tally[word])
    author = " The author answers those with the verdict text." if done.tally["text"] else ""
    return f"Criteria by verdict: {counts}.{author}"


def line(one: Finding) -> list[str]:
    """The row of a criterion in the summary."""
    return [one.criterion.section, one.criterion.title, _finding(one), one.verdict]


def _finding(one: Finding) -> str:
    """The verdict on a criterion in one sentence."""
    standards = " and ".join(TITLES[cc] for cc in STANDARDS)
    if one.verdict == "text":
        reasons = [measure.missing for measure in one.measures if measure.missing]
        return f"Not measured: {reasons[0]}." if reasons else "The author answers this criterion."
    if one.verdict == "like":
        judged = [measure for measure in one.measures if not measure.missing]
        count = f"all {len(judged)} measures" if len(judged) > 1 else "its measure"
        return f"Like {standards} in {count}."
    said = [beside_standards(measure) for measure in one.having(one.verdict)]
    mixed = one.having("better") if one.verdict == "worse" else []
    also = f" Better: {'; '.join(map(beside_standards, mixed))}." if mixed else ""
    return f"{one.verdict.capitalize()} than {standards}: {'; '.join(said)}.{also}"


def beside_standards(one: Measure) -> str:
    """The value of a measure beside the values of the standards."""
    if one.missing:
        return f"{one.name}: {one.missing}"
    others = " and ".join(one.shown(cc) for cc in STANDARDS)
    return f"{one.name} {one.shown()} against {others}"


def _criterion(done: Evaluation, one: Finding) -> Iterator[Part]:
    about = one.criterion
    yield Heading(f"{about.section} {about.title}: {one.verdict}")
    yield Sentence(f"The RFC asks: {about.asks}")
    yield Sentence(_finding(one), {"worse": "miss", "better": "pass"}.get(one.verdict, ""))
    if one.measures:
        yield _measures(one.measures, done)
    for measure in one.measures:
        if len(measure.rows) > 1:
            yield _variants(measure, done)
    if one.bears:
        yield Sentence("Numbers that bear on it:")
        yield _measures(one.bears, done)
    if about.author:
        yield Sentence(f"{PART}: {about.author}")
    if one.measures or one.bears:
        yield Command(done.command(about.section))


def _measures(measures: Sequence[Measure], done: Evaluation) -> Rows:
    """A row for each measure, or the reason why it has none."""
    rows = []
    for one in measures:
        if one.missing:
            rows.append([one.title, one.name, one.missing, "-", "-", one.verdict])
            continue
        low, high = one.estimate().ends
        own = f"{one.shown()} ({number(low, 3)} to {number(high, 3)})"
        rows.append([one.title, one.name, own, *(one.shown(cc) for cc in STANDARDS), one.verdict])
    return Rows(
        ("case", "measure", done.target.name, *(TITLES[cc] for cc in STANDARDS), "verdict"), rows, True
    )


def _variants(one: Measure, done: Evaluation) -> Rows:
    """A row for each variant of the case of a measure: the medians of the controllers."""
    unit = f" ({one.unit})" if one.unit else ""
    head = (f"{one.name}{unit}", done.target.name, *(TITLES[cc] for cc in STANDARDS))
    rows = [[row.variant, *(number(row.median(cc), 3) for cc in (TARGET, *STANDARDS))] for row in one.rows]
    return Rows(head, rows)


def _published(done: Evaluation) -> Iterator[Part]:
    """Published statements about the target's algorithm, beside the measures."""
    found = answers(done)
    if not found:
        return
    yield Heading("Published statements")
    yield Sentence(
        f"{sum(one.agrees for one in found)} of {len(found)} published statements about "
        f"{done.target.algorithm} agree with the measures."
    )
    rows = [
        [
            one.statement.text,
            one.statement.source,
            beside_standards(one.measure),
            one.word,
        ]
        for one in found
    ]
    yield Rows(("statement", "source", "measured", "verdict"), rows)


def _appendix(done: Evaluation) -> Iterator[Part]:
    yield Heading("Appendix: cases, seeds, versions")
    rows = []
    for one in {measure.case.file: measure for measure in done.measures.values()}.values():
        seeds = one.case.repetitions
        shown = [one.title, one.case.why, one.case.source, f"{done.seed} to {done.seed + seeds - 1}"]
        rows.append(shown)
    yield Rows(("case", "why", "source", "seeds"), rows)
    about = host()
    facts = [(key, str(about[key])) for key in ("ackclock", "python", "system", "machine", "cores")]
    yield Rows(("", ""), facts)
    yield Sentence(
        "The cases are in suites/bcp133 of ackclock. The same seed gives the same document. A simulation "
        "shows what follows from the rules of controller, TCP and queues. It cannot show faults of other "
        "equipment, the mix of traffic of the Internet, or what users do."
    )


def write(done: Evaluation, folder: Path) -> list[str]:
    """Writes page, Markdown, JSON and figure. Gives a sentence about each part that cannot be drawn."""
    page, text = Page(title(done)), [f"# {title(done)}\n"]
    for part in parts(done):
        _into(page, part, done, folder)
        text.append(_as_markdown(part))
    write_json(folder / "evaluate.json", as_json(done))
    write_whole(folder / "evaluate.md", "\n".join(text))
    page.write(folder / "index.html")
    return page.undrawn


def _into(page: Page, part: Part, done: Evaluation, folder: Path) -> None:
    match part:
        case Heading(text):
            page.heading(text)
        case Sentence(text, css):
            page.paragraph(text, css)
        case Command(text):
            page.paragraph(f"Repeat it: {text}")
        case Rows(headings, rows, verdicts):
            page.table(headings, rows, css_column=len(headings) - 1 if verdicts else None)
        case Picture(file, caption):
            from ackclock.plots.intervals import draw_intervals

            page.draw(folder / file, caption, lambda: draw_intervals(intervals(done), done.target.name))


def as_json(done: Evaluation) -> dict[str, Any]:
    """The object of ``evaluate --json``, with the published statements about the target if there are some."""
    document = {
        "target": done.target.name,
        "criteria": [
            {
                "section": one.criterion.section,
                "title": one.criterion.title,
                "verdict": one.verdict,
                "command": done.command(one.criterion.section),
                "measures": [measure.as_json() for measure in one.measures],
            }
            for one in done.findings
        ],
    }
    found = answers(done)
    return document | ({"statements": [one.as_json() for one in found]} if found else {})


def intervals(done: Evaluation) -> list[Interval]:
    """Each measure over the mean of the standards' medians, without measures where that is 0."""
    found = []
    for one in done.measures.values():
        if one.missing:
            continue
        beside = [one.estimate(cc).median for cc in STANDARDS]
        middle = sum(beside) / len(beside)
        if middle > 0.0:
            own = one.estimate()
            value, low, high = (number_ / middle for number_ in (own.median, *own.ends))
            found.append(Interval(one.id, value, low, high, [x / middle for x in beside], one.verdict))
    return found


def _as_markdown(part: Part) -> str:
    match part:
        case Heading(text):
            return f"## {text}\n"
        case Sentence(text):
            return f"{text}\n"
        case Command(text):
            return f"```sh\n{text}\n```\n"
        case Rows(headings, rows):
            return markdown(headings, rows)
        case Picture(file, caption):
            return f"![{caption}]({file})\n"
