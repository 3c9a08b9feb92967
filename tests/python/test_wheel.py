"""The wheel: built from the sdist, installed into an empty environment, it runs the README's first example.

The build takes minutes. It skips if Zig cannot be had.
"""

import json
import os
import re
import shlex
import shutil
import subprocess
import sys
import zipfile
from pathlib import Path

import pytest

from ackclock.uml import recipe
from ackclock.uml.kernels import Kernel
from licences import linked

ROOT = Path(__file__).resolve().parents[2]
QUICK = {"LTO": "off", "DEBUG": "0", "CODEGEN_UNITS": "16"}
"""The profile of this build: the code is the same, only slower."""


@pytest.fixture(scope="module")
def wheel(tmp_path_factory):
    """The file that `make wheel` writes."""
    if sys.platform != "linux" or shutil.which("make") is None:
        pytest.skip("wheels are built on Linux, with make")
    folder = tmp_path_factory.mktemp("wheels")
    variables = os.environ | {f"CARGO_PROFILE_RELEASE_{key}": value for key, value in QUICK.items()}
    tools = ["make", "--silent", "target/zig/.installed"]
    got = subprocess.run(tools, cwd=ROOT, capture_output=True, text=True, check=False)
    if got.returncode != 0:
        pytest.skip(f"Zig cannot be installed: {got.stderr.strip()[-200:]}")
    command = ["make", "wheel", f"WHEELS={folder}"]
    built = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=variables)
    assert built.returncode == 0, built.stderr[-2000:]
    assert len(list(folder.glob("ackclock-*.tar.gz"))) == 1
    (file,) = folder.glob("ackclock-*.whl")
    return file


def test_the_wheel_fits_any_linux_and_has_all_data_files(wheel):
    assert re.fullmatch(r"ackclock-[\d.]+-cp311-abi3-.*manylinux_2_17_\w+\.whl", wheel.name), wheel.name
    names = zipfile.ZipFile(wheel).namelist()
    for file in (
        "ackclock/cli/scenarios/quickstart.toml",
        "ackclock/networks/lte.toml",
        "ackclock/networks/poisson-0.57mbit.down",
        "ackclock/cli/templates/queue.rs",
        "ackclock/papers/data/cdg2011/fig4.toml",
        "ackclock/papers/data/edwan2010/models/rules.py",
        "ackclock/papers/suites/l4s/dualpi2.toml",
        "ackclock/report/assets/page.html.j2",
        "ackclock/py.typed",
    ):
        assert file in names, file


def test_the_wheel_has_the_licences_of_its_crates_and_their_list(wheel):
    archive = zipfile.ZipFile(wheel)
    licences = archive.read("ackclock/licences.txt").decode()
    (inventory,) = [name for name in archive.namelist() if "/sboms/" in name]
    assert "pyo3" in {part["name"] for part in json.loads(archive.read(inventory))["components"]}
    for crate in linked(ROOT):
        assert f"\n{crate.name} {crate.version}: " in licences
    assert "LESSER GENERAL PUBLIC LICENSE" in licences


def test_an_empty_environment_runs_the_first_example_of_the_readme(wheel, tmp_path):
    subprocess.run([sys.executable, "-m", "venv", tmp_path / "venv"], check=True)
    command = tmp_path / "venv/bin/ackclock"
    pip = [
        tmp_path / "venv/bin/python",
        "-m",
        "pip",
        "install",
        "--quiet",
        "--disable-pip-version-check",
        wheel,
    ]
    # Nothing of this tree is in reach.
    variables = {key: value for key, value in os.environ.items() if not key.startswith("PYTHON")}
    installed = subprocess.run(pip, capture_output=True, text=True, check=False, env=variables, cwd=tmp_path)
    assert installed.returncode == 0, installed.stderr
    called, shown = first_example()
    ran = subprocess.run(
        [command, *called], capture_output=True, text=True, check=False, env=variables, cwd=tmp_path
    )
    assert ran.returncode == 0, ran.stderr
    printed = [line.rstrip() for line in ran.stdout.splitlines() if "CPU second" not in line]
    assert printed == shown


