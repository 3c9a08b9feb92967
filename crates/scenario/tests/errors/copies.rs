//! Copies: `count`, `copies`, `each` and `{copy}`.

use crate::sentence;

/// The sentence about a star of three nodes with these links or flows, in lines 2 and 3.
fn star(links: &str, flows: &str) -> String {
    sentence(&format!("duration = '10s'\nlinks = [{links}]\nflows = [{flows}]"))
}

const LINK: &str =
    "count = 3, from = 'n{copy}', to = 'hub', rate = '1mbit', delay = '5ms', queue = '9p', duplex = true";
const FLOW: &str = "cc = 'cdg', from = 'n0', to = 'hub'";

fn flow(keys: &str) -> String {
    star(&format!("{{ {LINK} }}"), &format!("{{ {keys} }}"))
}

fn link(keys: &str) -> String {
    star(&format!("{{ {keys} }}"), &format!("{{ {FLOW} }}"))
}

#[test]
fn a_placeholder_without_copies_or_another_than_theirs() {
    assert_eq!(
        flow("cc = 'cdg', from = 'n{copy}', to = 'hub'"),
        "demo.toml, line 3: flows.0.from: `n{copy}` is of copies: write `count = 8` or `copies = [1, 2]` beside it"
    );
    assert_eq!(
        flow("cc = 'cdg', count = 3, from = 'n{copy}', to = '{hub}'"),
        "demo.toml, line 3: flows.0.to: `{hub}`: the only placeholder is `{copy}`, the number or name of the copy"
    );
}

#[test]
fn copies_that_are_none_or_do_not_differ() {
    assert_eq!(
        link(&LINK.replace("count = 3", "count = 0")),
        "demo.toml, line 2: links.0.count: must be a whole number from 1 to 1000000"
    );
    assert_eq!(
        link(&LINK.replace("count = 3", "copies = []")),
        "demo.toml, line 2: links.0.copies: `[]` is no list of whole numbers or names, like `[1, 2, 3]`"
    );
    assert_eq!(
        link(&format!("copies = [1], {LINK}")),
        "demo.toml, line 2: links.0.copies: is given beside `count`: one of them is enough"
    );
    assert_eq!(
        link(&LINK.replace("n{copy}", "n0")),
        "demo.toml, line 2: links.0: its copies are all alike: write `{copy}` where they differ, like \
         `to = \"n{copy}\"`"
    );
}

#[test]
fn groups_that_are_none() {
    assert_eq!(
        link("each = [{ from = 'n0' }]"),
        "demo.toml, line 2: links.0.each: is of copies: write `count = 8` or `copies = [1, 2]` beside it"
    );
    assert_eq!(
        link("count = 2, name = 'n{copy}', each = []"),
        "demo.toml, line 2: links.0.name: belongs into the entries of `each`"
    );
    assert_eq!(
        link("count = 2, each = ['n{copy}']"),
        "demo.toml, line 2: links.0.each: must be a list of tables, which are copied together"
    );
}

#[test]
fn a_copy_is_named_by_what_is_written() {
    let entry = |node: &str| format!("{{ cc = 'cdg', from = '{node}{{copy}}', to = 'hub' }}");
    assert_eq!(
        flow(&format!("count = 2, each = [{}, {}]", entry("n"), entry("m"))),
        "demo.toml, line 3: flows.0.each.1.from: there is no node `m0`; did you mean `n0`? (there are `hub`, `n0`, \
         `n1`, `n2`)"
    );
    // The second flow is the third when copies are written out.
    assert_eq!(
        star(
            &format!("{{ {LINK} }}"),
            &format!("{{ {FLOW}, count = 2, start = '{{copy}}s' }}, {{ {FLOW}, start = '70s' }}")
        ),
        "demo.toml, line 3: flows.1.start: `70s` is not before the end of the run at `10s`"
    );
}
