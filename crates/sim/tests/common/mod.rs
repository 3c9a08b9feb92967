//! The common part of the simulator's tests: a scenario as text goes in, tables come out.

#![allow(dead_code, reason = "each test takes what it needs of the common part")]

use std::path::Path;
use std::sync::Arc;

use engine::{Engine as _, Job, Watch};
use record::{Data, EventKind, Tables};
use scenario::Plan;
use sim::Simulator;
use units::Digest;

/// The plan of a scenario.
#[expect(clippy::disallowed_methods, reason = "traces of tests are files")]
pub(crate) fn plan(text: &str) -> Plan {
    let planned =
        scenario::from_toml(text, "test.toml").and_then(|scenario| scenario.plan(&|path: &Path| std::fs::read(path)));
    planned.unwrap_or_else(|error| panic!("{error}\n{text}"))
}

/// The tables of `plan` under `seed`.
pub(crate) fn run_plan(plan: Plan, seed: u64) -> Tables {
    let job = Job { plan: Arc::new(plan), seed };
    Simulator::default().run(&job, &Watch::default()).unwrap_or_else(|failure| panic!("{failure}")).tables
}

/// The tables of a scenario under its own seed.
pub(crate) fn run(text: &str) -> Tables {
    let plan = plan(text);
    let seed = plan.seed;
    run_plan(plan, seed)
}

/// Time in seconds and value of the events of one kind.
pub(crate) fn events(tables: &Tables, kind: EventKind) -> Vec<(f64, f64)> {
    let events = &tables.events.columns();
    let rows = events.kind.iter().zip(events.time_s.iter().zip(&events.value));
    rows.filter(|(k, _)| **k == kind).map(|(_, (&time, &value))| (time, value)).collect()
}

/// The last value at or before `time` in a column that belongs to `times`.
pub(crate) fn at<T: Copy>(times: &[f64], column: &[T], time: f64) -> T {
    let after = times.partition_point(|&t| t <= time);
    column[after.checked_sub(1).expect("a sample before that time")]
}

/// Panics unless `measured` is within `share` of `expected`.
#[track_caller]
pub(crate) fn assert_near(measured: f64, expected: f64, share: f64) {
    let off = (measured - expected) / expected;
    assert!(off.abs() <= share, "{measured} is {:.1} % off {expected}, more than {:.1} %", 100.0 * off, 100.0 * share);
}

/// The digest of the bits of every value of every table.
pub(crate) fn fingerprint(tables: Tables) -> u64 {
    let mut whole = Digest::default();
    // A table without rows adds nothing, but its names would.
    let filled = tables.into_tables().into_iter().filter(|table| !table.columns[0].data.is_empty());
    for column in filled.flat_map(|table| table.columns) {
        match column.data {
            Data::U32(values) | Data::NullableU32(values) => values.iter().for_each(|v| whole.add(&v.to_le_bytes())),
            Data::U64(values) | Data::NullableU64(values) => values.iter().for_each(|v| whole.add(&v.to_le_bytes())),
            Data::F64(values) | Data::NullableF64(values) => {
                values.iter().for_each(|v| whole.add(&v.to_bits().to_le_bytes()));
            }
            Data::Bool(values) => values.iter().for_each(|&v| whole.add(&[u8::from(v)])),
            Data::Str(values) => values.iter().for_each(|v| whole.add(v.as_bytes())),
            Data::Dict { codes, names } => {
                // A name that no row has moves nothing.
                codes.iter().for_each(|&v| whole.add(names[v as usize].as_bytes()));
            }
        }
    }
    whole.get()
}
