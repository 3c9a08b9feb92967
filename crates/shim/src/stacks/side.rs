//! The sides of connections in an object, which its table makes and calls.

use std::ffi::{CString, c_void};

use ::stack::{
    Answer, Call, Decisions, Event, Header, Ledger, Ledgers, Report, Reports, Settings, Side, Slice, Stack, Table,
    known,
};
use bytes::{Bytes, BytesMut};

use super::Foreign;
use crate::crash;

/// A side of a connection in an object.
struct ForeignSide {
    stack: &'static Table,
    name: String,
    crash_name: CString,
    instance: *mut c_void,
    /// Whom the object reports to: it has their addresses.
    _reports: Vec<Box<dyn Reports>>,
}

// SAFETY: a `Side`, which is `Send`, and has one owner.
unsafe impl Send for ForeignSide {}

/// Takes a report for the `Reports` at `at`.
unsafe extern "C" fn report(at: *const c_void, report: &Report, decisions: &Decisions) {
    // SAFETY: of `connect` below, and kept as long as the side.
    unsafe { &*at.cast::<Box<dyn Reports>>() }.report(report, decisions);
}

/// The decisions of the `Reports` at `at`.
unsafe extern "C" fn decisions(at: *const c_void) -> Decisions {
    // SAFETY: as above.
    unsafe { &*at.cast::<Box<dyn Reports>>() }.decisions()
}

impl Stack for Foreign {
    fn connect(
        &self,
        settings: &Settings,
        controller: Option<&str>,
        reports: Vec<Box<dyn Reports>>,
    ) -> Result<Box<dyn Side>, String> {
        let ledger = |reports| Ledger { at: std::ptr::from_ref::<Box<dyn Reports>>(reports).cast(), report, decisions };
        let ledgers: Vec<Ledger> = reports.iter().map(ledger).collect();
        let controller = Slice::new(controller.unwrap_or_default().as_bytes());
        let connect = || (self.table.connect)(settings, controller, Ledgers::new(&ledgers));
        let instance = crash::naming(&self.crash_name, "", connect);
        let side = ForeignSide {
            stack: self.table,
            name: self.name.clone(),
            crash_name: self.crash_name.clone(),
            instance,
            _reports: reports,
        };
        match side.call(&Call::Deadline) {
            Answer::Failed(why) => Err(format!("`{}` {}", self.name, why.text())),
            _ => Ok(Box::new(side)),
        }
    }
}

impl ForeignSide {
    fn call(&self, call: &Call<'_>) -> Answer<'_> {
        let mut answer = Answer::Nothing;
        // SAFETY: an instance of the table with one owner, and the borrowed values stay for the call.
        crash::naming(&self.crash_name, "", || unsafe { (self.stack.call)(self.instance, call, &mut answer) });
        answer
    }

    fn number(&self, call: &Call<'_>) -> Option<u64> {
        if let Answer::Number(number) = self.call(call) { known(number) } else { None }
    }
}

impl Drop for ForeignSide {
    fn drop(&mut self) {
        // SAFETY: an instance of the table, of which this is the only owner.
        crash::naming(&self.crash_name, "", || unsafe { (self.stack.end)(self.instance) });
    }
}

impl Side for ForeignSide {
    fn receive(&mut self, now: u64, header: Header, datagram: BytesMut) {
        self.call(&Call::Receive(now, header, Slice::new(&datagram)));
    }

    fn transmit(&mut self, now: u64) -> Option<(Header, &[u8])> {
        match self.call(&Call::Transmit(now)) {
            Answer::Leaves(header, datagram) => Some((header, datagram.get())),
            _ => None,
        }
    }

    fn expire(&mut self, now: u64) {
        self.call(&Call::Expire(now));
    }

    fn deadline(&mut self) -> Option<u64> {
        match self.call(&Call::Deadline) {
            Answer::Number(at) => known(at),
            // At once: `poll` says why.
            _ => Some(0),
        }
    }

    fn poll(&mut self) -> Option<Event> {
        match self.call(&Call::Poll) {
            Answer::Connected => Some(Event::Connected),
            Answer::Opened(path) => Some(Event::Opened(path)),
            Answer::Acknowledged => Some(Event::Acknowledged),
            Answer::Arrived(stream, from, to) => Some(Event::Arrived { stream, from, to }),
            Answer::Complete(stream) => Some(Event::Complete(stream)),
            Answer::Datagram(datagram) => Some(Event::Datagram(Bytes::copy_from_slice(datagram.get()))),
            Answer::Lost(why) => Some(Event::Lost(why.text().to_owned())),
            Answer::Failed(why) => Some(Event::Lost(format!("`{}` {}", self.name, why.text()))),
            Answer::Nothing | Answer::Number(_) | Answer::Room(..) | Answer::Leaves(..) => None,
        }
    }

