//! The calls of noq that differ from quinn's.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use noq_proto::{
    ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint, EndpointConfig, SendStream, ServerConfig,
};

/// At most one datagram leaves in a call.
pub(crate) const ONE: NonZeroUsize = NonZeroUsize::MIN;

pub(crate) fn endpoint(config: EndpointConfig, server: Option<ServerConfig>) -> Endpoint {
    Endpoint::new(Arc::new(config), server.map(Arc::new), false)
}

/// Identifiers of connections come from `make`.
pub(crate) fn identify(
    config: &mut EndpointConfig,
    make: impl Fn() -> Box<dyn ConnectionIdGenerator> + Send + Sync + 'static,
) {
    config.cid_generator(Arc::new(make));
}

pub(crate) fn handle(
    endpoint: &mut Endpoint,
    (now, other): (Instant, SocketAddr),
    ecn: Option<EcnCodepoint>,
    datagram: BytesMut,
    buffer: &mut Vec<u8>,
) -> Option<DatagramEvent> {
    endpoint.handle(now, other.into(), ecn, datagram, buffer)
}

/// So many bytes were written.
pub(crate) fn write(stream: &mut SendStream<'_>, piece: Bytes) -> usize {
    stream.write_chunks(&mut &mut [piece][..]).unwrap_or(0)
}
