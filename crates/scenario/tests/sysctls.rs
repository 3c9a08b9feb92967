//! The sysctls of Linux: read(write(x)) = x, and every setting of the kernel's TCP is simulated or refused by name.

use proptest::prelude::*;
use scenario::{TransportOptions, configure, sysctls};
use serde_json::{Map, Value, json};
use transport::{Buffer, EcnMode, linux, linux_3_5};
use units::{Bytes, Span};

/// The files /proc/sys/net/ipv4/tcp_* of Linux 6.18.
const KERNEL: &str = "\
    tcp_abort_on_overflow tcp_adv_win_scale tcp_allowed_congestion_control tcp_app_win tcp_autocorking \
    tcp_available_congestion_control tcp_available_ulp tcp_backlog_ack_defer tcp_base_mss tcp_challenge_ack_limit \
    tcp_child_ehash_entries tcp_comp_sack_delay_ns tcp_comp_sack_nr tcp_comp_sack_slack_ns tcp_congestion_control \
    tcp_dsack tcp_early_demux tcp_early_retrans tcp_ecn tcp_ecn_fallback tcp_ecn_option tcp_ecn_option_beacon \
    tcp_ehash_entries tcp_fack tcp_fastopen tcp_fastopen_blackhole_timeout_sec tcp_fastopen_key tcp_fin_timeout \
    tcp_frto tcp_fwmark_accept tcp_invalid_ratelimit tcp_keepalive_intvl tcp_keepalive_probes tcp_keepalive_time \
    tcp_l3mdev_accept tcp_limit_output_bytes tcp_low_latency tcp_max_orphans tcp_max_reordering tcp_max_syn_backlog \
    tcp_max_tw_buckets tcp_mem tcp_migrate_req tcp_min_rtt_wlen tcp_min_snd_mss tcp_min_tso_segs \
    tcp_moderate_rcvbuf tcp_mtu_probe_floor tcp_mtu_probing tcp_no_metrics_save tcp_no_ssthresh_metrics_save \
    tcp_notsent_lowat tcp_orphan_retries tcp_pacing_ca_ratio tcp_pacing_ss_ratio tcp_pingpong_thresh \
    tcp_plb_cong_thresh tcp_plb_enabled tcp_plb_idle_rehash_rounds tcp_plb_rehash_rounds tcp_plb_suspend_rto_sec \
    tcp_probe_interval tcp_probe_threshold tcp_recovery tcp_reflect_tos tcp_reordering tcp_retrans_collapse \
    tcp_retries1 tcp_retries2 tcp_rfc1337 tcp_rmem tcp_rto_max_ms tcp_rto_min_us tcp_sack tcp_shrink_window \
    tcp_slow_start_after_idle tcp_stdurg tcp_syn_linear_timeouts tcp_syn_retries tcp_synack_retries tcp_syncookies \
    tcp_thin_linear_timeouts tcp_timestamps tcp_tso_rtt_log tcp_tso_win_divisor tcp_tw_reuse tcp_tw_reuse_delay \
    tcp_window_scaling tcp_wmem tcp_workaround_signed_windows";

fn configured(profile: &transport::Stack, settings: &[(&str, &str)]) -> Result<Map<String, Value>, String> {
    let settings: Vec<_> = settings.iter().map(|(name, value)| ((*name).to_owned(), (*value).to_owned())).collect();
    configure(profile, &settings).map(|found| found.transport)
}

fn refused(name: &str, value: &str) -> String {
    configured(&linux(), &[(name, value)]).unwrap_err()
}

#[test]
fn every_setting_of_the_kernel_is_declared_once() {
    let declared: Vec<String> =
        sysctls().into_iter().filter(|sysctl| sysctl.option.is_none()).map(|one| one.name).collect();
    let options: Vec<String> =
        sysctls().into_iter().filter(|sysctl| sysctl.option.is_some()).map(|one| one.name).collect();
    for name in KERNEL.split_whitespace().map(|name| format!("net.ipv4.{name}")) {
        let known = declared.iter().filter(|other| **other == name).count() + usize::from(options.contains(&name));
        assert_eq!(known, 1, "{name}");
    }
}

