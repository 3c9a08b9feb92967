//! The columns of a table, by their names: a quantity and its unit.

/// The meaning of a column, with the factor that its unit brings.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(super) enum Column {
    /// Without a unit it holds dates.
    Time(Option<f64>),
    Rate(f64),
    /// Bytes that passed in the interval of the row.
    Bytes,
    Interval(f64),
    Delay(f64),
    Rtt(f64),
    Loss(f64),
    Ignored,
}

/// Words in names of columns for times, and their lengths in seconds.
const SECONDS: [(&str, f64); 10] = [
    ("s", 1.0),
    ("sec", 1.0),
    ("secs", 1.0),
    ("seconds", 1.0),
    ("ms", 1e-3),
    ("millis", 1e-3),
    ("us", 1e-6),
    ("µs", 1e-6),
    ("ns", 1e-9),
    ("min", 60.0),
];

/// Words for rates, in bits per second. Logs mean bits by `Mbps`, unlike `tc`, which writes no tables.
const BITS: [(&str, f64); 14] = [
    ("bit", 1.0),
    ("kbit", 1e3),
    ("mbit", 1e6),
    ("gbit", 1e9),
    ("bit/s", 1.0),
    ("kbit/s", 1e3),
    ("mbit/s", 1e6),
    ("gbit/s", 1e9),
    ("bps", 1.0),
    ("kbps", 1e3),
    ("mbps", 1e6),
    ("gbps", 1e9),
    ("bytes/s", 8.0),
    ("byte/s", 8.0),
];

/// Units of bytes in which some mean bits.
const AMBIGUOUS: [&str; 7] = ["KBps", "kBps", "MBps", "GBps", "KB/s", "kB/s", "MB/s"];

const SHARES: [&str; 3] = ["%", "percent", "pct"];

/// The parts of a name that other characters keep apart: `Time (s)`, `loss_percent`, `popPingLatencyMs`.
fn words(name: &str) -> Vec<String> {
    let parts = name.split(|c: char| !(c.is_alphanumeric() || c == '/' || c == '%')).filter(|part| !part.is_empty());
    let mut words = Vec::new();
    for part in parts {
        if AMBIGUOUS.contains(&part) {
            words.push(part.to_owned());
            continue;
        }
        let lower = part.to_lowercase();
        if BITS.iter().any(|(unit, _)| *unit == lower) {
            words.push(lower);
            continue;
        }
        // Capitals within a word begin another one.
        let mut before = None;
        let mut word = String::new();
        for letter in part.chars() {
            if letter.is_uppercase() && before.is_some_and(char::is_lowercase) {
                words.push(std::mem::take(&mut word));
            }
            word.extend(letter.to_lowercase());
            before = Some(letter);
        }
        words.push(word);
    }
    words
}

impl Column {
    /// The column called `name`.
    pub(super) fn named(name: &str) -> Result<Self, String> {
        let words = words(name);
        let has = |names: &[&str]| words.iter().any(|word| names.contains(&word.as_str()));
        let find = |known: &[(&str, f64)]| {
            let unit = words.iter().rev().find_map(|word| known.iter().find(|(unit, _)| unit == word));
            unit.map(|&(_, factor)| factor)
        };
        let unit = |known: &[(&str, f64)], example: &str| {
            if let Some(word) = words.iter().find(|word| AMBIGUOUS.contains(&word.as_str())) {
                return Err(format!(
                    "the column `{name}`: `{word}` is bits to some and bytes to others; name it like `{example}`, or \
                     `rate_bytes/s`"
                ));
            }
            find(known).ok_or_else(|| {
                format!(
                    "the column `{name}` has no unit that is known here: name it like `{example}`, or write columns = \
                     \"{name}={example}\" beside `trace`"
                )
            })
        };
        Ok(if has(&["interval", "elapsed", "duration"]) {
            Self::Interval(unit(&SECONDS, "interval_ms")?)
        } else if has(&["loss", "plr"]) || (has(&["drop"]) && (has(&["rate", "ratio"]) || has(&SHARES))) {
            Self::Loss(if has(&SHARES) { 0.01 } else { 1.0 })
        } else if has(&["rate", "bitrate", "throughput", "goodput", "bandwidth", "capacity", "bw"]) {
            Self::Rate(unit(&BITS, "rate_mbit")?)
        } else if has(&["rtt", "ping"]) {
            Self::Rtt(unit(&SECONDS, "rtt_ms")?)
        } else if has(&["delay", "latency", "owd"]) {
            Self::Delay(unit(&SECONDS, "delay_ms")?)
        } else if has(&["bytes"]) {
            Self::Bytes
        } else if has(&["time", "t", "timestamp", "date", "datetime"]) {
            Self::Time(find(&SECONDS))
        } else {
            Self::Ignored
        })
    }

