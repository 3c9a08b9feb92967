//! A live run leaves nothing behind, however it ends.

mod common;

use std::io::{BufRead, BufReader};
use std::net::{TcpListener, TcpStream, UdpSocket};
use std::process::{Command, Stdio};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use common::{
    ATTEMPTS, Namespace, alone, job, monotonic, namespaces, possible, settled, soon, threads_and_files, under_way,
};
use engine::Watch;
use live::Shell;

const SCENARIO: &str = "duration = \"1s\"\n\
    path = { rate = \"10mbit\", rtt = \"40ms\", queue = \"1bdp\" }\n\
    flows = [{ cc = \"newreno\", count = 4 }]";

/// This test program, to run only `test`, which is ignored otherwise.
fn myself(test: &str) -> Vec<std::ffi::OsString> {
    let arguments = [test, "--exact", "--ignored", "--nocapture"].map(Into::into);
    std::iter::once(std::env::current_exe().unwrap().into()).chain(arguments).collect()
}

#[test]
fn a_run_leaves_no_namespace_thread_or_file() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let own = std::fs::read_link("/proc/thread-self/ns/net").unwrap();
    let before = threads_and_files("self");
    let seen = (0..ATTEMPTS).find_map(|_| seen_within_a_run()).expect("a look within a run");
    // The emulator and the endpoints, then devices, namespaces and sockets.
    assert!(seen.1.0 == before.0 + 2 && seen.1.1 >= before.1 + 4 + 3 * 4, "{before:?} {:?}", seen.1);
    assert_eq!(settled(before), before);
    assert_eq!(std::fs::read_link("/proc/thread-self/ns/net").unwrap(), own);
    if let Some(mut namespaces) = seen.0 {
        assert_eq!(namespaces.len(), 2);
        assert!(namespaces.iter_mut().all(Namespace::ends));
    }
}

/// Namespaces, threads and files.
type Seen = (Option<Vec<Namespace>>, (usize, usize));

/// The state of the machine while a run is under way, which is then over, or `None` if it was over before.
fn seen_within_a_run() -> Option<Seen> {
    let watch = Watch::default();
    std::thread::scope(|scope| {
        let look = || {
            under_way(&watch);
            let seen = (namespaces("self"), threads_and_files("self"));
            (watch.elapsed_nanos.load(Ordering::Relaxed) < 1_000_000_000).then_some(seen)
        };
        let looking = std::thread::Builder::new().spawn_scoped(scope, look).unwrap();
        let ended = common::run_job(&job(SCENARIO), &watch);
        // Nobody looks any more at a run that failed.
        watch.stop.store(true, Ordering::Relaxed);
        ended.unwrap();
        looking.join().unwrap()
    })
}

#[test]
#[ignore = "run by the next test, which kills it"]
fn a_run_of_a_minute() {
    let job = job(&SCENARIO.replace("1s", "60s"));
    let watch = Arc::new(Watch::default());
    let shown = Arc::clone(&watch);
    std::thread::Builder::new()
        .spawn(move || {
            under_way(&shown);
            println!("under way");
        })
        .unwrap();
    common::run_job(&job, &watch).unwrap();
}

/// Runs `test` of this program until it prints `under way`, and kills it. Answers its number and the namespaces it had.
fn killed(test: &str) -> (u32, Option<Vec<Namespace>>) {
    let program = myself(test);
    let mut child = Command::new(&program[0]).args(&program[1..]).stdout(Stdio::piped()).spawn().unwrap();
    let mut said = BufReader::new(child.stdout.take().unwrap());
    let mut line = String::new();
    while !line.contains("under way") {
        line.clear();
        assert!(said.read_line(&mut line).unwrap() > 0, "it ended by itself");
    }
    let namespaces = namespaces(&child.id().to_string());
    child.kill().unwrap();
    child.wait().unwrap();
    (child.id(), namespaces)
}

#[test]
fn a_run_that_is_killed_leaves_no_namespace() {
    let _alone = alone();
    if !possible() {
        return;
    }
    if let (_, Some(mut namespaces)) = killed("a_run_of_a_minute") {
        assert_eq!(namespaces.len(), 2);
        assert!(namespaces.iter_mut().all(Namespace::ends));
    }
}

fn shell(near: Vec<std::ffi::OsString>, far: Vec<std::ffi::OsString>) -> Shell {
    let job = job(SCENARIO);
    Shell { plan: job.plan, seed: 1, near, far, log: None, gso_max_segs: None, capture: None }
}

fn sh(script: &str) -> Vec<std::ffi::OsString> {
    ["sh", "-c", script].map(Into::into).into()
}

