//! Sources that are recordings: `source = { trace = "call.txt" }`.

use std::io;
use std::path::Path;

use transport::{Datagrams, MediaTrace};
use units::packet::{IP_HEADER, MTU, UDP_HEADER};

use crate::language::Flow;
use crate::plan::Kind;
use crate::values::Source;

/// More datagrams than this are taken for a typing error.
const MOST_DATAGRAMS: u64 = 10_000_000;

/// The datagrams of `flow` if its source is a recording, which `read` gives. An error has the key and the message.
pub(crate) fn media(
    flow: &Flow,
    kind: Kind,
    read: impl Fn(&Path) -> io::Result<Vec<u8>>,
) -> Result<Option<Datagrams>, (String, String)> {
    let Source::Trace(file) = &flow.source else { return Ok(None) };
    let fail = |message: String| Err(("source".to_owned(), message));
    let payload = match kind {
        Kind::Datagram { packet_size, .. } => packet_size.saturating_sub(IP_HEADER + UDP_HEADER).get() as u32,
        // Writes are frames, which the sender splits.
        Kind::Media { .. } => u32::MAX,
        Kind::Tcp | Kind::Tfrc { .. } => {
            return fail("a recording is for flows of kind `datagram` or `media`".to_owned());
        }
    };
    let packet_size = flow.packet_size.unwrap_or(MTU);
    if payload == 0 {
        return fail(format!("datagrams of `{packet_size}` have no room for what `{file}` holds"));
    }
    let text = match read(Path::new(file)) {
        Ok(bytes) => match String::from_utf8(bytes) {
            Ok(text) => text,
            Err(_) => return fail(format!("the trace `{file}` is no text")),
        },
        Err(error) => return fail(format!("the trace `{file}` cannot be read: {error}")),
    };
    let trace = match MediaTrace::parse(&text) {
        Ok(trace) => trace,
        Err(error) => return fail(format!("the trace `{file}`, {error}")),
    };
    let count = trace.count(payload);
    if count > MOST_DATAGRAMS {
        return fail(format!("the trace `{file}` makes {count} datagrams; at most {MOST_DATAGRAMS} are allowed"));
    }
    Ok(Some(trace.datagrams(payload)))
}
