//! The kinds of flows, and the keys that belong to each.

use control::{ControllerRef, registry, tfrc};
use transport::MediaSettings;
use units::packet::{self, IP_HEADER, MTU, UDP_HEADER};
use units::{Bytes, Rate};

use crate::error::{FlowError, flow_error};
use crate::language::{Flow, Protocol};
use crate::plan::Kind;
use crate::quick_start::quick_start_rate;
use crate::transport_options::check_kind;
use crate::values::Source;

/// A datagram carries at least the headers of IP and UDP.
const SMALLEST_DATAGRAM: u64 = IP_HEADER.get() + UDP_HEADER.get();

/// A packet of media has the headers of IP, UDP and RTP, and some bytes of a frame.
const SMALLEST_MEDIA: u64 = SMALLEST_DATAGRAM + 12 + 60;

/// The kind of `flow`. Refuses keys and options that belong to others.
pub(crate) fn kind(flow: &Flow) -> Result<Kind, FlowError> {
    let kind = kind_of(flow)?;
    check_kind(flow, kind)?;
    Ok(kind)
}

fn kind_of(flow: &Flow) -> Result<Kind, FlowError> {
    let only = |key: &str, kind: &str| flow_error(key, format!("belongs to flows of kind `{kind}`"));
    if flow.kind != Protocol::Media && flow.media.is_some() {
        return Err(only("media", "media"));
    }
    if let ControllerRef::Registered(name) = &flow.cc
        && flow.kind != Protocol::Media
        && registry::MEDIA.iter().any(|entry| entry.name == *name)
    {
        return Err(flow_error(
            "cc",
            format!("`{name}` sets the rate of an encoder: it is for flows of kind `media` (`kind = \"media\"`)"),
        ));
    }
    if matches!(&flow.cc, ControllerRef::Engine(name) if name == tfrc::NAME) {
        return tfrc_kind(flow);
    }
    match flow.kind {
        Protocol::Tcp if flow.packet_size.is_some() => {
            Err(flow_error("packet_size", "belongs to flows of kind `datagram` or `media`"))
        }
        Protocol::Tcp if flow.echo.is_some() => Err(only("echo", "datagram")),
        Protocol::Tcp => Ok(Kind::Tcp),
        Protocol::Datagram if flow.bytes.is_some() => Err(only("bytes", "tcp")),
        Protocol::Datagram if flow.source == Source::Greedy => {
            Err(flow_error("source", "a flow of kind `datagram` needs a rate, like `{ rate = \"2mbit\" }`"))
        }
        Protocol::Datagram => {
            let packet_size = packet_size(flow, SMALLEST_DATAGRAM)?;
            Ok(Kind::Datagram { packet_size, echo: flow.echo.unwrap_or(true) })
        }
        Protocol::Media => call_kind(flow),
    }
}

/// The kind of `flow`, an encoder's.
fn call_kind(flow: &Flow) -> Result<Kind, FlowError> {
    let given = [("bytes", flow.bytes.is_some()), ("echo", flow.echo.is_some()), ("think", flow.think.is_some())];
    if let Some((key, _)) = given.iter().find(|(_, given)| *given) {
        return Err(flow_error(*key, "is not for flows of kind `media`, which have an encoder and no end"));
    }
    if let Source::Paced(_) = flow.source {
        let message = "of a flow of kind `media` is its encoder: `media` describes it, or a recording has its frames";
        return Err(flow_error("source", message));
    }
    if let Some((key, message)) = flow.media.as_ref().and_then(MediaSettings::refusal) {
        return Err(flow_error(format!("media.{key}"), message));
    }
    Ok(Kind::Media { packet_size: packet_size(flow, SMALLEST_MEDIA)? })
}

/// The rate that `flow` asks for.
pub(crate) fn quick_start(flow: &Flow, kind: Kind) -> Result<Option<Rate>, FlowError> {
    let Some(rate) = flow.quick_start else { return Ok(None) };
    if kind != Kind::Tcp {
        return Err(flow_error("quick_start", "belongs to flows of kind `tcp`, whose SYN asks"));
    }
    if flow.think.is_some() {
        return Err(flow_error("quick_start", "does not go with `think`: when a page begins is not known before"));
    }
    let asked = quick_start_rate(rate);
    let message = || flow_error("quick_start", format!("`{rate}` is below 80kbit, the least that can be asked for"));
    asked.map(Some).ok_or_else(message)
}

/// The kind of `flow`, whose rate TFRC sets.
fn tfrc_kind(flow: &Flow) -> Result<Kind, FlowError> {
    let given = [("bytes", flow.bytes.is_some()), ("echo", flow.echo.is_some()), ("think", flow.think.is_some())];
    if let Some((key, _)) = given.iter().find(|(_, given)| *given) {
        return Err(flow_error(*key, "is not for `tfrc`, which sends datagrams without end"));
    }
    if flow.kind != Protocol::Tcp {
        return Err(flow_error("kind", "must be left out: `tfrc` is a kind of its own, datagrams at its own rate"));
    }
    Ok(Kind::Tfrc { packet_size: packet_size(flow, SMALLEST_DATAGRAM + 1)? })
}

/// IP size of the datagrams of `flow`, at least `least` bytes.
fn packet_size(flow: &Flow, least: u64) -> Result<Bytes, FlowError> {
    let size = flow.packet_size.unwrap_or(MTU);
    if (least..=packet::LARGEST.get()).contains(&size.get()) {
        return Ok(size);
    }
    Err(flow_error("packet_size", format!("`{size}` is not from {least} to {} bytes", packet::LARGEST.get())))
}
