"""Threads that run controllers written in Python: interruptions, the end of the interpreter, many at once."""

import os
import subprocess
import sys
import threading
from itertools import pairwise

import pytest

import ackclock
from ackclock import _engine
from calling import PATIENCE
from test_controller import LOSSY, Fixed, NewReno

PROGRAM = """
import os, signal, sys, threading, time
import ackclock

started = threading.Event()

class Controller(ackclock.Controller):
    def on_ack(self, cx, ack):
        started.set()
        {body}

    def on_loss(self, cx, loss):
        self.window = 10.0

    def on_timeout(self, cx, loss):
        self.window = 10.0

def simulate():
    path = ackclock.Path("10mbit", "40ms", "84p")
    return ackclock.simulate(path, [Controller] * 3, duration="20000s", seed=1, **{options})

"""

BODIES = {
    "ordinary": "self.window = 10.0",
    "endless": "while True: pass",
    "stubborn": "\n".join(
        [
            "while True:",
            "            try:",
            "                while True: pass",
            "            except BaseException: pass",
        ]
    ),
    "asleep": "time.sleep(0.001)",
    # An interrupt that comes in a finalizer is lost: Python cannot raise it there.
    "finalizing": "\n".join(
        [
            "class Slow:",
            "            def __del__(self):",
            "                for _ in range(100_000): pass",
            "        while True: Slow()",
        ]
    ),
}


def outcome(body, rest, options=None):
    """Exit status, output and errors of a program with a controller that does ``body`` on an ACK."""
    program = PROGRAM.format(body=BODIES[body], options=options or {}) + rest
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    return done.returncode, done.stdout, done.stderr


INTERRUPTED = """
def interrupt():
    started.wait()
    os.kill(os.getpid(), signal.SIGINT)

threading.Thread(target=interrupt).start()
try:
    simulate()
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.parametrize("body", BODIES)
def test_ctrl_c_ends_a_run(body):
    assert outcome(body, INTERRUPTED) == (0, "interrupted\n", "")


@pytest.mark.parametrize("body", ["ordinary", "endless"])
def test_ctrl_c_ends_several_runs_at_once(body):
    assert outcome(body, INTERRUPTED, {"repeat": 4, "threads": 4}) == (0, "interrupted\n", "")


def test_a_run_that_is_interrupted_gives_the_hook_for_exceptions_of_finalizers_back():
    program = PROGRAM.format(body=BODIES["endless"], options={}) + INTERRUPTED
    program += "print(sys.unraisablehook is sys.__unraisablehook__)\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "interrupted\nTrue\n", "")


DAEMON = """
threading.Thread(target=simulate, daemon=True).start()
started.wait()
print("over")
"""


@pytest.mark.parametrize("body", BODIES)
def test_the_interpreter_ends_while_a_daemon_thread_simulates(body):
    assert outcome(body, DAEMON) == (0, "over\n", "")


LEFT = """
import atexit
from ackclock import _engine

path = ackclock.Path("10mbit", "40ms", "84p")
scenario = ackclock.Scenario(path=path, flows=[ackclock.Flow(Controller)], duration="20000s")
plan, factories = scenario.compiled()
batch = _engine.Batch([(plan, seed) for seed in range(1, 5)], threads=4, controllers=factories)
started.wait()
print("over")
"""


@pytest.mark.parametrize("body", BODIES)
def test_the_interpreter_ends_while_runs_go_on_for_which_nobody_waits(body):
    assert outcome(body, LEFT) == (0, "over\n", "")


@pytest.mark.parametrize("body", ["ordinary", "endless", "asleep"])
def test_the_interpreter_ends_without_its_exit_handlers(body):
    # Threads that are in Python then are ended by the interpreter, in the middle of a call from Rust.
    rest = DAEMON + "import atexit\natexit._clear()\n"
    assert outcome(body, rest) == (0, "over\n", "")


PLACES = {
    "an event": """
    def on_ack(self, cx, ack):
        started.set()
        while True: pass
""",
    "probe": """
    def probe(self):
        started.set()
        while True: pass
""",
    "a property": """
    wants = frozenset({"timer"})

    @property
    def wake_up_at(self):
        started.set()
        while True: pass
