//! TCP-Gentle in whole numbers, as listing 7.1 of the thesis has it and `kernel/gentle.h` computes. Windows are whole
//! segments, and grow once the segments counted, times alpha, make a window. RTTs are in whole microseconds, alpha in
//! 65536ths. `controllers/gentle_1.rs` has the rules.

use crate::controllers::gentle_1::{self, Gentle, Numbers, Settings, VERSION_2};
use crate::entry::{Form, with_values};
use crate::parts::queue_bounded::QueueBounded;

/// The form of TCP-Gentle-1.
pub(crate) const FORM: Form = with_values!(Settings, Gentle::<Whole>, gentle_1::ENTRY, &[]);
/// The form of TCP-Gentle-2.
pub(crate) const SECOND: Form = with_values!(Settings, Gentle::<Whole>, gentle_1::ENTRY, VERSION_2);

/// The parts of a segment in which alpha is stored.
const PARTS: f64 = 65536.0;

/// Whole numbers.
#[derive(Clone, Copy, Debug)]
struct Whole;

impl Numbers for Whole {
    const WHOLE: bool = true;

    fn increase(alpha: f64) -> f64 {
        (alpha * PARTS).floor() / PARTS
    }

    fn damped(most: f64, strength: f64, q_max: u32, queue: f64) -> f64 {
        let divisor = (strength * queue) as u64;
        ((most * PARTS) as u64 * u64::from(q_max) / divisor.max(1)) as f64 / PARTS
    }

    fn grow(bounded: &mut QueueBounded, credit: f64, alpha: f64) {
        let QueueBounded { reno, counter, .. } = bounded;
        let (counted, window) = (u64::from(counter.add(credit as u32)), reno.window as u64);
        let grown = counted * (alpha * PARTS) as u64 / PARTS as u64;
        if grown >= window {
            reno.window += (grown / window) as f64;
            counter.clear();
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::parts::decongestion::Limits;

    #[test]
    fn windows_grow_once_the_segments_counted_make_them() {
        let limits = Limits { queue: 80, phi: 8, gamma: 1, epsilon: 1, delta: 3, rho: 16, whole: true };
        let mut bounded = QueueBounded::new(limits, 50);
        bounded.reno.window = 100.0;
        // alpha = 4: 25 segments make a hundred.
        for n in 1..=25 {
            Whole::grow(&mut bounded, 1.0, 4.0);
            assert_eq!(bounded.reno.window, if n < 25 { 100.0 } else { 101.0 });
        }
    }

    #[test]
    fn increases_are_whole_parts_of_a_segment() {
        // 0.3 * 65536 = 19660.8; 2/9 * 80/70 is 16644.06 parts; a queue of less than a segment divides by one.
        assert_eq!(Whole::increase(0.3) * PARTS, 19660.0);
        assert_eq!(Whole::damped(2.0, 9.0, 80, 70.0) * PARTS, 16644.0);
        assert_eq!(Whole::damped(2.0, 1.0, 80, 0.5), 160.0);
    }
}
