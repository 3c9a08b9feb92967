//! The system calls for which no library of ours has a safe wrapper, and the clock.
#![allow(unsafe_code, reason = "each call is checked here, once, and safe to call from outside")]

use std::fs;
use std::io;
use std::os::fd::{AsRawFd, BorrowedFd, FromRawFd, OwnedFd, RawFd};
use std::os::unix::process::CommandExt;
use std::process::Command;
use std::ptr::{null, null_mut};
use std::sync::atomic::{AtomicPtr, Ordering};

use rustix::event::{Timespec, poll};
use rustix::thread::{UnshareFlags, unshare_unsafe};
use rustix::time::{ClockId, clock_gettime};
use units::Span;

/// The clock of a kernel in virtual time, where one shows it in memory.
static SHOWN: AtomicPtr<u64> = AtomicPtr::new(null_mut());
/// Behind its program the page of the vDSO holds this word and then that clock, in a kernel of `ackclock kernel build`.
/// There every other reading is a system call, which costs more than most of the work.
const MARK: u64 = u64::from_le_bytes(*b"ackclock");
const PAGE: usize = 4096;

/// From now on the clock is the one that a kernel in virtual time shows. It advances only while all threads wait.
pub(crate) fn enter_virtual_time() -> io::Result<()> {
    // SAFETY: the address is zero or that of the vDSO, which the kernel maps as a whole page for good.
    let shown = unsafe {
        match libc::getauxval(libc::AT_SYSINFO_EHDR) as usize {
            0 => null_mut(),
            page => {
                let words = (page + PAGE - 16) as *mut u64;
                if words.read_volatile() == MARK { words.add(1) } else { null_mut() }
            }
        }
    };
    if shown.is_null() {
        return Err(io::Error::other("this kernel shows no virtual time"));
    }
    SHOWN.store(shown, Ordering::Relaxed);
    Ok(())
}

/// Tells if the clock advances only while all threads wait.
pub(crate) fn in_virtual_time() -> bool {
    !SHOWN.load(Ordering::Relaxed).is_null()
}

/// Nanoseconds of the monotonic clock.
pub(crate) fn monotonic() -> u64 {
    let shown = SHOWN.load(Ordering::Relaxed);
    // SAFETY: what is stored there was checked, and stays mapped.
    if shown.is_null() { nanos(ClockId::Monotonic) } else { unsafe { shown.read_volatile() } }
}

/// Sleeps until the virtual time since boot is a multiple of `span`; returns at once in real time.
pub(crate) fn reach_multiple_of(span: Span) {
    if in_virtual_time() {
        let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
        let until = Span::from_nanos(monotonic().next_multiple_of(span.as_nanos()));
        let _ = rustix::thread::clock_nanosleep_absolute(ClockId::Monotonic, &timespec(until));
    }
}

/// Nanoseconds since 1970.
pub(crate) fn wall_clock() -> u64 {
    nanos(ClockId::Realtime)
}

/// Nanoseconds that the calling thread has computed.
pub(crate) fn thread_cpu() -> u64 {
    nanos(ClockId::ThreadCPUTime)
}

/// Until `span` has passed, or a signal comes.
pub(crate) fn sleep(span: Span) {
    let _ = poll(&mut [], Some(&timespec(span)));
}

pub(crate) fn timespec(span: Span) -> Timespec {
    let nanos = span.as_nanos();
    Timespec { tv_sec: (nanos / 1_000_000_000) as i64, tv_nsec: (nanos % 1_000_000_000) as _ }
}

fn nanos(clock: ClockId) -> u64 {
    let now = clock_gettime(clock);
    now.tv_sec as u64 * 1_000_000_000 + now.tv_nsec as u64
}

/// Moves the calling thread, and no other, into a network namespace of its own.
pub(crate) fn unshare_network() -> io::Result<()> {
    // SAFETY: the hazard of this call is `FILES`, which is not among the flags.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNET) }?)
}

/// Makes the processes that the calling thread starts from now on numbers of a space of their own. When the first of
/// them ends, all do.
pub(crate) fn unshare_processes() -> io::Result<()> {
    // SAFETY: as above.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWPID) }?)
}

/// Gives the calling thread, and what it starts, mounts of its own.
pub(crate) fn unshare_mounts() -> io::Result<()> {
    // SAFETY: as above.
    Ok(unsafe { unshare_unsafe(UnshareFlags::NEWNS) }?)
}

