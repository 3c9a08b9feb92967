//! The kernel's TCP, recorded segment by segment, under any controller.

use std::fmt;
use std::ops::RangeInclusive;
use std::os::fd::{AsFd, AsRawFd};
use std::sync::{Arc, Mutex, PoisonError};

use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{DataSec, Var};
use libbpf_rs::{Link, MapCore, Object, ObjectBuilder, RingBuffer, RingBufferBuilder, libbpf_sys};

use crate::congestion::{is_parameters, read_section};
use crate::error::{LoadError, refused};
use crate::ring::Fields;
use crate::{messages, object, requirements};

/// Which connections to trace: the tracepoints see all connections of the machine.
#[derive(Clone, Debug)]
pub struct Filter {
    /// Network namespaces by [`namespace_cookie`], at most four. With none, all.
    pub namespaces: Vec<u64>,
    /// Local ports.
    pub ports: RangeInclusive<u16>,
    /// Every segment that arrives is recorded, and not only changes.
    pub segments: bool,
}

impl Filter {
    const MOST: usize = 4;
}

/// The event of a record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A segment arrived. Windows and RTTs are read before it is processed.
    Arrived,
    /// A segment was sent again.
    Retransmitted,
    /// The connection goes into a state, perhaps the one in which it is: every expiry of the retransmission timer leads
    /// to 4.
    State,
    /// A reduction of the window was found to be spurious, and undone: noticed when the next segment arrives.
    Undone,
}

/// One record.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Segment {
    /// Nanoseconds on CLOCK_MONOTONIC.
    pub time_ns: u64,
    /// The network namespace.
    pub net_cookie: u64,
    /// The port at this end.
    pub local_port: u16,
    /// The port at the other end.
    pub remote_port: u16,
    /// What happened.
    pub kind: Kind,
    /// The state, for [`Kind::State`] the new one: 0 open, 1 disorder, 2 reducing for a mark, 3 recovery, 4 loss
    /// (timeout).
    pub state: u8,
    /// Bytes that the segment carries.
    pub data: u32,
    /// Congestion window, segments.
    pub snd_cwnd: u32,
    /// Slow-start threshold, segments, or 2147483647 before the first congestion event.
    pub ssthresh: u32,
    /// Smoothed RTT, microseconds.
    pub srtt_us: u32,
    /// RTT of the segment acknowledged last, microseconds.
    pub rtt_us: u32,
    /// Segments in flight.
    pub in_flight: u32,
    /// First sequence number that is not acknowledged.
    pub snd_una: u32,
    /// Next sequence number to send.
    pub snd_nxt: u32,
    /// Segments delivered since the start.
    pub delivered: u32,
    /// Segments deemed lost since the start.
    pub lost: u32,
}

/// A running trace. It ends when dropped.
pub struct Trace {
    // Go before the object.
    ring: RingBuffer<'static>,
    _links: Vec<Link>,
    object: Object,
    /// Records from the ring buffer.
    drained: Arc<Mutex<Vec<Segment>>>,
}

impl Trace {
    /// Starts to trace.
    ///
    /// # Errors
    /// A missing requirement, more namespaces than four, or a refusal of the kernel.
    pub fn open(filter: &Filter) -> Result<Self, LoadError> {
        requirements::check()?;
        if filter.namespaces.len() > Filter::MOST {
            return Err(LoadError::Refused(format!(
                "{} network namespaces cannot be traced at once (allowed: up to {})",
                filter.namespaces.len(),
                Filter::MOST
            )));
        }
        messages::keep();
        let failed = "the kernel's TCP cannot be traced";
        let mut open = ObjectBuilder::default().open_memory(object::TRACE).map_err(refused(failed))?;
        let types = Btf::from_raw("trace", object::TRACE).map_err(refused(failed))?;
        let offset = |name: &str| types.as_ref().and_then(|types| offset_of(types, name));
        for mut map in open.maps_mut().filter(|map| is_parameters(&map.name().to_string_lossy())) {
            let data = map.initial_value_mut().unwrap_or_default();
            let mut put = |name: &str, bytes: &[u8]| {
                let at =
                    offset(name).ok_or_else(|| LoadError::Refused(format!("{failed}: its object has no `{name}`")))?;
                data[at..at + bytes.len()].copy_from_slice(bytes);
                Ok::<(), LoadError>(())
            };
            let cookies: Vec<u8> = filter.namespaces.iter().flat_map(|cookie| cookie.to_ne_bytes()).collect();
            put("namespaces", &cookies)?;
            put("namespace_count", &(filter.namespaces.len() as u32).to_ne_bytes())?;
            put("first_port", &filter.ports.start().to_ne_bytes())?;
            put("last_port", &filter.ports.end().to_ne_bytes())?;
            put("segments_too", &[u8::from(filter.segments)])?;
        }
        let object = open.load().map_err(|error| LoadError::Refused(format!("{failed}: {}", messages::why(&error))))?;
        let links =
            object.progs_mut().map(|program| program.attach()).collect::<Result<_, _>>().map_err(refused(failed))?;
        let drained = Arc::new(Mutex::new(Vec::new()));
        let ring = ring_of(&object, Arc::clone(&drained))?;
        Ok(Self { ring, _links: links, object, drained })
    }

