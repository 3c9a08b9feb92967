//! Times of day with their date, as loggers write them: ISO 8601, the `date` of Unix, RFC 5322, and full stops in
//! place of colons.

const NANOS: i64 = 1_000_000_000;
const MONTHS: [&str; 12] = ["jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec"];
const DAYS: [&str; 7] = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"];
const MONTHS_A_YEAR: i64 = 12;

/// A moment, and the zone of its clock if that has a name whose distance from UTC is not known.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Date {
    /// Nanoseconds since 1970, of UTC or of the zone.
    pub(super) nanos: i64,
    pub(super) zone: String,
}

/// The parts of a date that were read.
#[derive(Default)]
struct Parts {
    year: Option<i64>,
    month: Option<i64>,
    day: Option<i64>,
    /// Nanoseconds since midnight.
    clock: Option<i64>,
    afternoon: Option<bool>,
    zone: Option<String>,
}

impl Date {
    /// The date that is all of `text`.
    pub(super) fn read(text: &str) -> Option<Self> {
        let text = apart(text);
        let mut parts = Parts::default();
        for word in text.split([' ', ',', '_']).filter(|word| !word.is_empty()) {
            parts.read(word)?;
        }
        let (year, month, day) = (parts.year?, parts.month?, parts.day?);
        if !(1..=MONTHS_A_YEAR).contains(&month) || !(1..=31).contains(&day) {
            return None;
        }
        let mut clock = parts.clock?;
        if let Some(afternoon) = parts.afternoon {
            // Twelve o'clock comes before one.
            let hours = clock / (3600 * NANOS);
            clock += match (afternoon, hours) {
                (true, 1..=11) => 12 * 3600 * NANOS,
                (false, 12) => -12 * 3600 * NANOS,
                _ => 0,
            };
        }
        let zone = parts.zone.unwrap_or_default();
        let (offset, zone) = match offset(&zone) {
            Some(seconds) => (seconds, String::new()),
            None => (0, zone),
        };
        let nanos = days(year, month, day).checked_mul(86_400 * NANOS)?.checked_add(clock - offset * NANOS)?;
        Some(Self { nanos, zone })
    }
}

impl Parts {
    fn read(&mut self, word: &str) -> Option<()> {
        let lower = word.to_lowercase();
        let beginning = lower.get(..3).unwrap_or_default();
        let letters = word.chars().all(char::is_alphabetic);
        if self.year.is_none() && self.month.is_none() && self.read_day(word).is_some() {
            return Some(());
        }
        if self.clock.is_none() && self.read_clock(word).is_some() {
            return Some(());
        }
        if let Some(month) = MONTHS.iter().position(|month| letters && *month == beginning) {
            set(&mut self.month, month as i64 + 1)
        } else if letters && DAYS.contains(&beginning) {
            Some(())
        } else if lower == "am" || lower == "pm" {
            set(&mut self.afternoon, lower == "pm")
        } else if let Ok(number) = whole(word) {
            if word.len() == 4 { set(&mut self.year, number) } else { set(&mut self.day, number) }
        } else if word.len() <= "+00:00".len() && (letters || offset(word).is_some()) {
            set(&mut self.zone, word.to_owned())
        } else {
            None
        }
    }

    /// `2019.11.25`, `2024-05-01`, `2024/05/01`: with the year first, so that day and month are certain.
    fn read_day(&mut self, word: &str) -> Option<()> {
        let numbers: Vec<&str> = word.split(['-', '.', '/']).collect();
        let [year, month, day] = numbers.as_slice() else { return None };
        if year.len() != 4 {
            return None;
        }
        let (year, month, day) = (whole(year).ok()?, whole(month).ok()?, whole(day).ok()?);
        (self.year, self.month, self.day) = (Some(year), Some(month), Some(day));
        Some(())
    }

    /// `15:34`, `15:34:34.25`, `15.34.34`, perhaps with a zone behind it.
    fn read_clock(&mut self, word: &str) -> Option<()> {
        let end = word.find(|c: char| !(c.is_ascii_digit() || c == ':' || c == '.')).unwrap_or(word.len());
        let (clock, zone) = word.split_at(end);
        let mut numbers = clock.split([':', '.']);
        let (hours, minutes) = (whole(numbers.next()?).ok()?, whole(numbers.next()?).ok()?);
        let (seconds, fraction) = (numbers.next().unwrap_or("0"), numbers.next().unwrap_or("0"));
        let seconds = whole(seconds).ok()?;
        // A leap second is the 61st of its minute.
        if numbers.next().is_some() || fraction.len() > 9 || hours > 23 || minutes > 59 || seconds > 60 {
            return None;
        }
        let nanos = whole(&format!("{fraction:0<9}")).ok()?;
        self.clock = Some((hours * 3600 + minutes * 60 + seconds) * NANOS + nanos);
        if zone.is_empty() { Some(()) } else { set(&mut self.zone, zone.to_owned()) }
    }
}

