//! Every controller has its page in the documentation, with the tables of its parameters and probes that the registry
//! gives. `UPDATE_DOCS=1 cargo test -p ackclock-control --test pages` writes them.

#![expect(clippy::disallowed_methods, reason = "the tests read the pages of the documentation")]

use std::fmt::Write;
use std::path::{Path, PathBuf};
use std::{env, fs};

use control::registry::CONTROLLERS;
use control::{Entry, Parameter, SLOW_START, Variant};

const BEGIN: &str = "<!-- From the registry: UPDATE_DOCS=1 cargo test -p ackclock-control --test pages -->\n";
const END: &str = "<!-- End of what is from the registry. -->\n";

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join("../..")
}

fn read(path: &str) -> String {
    fs::read_to_string(root().join(path)).unwrap_or_else(|error| panic!("{path}: {error}"))
}

/// A row for each of `parameters`.
fn table(parameters: &[Parameter]) -> String {
    if parameters.is_empty() {
        return String::from("None.\n");
    }
    let mut text = String::from("| parameter | default | unit | allowed | meaning | source |\n");
    text.push_str("| --- | --- | --- | --- | --- | --- |\n");
    for p in parameters {
        let (name, default, range) = (p.name, p.default, p.range);
        writeln!(text, "| `{name}` | `{default}` | {} | {range} | {} | {} |", p.unit, p.meaning, p.source).unwrap();
    }
    text
}

/// The table of the page of slow start.
fn slow_start() -> String {
    format!("{BEGIN}\n## Parameters\n\n{}\n{END}", table(SLOW_START))
}

/// The two tables of a page.
fn tables(entry: &Entry) -> String {
    let mut text = String::from(BEGIN);
    text.push_str("\n## Parameters\n\n");
    text.push_str(&table(entry.parameters));
    text.push_str(&stacks(entry));
    text.push_str("\n## Probes\n\n");
    if entry.probes.is_empty() {
        text.push_str("None.\n");
    } else {
        text.push_str("| probe | unit | meaning |\n| --- | --- | --- |\n");
    }
    for probe in entry.probes {
        writeln!(text, "| `{}` | {} | {} |", probe.name, probe.unit, probe.meaning).unwrap();
    }
    text.push('\n');
    text.push_str(END);
    text
}

/// What stacks do otherwise: a column for each, a row for each parameter that differs in one.
fn stacks(entry: &Entry) -> String {
    let variants = entry.variants;
    if variants.is_empty() {
        return String::new();
    }
    let mut text = String::from("\n## Variants\n\n");
    text.push_str("With the profile of a stack it has the parameters of that stack, unless they are given. ");
    text.push_str(
        "`stack = \"...\"` among the\nparameters names another, or `\"standard\"`.\n\n| parameter | standard |",
    );
    variants.iter().for_each(|variant| write!(text, " {} |", variant.stack).unwrap());
    text.push_str(&format!("\n| --- | --- |{}\n", " --- |".repeat(variants.len())));
    for p in entry.parameters {
        let of = |variant: &Variant| variant.values.iter().find(|(name, _)| *name == p.name).map(|(_, value)| *value);
        if variants.iter().any(|variant| of(variant).is_some()) {
            write!(text, "| `{}` | `{}` |", p.name, p.default).unwrap();
            for variant in variants {
                write!(text, " `{}` |", of(variant).unwrap_or(p.default)).unwrap();
            }
            text.push('\n');
        }
    }
    text
}

/// `page` with `tables` in place of those that it has, or at its end.
fn with_tables(page: &str, tables: &str) -> String {
    match (page.find(BEGIN), page.find(END)) {
        (Some(begin), Some(end)) => format!("{}{tables}{}", &page[..begin], &page[end + END.len()..]),
        _ => format!("{}\n\n{tables}", page.trim_end()),
    }
}

#[test]
fn every_page_has_the_tables_of_the_registry() {
    let controllers = CONTROLLERS.iter().map(|entry| (format!("docs/controllers/{}.md", entry.name), tables(entry)));
    for (path, tables) in controllers.chain([("docs/slow-start.md".to_owned(), slow_start())]) {
        let page = read(&path);
        if env::var_os("UPDATE_DOCS").is_some() {
            fs::write(root().join(&path), with_tables(&page, &tables)).unwrap();
        } else {
            assert!(page.contains(&tables), "{path} does not have these tables:\n{tables}");
        }
    }
}

#[test]
fn every_page_is_listed_and_in_the_navigation() {
    let (index, navigation) = (read("docs/controllers/index.md"), read("mkdocs.yml"));
    for Entry { name, .. } in CONTROLLERS {
        assert!(index.contains(&format!("- [{name}]({name}.md): ")), "docs/controllers/index.md does not list {name}");
        assert!(navigation.contains(&format!(": controllers/{name}.md\n")), "mkdocs.yml does not list {name}");
    }
}
