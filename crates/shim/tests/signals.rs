//! The inputs of a controller in C at each event: the fields of the kernel's structures.

use std::collections::BTreeMap;
use std::fs;
use std::path::PathBuf;

use control::testing::starting;
use control::{Ack, Context, Controller, Loss, Moment, Parameters, Probe, RateSample, RttSample, SentState};
use shim::Source;
use units::{Bytes, Random, Span, Time};

const WATCHING: &str = r#"
    #include "ack.h"
    PROBES(starts, prior_delivered, prior_delivered_ce, delivered_ce, total_ce, is_retrans, delivered_mstamp,
           app_limited);
    struct mine { u64 starts; u64 last; };
    STORED_STATE(struct mine);
    CALLBACK_2(void, mine_cwnd_event, struct sock *, sk, u32, event) {
        if (event == CA_EVENT_TX_START)
            state(sk)->starts += 1;
    }
    CALLBACK_4(void, mine_cong_control, struct sock *, sk, u32, ack, u32, flag, const struct rate_sample *, rs) {
        struct mine *s = state(sk);
        struct probe_record *out = probe_begin(sk, &s->last);
        probe(out, starts, s->starts, 1);
        probe(out, prior_delivered, rs->prior_delivered, 1);
        probe(out, prior_delivered_ce, rs->prior_delivered_ce, 1);
        probe(out, delivered_ce, rs->delivered_ce, 1);
        probe(out, total_ce, tcp_sk(sk)->delivered_ce, 1);
        probe(out, is_retrans, rs->is_retrans, 1);
        probe(out, delivered_mstamp, tcp_sk(sk)->delivered_mstamp, 1);
        probe(out, app_limited, tcp_sk(sk)->app_limited, 1);
        probe_end(out);
        tcp_sk(sk)->snd_cwnd += 1;
    }
    CALLBACK_1(u32, mine_ssthresh, struct sock *, sk) { return 5; }
    CALLBACK_1(u32, mine_undo_cwnd, struct sock *, sk) { return tcp_sk(sk)->prior_cwnd; }
    CONTROLLER("mine", .ssthresh = mine_ssthresh, .cong_control = mine_cong_control, .cwnd_event = mine_cwnd_event,
               .undo_cwnd = mine_undo_cwnd);
"#;

fn build(folder: &str, text: &str) -> Box<dyn Controller> {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(folder);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("mine.bpf.c");
    fs::write(&path, text).unwrap();
    Source::open(&path).and_then(|source| source.build(&Parameters::new())).unwrap()
}

fn probes(controller: &dyn Controller) -> BTreeMap<&'static str, f64> {
    struct All(BTreeMap<&'static str, f64>);
    impl Probe for All {
        fn value(&mut self, name: &'static str, value: f64) {
            self.0.insert(name, value);
        }
    }
    let mut all = All(BTreeMap::new());
    controller.probe(&mut all);
    all.0
}

fn context(now: Time, random: &mut Random) -> Context<'_> {
    let moment = Moment { now, segment_size: Bytes::new(1000), initial_window: 10.0, ..Moment::EMPTY };
    Context { moment, random }
}

