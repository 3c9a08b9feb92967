"""The first page of a report: sentences, the charts with their numbers, and the same figures as files."""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

from ackclock.figure import Panel
from ackclock.overview import Overview, overview
from ackclock.report import Page, calls
from ackclock.report.charts import as_json
from ackclock.result import Run

PLANE = "Delay and throughput: a point for each flow and repetition"
STACK = {
    "throughput": "Throughput: IP packets of data that reach the receiver",
    "rtt": "RTT by time: the latest sample",
    "queue": "How long a packet that arrives waits; ticks are dropped packets of the first repetition",
    "window": "Congestion window",
}
DISTRIBUTIONS = {
    "rtt-distribution": "RTT by time: how much of the time it was at most this (the table has it by ACK)",
}
BAND = (
    "Curves over time are medians over the repetitions, with a band from the {:.0f}th to the {:.0f}th "
    "percentile."
)
ZOOM = "Drag to zoom, click twice for all. A name in a legend switches its curves off and on."


def draw_overview(
    page: Page,
    by_label: Mapping[str, list[Run]],
    folder: Path,
    formats: Sequence[str],
    of_call: Sequence[Panel] = (),
) -> None:
    """The first page: sentences, the charts with their numbers, and the same figures as files.

    The panels of a call come before the others.
    """
    # Without a home folder it would print the folder of its cache on standard error.
    logging.getLogger("matplotlib").setLevel(logging.ERROR)
    from ackclock import plots
    from ackclock.plots import overview as drawn

    shown = page.attempt("the first page", partial(overview, by_label))
    if shown is not None:
        looks = drawn.curve_looks(_with(shown, of_call))
        numbers = as_json(_with(shown, of_call), lambda label, cc: looks[label, cc])
        page.charts(numbers, [(f"distributions/{one.name}", calls.CAPTIONS[one.name]) for one in of_call])
        page.answers(shown.sentences)
        if any(len(repetitions) > 1 for repetitions in by_label.values()):
            low, high = shown.band
            page.paragraph(BAND.format(low, high), "note")
        page.charts(numbers, _places(shown))
        page.paragraph(ZOOM, "note")
        if shown.stack:
            page.save(folder / "overview.png", partial(drawn.stack, shown), formats)
        if shown.distributions:
            page.save(folder / "distributions.png", partial(drawn.distributions, shown), formats)
        if of_call:
            call = replace(shown, distributions=of_call)
            page.save(folder / "call.png", partial(drawn.distributions, call), formats)
    page.save(folder / "delay-throughput.png", partial(plots.delay_throughput, by_label), formats)


def _with(shown: Overview, of_call: Sequence[Panel]) -> Overview:
    """An overview with the panels of a call as well."""
    return replace(shown, distributions=[*of_call, *shown.distributions])


def _places(shown: Overview) -> list[tuple[str, str]]:
    """The charts of the page, with their captions."""
    stack = [(f"stack/{panel.name}", STACK[panel.name]) for panel in shown.stack]
    distributions = [
        (f"distributions/{panel.name}", DISTRIBUTIONS.get(panel.name, _sentence(panel.y.label)))
        for panel in shown.distributions
    ]
    return [*stack, ("plane", PLANE), *distributions]


def _sentence(label: str) -> str:
    return label[:1].upper() + label[1:]