/// Fills a part that was empty.
fn set<T>(part: &mut Option<T>, value: T) -> Option<()> {
    part.is_none().then(|| *part = Some(value))
}

fn whole(text: &str) -> Result<i64, ()> {
    if !text.is_empty() && text.len() <= 9 && text.bytes().all(|byte| byte.is_ascii_digit()) {
        text.parse().map_err(|_| ())
    } else {
        Err(())
    }
}

/// `text` with a blank in place of the T between date and clock.
fn apart(text: &str) -> String {
    let letters: Vec<char> = text.trim().chars().collect();
    let digit = |at: Option<usize>| at.and_then(|at| letters.get(at)).is_some_and(char::is_ascii_digit);
    let one = |(at, &c): (usize, &char)| {
        if (c == 'T' || c == 't') && digit(at.checked_sub(1)) && digit(at.checked_add(1)) { ' ' } else { c }
    };
    letters.iter().enumerate().map(one).collect()
}

/// The seconds by which a zone is before UTC: `Z`, `+02:00`, `-0500`.
fn offset(zone: &str) -> Option<i64> {
    if ["Z", "UTC", "GMT"].contains(&zone.to_uppercase().as_str()) {
        return Some(0);
    }
    let (sign, rest) = match zone.split_at_checked(1)? {
        ("+", rest) => (1, rest),
        ("-", rest) => (-1, rest),
        _ => return None,
    };
    let digits = rest.replace(':', "");
    let number = whole(&digits).ok()?;
    match digits.len() {
        2 => Some(sign * number * 3600),
        4 => Some(sign * (number / 100 * 3600 + number % 100 * 60)),
        _ => None,
    }
}

/// The days from 1 January 1970 to a day of the Gregorian calendar. Years begin in March, so that the leap day is the
/// last one.
fn days(year: i64, month: i64, day: i64) -> i64 {
    let year = if month > 2 { year } else { year - 1 };
    let since_march = (month + 9) % MONTHS_A_YEAR;
    // 153 days in each five months from March on.
    let day_of_year = (153 * since_march + 2) / 5 + day - 1;
    let leap_days = year.div_euclid(4) - year.div_euclid(100) + year.div_euclid(400);
    // 719468 days from 1 March of year 0 until 1970.
    365 * year + leap_days + day_of_year - 719_468
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn dates_of_loggers_are_read() {
        // Seconds by `date -u -d`.
        for (text, seconds, nanos, zone) in [
            ("2019.11.25_15.34.34", 1_574_696_074, 0, ""),
            ("Fri Dec 17 14:06:06 UTC 2021", 1_639_749_966, 0, ""),
            ("Fri Dec 17 02:06:06 PM UTC 2021", 1_639_749_966, 0, ""),
            ("Fri, 17 Dec 2021 14:06:06 +0000", 1_639_749_966, 0, ""),
            ("17/Dec/2021", 0, -1, ""),
            ("2023-04-12 10:40:20 CDT", 1_681_296_020, 0, "CDT"),
            ("2024-05-01T10:00:00.25+02:00", 1_714_550_400, 250_000_000, ""),
            ("2024/05/01 08:00Z", 1_714_550_400, 0, ""),
            ("2024-05-01 10:00:00+02", 1_714_550_400, 0, ""),
            ("2024-05-01 02:30:00-0530", 1_714_550_400, 0, ""),
            ("2000-02-29 00:00:00", 951_782_400, 0, ""),
            ("1970-01-01 12:00:00 AM", 0, 0, ""),
            ("May 2 2024 00:00:01", 1_714_608_001, 0, ""),
            ("10:00:00", 0, -1, ""),
            ("2024-13-01 10:00:00", 0, -1, ""),
            ("2024-05-01 25:00:00", 0, -1, ""),
            ("05/01/2024 10:00:00", 0, -1, ""),
            ("14.0", 0, -1, ""),
            ("hello", 0, -1, ""),
            ("", 0, -1, ""),
        ] {
            let date = (nanos >= 0).then(|| Date { nanos: seconds * NANOS + nanos, zone: zone.to_owned() });
            assert_eq!(Date::read(text), date, "{text}");
        }
    }
}
