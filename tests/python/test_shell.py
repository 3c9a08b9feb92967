"""Programs across an emulated path: the log of its queue, users who are not root, and the terminal."""

import json
import os
import pty
import select
import shlex
import shutil
import subprocess
import sys
import tempfile
import time
from collections import Counter
from contextlib import suppress
from pathlib import Path

import pytest

from ackclock import _engine
from ackclock.cli import main
from ackclock.descriptors import is_ready
from ackclock.result import Run
from calling import ENDED, PATIENCE, refused
from test_live import ATTEMPTS

pytestmark = pytest.mark.usefixtures("live")

SEND = (
    "import socket\n"
    "near = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)\n"
    "for _ in range(100): near.sendto(b'x' * 1472, ('10.0.0.2', 9))\n"
)
"""100 packets of 1500 bytes at once: 20 wait, one is sent, the rest is dropped.

A busy machine may keep the sender waiting between two of them, so tests that count drops have a slow link.
"""

ACKCLOCK = [sys.executable, "-c", "import sys; from ackclock.cli import main; sys.exit(main())"]


def resolved(**path):
    document = {
        "name": "shell",
        "duration": "60s",
        "path": {"rate": "10mbit", "rtt": "20ms", "queue": "20p"} | path,
        "flows": [{"cc": "newreno"}],
    }
    return _engine.resolve_json(json.dumps(document), [])


def logged(tmp_path, resolved, lasting=0.3):
    """The fields of the log of one burst, line by line, drops among them, and the row of the link.

    The shell lasts so many seconds longer.
    """
    log = tmp_path / "queue.log"
    command = [sys.executable, "-c", SEND + f"import time; time.sleep({lasting})"]
    status, ran, failed = _engine.shell(resolved, 1, command, [], log)
    assert (status, failed) == (0, [None, None])
    lines = log.read_text().splitlines()
    head = lines.index("# base timestamp: 0") + 1
    assert all(line.startswith("# ") for line in lines[:head])
    (row,) = Run.from_engine(ran, resolved, 1).links.to_pylist()
    return [line.removeprefix("# ").split() for line in lines[head:]], row


def test_both_ends_have_the_settings_of_the_machine_unless_asked():
    machine = Path("/proc/sys/net/ipv4")
    names = ("tcp_rmem", "tcp_wmem", "tcp_timestamps")
    code = f"from pathlib import Path; print([Path('{machine}', n).read_text().split() for n in {names}])"
    here = [(machine / name).read_text().split() for name in names]
    other = "0" if here[2] == ["1"] else "1"
    for asked in ([], ["--set", f"flows.0.transport.timestamps={'true' if other == '1' else 'false'}"]):
        done = subprocess.run(
            [*ACKCLOCK, "shell", *asked, "--", sys.executable, "-c", code],
            capture_output=True,
            text=True,
            check=False,
            timeout=PATIENCE,
        )
        assert done.returncode in ENDED, done.stderr
        expected = here if not asked else [*here[:2], [other]]
        assert done.stdout == f"{expected}\n"
        said = f"both ends had tcp_timestamps={other}, unlike this host"
        assert (said in done.stderr) == bool(asked)


def test_the_log_agrees_with_the_counters_of_the_link(tmp_path):
    lines, row = logged(tmp_path, resolved(rate="1mbit"), lasting=0.5)
    count = Counter(kind for _, kind, *_ in lines if kind != "#")
    assert row["arrived_packets"] >= 100
    assert row["dropped_packets"] > 50
    assert count == {
        "+": row["arrived_packets"],
        "-": row["departed_packets"],
        "d": row["dropped_packets"],
    }
    times = [int(line[0]) for line in lines]
    assert times == sorted(times)
    assert sum(int(size) for _, kind, size, *_ in lines if kind == "-") == row["departed_bytes"]
    # 1 Mbit/s are 125 bytes a millisecond.
    assert {size for _, kind, size, *_ in lines if kind == "#"} == {"125"}
    # 12 ms each. The last of those that wait leaves after 20 to 21 of them, rounded down.
    delays = [int(line[3]) for line in lines if line[1] == "-"]
    assert 240 <= max(delays) <= 253
    assert all(line[2] == "1" for line in lines if line[1] == "d")


