"""Learns a congestion controller with the step interface: a linear policy, improved by cross-entropy.

The policy decides once a round trip from what `ackclock.gym` observes. `python examples/learn.py` trains it
in a minute, and prints the mean reward of an episode beside those of CUBIC and CDG.
"""

from __future__ import annotations

import sys

import numpy as np

import ackclock
from ackclock.gym import OBSERVATION, CongestionEnv, default_reward

PATH = ackclock.Path("10mbit", rtt="40ms", queue="2bdp")
DURATION = "6s"

TRAINED = np.array([1.35, 0.45, -0.6, 0.57, -0.26, -1.06, 1.13])
"""The weights that the training below ended with: one for each number of an observation, and a constant."""


def act(weights: np.ndarray, observation: np.ndarray) -> np.ndarray:
    """The action of the linear policy."""
    return np.tanh(weights[:-1] @ observation + weights[-1:]).astype(np.float32)


def reward(weights: np.ndarray, seed: int) -> float:
    """The mean reward of an episode."""
    env = CongestionEnv(PATH, duration=DURATION)
    observation, _ = env.reset(seed=seed)
    rewards = []
    while True:
        observation, value, terminated, truncated, _ = env.step(act(weights, observation))
        if terminated or truncated:
            return float(np.mean(rewards))
        rewards.append(value)


def train(rounds: int = 12, population: int = 24, elite: int = 6, seed: int = 1) -> np.ndarray:
    """The weights after some rounds: the best of each round give the next its mean and spread."""
    generator = np.random.default_rng(seed)
    mean, spread = np.zeros(len(OBSERVATION) + 1), np.ones(len(OBSERVATION) + 1)
    for number in range(rounds):
        tried = generator.normal(mean, spread, (population, mean.size))
        scores = np.array([reward(weights, seed + number) for weights in tried])
        best = tried[np.argsort(scores)[-elite:]]
        mean, spread = best.mean(axis=0), best.std(axis=0) + 0.05
        sys.stdout.write(f"round {number + 1}: best {scores.max():.3f}, mean {scores.mean():.3f}\n")
    return mean


def of_controller(cc: str) -> float:
    """The same reward of a whole run of a controller that is built in."""
    run = ackclock.simulate(PATH, [cc], duration=DURATION)
    flow = run.flows.to_pylist()[0]
    return default_reward(
        {
            "delivered_mbps": flow["goodput_bps"] / 1e6,
            "delivered_segments": flow["data_packets"],
            "lost_segments": flow["lost_packets"],
            "rtt_ms": flow["rtt_mean_ms"],
            "min_rtt_ms": flow["rtt_min_ms"],
        }
    )


if __name__ == "__main__":
    learned = train()
    sys.stdout.write(f"learned: {reward(learned, 99):.3f}, weights {np.round(learned, 2).tolist()}\n")
    for name in ("cubic", "cdg"):
        sys.stdout.write(f"{name}: {of_controller(name):.3f}\n")
