"""The figures of the thesis that need no run, drawn by the models."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import numpy as np
from matplotlib.figure import Figure

from ackclock.figure import Axis, Panel, Series
from ackclock.interarrival import decrease_factor, noise_level
from ackclock.metrics.tables import Array
from ackclock.papers.data.edwan2010.models import responses
from ackclock.papers.data.edwan2010.models.allocation import alpha_fair, max_min
from ackclock.papers.data.edwan2010.models.bic import Bic
from ackclock.papers.data.edwan2010.models.drift import Drift
from ackclock.papers.data.edwan2010.models.dynamics import ALGORITHMS, Dynamics
from ackclock.papers.data.edwan2010.models.gentle import (
    Damping,
    Thrust,
    rocket_increases,
    slow_start_increases,
)
from ackclock.papers.data.edwan2010.models.illinois import ILLINOIS, TCP_C, TCP_FQ, TCP_FS, TCP_Q, Illinois
from ackclock.papers.data.edwan2010.models.networks import Network
from ackclock.papers.data.edwan2010.models.rounds import Gentle, Rule, Yeah, course
from ackclock.papers.data.edwan2010.models.rules import RULES, vector_diagram
from ackclock.papers.data.edwan2010.models.stability import lemma_curve
from ackclock.plots import draw

LINEAR = ("aimd", "aiad", "mimd", "miad")
BINOMIAL = ("aimd", "iiad", "sqrt")
LONGEST = 2.0
"""A Nyquist curve is drawn up to this distance from 0."""


def vector_diagrams(
    names: Sequence[str] = LINEAR, start: tuple[float, float] = (0.1, 0.7), steps: int = 600
) -> Figure:
    """The rates of two sources against each other, a panel for each rule (figures 2.3 to 2.5)."""
    ends = np.array([0.0, 1.0])
    fair = Series("fairness line", "", ends, ends, look="model")
    full = Series("efficiency line", "", ends, 1 - ends, look="model")
    panels = []
    for name in names:
        path = vector_diagram(RULES[name], start, steps=steps)
        panels.append(Panel(name.upper(), [fair, full, Series("rates", "newreno", path[:, 0], path[:, 1])]))
    axis = [Axis(f"rate of source {i} (capacity = 1)", low=0.0, high=1.1) for i in (1, 2)]
    return draw(panels, axis[0], axis[1], columns=2)


def response_functions(
    low: float = 1e-8, high: float = 1e-2, measured: Mapping[str, tuple[Array, Array]] | None = None
) -> Figure:
    """The mean windows of Reno, AIMD(32, 0.125), HighSpeed TCP, Scalable TCP and BIC (figure 3.2).

    ``measured`` has loss probabilities and mean windows by the name of a controller, for comparison.
    """
    loss = np.logspace(np.log10(low), np.log10(high), 121)
    curves = [
        ("Reno", "newreno", responses.reno(loss)),
        ("AIMD(32, 0.125)", "aimd", responses.aimd(loss, 32.0, 0.125)),
        ("HighSpeed", "highspeed", responses.highspeed(loss)),
        ("Scalable", "scalable", responses.scalable(loss)),
        ("BIC", "bic", Bic().mean_window(loss)),
    ]
    series = [Series(label, cc, loss, window) for label, cc, window in curves]
    for cc, (at, window) in (measured or {}).items():
        series.append(Series(f"{cc}, simulated", cc, at, window, look="marked"))
    panel = Panel("", series)
    return draw([panel], Axis("loss probability", "log"), Axis("mean window (packets)", "log"))


def alpha_beta_plane() -> Figure:
    """The increase against the decrease of Illinois, TCP-Q, TCP-C and HighSpeed TCP (figure 6.1)."""
    betas = np.linspace(0.1251, 0.4999, 200)
    series = [
        Series(label, cc, betas, model.alpha_at_beta(betas))
        for label, cc, model in (
            ("Illinois", "illinois", ILLINOIS),
            ("TCP-Q", "tcp-q", TCP_Q),
            ("TCP-C", "tcp-c", TCP_C),
        )
    ]
    increase, decrease = responses.highspeed_parameters(np.geomspace(38.0, 83000.0, 200))
    shown = increase <= ILLINOIS.alpha_max
    series.append(Series("HighSpeed", "highspeed", decrease[shown], increase[shown]))
    series.append(Series("Reno", "newreno", np.array([0.5]), np.array([1.0]), look="marked"))
    return draw([Panel("", series)], Axis("decrease, beta"), Axis("increase, alpha (packets per RTT)", "log"))


def alpha_over_delay(orders: Sequence[float] = (1, 2, 3, 5, 10)) -> Figure:
    """The increase over the delay for several orders (figure 6.2)."""
    return _over_delay(orders, Illinois.alpha, Axis("increase, alpha (packets per RTT)", "log"))


def beta_over_delay() -> Figure:
    """The decrease over the delay of Illinois, TCP-Q, TCP-Fq and TCP-Fs (figure 6.3)."""
    delays = np.linspace(0.0, 1.0, 201)
    models = {"Illinois": ILLINOIS, "TCP-Q": TCP_Q, "TCP-Fq": TCP_FQ, "TCP-Fs": TCP_FS}
    series = [Series(label, label.lower(), delays, model.beta(delays)) for label, model in models.items()]
    return draw([Panel("", series)], Axis("delay (share of the largest)"), Axis("decrease, beta", low=0.0))


def _over_delay(orders: Sequence[float], function: Callable[[Illinois, Array], Array], y: Axis) -> Figure:
    delays = np.linspace(0.0, 1.0, 201)
    series = [Series(f"order {n:g}", f"order {n:g}", delays, function(Illinois(n), delays)) for n in orders]
    return draw([Panel("", series)], Axis("delay (share of the largest)"), y)


def illinois_responses(
    orders: Sequence[float] = (1, 2), delays: Sequence[float] = (0.05, 0.2, 0.8)
) -> Figure:
    """Response functions of Illinois and TCP-Q at several delays (figure 6.11)."""
    loss = np.logspace(-7, -2, 101)
    series = [
        Series(f"order {n:g}, delay {d:g}", f"order {n:g}", loss, Illinois(n).response(loss, d))
        for n in orders
        for d in delays
    ]
    return draw([Panel("", series)], Axis("loss probability", "log"), Axis("mean window (packets)", "log"))


def thrust_and_slow_start(rockets: Sequence[float] = (2, 4, 8), rounds: int = 30) -> Figure:
    """The window from 1 packet under the rocket rule and in slow start (figure 7.1)."""
    series = []
    for rocket in rockets:
        window = _window_from_one(rocket_increases(rounds, rocket))
        series.append(Series(f"rocket, {rocket:g}", f"rocket {rocket:g}", np.arange(rounds + 1.0), window))
    doubling = _window_from_one(slow_start_increases(10))
    series.append(Series("slow start", "newreno", np.arange(11.0), doubling))
    return draw([Panel("", series)], Axis("RTTs"), Axis("window (packets)", low=0.0, high=600.0))


def _window_from_one(increases: Array) -> Array:
    return np.concatenate(([1.0], 1.0 + np.cumsum(increases)))


def rates_over_alpha(network: Network, alphas: Sequence[float] = (0.5, 1, 2, 3, 5, 10)) -> Figure:
    """The alpha-fair rates of the sources over alpha, with their max-min fair limits (table 4.1)."""
    rates = np.array([alpha_fair(network, alpha).rates for alpha in alphas])
    limits = max_min(network).rates
    x = np.array(alphas, dtype=np.float64)
    series = []
    for index, name in enumerate(network.sources):
        series.append(Series(name, name, x, rates[:, index], look="marked"))
        limit = np.full(x.size, limits[index])
        series.append(Series(f"{name}, max-min", name, x, limit, look="model"))
    return draw([Panel("", series)], Axis("alpha", "log"), Axis("rate"))


def algorithms_over_time(network: Network, alpha: float = 1.0, until: float = 150.0) -> Figure:
    """Rates over time under the four algorithms, with the optimum (section 4.2)."""
    optimum = alpha_fair(network, alpha).rates
    panels = []
    for algorithm in ALGORITHMS:
        course = Dynamics(network, algorithm, alpha).run(until)
        series = []
        for index, name in enumerate(network.sources):
            series.append(Series(name, name, course.times, course.rates[:, index]))
            best = np.full(course.times.size, optimum[index])
            series.append(Series(f"{name}, optimum", name, course.times, best, look="model"))
        panels.append(Panel(algorithm, series))
    return draw(panels, Axis("time (s)"), Axis("rate", low=0.0), columns=2)


def nyquist(dampings: Sequence[float] = (0, 1, 2, 5)) -> Figure:
    """The curves of the lemma: none encircles -2/pi (figure 4.5 has damping 2)."""
    turns = np.linspace(-40.0, 40.0, 4000)
    series = []
    for damping in dampings:
        curve = lemma_curve(turns, damping)
        # Without damping the curve has no end at the frequency 0.
        curve[np.abs(curve) > LONGEST] = np.nan
        series.append(Series(f"A = {damping:g}", f"A = {damping:g}", np.real(curve), np.imag(curve)))
    point = Series("-2/pi", "newreno", np.array([-2 / np.pi]), np.array([0.0]), look="marked")
    return draw([Panel("", [*series, point])], Axis("real part"), Axis("imaginary part"))


def courses_of_drift(models: Mapping[str, Drift], start: float, until: float) -> Figure:
    """The rate over time of several drift models from the same start, with their equilibria."""
    series = []
    for label, model in models.items():
        times, rates = model.course(start, until)
        series.append(Series(label, label, times, rates))
        rest = np.full(2, model.equilibrium())
        ends = np.array([0.0, until])
        series.append(Series(f"{label}, equilibrium", label, ends, rest, look="model"))
    return draw([Panel("", series)], Axis("time (s)"), Axis("rate (packets per second)", low=0.0))


def decrease_over_noise(spans: Sequence[float] = (0.0, 0.5, 0.75, 0.95), beta: float = 0.5) -> Figure:
    """The decrease of modified Reno over the noise in the gaps, for several spans (chapter 8)."""
    counts = np.linspace(0.0, 6.0, 61)
    series = []
    for spread in spans:
        share = beta * decrease_factor(spread, noise_level(counts))
        series.append(Series(f"span {spread:g}", f"span {spread:g}", counts, share))
    x = Axis("noise, rho (differences below T)")
    return draw([Panel("", series)], x, Axis("share of the window removed", low=0.0, high=0.55))


def queues_by_rounds(pipe: float, rtt: float, until: float = 300.0, allowed_queue: float = 80.0) -> Figure:
    """The queue that a lone flow of Gentle and of YeAH keeps (figures 7.8 and 7.10)."""
    rules: dict[str, Rule] = {"Gentle": Gentle(allowed_queue), "YeAH": Yeah(allowed_queue)}
    panels = []
    for name, rule in rules.items():
        found = course(rule, pipe, rtt, until)
        panels.append(Panel(name, [Series("queue estimate", "newreno", found.times, found.queues)]))
    return draw(panels, Axis("time (s)"), Axis("queue (packets)", low=0.0), columns=2)


def gentle_windows(damping: Damping, thrust: Thrust) -> Figure:
    """The window of Gentle over an epoch and at the start, with the rounds' window (figures 7.2 and 7.3)."""
    epoch = np.linspace(0.0, damping.epoch, 200)
    start = np.linspace(0.0, thrust.duration, 200)
    rule = Gentle(damping.queue, rocket=thrust.rocket, alpha_max=thrust.alpha_max)
    rounds = course(rule, thrust.pipe, thrust.rtt, thrust.duration)
    panels = [
        Panel("damping", [Series("closed form", "newreno", epoch, damping.window(epoch))]),
        Panel(
            "thrust",
            [
                Series("closed form", "newreno", start, thrust.window(start)),
                Series("rounds", "cubic", rounds.times, rounds.windows, look="points"),
            ],
        ),
    ]
    return draw(panels, Axis("time (s)"), Axis("window (packets)"), columns=2)
