//! The controllers in this machine's kernel, each test in a network namespace of its own. Without BPF they say
//! so and pass.

use std::collections::BTreeMap;
use std::fs;
use std::io::{BufRead, BufReader, Read, Write};
use std::net::{TcpListener, TcpStream};
use std::process::{Command, Stdio};
use std::time::Duration;

use control::Parameters;
use kernel::{
    BUILT_IN, Congestion, Filter, Kind, LoadError, Loaded, ProbeTurns, Trace, check, machine, namespace_cookie,
};
use rustix::fs::statfs;
use rustix::mount::{MountFlags, UnmountFlags, mount, unmount};
use rustix::net::sockopt::{set_tcp_congestion, tcp_congestion};
use scratch::Scratch;
use serde_json::{Value, json};

/// Bytes of a short transfer.
const SHORT: usize = 8 << 20;

/// Runs `test` in a network namespace of its own, or says why it cannot.
fn isolated(test: impl FnOnce() + Send) {
    if let Err(LoadError::Unavailable(missing)) = check() {
        println!("skipped: {missing}");
        return;
    }
    let run = || {
        namespaces::enter();
        test();
    };
    std::thread::scope(|scope| scope.spawn(run).join()).unwrap_or_else(|panic| std::panic::resume_unwind(panic));
}

#[expect(unsafe_code, reason = "namespaces, interfaces and filters have no safe interface")]
mod namespaces {
    use std::net::{TcpStream, UdpSocket};
    use std::os::fd::AsRawFd;

    use rustix::mount::{MountPropagationFlags, mount_change};
    use rustix::thread::{UnshareFlags, unshare_unsafe};

    /// From now on `stream` gets no arriving data, or all of it again.
    pub(super) fn deafen(stream: &TcpStream, deaf: bool) {
        // The one instruction says that nothing of a packet is kept (BPF_RET | BPF_K).
        let mut nothing = libc::sock_filter { code: 6, jt: 0, jf: 0, k: 0 };
        let program = libc::sock_fprog { len: 1, filter: &raw mut nothing };
        let option = if deaf { libc::SO_ATTACH_FILTER } else { libc::SO_DETACH_FILTER };
        let size = size_of_val(&program) as libc::socklen_t;
        // SAFETY: the kernel copies the program, which lives as long as the call.
        let result = unsafe {
            libc::setsockopt(stream.as_raw_fd(), libc::SOL_SOCKET, option, (&raw const program).cast(), size)
        };
        assert_eq!(result, 0);
    }

    /// A network of its own with a loopback of the MTU of Ethernet, and mounts of its own.
    pub(super) fn enter() {
        // SAFETY: no file descriptors are unshared.
        unsafe { unshare_unsafe(UnshareFlags::NEWNET | UnshareFlags::NEWNS) }.unwrap();
        mount_change("/", MountPropagationFlags::REC | MountPropagationFlags::PRIVATE).unwrap();
        let socket = UdpSocket::bind("0.0.0.0:0").unwrap();
        // SAFETY: all zero is a valid request, and the kernel reads no more than one.
        unsafe {
            let mut request: libc::ifreq = std::mem::zeroed();
            request.ifr_name[0] = b'l' as libc::c_char;
            request.ifr_name[1] = b'o' as libc::c_char;
            request.ifr_ifru.ifru_mtu = 1500;
            assert_eq!(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFMTU, &raw const request), 0);
            request.ifr_ifru.ifru_flags = libc::IFF_UP as libc::c_short;
            assert_eq!(libc::ioctl(socket.as_raw_fd(), libc::SIOCSIFFLAGS, &raw const request), 0);
        }
    }
}

fn load(name: &str, parameters: &[(&str, Value)]) -> Loaded {
    let parameters: Parameters = parameters.iter().map(|(name, value)| (name.to_string(), value.clone())).collect();
    Congestion::load(&name.into(), &parameters, 1).unwrap_or_else(|error| panic!("{error}"))
}

fn registered(name: &str) -> bool {
    let all = fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap();
    all.split_whitespace().any(|one| one == name)
}

/// True once the kernel takes `name` out: it does so at its leisure, which is long on a busy machine.
fn goes(name: &str) -> bool {
    (0..6000).any(|_| {
        pause(10);
        !registered(name)
    })
}

/// A connection over loopback under the controller `name`, and the thread that reads its other end to the last byte.
struct Transfer {
    stream: TcpStream,
    sink: std::thread::JoinHandle<usize>,
}

