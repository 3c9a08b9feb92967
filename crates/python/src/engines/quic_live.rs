//! Runs over QUIC in real time: the engine, and its check of the machine.

use ::quic::Quic;
use engine::Engine as _;
use live::QuicLive;
use scenario::Plan;

use crate::engines::quic::OverQuic;
use crate::failure::Failure;

impl OverQuic for QuicLive {
    const REAL_TIME: bool = true;

    fn over(quic: Quic) -> Self {
        Self(quic)
    }
}

/// Refuses a plan that cannot run over QUIC on this machine.
pub(crate) fn check(plan: &Plan) -> Result<(), Failure> {
    QuicLive(Quic::default()).check(plan).map_err(|failure| Failure::of(failure, plan, None))?;
    live::check_machine().map_err(Failure::Machine)
}