/// Moves the process, which must have one thread only, into a user namespace in which it is root.
pub(crate) fn unshare_user() -> io::Result<()> {
    let (user, group) = (rustix::process::geteuid(), rustix::process::getegid());
    // SAFETY: as above.
    unsafe { unshare_unsafe(UnshareFlags::NEWUSER) }?;
    fs::write("/proc/self/setgroups", "deny")?;
    fs::write("/proc/self/uid_map", format!("0 {} 1", user.as_raw()))?;
    fs::write("/proc/self/gid_map", format!("0 {} 1", group.as_raw()))
}

/// Prepares `command` for a thread that has called [`unshare_processes`]: what it starts ends with that thread, and so
/// does all that this starts in turn.
///
/// The first process of such a space is not ended by ordinary signals, as an interrupt from the terminal. So it only
/// waits, and the command is the second.
pub(crate) fn contain(command: &mut Command) {
    let prepare = || {
        // SAFETY: only calls that are safe after a fork; what the first process needs no more it closes, as somebody
        // waits for the end of it, and it never returns.
        unsafe {
            succeeded(libc::prctl(libc::PR_SET_PDEATHSIG, libc::SIGKILL))?;
            let child = libc::fork();
            succeeded(child.min(0))?;
            if child == 0 {
                own_processes();
            }
            if child > 0 {
                libc::syscall(libc::SYS_close_range, 3, libc::c_uint::MAX, 0);
                libc::_exit(wait_for(child));
            }
        }
        Ok(())
    };
    // SAFETY: `prepare` keeps to calls that are safe after a fork.
    unsafe { command.pre_exec(prepare) };
}

/// Mounts a `/proc` that has the processes of this space alone, for tools such as `ps` and `pkill`, where mounts may be
/// changed; else the machine's stays. Only calls that are safe after a fork.
fn own_processes() {
    // SAFETY: strings end with a zero. The mounts belong to this process and what it starts.
    unsafe {
        if libc::unshare(libc::CLONE_NEWNS) == 0
            && libc::mount(null(), c"/".as_ptr(), null(), libc::MS_REC | libc::MS_SLAVE, null()) == 0
        {
            let flags = libc::MS_NOSUID | libc::MS_NODEV | libc::MS_NOEXEC;
            libc::mount(c"proc".as_ptr(), c"/proc".as_ptr(), c"proc".as_ptr(), flags, null());
        }
    }
}

/// Waits for all children until `child` has ended: its status as a shell tells it.
fn wait_for(child: libc::pid_t) -> libc::c_int {
    loop {
        let mut status = 0;
        // SAFETY: `status` outlives the call.
        let ended = unsafe { libc::waitpid(-1, &raw mut status, 0) };
        if ended == child && libc::WIFEXITED(status) {
            return libc::WEXITSTATUS(status);
        }
        if ended == child {
            return 128 + libc::WTERMSIG(status);
        }
        if ended < 0 && io::Error::last_os_error().kind() != io::ErrorKind::Interrupted {
            return 1;
        }
    }
}

/// Lets the calling thread run before all ordinary ones (SCHED_FIFO) at `priority`, and wake without timer slack. False
/// where the priority is not permitted.
pub(crate) fn run_first(priority: i32) -> bool {
    let _ = rustix::thread::set_current_timer_slack(std::num::NonZeroU64::new(1));
    let parameters = libc::sched_param { sched_priority: priority };
    // SAFETY: `parameters` outlives the call, and 0 is the calling thread.
    unsafe { libc::sched_setscheduler(0, libc::SCHED_FIFO, &raw const parameters) == 0 }
}

/// A network interface that is changed through `control`, any socket of its namespace.
pub(crate) struct Interface<'a> {
    pub(crate) name: &'a str,
    pub(crate) control: &'a OwnedFd,
}

impl Interface<'_> {
    /// Sets its IPv4 address and the length of the prefix.
    pub(crate) fn set_address(&self, address: [u8; 4], prefix: u32) -> io::Result<()> {
        let mask = (u32::MAX << (32 - prefix)).to_be_bytes();
        for (request, address) in [(libc::SIOCSIFADDR, address), (libc::SIOCSIFNETMASK, mask)] {
            self.change(request, |ifreq| ifreq.ifr_ifru.ifru_addr = internet(address))?;
        }
        Ok(())
    }

    pub(crate) fn set_mtu(&self, mtu: i32) -> io::Result<()> {
        self.change(libc::SIOCSIFMTU, |ifreq| ifreq.ifr_ifru.ifru_mtu = mtu)
    }

    /// How many packets may wait for the reader of a TUN device.
    pub(crate) fn set_queue_length(&self, packets: i32) -> io::Result<()> {
        // `ifr_qlen` shares its place with the other integers of the union.
        self.change(libc::SIOCSIFTXQLEN, |ifreq| ifreq.ifr_ifru.ifru_mtu = packets)
    }

    pub(crate) fn bring_up(&self) -> io::Result<()> {
        let flags = (libc::IFF_UP | libc::IFF_RUNNING) as libc::c_short;
        self.change(libc::SIOCSIFFLAGS, |ifreq| ifreq.ifr_ifru.ifru_flags = flags)
    }

    fn change(&self, request: libc::Ioctl, set: impl FnOnce(&mut libc::ifreq)) -> io::Result<()> {
        let mut ifreq = named(self.name);
        set(&mut ifreq);
        // SAFETY: these requests read an `ifreq`, which outlives the call.
        succeeded(unsafe { libc::ioctl(self.control.as_raw_fd(), request, &raw const ifreq) })
    }
}