impl Transfer {
    #[expect(clippy::disallowed_methods, reason = "the other end reads meanwhile")]
    fn open(name: &str) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let stream = TcpStream::connect(listener.local_addr().unwrap()).unwrap();
        set_tcp_congestion(&stream, name).unwrap();
        assert_eq!(tcp_congestion(&stream).unwrap(), name);
        let mut end = listener.accept().unwrap().0;
        let sink = std::thread::spawn(move || {
            let (mut buffer, mut total) = (vec![0; 1 << 16], 0);
            loop {
                match end.read(&mut buffer).unwrap() {
                    0 => return total,
                    n => total += n,
                }
            }
        });
        Self { stream, sink }
    }

    fn send(&mut self, bytes: usize) {
        self.stream.write_all(&vec![7; bytes]).unwrap();
    }

    fn port(&self) -> u16 {
        self.stream.local_addr().unwrap().port()
    }

    fn close(self) -> usize {
        drop(self.stream);
        self.sink.join().unwrap()
    }
}

#[test]
fn each_controller_moves_data_and_its_window_moves() {
    isolated(|| {
        for name in BUILT_IN {
            // Delays of microseconds and delayed ACKs bring DA down to a window of one segment: some thousand of them
            // take long.
            let bytes = if *name == "da" { SHORT / 64 } else { SHORT };
            let loaded = load(name, &[]);
            loaded.show_probes(ProbeTurns::Acks(1)).unwrap();
            let mut transfer = Transfer::open(loaded.name());
            let port = transfer.port();
            let filter = Filter {
                namespaces: vec![namespace_cookie(&transfer.stream).unwrap()],
                ports: port..=port,
                segments: true,
            };
            let trace = Trace::open(&filter).unwrap();
            transfer.send(bytes);
            assert_eq!(transfer.close(), bytes, "{name}");

            let mut segments = Vec::new();
            trace.drain(|segment| segments.push(segment)).unwrap();
            assert_eq!(trace.missed().unwrap(), 0, "{name}");
            assert!(segments.iter().all(|s| s.local_port == port && s.net_cookie == filter.namespaces[0]), "{name}");
            let windows = || segments.iter().filter(|s| s.kind == Kind::Arrived).map(|s| s.snd_cwnd);
            let (first, most) = (windows().next().unwrap(), windows().max().unwrap());
            assert_eq!(first, 10, "{name}");
            assert!(most > 12, "{name}: at most {most} of {} windows", windows().count());
            assert!(segments.iter().any(|s| s.rtt_us > 0), "{name}");

            let mut shown = BTreeMap::new();
            loaded
                .probes(|probe| {
                    assert_eq!((probe.local_port, probe.net_cookie), (port, filter.namespaces[0]));
                    *shown.entry(probe.name.to_string()).or_insert(0) += 1;
                })
                .unwrap();
            assert_eq!(shown.len(), loaded.probe_names().len(), "{name}");
            assert!(shown.values().all(|&count| count > 3), "{name}: {shown:?}");
            println!("{name}: window 10 to {most}, {} segments traced, probes {shown:?}", segments.len());
        }
    });
}

#[test]
fn an_undo_is_told_of_its_own_connection_among_those_of_one_port() {
    isolated(|| {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let mut pairs = [0; 2].map(|_| {
            let client = TcpStream::connect(address).unwrap();
            let server = listener.accept().unwrap().0;
            server.set_nodelay(true).unwrap();
            (server, client)
        });
        let trace =
            Trace::open(&Filter { namespaces: vec![], ports: address.port()..=address.port(), segments: false })
                .unwrap();
        let mut exchange = |index: usize| {
            let (server, client) = &mut pairs[index];
            server.write_all(b"x").unwrap();
            client.read_exact(&mut [0]).unwrap();
        };
        exchange(0);
        exchange(1);
        // The first has a timeout, and so a reduction that can be undone. The second has neither.
        namespaces::deafen(&pairs[0].1, true);
        pairs[0].0.write_all(b"x").unwrap();
        pause(1000);
        namespaces::deafen(&pairs[0].1, false);
        pairs[0].1.read_exact(&mut [0]).unwrap();
        let (server, client) = &mut pairs[1];
        server.write_all(b"x").unwrap();
        client.read_exact(&mut [0]).unwrap();
        pause(100);
        let second = client.local_addr().unwrap().port();
        let mut records = Vec::new();
        trace.drain(|record| records.push(record)).unwrap();
        let timeouts = records.iter().filter(|r| r.kind == Kind::State && r.state == 4 && r.remote_port != second);
        assert!(timeouts.count() > 0, "{records:?}");
        let undone = records.iter().filter(|r| r.kind == Kind::Undone && r.remote_port == second);
        assert_eq!(undone.count(), 0, "{records:?}");
    });
}

/// A folder for sources.
struct Folder(Scratch);