#[test]
fn a_setting_that_is_refused_says_why() {
    for sysctl in sysctls() {
        assert!(sysctl.option.is_some() != sysctl.why.is_some(), "{sysctl:?}");
        if sysctl.takes == "none" {
            let why = refused(&sysctl.name, "1");
            assert_eq!(why, format!("the sysctl {}=1 is not modelled: {}", sysctl.name, sysctl.why.unwrap()));
        }
    }
    let refusals = [
        ("net.ipv4.tcp_sack", "x", "it is 0 or 1"),
        ("net.ipv4.tcp_early_retrans", "5", "it is 0, 1, 2, 3 or 4"),
        ("net.ipv4.tcp_reordering", "17", "duplicate_threshold `17` is out of range (allowed: 1 to 16)"),
        ("net.ipv4.tcp_reordering", "-1", "it is a number"),
        ("net.ipv4.tcp_rto_min_us", "18446744073709551615", "it is too large"),
        ("net.ipv4.tcp_comp_sack_nr", "3", "it is 0 or 44"),
        ("net.ipv4.tcp_tso_win_divisor", "9", "3 is, and from 100 on no train waits"),
        ("net.ipv4.tcp_recovery", "2", "0, 1 is, as RACK is on with either since Linux 6.17"),
        ("net.ipv4.tcp_rmem", "1 2", "it is three ascending numbers"),
    ];
    for (name, value, why) in refusals {
        assert_eq!(refused(name, value), format!("the sysctl {name}={value} is not modelled: {why}"));
    }
    assert_eq!(refused("net.ipv4.ip_forward", "1"), "the sysctl net.ipv4.ip_forward=1 is not modelled");
}

#[test]
fn what_sack_rules_out_is_left_out() {
    let settings = [("net.ipv4.tcp_early_retrans", "3"), ("net.ipv4.tcp_sack", "0")];
    let found = json!(configured(&linux(), &settings).unwrap());
    assert_eq!(found, json!({ "receive_buffer": "4096 131072 6291456", "sack": false }));
}

#[test]
fn probes_are_on_with_two_of_five_values() {
    let probes =
        |value| configured(&linux(), &[("net.ipv4.tcp_early_retrans", value)]).unwrap()["tail_loss_probe"].clone();
    assert_eq!(json!(["0", "1", "2", "3", "4"].map(probes)), json!([false, false, false, true, true]));
}

#[test]
fn a_profile_without_a_rule_gets_it_by_its_setting() {
    let found = configured(&linux_3_5(), &[("net.ipv4.tcp_frto", "1"), ("net.ipv4.tcp_recovery", "1")]).unwrap();
    assert_eq!(json!(found), json!({ "forward_rto": true, "receive_buffer": "4096 87380 6291456" }));
}

#[test]
fn a_host_has_its_usual_receive_buffer_until_another_is_set() {
    let buffer = |profile, settings: &[(&str, &str)]| configured(&profile, settings).unwrap()["receive_buffer"].clone();
    assert_eq!(buffer(linux(), &[]), "4096 131072 6291456");
    assert_eq!(buffer(linux(), &[("net.ipv4.tcp_rmem", "4096 8388608 268435456")]), "unlimited");
    assert_eq!(buffer(transport::real_1992(), &[]), "unlimited");
}

#[test]
fn a_buffer_that_does_not_grow_is_half_of_its_sizes() {
    // SO_RCVBUF as applications give it, of which Linux makes twice as much.
    let options =
        |bytes| TransportOptions { receive_buffer: Buffer::Fixed(Bytes::new(bytes)), ..TransportOptions::of(&linux()) };
    let written = |bytes| {
        let sysctls = options(bytes).sysctls().unwrap();
        sysctls.into_iter().find(|(name, _)| name.ends_with("tcp_rmem")).unwrap().1
    };
    assert_eq!([written(65_536), written(1000)], ["4096 131072 131072", "2000 2000 2000"]);
    let settings = [("net.ipv4.tcp_rmem".to_owned(), "4096 131072 131072".to_owned())];
    let found = configure(&linux(), &settings).unwrap();
    // 2^17 bytes need 18 bits, two more than the 16 of a window.
    assert_eq!((found.transport["receive_buffer"].as_str(), found.window_scale), (Some("65536B"), Some(2)));
}

