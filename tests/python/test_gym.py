"""The step interface for learning: the contract of Gymnasium, the clock of the steps, the flows beside."""

import runpy
from pathlib import Path

import numpy as np
import pytest

import ackclock

gymnasium = pytest.importorskip("gymnasium")

from gymnasium.utils.env_checker import check_env  # noqa: E402

from ackclock.gym import OBSERVATION, CongestionEnv, _Step  # noqa: E402

PATH = ackclock.Path("10mbit", rtt="40ms", queue="1bdp")
STAY = np.zeros(1, np.float32)


def episode(env, policy, seed=1):
    """All rewards and infos of an episode."""
    observation, _ = env.reset(seed=seed)
    steps = []
    while True:
        observation, reward, terminated, truncated, info = env.step(policy(observation))
        if terminated or truncated:
            return steps
        steps.append((reward, info))


def test_the_environment_keeps_the_contract():
    env = CongestionEnv(PATH, duration="2s")
    check_env(env, skip_render_check=True)
    env.close()


def test_gymnasium_makes_one_by_its_name():
    env = gymnasium.make("ackclock.gym:ackclock/Congestion-v0", duration="1s", beside=["cubic"])
    assert isinstance(env.unwrapped, CongestionEnv)
    steps = episode(env, lambda _: STAY)
    assert len(steps) > 10
    assert [flow["cc"] for flow in env.unwrapped.run.flows.to_pylist()][1] == "cubic"
    env.close()


def test_a_constant_window_has_the_goodput_of_its_window():
    env = CongestionEnv(PATH, duration="4s")
    steps = episode(env, lambda _: STAY)
    # Ten segments of 1448 bytes a round trip of 40 ms and 1.2 ms of transmission: 2.8 Mbit/s.
    assert np.median([info["delivered_mbps"] for _, info in steps]) == pytest.approx(2.8, rel=0.05)
    assert {info["window_segments"] for _, info in steps} == {10.0}
    assert env.run.flows["goodput_bps"][0].as_py() == pytest.approx(2.8e6, rel=0.05)


def test_a_step_is_a_round_trip_or_the_interval():
    for interval, expected in ((None, 0.0412), ("100ms", 0.1)):
        steps = episode(CongestionEnv(PATH, duration="3s", interval=interval), lambda _: STAY)
        # Decisions fall on ACKs, which come in bursts of ten segments a round trip.
        assert np.median([info["duration_s"] for _, info in steps[2:]]) == pytest.approx(expected, rel=0.3)


def test_an_action_doubles_or_halves():
    env = CongestionEnv(PATH, duration="2s")
    env.reset(seed=1)
    windows = [env.step(np.array([a], np.float32))[-1]["window_segments"] for a in (1.0, -1.0, 0.5)]
    assert windows == pytest.approx([20.0, 10.0, 10.0 * 2**0.5])
    env.close()


def test_a_rate_paces_the_flow():
    env = CongestionEnv(PATH, duration="2s", action="rate")
    steps = episode(env, lambda _: STAY)
    # A window of ten segments means half its rate: 10 * 1448 * 8 / 0.041 / 2.
    assert np.median([info["delivered_mbps"] for _, info in steps[3:]]) == pytest.approx(1.4, rel=0.1)


def test_other_flows_share_the_path():
    env = CongestionEnv(PATH, beside=["cubic"], duration="3s")
    episode(env, lambda _: STAY)
    assert env.run.flows["name"].to_pylist() == ["agent", "cubic-1"]
    assert env.run.flows["goodput_bps"][1].as_py() > 5e6


def test_the_same_seed_gives_the_same_episode():
    def rewards():
        generator = np.random.default_rng(7)
        env = CongestionEnv(PATH, beside=["newreno"], duration="2s")
        return [r for r, _ in episode(env, lambda _: generator.uniform(-0.3, 0.3, 1).astype(np.float32), 5)]

    assert rewards() == rewards()


def test_an_episode_may_be_left():
    env = CongestionEnv(PATH, duration="1000s")
    for seed in (1, 2, 3):
        observation, _ = env.reset(seed=seed)
        assert observation.shape == (len(OBSERVATION),)
        env.step(STAY)
    env.close()
    with pytest.raises(gymnasium.error.ResetNeeded):
        env.step(STAY)


def test_an_unknown_action_is_refused():
    with pytest.raises(ValueError, match="must be 'window' or 'rate'"):
        CongestionEnv(PATH, action="speed")


def test_the_example_has_learned_and_can_learn():
    example = runpy.run_path(str(Path(__file__).parents[2] / "examples" / "learn.py"))
    # The weights that its training ended with do better than CUBIC, which fills the queue.
    assert example["reward"](example["TRAINED"], 99) > example["of_controller"]("cubic")
    assert np.isfinite(example["train"](rounds=1, population=3, elite=2)).all()


def test_a_step_without_a_round_trip_or_time_has_an_observation():
    empty = _Step()
    assert empty.observation(empty.numbers()).tolist() == pytest.approx([1.0, 0.0, 0.0, 0.0, 0.0, -3.0])


def test_an_observation_compares_a_step_with_what_its_window_allows():
    # In two RTTs a window of 8 segments lets 16 leave.
    rtts = {"rtt": 0.05, "rtt_before": 0.04, "min_rtt": 0.025}
    step = _Step(1.0, 0.1, **rtts, delivered=15, lost=5, window=8.0, segment_bytes=1250)
    assert step.numbers()["delivered_mbps"] == pytest.approx(1.5)
    found = step.observation(step.numbers())
    assert found.tolist() == pytest.approx([2.0, 0.1, 15 / 16, 0.25, 3.0, 0.176], abs=1e-3)