impl Folder {
    fn new() -> Self {
        Self(Scratch::new().unwrap())
    }

    /// A controller whose window does what `body` says.
    fn write(&self, name: &str, body: &str) -> String {
        let path = self.0.path(name);
        let text = format!(
            "#include \"ack.h\"\nPARAMETER(u32, most_segments, 20);\n\
             CALLBACK_1(u32, mine_ssthresh, struct sock *, sk) {{ return 2; }}\n\
             CALLBACK_3(void, mine_cong_avoid, struct sock *, sk, u32, ack, u32, acked) {{ {body} }}\n\
             CALLBACK_1(u32, mine_undo, struct sock *, sk) {{ return tcp_sk(sk)->snd_cwnd; }}\n\
             CONTROLLER(\"mine\", .ssthresh = mine_ssthresh, .cong_avoid = mine_cong_avoid, .undo_cwnd = mine_undo);\n"
        );
        fs::write(&path, text).unwrap();
        path.to_str().unwrap().to_string()
    }

    /// One that holds its window at the parameter `most_segments`.
    fn holding(&self) -> String {
        self.write("holding.bpf.c", "tcp_sk(sk)->snd_cwnd = most_segments;")
    }
}

/// The window found by most segments that arrived since the last call. The last one alone may have found the single
/// segment that a timeout leaves: a busy machine may delay the reader for longer than the timer.
fn usual_window(trace: &Trace) -> u32 {
    let mut found = BTreeMap::new();
    trace
        .drain(|segment| {
            if segment.kind == Kind::Arrived {
                *found.entry(segment.snd_cwnd).or_insert(0) += 1;
            }
        })
        .unwrap();
    let (&window, _) = found.iter().max_by_key(|&(_, &times)| times).unwrap();
    window
}

fn traced(transfer: &Transfer) -> Trace {
    Trace::open(&Filter { namespaces: vec![], ports: transfer.port()..=transfer.port(), segments: true }).unwrap()
}

#[test]
fn two_sets_of_parameters_hold_at_once() {
    isolated(|| {
        let (one, two) = (load("da", &[("max_window", json!(12))]), load("da", &[("K", json!(1.125))]));
        assert_ne!(one.name(), two.name());
        let parameters = [one.parameters().unwrap(), two.parameters().unwrap()];
        assert_eq!(parameters.each_ref().map(|p| &p["max_window"]), [&json!(12), &json!(1_000_000)]);
        assert_eq!(parameters.each_ref().map(|p| &p["K"]), [&json!(1.25), &json!(1.125)]);

        let folder = Folder::new();
        let both = [15, 40].map(|most| load(&folder.holding(), &[("most_segments", json!(most))]));
        let mut transfers = both.each_ref().map(|loaded| Transfer::open(loaded.name()));
        let traces = transfers.each_ref().map(traced);
        transfers.iter_mut().for_each(|transfer| transfer.send(SHORT));
        assert_eq!(traces.each_ref().map(usual_window), [15, 40]);
    });
}

#[test]
fn a_parameter_that_is_set_while_a_flow_runs_takes_effect_on_it() {
    isolated(|| {
        let folder = Folder::new();
        let loaded = load(&folder.holding(), &[]);
        let mut transfer = Transfer::open(loaded.name());
        let trace = traced(&transfer);
        transfer.send(SHORT);
        assert_eq!(usual_window(&trace), 20);
        loaded.set("most_segments", &json!(33)).unwrap();
        transfer.send(SHORT);
        assert_eq!(usual_window(&trace), 33);
        assert_eq!(transfer.close(), 2 * SHORT);

        let da = load("da", &[]);
        assert_eq!(
            da.set("max_window", &json!(0)).unwrap_err().to_string(),
            "`da`, parameter `max_window`: 0 is out of range (allowed: 1 to 1000000)"
        );
    });
}

#[test]
fn a_name_goes_with_its_controller_and_with_a_process_that_is_killed() {
    isolated(|| {
        let loaded = load("cdg", &[]);
        let name = loaded.name().to_string();
        assert!(registered(&name));
        drop(loaded);
        assert!(goes(&name), "{name} is still there");

        let mut child = Command::new(std::env::current_exe().unwrap())
            .args(["holds_a_controller_until_killed", "--exact", "--ignored", "--nocapture"])
            .stdout(Stdio::piped())
            .spawn()
            .unwrap();
        let mut lines = BufReader::new(child.stdout.take().unwrap()).lines().map_while(Result::ok);
        let name = lines.find_map(|line| line.split_once("holds ").map(|(_, name)| name.to_string())).unwrap();
        assert!(registered(&name));
        child.kill().unwrap();
        child.wait().unwrap();
        assert!(goes(&name), "{name} is still there");
    });
}

