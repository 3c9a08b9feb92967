//! Counters: the macro that declares them, and the counters of senders.

/// Declares counters since a start. The difference of two counts the time between them, and the sum adds two parts.
///
/// In the form `struct NAME in columns` each counter is also a column of its name, with its unit if it has one. Its
/// doc comment is the meaning of the column.
#[macro_export]
macro_rules! counters {
    (
        $(#[$meta:meta])* pub struct $name:ident in columns {
            $($(#[doc = $meaning:literal])+ $field:ident $(in $unit:literal)?,)*
        }
    ) => {
        $crate::counters! { $(#[$meta])* pub struct $name { $($(#[doc = $meaning])+ pub $field: u64,)* } }

        impl $name {
            /// Name, unit and meaning of each column.
            pub const COLUMNS: &[(&'static str, Option<&'static str>, &'static str)] = &[$((
                stringify!($field),
                $crate::counters!(@unit $($unit)?),
                concat!($($meaning),+).trim_ascii_start(),
            ),)*];

            /// The counters in the order of the columns.
            pub fn values(&self) -> [u64; Self::COLUMNS.len()] {
                [$(self.$field),*]
            }
        }
    };
    (
        $(#[$meta:meta])* pub struct $name:ident { $($(#[$field_meta:meta])* pub $field:ident: $type:ty,)* }
    ) => {
        $(#[$meta])*
        #[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
        pub struct $name {
            $($(#[$field_meta])* pub $field: $type,)*
        }

        impl std::ops::Add for $name {
            type Output = Self;

            fn add(self, other: Self) -> Self {
                Self { $($field: self.$field + other.$field,)* }
            }
        }

        impl std::ops::Sub for $name {
            type Output = Self;

            fn sub(self, base: Self) -> Self {
                Self { $($field: self.$field - base.$field,)* }
            }
        }
    };
    (@unit) => { None };
    (@unit $unit:literal) => { Some($unit) };
}

counters! {
    /// Counters of a sender since its start: columns of the table `flows`.
    pub struct SenderCounters in columns {
        /// Data packets sent, retransmissions included.
        data_packets in "packets",
        /// Retransmitted packets.
        retransmitted_packets in "packets",
        /// Packets that the sender deemed lost, also in loss events that proved spurious. In live runs, where the
        /// kernel does not report losses, the retransmissions, spurious ones and tail loss probes included.
        lost_packets in "packets",
        /// Expiries of the retransmission timer.
        timeouts,
        /// Fast recoveries; without fast recovery, fast retransmits.
        recoveries,
        /// Loss events that proved spurious.
        spurious,
        /// Time in which data of TCP were outstanding or waited (`tcpi_busy_time`).
        busy_us in "us",
        /// Time in which the application had no more to send, before the window was full. In live runs it is looked at
        /// each millisecond.
        app_limited_us in "us",
        /// Time in which the receive window held the next segment back (`tcpi_rwnd_limited`).
        rwnd_limited_us in "us",
        /// Time in which the application waited for room in the send buffer, and all that it had written had left. In
        /// live runs it is looked at each millisecond. `tcpi_sndbuf_limited` leaves out round trips in which the window
        /// was full once.
        sndbuf_limited_us in "us",
    }
}

#[cfg(test)]
mod tests {
    use super::SenderCounters;

    #[test]
    fn counters_count_from_a_base_add_up_and_are_columns() {
        let base = SenderCounters { data_packets: 3, timeouts: 1, ..SenderCounters::default() };
        let counted = SenderCounters { data_packets: 10, timeouts: 1, spurious: 2, ..base } - base;
        assert_eq!(counted.values(), [7, 0, 0, 0, 0, 2, 0, 0, 0, 0]);
        assert_eq!((counted + base).values(), [10, 0, 0, 1, 0, 2, 0, 0, 0, 0]);
        let (name, unit, meaning) = SenderCounters::COLUMNS[0];
        assert_eq!((name, unit), ("data_packets", Some("packets")));
        assert_eq!(meaning, "Data packets sent, retransmissions included.");
        assert_eq!(SenderCounters::COLUMNS[3].1, None);
    }
}
