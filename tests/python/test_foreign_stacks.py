"""QUIC stacks that are not built in: quiche, which asks for the time, those in C, ngtcp2 and picoquic."""

import json
import os
import shutil
import sys
from dataclasses import dataclass
from pathlib import Path

import pytest

import ackclock
from ackclock import _engine
from calling import run

QUICHE = next(Path.home().glob(".cargo/registry/src/*/quiche-0.30.0"), None)

pytestmark = [
    pytest.mark.skipif("quic" not in _engine.engines(), reason="built without QUIC"),
    pytest.mark.skipif(sys.platform != "linux", reason="stacks in shared objects need Linux"),
]
in_c = pytest.mark.skipif(
    shutil.which("cc") is None or shutil.which("make") is None, reason="there is no cc or no make"
)
in_quiche = pytest.mark.skipif(
    os.environ.get("QUICHE", "0") in ("", "0"), reason="BoringSSL takes minutes to compile: QUICHE=1 runs it"
)


@dataclass(frozen=True)
class Project:
    """A stack in C of others, whose checkout the variable of its name has."""

    name: str
    controllers: tuple[str, ...]
    file: str
    """The file with a reduction, and a fault in it."""
    before: str
    after: str

    @property
    def checkout(self):
        return os.environ.get(self.name.upper(), "")


PROJECTS = (
    Project(
        "ngtcp2", ("reno", "cubic", "bbr"), "lib/ngtcp2_cc.c",
        "cstat->cwnd >>= NGTCP2_LOSS_REDUCTION_FACTOR_BITS;", "",
    ),
    Project(
        "picoquic", ("newreno", "cubic", "bbr"), "picoquic/newreno.c",
        "nr_state->ssthresh = nr_state->cwin / 2;", "nr_state->ssthresh = nr_state->cwin;",
    ),
)  # fmt: skip
of_projects = pytest.mark.parametrize(
    "project",
    [
        pytest.param(
            one,
            id=one.name,
            marks=pytest.mark.skipif(
                not one.checkout, reason=f"{one.name.upper()}=FOLDER names a checkout of {one.name}"
            ),
        )
        for one in PROJECTS
    ],
)


@pytest.fixture(autouse=True)
def folder(tmp_path, monkeypatch):
    """An empty current folder."""
    monkeypatch.chdir(tmp_path)
    return tmp_path


def tables(cc, loss=0.005, **options):
    """A run of 10 s over 10 Mbit/s and 40 ms."""
    path = ackclock.Path("10mbit", "40ms", "1bdp", loss=loss)
    flow = ackclock.Flow(cc=cc, name="flow")
    return ackclock.simulate(path, [flow], duration="10s", engine="quic", **options)


def assert_repaired(run, extra):
    """Every packet that the link lost or dropped is sent again, and a few more."""
    [row], [link] = run.flows.to_pylist(), run.links.to_pylist()
    gone = link["dropped_packets"] + link["lost_packets"]
    # The last ones may not be known yet.
    assert 0 < gone - 10 <= row["retransmitted_packets"] <= (1 + extra) * gone + 5


def assert_in_time(cc, least, extra=0.0, **options):
    """A run has the clock of the run and carries `least` bit/s, and a second one has the same rows."""
    first = tables(cc, **options)
    [row] = first.flows.to_pylist()
    assert row["profile"] == cc.partition(":")[0]
    # No RTT is below the RTT of the path.
    assert 40 <= row["rtt_min_ms"] < 42
    assert_repaired(first, extra)
    assert row["delivered_bytes"] * 8 / 10 > least
    assert first.flow_series.equals(tables(cc, **options).flow_series)


def flows_of(capsys, flows, duration="20s", engine="quic"):
    """The flows of a run over 10 Mbit/s and 40 ms by the command line."""
    Path("flows.toml").write_text(
        f'duration = "{duration}"\npath = {{ rate = "10mbit", rtt = "40ms", queue = "1bdp" }}\n'
        f"flows = [{flows}]\n"
    )
    status, out, err = run(capsys, "run", "flows.toml", "--engine", engine, "--json")
    assert status == 0, err
    [found] = json.loads(out)["runs"]
    return found["flows"]


