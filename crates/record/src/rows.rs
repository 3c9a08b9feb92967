//! Rows of a series while they are recorded: all but the last some packed.

use crate::packed::Block;

/// So many rows are packed together.
const ROWS: usize = 1024;

/// Columns of equal length that grow by a row, and can be packed.
pub trait Columns: Default {
    /// A row: a value for each column.
    type Row;

    /// Appends a row.
    fn push(&mut self, row: Self::Row);

    /// The number of rows.
    fn rows(&self) -> usize;

    /// Makes room for as many `rows` more.
    fn reserve(&mut self, rows: usize);

    /// Takes all rows out, packed: a block for each column.
    fn pack(&mut self) -> Vec<Block>;

    /// Appends what [`Columns::pack`] took out.
    fn unpack(&mut self, packed: &[Block]);
}

/// The rows of a series. They take a half to a third of the memory of their columns, which are made when they are asked
/// for.
#[derive(Clone, Debug, Default)]
pub struct Series<C> {
    /// [`ROWS`] rows each, or what there was at the beginning.
    packed: Vec<Vec<Block>>,
    /// How many rows that are.
    packed_rows: usize,
    last: C,
}

impl<C: Columns> Series<C> {
    /// Appends a row.
    #[inline]
    pub fn push(&mut self, row: C::Row) {
        if self.last.rows() >= ROWS {
            self.pack();
        }
        self.last.push(row);
    }

    #[inline(never)]
    fn pack(&mut self) {
        self.packed_rows += self.last.rows();
        self.packed.push(self.last.pack());
    }

    /// The number of rows.
    pub fn rows(&self) -> usize {
        self.packed_rows + self.last.rows()
    }

    /// All rows as columns.
    pub fn columns(&self) -> C
    where
        C: Clone,
    {
        self.clone().into_columns()
    }

    /// All rows as columns, for which the packed ones are given up one after the other.
    pub fn into_columns(mut self) -> C {
        if self.packed.is_empty() {
            return self.last;
        }
        let mut all = C::default();
        all.reserve(self.rows());
        self.pack();
        self.packed.into_iter().for_each(|packed| all.unpack(&packed));
        all
    }

    /// Goes through the rows in pieces, in their order, until `look` says that it has seen enough: whether it has.
    pub(crate) fn any_piece(&self, mut look: impl FnMut(&C) -> bool) -> bool {
        let packed = self.packed.iter().any(|packed| {
            let mut piece = C::default();
            piece.unpack(packed);
            look(&piece)
        });
        packed || look(&self.last)
    }
}

impl<C: Columns> From<C> for Series<C> {
    fn from(last: C) -> Self {
        Self { packed: Vec::new(), packed_rows: 0, last }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::{EventKind, EventRow, Events};

    fn row(number: u64) -> EventRow {
        EventRow {
            time_s: number as f64 / 1e3,
            kind: if number.is_multiple_of(3) { EventKind::Ecn } else { EventKind::Drop },
            flow: (number % 7) as u32,
            link: if number.is_multiple_of(5) { u32::MAX } else { 1 },
            sequence: number,
            value: if number.is_multiple_of(2) { f64::NAN } else { number as f64 / 3.0 },
        }
    }

    #[test]
    fn rows_come_back_as_they_were_however_many_were_packed() {
        for rows in [0, 1, ROWS as u64, 2 * ROWS as u64 + 1] {
            let (mut series, mut columns) = (Series::<Events>::default(), Events::default());
            for number in 0..rows {
                series.push(row(number));
                columns.push(row(number));
            }
            assert_eq!(series.rows() as u64, rows);
            // NaN differs from itself, but not in print.
            assert_eq!(format!("{:?}", series.columns()), format!("{columns:?}"));
            assert_eq!(format!("{:?}", series.into_columns()), format!("{columns:?}"));
        }
    }

    #[test]
    fn a_row_takes_half_of_its_columns() {
        let mut series = Series::<Events>::default();
        (0..=ROWS as u64).for_each(|number| series.push(row(number)));
        // Kept of 33 bytes: 4 of the time, 1 each of kind, flow and link, 2 of the sequence, all 8 of the value.
        assert_eq!(series.packed[0].iter().map(Block::bytes).sum::<usize>(), 17 * ROWS);
    }
}