def test_the_log_of_a_trace_has_its_opportunities(tmp_path):
    trace = tmp_path / "link.trace"
    trace.write_text("3\n10\n")
    lines, row = logged(tmp_path, resolved(rate={"trace": str(trace)}))
    opportunities = [int(at) for at, kind, *_ in lines if kind == "#"]
    assert opportunities[:4] == [3, 10, 13, 20]
    departures = [int(at) for at, kind, size, *_ in lines if (kind, size) == ("-", "1500")]
    assert len(departures) == row["departed_packets"]
    assert set(departures) <= set(opportunities)


def test_what_is_lost_at_random_never_reaches_the_queue(tmp_path):
    lines, row = logged(tmp_path, resolved(loss="50%", queue="infinite"))
    assert row["lost_packets"] > 20
    count = Counter(kind for _, kind, *_ in lines)
    assert count["+"] == row["arrived_packets"] - row["lost_packets"]
    assert count["d"] == 0


def test_a_log_that_cannot_be_written_is_one_sentence(capfd, tmp_path):
    assert "missing" in refused(capfd, "shell", "--log", tmp_path / "missing" / "log", "--", "true")
    # The command runs on, and its status is kept unless it is 0.
    for command, status in (("true", 2), ("exit 7", 7)):
        assert main(["shell", "--log", "/dev/full", "--", "sh", "-c", f"echo done; {command}"]) == status
        out, err = capfd.readouterr()
        assert out == "done\n"
        (said,) = (line for line in err.splitlines() if not line.startswith("warning: "))
        assert said.startswith("ackclock: --log /dev/full: it is not whole: No space left on device")


def test_a_server_at_the_far_end_is_waited_for(capfd):
    server = (
        "import socket, sys, time\n"
        "time.sleep(0.5)\n"
        "listener = socket.create_server(('10.0.0.2', 80))\n"
        "print(time.monotonic(), file=sys.stderr)\n"
        "listener.accept()[0].sendall(b'served')\n"
        "time.sleep(600)"
    )
    client = "import socket; print(socket.create_connection(('10.0.0.2', 80)).recv(100))"
    # Without the libraries of a program for the user, both start soon.
    python = [sys.executable, "-I", "-S", "-c"]
    far, near = shlex.join([*python, server]), [*python, client]
    for _ in range(ATTEMPTS):
        begun = time.monotonic()
        status = main(["shell", "--far", far, "--", *near])
        out, err = capfd.readouterr()
        # A server that listens only after two seconds is not waited for.
        listening = [float(line) for line in err.splitlines() if line.replace(".", "").isdigit()]
        if listening and listening[0] - begun < 2:
            assert (status in ENDED, out) == (True, "b'served'\n")
            return
    pytest.skip("on this machine a server does not start within two seconds")


def test_a_failed_connection_prints_how_to_start_a_server(capfd):
    hint = "nobody answered at the far end"
    client = f"{sys.executable} -c \"import socket; socket.create_connection(('10.0.0.2', 80))\""
    assert main(["shell", "--", "sh", "-c", f"{client} 2>/dev/null"]) == 1
    assert hint in capfd.readouterr().err
    assert main(["shell", "--", "sh", "-c", "exit 1"]) == 1
    assert hint not in capfd.readouterr().err
    assert main(["shell", "--", "sh", "-c", f"{client} 2>/dev/null; true"]) in ENDED
    assert hint not in capfd.readouterr().err


def test_a_command_sees_its_own_processes_alone(capfd):
    """The numbers in /proc are those that the command starts under: a few, and its own among them."""
    own = (
        "import os\n"
        "print(os.readlink('/proc/self') == str(os.getpid()), sum(map(str.isdigit, os.listdir('/proc'))))"
    )
    assert main(["shell", "--", sys.executable, "-c", own]) in ENDED
    same, processes = capfd.readouterr().out.split()
    assert (same, int(processes) <= 3) == ("True", True)


