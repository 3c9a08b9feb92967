//! Tables of a run as named columns, and the macro that declares a row with its columns.

use std::mem::take;

use units::{Span, Time};

use crate::{
    Datagrams, Events, FlowRow, FlowSeries, Frames, LinkRow, LinkSeries, Probes, Series, StationRow, VideoFrames,
};

/// A column of a [`Table`].
#[derive(Clone, Debug, PartialEq)]
pub struct Column {
    /// Its name; carries the unit where there is one.
    pub name: &'static str,
    /// The unit of its values, or `None` for numbers without unit and for text.
    pub unit: Option<&'static str>,
    /// Its meaning, in Markdown.
    pub meaning: &'static str,
    /// Its values.
    pub data: Data,
}

/// The values of a column.
#[derive(Clone, Debug, PartialEq)]
pub enum Data {
    /// Whole numbers of 32 bits.
    U32(Vec<u32>),
    /// Whole numbers of 64 bits.
    U64(Vec<u64>),
    /// Real numbers.
    F64(Vec<f64>),
    /// Whole numbers of 32 bits. `u32::MAX` is null.
    NullableU32(Vec<u32>),
    /// Whole numbers of 64 bits. `u64::MAX` is null.
    NullableU64(Vec<u64>),
    /// Real numbers. Any that is not finite is null.
    NullableF64(Vec<f64>),
    /// True or false.
    Bool(Vec<bool>),
    /// Text.
    Str(Vec<String>),
    /// Text of few different values: an index into `names` for each row.
    Dict {
        /// The index of each row.
        codes: Vec<u16>,
        /// The names that the indices refer to.
        names: Vec<String>,
    },
}

impl Data {
    /// The number of values.
    pub fn len(&self) -> usize {
        match self {
            Self::U32(values) | Self::NullableU32(values) => values.len(),
            Self::U64(values) | Self::NullableU64(values) => values.len(),
            Self::F64(values) | Self::NullableF64(values) => values.len(),
            Self::Bool(values) => values.len(),
            Self::Str(values) => values.len(),
            Self::Dict { codes, .. } => codes.len(),
        }
    }

    /// True without values.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }
}

/// A named table: columns of equal length.
#[derive(Clone, Debug, PartialEq)]
pub struct Table {
    /// Its name.
    pub name: &'static str,
    /// Its columns, in the order of the schema.
    pub columns: Vec<Column>,
}

/// The tables of one run.
#[derive(Clone, Debug, Default)]
pub struct Tables {
    /// A row per flow, over the measured interval.
    pub flows: Vec<FlowRow>,
    /// A row per link direction, over the measured interval.
    pub links: Vec<LinkRow>,
    /// Samples of the flows.
    pub flow_series: Series<FlowSeries>,
    /// Samples of the links.
    pub link_series: LinkSeries,
    /// Named internals of the controllers.
    pub probes: Probes,
    /// Events, one row each.
    pub events: Series<Events>,
    /// A row per station of a wireless medium, over the measured interval.
    pub stations: Vec<StationRow>,
    /// Frames on the air, one row each.
    pub frames: Frames,
    /// Datagrams that arrived, one row each.
    pub datagrams: Datagrams,
    /// Frames of video, one row each.
    pub video_frames: VideoFrames,
}

impl Tables {
    /// The names of the tables, in the order of [`Tables::into_tables`].
    pub const NAMES: [&str; 10] = [
        "flows",
        "links",
        "flow_series",
        "link_series",
        "probes",
        "events",
        "stations",
        "frames",
        "datagrams",
        "video_frames",
    ];

    /// The tables as named columns. The vectors of the series are moved, not copied.
    pub fn into_tables(mut self) -> [Table; 10] {
        Self::NAMES.map(|name| self.take(name).unwrap_or(Table { name, columns: Vec::new() }))
    }

