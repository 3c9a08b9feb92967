//! Files that are no controllers, unknown parameters, and the use of one object by many flows.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use control::testing::{Event, Recording, loss};
use control::{ControllerRef, Parameters, Probe};
use engine::{Engine as _, Job, Watch};
use serde_json::json;
use shim::{Error, Source};
use sim::Simulator;
use units::{Bytes, Time};

/// A folder for the files of the test `name`.
fn folder(name: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join(name);
    fs::create_dir_all(&folder).unwrap();
    folder
}

fn written(test: &str, text: &str) -> PathBuf {
    let path = folder(test).join("mine.bpf.c");
    fs::write(&path, text).unwrap();
    path
}

fn refused(path: &Path) -> String {
    match Source::open(path).and_then(|source| source.build(&Parameters::new())) {
        Err(Error::Source(sentence)) => sentence.replace(&path.display().to_string(), "mine.bpf.c"),
        Err(error) => panic!("{error:?}"),
        Ok(_) => panic!("is taken"),
    }
}

const FIXED: &str = r#"
    #include "ack.h"
    PARAMETER(u32, window, 7);
    PARAMETER(real, share, REAL(0.5));
    CHOICE(mode, calm, calm, in_haste);
    PROBES(draws, mode_now);
    struct mine { u64 draws; u64 last; };
    STORED_STATE(struct mine);
    CALLBACK_1(void, mine_init, struct sock *, sk) { tcp_sk(sk)->snd_cwnd = window + mode; }
    CALLBACK_1(u32, mine_ssthresh, struct sock *, sk) {
        struct mine *s = state(sk);
        s->draws += random_u32() >> 16;
        struct probe_record *out = probe_begin(sk, &s->last);
        probe(out, draws, s->draws, 1);
        probe(out, mode_now, mode * 5, 2);
        probe_end(out);
        return scaled_down(tcp_sk(sk)->snd_cwnd, share);
    }
    CALLBACK_3(void, mine_cong_avoid, struct sock *, sk, u32, ack, u32, acked) {}
    CALLBACK_1(u32, mine_undo_cwnd, struct sock *, sk) { return tcp_sk(sk)->prior_cwnd; }
    CONTROLLER("mine", .init = mine_init, .ssthresh = mine_ssthresh, .cong_avoid = mine_cong_avoid,
               .undo_cwnd = mine_undo_cwnd);
"#;

#[test]
fn the_first_error_of_the_compiler_is_told_with_its_line() {
    let path = written("error", "#include \"ack.h\"\n\nCALLBACK_1(u32, f, struct sock *, sk) { return window; }\n");
    let sentence = refused(&path);
    assert!(sentence.starts_with("`mine.bpf.c` does not compile: mine.bpf.c:3:"), "{sentence}");
    assert!(sentence.contains("window"), "{sentence}");
}

#[test]
fn what_is_no_controller_is_refused() {
    let missing = refused(&folder("missing").join("mine.bpf.c"));
    assert_eq!(missing, "`mine.bpf.c` cannot be read: No such file or directory (os error 2)");
    assert_eq!(
        refused(&written("none", "int x;\n")),
        "`mine.bpf.c` defines no controller: it needs CONTROLLER(\"ack_name\", ...) of ack.h"
    );
    let callbacks = "#include \"ack.h\"\nCALLBACK_1(u32, f, struct sock *, sk) { return 2; }\n\
                     CALLBACK_3(void, g, struct sock *, sk, u32, ack, u32, acked) {}\n";
    for half in [".ssthresh = f, .undo_cwnd = f", ".ssthresh = f, .cong_avoid = g", ".undo_cwnd = f, .cong_avoid = g"] {
        assert_eq!(
            refused(&written("half", &format!("{callbacks}CONTROLLER(\"half\", {half});\n"))),
            "`mine.bpf.c` needs the callbacks ssthresh, undo_cwnd, and cong_avoid or cong_control"
        );
    }
    for name in ["a b", "", "ack_much_too_long_a_name"] {
        let sentence = refused(&written("name", &FIXED.replace("\"mine\"", &format!("\"{name}\""))));
        assert!(sentence.starts_with("`mine.bpf.c`: the name in CONTROLLER(\""), "{sentence}");
        assert!(
            sentence.ends_with("\", ...) is not allowed (allowed: 1 to 15 letters, digits and underscores)"),
            "{sentence}"
        );
    }
    let unknown = "#include \"ack.h\"\nCALLBACK_1(u32, f, struct sock *, sk) { return bpf_get_smp_processor_id(); }\n";
    assert!(refused(&written("unknown", unknown)).contains("bpf_get_smp_processor_id"));
}