#[test]
fn the_status_of_a_command_is_that_of_the_shell() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let run = |near, far| live::shell(&shell(near, far), &Watch::default(), &mut |_| {});
    assert_eq!(run(sh("exit 7"), Vec::new()).unwrap().status, 7);
    assert_eq!(run(sh("kill -TERM $$"), sh("sleep 60")).unwrap().status, 143);
    let message = run(sh("sleep 60"), vec!["/does/not/exist".into()]).unwrap_err().to_string();
    assert!(message.starts_with("`/does/not/exist` cannot be run: "), "{message}");
}

#[test]
#[ignore = "the near end of the next test"]
fn fills_the_queue_and_goes_on_at_twice_the_rate() {
    let socket = UdpSocket::bind("10.0.0.1:0").unwrap();
    socket.connect("10.0.0.2:5000").unwrap();
    let (begun, mut sent) = (monotonic(), 0);
    loop {
        let seconds = (monotonic() - begun) as f64 / 1e9;
        // 1500 bytes with headers. However late this is, a second of them waits.
        let due = ((1.0 + 2.0 * seconds) * 1e7 / 12_000.0) as u64;
        for _ in sent..due {
            let _ = socket.send(&[0; 1472]);
        }
        sent = due;
        if seconds > 3.5 {
            return;
        }
        std::thread::park_timeout(Duration::from_millis(10));
    }
}

#[test]
#[ignore = "the far end of the next test"]
fn counts_datagrams() {
    let socket = UdpSocket::bind("10.0.0.2:5000").unwrap();
    let mut buffer = [0; 2000];
    loop {
        assert_eq!(socket.recv(&mut buffer).unwrap(), 1472);
    }
}

#[test]
fn a_blast_of_datagrams_leaves_at_the_rate_of_the_link() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let job = job(&SCENARIO.replace("1bdp", "1s"));
    let commands = shell(myself("fills_the_queue_and_goes_on_at_twice_the_rate"), myself("counts_datagrams"));
    let shell = Shell { plan: job.plan, ..commands };
    let mut readings = Vec::new();
    let outcome = live::shell(&shell, &Watch::default(), &mut |reading| readings.push(reading)).unwrap();
    assert_eq!(outcome.status, 0);
    readings.retain(|reading| reading.delivered_bytes[0] > 0);
    let [first, .., last] = readings[..] else { panic!("{readings:?}") };
    let seconds = last.elapsed.saturating_sub(first.elapsed).as_secs_f64();
    let rate = (last.delivered_bytes[0] - first.delivered_bytes[0]) as f64 * 8.0 / seconds;
    eprintln!("{rate} bit/s over {seconds} s");
    // 0.1 %, and the latest delivery at either reading.
    let late = outcome.fidelity.lateness_us.max / 1e6 + 0.0012;
    assert!((rate / 1e7 - 1.0).abs() < 0.001 + 2.0 * late / seconds, "{rate}");
    assert!(outcome.tables.links[0].dropped_packets > 1000);
}

#[test]
#[ignore = "run by the next test, which kills it"]
fn a_shell_for_a_minute() {
    // No other process sleeps for a time with this fraction.
    let own = std::process::id();
    let script = format!("echo under way; sleep 61.{own} & sleep 62.{own}");
    let _ = live::shell(&shell(sh(&script), Vec::new()), &Watch::default(), &mut |_| {});
}

#[test]
fn a_shell_that_is_killed_takes_all_its_processes_with_it() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let (number, namespaces) = killed("a_shell_for_a_minute");
    if let Some(mut namespaces) = namespaces {
        assert_eq!(namespaces.len(), 2);
        assert!(namespaces.iter_mut().all(Namespace::ends));
    }
    let sleeping = |id: &str| {
        let command = std::fs::read_to_string(format!("/proc/{id}/cmdline")).unwrap_or_default();
        [61, 62].iter().any(|seconds| command == format!("sleep\0{seconds}.{number}\0"))
    };
    let ids = || std::fs::read_dir("/proc").unwrap().filter_map(|entry| entry.ok()?.file_name().into_string().ok());
    assert!(soon(|| !ids().any(|id| sleeping(&id))));
}

#[test]
fn the_ends_reach_each_other_and_nobody_else() {
    let _alone = alone();
    if !possible() {
        return;
    }
    let outside = TcpListener::bind("127.0.0.1:0").unwrap();
    let port = outside.local_addr().unwrap().port();
    assert!(TcpStream::connect(("127.0.0.1", port)).is_ok());
    let script = format!("exec 3<>/dev/tcp/127.0.0.1/{port}");
    let bash = ["bash", "-c", &script].map(Into::into).into();
    let outcome = live::shell(&shell(bash, Vec::new()), &Watch::default(), &mut |_| {}).unwrap();
    assert_ne!(outcome.status, 0);
}
