//! Whose turn it is among the stations of an access point: deficit round robin on airtime (Høiland-Jørgensen et al.
//! 2017, "Ending the Anomaly: Achieving Low Latency and Airtime Fairness in WiFi", algorithm 3).
//!
//! A station that begins to wait is new, and goes before the old ones while it has airtime left. All frames sent to a
//! station count, whatever became of them. Frames from it count if the access point understood them. As in mac80211 of
//! Linux a turn is 256 us, and a deficit outlasts an empty queue: uploads of a station hold back packets for it.

use std::collections::VecDeque;

use units::Span;

/// The default of mac80211 (`IEEE80211_DEFAULT_AIRTIME_WEIGHT`).
const TURN: Span = Span::from_micros(256);

/// Stations by number, in the order of their turns.
#[derive(Debug)]
pub(super) struct Airtime {
    stations: Vec<Station>,
    /// Those that began to wait lately, and the others.
    new: VecDeque<u32>,
    old: VecDeque<u32>,
}

#[derive(Clone, Copy, Debug)]
struct Station {
    /// Nanoseconds that it may use before the turn of another. Negative after more than that.
    left: i64,
    /// It is among the new ones or the old ones.
    listed: bool,
}

impl Airtime {
    pub(super) fn new(stations: usize) -> Self {
        let station = Station { left: nanos(TURN), listed: false };
        Self { stations: vec![station; stations], new: VecDeque::new(), old: VecDeque::new() }
    }

    /// Something waits for `station`: if nothing did, it is new.
    pub(super) fn list(&mut self, station: u32) {
        if !std::mem::replace(&mut self.stations[station as usize].listed, true) {
            self.new.push_back(station);
        }
    }

    /// `station` used the medium.
    pub(super) fn charge(&mut self, station: u32, airtime: Span) {
        self.stations[station as usize].left -= nanos(airtime);
    }

    /// True if `station` has airtime left.
    pub(super) fn lasts(&self, station: u32) -> bool {
        self.stations[station as usize].left > 0
    }

    /// Serves the station whose turn it is. `take` answers the packet for it, `None` if nothing waits for it.
    pub(super) fn next<T>(&mut self, mut take: impl FnMut(u32) -> Option<T>) -> Option<T> {
        loop {
            let from_new = !self.new.is_empty();
            let list = if from_new { &mut self.new } else { &mut self.old };
            let number = *list.front()?;
            let station = &mut self.stations[number as usize];
            if station.left <= 0 {
                station.left += nanos(TURN);
                list.pop_front();
                self.old.push_back(number);
            } else if let Some(taken) = take(number) {
                return Some(taken);
            } else {
                list.pop_front();
                // A new one takes a turn among the old ones, so that it cannot come back before their turn.
                if from_new {
                    self.old.push_back(number);
                } else {
                    station.listed = false;
                }
            }
        }
    }
}

fn nanos(span: Span) -> i64 {
    i64::try_from(span.as_nanos()).unwrap_or(i64::MAX)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The next stations, each of which uses the medium for so many microseconds.
    fn order(turns: &mut Airtime, uses: &[u64], count: usize) -> Vec<u32> {
        let next = |_| {
            let station = turns.next(Some)?;
            turns.charge(station, Span::from_micros(uses[station as usize]));
            Some(station)
        };
        (0..count).filter_map(next).collect()
    }

    #[test]
    fn a_turn_ends_with_its_airtime_and_what_was_used_beyond_is_owed() {
        let mut turns = Airtime::new(3);
        [1, 2].into_iter().for_each(|station| turns.list(station));
        // 256 us each. 1 sends 100 us thrice and owes 44. 2 sends 600 us and owes 344. 1 has 212 of its next turn,
        // sends thrice, and owes 88. 2 gets 256 and owes 88. 1 has 168, sends twice, and owes 32. 2 has 168.
        assert_eq!(order(&mut turns, &[0, 100, 600], 10), [1, 1, 1, 2, 1, 1, 1, 1, 1, 2]);
    }

    #[test]
    fn a_new_station_goes_before_the_old_ones_and_not_again_at_once() {
        let mut turns = Airtime::new(4);
        [1, 2].into_iter().for_each(|station| turns.list(station));
        assert_eq!(order(&mut turns, &[0, 300, 300], 2), [1, 2]);
        turns.list(3);
        let mut waits = 1;
        let mut next = |turns: &mut Airtime| {
            turns.next(|station| {
                let left = if station == 3 { &mut waits } else { return Some(station) };
                (*left > 0).then(|| (*left, *left -= 1).0).map(|_| 3)
            })
        };
        assert_eq!(next(&mut turns), Some(3));
        turns.charge(3, Span::from_micros(10));
        // Nothing waits for it now: it is old, and stays listed until its turn among those.
        assert_eq!(next(&mut turns), Some(1));
        turns.list(3);
        assert_eq!((turns.new.len(), turns.old.len()), (0, 3));
    }

    #[test]
    fn what_a_station_used_is_owed_when_it_comes_back() {
        let mut turns = Airtime::new(3);
        turns.charge(2, Span::from_micros(1200));
        [1, 2].into_iter().for_each(|station| turns.list(station));
        // 2 has 256 - 1200 = -944 us and gets four turns meanwhile: 80 us at the fourth, behind the fifth of 1.
        assert!(!turns.lasts(2) && turns.lasts(1));
        assert_eq!(order(&mut turns, &[0, 256, 100], 6), [1, 1, 1, 1, 1, 2]);
    }
}