#[test]
fn parameters_are_set_for_a_flow_and_refused_by_name() {
    let source = Source::open(&written("parameters", FIXED)).unwrap();
    let window = |given: serde_json::Value| {
        let given: Parameters = serde_json::from_value(given).unwrap();
        let recording =
            Recording { events: vec![(Time::ZERO, Event::Start)], ..Recording::new(Bytes::new(1448), 10.0) };
        source.build(&given).map(|mut controller| recording.play(controller.as_mut(), 1)[0].0)
    };
    // Two sets of parameters of one object at once, and the file's own after them.
    assert_eq!(window(json!({ "window": 20, "mode": "in-haste" })), Ok(21.0));
    assert_eq!(window(json!({})), Ok(7.0));
    let refused = |given| window(given).unwrap_err().to_string().replace(&*source_name(), "mine.bpf.c");
    assert_eq!(
        refused(json!({ "size": 1 })),
        "`mine.bpf.c` has no parameter `size` (there are `window`, `share`, `mode`)"
    );
    assert_eq!(
        refused(json!({ "mode": "wild" })),
        "`mine.bpf.c`, parameter `mode`: \"wild\" is not allowed (allowed: calm, in-haste)"
    );
}

#[test]
fn the_variables_of_a_file_belong_to_one_run() {
    let text = FIXED.replace(
        "{ tcp_sk(sk)->snd_cwnd = window + mode; }",
        "{ static u32 flows; flows++; tcp_sk(sk)->snd_cwnd = 10 * flows; }",
    );
    let source = Source::open(&written("variables", &text)).unwrap();
    let recording = Recording { events: vec![(Time::ZERO, Event::Start)], ..Recording::new(Bytes::new(1448), 10.0) };
    let (one, other) = (source.for_run(), source.for_run());
    let window = |run: &Source| {
        let mut controller = run.build(&Parameters::new()).unwrap();
        recording.play(controller.as_mut(), 1)[0].0
    };
    // The second flow of a run sees the first, as in a kernel. Another run does not.
    assert_eq!([window(&one), window(&one), window(&other)], [10.0, 20.0, 10.0]);
}

#[test]
fn a_form_for_the_kernel_has_the_ranges_of_its_controller() {
    let text =
        FIXED.replace("PARAMETER(u32, window, 7);", "PARAMETER(u32, window, 7);\nPARAMETER(real, beta_l, REAL(0.5));");
    let twin = Source::open(&written("ranges", &text.replace("\"mine\"", "\"ack_cdg\""))).unwrap();
    let other = Source::open(&written("ranges-other", &text)).unwrap();
    let given = |value: f64| serde_json::from_value::<Parameters>(json!({ "beta_l": value, "window": 9 })).unwrap();
    let sentence = twin.build(&given(7.0)).err().unwrap().to_string();
    assert!(sentence.contains("mine.bpf.c`, parameter `beta_l`: 7 is out of range (allowed: "), "{sentence}");
    assert!(twin.build(&given(0.6)).is_ok());
    assert!(other.build(&given(7.0)).is_ok(), "another controller means another thing by the name");
}

fn source_name() -> String {
    folder("parameters").join("mine.bpf.c").display().to_string()
}