/// Makes the TUN device `name` in the namespace of the calling thread: each packet has a `struct virtio_net_hdr` in
/// front, data of TCP comes many segments at once and without checksums, reads do not block.
pub(crate) fn open_tun(name: &str) -> io::Result<OwnedFd> {
    // SAFETY: the path is terminated, and what comes back is owned by nobody else.
    let tun = unsafe {
        let fd: RawFd = libc::open(c"/dev/net/tun".as_ptr(), libc::O_RDWR | libc::O_NONBLOCK | libc::O_CLOEXEC);
        succeeded(fd.min(0))?;
        OwnedFd::from_raw_fd(fd)
    };
    let mut ifreq = named(name);
    ifreq.ifr_ifru.ifru_flags = (libc::IFF_TUN | libc::IFF_NO_PI | libc::IFF_VNET_HDR) as libc::c_short;
    // SAFETY: TUNSETIFF reads and writes an `ifreq`, which outlives the call.
    succeeded(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETIFF, &raw mut ifreq) })?;
    let offloads = libc::c_ulong::from(libc::TUN_F_CSUM | libc::TUN_F_TSO4);
    // SAFETY: TUNSETOFFLOAD takes a number.
    succeeded(unsafe { libc::ioctl(tun.as_raw_fd(), libc::TUNSETOFFLOAD, offloads) })?;
    Ok(tun)
}

/// A packet socket that sends IPv4 packets through the interface `name` of the calling thread's namespace, past its
/// routes. It receives nothing.
pub(crate) fn open_packet_socket(name: &str) -> io::Result<OwnedFd> {
    const PROTOCOL: u16 = (libc::ETH_P_IP as u16).to_be();
    // All that queues hold fits.
    let buffer: libc::c_int = 1 << 30;
    // SAFETY: what comes back is owned by nobody else.
    let socket = unsafe {
        let fd = libc::socket(libc::AF_PACKET, libc::SOCK_DGRAM | libc::SOCK_NONBLOCK | libc::SOCK_CLOEXEC, 0);
        succeeded(fd.min(0))?;
        OwnedFd::from_raw_fd(fd)
    };
    let index = rustix::net::netdevice::name_to_index(&socket, name)?;
    // SAFETY: all zeros are a valid address.
    let mut address: libc::sockaddr_ll = unsafe { std::mem::zeroed() };
    address.sll_family = libc::AF_PACKET as libc::c_ushort;
    address.sll_protocol = PROTOCOL;
    address.sll_ifindex = index as libc::c_int;
    // SAFETY: both calls read values that outlive them, of the length that is given.
    unsafe {
        succeeded(libc::setsockopt(
            socket.as_raw_fd(),
            libc::SOL_SOCKET,
            libc::SO_SNDBUFFORCE,
            (&raw const buffer).cast(),
            size_of::<libc::c_int>() as libc::socklen_t,
        ))?;
        succeeded(libc::bind(
            socket.as_raw_fd(),
            (&raw const address).cast(),
            size_of::<libc::sockaddr_ll>() as libc::socklen_t,
        ))?;
    }
    Ok(socket)
}

/// Bounds what waits in the send buffer and was never sent (TCP_NOTSENT_LOWAT), in bytes.
pub(crate) fn set_not_sent_limit(socket: BorrowedFd<'_>, bytes: u32) -> io::Result<()> {
    // SAFETY: the option reads a 32-bit number, which outlives the call.
    succeeded(unsafe {
        libc::setsockopt(
            socket.as_raw_fd(),
            libc::IPPROTO_TCP,
            libc::TCP_NOTSENT_LOWAT,
            (&raw const bytes).cast(),
            size_of::<u32>() as libc::socklen_t,
        )
    })
}