def checked(capsys, target, *options):
    """The cases of a check that failed."""
    status, out, err = run(capsys, "check", target, "--json", *options)
    assert status in (0, 1), err
    return {one["id"] for one in json.loads(out)["check"]["cases"] if one["verdict"] == "fail"}


@pytest.fixture
def mine(capsys, folder):
    """The folder of a new stack in C."""
    assert run(capsys, "new", "stack", "mine")[0] == 0
    return folder / "mine"


@in_c
def test_a_new_stack_in_c_carries_what_its_controller_allows(mine):
    lossless = tables("c:newreno", loss=0, c=str(mine))
    [row] = lossless.flows.to_pylist()
    assert row["profile"] == "c"
    # 10 Mbit/s of IP packets of 1500 bytes with 62 bytes of headers.
    assert row["delivered_bytes"] * 8 / 10 > 0.9 * 10e6 * 1438 / 1500
    lossy = tables("c:newreno", c=str(mine))
    assert_repaired(lossy, extra=0)
    assert lossy.flow_series.equals(tables("c:newreno", c=str(mine)).flow_series)


@in_c
def test_a_stack_in_c_passes_laws_and_a_planted_fault_is_found(capsys, mine):
    only = (
        "--engine",
        f"quic:c={mine}",
        "--only",
        "after-outage,answers-loss,after-loss,application,idle",
    )
    assert checked(capsys, "c:newreno", *only) == set()
    source = mine / "stack.c"
    text = source.read_text()
    planted = text.replace("side->threshold = side->window / 2;", "side->threshold = side->window;")
    assert planted != text
    source.write_text(planted)
    assert "answers-loss" in {one.partition("/")[0] for one in checked(capsys, "c:newreno", *only)}


@in_c
def test_datagrams_and_pages_run_over_a_stack_in_c(capsys, mine):
    both = (
        '{ cc = "c:newreno", kind = "datagram", source = { rate = "1mbit" } },'
        ' { cc = "c:newreno", bytes = "100kB" }'
    )
    media, file = flows_of(capsys, both, "5s", f"quic:c={mine}")
    assert 0.9e6 < media["goodput_bps"] < 1e6
    assert file["data_packets"] == 70


@in_c
def test_a_stack_in_c_that_cannot_run_is_said_in_one_sentence(capsys, mine):
    def refused(target="c:newreno", engine=f"quic:c={mine}"):
        status, _, err = run(capsys, "compare", target, "--engine", engine, "--duration", "1s")
        assert status != 0
        return err.splitlines()[-1]

    assert refused("c:mine").endswith("mine` has the controller `newreno` alone")
    assert "whose folder `--engine quic:c=FOLDER` names" in refused(engine="quic")
    Path("mine.rs").touch()
    assert "a stack in C takes no controller from outside" in refused("c:./mine.rs:Mine")
    assert "cannot be read" in refused(engine="quic:c=none")
    (mine / "stack.c").write_text("int none\n")
    assert "mine` does not compile: stack.c:1:" in refused()
    (mine / "stack.c").write_text("int none;\n")
    assert refused().endswith("mine` has no stack")


def adapted(capsys, folder, checkout):
    """The folder of an adapter of a checkout."""
    status, _, err = run(capsys, "new", "stack", "adapter", "--from", str(checkout))
    assert status == 0, err
    return folder / "adapter"


@in_c
@of_projects
def test_a_stack_of_others_runs_its_own_controllers_in_the_time_of_the_run(capsys, folder, project):
    adapter = adapted(capsys, folder, project.checkout)
    for name in project.controllers:
        assert_in_time(f"c:{name}", 3e6, c=str(adapter))


