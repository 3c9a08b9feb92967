//! The known name that a misspelled one may mean.

/// The smallest likeness, of 0 to 2, at which a name may be meant: `cgd` and `cdg` have 1.2, `bbr` and `pert` 0.8.
const MEANT: f64 = 1.15;
/// A shorter name says nothing by being contained in another.
const SHORTEST_PART: usize = 2;
/// In a shorter name one letter is a good part of it.
const SHORTEST_NEAR: usize = 3;
/// The largest likeness by spelling.
const SAME: f64 = 2.0;

/// The name among `known` that `given` may have been meant to be, `None` if there is none like it. A name one letter
/// away comes first, unless it is the first letter: `fqcodel` is `fq_codel` rather than `codel`. One that contains it,
/// or that it contains, comes before one that is spelled alike: `reno` is `newreno` rather than `veno`. Alike is by
/// letters (Jaro-Winkler), which alone favours long names, and by edits (Damerau-Levenshtein). Two neighbouring letters
/// that changed places come before any other slip: `cgd` is `cdg` rather than `chd`, but in words so short Jaro takes
/// letters for the same only at the same place. Capitals do not count.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        let part = name.len().min(given.len()) >= SHORTEST_PART;
        let contained = part && (name.contains(&given) || given.contains(&name));
        let words = |name: &str| {
            let mut words: Vec<String> = name.split(['_', '-']).map(str::to_owned).collect();
            words.sort_unstable();
            words
        };
        if given.contains(['_', '-']) && words(&name) == words(&given) {
            // The same words in another order.
            return 6.0 * SAME;
        }
        let edits = strsim::damerau_levenshtein(&name, &given);
        let swapped = edits == 1 && strsim::levenshtein(&name, &given) == 2;
        let first = name.chars().next() == given.chars().next();
        let near = edits <= 1 && first && name.len().min(given.len()) >= SHORTEST_NEAR;
        let alike = strsim::jaro_winkler(&name, &given) + strsim::normalized_damerau_levenshtein(&name, &given);
        alike
            + if swapped { SAME } else { 0.0 }
            + if near {
                3.0 * SAME
            } else if contained {
                2.0 * SAME
            } else {
                0.0
            }
    };
    let (nearest, alike) =
        known.into_iter().map(|name| (name, likeness(name))).max_by(|(_, a), (_, b)| a.total_cmp(b))?;
    (alike >= MEANT).then_some(nearest)
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_gets_the_name_that_was_meant() {
        let names = ["cdg", "cubic", "newreno", "veno", "queue", "rate", "start", "start_jitter"];
        for (given, meant) in [
            ("cubik", "cubic"),
            ("reno", "newreno"),
            ("CDG", "cdg"),
            ("rates", "rate"),
            ("strat", "start"),
            ("que", "queue"),
        ] {
            assert_eq!(nearest(given, names), Some(meant), "{given}");
        }
        assert_eq!(nearest("rate", []), None);
    }

    #[test]
    fn letters_that_changed_places_come_before_a_wrong_one() {
        assert_eq!(nearest("cgd", ["cdg", "chd"]), Some("cdg"));
        assert_eq!(nearest("cgd", ["chd", "cdg"]), Some("cdg"));
        assert_eq!(nearest("dgc", ["cdg", "dgx"]), Some("dgx"), "one letter is nearer than two");
    }

    #[test]
    fn one_letter_comes_before_a_part() {
        assert_eq!(nearest("fqcodel", ["codel", "fq_codel", "fq"]), Some("fq_codel"));
        assert_eq!(nearest("fq_pi", ["fq", "fq_pie", "pie"]), Some("fq_pie"));
        assert_eq!(nearest("CDG", ["cda", "cdg"]), Some("cdg"));
        assert_eq!(nearest("bfif", ["fifo", "bfifo", "f"]), Some("bfifo"));
    }

    #[test]
    fn the_same_words_in_another_order_come_first() {
        assert_eq!(nearest("min_rto", ["min_rtt_window", "rto_min", "min_rtt"]), Some("rto_min"));
        assert_eq!(nearest("rfc-cubic", ["cubic", "cubic-rfc"]), Some("cubic-rfc"));
    }

    #[test]
    fn what_is_like_no_name_gets_none() {
        for (given, known) in
            [("bbr", "pert"), ("bbr", "cubic"), ("increase", "beta"), ("./ctl.py", "tcp-lp"), ("d", "c"), ("x", "path")]
        {
            assert_eq!(nearest(given, [known]), None, "{given}");
        }
        assert_eq!(nearest("cgd", ["cdg"]), Some("cdg"));
    }
}
