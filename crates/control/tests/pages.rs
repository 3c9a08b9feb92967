//! Every controller has a page in the documentation with the sections that readers look for, and the markers of its
//! tables, which `make tables` writes.

#![expect(clippy::disallowed_methods, reason = "the tests read the pages of the documentation")]

use std::fs;
use std::path::{Path, PathBuf};

use control::registry::CONTROLLERS;
use control::{Entry, Form, stacks};

/// How the sections of a page begin, in this order.
const SECTIONS: [&str; 9] = [
    "## Equations",
    "## How it differs from ",
    "## When it is good\n",
    "## When it fails\n",
    "## Source\n",
    "## Beside others\n",
    "## Checked\n",
    "## Parameters\n",
    "## Probes\n",
];

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

#[test]
fn every_page_has_its_sections_in_order() {
    for Entry { name, .. } in CONTROLLERS {
        let page = read(&format!("docs/controllers/{name}.md"));
        let mut rest = page.as_str();
        for section in SECTIONS {
            let heading = format!("\n{section}");
            let at =
                rest.find(&heading).unwrap_or_else(|| panic!("{name}.md has no `{}` in its place", section.trim()));
            rest = &rest[at + heading.len()..];
        }
    }
}

/// Whether `form` has a parameter of the standard's form with another default.
fn differs(entry: &Entry, form: &Form) -> bool {
    let own = |name: &str| form.parameters.iter().find(|p| p.name == name);
    entry.parameters.iter().any(|p| own(p.name).is_some_and(|own| own.default != p.default))
}

#[test]
fn every_page_has_the_markers_of_its_tables() {
    for entry in CONTROLLERS {
        let page = read(&format!("docs/controllers/{}.md", entry.name));
        let forms = || stacks::of(entry.name).map(|(_, form)| form);
        let tables = [
            ("neighbours", true),
            ("check", true),
            ("parameters", !entry.parameters.is_empty() || forms().any(|form| !form.parameters.is_empty())),
            ("variants", forms().any(|form| differs(entry, &form))),
            ("probes", !entry.probes.is_empty()),
        ];
        for (table, expected) in tables {
            let marker = format!("\n<!-- table: {table} {} -->\n", entry.name);
            assert_eq!(page.contains(&marker), expected, "{}.md: {}", entry.name, marker.trim());
        }
    }
}

#[test]
fn every_page_is_listed_and_in_the_navigation() {
    let (index, navigation) = (read("docs/controllers/index.md"), read("mkdocs.yml"));
    let listed: Vec<&str> = index
        .lines()
        .filter_map(|line| line.strip_prefix("<!-- table: controllers ")?.strip_suffix(" -->"))
        .flat_map(str::split_whitespace)
        .collect();
    for Entry { name, .. } in CONTROLLERS {
        assert_eq!(listed.iter().filter(|one| one == &name).count(), 1, "docs/controllers/index.md lists {name} once");
        assert!(navigation.contains(&format!(": controllers/{name}.md\n")), "mkdocs.yml does not list {name}");
    }
}
