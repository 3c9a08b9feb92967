//! Growth in whole segments, as Linux counts it: acknowledged segments are counted, and so many of them open the window
//! by one (`tcp_cong_avoid_ai` since 3.19).

use crate::Reno;

/// Segments that were acknowledged and have not opened the window yet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Counter(u32);

impl Counter {
    /// `acknowledged` segments arrive, of which `every` open the window by one. What was counted while more were needed
    /// opens it by one at most.
    pub(crate) fn count(&mut self, reno: &mut Reno, every: u32, acknowledged: u32) {
        let every = every.max(1);
        if self.0 >= every {
            self.0 = 0;
            reno.window += 1.0;
        }
        self.0 += acknowledged;
        reno.window += f64::from(self.0 / every);
        self.0 %= every;
    }

    /// A reduction begins: the count starts anew.
    pub(crate) fn clear(&mut self) {
        self.0 = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_window_of_acks_opens_the_window_by_one() {
        let (mut counter, mut reno) = (Counter::default(), Reno { window: 10.0, threshold: 2.0 });
        for _ in 0..9 {
            counter.count(&mut reno, 10, 1);
        }
        assert_eq!(reno.window, 10.0);
        counter.count(&mut reno, 10, 1);
        assert_eq!((reno.window, counter), (11.0, Counter(0)));
    }

    #[test]
    fn one_ack_of_many_segments_opens_it_by_several() {
        let (mut counter, mut reno) = (Counter::default(), Reno { window: 10.0, threshold: 2.0 });
        counter.count(&mut reno, 4, 11);
        // 11 are twice 4, and 3.
        assert_eq!((reno.window, counter), (12.0, Counter(3)));
    }

    #[test]
    fn what_was_counted_for_a_larger_window_counts_for_one_segment() {
        let (mut counter, mut reno) = (Counter(19), Reno { window: 20.0, threshold: 2.0 });
        counter.count(&mut reno, 5, 2);
        assert_eq!((reno.window, counter), (21.0, Counter(2)));
    }
}