#[test]
fn cong_control_is_given_what_the_kernel_gives_and_governs_recovery() {
    let mut controller = build("signals", WATCHING);
    assert!(controller.wants().governs_recovery && controller.wants().transmit_start);
    let mut random = Random::stream(1, "test", 0);
    let mut cx = context(Time::from_nanos(7_000_000), &mut random);
    controller.on_start(&mut cx);
    controller.on_transmit_start(&mut cx, &starting(Span::ZERO));
    let sent =
        SentState { at: Time::ZERO, delivered: 100, lost: 0, marked: 3, in_flight: 4, application_limited: false };
    let rate = RateSample {
        delivered: 4,
        interval: Span::from_millis(40),
        application_limited: false,
        prior_delivered: 100,
        is_retransmission: true,
        sent: Some(sent),
    };
    let ack = Ack {
        newly_acknowledged: 2,
        newly_delivered: 2,
        marked: 8,
        acknowledged_to: 2,
        sent_to: 12,
        in_flight: 10,
        application_limited: true,
        rate: Some(rate),
        ..Ack::EMPTY
    };
    controller.on_ack(&mut cx, &ack);
    // Eight marks by now, three when the segment left. Two delivered and ten in flight: until twelve are delivered.
    let expected = [
        ("app_limited", 12.0),
        ("delivered_ce", 5.0),
        ("delivered_mstamp", 7000.0),
        ("is_retrans", 1.0),
        ("prior_delivered", 100.0),
        ("prior_delivered_ce", 3.0),
        ("starts", 1.0),
        ("total_ce", 8.0),
    ];
    assert_eq!(probes(controller.as_ref()), BTreeMap::from(expected));
    // The window is snd_cwnd, inside recovery too, where ACKs that advance come as on_ack.
    assert_eq!(controller.window(), 11.0);
    let loss =
        Loss { in_flight: 10, newly_lost: 1, again: false, acknowledged_to: 2, sent_to: 12, sent_at: Time::ZERO };
    controller.on_loss(&mut cx, &loss);
    controller.on_ack(&mut cx, &Ack { acknowledged_to: 3, ..ack });
    assert_eq!(controller.window(), 12.0);
}

#[test]
fn timestamps_of_the_kernel_are_ticks_of_the_clock_of_the_host() {
    const READING: &str = r#"
        #include "ack.h"
        PROBES(rcv_tsecr, tcp_mstamp, ktime, lsndtime);
        struct mine { u64 last; };
        STORED_STATE(struct mine);
        CALLBACK_4(void, mine_cong_control, struct sock *, sk, u32, ack, u32, flag, const struct rate_sample *, rs) {
            struct probe_record *out = probe_begin(sk, &state(sk)->last);
            probe(out, rcv_tsecr, tcp_sk(sk)->rx_opt.rcv_tsecr, 1);
            probe(out, tcp_mstamp, tcp_sk(sk)->tcp_mstamp, 1);
            probe(out, ktime, bpf_ktime_get_ns(), 1);
            probe(out, lsndtime, tcp_sk(sk)->lsndtime, 1);
            probe_end(out);
        }
        CALLBACK_1(u32, mine_ssthresh, struct sock *, sk) { return 5; }
        CALLBACK_1(u32, mine_undo_cwnd, struct sock *, sk) { return 5; }
        CONTROLLER("mine", .ssthresh = mine_ssthresh, .cong_control = mine_cong_control, .undo_cwnd = mine_undo_cwnd);
    "#;
    let mut controller = build("signals-clock", READING);
    let mut random = Random::stream(1, "test", 0);
    // The host was up for 100.0007 s. The segment left at 10.2 ms, and its ACK comes 61.2 ms later.
    let up = Span::from_micros(100_000_700);
    let mut cx = context(Time::from_nanos(10_200_000), &mut random);
    cx.moment.host_clock_at_start = up;
    cx.moment.timestamp_tick = Span::from_millis(1);
    controller.on_start(&mut cx);
    controller.on_transmit_start(&mut cx, &starting(Span::ZERO));
    cx.moment.now = Time::from_nanos(71_400_000);
    let ack = Ack {
        timestamp_echo: Time::from_nanos(10_200_000),
        newly_acknowledged: 1,
        newly_delivered: 1,
        acknowledged_to: 1,
        sent_to: 1,
        ..Ack::EMPTY
    };
    controller.on_ack(&mut cx, &ack);
    // From 100,010.9 to 100,072.1 ms are 62 ticks of a millisecond, as the sender counts them. A jiffy takes 4 ms, and
    // 100,000 were counted at boot.
    assert_eq!(ack.timestamp_rtt(&cx), Some(Span::from_millis(62)));
    let expected = [
        ("ktime", 100_072_100_000.0),
        ("lsndtime", 125_002.0),
        ("rcv_tsecr", 100_010.0),
        ("tcp_mstamp", 100_072_100.0),
    ];
    assert_eq!(probes(controller.as_ref()), BTreeMap::from(expected));
}