/// Room for one control message with an int.
const CONTROL: usize = 64;

/// Takes the datagram that waits at `socket` into `buffer`: its length and the TOS byte of its header, which the socket
/// was asked for (IP_RECVTOS).
pub(crate) fn receive_marked(socket: BorrowedFd<'_>, buffer: &mut [u8]) -> io::Result<(usize, u8)> {
    let mut control = [0_u64; CONTROL / 8];
    let mut part = libc::iovec { iov_base: buffer.as_mut_ptr().cast(), iov_len: buffer.len() };
    // SAFETY: zeros are a valid header without any part.
    let mut header: libc::msghdr = unsafe { std::mem::zeroed() };
    (header.msg_iov, header.msg_iovlen) = (&raw mut part, 1);
    (header.msg_control, header.msg_controllen) = (control.as_mut_ptr().cast(), CONTROL as _);
    // SAFETY: header, part and control outlive the call, with the lengths that they say.
    let length = unsafe { libc::recvmsg(socket.as_raw_fd(), &raw mut header, 0) };
    let length = usize::try_from(length).map_err(|_| io::Error::last_os_error())?;
    // SAFETY: the kernel has filled the header, and the messages are within the control buffer.
    let tos = unsafe {
        let message = libc::CMSG_FIRSTHDR(&raw const header);
        let is_tos = !message.is_null() && (*message).cmsg_type == libc::IP_TOS;
        if is_tos { libc::CMSG_DATA(message).read() } else { 0 }
    };
    Ok((length, tos))
}

/// The kernel's facts on a connection (`struct tcp_info` of linux/tcp.h), as much of it as is used.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct TcpInfo {
    /// The state of congestion control: open, disorder, CWR, recovery, loss.
    pub(crate) congestion_state: u8,
    /// The connection is open.
    pub(crate) established: bool,
    /// Segments sent and not acknowledged; of those SACKed, deemed lost, sent again.
    pub(crate) unacknowledged: u32,
    pub(crate) sacked: u32,
    pub(crate) lost: u32,
    pub(crate) retransmitted: u32,
    /// Smoothed round-trip time, microseconds.
    pub(crate) smoothed_rtt_us: u32,
    /// Smallest round-trip time, microseconds; the largest number before there is one.
    pub(crate) min_rtt_us: u32,
    pub(crate) threshold: u32,
    pub(crate) window: u32,
    /// Bytes a second.
    pub(crate) pacing_rate: u64,
    /// Expiries of the retransmission timer.
    pub(crate) timeouts: u16,
    /// Bytes that wait unsent.
    pub(crate) not_sent: u32,
    /// Microseconds with data, and the part of them that the receive window has limited.
    pub(crate) busy_us: u64,
    pub(crate) rwnd_limited_us: u64,
}

/// TCP_ESTABLISHED of linux/tcp.h.
const ESTABLISHED: u8 = 1;

impl TcpInfo {
    /// As much as is used ends here.
    const SIZE: usize = 244;

    /// Asks the kernel about `socket`.
    pub(crate) fn of(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let mut bytes = [0u8; Self::SIZE];
        option_of(socket, libc::TCP_INFO, &mut bytes)?;
        Ok(Self::read(&bytes))
    }

    /// Segments in flight (tcp_packets_in_flight).
    pub(crate) fn in_flight(&self) -> u32 {
        (self.unacknowledged + self.retransmitted).saturating_sub(self.sacked + self.lost)
    }

    fn read(bytes: &[u8; Self::SIZE]) -> Self {
        let word = |at: usize| word(bytes, at);
        let wide = |at: usize| {
            let (a, b) = (u64::from(word(at)), u64::from(word(at + 4)));
            if cfg!(target_endian = "little") { a | b << 32 } else { a << 32 | b }
        };
        Self {
            congestion_state: bytes[1],
            established: bytes[0] == ESTABLISHED,
            unacknowledged: word(24),
            sacked: word(28),
            lost: word(32),
            retransmitted: word(36),
            smoothed_rtt_us: word(68),
            threshold: word(76),
            window: word(80),
            not_sent: word(144),
            pacing_rate: wide(104),
            min_rtt_us: word(148),
            busy_us: wide(168),
            rwnd_limited_us: wide(176),
            timeouts: u16::from_ne_bytes([bytes[240], bytes[241]]),
        }
    }
}