def test_both_ends_have_names_that_nobody_else_sees(tmp_path):
    hosts, temporary = Path("/etc/hosts").read_text(), {path.name for path in Path("/tmp").iterdir()}
    lookup = (
        "import socket, sys\n"
        "with open(sys.argv[1], 'w') as found:\n"
        "    print([socket.gethostbyname(name) for name in sys.argv[2:]], file=found)\n"
    )
    near, far = tmp_path / "near", tmp_path / "far"
    words = [sys.executable, "-c", lookup]
    look_up = shlex.join([*words, str(near), "near", "server"])
    wait = f"until [ -s {far} ]; do sleep 0.01; done; exec {look_up}"
    base = "echo $MAHIMAHI_BASE > base"
    command = ["sh", "-c", f"cd {tmp_path}; {base}; ls /tmp > there; {wait}"]
    status, _, _ = _engine.shell(resolved(), 1, command, [*words, str(far), "far", "near", "localhost"])
    assert status == 0
    assert near.read_text() == "['10.0.0.1', '10.0.0.2']\n"
    assert far.read_text() == "['10.0.0.2', '10.0.0.1', '127.0.0.1']\n"
    assert (tmp_path / "base").read_text() == "10.0.0.2\n"
    # The folder that was covered for a moment is as it was.
    assert temporary & set((tmp_path / "there").read_text().split("\n"))
    assert Path("/etc/hosts").read_text() == hosts


def test_users_without_root_have_a_shell_as_well():
    for tool in ("setpriv", "unshare", "mount", "mknod"):
        if os.geteuid() != 0 or shutil.which(tool) is None:
            pytest.skip(f"becoming nobody needs root and {tool}")
    # In a mount namespace of its own there is a device that all may use, as on most machines.
    script = (
        "mount -t tmpfs none /dev/net && mknod -m 666 /dev/net/tun c 10 200 && cd / && "
        'exec setpriv --reuid 65534 --regid 65534 --clear-groups "$@"'
    )
    nobody = ["unshare", "--mount", "sh", "-c", script, "sh"]
    if subprocess.run([*nobody, "unshare", "-Urn", "true"], capture_output=True).returncode != 0:
        pytest.skip("users may not make namespaces here")
    if subprocess.run([*nobody, *ACKCLOCK, "--version"], capture_output=True).returncode != 0:
        pytest.skip("nobody may not read this installation")
    command = ["bash", "-c", "for i in {1..100}; do echo > /dev/udp/far/9; done; sleep 1; id -u; exit 7"]
    with tempfile.TemporaryDirectory() as folder:
        log = Path(folder) / "queue.log"
        log.parent.chmod(0o777)
        shell = [*ACKCLOCK, "shell", "--rtt", "20ms", "--log", log, "--meter", "--", *command]
        ran = subprocess.run([*nobody, *shell], capture_output=True, text=True, timeout=PATIENCE)
        assert (ran.returncode, ran.stdout) == (7, "0\n"), ran.stderr
        assert "bottleneck" in ran.stderr
        # An empty line, with 28 bytes of headers.
        assert log.read_text().count(" + 29\n") == 100
        assert log.stat().st_uid == 65534


class Terminal:
    """A program at a terminal of its own."""

    def __init__(self, arguments):
        self.process, self.descriptor = pty.fork()
        if self.process == 0:
            os.execvp(arguments[0], arguments)

    def type(self, text):
        os.write(self.descriptor, text.encode())

    def read_until(self, text):
        """The output up to the first `text`."""
        shown, end = "", time.monotonic() + PATIENCE
        while text not in shown:
            assert is_ready(self.descriptor, select.POLLIN, end - time.monotonic()), shown
            shown += os.read(self.descriptor, 4096).decode(errors="replace")
        return shown

    def status(self):
        """Its exit status, when it has ended."""
        with suppress(OSError):
            # The terminal of a program that has ended is an error to read from.
            while os.read(self.descriptor, 4096):
                pass
        os.close(self.descriptor)
        return os.waitstatus_to_exitcode(os.waitpid(self.process, 0)[1])