def first_example():
    """The first command of the README, and the lines that it shows."""
    blocks = re.findall(r"^```(\w+)\n(.*?)^```$", (ROOT / "README.md").read_text(), re.MULTILINE | re.DOTALL)
    commands = [line for kind, text in blocks if kind == "sh" for line in text.splitlines()]
    first = next(line for line in commands if line.startswith("ackclock "))
    shown = next(text for kind, text in blocks if kind == "text")
    return shlex.split(first)[1:], shown.splitlines()


TARGETS = ("x86_64-apple-darwin", "x86_64-pc-windows-gnu")
"""Platforms of the simulator beside Linux."""


@pytest.mark.parametrize("target", TARGETS)
def test_the_simulator_compiles_for_other_platforms(target):
    sysroot = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True, check=True)
    if not (Path(sysroot.stdout.strip()) / "lib/rustlib" / target).exists():
        pytest.skip(f"rustup target add {target}")
    variables = {key: value for key, value in os.environ.items() if "RUSTFLAGS" not in key}
    command = [
        "cargo",
        "check",
        "--quiet",
        "--package",
        "ackclock-python",
        "--no-default-features",
        "--target",
        target,
    ]
    checked = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False, env=variables)
    assert checked.returncode == 0, checked.stderr[-2000:]


WITHOUT_POSIX = """
import os, signal, sys
sys.modules.update(dict.fromkeys(("fcntl", "grp", "pty", "pwd", "resource", "termios")))
for name in ("SIGHUP", "SIGCHLD", "SIGKILL", "SIGBUS", "SIGTTOU", "pthread_sigmask", "sigtimedwait"):
    delattr(signal, name)
for name in ("O_DIRECTORY", "O_NOFOLLOW", "fork", "geteuid", "getuid", "killpg", "sched_getaffinity"):
    delattr(os, name)
"""
"""A run as on Windows: modules and names that it lacks are taken away."""


@pytest.mark.skipif(sys.platform != "linux", reason="takes away names that only Linux has")
def test_the_package_simulates_without_the_modules_of_posix():
    simulate = (
        'ackclock.simulate(ackclock.Path("10mbit", rtt="20ms", queue="1bdp"), ["cubic"], duration="2s")'
    )
    program = f"{WITHOUT_POSIX}\nimport ackclock\nprint({simulate})"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert ran.returncode == 0, ran.stderr
    assert "goodput" in ran.stdout


@pytest.mark.skipif(sys.platform != "linux", reason="takes away names that only Linux has")
@pytest.mark.parametrize(
    "arguments",
    [
        "--help",
        "show machine",
        "show controllers cubic",
        "compare cubic --duration 1s --out out",
        "sweep cubic --over queue=1bdp,2bdp --duration 1s --out out",
        "matrix cubic newreno --duration 2s --warmup 1s",
        "check newreno --only ack-loss",
    ],
)
def test_commands_start_without_the_modules_of_posix(arguments, tmp_path):
    kernel = Kernel("6.1", recipe.digest(), [], [], tmp_path / "cache/ackclock/uml/6.1/linux")
    kernel.program.parent.mkdir(parents=True)
    kernel.program.touch()
    kernel.save()
    program = f"{WITHOUT_POSIX}\nfrom ackclock.cli import main\nsys.exit(main())"
    command = [sys.executable, "-c", program, *arguments.split()]
    known = os.environ | {"XDG_CACHE_HOME": str(tmp_path / "cache")}
    ran = subprocess.run(command, capture_output=True, text=True, check=False, cwd=tmp_path, env=known)
    assert "Traceback" not in ran.stderr, ran.stderr
    assert ran.returncode == 0, ran.stderr
