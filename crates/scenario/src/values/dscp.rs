//! The code point of DiffServ (RFC 2474) in the packets of a flow.

use std::fmt;
use std::str::FromStr;

use units::ParseError;

use super::spelled;

/// A code point, spelled by name like `EF` or as a number up to 63.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Dscp(pub u8);

/// Expedited forwarding, admitted voice and lower effort (RFC 3246, 5865, 8622). The others are class selectors and
/// assured forwarding (RFC 2474, 2597).
const NAMES: [(&str, u8); 3] = [("EF", 46), ("VA", 44), ("LE", 1)];

impl fmt::Display for Dscp {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (class, rest) = (self.0 / 8, self.0 % 8);
        match NAMES.iter().find(|(_, code)| *code == self.0) {
            Some((name, _)) => f.write_str(name),
            None if rest == 0 => write!(f, "CS{class}"),
            None if (1..=4).contains(&class) && rest % 2 == 0 => write!(f, "AF{class}{}", rest / 2),
            None => write!(f, "{}", self.0),
        }
    }
}

impl FromStr for Dscp {
    type Err = ParseError;

    fn from_str(text: &str) -> Result<Self, ParseError> {
        let text = text.trim();
        let all = (0..64).map(Self);
        let mut named = all.clone().filter(|code| code.to_string().eq_ignore_ascii_case(text));
        let mut numbered = all.filter(|code| code.0.to_string() == text);
        named.next().or_else(|| numbered.next()).ok_or_else(|| {
            let allowed = "`EF`, `VA`, `LE`, `CS0` to `CS7`, `AF11` to `AF43`, or a number up to 63";
            ParseError::new(format!("`{text}` is no code point of DiffServ: write {allowed}"))
        })
    }
}

spelled!(
    Dscp,
    "a code point like \"EF\", \"CS1\", \"AF41\" or \"46\"",
    r"^\s*([A-Za-z]{2,3}[0-9]{0,2}|[0-9]{1,2})\s*$",
    "A code point of DiffServ (DSCP): a name like EF, CS1 or AF41, or a number up to 63"
);

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn code_points_have_names_and_numbers() {
        let read = |text: &str| text.parse::<Dscp>().map(|code| code.0).ok();
        let known = ["EF", "46", "ef", "CS0", "0", "CS7", "AF11", "AF43", "LE", "VA"];
        assert_eq!(known.map(read), [46, 46, 46, 0, 0, 56, 10, 38, 1, 44].map(Some));
        assert_eq!(["64", "-1", "CS8", "AF14", "AF51", "", "voice"].map(read), [None; 7]);
        for code in 0..64 {
            assert_eq!(read(&Dscp(code).to_string()), Some(code));
        }
    }
}
