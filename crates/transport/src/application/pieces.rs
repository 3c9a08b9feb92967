//! The pieces of a send buffer that have left: Linux's retransmit queue. A SACK block that ends within a piece, and a
//! retransmission of a part of it, split it.
//!
//! Linux refuses to split a piece while the queue takes far more memory than the send buffer has (tcp_fragment, the
//! counter TCPWqueueTooBig). Then the block does not count, and the retransmission waits until all of its piece may
//! leave. The first and the last piece are always split.

use std::collections::VecDeque;

/// The pieces that have left, and have not arrived as a whole.
#[derive(Clone, Debug, Default)]
pub(super) struct Pieces {
    /// The number behind the last segment of each.
    ends: VecDeque<u64>,
    /// The SACK blocks [start, end) of the last ACK that had some, ascending (recv_sack_cache).
    seen: Vec<(u64, u64)>,
}

/// The memory within which pieces are split, in bytes.
#[derive(Clone, Copy, Debug)]
pub(super) struct SplitLimit {
    /// Memory in use besides that of the descriptions of these pieces.
    pub(super) others: u64,
    /// Memory of a description.
    pub(super) per_piece: u64,
    /// The most.
    pub(super) most: u64,
}

impl Pieces {
    /// How many there are.
    pub(super) fn len(&self) -> usize {
        self.ends.len()
    }

    /// A piece has left, whose last segment is in front of `end`.
    pub(super) fn push(&mut self, end: u64) {
        self.ends.push_back(end);
    }

    /// Segments below `first` are acknowledged.
    pub(super) fn acknowledge(&mut self, first: u64) {
        while self.ends.front().is_some_and(|&end| end <= first) {
            self.ends.pop_front();
        }
    }

    /// The index of the piece with segment `number`, if that is in one.
    fn index(&self, number: u64) -> usize {
        self.ends.partition_point(|&end| end <= number)
    }

    /// Splits a piece in front of segment `at`. Says whether that is allowed.
    fn split(&mut self, index: usize, at: u64, limit: SplitLimit) -> bool {
        let is_edge = index == 0 || index + 1 == self.ends.len();
        let memory = limit.others + self.ends.len() as u64 * limit.per_piece;
        if !is_edge && memory / 2 > limit.most {
            return false;
        }
        self.ends.insert(index, at);
        true
    }

    /// Says whether segment `sequence`, and others of its piece, may leave again where `segments` may: all of the
    /// piece, or a part that is split off (__tcp_retransmit_skb).
    pub(super) fn leaves_again(&mut self, sequence: u64, segments: u64, limit: SplitLimit) -> bool {
        let index = self.index(sequence);
        let fits = |&end: &u64| end <= sequence + segments;
        self.ends.get(index).is_none_or(fits) || self.split(index, sequence + segments, limit)
    }

    /// Segment `sequence` of the last piece leaves again alone.
    pub(super) fn split_last(&mut self, sequence: u64) {
        if self.ends.len() > 1 && self.ends[self.ends.len() - 2] < sequence {
            self.ends.insert(self.ends.len() - 1, sequence);
        }
    }

    /// An ACK with `blocks`, which ascend, arrives. Segments below `first` are acknowledged before it. `is_sacked` says
    /// which segments are SACKed, and `highest` is the number behind the last of them. Hands each range of segments to
    /// `count` that counts as SACKed now (tcp_sacktag_write_queue).
    pub(super) fn tag(
        &mut self,
        first: u64,
        blocks: &[(u64, u64)],
        (highest, is_sacked): (Option<u64>, impl Fn(u64) -> bool),
        limit: SplitLimit,
        mut count: impl FnMut(u64, u64),
    ) {
        let mut seen = std::mem::take(&mut self.seen);
        if highest.is_none() {
            seen.clear();
        }
        let (mut from, mut highest) = (first, highest.unwrap_or(first));
        for &(start, end) in blocks {
            let mut walk = |from: u64, highest: &mut u64, to: u64| {
                if let Some((low, high)) = self.walk(first, (start, to), from.max(start), &is_sacked, limit) {
                    *highest = (*highest).max(high);
                    count(low, high);
                }
                from.max(to)
            };
            let mut known = start;
            for &(low, high) in seen.iter().filter(|&&(low, high)| start < high && low < end) {
                if start < low {
                    from = walk(from, &mut highest, low);
                }
                (from, known) = (from.max(high), high);
            }
            if known < end {
                // Beyond the highest SACKed segment all of the block is looked at again.
                from = walk(if highest <= start && known != highest { start } else { from }, &mut highest, end);
            }
        }
        seen.clear();
        seen.extend_from_slice(blocks);
        self.seen = seen;
    }

