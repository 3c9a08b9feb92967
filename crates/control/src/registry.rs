//! The list of controllers: what there is, and how to build one by name.

use crate::controllers::{
    aimd, card, cdg, compound, cubic, da, dual, e_tcp, fast, hd, highspeed, htcp, illinois, jk, ledbat, newreno, nice,
    pert, relentless, scalable, siad, tcp_lp, vegas,
};
use crate::parameters::nearest;
use crate::{Controller, Entry, ParameterError, Parameters};

/// Every controller, in alphabetical order.
pub const CONTROLLERS: &[Entry] = &[
    aimd::ENTRY,
    card::ENTRY,
    cdg::ENTRY,
    compound::ENTRY,
    cubic::ENTRY,
    da::ENTRY,
    dual::ENTRY,
    e_tcp::ENTRY,
    fast::ENTRY,
    hd::ENTRY,
    highspeed::ENTRY,
    htcp::ENTRY,
    illinois::ENTRY,
    jk::ENTRY,
    ledbat::ENTRY,
    newreno::ENTRY,
    nice::ENTRY,
    pert::ENTRY,
    relentless::ENTRY,
    scalable::ENTRY,
    siad::ENTRY,
    tcp_lp::ENTRY,
    vegas::ENTRY,
];

/// The entry of controller `name`; if there is none, an error with the nearest known name.
pub fn find(name: &str) -> Result<&'static Entry, ParameterError> {
    CONTROLLERS.iter().find(|e| e.name == name).ok_or_else(|| {
        let nearest = nearest(CONTROLLERS.iter().map(|e| e.name), name).unwrap_or_default();
        let known = CONTROLLERS.iter().map(|e| e.name).collect::<Vec<_>>().join(", ");
        ParameterError(format!("there is no controller `{name}`; did you mean `{nearest}`? (there are {known})"))
    })
}

/// Builds the controller `name`.
pub fn build(name: &str, parameters: &Parameters) -> Result<Box<dyn Controller>, ParameterError> {
    find(name)?.build(parameters)
}
