//! To be replaced.
use crate::controllers::{
    bic, cubic, gentle_1, highspeed, htcp, hybla, illinois, pit, scalable, vegas, veno, westwood, yeah,
};
use crate::entry::{Form, with_values};
use crate::range::Literal;
use units::Span;
const A: (&str, Literal) = ("arithmetic", Literal::Word("linux"));
pub(crate) const BIC: Form = with_values!(bic::Bic, &[A]);
pub(crate) const HYBLA: Form = with_values!(hybla::Hybla, &[A]);
pub(crate) const VENO: Form = with_values!(veno::Veno, &[A]);
pub(crate) const WESTWOOD: Form = with_values!(westwood::Westwood, &[A]);
pub(crate) const YEAH: Form = with_values!(yeah::Yeah, &[A]);
pub(crate) const ILLINOIS: Form = with_values!(illinois::Illinois, &[A, ("theta_in_a_row", Literal::Switch(false))]);
pub(crate) const HIGHSPEED: Form = with_values!(highspeed::HighSpeed, &[A, ("table", Literal::Switch(true))]);
pub(crate) const SCALABLE: Form = with_values!(scalable::Scalable, &[A, ("legacy_halves", Literal::Switch(false))]);
pub(crate) const VEGAS: Form = with_values!(
    vegas::Vegas,
    &[("alpha", Literal::Number(2.0)), ("beta", Literal::Number(4.0)), ("slow_start_exit", Literal::Word("linux"))]
);
pub(crate) const HTCP: Form = with_values!(
    htcp::HTcp,
    &[
        A,
        ("beta_max", Literal::Number(0.797)),
        ("stable_epochs", Literal::Integer(2)),
        ("adapt_above", Literal::Time(Span::from_millis(10))),
        ("whole_numbers", Literal::Switch(true)),
        ("count_segments", Literal::Switch(true)),
    ]
);
pub(crate) const CUBIC: Form = with_values!(
    cubic::Cubic,
    &[
        ("C", Literal::Number(0.4004)),
        ("beta", Literal::Number(0.7002)),
        ("reno_alpha_one", Literal::Switch(false)),
        ("look_ahead", Literal::Word("minimum")),
        ("growth_before_loss", Literal::Number(0.05)),
        ("whole_segments", Literal::Switch(true)),
        ("stops_while", Literal::Word("idle")),
        ("keeps_epoch", Literal::Switch(true)),
        ("undo_restores_cubic", Literal::Switch(false)),
    ]
);

const T: (&str, Literal) = ("theta_in_a_row", Literal::Switch(false));
pub(crate) const TCP_Q: Form = with_values!(illinois::Illinois, &[A, T, ("order", Literal::Integer(2))]);
pub(crate) const TCP_C: Form = with_values!(illinois::Illinois, &[A, T, ("order", Literal::Integer(3))]);
pub(crate) const TCP_FQ: Form = with_values!(illinois::Illinois, &[A, T, ("form", Literal::Word("fq"))]);
pub(crate) const TCP_FS: Form = with_values!(illinois::Illinois, &[A, T, ("form", Literal::Word("fs"))]);
pub(crate) const PIT: Form = with_values!(pit::Pit, &[A]);
pub(crate) const GENTLE_1: Form = with_values!(gentle_1::Gentle, &[A]);
pub(crate) const GENTLE_2: Form = with_values!(gentle_1::Gentle, &[A, ("version", Literal::Integer(2))]);
