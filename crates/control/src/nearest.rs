//! What a misspelled name was meant to be.

/// The name among `known` that `given` was most likely meant to be; `None` if none is known. One that contains it, or
/// that it contains, comes before one that is spelled alike: `reno` is `newreno` rather than `cdg`. Alike is by letters
/// (Jaro-Winkler), which alone favours long names, and by edits (Damerau-Levenshtein). Capitals do not count.
pub fn nearest<'a>(given: &str, known: impl IntoIterator<Item = &'a str>) -> Option<&'a str> {
    let given = given.to_lowercase();
    let likeness = |name: &str| {
        let name = name.to_lowercase();
        let contained = name.contains(&given) || given.contains(&name);
        let alike = strsim::jaro_winkler(&name, &given) + strsim::normalized_damerau_levenshtein(&name, &given);
        f64::from(u8::from(contained)) + alike
    };
    known.into_iter().max_by(|a, b| likeness(a).total_cmp(&likeness(b)))
}

#[cfg(test)]
mod tests {
    use super::nearest;

    #[test]
    fn a_slip_gets_the_name_that_was_meant() {
        let names = ["cdg", "cubic", "newreno", "queue", "rate", "start", "start_jitter"];
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
}
