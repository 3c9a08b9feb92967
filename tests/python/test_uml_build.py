"""Building kernels for virtual time, and their cache: nothing of another user runs."""

import shutil
import tarfile

import pytest

from ackclock.uml import build, kernels
from calling import needs_live, refused
from test_uml import pretended

__all__ = ["pretended"]


def packed(archive, *members):
    """An archive of a tree without sources, and of members whose types, names and links are given."""
    with tarfile.open(archive, "w") as out:
        for kind, name, link in members:
            one = tarfile.TarInfo(name)
            one.type, one.linkname = kind, link
            out.addfile(one)
    return archive


@pytest.mark.parametrize(
    ("members", "why"),
    [
        ([(tarfile.SYMTYPE, "l/arch", "../../../../../..")], "has a link out of its folder: arch"),
        ([(tarfile.SYMTYPE, "l/absolute", "/etc")], "has a link out of its folder: absolute"),
        ([(tarfile.FIFOTYPE, "l/arch/pipe", "")], "has a device or pipe: arch/pipe"),
        ([(tarfile.REGTYPE, "../../../../outside", "")], "failed in `tar -xf"),
        (
            [(tarfile.SYMTYPE, "l/out", "../../../.."), (tarfile.REGTYPE, "l/out/outside", "")],
            "failed in `tar -xf",
        ),
    ],
)
def test_an_archive_writes_nothing_outside_of_its_folder(capsys, tmp_path, monkeypatch, members, why):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(shutil, "which", "/usr/bin/{}".format)
    sentence = refused(capsys, "kernel", "build", packed(tmp_path / "l.tar", *members))
    assert why in sentence or "cannot be built yet" in sentence
    assert not list(tmp_path.rglob("outside"))
    assert [file.name for file in kernels.folder().iterdir()] == [build.LOG]


def test_a_source_is_found_from_the_current_folder(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(shutil, "which", "/usr/bin/{}".format)
    monkeypatch.chdir(tmp_path)
    (tmp_path / "tree/arch/um").mkdir(parents=True)
    (tmp_path / "tree/arch/um/Kconfig").write_text("config SOMETHING\n")
    (tmp_path / "tree/Makefile").write_text("mrproper:\n")
    packed("l.tar", (tarfile.REGTYPE, "l/Kconfig", ""))
    for source in ("tree", "l.tar"):
        assert "this version of Linux cannot be built yet" in refused(capsys, "kernel", "build", source)


def test_a_second_build_beside_the_first_is_refused_and_the_first_goes_on(capsys, tmp_path, monkeypatch):
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(shutil, "which", "/usr/bin/{}".format)
    kernels.folder().mkdir(parents=True, mode=0o700)
    archive = packed(tmp_path / "l.tar", (tarfile.REGTYPE, "l/Kconfig", ""))
    with build.alone():
        (kernels.folder() / build.LOG).write_text("of the first")
        assert "another build goes on there" in refused(capsys, "kernel", "build", archive)
        assert (kernels.folder() / build.LOG).read_text() == "of the first"
    assert "cannot be built yet" in refused(capsys, "kernel", "build", archive)


def test_the_progress_of_a_build_rises_to_its_end(tmp_path, monkeypatch):
    """Each step prints the lines that follow it, and shows its fraction before and after them."""
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    monkeypatch.setattr(build.recipe, "apply", lambda _: None)
    lines = {"mrproper": 100, "allnoconfig": 50, "linux": build.STEPS}

    def step(command, _tree, output, fraction):
        yield fraction()
        output.write(b"a file\n" * lines.get(command[-1], 0))
        output.flush()
        yield fraction()

    monkeypatch.setattr(build, "_run", step)
    kernels.folder().mkdir(parents=True)
    trees = {"folder": tmp_path, "archive": packed(tmp_path / "l.tar")}
    for number, source in enumerate(trees.values()):
        tree = kernels.folder() / f"build-{number}" / "linux"
        tree.parent.mkdir()
        with (kernels.folder() / build.LOG).open("wb") as output:
            fractions = list(build._steps(source, tree, 2, output))
        assert fractions == sorted(fractions)
        # What is left is the first boot.
        assert (fractions[0], fractions[-1]) == (0.0, pytest.approx(0.98))


@needs_live
@pytest.mark.parametrize("part", ["cache", "folder", "program"])
@pytest.mark.parametrize("mode", [0o777, 0o775])
def test_a_kernel_that_another_user_may_change_does_not_run(capsys, pretended, part, mode):
    program = pretended("touch ran")
    {"cache": kernels.folder(), "folder": program.parent, "program": program}[part].chmod(mode)
    sentence = refused(capsys, "compare", "cubic", "--engine", "uml", "--duration", "1s")
    assert "other users may change it, and no kernel of theirs is run" in sentence
