"""The controllers in C for the kernel have the defaults of those in Rust."""

import re
from pathlib import Path

import pytest

from ackclock import _engine

KERNEL = Path(__file__).parents[2] / "kernel"
DECLARED = re.compile(
    r"^(?:PARAMETER\((?P<type>\w+)|CHOICE\((?P<choice>\w+)), (?P<rest>.+?)\);", re.MULTILINE
)
INCLUDED = re.compile(r'^#include "(.+)"', re.MULTILINE)
NAMED = re.compile(r"^#define (?P<name>\w+) (?P<value>\w+)$", re.MULTILINE)
SPANS = {"0": 0.0, "MICROSECOND": 1e-6, "MILLISECOND": 1e-3, "SECOND": 1.0}
SPELLED = {"us": 1e-6, "ms": 1e-3, "s": 1.0}
TWINS = sorted(path.name.removesuffix(".bpf.c") for path in KERNEL.glob("*.bpf.c"))


def text_of(file):
    """The text of a file with the text of the files that it includes."""
    text = file.read_text("utf-8")
    inner = [text_of(file.parent / name) for name in INCLUDED.findall(text) if name != "ack.h"]
    return "\n".join([*inner, text])


def in_c(name):
    text = text_of(KERNEL / f"{name}.bpf.c")
    names = {found["name"]: found["value"] for found in NAMED.finditer(text)}
    defaults = {}
    for found in DECLARED.finditer(text):
        if found["choice"]:
            defaults[found["choice"]] = found["rest"].split(", ")[0]
            continue
        parameter, value = found["rest"].split(", ")
        value = names.get(value, value)
        match found["type"]:
            case "span":
                count, _, unit = value.rpartition(" * ")
                defaults[parameter] = float(count or 1) * SPANS[unit]
            case "real":
                defaults[parameter] = float(value.removeprefix("REAL(").removesuffix(")"))
            case "bool":
                defaults[parameter] = value == "true"
            case _:
                defaults[parameter] = int(value)
    return defaults


def in_rust(name):
    """The defaults of the form that flows of profile linux have."""
    controller = next(one for one in _engine.controllers() if one["name"] == name)
    defaults = {one["name"]: one["schema"].get("default") for one in controller["parameters"]}
    for form in controller["forms"]:
        if form["stack"] == "linux" and form["default"]:
            defaults |= form["parameters"]
    for parameter, value in defaults.items():
        if value in defaults:
            defaults[parameter] = defaults[value]
        elif isinstance(value, str) and (found := re.fullmatch(r"([\d.]+)(us|ms|s)", value)):
            defaults[parameter] = float(found[1]) * SPELLED[found[2]]
    return defaults


@pytest.mark.parametrize("name", [name for name in TWINS if name != "trace"])
def test_both_have_the_same_defaults(name):
    c, rust = in_c(name), in_rust(name)
    differing = {
        parameter: (c[parameter], rust[parameter])
        for parameter in c.keys() & rust.keys()
        if c[parameter] != rust[parameter] and str(c[parameter]) != str(rust[parameter])
    }
    assert not differing


def test_the_defaults_in_c_are_found():
    assert in_c("cdg")["G"] == 0.003
    assert in_c("tcp-q")["order"] == 2
    assert in_c("da")["ndg_sign"] == "above"
    assert in_c("pit")["packet_time"] == 0.0