@in_c
@of_projects
def test_a_stack_of_others_takes_turns_with_noq_and_writes_pages_and_datagrams(capsys, folder, project):
    adapter = adapted(capsys, folder, project.checkout)
    flows = (
        '{ cc = "c:cubic" }, { cc = "noq:cubic" },'
        ' { cc = "c:cubic", kind = "datagram", source = { rate = "1mbit" } },'
        ' { cc = "c:cubic", bytes = "100kB" }'
    )
    own, noq, media, file = flows_of(capsys, flows, engine=f"quic:c={adapter}")
    assert min(own["goodput_bps"], noq["goodput_bps"]) > 2e6
    assert 0.8e6 < media["goodput_bps"] < 1e6
    assert file["delivered_bytes"] == 100_000


@in_c
@of_projects
def test_a_fault_in_a_changed_copy_of_a_stack_of_others_is_found(capsys, folder, project):
    checkout = Path(project.checkout)
    copy = folder / project.name
    shutil.copytree(checkout, copy, ignore=shutil.ignore_patterns(".git"))
    if project.name == "picoquic":
        (folder / "picotls").symlink_to(checkout.resolve().parent / "picotls")
    only = (
        "--engine",
        f"quic:c={adapted(capsys, folder, copy)}",
        "--only",
        "decrease,one-reduction,answers-loss",
    )
    reno = f"c:{project.controllers[0]}"
    assert checked(capsys, reno, *only) == set()
    source = copy / project.file
    text = source.read_text()
    planted = text.replace(project.before, project.after)
    assert planted != text
    source.write_text(planted)
    assert checked(capsys, reno, *only) != set()


def test_a_folder_without_a_stack_is_refused(capsys, folder):
    status, _, err = run(capsys, "new", "stack", "adapter", "--from", str(folder))
    assert status != 0
    assert "is no checkout of ngtcp2 or picoquic" in err
    spaced = folder / "two words" / "lib" / "includes" / "ngtcp2"
    spaced.mkdir(parents=True)
    (spaced / "ngtcp2.h").touch()
    status, _, err = run(capsys, "new", "stack", "adapter", "--from", "two words")
    assert status != 0
    assert "`make` takes no path with spaces" in err
    alone = folder / "alone" / "picoquic" / "picoquic"
    alone.mkdir(parents=True)
    (alone / "picoquic_internal.h").touch()
    status, _, err = run(capsys, "new", "stack", "adapter", "--from", "alone/picoquic")
    assert status != 0
    assert "needs a checkout of picotls beside it" in err
    assert not (folder / "adapter").exists()


@in_quiche
@pytest.mark.parametrize("name", ["reno", "cubic", "bbr2_gcongestion"])
def test_quiche_runs_its_own_controllers_in_the_time_of_the_run(name):
    assert_in_time(f"quiche:{name}", 2e6, extra=0.2)


@in_quiche
def test_quiche_takes_turns_with_noq_and_writes_pages_and_datagrams(capsys):
    flows = (
        '{ cc = "quiche:cubic" }, { cc = "noq:cubic" },'
        ' { cc = "quiche:cubic", kind = "datagram", source = { rate = "1mbit" } }'
    )
    quiche, noq, media = flows_of(capsys, flows)
    assert quiche["goodput_bps"] + noq["goodput_bps"] > 8e6
    assert min(quiche["goodput_bps"], noq["goodput_bps"]) > 2e6
    assert 0.8e6 < media["goodput_bps"] < 1e6


@in_quiche
@pytest.mark.skipif(QUICHE is None, reason="the sources of quiche are not in Cargo's registry")
def test_a_changed_copy_of_quiche_runs_in_its_place(folder):
    shutil.copytree(QUICHE, folder / "quiche")
    recovery = folder / "quiche" / "src" / "recovery" / "mod.rs"
    text = recovery.read_text()
    assert "const LOSS_REDUCTION_FACTOR: f64 = 0.5;" in text
    recovery.write_text(text.replace("FACTOR: f64 = 0.5;", "FACTOR: f64 = 0.98;"))
    planted = tables("quiche:reno", quiche="quiche").flows
    own = tables("quiche:reno").flows
    assert planted["delivered_bytes"][0].as_py() > 1.5 * own["delivered_bytes"][0].as_py()
