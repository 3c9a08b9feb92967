"""The delay, losses and rate of ``netem``."""

from __future__ import annotations

from typing import Any

from ackclock.errors import InputError
from ackclock.tc.direction import Direction
from ackclock.tc.frames import read_cells
from ackclock.tc.words import Words, is_number, is_share, rate, share, size, time, whole

NETEM_LIMIT = 1000
"""The packets that netem holds, where no other limit is given."""
_GEMODEL = ("p", "r", "1-h", "1-k")
"""Letters before the numbers of the Gilbert-Elliott model, as ``tc`` prints it."""


def netem(words: Words, path: Direction) -> None:
    """A line of ``netem``: its delay, losses, rate and limit."""
    jitter: dict[str, Any] = {}
    given: set[str] = set()
    limit = NETEM_LIMIT
    for word in words:
        given.add(word)
        if word in ("delay", "latency"):
            _netem_delay(words, path, jitter)
        elif word == "distribution":
            _distribution(words.value(word), jitter)
        elif word == "loss":
            path.put("loss", _netem_loss(words, path))
        elif word == "corrupt":
            _corrupt(share(words.value(word)), words, path)
        elif word == "duplicate":
            path.put("duplicate", _netem_duplicate(words))
        elif word == "reorder":
            early = {"share": share(words.value(word))}
            if correlation := words.take(is_share):
                early["correlation"] = share(correlation)
            jitter["reorder"] = early | ({"gap": gap} if (gap := jitter.pop("gap", None)) else {})
        elif word == "gap":
            _netem_gap(whole(words.value(word)), jitter)
        elif word == "slot":
            jitter["slot"] = _netem_slot(words)
        elif word == "rate":
            path.put("rate", rate(words.value(word)))
            read_cells(words, path)
        elif word == "limit":
            limit = whole(words.value(word))
        elif word in ("ecn", "seed"):
            path.left_out.append(word if word == "ecn" else f"seed {words.value(word)}")
        else:
            path.left_out.append(word)
    if "gap" in jitter:
        jitter["reorder"] = {"share": "100%", "gap": jitter.pop("gap")}
    if "around" in jitter and "reorder" not in jitter:
        jitter["reorder"] = True
    if jitter.get("distribution"):
        law = jitter.pop("distribution")
        if "around" in jitter:
            jitter[law] = jitter.pop("around")
    if jitter:
        path.keys["jitter"] = jitter
    if limit != NETEM_LIMIT or ("rate" in given and "queue" not in path.keys):
        path.put("queue", {"limit": f"{limit}p", "count_delayed": True})


def _netem_delay(words: Words, path: Direction, jitter: dict[str, Any]) -> None:
    path.delay = time(words.value("delay"))
    if (size_ := words.take(is_number)) is None:
        return
    jitter["around"] = time(size_)
    if correlation := words.take(is_share):
        jitter["correlation"] = share(correlation)
        path.remarks.append(
            f"jitter correlates by {correlation} and keeps its distribution; by netem's formula neither"
        )


def _distribution(name: str, jitter: dict[str, Any]) -> None:
    if name not in ("uniform", "normal", "pareto", "paretonormal"):
        raise InputError(
            f"--tc: distribution {name}: there are uniform, normal, pareto and paretonormal; "
            "tables of one's own are not read"
        )
    if name != "uniform":
        jitter["distribution"] = name


def _netem_loss(words: Words, path: Direction) -> Any:
    kind = words.take(lambda word: word in ("random", "gemodel", "state"))
    given = []
    while word := words.take(lambda word: is_share(word) or (kind == "gemodel" and word in _GEMODEL)):
        given += [] if word in _GEMODEL else [word]
    if not given:
        raise InputError("--tc: loss needs a percentage, as in loss 1%")
    if kind == "state":
        raise InputError("--tc: loss state: has no counterpart here; loss gemodel has")
    if kind == "gemodel":
        # Numbers two to four are r, 1-h and 1-k: the end of the bad state, its loss, the loss of the good
        # state.
        last = f"{100.0 - float(given[0].removesuffix('%')):g}%"
        p, r, bad, good = [*given, *[last, "100%", "0%"][len(given) - 1 :]][:4]
        return {
            "model": "gilbert-elliott",
            "good_to_bad": share(p),
            "bad_to_good": share(r),
            "loss_bad": share(bad),
            "loss_good": share(good),
        }
    if len(given) > 1 and float(given[1].removesuffix("%")) > 0:
        path.remarks.append(
            f"losses correlate by {given[1]} and are {given[0]} in the mean; netem's own formula loses fewer"
        )
        return {"share": share(given[0]), "correlation": share(given[1])}
    return share(given[0])


def _corrupt(lost: str, words: Words, path: Direction) -> None:
    """To TCP and UDP a corrupt packet is a lost one."""
    words.take(is_share)
    if "loss" in path.keys:
        path.left_out.append(f"corrupt {lost}")
        return
    path.keys["loss"] = lost
    path.remarks.append(f"corrupt {lost} counts as loss: a checksum drops such packets")


def _netem_duplicate(words: Words) -> Any:
    found = share(words.value("duplicate"))
    if correlation := words.take(is_share):
        return {"share": found, "correlation": share(correlation)}
    return found


def _netem_gap(gap: int, jitter: dict[str, Any]) -> None:
    if isinstance(jitter.get("reorder"), dict):
        jitter["reorder"]["gap"] = gap
    else:
        jitter["gap"] = gap


def _netem_slot(words: Words) -> dict[str, Any]:
    if words.take(lambda word: word == "distribution"):
        raise InputError("--tc: slot distribution: has no counterpart here; slot MIN MAX has")
    slot: dict[str, Any] = {"min": time(words.value("slot"))}
    if largest := words.take(is_number):
        slot["max"] = time(largest)
    while word := words.take(lambda word: word in ("packets", "bytes")):
        value = words.value(word)
        slot[word] = whole(value) if word == "packets" else size(value)
    return slot
