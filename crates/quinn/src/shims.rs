//! The calls of quinn that differ from noq's.

use std::net::SocketAddr;
use std::sync::Arc;
use std::time::Instant;

use bytes::{Bytes, BytesMut};
use quinn_proto::crypto::{
    AeadKey, ClientConfig, CryptoError, HandshakeTokenKey, Keys, PacketKey, Session, UnsupportedVersion,
};
use quinn_proto::transport_parameters::TransportParameters;
use quinn_proto::{
    ConnectError, Connection, ConnectionId, ConnectionIdGenerator, DatagramEvent, EcnCodepoint, Endpoint,
    EndpointConfig, Event, SendStream, ServerConfig, Side, TransportConfig,
};

use crate::crypto::{NoCrypto, Plain, Plaintext, TAG, keys};

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

/// The connection has one path.
pub(crate) fn allow_paths(_config: &mut TransportConfig, _paths: u32) {}

/// There is no other path.
pub(crate) fn open_path(_connection: &mut Connection, _to: SocketAddr, _now: Instant) -> bool {
    false
}

/// No event opens another path.
pub(crate) fn opened(_connection: &Connection, _event: &Event) -> Option<SocketAddr> {
    None
}

/// So many bytes were written.
pub(crate) fn write(stream: &mut SendStream<'_>, piece: Bytes) -> usize {
    stream.write_chunks(&mut [piece]).map_or(0, |written| written.bytes)
}

/// An identifier of a connection in calls.
pub(crate) type Identifier<'a> = &'a ConnectionId;

impl PacketKey for Plain {
    fn encrypt(&self, _packet: u64, buf: &mut [u8], _header_len: usize) {
        self.seal(buf);
    }

    fn decrypt(&self, _packet: u64, _header: &[u8], payload: &mut BytesMut) -> Result<(), CryptoError> {
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
        self: Arc<Self>,
        _version: u32,
        _server_name: &str,
        params: &TransportParameters,
    ) -> Result<Box<dyn Session>, ConnectError> {
        Ok(Box::new(Plaintext::new(Side::Client, params)))
    }
}

impl quinn_proto::crypto::ServerConfig for NoCrypto {
    fn initial_keys(&self, _version: u32, _dst_cid: Identifier<'_>) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: Identifier<'_>, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(self: Arc<Self>, _version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(Plaintext::new(Side::Server, params))
    }
}

impl HandshakeTokenKey for NoCrypto {
    fn aead_from_hkdf(&self, _random_bytes: &[u8]) -> Box<dyn AeadKey> {
        Box::new(Plain::default())
    }
}

impl AeadKey for Plain {
    fn seal(&self, _data: &mut Vec<u8>, _additional_data: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }

    fn open<'a>(&self, data: &'a mut [u8], _additional_data: &[u8]) -> Result<&'a mut [u8], CryptoError> {
        Ok(data)
    }
}