    /// Hands the records since the last call to `take`, oldest first.
    ///
    /// # Errors
    /// The kernel's ring buffer cannot be read.
    pub fn drain(&self, take: impl FnMut(Segment)) -> Result<(), LoadError> {
        self.ring.consume().map_err(refused("records from the kernel cannot be read"))?;
        let mut drained = self.drained.lock().unwrap_or_else(PoisonError::into_inner);
        drained.drain(..).for_each(take);
        Ok(())
    }

    /// Unrecorded events since the start: records that found no room, and events at which the kernel skipped the
    /// program because it interrupted itself.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn missed(&self) -> Result<u64, LoadError> {
        let types = Btf::from_raw("trace", object::TRACE).map_err(refused("the trace has no types"))?;
        let at = types.as_ref().and_then(|types| offset_of(types, "missed")).unwrap_or(0);
        let data = read_section(&map(&self.object, ".data")?)?;
        let without_room = data.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes);
        let skipped: std::io::Result<u64> = self.object.progs().map(|program| skipped(&program.as_fd())).sum();
        Ok(without_room + skipped.map_err(refused("the kernel does not say how often it ran the trace"))?)
    }
}

/// How often the kernel did not run `program` because it was running on the same processor.
fn skipped(program: &impl AsRawFd) -> std::io::Result<u64> {
    let mut about = libbpf_sys::bpf_prog_info::default();
    let mut length = size_of_val(&about) as u32;
    #[expect(unsafe_code, reason = "libbpf-rs gives this count for all programs of the machine only")]
    // SAFETY: the kernel writes at most `length` bytes to `about`, and both live as long as the call.
    let result = unsafe { libbpf_sys::bpf_prog_get_info_by_fd(program.as_raw_fd(), &raw mut about, &raw mut length) };
    if result == 0 { Ok(about.recursion_misses) } else { Err(std::io::Error::from_raw_os_error(-result)) }
}

impl fmt::Debug for Trace {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Trace").finish_non_exhaustive()
    }
}

/// A reader of the records of `object`, which puts them into `drained`.
fn ring_of(object: &Object, drained: Arc<Mutex<Vec<Segment>>>) -> Result<RingBuffer<'static>, LoadError> {
    let records = map(object, "records")?;
    let mut builder = RingBufferBuilder::new();
    let take = move |record: &[u8]| {
        drained.lock().unwrap_or_else(PoisonError::into_inner).extend(read(record));
        0
    };
    let failed = "records from the kernel cannot be read";
    builder.add(&records, take).map_err(refused(failed))?;
    builder.build().map_err(refused(failed))
}

fn map<'a>(object: &'a Object, suffix: &str) -> Result<libbpf_rs::Map<'a>, LoadError> {
    let found = object.maps().find(|map| map.name().to_string_lossy().ends_with(suffix));
    found.ok_or_else(|| LoadError::Refused(format!("the trace has no {suffix}")))
}

/// The place of the variable `name` in its section.
fn offset_of(types: &Btf<'_>, name: &str) -> Option<usize> {
    let data = types.type_by_name::<DataSec<'_>>(".data")?;
    let found = data.iter().find(|info| {
        types.type_by_id::<Var<'_>>(info.ty).and_then(|var| var.name().map(|its| its == name)).unwrap_or(false)
    });
    found.map(|info| info.offset as usize)
}

fn read(record: &[u8]) -> Option<Segment> {
    let mut fields = Fields(record);
    let (time_ns, net_cookie) = (fields.u64()?, fields.u64()?);
    let (local_port, remote_port) = (fields.u16()?, fields.u16()?);
    let kind = match fields.u8()? {
        0 => Kind::Arrived,
        1 => Kind::Retransmitted,
        2 => Kind::State,
        _ => Kind::Undone,
    };
    let state = fields.u8()?;
    let _unused = fields.u16()?;
    Some(Segment {
        time_ns,
        net_cookie,
        local_port,
        remote_port,
        kind,
        state,
        data: fields.u32()?,
        snd_cwnd: fields.u32()?,
        ssthresh: fields.u32()?,
        srtt_us: fields.u32()?,
        rtt_us: fields.u32()?,
        in_flight: fields.u32()?,
        snd_una: fields.u32()?,
        snd_nxt: fields.u32()?,
        delivered: fields.u32()?,
        lost: fields.u32()?,
    })
}

/// The number by which BPF programs know the network namespace in which `socket` was made.
///
/// # Errors
/// The system's, where it has no such number (before Linux 5.14).
pub fn namespace_cookie(socket: impl AsFd) -> std::io::Result<u64> {
    let mut cookie = 0u64;
    let mut length = size_of::<u64>() as libc::socklen_t;
    #[expect(unsafe_code, reason = "the standard library has no such socket option")]
    // SAFETY: the kernel writes at most `length` bytes to `cookie`, and both live as long as the call.
    let result = unsafe {
        libc::getsockopt(
            socket.as_fd().as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_NETNS_COOKIE,
            (&raw mut cookie).cast(),
            &raw mut length,
        )
    };
    if result == 0 { Ok(cookie) } else { Err(std::io::Error::last_os_error()) }
}
