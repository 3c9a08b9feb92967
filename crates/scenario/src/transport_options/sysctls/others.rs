//! The sysctls that set no option: values that live runs give them, and their meaning in packet scripts.

use super::{Configured, FOLDER};

/// A sysctl that sets no option.
pub(super) struct Other {
    /// Its name below `net.ipv4`, or with the first dot the whole name.
    pub(super) name: &'static str,
    /// Its value in live runs, if they set it.
    pub(super) live: Option<&'static str>,
    pub(super) role: Role,
}

/// The meaning of a sysctl in a packet script.
pub(super) enum Role {
    /// A part of the endpoint that is no option of the transport.
    Endpoint { takes: &'static str, read: fn(&str, &mut Configured) -> Result<(), String>, why: &'static str },
    /// Only these values are simulated.
    Only(&'static [&'static str], &'static str),
    /// It has no effect on a script, for this reason.
    Passed(&'static str),
    /// It is not simulated, for this reason.
    Refused(&'static str),
}

const NO_SECOND: &str = "it concerns more than one connection";
const CLOSED: &str = "it concerns connections that are closed";
const NO_LOST_SYN: &str = "a SYN that is lost is not modelled";
const NO_FAST_OPEN: &str = "no connection begins with data";
const NO_ACCURATE: &str = "accurate ECN is not negotiated";
const NO_PROBING: &str = "tcp_mtu_probing is 0";
const NO_BALANCING: &str = "tcp_plb_enabled is 0";
const NO_PACING: &str = "no queue discipline paces";
const NO_DEVICE: &str = "the device takes packets at once";
const NO_FIELD: &str = "scripts do not show it";
const READ_ONLY: &str = "it is only read";
const ANNOUNCED: &str = "the windows that an endpoint announces are not modelled";
const KEEPALIVE: &str = "keepalives are not modelled";
const OUTSIDE: &str = "packets outside the window are not modelled";
const GIVES_UP: &str = "a connection that gives up is not modelled";

/// All of them, as Linux 6.18 has them, and some that scripts set besides.
pub(super) const OTHERS: &[Other] = &[
    script(
        "tcp_congestion_control",
        Role::Endpoint { takes: "a controller", read: controller, why: "the controller of the next socket" },
    ),
    live("tcp_window_scaling", "1", Role::Only(&["1"], "as windows are scaled")),
    live("tcp_moderate_rcvbuf", "1", Role::Only(&["1"], "as the receive buffer grows")),
    live("tcp_recovery", "1", Role::Only(&["0", "1"], "as RACK is on with either since Linux 6.17")),
    live("tcp_no_metrics_save", "1", Role::Passed(NO_SECOND)),
    live("tcp_comp_sack_slack_ns", "0", Role::Passed("timers of high resolution are exact")),
    script("tcp_dsack", Role::Only(&["1"], "as duplicates are reported")),
    script("tcp_fack", Role::Only(&["0"], "as forward acknowledgment went with Linux 4.15")),
    script("tcp_cubic.hystart_detect", Role::Only(&["3"], "as HyStart uses both tests")),
    script("tcp_mtu_probing", Role::Only(&["0"], "as the path is not probed for its MTU")),
    script("tcp_min_rtt_wlen", Role::Only(&["300"], "as the shortest RTT counts for 300 s")),
    script("tcp_max_reordering", Role::Only(&["300"], "the value of Linux")),
    script("tcp_min_snd_mss", Role::Only(&["48"], "the value of Linux")),
    script("tcp_pingpong_thresh", Role::Only(&["1"], "the value of Linux")),
    script("tcp_plb_enabled", Role::Only(&["0"], "as there is one path")),
    script("tcp_retrans_collapse", Role::Only(&["1"], "as full segments do not collapse")),
    script("tcp_shrink_window", Role::Only(&["0"], "as a window never shrinks")),
    script("tcp_thin_linear_timeouts", Role::Only(&["0"], "as timeouts double")),
    script("tcp_tso_rtt_log", Role::Only(&["9"], "the value of Linux")),
    script("tcp_workaround_signed_windows", Role::Only(&["0"], "as windows are unsigned")),
    script("tcp_mem", Role::Passed(NO_SECOND)),
    script("tcp_no_ssthresh_metrics_save", Role::Passed(NO_SECOND)),
    script("tcp_abort_on_overflow", Role::Passed(NO_SECOND)),
    script("tcp_child_ehash_entries", Role::Passed(NO_SECOND)),
    script("tcp_early_demux", Role::Passed(NO_SECOND)),
    script("tcp_ehash_entries", Role::Passed(NO_SECOND)),
    script("tcp_fwmark_accept", Role::Passed(NO_SECOND)),
    script("tcp_l3mdev_accept", Role::Passed(NO_SECOND)),
    script("tcp_low_latency", Role::Passed(NO_SECOND)),
    script("tcp_max_orphans", Role::Passed(NO_SECOND)),
    script("tcp_max_syn_backlog", Role::Passed(NO_SECOND)),
    script("tcp_migrate_req", Role::Passed(NO_SECOND)),
    script("tcp_syncookies", Role::Passed(NO_SECOND)),
    script("tcp_fin_timeout", Role::Passed(CLOSED)),
    script("tcp_max_tw_buckets", Role::Passed(CLOSED)),
    script("tcp_orphan_retries", Role::Passed(CLOSED)),
    script("tcp_rfc1337", Role::Passed(CLOSED)),
    script("tcp_tw_reuse", Role::Passed(CLOSED)),
    script("tcp_tw_reuse_delay", Role::Passed(CLOSED)),
    script("tcp_ecn_fallback", Role::Passed(NO_LOST_SYN)),
    script("tcp_syn_linear_timeouts", Role::Passed(NO_LOST_SYN)),
    script("tcp_syn_retries", Role::Passed(NO_LOST_SYN)),
    script("tcp_synack_retries", Role::Passed(NO_LOST_SYN)),
    script("tcp_fastopen", Role::Passed(NO_FAST_OPEN)),
    script("tcp_fastopen_blackhole_timeout_sec", Role::Passed(NO_FAST_OPEN)),
    script("tcp_fastopen_key", Role::Passed(NO_FAST_OPEN)),
    script("tcp_ecn_option", Role::Passed(NO_ACCURATE)),
    script("tcp_ecn_option_beacon", Role::Passed(NO_ACCURATE)),
    script("tcp_base_mss", Role::Passed(NO_PROBING)),
    script("tcp_mtu_probe_floor", Role::Passed(NO_PROBING)),
    script("tcp_probe_interval", Role::Passed(NO_PROBING)),
    script("tcp_probe_threshold", Role::Passed(NO_PROBING)),
    script("tcp_plb_cong_thresh", Role::Passed(NO_BALANCING)),
    script("tcp_plb_idle_rehash_rounds", Role::Passed(NO_BALANCING)),
    script("tcp_plb_rehash_rounds", Role::Passed(NO_BALANCING)),
    script("tcp_plb_suspend_rto_sec", Role::Passed(NO_BALANCING)),
    script("tcp_min_tso_segs", Role::Passed(NO_PACING)),
    script("tcp_pacing_ca_ratio", Role::Passed(NO_PACING)),
    script("tcp_pacing_ss_ratio", Role::Passed(NO_PACING)),
    script("tcp_autocorking", Role::Passed(NO_DEVICE)),
    script("tcp_limit_output_bytes", Role::Passed(NO_DEVICE)),
    script("tcp_notsent_lowat", Role::Passed("no write waits")),
    script("net.core.rmem_max", Role::Passed("SO_RCVBUF is at most 4 MiB, as in Linux 6.18")),
    script("net.core.wmem_max", Role::Passed("no write waits")),
    script("tcp_reflect_tos", Role::Passed(NO_FIELD)),
    script("tcp_stdurg", Role::Passed(NO_FIELD)),
    script("tcp_backlog_ack_defer", Role::Passed(NO_FIELD)),
    script("tcp_retries1", Role::Passed(NO_FIELD)),
    script("tcp_allowed_congestion_control", Role::Refused(READ_ONLY)),
    script("tcp_available_congestion_control", Role::Refused(READ_ONLY)),
    script("tcp_available_ulp", Role::Refused(READ_ONLY)),
    script("tcp_adv_win_scale", Role::Refused(ANNOUNCED)),
    script("tcp_app_win", Role::Refused(ANNOUNCED)),
    script("tcp_keepalive_intvl", Role::Refused(KEEPALIVE)),
    script("tcp_keepalive_probes", Role::Refused(KEEPALIVE)),
    script("tcp_keepalive_time", Role::Refused(KEEPALIVE)),
    script("tcp_challenge_ack_limit", Role::Refused(OUTSIDE)),
    script("tcp_invalid_ratelimit", Role::Refused(OUTSIDE)),
    script("tcp_retries2", Role::Refused(GIVES_UP)),
];

const fn live(name: &'static str, value: &'static str, role: Role) -> Other {
    Other { name, live: Some(value), role }
}

const fn script(name: &'static str, role: Role) -> Other {
    Other { name, live: None, role }
}

fn controller(value: &str, configured: &mut Configured) -> Result<(), String> {
    configured.controller = Some(value.to_owned());
    Ok(())
}

impl Other {
    pub(super) fn full_name(&self) -> String {
        if self.name.contains('.') { self.name.to_owned() } else { format!("{FOLDER}{}", self.name) }
    }
}

impl Role {
    /// Takes `value`, and says whether this acts on the endpoint.
    pub(super) fn read(&self, value: &str, configured: &mut Configured) -> Result<bool, String> {
        match *self {
            Self::Endpoint { read, .. } => read(value, configured).map(|()| true),
            Self::Only(values, why) if !values.contains(&value) => Err(format!("{} is, {why}", values.join(", "))),
            Self::Only(..) | Self::Passed(_) => Ok(false),
            Self::Refused(why) => Err(why.to_owned()),
        }
    }

    /// The values that are read, and the reason.
    pub(super) fn described(&self) -> (String, &'static str) {
        match *self {
            Self::Endpoint { takes, why, .. } => (takes.to_owned(), why),
            Self::Only(values, why) => (values.join(", "), why),
            Self::Passed(why) => ("any".to_owned(), why),
            Self::Refused(why) => ("none".to_owned(), why),
        }
    }
}