#[expect(clippy::disallowed_methods, reason = "waits for the kernel")]
fn pause(millis: u64) {
    std::thread::sleep(Duration::from_millis(millis));
}

/// Not a test: the process that is killed above.
#[test]
#[ignore = "run by another test"]
fn holds_a_controller_until_killed() {
    let loaded = load("siad", &[]);
    println!("holds {}", loaded.name());
    pause(60_000);
}

#[test]
fn a_kept_controller_is_listed_set_and_taken_out() {
    isolated(|| {
        let name = machine::pin(&"cdg".into(), &Parameters::from([("G".to_string(), json!("5ms"))])).unwrap();
        let kept = |name: &str| machine::list().unwrap().into_iter().find(|kept| kept.name == name);
        assert!(registered(&name));
        assert_eq!(kept(&name).unwrap().parameters["G"], json!("5ms"));
        let set = |given: &[(&str, Value)]| {
            machine::set(&name, &given.iter().map(|(key, value)| (key.to_string(), value.clone())).collect())
        };
        set(&[("G", json!("7ms")), ("shadow_resync", json!("after"))]).unwrap();
        let parameters = kept(&name).unwrap().parameters;
        assert_eq!((&parameters["G"], &parameters["shadow_resync"]), (&json!("7ms"), &json!("after")));
        let said = set(&[("G", json!("9ms")), ("Q", json!(1))]).unwrap_err().to_string();
        assert!(said.starts_with("`cdg` has no parameter `Q`"), "{said}");
        assert_eq!(kept(&name).unwrap().parameters["G"], json!("7ms"));
        machine::unpin(&name).unwrap();
        assert!(goes(&name));
        assert_eq!(kept(&name), None);
        assert!(machine::unpin(&name).unwrap_err().to_string().contains(&format!("there is no controller `{name}`")));
        assert!(machine::unpin("../..").is_err());
    });
}

#[test]
fn a_bpf_file_system_that_was_mounted_for_controllers_goes_with_the_last_of_them() {
    const PLACE: &str = "/sys/fs/bpf";
    let is_bpf = || statfs(PLACE).unwrap().f_type as u32 == 0xcafe_4a11;
    isolated(|| {
        // The mounts are this thread's own.
        while is_bpf() {
            unmount(PLACE, UnmountFlags::DETACH).unwrap();
        }
        let names = ["da", "cdg"].map(|name| machine::pin(&name.into(), &Parameters::new()).unwrap());
        machine::unpin(&names[0]).unwrap();
        assert!(is_bpf());
        machine::unpin(&names[1]).unwrap();
        assert!(!is_bpf());
        assert_eq!(machine::list().unwrap(), []);

        mount("bpf", PLACE, "bpf", MountFlags::empty(), None).unwrap();
        machine::unpin(&machine::pin(&"da".into(), &Parameters::new()).unwrap()).unwrap();
        assert!(is_bpf(), "a file system mounted by others stays");
        assert!(!fs::exists(format!("{PLACE}/ackclock")).unwrap());
    });
}

#[test]
fn a_controller_of_the_user_is_compiled_and_one_that_the_verifier_refuses_is_explained() {
    isolated(|| {
        let folder = Folder::new();
        let good = folder.holding();
        let loaded = load(&good, &[("most_segments", json!(23))]);
        let mut transfer = Transfer::open(loaded.name());
        let trace = traced(&transfer);
        transfer.send(SHORT);
        assert_eq!(usual_window(&trace), 23);
        let refusal = |path: &str, name: &str, value: Value| {
            Congestion::load(&path.into(), &Parameters::from([(name.to_string(), value)]), 1).unwrap_err().to_string()
        };
        assert_eq!(
            refusal(&good, "fewest", json!(1)),
            format!("`{good}` has no parameter `fewest` in the kernel (there are `most_segments`)")
        );
        let endless = folder.write("endless.bpf.c", "while (most_segments) acked++;");
        let said = Congestion::load(&endless.as_str().into(), &Parameters::new(), 1).unwrap_err().to_string();
        assert!(said.contains("it may loop for ever (at endless.bpf.c:4)"), "{said}");
        // srtt_us is not for controllers to write.
        let bad = folder.write("bad.bpf.c", "tcp_sk(sk)->srtt_us = most_segments;");
        let said = Congestion::load(&bad.as_str().into(), &Parameters::new(), 1).unwrap_err().to_string();
        assert!(
            said.starts_with(&format!("the kernel refuses `{bad}`: no write support to tcp_sock"))
                && !said.contains('\n'),
            "{said}"
        );
    });
}
