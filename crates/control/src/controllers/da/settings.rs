//! The parameters of DA.

use serde::{Deserialize, Serialize};
use serde_json::Value;
use units::Span;

use super::reference::CAPACITY;
use crate::parameters::{read, require};
use crate::{Parameter, ParameterError, Parameters};

pub(super) const PARAMETERS: &[Parameter] = &[
    Parameter {
        name: "K",
        default: "1.25",
        unit: "",
        range: "1 to 100",
        meaning: "The delay counts as substantially increased above K times the reference",
        source: "section 3: 1.125 to 1.25",
    },
    Parameter {
        name: "ndg_threshold",
        default: "0.5",
        unit: "",
        range: "0 to 1000",
        meaning: "Normalized delay gradient at which slow start ends",
        source: "section 3",
    },
    Parameter {
        name: "ndg_sign",
        default: "above",
        unit: "",
        range: "\"above\" or \"below\"",
        meaning: "On which side of the threshold slow start ends; the paper prints below, which ends it at once",
        source: "section 3",
    },
    Parameter {
        name: "update_epochs",
        default: "2",
        unit: "epochs",
        range: "1, 2, or interleaved",
        meaning: "Epochs from decision to decision; interleaved are two windows in turns, (D3) to the letter",
        source: "section 3",
    },
    Parameter {
        name: "min_buffer",
        default: "0",
        unit: "segments",
        range: "0 to 1000",
        meaning: "Minimal buffering: added to the window that a decrease computes",
        source: "section 5.2: 1 or 2",
    },
    Parameter {
        name: "max_reduce",
        default: "0",
        unit: "decreases",
        range: "0 to 1000000",
        meaning: "MAX-REDUCE: after so many decreases in a row the reference is the latest delay; 0 never replaces it",
        source: "section 5.1: 4",
    },
    Parameter {
        name: "optimistic",
        default: "false",
        unit: "",
        range: "true or false",
        meaning: "The window grows also while the delay is stable, between the reference and K times it",
        source: "section 5.2",
    },
    Parameter {
        name: "eps",
        default: "10us",
        unit: "time",
        range: "0s to 1s",
        meaning: "A delay that exceeds the reference by no more shows no queue",
        source: "not in the paper: resolution of the clock",
    },
    Parameter {
        name: "max_window",
        default: "64",
        unit: "segments",
        range: "1 to 1000000",
        meaning: "Largest window of the connection",
        source: "section 4.1; 32 with two sources (section 4.2)",
    },
    Parameter {
        name: "reference",
        default: "min",
        unit: "",
        range: "\"min\" or \"last\"",
        meaning: "The smallest delay of the connection is the reference, or that of the last last_m (rejected)",
        source: "section 3; section 5.1",
    },
    Parameter {
        name: "last_m",
        default: "8",
        unit: "delays",
        range: "1 to 64",
        meaning: "M: delays that the reference remembers with reference = last",
        source: "section 5.1, without a value",
    },
];

/// On which side of the threshold the normalized delay gradient ends slow start.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum NdgSign {
    /// Above it: the queue builds.
    Above,
    /// Below it: as printed, and a misprint.
    Below,
}

/// Which window a decision starts from, and how often one is made.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(try_from = "Value", into = "Value")]
pub enum UpdateEpochs {
    /// The current window, every epoch.
    Every,
    /// The current window, every second epoch: the first after a decision left before that took effect.
    Second,
    /// W^{i+2} from W^i as (D3) prints it: even and odd epochs have windows of their own.
    Interleaved,
}

impl TryFrom<Value> for UpdateEpochs {
    type Error = String;

    fn try_from(given: Value) -> Result<Self, String> {
        match (given.as_u64(), given.as_str()) {
            (Some(1), _) => Ok(Self::Every),
            (Some(2), _) => Ok(Self::Second),
            (_, Some("interleaved")) => Ok(Self::Interleaved),
            _ => Err(format!("{given} is no number of epochs")),
        }
    }
}

impl From<UpdateEpochs> for Value {
    fn from(update: UpdateEpochs) -> Self {
        match update {
            UpdateEpochs::Every => 1.into(),
            UpdateEpochs::Second => 2.into(),
            UpdateEpochs::Interleaved => "interleaved".into(),
        }
    }
}

/// Which delays the reference is the smallest of.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "kebab-case")]
pub enum ReferenceRule {
    /// All of the connection.
    Min,
    /// The last `last_m`.
    Last,
}

/// The parameters, by the paper's symbols; [`ENTRY`](super::ENTRY) describes each.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
#[expect(missing_docs, reason = "described in the table of parameters")]
pub struct Settings {
    #[serde(rename = "K")]
    pub k: f64,
    pub ndg_threshold: f64,
    pub ndg_sign: NdgSign,
    pub update_epochs: UpdateEpochs,
    pub min_buffer: f64,
    pub max_reduce: u32,
    pub optimistic: bool,
    pub eps: Span,
    pub max_window: u32,
    pub reference: ReferenceRule,
    pub last_m: u32,
}

impl Default for Settings {
    fn default() -> Self {
        Self {
            k: 1.25,
            ndg_threshold: 0.5,
            ndg_sign: NdgSign::Above,
            update_epochs: UpdateEpochs::Second,
            min_buffer: 0.0,
            max_reduce: 0,
            optimistic: false,
            eps: Span::from_micros(10),
            max_window: 64,
            reference: ReferenceRule::Min,
            last_m: 8,
        }
    }
}

impl Settings {
    pub(super) fn read(given: &Parameters) -> Result<Self, ParameterError> {
        const MOST: u32 = 1_000_000;
        let name = super::ENTRY.name;
        let s: Self = read(name, PARAMETERS, given)?;
        require(name, PARAMETERS, "K", s.k, (1.0..=100.0).contains(&s.k))?;
        require(name, PARAMETERS, "ndg_threshold", s.ndg_threshold, (0.0..=1000.0).contains(&s.ndg_threshold))?;
        require(name, PARAMETERS, "min_buffer", s.min_buffer, (0.0..=1000.0).contains(&s.min_buffer))?;
        require(name, PARAMETERS, "max_reduce", s.max_reduce, s.max_reduce <= MOST)?;
        require(name, PARAMETERS, "eps", s.eps, s.eps <= Span::from_secs(1))?;
        require(name, PARAMETERS, "max_window", s.max_window, (1..=MOST).contains(&s.max_window))?;
        require(name, PARAMETERS, "last_m", s.last_m, (1..=CAPACITY as u32).contains(&s.last_m))?;
        Ok(s)
    }
}
