"""A step interface for learning agents: one flow as an environment of Gymnasium.

The flow shares a simulated path with any others. Time stops while the agent decides: each step is one
round trip of the flow, or a fixed time. Needs gymnasium (``python -m pip install gymnasium``).
"""

from __future__ import annotations

import math
import queue
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import gymnasium
import numpy as np

from ackclock import _engine
from ackclock._engine import Ack, Context, Loss
from ackclock.controller import Controller
from ackclock.language import Flow, Path
from ackclock.result import Run
from ackclock.running import Described, described

OBSERVATION = ("rtt_ratio", "rtt_gradient", "delivered_ratio", "loss_share", "log_window", "log_rate")
"""The numbers of an observation, in order.

- ``rtt_ratio``: the smoothed RTT over the smallest so far
- ``rtt_gradient``: the change of the RTT over the step, per second
- ``delivered_ratio``: the data delivered in the step over the amount that the window allows in that time
- ``loss_share``: lost segments over all of the step
- ``log_window``: the binary logarithm of the window in segments
- ``log_rate``: the decimal logarithm of the delivery rate in Mbit/s
"""

LARGEST = 1e4
"""No number of an observation is larger."""
LARGEST_WINDOW = 1e6
WAIT_S = 0.02
"""The time after which a waiting environment checks if the run is over."""

Vector = np.ndarray[Any, np.dtype[np.float32]]

Reward = Callable[[Mapping[str, float]], float]
"""The reward of a step, from the numbers in ``info``."""


class _OverError(Exception):
    """The episode was left: the run of the simulator ends."""


@dataclass
class _Step:
    """The measurements of one step."""

    time: float = 0.0
    duration: float = 0.0
    rtt: float = 0.0
    rtt_before: float = 0.0
    min_rtt: float = 0.0
    delivered: int = 0
    lost: int = 0
    window: float = 0.0
    segment_bytes: int = 0

    def numbers(self) -> dict[str, float]:
        """The step in everyday units, for ``info`` and the reward."""
        rate = self.delivered * self.segment_bytes * 8e-6 / self.duration if self.duration > 0.0 else 0.0
        return {
            "time_s": self.time,
            "duration_s": self.duration,
            "rtt_ms": self.rtt * 1e3,
            "min_rtt_ms": self.min_rtt * 1e3,
            "delivered_mbps": rate,
            "delivered_segments": float(self.delivered),
            "lost_segments": float(self.lost),
            "window_segments": self.window,
        }

    def observation(self, numbers: Mapping[str, float]) -> Vector:
        """The observation of the step, of which these are the numbers: see ``OBSERVATION``."""
        allowed = self.window * self.duration / self.rtt if self.rtt > 0.0 else 0.0
        total = self.delivered + self.lost
        values = (
            self.rtt / self.min_rtt if self.min_rtt > 0.0 else 1.0,
            (self.rtt - self.rtt_before) / self.duration if self.duration > 0.0 else 0.0,
            self.delivered / allowed if allowed > 0.0 else 0.0,
            self.lost / total if total else 0.0,
            math.log2(max(self.window, 1.0)),
            math.log10(max(numbers["delivered_mbps"], 1e-3)),
        )
        return np.array([min(max(value, -LARGEST), LARGEST) for value in values], np.float32)


class _Channel:
    """Connects the flow, in the thread of the simulator, with the environment."""

    def __init__(self, interval_s: float | None, rate: bool) -> None:
        self.interval_s = interval_s
        self.rate = rate
        self.steps: queue.SimpleQueue[_Step] = queue.SimpleQueue()
        self.actions: queue.SimpleQueue[float | None] = queue.SimpleQueue()

    def exchange(self, step: _Step) -> float:
        """Shows a step to the agent, and waits for its action."""
        self.steps.put(step)
        action = self.actions.get()
        if action is None:
            raise _OverError
        return action


class _Flow(Controller):
    """The flow that the agent controls."""

    channel: _Channel
    wants = ("pauses",)

    def __init__(self) -> None:
        self.window = 10.0
        self.pacing_rate: float | None = None
        self._last = _Step()
        self._delivered = self._lost = 0

    def on_start(self, cx: Context) -> None:
        self.window = cx.initial_window

    def on_ack(self, cx: Context, ack: Ack) -> None:
        if ack.smoothed_rtt is not None and ack.min_rtt is not None:
            self._step(cx, ack.smoothed_rtt, ack.min_rtt, ack.delivered, ack.lost)

    def on_duplicate_ack(self, cx: Context, ack: Ack) -> None:
        self.on_ack(cx, ack)

    def on_loss(self, _cx: Context, _loss: Loss) -> None:
        """Leaves the answer to the agent."""

    def on_timeout(self, cx: Context, _loss: Loss) -> None:
        self._step(cx, self._last.rtt, self._last.min_rtt, self._delivered, self._lost)

    def _step(self, cx: Context, rtt: float, least: float, delivered: int, lost: int) -> None:
        """A step ends, by when so many segments were delivered and lost in all."""
        last = self._last
        step = _Step(
            time=cx.now,
            duration=cx.now - last.time,
            rtt=rtt,
            rtt_before=last.rtt or rtt,
            min_rtt=least,
            delivered=delivered - self._delivered,
            lost=lost - self._lost,
            window=self.window,
            segment_bytes=cx.segment_size,
        )
        self._last, self._delivered, self._lost = step, delivered, lost
        factor = 2.0 ** self.channel.exchange(step)
        self.window = min(max(self.window * factor, 1.0), LARGEST_WINDOW)
        if self.channel.rate and rtt > 0.0:
            # The rate paces. The window only bounds the data in flight, at twice the rate.
            self.pacing_rate = self.window * cx.segment_size * 8.0 / rtt / 2.0
        self.pause_until = cx.now + (self.channel.interval_s if self.channel.interval_s is not None else rtt)