/// The state of the kernel's `bbr` (`struct tcp_bbr_info` of linux/inet_diag.h).
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub(crate) struct BbrInfo {
    /// The bandwidth, bytes of payload a second.
    pub(crate) bandwidth: u64,
    /// Smallest round-trip time, microseconds; the largest number before there is one.
    pub(crate) min_rtt_us: u32,
    /// Gains of pacing and window, in 1/256.
    pub(crate) pacing_gain: u32,
    pub(crate) window_gain: u32,
}

impl BbrInfo {
    const SIZE: usize = 20;

    /// Asks the kernel about `socket`, whose controller is `bbr`.
    pub(crate) fn of(socket: BorrowedFd<'_>) -> io::Result<Self> {
        let mut bytes = [0u8; Self::SIZE];
        option_of(socket, libc::TCP_CC_INFO, &mut bytes)?;
        Ok(Self::read(&bytes))
    }

    fn read(bytes: &[u8; Self::SIZE]) -> Self {
        Self {
            bandwidth: u64::from(word(bytes, 0)) | u64::from(word(bytes, 4)) << 32,
            min_rtt_us: word(bytes, 8),
            pacing_gain: word(bytes, 12),
            window_gain: word(bytes, 16),
        }
    }
}

/// Payload of a segment that `socket` sends, in bytes.
pub(crate) fn segment_size(socket: BorrowedFd<'_>) -> io::Result<u32> {
    let mut bytes = [0u8; 4];
    option_of(socket, libc::TCP_MAXSEG, &mut bytes)?;
    Ok(u32::from_ne_bytes(bytes))
}

/// Reads an option of TCP.
fn option_of(socket: BorrowedFd<'_>, option: libc::c_int, bytes: &mut [u8]) -> io::Result<()> {
    let mut length = bytes.len() as libc::socklen_t;
    // SAFETY: the kernel writes at most `length` bytes to `bytes`.
    succeeded(unsafe {
        libc::getsockopt(socket.as_raw_fd(), libc::IPPROTO_TCP, option, bytes.as_mut_ptr().cast(), &raw mut length)
    })
}

fn word(bytes: &[u8], at: usize) -> u32 {
    u32::from_ne_bytes([bytes[at], bytes[at + 1], bytes[at + 2], bytes[at + 3]])
}

fn named(name: &str) -> libc::ifreq {
    // SAFETY: all zeros are a valid `ifreq`.
    let mut ifreq: libc::ifreq = unsafe { std::mem::zeroed() };
    for (to, from) in ifreq.ifr_name.iter_mut().zip(name.bytes().take(libc::IFNAMSIZ - 1)) {
        *to = from as libc::c_char;
    }
    ifreq
}

fn internet(address: [u8; 4]) -> libc::sockaddr {
    let mut data = [0; 14];
    for (to, from) in data[2..6].iter_mut().zip(address) {
        *to = from as libc::c_char;
    }
    libc::sockaddr { sa_family: libc::AF_INET as libc::sa_family_t, sa_data: data }
}

fn succeeded(result: libc::c_int) -> io::Result<()> {
    if result < 0 { Err(io::Error::last_os_error()) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_read_from_their_places_in_tcp_info() {
        let mut bytes = [0; TcpInfo::SIZE];
        bytes[1] = 3;
        bytes[24..28].copy_from_slice(&40u32.to_ne_bytes());
        bytes[80..84].copy_from_slice(&41u32.to_ne_bytes());
        bytes[104..112].copy_from_slice(&(5u64 << 32 | 7).to_ne_bytes());
        for (at, number) in [(168, 11u64), (176, 12)] {
            bytes[at..at + 8].copy_from_slice(&number.to_ne_bytes());
        }
        bytes[240..242].copy_from_slice(&9u16.to_ne_bytes());
        let info = TcpInfo::read(&bytes);
        assert_eq!((info.congestion_state, info.unacknowledged, info.window), (3, 40, 41));
        assert_eq!((info.pacing_rate, info.timeouts), (5 << 32 | 7, 9));
        assert_eq!((info.busy_us, info.rwnd_limited_us), (11, 12));
    }

    #[test]
    fn numbers_of_bbr_are_read_from_their_places() {
        let mut bytes = [0; BbrInfo::SIZE];
        // 1.25 MB/s and 2^32 more; 40 ms; gains of 5/4 and 2.
        for (at, number) in [(0, 1_250_000u32), (4, 1), (8, 40_000), (12, 320), (16, 512)] {
            bytes[at..at + 4].copy_from_slice(&number.to_ne_bytes());
        }
        let expected =
            BbrInfo { bandwidth: (1 << 32) + 1_250_000, min_rtt_us: 40_000, pacing_gain: 320, window_gain: 512 };
        assert_eq!(BbrInfo::read(&bytes), expected);
    }
}
