//! The parameters of DA.

use super::reference::CAPACITY;
use crate::parameters::{choices, parameters};
use crate::range::from;

choices! {
    /// On which side of the threshold the normalized delay gradient ends slow start.
    pub enum NdgSign {
        /// Above it: the queue builds.
        Above = Word("above"),
        /// Below it: as printed, and a misprint.
        Below = Word("below"),
    }
}

choices! {
    /// Which window a decision starts from, and how often one is made.
    pub enum UpdateEpochs {
        /// The current window, every epoch.
        Every = Integer(1),
        /// The current window, every second epoch: the first after a decision left before that took effect.
        Second = Integer(2),
        /// W^{i+2} from W^i as (D3) prints it: even and odd epochs have windows of their own.
        Interleaved = Word("interleaved"),
    }
}

choices! {
    /// Which delays the reference is the smallest of.
    pub enum ReferenceRule {
        /// All of the connection.
        Min = Word("min"),
        /// The last `last_m`.
        Last = Word("last"),
    }
}

parameters! {
    /// The parameters, by the paper's symbols.
    pub struct Settings {
        /// The delay counts as substantially increased above K times the reference
        k as "K": f64 = 1.25, range from(1.0).up_to(100.0), source "section 3: 1.125 to 1.25";
        /// Normalized delay gradient at which slow start ends
        ndg_threshold: f64 = 0.5, range from(0.0).up_to(1000.0), source "section 3";
        /// On which side of the threshold slow start ends; the paper prints below, which ends it at once
        ndg_sign: NdgSign = NdgSign::Above, source "section 3";
        /// Epochs from decision to decision; interleaved are two windows in turns, (D3) to the letter
        update_epochs: UpdateEpochs = UpdateEpochs::Second, unit "epochs", source "section 3";
        /// The path is empty at a queue of at most so many packets, W (1 - D_t / D_a): the window grows
        empty_queue: f64 = 0.5, unit "segments", range from(0.0).up_to(1000.0),
            source "section 3, D_a = D_t; half a packet is between none and one";
        /// Minimal buffering: added to the window that a decrease computes
        min_buffer: f64 = 0.0, unit "segments", range from(0.0).up_to(1000.0), source "section 5.2: 1 or 2";
        /// MAX-REDUCE: after so many decreases in a row the reference is the latest delay; 0 never replaces it
        max_reduce: u32 = 0, unit "decreases", range from(0).up_to(1_000_000), source "section 5.1: 4";
        /// The window grows also while the delay is stable, between the reference and K times it
        optimistic: bool = false, source "section 5.2";
        /// Largest window of the connection
        max_window: u32 = 1_000_000,
            unit "segments", range from(1).up_to(1_000_000),
            source "none; 64 (section 4.1), or 32 with two sources (section 4.2)";
        /// The smallest delay of the connection is the reference, or that of the last last_m (rejected)
        reference: ReferenceRule = ReferenceRule::Min, source "section 3; section 5.1";
        /// M: delays that the reference remembers with reference = last
        last_m: u32 = 8, unit "delays", range from(1).up_to(CAPACITY as u32), source "section 5.1, without a value";
    }
}
