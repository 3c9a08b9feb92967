"""The measuring of prose: sentences of pages and comments, their numbers, length and beginnings."""

import prose
from sources import by_hand

PAGE = """# What it does

That a page has 3 or 4 numbers is fine: 5 more
are not. See [figure 7
of it](a.md#b) and RFC 9438, section 4.2, of 2023-08-01; `x = 9` is code.

| What | 10 |
| --- | --- |

- One item of a list
  that goes on.
- Where it ends, nobody
  knows.

    What 11 is in code

```sh
What 12 is
```

<!-- table: rows What.csv -->
"""


def of(text, path="page.md"):
    return next(iter(prose.units({path: text}).values()))


def test_sentences_of_a_page_are_those_of_its_prose():
    assert [(one.line, one.text) for one in of(PAGE)] == [
        (3, "That a page has 3 or 4 numbers is fine:"),
        (3, "5 more are not."),
        (4, "See figure 7 of it and RFC 9438, section 4.2, of 2023-08-01;"),
        (5, "X is code."),
        (10, "One item of a list that goes on."),
        (12, "Where it ends, nobody knows."),
    ]


def test_tables_that_programs_write_are_no_prose():
    table = "<!-- table: x -->\n\nA line of a maker.\n\n| a |\n\n<!-- /table -->"
    page = f"One line by hand.\n\n{table}\n\nThe end of it.\n"
    assert by_hand(page) == [
        (1, "One line by hand."),
        (2, ""),
        (3, "<!-- table: x -->"),
        (10, ""),
        (11, "The end of it."),
    ]
    assert [(one.line, one.text) for one in of(page)] == [(1, "One line by hand."), (11, "The end of it.")]


def test_a_dash_or_a_number_within_a_line_begins_no_item():
    assert [one.text for one in of("It is x - y of them. It has 250. The end is near.")] == [
        "It is x - y of them.",
        "It has 250.",
        "The end is near.",
    ]


def test_numbers_count_where_they_cite_nothing():
    # 3, 4 and 5 of 42 words: figure 7, the RFC, its section and its date are citations.
    measured = prose.Measures(of(PAGE))
    assert measured.words == 42
    assert round(measured.numbers * measured.words / 100) == 3
    cited = of(
        "Linux 7.2.13, equations 3 and 4, Kelly (2003), draft-ietf-ccwg-bbr-05 and tables 2 to 4 cite."
    )
    assert [one.numbers for one in cited] == [0]
    assert [one.numbers for one in of("A link of 10 Mbit/s takes 1.2 ms for 1500 bytes.")] == [3]


def test_sentences_that_are_turned_round_have_a_share():
    turned = prose.Measures(of(PAGE)).faults("page.md")
    assert turned == [
        "page.md:1: 7.1 numbers per hundred words, at most 6 are allowed",
        "page.md:1: 2 of 6 sentences begin with That, Whether, Of, What or Where, at most 3 % may:",
        "page.md:3: That a page has 3 or 4 numbers is fine:",
        "page.md:12: Where it ends, nobody knows.",
    ]
    # One may, also on a short page. Words that only begin with these letters do not count.
    assert prose.Measures(of("What it does. Whatever it says. It ends.")).faults("page.md") == []


def habits(text):
    """The columns of the habits that a sentence has."""
    return [habit.column for habit in prose.HABITS if habit.found(of(text, "crates/a/b.md"))]


def test_each_habit_is_found_in_the_middle_of_a_sentence():
    for clause in (
        "of what was sent",
        "it is what counts",
        "the rest, what remains",
        "see what the ACK covers",
    ):
        assert habits(f"The sender asks, {clause}.") == ["what"]
    for noun in ("that of Linux", "those with SACK", "Those at the end"):
        assert habits(f"The window and {noun} grow.") == ["that of"]
    for verb in ("stands", "lie", "hears", "heard", "tells", "told", "speak", "spoken"):
        assert habits(f"The room {verb} for something else.") == ["stands"]
    assert habits("It ends here; another begins.") == ["; ends"]
    # Questions, demonstratives, other words and semicolons within a citation or a code are none of these.
    for plain in (
        "It decides whatever comes.",
        "After that the window grows.",
        "The standard has understood belief.",
        "The expression `a; what is b` counts.",
    ):
        assert habits(plain) == []


def test_a_habit_has_a_share_of_a_unit_and_one_sentence_of_a_small_one():
    plain, having = "The window grows by one. ", "The window is that of Linux. "
    for count, allowed in ((50, 1), (200, 1), (400, 2)):
        some = {"crates/a/b.md": plain * (count - allowed) + having * allowed}
        more = {"crates/a/b.md": plain * (count - allowed - 1) + having * (allowed + 1)}
        assert prose.faults(some) == []
        assert prose.faults(more)[0] == (
            f"crates/a/b.md:1: {allowed + 1} of {count} sentences have `that of` or its like for a noun, "
            "at most 0.5 % may:"
        )


def test_a_sentence_of_more_than_forty_words_is_a_fault():
    assert prose.Measures(of("word " * 39 + "end.")).faults("page.md") == []
    long = prose.Measures(of("One stop.\n\n" + "word " * 40 + "end.")).faults("page.md")
    assert long == [f"page.md:3: a sentence of 41 words: {'word ' * 12}"]
    assert prose.Measures(of("word " * 30 + "here: " + "word " * 30 + "end.")).faults("page.md") == []


RUST = """//! Opens the file.

/// A doc comment of
/// two lines.
// A plain comment here.
let x = 1; // no sentence at all
"""

C = """/* A comment in C
 * that goes on. */
int x;
// Another one there.
"""

PYTHON = '''"""A module of
two lines."""


def f():
    """Gives a value.

    And more text.
    """
    # A remark here.
    return "not a sentence, either"
'''


def test_comments_of_sources_are_measured_by_crate_and_package():
    found = prose.units(
        {
            "crates/a/src/lib.rs": RUST,
            "crates/a/tests/b.rs": "// In its test.\n",
            "kernel/x.bpf.c": C,
            "python/ackclock/sub/deep/m.py": PYTHON,
            "python/ackclock/top.py": '"""It is at the top."""\n',
            "Makefile": "# no prose at all here\n",
        }
    )
    assert {name: [(one.line, one.text) for one in of] for name, of in found.items()} == {
        "crates/a": [
            (1, "Opens the file."),
            (3, "A doc comment of two lines."),
            (5, "A plain comment here."),
            (1, "In its test."),
        ],
        "kernel": [(1, "A comment in C that goes on."), (4, "Another one there.")],
        "python/ackclock/sub": [
            (1, "A module of two lines."),
            (6, "Gives a value."),
            (8, "And more text."),
            (10, "A remark here."),
        ],
        "python/ackclock": [(1, "It is at the top.")],
    }


def test_units_that_are_asked_for_are_measured_alone():
    pages = {"a.md": "word " * 50, "b.md": "word " * 50}
    assert [fault[:6] for fault in prose.faults(pages)] == ["a.md:1", "b.md:1"]
    assert [fault[:6] for fault in prose.faults(pages, ["b.md"])] == ["b.md:1"]


def test_tests_may_work_numbers_out():
    text = '"""It is 1, 2 and 3."""\n'
    assert prose.faults({"tests/python/test_a.py": text}, ["tests/python"]) == []
    assert len(prose.faults({"python/ackclock/a.py": text}, ["python/ackclock"])) == 1
