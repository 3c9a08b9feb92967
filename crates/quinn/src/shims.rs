//! The calls of quinn that differ from noq's.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use quinn_proto::{
    ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, SendStream, ServerConfig,
};

/// At most one datagram leaves in a call.
pub(crate) const ONE: usize = 1;

pub(crate) fn endpoint(config: EndpointConfig, server: Option<ServerConfig>) -> Endpoint {
    Endpoint::new(Arc::new(config), server.map(Arc::new), false, None)
}

/// Identifiers of connections come from `make`.
pub(crate) fn identify(
    config: &mut EndpointConfig,
    make: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) {
    config.cid_generator(make);
}

pub(crate) fn handle(
    endpoint: &mut Endpoint,
    (now, other): (Instant, SocketAddr),
    ecn: Option<EcnCodepoint>,
    datagram: BytesMut,
    buffer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, other, None, ecn, datagram, buffer)
}

/// So many bytes were written.
pub(crate) fn write(stream: &mut SendStream<'_>, piece: Bytes) -> usize {
    stream.write_chunks(&mut [piece]).map_or(0, |written| written.bytes)
}