    /// Looks at the pieces from that of segment `from` to the end of a block, for those that lie in it. Returns the
    /// range of their segments. A piece behind a SACKed one becomes a part of that, which is no split
    /// (tcp_sacktag_walk, tcp_shift_skb_data).
    fn walk(
        &mut self,
        first: u64,
        (start, end): (u64, u64),
        from: u64,
        is_sacked: impl Fn(u64) -> bool,
        limit: SplitLimit,
    ) -> Option<(u64, u64)> {
        let mut tagged: Option<(u64, u64)> = None;
        let mut index = self.index(from);
        while index < self.ends.len() {
            let low = if index == 0 { first } else { self.ends[index - 1] };
            let high = self.ends[index];
            if end <= low {
                break;
            }
            let follows = tagged.map_or_else(|| low > first && is_sacked(low - 1), |(_, to)| to == low);
            if start <= low && index > 0 && follows {
                let to = high.min(end);
                self.ends[index - 1] = to;
                if to == high {
                    self.ends.remove(index);
                    if index < self.ends.len() && is_sacked(high) {
                        self.ends.remove(index - 1);
                    }
                }
                tagged = Some((tagged.map_or(low, |(from, _)| from), to));
            } else if start <= low && high <= end {
                tagged = Some((tagged.map_or(low, |(from, _)| from), high));
                index += 1;
            } else if start < high {
                let at = if start > low { start } else { end };
                if !self.split(index, at, limit) {
                    break;
                }
                if start <= low {
                    tagged = Some((tagged.map_or(low, |(from, _)| from), at));
                }
                index += 1;
            } else {
                index += 1;
            }
        }
        tagged
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Splits nothing but the first and the last piece.
    const FULL: SplitLimit = SplitLimit { others: 1000, per_piece: 0, most: 499 };
    const FREE: SplitLimit = SplitLimit { most: 500, ..FULL };

    fn pieces(ends: &[u64]) -> Pieces {
        Pieces { ends: ends.iter().copied().collect(), ..Pieces::default() }
    }

    /// Ranges that count, after those of `sacked`, with segments from 0 on.
    fn tagged(pieces: &mut Pieces, blocks: &[(u64, u64)], sacked: &[(u64, u64)], limit: SplitLimit) -> Vec<(u64, u64)> {
        let mut found = Vec::new();
        let is_sacked = |number| sacked.iter().any(|&(low, high)| low <= number && number < high);
        let highest = sacked.iter().map(|&(_, high)| high).max();
        pieces.tag(0, blocks, (highest, is_sacked), limit, |low, high| found.push((low, high)));
        found
    }

    #[test]
    fn a_block_within_a_piece_splits_it_and_counts() {
        let mut pieces = pieces(&[4, 8, 12]);
        assert_eq!(tagged(&mut pieces, &[(5, 7)], &[], FREE), [(5, 7)]);
        assert_eq!(pieces.ends, [4, 5, 7, 8, 12]);
    }

    #[test]
    fn a_block_counts_as_far_as_it_has_whole_pieces_where_none_is_split() {
        let all = |blocks: &[(u64, u64)]| tagged(&mut pieces(&[4, 8, 12, 16]), blocks, &[], FULL);
        // The first missing segment of a piece hides the others, and the block behind them.
        assert_eq!(all(&[(5, 8)]), []);
        assert_eq!(all(&[(5, 12)]), []);
        assert_eq!(all(&[(4, 8)]), [(4, 8)]);
        // A part behind a SACKed piece joins that.
        assert_eq!(all(&[(4, 11)]), [(4, 11)]);
        assert_eq!(all(&[(5, 7), (8, 12)]), [(8, 12)]);
        // The first and the last piece are split: the first of them once, as the rest is not the first any more.
        assert_eq!(all(&[(1, 4), (14, 15)]), [(1, 4), (14, 15)]);
        assert_eq!(all(&[(1, 3)]), []);
    }

    #[test]
    fn a_block_that_grows_counts_once_a_piece_is_whole() {
        let mut pieces = pieces(&[4, 8, 12, 16]);
        let mut sacked = vec![(13, 14)];
        for (end, found) in [(5, vec![]), (7, vec![]), (8, vec![(4, 8)]), (9, vec![(8, 9)]), (10, vec![(9, 10)])] {
            assert_eq!(tagged(&mut pieces, &[(4, end)], &sacked, FULL), found, "{end}");
            sacked.extend(found);
        }
        assert_eq!(pieces.ends, [4, 10, 12, 16], "the third has lost its first segments to the second");
    }

    #[test]
    fn a_part_that_the_last_ack_reported_is_not_looked_at_again() {
        let mut pieces = pieces(&[4, 8, 12, 16]);
        let other = [(0, 1)];
        assert_eq!(tagged(&mut pieces, &[(5, 8)], &other, FULL), []);
        // There is room for the split now, and the block has been seen.
        assert_eq!(tagged(&mut pieces, &[(5, 8)], &other, FREE), []);
        assert_eq!(tagged(&mut pieces, &[(5, 12)], &other, FULL), [], "the first is looked at again");
        assert_eq!(tagged(&mut pieces, &[(5, 12)], &[(0, 1), (13, 14)], FULL), []);
        pieces.seen = vec![(5, 8)];
        assert_eq!(tagged(&mut pieces, &[(5, 12)], &[(0, 1), (13, 14)], FULL), [(8, 12)]);
        // None is SACKed: all is new.
        assert_eq!(tagged(&mut pieces, &[(5, 8)], &[], FREE), [(5, 8)]);
    }

    #[test]
    fn a_hole_that_is_filled_joins_the_pieces_around_it() {
        let mut pieces = pieces(&[4, 8, 12, 16]);
        let sacked = [(4, 8), (12, 16)];
        pieces.seen = sacked.to_vec();
        assert_eq!(tagged(&mut pieces, &[(4, 16)], &sacked, FULL), [(8, 12)]);
        assert_eq!(pieces.ends, [4, 16]);
    }

    #[test]
    fn a_part_of_a_piece_leaves_again_only_where_it_is_split() {
        let mut pieces = pieces(&[4, 8, 12]);
        assert!(!pieces.leaves_again(4, 3, FULL) && pieces.leaves_again(4, 4, FULL));
        assert!(pieces.leaves_again(0, 1, FULL) && pieces.leaves_again(8, 1, FULL));
        assert_eq!(pieces.ends, [1, 4, 8, 9, 12]);
        assert!(pieces.leaves_again(4, 3, FREE));
        assert_eq!(pieces.ends, [1, 4, 7, 8, 9, 12]);
        pieces.acknowledge(7);
        pieces.split_last(11);
        assert_eq!((&pieces.ends, pieces.len()), (&VecDeque::from([8, 9, 11, 12]), 4));
    }

    #[test]
    fn descriptions_of_pieces_take_memory_too() {
        let limit = SplitLimit { others: 400, per_piece: 200, most: 499 };
        assert!(pieces(&[4, 8]).leaves_again(0, 1, limit));
        assert!(!pieces(&[4, 8, 12]).leaves_again(4, 1, limit), "400 + 3 · 200 bytes");
    }
}
