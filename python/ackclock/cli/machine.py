"""``ackclock show machine``: the state of this machine for live runs, kernel controllers and captures."""

from __future__ import annotations

import importlib.util
import os
import platform
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from rich.table import Table
from rich.text import Text

from ackclock import _engine
from ackclock.cli import output
from ackclock.cli.command import command
from ackclock.cli.options import JSON

CAP_SYS_ADMIN, CAP_SYS_NICE = 21, 23
CAPABILITIES = (("CAP_BPF", 39), ("CAP_PERFMON", 38), ("CAP_NET_ADMIN", 12))
"""The capabilities for loading a controller, with their numbers."""
SINCE = (6, 4)
"""The first Linux on which our controllers load into the kernel."""
IN_SOURCES = "in the sources of ackclock"
"""Where ``make`` runs. A wheel has no Makefile."""


class Requirement(NamedTuple):
    """One requirement and its state."""

    purpose: str
    what: str
    there: bool
    remedy: str
    """The remedy where it is missing."""


@command(JSON)
def machine(as_json: bool) -> None:
    """List the needs of live runs, kernel controllers and captures, and which of them this machine lacks.

    The simulator needs nothing of it. Example: `ackclock show machine`
    """
    found = list(findings())
    if as_json:
        output.print_json({"version": _engine.version(), "findings": [one._asdict() for one in found]})
        return
    table = Table(
        "for", "needs", "here", "what to do", title=f"ackclock {_engine.version()}", title_justify="left"
    )
    before = ""
    for one in found:
        here = Text("yes", "green") if one.there else Text("no", "bold red")
        table.add_row(
            one.purpose if one.purpose != before else "", one.what, here, "" if one.there else one.remedy
        )
        before = one.purpose
    output.show(table, as_json=False)


def findings() -> Iterator[Requirement]:
    """All requirements, in the order in which they are shown."""
    yield Requirement("simulation", "nothing besides ackclock", True, "")
    yield Requirement("QUIC", "built in", "quic" in _engine.engines(), f"`make build QUIC=1` {IN_SOURCES}")
    yield Requirement(
        "QUIC", "the log of the stack (qlog)", _engine.has_qlog(), f"`make build QLOG=1` {IN_SOURCES}"
    )
    yield from _live()
    yield from _kernel()
    yield from _virtual_time()
    clang, cargo, tshark = (shutil.which(name) is not None for name in ("clang", "cargo", "tshark"))
    yield Requirement("controllers in C", "clang", clang, "apt install clang")
    yield Requirement("controllers in Rust", "cargo", cargo, "install Rust, by rustup")
    yield Requirement("captures", "tshark, to read them", tshark, "apt install tshark")
    for purpose, module, package in (
        ("draws of sweeps", "scipy", "scipy"),
        ("sweeps on a cluster", "distributed", "'dask[distributed]'"),
        ("learning", "gymnasium", "gymnasium"),
        ("controllers of captures", "sklearn", "scikit-learn"),
        ("polars frames", "polars", "polars"),
    ):
        there = importlib.util.find_spec(module) is not None
        yield Requirement(purpose, module, there, f"python -m pip install {package}")


def _live() -> Iterator[Requirement]:
    """The requirements of live runs."""
    # Systems other than Linux do not say which cores a process may use.
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    spaces = _may(CAP_SYS_ADMIN) or _users_may_make_namespaces()
    looked = (
        (
            "built in",
            "live" in _engine.engines(),
            f"apt install clang pkg-config libelf-dev zlib1g-dev; `make build` {IN_SOURCES}",
        ),
        ("Linux", platform.system() == "Linux", "live runs are of the kernel's TCP on Linux"),
        ("/dev/net/tun", Path("/dev/net/tun").exists(), "modprobe tun, or give the container the device"),
        ("network namespaces", spaces, "be root, or sysctl kernel.unprivileged_userns_clone=1"),
        ("real-time priority", _may_be_real_time(), "be root, or raise `ulimit -r`: less punctual without"),
        ("two cores or more", cores >= 2, f"there is {cores}: deliveries will be late"),
    )
    yield from (Requirement("live runs", *one) for one in looked)


def _kernel() -> Iterator[Requirement]:
    """The requirements of controllers in the kernel."""
    release = platform.release()
    version = tuple(int(part) for part in release.split("-")[0].split(".")[:2] if part.isdigit())
    types = Path("/sys/kernel/btf/vmlinux").exists()
    headers = Path("/usr/include/bpf/bpf_helpers.h").exists()
    looked = (
        ("Linux 6.4 or later", version >= SINCE, f"this is {release}"),
        ("types of the kernel (BTF)", types, "a kernel with CONFIG_DEBUG_INFO_BTF"),
        ("headers of libbpf, for C in its style", headers, "apt install libbpf-dev"),
        *((name, _may(number), "be root, or grant the capability") for name, number in CAPABILITIES),
    )
    yield from (Requirement("kernel controllers", *one) for one in looked)


def _virtual_time() -> Iterator[Requirement]:
    """The requirements of kernels in virtual time."""
    from ackclock.uml import kernels, sources

    purpose, known = "kernels in virtual time", kernels.built()
    missing = sources.missing_tools()
    package = f"apt install {sources.PACKAGE}, or name a tree of your own"
    yield Requirement(purpose, ", ".join(sources.TOOLS), not missing, f"install {', '.join(missing)}")
    yield Requirement(purpose, "sources of Linux", bool(known or sources.archives()), package)
    built = f": {', '.join(one.release for one in known)}" if known else ""
    yield Requirement(purpose, f"a kernel that is built{built}", bool(known), kernels.BUILD)


def _may(capability: int) -> bool:
    """True if this process has a capability."""
    return _field("/proc/self/status", "CapEff:", lambda text: bool(int(text, 16) >> capability & 1))


def _field(file: str, name: str, found: Callable[[str], bool]) -> bool:
    try:
        lines = Path(file).read_text("utf-8").splitlines()
    except OSError:
        return False
    return any(found(line.removeprefix(name).strip()) for line in lines if line.startswith(name))


def _users_may_make_namespaces() -> bool:
    try:
        most = int(Path("/proc/sys/user/max_user_namespaces").read_text("utf-8"))
    except (OSError, ValueError):
        return False
    clone = Path("/proc/sys/kernel/unprivileged_userns_clone")
    return most > 0 and (not clone.exists() or clone.read_text("utf-8").strip() == "1")


def _may_be_real_time() -> bool:
    if _may(CAP_SYS_NICE):
        return True
    try:
        import resource
    except ImportError:
        return False
    return resource.getrlimit(resource.RLIMIT_RTPRIO)[0] > 0
