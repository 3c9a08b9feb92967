//! The clock, the randomness and the ciphers of quiche and BoringSSL, which take no arguments for them.
//!
//! The linker passes their calls of `clock_gettime`, `RAND_bytes` and the AEAD here (`--wrap`), in this object alone.
//! So a call of a connection reads the time of the run, draws from a seed, and shows its packets before they are
//! sealed.
#![allow(unsafe_code)]

use std::cell::{Cell, RefCell};
use std::ops::RangeInclusive;
use std::slice::{from_raw_parts, from_raw_parts_mut};

use libc::{c_int, c_void, clockid_t, time_t, timespec};
use stack::frames;

/// The time at the start of a run in nanoseconds: subtractions from it never pass zero.
const START: u64 = 1_000_000_000_000_000_000;
/// Bytes of a tag.
const TAG: usize = 16;
/// The first bit of a long header. Packets with data have short ones.
const LONG: u8 = 0x80;

thread_local! {
    static NOW: Cell<u64> = const { Cell::new(START) };
    static RANDOM: Cell<u64> = const { Cell::new(0) };
    static SEEN: RefCell<Seen> = const { RefCell::new(Seen::NOTHING) };
}

/// The packets with short headers that were sealed and opened in a session.
#[derive(Debug)]
pub(crate) struct Seen {
    /// The last one that was sealed: the low bits of its number, how many there are, and whether it asks for an
    /// acknowledgement.
    pub(crate) sealed: Option<(u64, u32, bool)>,
    /// The ranges that opened packets acknowledge.
    pub(crate) acknowledged: Vec<RangeInclusive<u64>>,
}

impl Seen {
    const NOTHING: Self = Self { sealed: None, acknowledged: Vec::new() };
}

/// Randomness of one side of a connection.
#[derive(Debug)]
pub(crate) struct Seed(u64);

impl Seed {
    pub(crate) fn new(bytes: [u8; 32]) -> Self {
        let words = bytes.chunks_exact(8).map(|word| word.try_into().map_or(0, u64::from_ne_bytes));
        Self(words.fold(0, |all, word| all ^ word))
    }

    /// Lets `call` run at `now` with these draws. Returns its result, and the packets that it sealed and opened.
    pub(crate) fn session<R>(&mut self, now: u64, call: impl FnOnce() -> R) -> (R, Seen) {
        NOW.set(START + now);
        RANDOM.set(self.0);
        let result = call();
        self.0 = RANDOM.get();
        (result, SEEN.replace(Seen::NOTHING))
    }
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_clock_gettime(_clock: clockid_t, at: *mut timespec) -> c_int {
    let now = NOW.get();
    // SAFETY: the caller's structure.
    unsafe { (*at).tv_sec = (now / 1_000_000_000) as time_t };
    unsafe { (*at).tv_nsec = (now % 1_000_000_000) as _ };
    0
}

/// SplitMix64 (Steele, Lea and Flood 2014, figure 16).
fn draw() -> u64 {
    let state = RANDOM.get().wrapping_add(0x9e37_79b9_7f4a_7c15);
    RANDOM.set(state);
    let mixed = (state ^ state >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
    mixed ^ mixed >> 31
}

#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_RAND_bytes(buffer: *mut u8, length: usize) -> c_int {
    if length > 0 {
        // SAFETY: the caller's buffer of this length.
        let buffer = unsafe { from_raw_parts_mut(buffer, length) };
        buffer.chunks_mut(8).for_each(|chunk| chunk.copy_from_slice(&draw().to_le_bytes()[..chunk.len()]));
    }
    1
}

/// # Safety
/// `at` has `length` bytes.
unsafe fn slice<'a>(at: *const u8, length: usize) -> &'a [u8] {
    // SAFETY: as asked for.
    if length == 0 { &[] } else { unsafe { from_raw_parts(at, length) } }
}

/// # Safety
/// Both have `length` bytes, and may overlap.
unsafe fn copy(from: *const u8, to: *mut u8, length: usize) {
    if length > 0 {
        // SAFETY: as asked for.
        unsafe { std::ptr::copy(from, to, length) };
    }
}

/// Copies the plaintext, and writes a tag that never verifies anything.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_EVP_AEAD_CTX_seal_scatter(
    _context: *const c_void,
    out: *mut u8,
    out_tag: *mut u8,
    out_tag_length: *mut usize,
    _most: usize,
    _nonce: *const u8,
    _nonce_length: usize,
    plain: *const u8,
    plain_length: usize,
    extra: *const u8,
    extra_length: usize,
    header: *const u8,
    header_length: usize,
) -> c_int {
    // SAFETY: buffers of the caller with these lengths.
    let (content, header) = unsafe { (slice(plain, plain_length), slice(header, header_length)) };
    if let Some(&first) = header.first().filter(|&first| first & LONG == 0) {
        let bytes = 1 + usize::from(first & 3);
        let number = header[header_length.saturating_sub(bytes)..].iter();
        let number = number.fold(0, |number, &byte| number << 8 | u64::from(byte));
        let asks = frames::read(content, |_| {});
        SEEN.with_borrow_mut(|seen| seen.sealed = Some((number, 8 * bytes as u32, asks)));
    }
    // SAFETY: as above.
    unsafe {
        copy(plain, out, plain_length);
        copy(extra, out_tag, extra_length);
        out_tag.add(extra_length).write_bytes(0xa5, TAG);
        *out_tag_length = extra_length + TAG;
    }
    1
}

/// Copies the plaintext back.
#[unsafe(no_mangle)]
unsafe extern "C" fn __wrap_EVP_AEAD_CTX_open(
    _context: *const c_void,
    out: *mut u8,
    out_length: *mut usize,
    most: usize,
    _nonce: *const u8,
    _nonce_length: usize,
    sealed: *const u8,
    sealed_length: usize,
    header: *const u8,
    header_length: usize,
) -> c_int {
    let Some(length) = sealed_length.checked_sub(TAG).filter(|&length| length <= most) else { return 0 };
    // SAFETY: buffers of the caller with these lengths.
    let (content, header) = unsafe { (slice(sealed, length), slice(header, header_length)) };
    if header.first().is_some_and(|first| first & LONG == 0) {
        SEEN.with_borrow_mut(|seen| frames::read(content, |range| seen.acknowledged.push(range)));
    }
    // SAFETY: as above.
    unsafe {
        copy(sealed, out, length);
        *out_length = length;
    }
    1
}
