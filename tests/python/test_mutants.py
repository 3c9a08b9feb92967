"""One build holds all mutants of a sample: how a source file becomes a switch between them."""

from mutants.listed import Mutant
from mutants.switch import blamed, can_switch, switched

SOURCE = """\
/// Half, of `{`.
fn half(x: u32) -> u32 {
    let _brace = ['{', '\\'', '}'];
    x / 2
}

const fn one() -> u32 { 1 + 0 }
"""


def mutant(number, found, replacement, function):
    """A mutant that replaces the first `found` within the function that begins with `function`."""
    start = SOURCE.index(function)
    end = SOURCE.index("\n}", start) + 2 if function.startswith("fn") else SOURCE.rindex("}") + 1
    first = SOURCE.index(found, start)
    return Mutant(number, "", "half.rs", (first, first + len(found)), replacement, (start, end), found)


def test_a_function_becomes_a_switch_between_its_body_and_broken_ones():
    mutants = [mutant(3, "/", "*", "fn half"), mutant(7, "2\n", "3\n", "fn half")]
    text = switched(SOURCE, mutants)
    assert text.count("match crate::mutants_switch::on()") == 1
    arms = text[text.index("3 =>") :].split("_ =>")
    assert arms[0].count("x  *  2") == 1
    assert arms[0].count("x /  3\n") == 1
    assert arms[1].count("x / 2") == 1
    lines = text.split("\n")
    numbers = [blamed(text, number) for number, line in enumerate(lines, 1) if line.strip().startswith("x ")]
    assert numbers == [{3}, {7}, {3, 7}]
    assert blamed(text, len(lines)) == set()


def test_a_const_function_cannot_ask_which_mutant_is_on():
    assert can_switch(SOURCE, mutant(1, "/", "*", "fn half"))
    assert not can_switch(SOURCE, mutant(1, "+", "-", "const fn one"))