#[test]
fn a_divisor_of_3_lets_segments_wait_for_a_train_and_100_does_not() {
    let waits = |value| {
        configured(&linux(), &[("net.ipv4.tcp_tso_win_divisor", value)]).unwrap()["segmentation_offload"].clone()
    };
    assert_eq!(json!(["3", "100", "4000000000"].map(waits)), json!([true, false, false]));
}

#[test]
fn the_last_setting_counts_and_says_whether_it_acts() {
    let settings = |last: &str| {
        let all =
            [("net.ipv4.tcp_ecn", "0"), ("net.ipv4.tcp_rmem", "4096 131072 15728640"), ("net.ipv4.tcp_ecn", last)];
        all.map(|(name, value)| (name.to_owned(), value.to_owned())).to_vec()
    };
    let found = configure(&linux(), &settings("4")).unwrap();
    assert_eq!((found.ecn, found.window_scale, found.acts), (Some(4), Some(8), true));
    let passed = [settings("4"), vec![("net.ipv4.tcp_mem".to_owned(), "1 2 3".to_owned())]].concat();
    assert!(!configure(&linux(), &passed).unwrap().acts);
}

#[test]
fn an_option_that_shares_its_setting_with_another_has_its_value() {
    let options = TransportOptions { rto_min: Span::from_millis(300), ..TransportOptions::of(&linux()) };
    assert_eq!(options.sysctls(), Err("rto_variance_min"));
}

fn buffer() -> impl Strategy<Value = Buffer> {
    prop_oneof![
        Just(Buffer::Unlimited),
        (1u64..1 << 29).prop_map(|size| Buffer::Fixed(Bytes::new(size))),
        (1u64..4096, 1u64..1 << 20, 1u64..1 << 30).prop_map(|(least, initial, more)| Buffer::tuned(
            least,
            least + initial,
            least + initial + more
        )),
    ]
}

prop_compose! {
    fn options()(
        flags in proptest::array::uniform5(any::<bool>()),
        duplicate_threshold in 1u32..=16,
        (rto_min, rto_max) in (1u64..1_000_000, 1_000u64..1_000_000),
        compression in prop_oneof![Just(0), 1u64..10_000_000],
        (receive_buffer, send_buffer) in (buffer(), buffer()),
        ecn in prop_oneof![Just(EcnMode::Off), Just(EcnMode::Classic)],
    ) -> TransportOptions {
        let [sack, timestamps, tail_loss_probe, forward_rto, slow_start_restart] = flags;
        let rto_min = Span::from_micros(rto_min);
        let options = TransportOptions {
            sack, timestamps, tail_loss_probe, forward_rto, slow_start_restart, duplicate_threshold, rto_min, ecn,
            receive_buffer, send_buffer,
            rto_variance_min: rto_min,
            rto_max: Span::from_millis(rto_max).max(rto_min),
            sack_compression: Span::from_nanos(compression),
            ..TransportOptions::of(&linux())
        };
        TransportOptions::of(&options.stack(&linux()))
    }
}

proptest! {
    #[test]
    fn settings_are_read_as_they_are_written(options in options()) {
        let written = options.sysctls().unwrap();
        let settings: Vec<_> = written.into_iter().map(|(name, value)| (format!("net.ipv4.{name}"), value)).collect();
        let read = configure(&linux(), &settings).unwrap().transport;
        let mut all = json!(TransportOptions::of(&linux()));
        all.as_object_mut().unwrap().extend(read);
        let read: TransportOptions = serde_json::from_value(all).unwrap();
        prop_assert_eq!(TransportOptions::of(&read.stack(&linux())), options);
    }
}
