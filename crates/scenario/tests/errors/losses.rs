//! Losses of links.

use crate::dumbbell;

#[test]
fn a_loss_above_one_or_of_no_model() {
    assert_eq!(dumbbell("[path]", "[path]\nloss = \"150%\""), "demo.toml, line 4: path.loss: `150%` is above 100%");
    assert_eq!(dumbbell("[path]", "[path]\nloss = 1.5"), "demo.toml, line 4: path.loss: 1.5 is not between 0 and 1");
    assert_eq!(
        dumbbell("[path]", "[path]\nloss = { model = \"gilbert-elliott\", good_to_bad = \"1%\" }"),
        "demo.toml, line 4: path.loss: a table of loss is { model = \"gilbert-elliott\", good_to_bad = \"1%\", \
         bad_to_good = \"30%\" } (or good_for = \"10s\", bad_for = \"200ms\"), with loss_good and loss_bad if wanted, \
         or { share = \"5%\", correlation = \"25%\" }, { packets = [10, 11] }, { openings = [0] } or \
         { trace = \"FILE\" }"
    );
    assert!(
        dumbbell("[path]", "[path]\nloss = { packets = [10], loss_bad = \"50%\" }")
            .starts_with("demo.toml, line 4: path.loss: a table of loss is { model = "),
        "no share of a state without states"
    );
    assert_eq!(
        dumbbell("[path]", "[path]\nloss = { model = \"gilbert\" }"),
        "demo.toml, line 4: path.loss.model: unknown variant `gilbert`, expected `gilbert-elliott`"
    );
}
