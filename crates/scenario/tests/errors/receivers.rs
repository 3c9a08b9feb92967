//! Errors in the reports of receivers.

use super::*;

#[test]
fn reports_are_concealed_where_that_has_an_effect_and_a_bound() {
    assert_eq!(
        flow("transport = { conceals = \"marks\" }"),
        "demo.toml, line 10: flows.0.transport.conceals: has no effect without marks: `ecn` is false"
    );
    accepted("transport = { conceals = \"marks\", ecn = true }");
    assert_eq!(
        flow("transport = { conceals = \"losses\" }"),
        "demo.toml, line 10: flows.0.transport.conceals: needs a `receive_window` or a `receive_buffer`: nothing else \
         bounds a sender that sees no loss"
    );
    accepted("transport = { conceals = \"losses\", receive_window = 100 }");
    accepted("transport = { conceals = \"losses\", receive_buffer = \"1MB\" }");
}
