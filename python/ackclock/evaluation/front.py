"""Scores of controllers over drawn paths: no sum of them, but intervals, ranks and the Pareto front.

Each controller runs alone on every path, and beside CUBIC. The five scores have no common unit, so no number
orders the controllers: one is on the front if no other is better in both use and delay.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from ackclock import _engine, repetitions, trust
from ackclock.contenders import Contender, contenders
from ackclock.evaluation.paths import DrawnPath
from ackclock.figure import Axis, Cross
from ackclock.metrics.tables import column
from ackclock.report import Page, markdown, write_json, write_whole

if TYPE_CHECKING:
    from ackclock.engines import Engine, Progress
    from ackclock.metrics import Array
    from ackclock.result import Run

DURATION = 20.0
"""The length of a run (s), and at least ``ROUNDS`` base RTTs."""
ROUNDS = 60
WARMUP = 0.2
"""The share of a run before its measured interval."""

RESAMPLES = 2000
"""The number of bootstrap draws of paths."""

NEIGHBOUR = "cubic"
LEAST_USE = 1e-3
"""Less than this share of a path counts as this, so that one path does not decide a geometric mean."""


class Score(NamedTuple):
    """A number of each controller."""

    words: str
    more: bool
    """True if more is better."""


SCORES: Mapping[str, Score] = {
    "use": Score("share of the path that is used, geometric mean", True),
    "delay": Score("95th percentile of the RTT over the base RTT, geometric mean", False),
    "harm": Score("harm to CUBIC: the share that it loses of what it has beside CUBIC", False),
    "own": Score("share of both beside CUBIC", True),
    "worst": Score("use of the worst tenth of the paths", True),
}


@dataclass(frozen=True)
class Value:
    """A score with its 95 % bootstrap interval over the paths."""

    value: float
    low: float
    high: float
    ranks: tuple[int, int]
    """The 95 % interval of its rank among the controllers; 1 is the best."""


@dataclass(frozen=True)
class Scored:
    """The scores of one controller."""

    name: str
    values: Mapping[str, Value]
    on_front: float
    """The share of the bootstrap draws in which no other is better in both use and delay."""


@dataclass(frozen=True)
class Front:
    """The scores of all controllers over the same paths."""

    paths: Sequence[DrawnPath]
    seed: int
    controllers: Sequence[Scored]

    def as_json(self) -> dict[str, Any]:
        """The object of ``evaluate --front --json``."""
        return {
            "paths": len(self.paths),
            "seed": self.seed,
            "controllers": [
                {
                    "name": one.name,
                    "on_front": one.on_front,
                    **{
                        key: {"value": v.value, "low": v.low, "high": v.high, "ranks": list(v.ranks)}
                        for key, v in one.values.items()
                    },
                }
                for one in self.controllers
            ],
        }


def front(
    compared: Sequence[Contender],
    paths: Sequence[DrawnPath],
    engine: Engine,
    seed: int,
    progress: Progress | None = None,
) -> Front:
    """Runs every controller on every path, and scores them; those that use most come first."""
    (cubic,) = contenders([NEIGHBOUR])
    files, points = trust.named([*compared, cubic]), []
    everyone = [*compared, *([] if any(one.name == NEIGHBOUR for one in compared) else [cubic])]
    for place, path in enumerate(paths):
        for one in everyone:
            for beside in (False, True):
                flows = [{**one.flow(1), "name": "target"}]
                flows += [{**cubic.flow(1), "name": "other", "start_jitter": "1s"}] if beside else []
                document = _document(path, flows)
                plan = _engine.resolve_json(json.dumps(document), [], files)
                engine.check(plan)
                points.append(
                    repetitions.Point((place, one.name, beside), plan, range(seed + place, seed + place + 1))
                )
    samples = {
        (name, key): np.full(len(paths), np.nan)
        for one in everyone
        for name in [one.name]
        for key in _SAMPLED
    }
    for result in repetitions.results(points, engine, progress):
        place, name, beside = result.key
        for key, value in _sampled(result.run, paths[place], beside).items():
            samples[name, key][place] = value
    return _scored([one.name for one in compared], samples, paths, seed)


def _document(path: DrawnPath, flows: Sequence[Mapping[str, Any]]) -> dict[str, Any]:
    duration = max(DURATION, ROUNDS * path.rtt_ms / 1e3)
    return {
        "name": path.kind,
        "duration": f"{duration:.3f}s",
        "warmup": f"{duration * WARMUP:.3f}s",
        "path": {**path.document, "reverse": {"jitter": "0.5ms"}},
        "flows": list(flows),
        "record": {"flow_series": "off", "link_series": "off", "probes": "off", "events": False},
    }


_SAMPLED = ("use", "delay", "left", "own")


def _sampled(run: Run, path: DrawnPath, beside: bool) -> dict[str, float]:
    """The numbers of one run: use and delay alone, or its share beside CUBIC and the rate left to that."""
    goodput = column(run.flows, "goodput_bps")
    if beside:
        total = float(goodput.sum())
        return {"left": float(goodput[1]) / path.rate_bps, "own": float(goodput[0]) / total if total else 0.0}
    rtt, base = (float(column(run.flows, name)[0]) for name in ("rtt_p95_ms", "base_rtt_ms"))
    return {"use": max(float(goodput[0]) / path.rate_bps, LEAST_USE), "delay": rtt / base}


def _scored(
    names: Sequence[str], samples: Mapping[tuple[str, str], Array], paths: Sequence[DrawnPath], seed: int
) -> Front:
    generator = np.random.default_rng(seed)
    drawn = np.vstack([np.arange(len(paths)), generator.integers(0, len(paths), (RESAMPLES, len(paths)))])
    of = {key: np.array([_score(samples, name, key, drawn) for name in names]) for key in SCORES}
    ranks = {
        key: (np.argsort(np.argsort(-found if SCORES[key].more else found, axis=0), axis=0) + 1)[:, 1:]
        for key, found in of.items()
    }
    on_front = _pareto(of["use"][:, 1:], of["delay"][:, 1:])
    scored = []
    for place, name in enumerate(names):
        values = {}
        for key, found in of.items():
            low, high = np.percentile(found[place, 1:], (2.5, 97.5))
            best, last = np.percentile(ranks[key][place], (2.5, 97.5))
            values[key] = Value(float(found[place, 0]), float(low), float(high), (round(best), round(last)))
        scored.append(Scored(name, values, float(on_front[place].mean())))
    return Front(paths, seed, sorted(scored, key=lambda one: -one.values["use"].value))


def _score(samples: Mapping[tuple[str, str], Array], name: str, key: str, drawn: Any) -> Array:
    """A score for each draw of paths."""
    if key in ("use", "delay"):
        # A path on which nothing came back has no RTT, and tells nothing of it.
        return np.asarray(np.exp(np.nanmean(np.log(samples[name, key])[drawn], axis=1)))
    if key == "worst":
        return np.asarray(np.percentile(samples[name, "use"][drawn], 10, axis=1))
    if key == "own":
        return np.asarray(np.mean(samples[name, "own"][drawn], axis=1))
    alike = samples[NEIGHBOUR, "left"]
    harm = 1.0 - samples[name, "left"] / np.where(alike > 0.0, alike, np.nan)
    return np.asarray(np.nanmean(harm[drawn], axis=1))


def _pareto(use: Array, delay: Array) -> Any:
    """True for each controller and draw if no other is better in both."""
    beaten = (use[None, :] > use[:, None]) & (delay[None, :] < delay[:, None])
    return ~beaten.any(axis=1)


def headings() -> list[str]:
    """The head of the table of scores."""
    return ["controller", *(f"{key} (ranks)" for key in SCORES), "on the front"]


def rows(found: Front) -> list[list[str]]:
    """The table of scores: each with its interval and the interval of its rank."""
    return [
        [
            one.name,
            *(f"{v.value:.3f}, {v.low:.3f} to {v.high:.3f} ({_ranks(v.ranks)})" for v in one.values.values()),
            f"{one.on_front:.2f}",
        ]
        for one in found.controllers
    ]


def _ranks(ranks: tuple[int, int]) -> str:
    return f"{ranks[0]}" if ranks[0] == ranks[1] else f"{ranks[0]}-{ranks[1]}"


def crosses(found: Front) -> list[Cross]:
    """The points of the figure: delay and use. The front has those that are on it in half of the draws."""
    return [
        Cross(
            one.name,
            (one.values["delay"].value, one.values["delay"].low, one.values["delay"].high),
            (one.values["use"].value, one.values["use"].low, one.values["use"].high),
            one.on_front >= 0.5,
        )
        for one in found.controllers
    ]


READ = (
    "Use, delay and worst are of runs alone, harm and own of runs beside CUBIC. Each score has its 95 % "
    "bootstrap interval over the paths, and the interval of its rank. The last column is the share of draws "
    "in which no other controller is better in both use and delay. Who yields does little harm, "
    "so read harm beside own."
)


def write(found: Front, folder: Path) -> Sequence[str]:
    """Writes the page, the Markdown, the JSON and the figure."""
    from ackclock.plots.front import draw_front

    title = f"Scores over {len(found.paths)} paths"
    page, kinds = Page(title), Counter(path.kind for path in found.paths)
    about = f"Seed {found.seed}. Paths by kind: {', '.join(f'{n} {kind}' for kind, n in kinds.items())}."
    for text in (READ, about):
        page.paragraph(text)
    axes = Axis(SCORES["delay"].words, "log"), Axis(SCORES["use"].words)
    page.draw(folder / "front.png", title, lambda: draw_front(crosses(found), *axes))
    page.table(headings(), rows(found))
    for key, score in SCORES.items():
        page.paragraph(f"{key}: {score.words}.")
    write_json(folder / "front.json", found.as_json())
    text = f"# {title}\n\n{READ}\n\n{about}\n\n![{title}](front.png)\n\n{markdown(headings(), rows(found))}"
    write_whole(folder / "front.md", text)
    page.write(folder / "index.html")
    return page.undrawn