    fn open_stream(&mut self) -> Option<u64> {
        self.number(&Call::OpenStream)
    }

    fn write(&mut self, stream: u64, bytes: usize) -> usize {
        self.number(&Call::Write(stream, bytes)).unwrap_or(0) as usize
    }

    fn finish(&mut self, stream: u64) -> bool {
        self.number(&Call::Finish(stream)) == Some(1)
    }

    fn send_datagram(&mut self, datagram: Bytes) {
        self.call(&Call::SendDatagram(Slice::new(&datagram)));
    }

    fn datagram_room(&mut self) -> (usize, usize) {
        if let Answer::Room(most, around) = self.call(&Call::DatagramRoom) { (most, around) } else { (0, 0) }
    }

    fn end(&mut self) -> Result<(), String> {
        match self.call(&Call::End) {
            Answer::Failed(why) => Err(format!("`{}` {}", self.name, why.text())),
            _ => Ok(()),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::sync::{Arc, Mutex};

    use super::*;
    use crate::object::named;

    /// The calls that reached a side, and its answers.
    #[derive(Default)]
    struct Told {
        calls: Vec<String>,
        events: Vec<Event>,
        numbers: bool,
    }

    struct Scripted(Arc<Mutex<Told>>, Vec<Box<dyn Reports>>);

    impl Scripted {
        fn note(&self, call: String) -> bool {
            let mut told = self.0.lock().unwrap();
            told.calls.push(call);
            told.numbers
        }
    }

    impl Side for Scripted {
        fn receive(&mut self, now: u64, header: Header, datagram: BytesMut) {
            self.note(format!("receive {now} {} {} {datagram:?}", header.path, header.ecn));
        }
        fn transmit(&mut self, now: u64) -> Option<(Header, &[u8])> {
            self.note(format!("transmit {now}")).then_some((Header { path: 1, ecn: 2 }, b"leaves"))
        }
        fn expire(&mut self, now: u64) {
            self.note(format!("expire {now}"));
        }
        fn deadline(&mut self) -> Option<u64> {
            self.0.lock().unwrap().numbers.then_some(77)
        }
        fn poll(&mut self) -> Option<Event> {
            self.0.lock().unwrap().events.pop()
        }
        fn open_stream(&mut self) -> Option<u64> {
            self.note("open".to_owned()).then_some(4)
        }
        fn write(&mut self, stream: u64, bytes: usize) -> usize {
            self.note(format!("write {stream} {bytes}"));
            bytes / 2
        }
        fn finish(&mut self, stream: u64) -> bool {
            self.note(format!("finish {stream}"))
        }
        fn send_datagram(&mut self, datagram: Bytes) {
            self.note(format!("send {datagram:?}"));
        }
        fn datagram_room(&mut self) -> (usize, usize) {
            (1200, 30)
        }
    }

    impl Drop for Scripted {
        fn drop(&mut self) {
            assert!(!self.note("drop".to_owned()) || self.1.is_empty(), "with reports");
        }
    }

    thread_local! {
        static TOLD: Arc<Mutex<Told>> = Arc::default();
    }

    struct Script;

    impl Stack for Script {
        fn connect(
            &self,
            settings: &Settings,
            controller: Option<&str>,
            reports: Vec<Box<dyn Reports>>,
        ) -> Result<Box<dyn Side>, String> {
            let told = TOLD.with(Arc::clone);
            told.lock().unwrap().calls.push(format!("connect {} {controller:?} {}", settings.paths, reports.len()));
            for one in &reports {
                one.report(&Report::Lost { now: 1, number: 2, size: 3 }, &one.decisions());
            }
            settings.one_path("script")?;
            Ok(Box::new(Scripted(told, reports)))
        }
    }

    /// Decides its number, and keeps the reports.
    struct Deciding(u64, Arc<Mutex<Vec<String>>>);

    impl Reports for Deciding {
        fn report(&self, report: &Report, decisions: &Decisions) {
            self.1.lock().unwrap().push(format!("{report:?} {}", decisions.window));
        }
        fn decisions(&self) -> Decisions {
            Decisions { window: self.0, ..Decisions::EMPTY }
        }
    }

    const SETTINGS: Settings = Settings {
        now: 0,
        seed: [0; 32],
        is_client: true,
        packet_size: 1200,
        receive_window: 1,
        initial_window: 1,
        paths: 1,
    };

    /// The stack behind its table, and the calls of this thread.
    fn foreign() -> (Foreign, Arc<Mutex<Told>>) {
        static TABLE: Table = {
            extern "C" fn connect(settings: &Settings, controller: Slice<'_>, ledgers: Ledgers<'_>) -> *mut c_void {
                ::stack::connect(&Script, settings, controller, ledgers)
            }
            Table::new(connect)
        };
        (Foreign { name: "mine".to_owned(), crash_name: named("mine"), table: &TABLE }, TOLD.with(Arc::clone))
    }

    #[test]
    fn a_side_in_an_object_is_called_as_one_that_is_not() {
        let (foreign, told) = foreign();
        let calls = || std::mem::take(&mut told.lock().unwrap().calls);
        let mut side = foreign.connect(&SETTINGS, Some("cubic"), Vec::new()).unwrap();
        assert_eq!(calls(), ["connect 1 Some(\"cubic\") 0"]);
        side.receive(9, Header { path: 3, ecn: 1 }, BytesMut::from(&b"came"[..]));
        assert_eq!(side.transmit(10), None);
        assert_eq!((side.deadline(), side.open_stream(), side.finish(8)), (None, None, false));
        side.expire(11);
        side.send_datagram(Bytes::from_static(b"frame"));
        assert_eq!((side.write(8, 100), side.datagram_room()), (50, (1200, 30)));
        let expected = [
            "receive 9 3 1 b\"came\"",
            "transmit 10",
            "open",
            "finish 8",
            "expire 11",
            "send b\"frame\"",
            "write 8 100",
        ];
        assert_eq!(calls(), expected);
        told.lock().unwrap().numbers = true;
        assert_eq!(side.transmit(12), Some((Header { path: 1, ecn: 2 }, &b"leaves"[..])));
        assert_eq!((side.deadline(), side.open_stream(), side.finish(8)), (Some(77), Some(4), true));

        let events = [
            Event::Connected,
            Event::Opened(2),
            Event::Acknowledged,
            Event::Arrived { stream: 1, from: 2, to: 3 },
            Event::Complete(4),
            Event::Datagram(Bytes::from_static(b"frame")),
            Event::Lost("gone".to_owned()),
        ];
        told.lock().unwrap().events = events.iter().rev().cloned().collect();
        let polled: Vec<Event> = std::iter::from_fn(|| side.poll()).collect();
        assert_eq!(format!("{polled:?}"), format!("{events:?}"));
        calls();
        assert_eq!((side.end(), calls().as_slice()), (Ok(()), &["drop".to_owned()][..]));
        drop(side);
        assert!(calls().is_empty());
        drop(foreign.connect(&SETTINGS, None, Vec::new()).unwrap());
        assert_eq!(calls(), ["connect 1 None 0", "drop"]);
    }

    #[test]
    fn a_side_in_an_object_asks_its_reports_and_ends_with_a_reason() {
        let (foreign, told) = foreign();
        let reported = Arc::new(Mutex::new(Vec::new()));
        let reports = [5, 6].map(|window| Box::new(Deciding(window, reported.clone())) as Box<dyn Reports>);
        told.lock().unwrap().numbers = true;
        let mut side = foreign.connect(&SETTINGS, None, reports.into()).unwrap();
        assert_eq!(told.lock().unwrap().calls, ["connect 1 None 2"]);
        let lost = [5, 6].map(|window| format!("Lost {{ now: 1, number: 2, size: 3 }} {window}"));
        assert_eq!(*reported.lock().unwrap(), lost);
        // Its destructor panics.
        assert!(side.end().unwrap_err().starts_with("`mine` panicked: with reports"));
        assert_eq!(side.deadline(), Some(0));
        let Some(Event::Lost(why)) = side.poll() else { panic!() };
        assert!(why.starts_with("`mine` panicked: with reports"), "{why}");
        let settings = Settings { paths: 2, ..SETTINGS };
        let Err(why) = foreign.connect(&settings, None, Vec::new()) else { panic!("is connected") };
        assert_eq!(why, "`mine` script has one path in a connection");
    }
}
