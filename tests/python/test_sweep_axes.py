"""Axes of a sweep: values at shares of a range or a list, draws, and the description of a design."""

import pytest
from matplotlib.figure import Figure

from ackclock.errors import InputError
from ackclock.sweeps.axes import Design, Range, axis, dotted, numbers, parse
from ackclock.sweeps.drawing import _Scale

THOUSAND = "rate=1bit..1000bit*1000"


@pytest.mark.parametrize(
    ("share", "linear", "log"),
    # A quarter of the way is 0.75 of 100 and 0.25 of 10,000, or half of a decade.
    [
        (0.0, "100ms", "100ms"),
        (0.25, "2575ms", "316.228ms"),
        (0.5, "5050ms", "1000ms"),
        (1.0, "10000ms", "10000ms"),
    ],
)
def test_a_range_is_even_or_even_on_the_logarithm(share, linear, log):
    assert Range(100.0, 10_000.0, "ms", log=False, count=None).at(share) == linear
    assert Range(100.0, 10_000.0, "ms", log=True, count=None).at(share) == log


def test_a_range_of_a_value_has_its_begin_and_one_of_two_both_ends():
    assert Range(3.0, 3.0, "ms", log=False, count=1).values() == ["3ms"]
    assert Range(3.0, 8.0, "ms", log=False, count=2).values() == ["3ms", "8ms"]


@pytest.mark.parametrize(
    ("share", "value"), [(0.0, "1p"), (0.33, "1p"), (0.34, "2p"), (0.66, "2p"), (0.67, "3p"), (1.0, "3p")]
)
def test_each_value_of_a_list_has_its_share(share, value):
    assert axis("queue", ["1p", "2p", "3p"]).at(share) == {"path.queue": value}


def test_a_design_is_described_by_its_lists_and_the_ends_of_its_ranges():
    axes = (
        parse("rate:rtt=1mbit:40ms,1gbit:5ms"),
        parse("loss=0%..2%"),
        parse("flows.0.count=1..100*log"),
        parse("flows.1.count=1..3*3"),
    )
    design = Design(axes, samples=5)
    assert design.described() == {
        "path.rate": ["1mbit", "1gbit"],
        "path.rtt": ["40ms", "5ms"],
        "path.loss": {"from": "0%", "to": "2%", "scale": "linear"},
        "flows.0.count": {"from": "1", "to": "100", "scale": "log"},
        "flows.1.count": ["1", "2", "3"],
    }
    assert (len(design), design.keys) == (5, list(design.described()))
    assert list(design.settings()) == [
        *[("path.rate", "1mbit"), ("path.rtt", "40ms"), ("path.rate", "1gbit"), ("path.rtt", "5ms")],
        *[("flows.1.count", value) for value in "123"],
    ]


def test_a_grid_has_the_product_of_its_axes():
    design = Design((parse("queue=1p,2p"), parse("rtt=1ms,2ms,3ms")))
    assert (len(design), len(list(design.points()))) == (6, 6)
    assert (design.lines, design.labels) == (None, frozenset())


@pytest.mark.parametrize(
    ("make", "sentence"),
    [
        (lambda: Design((parse("queue=1p"),), draw="dice"), "draw `dice`: must be one of latin-hypercube, "),
        (lambda: Design((), samples=3), "samples: there is nothing to draw from"),
        (lambda: Design((parse("queue=1p"), parse("path.queue=2p"))), "over path.queue: is swept twice"),
        (lambda: Design((parse(THOUSAND), parse("rtt=1ms..2ms*1001"))), "a sweep of 1001000 points: at most"),
        (lambda: parse("rate=1mbit..1gbit*1000001"), "at most 1000000 are allowed"),
        (lambda: parse("rate=1mbit..2mbit*0"), "a range has at least 2 values"),
        (lambda: parse("loss=1,2%"), "over loss: 1: a bare number may mean a percentage or a share"),
        (lambda: parse("loss=0..0.5*3"), "write it with %, as in 0.5%"),
        (lambda: parse("rate=1mbit..0mbit*4log"), "a logarithmic range must begin and end above zero"),
    ],
)  # fmt: skip
def test_a_design_that_cannot_be_is_refused(make, sentence):
    with pytest.raises(InputError) as refused:
        make()
    assert sentence in str(refused.value)


def test_a_million_points_are_allowed():
    assert len(Design((parse(THOUSAND), parse("rtt=1ms..2ms*1000")))) == 1_000_000


def test_nothing_lost_needs_no_unit():
    assert parse("loss=0,1%").values == (("0",), ("1%",))


def test_short_keys_are_of_the_path():
    assert [dotted(key) for key in ("rate", "reverse", "seed", "flows.0.cc", "path.rtt")] == [
        "path.rate", "path.reverse", "seed", "flows.0.cc", "path.rtt",
    ]  # fmt: skip
    with pytest.raises(InputError, match="over qeue: is no key of a scenario; did you mean `queue`"):
        dotted("qeue")


def test_ends_of_a_range_are_compared_in_the_unit_of_the_first():
    # 1 Gbit/s are 1000 Mbit/s, and 2 s are 2000 ms.
    assert parse("rate=10mbit..1gbit*2").values == (("10mbit",), ("1000mbit",))
    assert parse("rtt=500ms..2s*4").values == (("500ms",), ("1000ms",), ("1500ms",), ("2000ms",))


def test_values_have_the_numbers_of_a_common_unit_or_of_the_base_unit():
    assert numbers(["1", "x", "3"]) == ([1.0, None, 3.0], "")
    assert numbers(["5ms", "1s", "x"]) == ([0.005, 1.0, None], "")
    assert numbers([]) == ([], "")


@pytest.mark.parametrize(
    ("values", "scale"),
    [("1,2,4", "linear"), ("1,2,4,8,16,32,64,128", "log"), ("0,1,10,100", "linear"), ("a,b", "linear")],
)
def test_values_of_many_magnitudes_are_drawn_on_a_logarithmic_axis(values, scale):
    axes = Figure().subplots()
    _Scale(parse(f"flows.0.count={values}")).apply(axes)
    assert axes.get_xscale() == scale