def test_an_interrupt_from_the_terminal_reaches_the_command():
    script = "trap 'echo caught; exit 5' INT; echo ready; while :; do sleep 0.1; done"
    terminal = Terminal([*ACKCLOCK, "shell", "--", "sh", "-c", script])
    terminal.read_until("ready\r\n")
    terminal.type("\x03")
    terminal.read_until("caught")
    assert terminal.status() == 5


def test_an_interactive_shell_has_the_terminal_and_gives_it_back():
    inner = shlex.join([*ACKCLOCK, "shell", "--", "bash", "--norc", "--noprofile", "-i"])
    terminal = Terminal(["sh", "-c", f"{inner}; echo left $?; read answer; echo got $answer"])
    terminal.type("PS1='at$((1))$ '\n")
    shown = terminal.read_until("at1$ ")
    assert "no job control" not in shown
    terminal.type("echo under way; sleep 60\n")
    terminal.read_until("under way\r\n")
    time.sleep(0.2)
    terminal.type("\x03")
    terminal.read_until("at1$ ")
    terminal.type("echo status $?\n")
    terminal.read_until("status 130")
    terminal.type("exit 9\n")
    terminal.read_until("left 9")
    terminal.type("yes\n")
    terminal.read_until("got yes")
    assert terminal.status() == 0


@pytest.mark.skipif(shutil.which("ip") is None, reason="needs `ip` to remove the device")
def test_a_removed_device_spoils_the_run_and_takes_no_cpu():
    scenario = resolved()
    command = ["sh", "-c", "ip link del path && sleep 2"]
    status, ran, _ = _engine.shell(scenario, 1, command, [], None)
    run = Run.from_engine(ran, scenario, 1)
    assert (status, run.valid, run.engine["drops_outside"]) == (0, False, 1)
    assert run.engine["emulator_cpu_s"] < 1


def test_a_session_is_written_and_printed_as_json(tmp_path):
    command = [*ACKCLOCK, "shell", "--queue", "20p", "--out", str(tmp_path / "out"), "--json", "--"]
    program = [sys.executable, "-c", SEND + "import time; time.sleep(0.5); print('said')"]
    ran = subprocess.run([*command, *program], capture_output=True, text=True, check=False)
    assert ran.returncode in ENDED, ran.stderr
    assert "said" in ran.stderr
    (printed,) = json.loads(ran.stdout)["runs"]
    link = Run.load(tmp_path / "out").links.to_pylist()[0]
    assert link["arrived_packets"] >= 100
    # One packet is sent at once, twenty wait. At 10 Mbit/s few of the others find room.
    assert printed["links"][0]["dropped_packets"] == link["dropped_packets"] > 0
    assert {file.name for file in (tmp_path / "out").iterdir()} >= {"index.html", "link.png", "summary.json"}
    assert "packets to the far end: " in (tmp_path / "out/index.html").read_text()


def test_a_session_in_which_nothing_crosses_the_queue_is_written(tmp_path):
    command = [*ACKCLOCK, "shell", "--out", str(tmp_path / "out"), "--", "true"]
    ran = subprocess.run(command, capture_output=True, text=True, check=False)
    assert ran.returncode in ENDED, ran.stderr
    assert Run.load(tmp_path / "out").links["arrived_packets"].to_pylist()[0] == 0
    assert "no packet crossed the queue" in (tmp_path / "out/index.html").read_text()


def test_the_devices_of_the_machine_are_not_seen(capfd):
    names = "for file in /sys/class/net/*; do basename $file; done; echo"
    names += "; tail -n +3 /proc/net/dev | cut -d: -f1"
    status = main(["shell", "--", "sh", "-c", f"{names}; ls /sys/class/net/lo/mtu /sys/fs /sys/kernel"])
    shown, _, rest = capfd.readouterr().out.partition("\n\n")
    assert status in ENDED
    assert sorted(shown.split()) == sorted(rest.split("/sys")[0].split())
    assert "/sys/class/net/lo/mtu" in rest