    /// A column of rates called `name`, by a unit that counts by the second: `Download (Mbps)`.
    pub(super) fn by_unit(name: &str) -> Option<Self> {
        let words = words(name);
        let known = words.iter().rev().find_map(|word| BITS.iter().find(|(unit, _)| unit == word));
        known.filter(|(unit, _)| unit.ends_with("bps") || unit.ends_with("/s")).map(|&(_, factor)| Self::Rate(factor))
    }

    /// Values of this kind in words.
    pub(super) const fn kind(self) -> &'static str {
        match self {
            Self::Time(_) => "times",
            Self::Rate(_) => "rates",
            Self::Bytes => "counts of bytes",
            Self::Interval(_) => "intervals",
            Self::Delay(_) => "delays",
            Self::Rtt(_) => "RTTs",
            Self::Loss(_) => "losses",
            Self::Ignored => "other values",
        }
    }

    /// The factor of its unit.
    pub(super) fn factor(self) -> f64 {
        match self {
            Self::Time(factor) => factor.unwrap_or(1.0),
            Self::Rate(factor) | Self::Interval(factor) | Self::Delay(factor) | Self::Rtt(factor) => factor,
            Self::Loss(factor) => factor,
            Self::Bytes => 8.0,
            Self::Ignored => 0.0,
        }
    }
}

/// The columns of `header` that `chosen` names, each perhaps with another name: `rate=rate_kbit`. Columns of times stay
/// unless `chosen` has one. `None` if a word of `chosen` is in no header: it names columns by their places.
pub(super) fn choose(header: &[String], chosen: &[String]) -> Option<Vec<String>> {
    let place = |wanted: &str| header.iter().position(|name| name.eq_ignore_ascii_case(wanted.trim()));
    let mut names = vec!["-".to_owned(); header.len()];
    for word in chosen {
        let (wanted, called) = match place(word) {
            Some(_) => (word.as_str(), word.as_str()),
            None => word.rsplit_once('=')?,
        };
        called.trim().clone_into(&mut names[place(wanted)?]);
    }
    let is_time = |name: &String| matches!(Column::named(name), Ok(Column::Time(_) | Column::Interval(_)));
    if !names.iter().any(is_time) {
        for (name, given) in names.iter_mut().zip(header) {
            if is_time(given) {
                name.clone_from(given);
            }
        }
    }
    Some(names)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_have_a_quantity_and_a_unit() {
        for (name, column) in [
            ("Time (s)", Column::Time(Some(1.0))),
            ("timestamp", Column::Time(None)),
            ("DL_bitrate (kbit/s)", Column::Rate(1e3)),
            ("RATE(MBit/s)", Column::Rate(1e6)),
            ("throughput_mbps", Column::Rate(1e6)),
            ("bandwidth_kbps", Column::Rate(1e3)),
            ("downlinkThroughputBps", Column::Rate(1.0)),
            ("duration_ms", Column::Interval(1e-3)),
            ("popPingLatencyMs", Column::Rtt(1e-3)),
            ("popPingDropRate", Column::Loss(1.0)),
            ("loss_rate", Column::Loss(1.0)),
            ("packet loss rate [%]", Column::Loss(0.01)),
            ("latency_ms", Column::Delay(1e-3)),
            ("Speed", Column::Ignored),
            ("jitter_ms", Column::Ignored),
            ("drops", Column::Ignored),
        ] {
            assert_eq!(Column::named(name), Ok(column), "{name}");
        }
        let refused = |name: &str| Column::named(name).unwrap_err();
        assert!(refused("rate_MBps").contains("bits to some and bytes to others"));
        assert!(refused("DL_bitrate").ends_with("columns = \"DL_bitrate=rate_mbit\" beside `trace`"));
    }

    #[test]
    fn a_unit_by_the_second_names_a_rate() {
        assert_eq!(Column::by_unit("Download (Mbps)"), Some(Column::Rate(1e6)));
        assert_eq!(Column::by_unit("UL [kbit/s]"), Some(Column::Rate(1e3)));
        assert_eq!(Column::by_unit("received bytes/s"), Some(Column::Rate(8.0)));
        for name in ["Download", "mbit", "speed (m/s)", "jitter_ms"] {
            assert_eq!(Column::by_unit(name), None, "{name}");
        }
    }

    #[test]
    fn columns_are_chosen_by_name_and_keep_their_times() {
        let header = ["Timestamp", "Speed", "DL_bitrate", "UL_bitrate"].map(str::to_owned);
        let chosen = |words: &[&str]| choose(&header, &words.iter().map(|&word| word.into()).collect::<Vec<_>>());
        let names = |words: [&str; 4]| Some(words.map(str::to_owned).to_vec());
        assert_eq!(chosen(&["dl_bitrate=rate_kbit"]), names(["Timestamp", "-", "rate_kbit", "-"]));
        assert_eq!(chosen(&["Speed=time_s", "UL_bitrate"]), names(["-", "time_s", "-", "UL_bitrate"]));
        assert_eq!(chosen(&["time_s", "-", "rate_kbit", "-"]), None);
    }
}