    /// The table called `name` as named columns, whose rows are given up, or `None` if there is none of that name.
    pub fn take(&mut self, name: &str) -> Option<Table> {
        let name = Self::NAMES.into_iter().find(|known| *known == name)?;
        let columns = match name {
            "flows" => FlowRow::columns(take(&mut self.flows)),
            "links" => LinkRow::columns(take(&mut self.links)),
            "flow_series" => take(&mut self.flow_series).into_columns().into_columns(),
            "link_series" => take(&mut self.link_series).into_columns(),
            "probes" => take(&mut self.probes).into_columns(),
            "events" => take(&mut self.events).into_columns().into_columns(),
            "stations" => StationRow::columns(take(&mut self.stations)),
            "frames" => take(&mut self.frames).into_columns(),
            "datagrams" => take(&mut self.datagrams).into_columns(),
            "video_frames" => take(&mut self.video_frames).into_columns(),
            _ => return None,
        };
        Some(Table { name, columns })
    }
}

/// A point in time in seconds, the nearest double.
///
/// Never inlined: rows are rare beside packets, and a compiler would move the division from the branch that makes a row
/// to where every packet passes.
#[inline(never)]
pub fn seconds(at: Time) -> f64 {
    at.as_nanos() as f64 / 1e9
}

/// A span in milliseconds, the nearest double, or NaN (a null in the tables) for [`Span::MAX`].
pub fn milliseconds(span: Span) -> f64 {
    if span == Span::MAX { f64::NAN } else { span.as_nanos() as f64 / 1e6 }
}

