//! Reports of a whole emulator about its lateness.

use rustix::event::{EventfdFlags, eventfd};

use super::*;

/// Time of the run goes on while its thread is not there. A run that has ended has no delivery that would show it.
#[test]
fn an_emulator_whose_thread_comes_late_says_so() {
    let toml = "duration = \"10ms\"\npath = { rate = \"10mbit\", rtt = \"20ms\", queue = \"1bdp\" }\n\
                flows = [{ cc = \"newreno\" }]";
    let plan = scenario::from_toml(toml, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap();
    let devices = [(); 2].map(|()| eventfd(0, EventfdFlags::NONBLOCK).unwrap());
    let halt = AtomicBool::new(false);
    let settings = Settings {
        clock: Clock::start(),
        flows: Flows::ByPort(&[0]),
        shared: &[],
        stops: vec![Time::ZERO + plan.duration],
        together: Span::ZERO,
        segment: 1448,
        warmup: Time::ZERO,
        end: Time::ZERO + plan.duration,
        events: false,
        halt: &halt,
        capture: None,
    };
    let path = Path::new(&plan, 1, Span::from_millis(5));
    let emulator = Emulator::new(settings, devices.each_ref(), &mut [], path, Pool::new(1, PREFIX)).unwrap();
    system::sleep(Span::from_millis(40));
    let report = emulator.run(&plan);
    assert!(report.lateness.max() >= Some(35_000_000), "{:?}", report.lateness.max());
    assert_eq!(report.moved, 0);
}