#[test]
fn probes_and_random_numbers_are_those_of_the_flow() {
    #[derive(Default)]
    struct Shown(Vec<(&'static str, f64)>);
    impl Probe for Shown {
        fn value(&mut self, name: &'static str, value: f64) {
            self.0.push((name, value));
        }
    }
    let source = Source::open(&written("probes", FIXED)).unwrap();
    let loss = control::Loss {
        in_flight: 7,
        newly_lost: 1,
        again: false,
        acknowledged_to: 0,
        sent_to: 7,
        sent_at: Time::ZERO,
    };
    let events = vec![(Time::ZERO, Event::Start), (Time::ZERO, Event::Loss(loss)), (Time::ZERO, Event::Spurious)];
    let recording = Recording { events, ..Recording::new(Bytes::new(1448), 10.0) };
    let shown = |seed| {
        let mut controller = source.build(&Parameters::from([("mode".into(), json!("in-haste"))])).unwrap();
        // 8 halved. Then the original state, as before any congestion event.
        assert_eq!(recording.play(controller.as_mut(), seed)[1..], [(4.0, 4.0), (8.0, f64::INFINITY)]);
        let mut shown = Shown::default();
        controller.probe(&mut shown);
        shown.0
    };
    let first = shown(1);
    assert_eq!(first[1], ("mode_now", 2.5));
    assert_eq!(first, shown(1));
    assert_ne!(first, shown(2));
}

#[test]
fn flows_of_one_object_on_many_threads_do_not_disturb_each_other() {
    let folder = folder("threads");
    let kernel = concat!(env!("CARGO_MANIFEST_DIR"), "/../../kernel/cdg.bpf.c");
    fs::copy(kernel, folder.join("cdg.bpf.c")).unwrap();
    let text = "duration = \"10s\"\npath = { rate = \"10mbit\", rtt = \"40ms\", queue = \"60p\" }\n\
                flows = [{ cc = \"cdg.bpf.c\", count = 3 }, { cc = \"cdg.bpf.c\", parameters = { a = 3 } }]";
    let file = folder.join("demo.toml").display().to_string();
    let plan = Arc::new(scenario::from_toml(text, &file).unwrap().plan(&|path: &Path| fs::read(path)).unwrap());
    let source = Arc::new(Source::open(&folder.join("cdg.bpf.c")).unwrap());
    let run = || {
        let source = source.clone();
        let make = move |_: &ControllerRef, parameters: &Parameters| source.build(parameters).ok();
        let job = Job { plan: plan.clone(), seed: 3 };
        let simulator = Simulator { controllers: Some(Arc::new(make)), ..Simulator::default() };
        format!("{:?}", simulator.run(&job, &Watch::default()).unwrap().tables)
    };
    let alone = run();
    assert!(alone.contains("cdg.bpf.c"));
    std::thread::scope(|scope| {
        let runs: Vec<_> = (0..4).map(|_| scope.spawn(run)).collect();
        runs.into_iter().for_each(|run| assert_eq!(run.join().unwrap(), alone));
    });
}

#[test]
fn a_window_without_bound_is_told_as_it_is() {
    let endless = FIXED.replace("tcp_sk(sk)->snd_cwnd = window + mode;", "tcp_sk(sk)->snd_cwnd = 0xffffffff;");
    let source = Source::open(&written("endless", &endless)).unwrap();
    let mut controller = source.build(&Parameters::new()).unwrap();
    let recording = Recording { events: vec![(Time::ZERO, Event::Start)], ..Recording::new(Bytes::new(1448), 10.0) };
    assert_eq!(recording.play(controller.as_mut(), 1), [(4_294_967_295.0, f64::INFINITY)]);
}

#[test]
fn a_threshold_beyond_the_law_is_the_window_of_the_reduction_and_an_infinite_one_is_not() {
    for (returned, window) in [
        ("10000001", 10_000_001.0),
        ("0x7ffffffe", 2_147_483_646.0),
        ("0x7fffffff", 10_000_000.0),
        ("0xffffffff", 10_000_000.0),
    ] {
        let text = FIXED.replace("return scaled_down(tcp_sk(sk)->snd_cwnd, share);", &format!("return {returned};"));
        let source = Source::open(&written(&format!("threshold-{returned}"), &text)).unwrap();
        let mut controller = source.build(&Parameters::new()).unwrap();
        let events = vec![(Time::ZERO, Event::Start), (Time::ZERO, Event::Loss(loss()))];
        let recording = Recording { events, ..Recording::new(Bytes::new(1448), 10.0) };
        assert_eq!(recording.play(controller.as_mut(), 1)[1].0, window, "{returned}");
    }
}
