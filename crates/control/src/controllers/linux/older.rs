//! Older kernels: the paper's controllers with the constants of their modules, for the profiles of these kernels.

use crate::controllers::{cubic, highspeed, htcp, scalable};
use crate::entry::{Form, with_values};
use crate::range::Literal;
use units::Span;

/// CUBIC 2.3, of Linux 2.6.33 and 3.5.
pub(crate) const CUBIC_2_3: Form = with_values!(
    cubic::Settings,
    cubic::Cubic,
    cubic::ENTRY,
    &[
        ("C", Literal::Number(0.4004)),
        ("beta", Literal::Number(0.7002)),
        ("reno_alpha_one", Literal::Switch(false)),
        ("look_ahead", Literal::Word("minimum")),
        ("growth_before_loss", Literal::Number(0.05)),
        ("count_segments", Literal::Switch(true)),
        ("hystart_delay_divisor", Literal::Integer(16)),
        ("hystart_first_samples", Literal::Switch(true)),
        ("stops_while", Literal::Word("never")),
        ("keeps_epoch", Literal::Switch(true)),
    ]
);

/// CUBIC of Linux 2.6.22, which ns-2 has.
pub(crate) const CUBIC_2_6_22: Form = with_values!(
    cubic::Settings,
    cubic::Cubic,
    cubic::ENTRY,
    &[
        ("C", Literal::Number(0.4004)),
        ("beta", Literal::Number(0.7998)),
        ("reno_alpha_one", Literal::Switch(false)),
        ("look_ahead", Literal::Word("minimum")),
        ("growth_before_loss", Literal::Number(0.02)),
        ("max_increment", Literal::Number(16.0)),
        ("count_segments", Literal::Switch(true)),
        ("hystart", Literal::Switch(false)),
        ("stops_while", Literal::Word("never")),
        ("keeps_epoch", Literal::Switch(true)),
    ]
);

/// H-TCP of Linux 3.5.
pub(crate) const HTCP_3_5: Form = with_values!(
    htcp::Settings,
    htcp::HTcp,
    htcp::ENTRY,
    &[
        ("beta_max", Literal::Number(0.797)),
        ("stable_epochs", Literal::Integer(2)),
        ("adapt_above", Literal::Time(Span::from_millis(10))),
        ("whole_numbers", Literal::Switch(true)),
        ("count_segments", Literal::Switch(true)),
    ]
);

/// HighSpeed TCP of Linux 3.5.
pub(crate) const HIGHSPEED_3_5: Form =
    with_values!(highspeed::Settings, highspeed::HighSpeed, highspeed::ENTRY, &[("table", Literal::Switch(true))]);

/// Scalable TCP of Linux 3.5.
pub(crate) const SCALABLE_3_5: Form = with_values!(
    scalable::Settings,
    scalable::Scalable,
    scalable::ENTRY,
    &[
        ("a", Literal::Number(0.02)),
        ("legacy_window", Literal::Number(50.0)),
        ("legacy_halves", Literal::Switch(false)),
    ]
);
