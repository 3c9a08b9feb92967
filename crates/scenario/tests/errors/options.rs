//! Options of a stack that others switch off.

use crate::{accepted, flow};

#[test]
fn an_option_that_has_no_effect_beside_the_others() {
    let at = "demo.toml, line 11: flows.0.transport.";
    let refused = |profile: &str, options: &str| {
        flow(&format!("profile = \"{profile}\"\ntransport = {{ {options} }}"))
            .strip_prefix(at)
            .map(str::to_owned)
            .unwrap_or_else(|| panic!("{profile} {options}"))
    };
    let sack = "needs selective acknowledgements: `sack` is false";
    let rack = "has no effect: `rack` decides what is lost";
    let fast = "has no effect without fast recovery: `fast_recovery` is false";
    let each = "has no effect where each segment is acknowledged: `ack_every` is 1";
    let none = "has no effect where no ACK waits: `ack_every` is 1 and there is no `sack_compression`";
    for (profile, options, key, reason) in [
        ("linux", "sack = false, rack = true", "rack", sack),
        ("linux", "sack = false, tail_loss_probe = true", "tail_loss_probe", sack),
        ("linux", "sack = false, reordering_adapts = true", "reordering_adapts", sack),
        ("linux", "sack = false, sack_compression = \"2ms\"", "sack_compression", sack),
        ("linux", "sack = false, forward_acknowledgment = true", "forward_acknowledgment", sack),
        ("real-1992", "forward_acknowledgment = true", "forward_acknowledgment", sack),
        ("real-1992", "retransmits = \"next-seg\"", "retransmits", sack),
        ("freebsd-9", "sack = false, retransmits = \"holes\"", "retransmits", sack),
        ("linux", "forward_acknowledgment = true", "forward_acknowledgment", rack),
        ("linux", "retransmits = \"next-seg\"", "retransmits", rack),
        ("linux", "reordering_adapts = false", "reordering_adapts", rack),
        ("freebsd-9", "rack = true, retransmits = \"lost\"", "retransmits", rack),
        ("linux", "rack = false, fast_recovery = false, retransmits = \"holes\"", "retransmits", fast),
        ("linux", "fast_recovery = false, reduction = \"pipe\"", "reduction", fast),
        ("real-1992", "recovery_end_grows = true", "recovery_end_grows", fast),
        ("freebsd-9", "sack = false, recovery_end_grows = true", "recovery_end_grows", sack),
        ("ns2-linux", "sack = false, undo = true", "undo", "needs evidence: `timestamps` and `sack` are false"),
        ("linux", "ecn_beta = 0.8", "ecn_beta", "needs marks: `ecn` is false"),
        (
            "freebsd-9",
            "duplicate_threshold = 16, reordering_adapts = true",
            "reordering_adapts",
            "has no effect: `duplicate_threshold` is the largest",
        ),
        ("real-1992", "idle_restart = \"linux\"", "idle_restart", "has no effect: `slow_start_restart` is false"),
        ("linux", "ack_every = 1, delayed_ack_timeout = \"40ms\"", "delayed_ack_timeout", each),
        ("ns2-linux", "delayed_ack_max = \"1s\"", "delayed_ack_max", each),
        ("linux", "delayed_ack_max = \"30ms\"", "delayed_ack_max", "must be 0s or above delayed_ack_timeout `40ms`"),
        ("ns2-linux", "quick_acks = 16", "quick_acks", none),
        ("linux-3.5", "ack_every = 1, quick_acks = 0", "quick_acks", none),
        (
            "linux",
            "delayed_ack_max = \"500ms\"",
            "delayed_ack_max",
            "has no effect: no ACK waits for longer than `rto_min`, 200ms",
        ),
        ("freebsd-9", "ack_every = 1, quick_acks_again = 16", "quick_acks_again", none),
        ("linux-3.5", "rto_min = \"100ms\"", "rto_min", "has no effect: no timeout of this stack is below 200ms"),
        // Beside the slack that FreeBSD adds.
        (
            "freebsd-9",
            "delayed_ack_max = \"0s\", rto_min = \"10ms\", rto_variance_min = \"40ms\"",
            "rto_min",
            "has no effect: no timeout of this stack is below 240ms",
        ),
    ] {
        assert_eq!(refused(profile, options), format!("{key}: {reason}"), "{profile} {options}");
    }
}

#[test]
fn an_option_that_another_switches_off_may_be_named_off_or_as_the_profile_has_it() {
    for (profile, options) in [
        // The profile's RACK, probes and compression go.
        ("linux", "sack = false"),
        ("linux", "sack = false, rack = false, sack_compression = \"0s\""),
        ("linux", "rto_initial = \"1s\""),
        ("linux", "retransmits = \"lost\""),
        ("linux", "rto_min = \"100ms\""),
        ("linux", "delayed_ack_max = \"0s\""),
        ("linux", "fast_recovery = false, ecn = true, reduction = \"pipe\""),
        ("linux-3.5", "sack = false"),
        ("freebsd-9", "rto_min = \"100ms\""),
        ("real-1992", "reduction = \"pipe\""),
        ("real-1992", "sack = true, forward_acknowledgment = true"),
        ("ns2-linux", "ack_every = 1, quick_acks = 0"),
        ("linux", "idle_restart = \"linux\""),
        ("linux", "ack_every = 2, quick_acks = 16"),
        ("linux", "ack_every = 1, quick_acks = 16"),
        ("freebsd-9", "delayed_ack_max = \"0s\", rto_min = \"210ms\", rto_variance_min = \"5ms\""),
        ("ns2-linux", "rto_min = \"200us\", rto_variance_min = \"200us\", rto_initial = \"200us\""),
    ] {
        accepted(&format!("profile = \"{profile}\"\ntransport = {{ {options} }}"));
    }
}

#[test]
fn one_kind_of_evidence_is_enough_for_an_undo() {
    accepted("transport = { sack = false, undo = true, timestamps = true }");
    accepted("transport = { sack = true, undo = true, timestamps = false }");
}