/// Declares the kinds of something as a column knows them: each with its name in tables.
macro_rules! kinds {
    ($(#[$meta:meta])* pub enum $kind:ident { $($(#[$variant_meta:meta])* $variant:ident = $name:literal,)* }) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[repr(u8)]
        pub enum $kind {
            $($(#[$variant_meta])* $variant,)*
        }

        impl $kind {
            const ALL: &[Self] = &[$(Self::$variant),*];

            /// The names in tables, in the order of the variants.
            pub const NAMES: [&str; Self::ALL.len()] = [$($name),*];
        }

        impl crate::packed::Value for $kind {
            const UNITS: u8 = 1;

            fn count(self, _: u8) -> Option<u64> {
                Some(self as u64)
            }

            fn of_count(count: u64, _: u8) -> Self {
                Self::ALL[count as usize]
            }

            fn bits(self) -> u64 {
                self as u64
            }

            fn of_bits(bits: u64) -> Self {
                Self::ALL[bits as usize]
            }
        }
    };
}
pub(crate) use kinds;

/// Declares a row and the columns that rows of its kind make: `field: type => Data variant, "unit"`.
///
/// `field: type => Counters` makes a column of each counter of the type (`units::counters!`).
macro_rules! columns {
    (
        $(#[$row_meta:meta])* row $row:ident;
        $(#[$columns_meta:meta])* $vis:vis columns $columns:ident;
        $($(#[doc = $meaning:literal])+ $field:ident: $type:ty => $variant:ident $(in $unit:literal)?;)*
    ) => {
        $(#[$row_meta])*
        #[derive(Clone, Debug, PartialEq)]
        pub struct $row {
            $($(#[doc = $meaning])+ pub $field: $type,)*
        }

        $(#[$columns_meta])*
        #[derive(Clone, Debug, Default)]
        $vis struct $columns {
            $($(#[doc = $meaning])+ $vis $field: Vec<$type>,)*
        }

        impl $columns {
            /// Appends a row.
            #[inline]
            $vis fn push(&mut self, row: $row) {
                $(self.$field.push(row.$field);)*
            }

            pub(crate) fn into_columns(self) -> Vec<crate::Column> {
                let mut columns = Vec::new();
                $(crate::table::columns!(
                    @push columns, [$($meaning),+] $field: $type => $variant $(in $unit)?, self.$field
                );)*
                columns
            }
        }
    };
    (packed; $(#[$row_meta:meta])* row $row:ident;
        $(#[$columns_meta:meta])* $vis:vis columns $columns:ident;
        $($(#[doc = $meaning:literal])+ $field:ident: $type:ty => $variant:ident $(in $unit:literal)?;)*
    ) => {
        crate::table::columns! {
            $(#[$row_meta])* row $row;
            $(#[$columns_meta])* $vis columns $columns;
            $($(#[doc = $meaning])+ $field: $type => $variant $(in $unit)?;)*
        }

        impl crate::rows::Columns for $columns {
            type Row = $row;

            #[inline]
            fn push(&mut self, row: $row) {
                $(self.$field.push(row.$field);)*
            }

            #[inline]
            fn rows(&self) -> usize {
                self.time_s.len()
            }

            fn reserve(&mut self, rows: usize) {
                $(self.$field.reserve_exact(rows);)*
            }

            fn pack(&mut self) -> Vec<crate::packed::Block> {
                let packed = vec![$(crate::packed::Block::of(&self.$field)),*];
                $(self.$field.clear();)*
                packed
            }

            fn unpack(&mut self, packed: &[crate::packed::Block]) {
                let mut blocks = packed.iter();
                $(if let Some(block) = blocks.next() {
                    block.unpack(&mut self.$field);
                })*
            }
        }
    };
    (@push $columns:ident, [$($meaning:literal),+] $field:ident: $type:ty => Counters, $values:expr) => {
        for (number, &(name, unit, meaning)) in <$type>::COLUMNS.iter().enumerate() {
            let data = crate::Data::U64($values.iter().map(|row| row.values()[number]).collect());
            $columns.push(crate::Column { name, unit, meaning, data });
        }
    };
    (
        @push $columns:ident, [$($meaning:literal),+] $field:ident: $type:ty => $variant:ident $(in $unit:literal)?,
        $values:expr
    ) => {
        $columns.push(crate::Column {
            name: stringify!($field),
            unit: crate::table::columns!(@unit $($unit)?),
            meaning: const { concat!($($meaning),+).trim_ascii_start() },
            data: crate::table::columns!(@data $variant, $values, $type),
        });
    };
    (@unit) => { None };
    (@unit $unit:literal) => { Some($unit) };
    (@data Dict, $values:expr, $type:ty) => {
        crate::Data::Dict {
            codes: $values.into_iter().map(|value| value as u16).collect(),
            names: <$type>::NAMES.map(str::to_owned).to_vec(),
        }
    };
    (@data $variant:ident, $values:expr, $type:ty) => { crate::Data::$variant($values) };
}
pub(crate) use columns;

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn times_and_spans_are_the_nearest_doubles() {
        assert_eq!(seconds(Time::from_nanos(300_000_000)), 0.3);
        assert_eq!(milliseconds(Span::from_micros(40_100)), 40.1);
        assert!(milliseconds(Span::MAX).is_nan());
    }

    #[test]
    fn every_table_has_its_name_and_columns_of_equal_length() {
        let tables = Tables::default().into_tables();
        assert_eq!(tables.each_ref().map(|table| table.name), Tables::NAMES);
        for table in tables {
            assert!(table.columns.iter().all(|column| column.data.is_empty()), "{}", table.name);
            assert!(table.columns.len() >= 4, "{}", table.name);
        }
    }

    #[test]
    fn columns_of_every_kind_know_how_many_values_they_have() {
        let names = vec!["a".to_owned()];
        for (n, data) in [
            Data::U32(vec![7]),
            Data::NullableU32(vec![7; 2]),
            Data::U64(vec![7; 3]),
            Data::NullableU64(vec![7; 4]),
            Data::F64(vec![7.0; 5]),
            Data::NullableF64(vec![7.0; 6]),
            Data::Bool(vec![true; 7]),
            Data::Str(vec![String::new(); 8]),
            Data::Dict { codes: vec![0; 9], names },
        ]
        .into_iter()
        .enumerate()
        {
            assert_eq!((data.len(), data.is_empty()), (n + 1, false));
        }
        assert!(Data::F64(Vec::new()).is_empty());
    }
}
