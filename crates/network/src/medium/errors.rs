//! Frame errors: by rate, or by the ratio of signal to noise at a distance.

/// How frames between two stations are lost while nobody else sends.
#[derive(Clone, Debug, Default, PartialEq)]
pub enum FrameErrors {
    /// Never.
    #[default]
    None,
    /// With a probability for each rate, whatever their length: kbit/s of the slowest rate it is for, in ascending
    /// order.
    ByRate(Vec<(u32, f64)>),
}

impl FrameErrors {
    /// The probability that a frame at `kbit` is lost.
    pub fn probability(&self, kbit: u32) -> f64 {
        match self {
            Self::None => 0.0,
            Self::ByRate(rates) => {
                rates.iter().take_while(|(from, _)| *from <= kbit).last().map_or(0.0, |&(_, probability)| probability)
            }
        }
    }
}