""",
}


@pytest.mark.parametrize("place", PLACES)
def test_the_interpreter_ends_a_thread_wherever_it_is_in_python(place):
    loops = f"class Loops(Controller):\n{PLACES[place]}\ndef simulate():"
    head = PROGRAM.format(body="pass", options={}).replace("started.set()", "pass")
    program = head.replace("[Controller] * 3", "[Loops] * 3").replace("def simulate():", loops) + DAEMON
    program += "import atexit\natexit._clear()\n"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=PATIENCE)
    assert (done.returncode, done.stdout, done.stderr) == (0, "over\n", "")


def test_an_exit_handler_of_the_program_may_still_simulate():
    rest = DAEMON + (
        "import atexit\n"
        "def last():\n"
        "    path = ackclock.Path('10mbit', '40ms', '84p')\n"
        "    print(ackclock.simulate(path, [Controller], duration='1s').flows.num_rows)\n"
        "import atexit\n"
        "atexit.register(last)\n"
    )
    assert outcome("ordinary", rest) == (0, "over\n1\n", "")


MIXED = ackclock.Scenario(path=LOSSY, flows=[ackclock.Flow(NewReno), ackclock.Flow("cubic")], duration="5s")


def simulated(seed):
    return ackclock.simulate(MIXED, seed=seed)


def test_runs_in_several_threads_and_in_a_pool_are_those_of_one():
    alone = {seed: simulated(seed).flow_series for seed in range(1, 7)}
    found = {}
    threads = [
        threading.Thread(target=lambda seed=seed: found.update({seed: simulated(seed).flow_series}))
        for seed in alone
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert found.keys() == alone.keys()
    assert all(found[seed].equals(alone[seed]) for seed in alone)
    pool = ackclock.simulate(MIXED, seed=1, repeat=6, threads=3)
    assert all(run.flow_series.equals(alone[run.seed]) for run in pool)


def test_a_run_inside_an_event_of_another_goes_through():
    class Nested(Fixed):
        inner = None

        def on_ack(self, cx, ack):
            if Nested.inner is None:
                Nested.inner = simulated(1)

    ackclock.simulate(LOSSY, [Nested], duration="1s")
    assert Nested.inner.flow_series.equals(simulated(1).flow_series)


def test_what_a_controller_stores_does_not_change():
    stored = []

    class Storing(Fixed):
        def on_ack(self, cx, ack):
            if len(stored) < 200 and ack.delivered % 3:
                stored.append((cx, ack, cx.now, ack.delivered))

        def on_duplicate_ack(self, cx, ack):
            self.on_ack(cx, ack)

    ackclock.simulate(LOSSY, [ackclock.Flow(Storing, count=2)], duration="5s")
    assert len(stored) == 200
    assert [(cx.now, ack.delivered) for cx, ack, _, _ in stored] == [tuple(one[2:]) for one in stored]


def test_pauses_hide_acks_and_totals_count_on():
    shown = []

    class Resting(Fixed):
        wants = ("pauses",)

        def on_ack(self, cx, ack):
            shown.append((cx.now, ack.delivered))
            self.pause_until = cx.now + 0.5 if len(shown) > 1 else None

    run = ackclock.simulate(ackclock.Path("10mbit", "40ms", "84p"), [Resting], duration="10s")
    times = [at for at, _ in shown]
    assert len(shown) == pytest.approx(20, abs=2)
    assert all(later - earlier >= 0.5 for earlier, later in pairwise(times[1:]))
    # Ten segments a round trip of 41.2 ms: hidden ACKs are counted.
    assert shown[-1][1] > 0.9 * run.flows["data_packets"][0].as_py()


def test_a_pause_until_no_time_is_refused():
    class Wrong(Fixed):
        wants = ("pauses",)
        pause_until = float("nan")

    with pytest.raises(ValueError, match=r"Wrong\.pause_until is NaN: allowed is a time in seconds, or None"):
        ackclock.simulate(LOSSY, [Wrong], duration="1s")


def test_the_reader_of_a_capture_may_be_a_thread_of_the_same_program(tmp_path):
    pipe = tmp_path / "capture"
    os.mkfifo(pipe)
    sizes = []

    def read():
        with pipe.open("rb") as file:
            while block := file.read(4096):
                # Slower than the run: it has to wait for this thread, which needs the interpreter.
                sizes.append(len(bytes(sorted(block))))

    thread = threading.Thread(target=read)
    thread.start()
    scenario = ackclock.Scenario(path=LOSSY, flows=[ackclock.Flow(NewReno)], duration="5s")
    plan, factories = scenario.compiled()
    batch = _engine.Batch([(plan, 1)], controllers=factories, pcap=[str(pipe)])
    assert batch.next() is not None
    thread.join()
    assert sum(sizes) > 100_000


def test_attributes_of_a_class_and_properties_are_read():
    class Described(Fixed):
        pacing_rate = 2e6

        @property
        def slow_start_threshold(self):
            return 7.0

    scenario = ackclock.Scenario(
        path=LOSSY, flows=[ackclock.Flow(Described, {"segments": 50.0})], duration="5s"
    )
    run = ackclock.simulate(scenario)
    # The first row is of the SYN.
    assert set(run.flow_series["threshold_segments"].to_pylist()[1:]) == {7.0}
    assert run.flows["goodput_bps"][0].as_py() == pytest.approx(2e6, rel=0.05)