/// A controller whose probes are these expressions, as it finds them in cong_control.
fn showing(folder: &str, names: &[&str]) -> Box<dyn Controller> {
    let list: Vec<String> = (0..names.len()).map(|at| format!("p{at}")).collect();
    let shown: String = (0..).zip(names).map(|(at, of)| format!("probe(out, p{at}, (u64)({of}), 1);\n")).collect();
    let text = format!(
        "#include \"ack.h\"\nPROBES({});\nstruct mine {{ u64 last; }};\nSTORED_STATE(struct mine);\n\
         CALLBACK_4(void, mine_control, struct sock *, sk, u32, ack, u32, flag, const struct rate_sample *, rs) {{\n\
         struct tcp_sock *tp = tcp_sk(sk);\nstruct probe_record *out = probe_begin(sk, &state(sk)->last);\n\
         {shown}probe_end(out); }}\n\
         CALLBACK_1(u32, mine_ssthresh, struct sock *, sk) {{ return 5; }}\n\
         CALLBACK_1(u32, mine_undo_cwnd, struct sock *, sk) {{ return 5; }}\n\
         CONTROLLER(\"mine\", .ssthresh = mine_ssthresh, .cong_control = mine_control, .undo_cwnd = mine_undo_cwnd);\n",
        list.join(", ")
    );
    build(folder, &text)
}

#[test]
fn an_ack_writes_the_fields_of_the_connection_and_of_its_rate_sample() {
    let fields = [
        ("ack", 5000.0),
        ("tp->snd_una", 5000.0),
        ("tp->snd_nxt", 14_000.0),
        ("tp->packets_out", 9.0),
        ("tp->sacked_out", 3.0),
        ("tp->retrans_out", 0.0),
        // Eighths of a microsecond.
        ("tp->srtt_us", 360_000.0),
        ("tp->is_cwnd_limited", 1.0),
        ("tp->max_packets_out", 12.0),
        ("tp->delivered", 4.0),
        ("tp->lost", 2.0),
        ("rs->delivered", 4.0),
        ("rs->interval_us", 40_000.0),
        ("rs->rtt_us", 41_000.0),
        ("rs->losses", 2.0),
        ("rs->acked_sacked", 4.0),
        ("rs->prior_in_flight", 12.0),
        ("rs->is_app_limited", 1.0),
    ];
    let mut controller = showing("signals-fields", &fields.map(|(name, _)| name));
    let mut random = Random::stream(1, "test", 0);
    let mut cx = context(Time::from_nanos(7_000_000), &mut random);
    controller.on_start(&mut cx);
    let rate = RateSample {
        delivered: 4,
        interval: Span::from_millis(40),
        application_limited: true,
        prior_delivered: 0,
        is_retransmission: false,
        sent: None,
    };
    let ack = Ack {
        rtt: Some(RttSample { value: Span::from_millis(41), delayed: false }),
        smoothed_rtt: Span::from_millis(45),
        newly_acknowledged: 2,
        newly_delivered: 4,
        newly_lost: 2,
        acknowledged_to: 5,
        sent_to: 14,
        in_flight_before: 12,
        in_flight: 6,
        window_limited: true,
        rate: Some(rate),
        ..Ack::EMPTY
    };
    controller.on_ack(&mut cx, &ack);
    let seen = probes(controller.as_ref());
    for (at, (name, value)) in fields.iter().enumerate() {
        assert_eq!(seen[format!("p{at}").as_str()], *value, "{name}");
    }
}

#[test]
fn an_ack_without_samples_says_so_as_the_kernel_does() {
    let fields = ["rs->delivered == -1", "rs->interval_us == -1", "rs->rtt_us == -1", "rs->prior_delivered == 0"];
    let mut controller = showing("signals-no-samples", &fields);
    let mut random = Random::stream(1, "test", 0);
    let mut cx = context(Time::from_nanos(7_000_000), &mut random);
    controller.on_start(&mut cx);
    let ack = Ack { newly_acknowledged: 1, newly_delivered: 1, acknowledged_to: 1, sent_to: 2, ..Ack::EMPTY };
    controller.on_ack(&mut cx, &ack);
    let seen = probes(controller.as_ref());
    for (at, name) in fields.iter().enumerate() {
        assert_eq!(seen[format!("p{at}").as_str()], 1.0, "{name}");
    }
}
