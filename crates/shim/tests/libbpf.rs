//! Controllers in C in the style of libbpf: with `vmlinux.h`, and a `struct tcp_congestion_ops`.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use control::{ControllerRef, Parameters};
use engine::{Engine as _, Job, Watch};
use shim::Source;
use sim::Simulator;

/// NewReno, with the state of an RTT that it does not use, and one controller that is not complete.
const NEWRENO: &str = r#"
    #include "vmlinux.h"
    #include <bpf/bpf_helpers.h>
    #include <bpf/bpf_tracing.h>
    #include "bpf_tracing_net.h"

    char LICENSE[] SEC("license") = "GPL";
    extern unsigned long CONFIG_HZ __kconfig;
    extern __u32 tcp_slow_start(struct tcp_sock *tp, __u32 acked) __ksym;
    extern __u32 tcp_reno_undo_cwnd(struct sock *sk) __ksym;

    struct seen { __u32 acks; __u32 lost; };
    struct {
        __uint(type, BPF_MAP_TYPE_SK_STORAGE);
        __uint(map_flags, BPF_F_NO_PREALLOC);
        __type(key, int);
        __type(value, struct seen);
    } storage SEC(".maps");

    SEC("struct_ops")
    void BPF_PROG(mine_acked, struct sock *sk, const struct ack_sample *sample)
    {
        struct seen *seen = bpf_sk_storage_get(&storage, sk, NULL, BPF_LOCAL_STORAGE_GET_F_CREATE);
        if (seen && sample->rtt_us > 0 && CONFIG_HZ)
            seen->acks += 1;
    }

    SEC("struct_ops")
    void BPF_PROG(mine_event, struct sock *sk, enum tcp_ca_event event)
    {
        if (event == CA_EVENT_TX_START && (__s32)(tcp_jiffies32 - tcp_sk(sk)->lsndtime) < 0)
            tcp_sk(sk)->snd_cwnd = 1;
    }

    SEC("struct_ops")
    __u32 BPF_PROG(mine_ssthresh, struct sock *sk)
    {
        return max(tcp_sk(sk)->snd_cwnd >> 1, 2U);
    }

    SEC("struct_ops")
    void BPF_PROG(mine_avoid, struct sock *sk, __u32 ack, __u32 acked)
    {
        struct tcp_sock *tp = tcp_sk(sk);
        if (!tcp_is_cwnd_limited(sk))
            return;
        if (tcp_in_slow_start(tp)) {
            acked = tcp_slow_start(tp, acked);
            if (!acked)
                return;
        }
        tcp_cong_avoid_ai(tp, tp->snd_cwnd, acked);
    }

    SEC("struct_ops")
    __u32 BPF_PROG(mine_undo, struct sock *sk)
    {
        return tcp_reno_undo_cwnd(sk);
    }

    SEC(".struct_ops")
    struct tcp_congestion_ops half = {
        .init = (void *)mine_acked,
        .name = "bpf_half",
    };

    SEC(".struct_ops.link")
    struct tcp_congestion_ops mine = {
        .pkts_acked = (void *)mine_acked,
        .cwnd_event = (void *)mine_event,
        .ssthresh = (void *)mine_ssthresh,
        .cong_avoid = (void *)mine_avoid,
        .undo_cwnd = (void *)mine_undo,
        .flags = 1,
        .name = "bpf_mine",
    };
"#;

fn written(name: &str, text: &str) -> PathBuf {
    let folder = PathBuf::from(env!("CARGO_TARGET_TMPDIR")).join("libbpf").join(name);
    fs::create_dir_all(&folder).unwrap();
    let path = folder.join("mine.c");
    fs::write(&path, text).unwrap();
    path
}

fn rows(path: &Path) -> String {
    let text = "name = \"c\"\nduration = \"20s\"\n[path]\nrate = \"10mbit\"\nrtt = \"40ms\"\nqueue = \"20p\"\nloss = \
                \"0.5%\"\n[[flows]]\nname = \"flow\"\ncc = \"newreno\"\n[record]\nflow_series = \"1ack\"\nevents = \
                true\n";
    let plan = scenario::from_toml(text, "c.toml").unwrap().plan(&|path: &Path| fs::read(path)).unwrap();
    let source = Source::open(path).unwrap();
    let factory = move |_: &ControllerRef, given: &Parameters| Some(source.build(given).unwrap());
    let simulator = Simulator { controllers: Some(Arc::new(factory)), ..Simulator::default() };
    let outcome = simulator.run(&Job { plan: Arc::new(plan), seed: 1 }, &Watch::default()).unwrap();
    format!("{:?}", outcome.tables)
}

fn refused(path: &Path) -> String {
    let Err(error) = Source::open(path) else { panic!("is taken") };
    error.to_string().replace(&path.display().to_string(), "mine.c")
}

#[test]
fn a_file_as_libbpf_has_it_gives_the_rows_of_the_same_rule_with_ack_h() {
    let own = rows(&Path::new(env!("CARGO_MANIFEST_DIR")).join("../../kernel/newreno.bpf.c"));
    assert!(own.len() > 100_000, "{}", own.len());
    assert!(rows(&written("newreno", NEWRENO)) == own);
    // With the header that has types of its own, which are not taken.
    let older = NEWRENO.replace("\"bpf_tracing_net.h\"", "\"bpf_tcp_helpers.h\"");
    let path = written("older", &older);
    fs::write(
        path.with_file_name("bpf_tcp_helpers.h"),
        "#ifndef __BPF_TCP_HELPERS_H\nstruct sock { int x; };\n#endif\n",
    )
    .unwrap();
    fs::write(path.with_file_name("vmlinux.h"), "#ifndef __VMLINUX_H__\nstruct sock { int x; };\n#endif\n").unwrap();
    assert!(rows(&path) == own);
}

#[test]
fn what_the_simulator_does_not_have_is_refused_with_its_place() {
    let field = NEWRENO.replace("tcp_sk(sk)->lsndtime", "tcp_sk(sk)->bytes_acked");
    let line = field.lines().position(|line| line.contains("bytes_acked")).unwrap() + 1;
    let sentence = refused(&written("field", &field));
    assert!(sentence.starts_with(&format!("`mine.c` does not compile: mine.c:{line}:")), "{sentence}");
    assert!(sentence.contains("bytes_acked"), "{sentence}");
    let none = "#include \"vmlinux.h\"\nextern struct tcp_congestion_ops mine;\n";
    assert_eq!(
        refused(&written("none", none)),
        "`mine.c` defines no controller: it needs a `struct tcp_congestion_ops`"
    );
}
