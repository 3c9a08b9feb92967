//! The calls of noq that differ from quinn's.

use std::net::SocketAddr;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use noq_proto::crypto::{ClientConfig, CryptoError, HandshakeTokenKey, Keys, PacketKey, Session, UnsupportedVersion};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{
    ConnectError, Connection, ConnectionId, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint,
    EndpointConfig, Event, PathEvent, PathId, PathStatus, SendStream, ServerConfig, Side, TransportConfig,
};

use crate::crypto::{NoCrypto, Plain, Plaintext, TAG, keys};

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

/// The connection may have so many paths. With one it follows RFC 9000.
pub(crate) fn allow_paths(config: &mut TransportConfig, paths: u32) {
    if paths > 1 {
        config.max_concurrent_multipath_paths(paths);
    }
}

/// Opens another path, to this address, if the other side allows one.
pub(crate) fn open_path(connection: &mut Connection, to: SocketAddr, now: Instant) -> bool {
    connection.open_path(to.into(), PathStatus::Available, now).is_ok()
}

/// The address to which a path is open from this event on.
pub(crate) fn opened(connection: &Connection, event: &Event) -> Option<SocketAddr> {
    let Event::Path(PathEvent::Established { id, .. }) = event else { return None };
    connection.network_path(*id).ok().map(|path| path.remote())
}

/// So many bytes were written.
pub(crate) fn write(stream: &mut SendStream<'_>, piece: Bytes) -> usize {
    stream.write_chunks(&mut &mut [piece][..]).unwrap_or(0)
}

/// An identifier of a connection in calls.
pub(crate) type Identifier<'a> = ConnectionId;

impl PacketKey for Plain {
    fn encrypt(&self, _path_id: PathId, _packet: u64, buf: &mut [u8], _header_len: usize) {
        self.seal(buf);
    }

    fn decrypt(
        &self,
        _path_id: PathId,
        _packet: u64,
        _header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        self.open(payload)
    }

    fn tag_len(&self) -> usize {
        TAG
    }

    fn confidentiality_limit(&self) -> u64 {
        u64::MAX
    }

    fn integrity_limit(&self) -> u64 {
        u64::MAX
    }
}

impl ClientConfig for NoCrypto {
    fn start_session(
        &self,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(Plaintext::new(Side::Client, params)))
    }
}

impl noq_proto::crypto::ServerConfig for NoCrypto {
    fn initial_keys(&self, _version: u32, _dst_cid: Identifier<'_>) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: Identifier<'_>, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(&self, _version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(Plaintext::new(Side::Server, params))
    }
}

impl HandshakeTokenKey for NoCrypto {
    fn seal(&self, _token_nonce: u128, _data: &mut Vec<u8>) -> Result<(), CryptoError> {
        Ok(())
    }

    fn open<'a>(&self, _token_nonce: u128, data: &'a mut [u8]) -> Result<&'a [u8], CryptoError> {
        Ok(data)
    }
}
