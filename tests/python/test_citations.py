"""Citations name a document and a place that it has."""

import pytest

import citations
from calling import needs_git

DOCUMENTS = {
    "RFC 5681": {"sections": {"3.1": "Slow Start", "4.2": "ACKs"}, "equations": "2-4"},
    "RFC 6298": {"sections": {"2": "The Basic Algorithm"}, "rules": "5.1-5.7"},
    "paper": {
        "names": ["Smith 2020", "Report 7"],
        "sections": {"IV.C": "Results", "7.4": "Runs", "B": "Proofs"},
        "equations": "4.1-4.35",
        "figures": "1-9",
    },
}


def found(text, path="a.rs", **others):
    texts = {path: text} | others
    reader = citations.Reader(DOCUMENTS, texts)
    return [(one.document, one.kind, one.number) for one in reader.citations(path)]


def faults(text, path="a.rs"):
    reader = citations.Reader(DOCUMENTS, {path: text})
    return [fault for one in reader.citations(path) if (fault := one.fault(DOCUMENTS))]


@needs_git
def test_every_citation_names_a_document_and_a_place_in_it():
    assert len(citations.citations()) > 1500
    assert citations.faults() == []


@pytest.mark.parametrize(
    ("text", "places"),
    [
        ("// RFC 5681, section 3.1, equation 4", [("sections", "3.1"), ("equations", "4")]),
        ("/// (RFC 5681 section 3.1)", [("sections", "3.1")]),
        ("//! a rule of RFC 5681,\n//! sections 3.1 and 4.2", [("sections", "3.1"), ("sections", "4.2")]),
        ("x = 1  # sections 3.1, 4.2 of RFC 5681", [("sections", "3.1"), ("sections", "4.2")]),
        ("RFC 5681's equations (2) to (4)", [("equations", "2"), ("equations", "4")]),
        ("No place of RFC 5681, but a section of it.", []),
    ],
)
def test_a_document_is_named_before_its_places_or_behind_them(text, places):
    assert found(text) == [("RFC 5681", *place) for place in places]


def test_steps_of_an_rfc_need_no_word():
    assert found("(RFC 6298, 5.1 to 5.3)") == [
        ("RFC 6298", "sections", "5.1"),
        ("RFC 6298", "sections", "5.3"),
    ]
    assert faults("(RFC 6298, 5.7; RFC 6298, 5.8)") == ["a.rs:1: RFC 6298 has no sections 5.8"]


def test_a_place_alone_is_of_the_first_document_of_the_file_or_of_the_module_above():
    assert found("//! Smith 2020, not RFC 5681.\n\n// Section 7.4, figure 3b.") == [
        ("paper", "sections", "7.4"),
        ("paper", "figures", "3"),
    ]
    above = {"x/mod.rs": "//! The rule of Report 7."}
    assert found("// Appendix B", "x/deep.rs", **above) == [("paper", "sections", "B")]
    assert found('source = "section IV.C"', "papers/paper/fig1.toml") == [("paper", "sections", "IV.C")]
    assert faults("// Section 7.4.") == ["a.rs:1: sections 7.4 of no document"]


def test_a_wrong_place_is_found():
    assert faults("// RFC 5681, section 3.3\n// Smith 2020, equation 4.36") == [
        "a.rs:1: RFC 5681 has no sections 3.3",
        "a.rs:2: paper has no equations 4.36",
    ]
    # No equation of this document has a number, and the other document has no titles here.
    assert faults("RFC 6298, equation 2") == ["a.rs:1: RFC 6298 has no equations 2"]
    assert faults("RFC 9999, section 2") == ["a.rs:1: RFC 9999 has no titles in documents.toml"]
    assert faults("Jones 1999, section 2; draft-jones-tcp-01, section 4") == []


def test_tables_that_programs_write_cite_nothing():
    page = "Smith 2020\n\n<!-- table: x -->\n\n| section 99 |\n\n<!-- /table -->\n\nSection 7.4.\n"
    assert found(page, "page.md") == [("paper", "sections", "7.4")]