def default_reward(numbers: Mapping[str, float]) -> float:
    """The logarithm of rate over delay, less ten times the loss: the power of a flow."""
    total = numbers["delivered_segments"] + numbers["lost_segments"]
    loss = numbers["lost_segments"] / total if total else 0.0
    delay = numbers["rtt_ms"] / numbers["min_rtt_ms"] if numbers["min_rtt_ms"] else 1.0
    return math.log10(max(numbers["delivered_mbps"], 1e-3)) - math.log10(max(delay, 1.0)) - 10.0 * loss


class CongestionEnv(gymnasium.Env[Vector, Vector]):
    """One flow on a simulated path, its window or rate set by an agent:

        env = CongestionEnv(ackclock.Path("10mbit", rtt="40ms", queue="1bdp"), beside=["cubic"])
        observation, info = env.reset(seed=1)
        observation, reward, terminated, truncated, info = env.step(env.action_space.sample())

    An observation has the numbers of ``OBSERVATION``. The action is one number from -1 to 1: the window, or
    with ``action="rate"`` the pacing rate, is multiplied by two to that power. A step is a round trip, or
    ``interval`` (``"100ms"``). An episode ends with the ``duration`` of the scenario, as truncated.
    ``env.run`` is then its result, with all tables. ``reward`` is a function of the numbers in ``info``.
    """

    def __init__(
        self,
        scenario: Described,
        beside: Sequence[Flow | str] = (),
        *,
        duration: str | None = None,
        interval: str | None = None,
        action: str = "window",
        reward: Reward = default_reward,
    ) -> None:
        if action not in ("window", "rate"):
            raise ValueError(f"action is {action!r}: must be 'window' or 'rate'")
        self._scenario = described(scenario, [])
        if duration is not None:
            self._scenario = replace(self._scenario, duration=duration)
        self._beside = [one if isinstance(one, Flow) else Flow(one) for one in beside]
        self._interval = None if interval is None else _engine.quantity(interval, "time")
        self._rate, self._reward = action == "rate", reward
        self._channel: _Channel | None = None
        self._batch: _engine.Batch | None = None
        self.run: Run | None = None
        """The result of the episode that ended last."""
        self.observation_space = gymnasium.spaces.Box(-LARGEST, LARGEST, (len(OBSERVATION),), np.float32)
        self.action_space = gymnasium.spaces.Box(-1.0, 1.0, (1,), np.float32)

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Vector, dict[str, Any]]:
        """Begins an episode with this seed of the scenario.

        Returns the observation at the first RTT sample.
        """
        super().reset(seed=seed, options=options)
        self.close()
        channel = self._channel = _Channel(self._interval, self._rate)
        agent = type("Agent", (_Flow,), {"channel": channel, "__doc__": _Flow.__doc__})
        flows = [Flow(agent, name="agent"), *self._beside]
        plan, factories = replace(self._scenario, flows=flows).compiled()
        _engine.check("sim", plan)
        self._plan, self._seed = (
            plan,
            int(self.np_random.integers(1, 2**31)) if seed is None else seed,
        )
        self._batch = _engine.Batch([(plan, self._seed)], threads=1, controllers=factories)
        step = self._next_step()
        if step is None:
            raise RuntimeError("the flow never had an RTT sample: is the path broken?")
        numbers = step.numbers()
        return step.observation(numbers), numbers

    def step(self, action: Vector) -> tuple[Vector, float, bool, bool, dict[str, Any]]:
        """Sets the window or rate, and lets the path run for a step."""
        if self._channel is None:
            raise gymnasium.error.ResetNeeded("the episode is over: call reset")
        self._channel.actions.put(min(max(float(np.asarray(action).reshape(-1)[0]), -1.0), 1.0))
        step = self._next_step()
        ended = step is None
        if step is None:
            self._channel, step = None, self._last
        numbers = step.numbers()
        reward = 0.0 if ended else self._reward(numbers)
        return step.observation(numbers), reward, False, ended, numbers

    def _next_step(self) -> _Step | None:
        """The next step of the flow, or None at the end of the run. Raises the error of the run."""
        assert self._channel is not None
        assert self._batch is not None
        while True:
            try:
                self._last = self._channel.steps.get(timeout=WAIT_S)
            except queue.Empty:
                found = self._batch.next(0.0)
                if found is None:
                    continue
                self.run = Run.from_engine(found[1], self._plan, self._seed)
                return None
            return self._last

    def close(self) -> None:
        """Ends the episode that is under way."""
        if self._channel is not None:
            # First: the thread of the flow waits for it.
            self._channel.actions.put(None)
        if self._batch is not None:
            self._batch.cancel()
        self._channel = self._batch = None


ID = "ackclock/Congestion-v0"
"""The name for ``gymnasium.make("ackclock.gym:ackclock/Congestion-v0", scenario=…)``. By default the path has
10 Mbit/s, 40 ms and a buffer of one BDP."""

gymnasium.register(
    ID, f"{__name__}:{CongestionEnv.__name__}", kwargs={"scenario": Path("10mbit", rtt="40ms", queue="1bdp")}
)
