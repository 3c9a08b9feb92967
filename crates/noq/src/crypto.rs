//! Handshakes and packets without cryptography: the messages of TLS 1.3 as sizes, and packets with an empty tag.
//!
//! A connection takes the round trips and bytes that it takes on a network, and no time for ciphers. Nothing here is
//! random, so a run is a function of its seed.

use std::any::Any;
use std::sync::Arc;

use bytes::{Buf as _, BufMut as _, BytesMut};
use noq_proto::crypto::{
    ClientConfig, CryptoError, ExportKeyingMaterialError, HandshakeTokenKey, HeaderKey, HmacKey, KeyPair, Keys,
    PacketKey, ServerConfig, Session, UnsupportedVersion,
};
use noq_proto::transport_parameters::TransportParameters;
use noq_proto::{ConnectError, ConnectionId, PathId, Side, TransportError};

/// The messages of a handshake in bytes, as rustls sends them with one ECDSA certificate of a usual size.
const CLIENT_HELLO: usize = 300;
const SERVER_HELLO: usize = 122;
/// Encrypted extensions, certificate, its verification, and the end.
const SERVER_FLIGHT: usize = 1000;
const CLIENT_FINISHED: usize = 36;
/// The tag of AES-GCM and ChaCha20-Poly1305, and the sample of a header that is protected with either.
const TAG: usize = 16;
/// How long the rest of a message is: its first bytes.
const LENGTH: usize = 4;

/// Keys that change nothing.
struct Plain;

fn keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(Plain), remote: Box::new(Plain) },
        packet: KeyPair { local: Box::new(Plain), remote: Box::new(Plain) },
    }
}

impl PacketKey for Plain {
    fn encrypt(&self, _path_id: PathId, _packet: u64, _buf: &mut [u8], _header_len: usize) {}

    fn decrypt(
        &self,
        _path_id: PathId,
        _packet: u64,
        _header: &[u8],
        payload: &mut BytesMut,
    ) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(TAG).ok_or(CryptoError)?;
        payload.truncate(length);
        Ok(())
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

impl HeaderKey for Plain {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG
    }
}

/// The progress of a handshake.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Step {
    /// The client has yet to say hello.
    Hello,
    /// The next message comes from the other side.
    Waits,
    /// The server answers the hello.
    Answers,
    /// It goes on with the rest of its flight. The client has read the answer.
    Continues,
    /// The client has read all that the server sent.
    Finishes,
    Done,
}

/// One side of a handshake.
struct Plaintext {
    side: Side,
    /// The transport parameters of this side.
    own: Vec<u8>,
    peer: Option<TransportParameters>,
    step: Step,
    /// Messages that were read to their end.
    messages: usize,
    read: BytesMut,
}

impl Plaintext {
    fn new(side: Side, parameters: &TransportParameters) -> Self {
        let mut own = Vec::new();
        parameters.write(&mut own);
        let step = if side.is_client() { Step::Hello } else { Step::Waits };
        Self { side, own, peer: None, step, messages: 0, read: BytesMut::new() }
    }

    /// Writes a message with the transport parameters, if `with`, that takes `size` bytes, or more if it needs more.
    fn message(&self, buf: &mut Vec<u8>, size: usize, with: bool) {
        let parameters: &[u8] = if with { &self.own } else { &[] };
        let size = size.max(2 * LENGTH + parameters.len());
        buf.put_u32((size - LENGTH) as u32);
        buf.put_u32(parameters.len() as u32);
        buf.put_slice(parameters);
        buf.resize(size, 0);
    }

    /// The next whole message of the other side: its transport parameters.
    fn take_message(&mut self) -> Option<BytesMut> {
        let length = LENGTH + self.read.first_chunk().map(|bytes| u32::from_be_bytes(*bytes))? as usize;
        if self.read.len() < length {
            return None;
        }
        let mut message = self.read.split_to(length);
        message.advance(LENGTH);
        let parameters = message.get_u32() as usize;
        message.truncate(parameters);
        Some(message)
    }
}

impl Session for Plaintext {
    fn initial_keys(&self, _dst_cid: ConnectionId, _side: Side) -> Keys {
        keys()
    }

    fn handshake_data(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn peer_identity(&self) -> Option<Box<dyn Any>> {
        None
    }

    fn early_crypto(&self) -> Option<(Box<dyn HeaderKey>, Box<dyn PacketKey>)> {
        None
    }

    fn early_data_accepted(&self) -> Option<bool> {
        None
    }

    fn is_handshaking(&self) -> bool {
        self.step != Step::Done
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        self.read.extend_from_slice(buf);
        while let Some(parameters) = self.take_message() {
            self.messages += 1;
            if !parameters.is_empty() {
                let read = TransportParameters::read(self.side, &mut parameters.freeze());
                self.peer = Some(read.map_err(TransportError::from)?);
            }
            self.step = match (self.side, self.messages) {
                (Side::Server, 1) => Step::Answers,
                (Side::Client, 1) => Step::Continues,
                (Side::Client, 2) => Step::Finishes,
                _ => Step::Done,
            };
        }
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        let (next, answer) = match (self.step, self.side) {
            (Step::Hello, _) => {
                self.message(buf, CLIENT_HELLO, true);
                (Step::Waits, None)
            }
            (Step::Answers, _) => {
                self.message(buf, SERVER_HELLO, false);
                (Step::Continues, Some(keys()))
            }
            (Step::Continues, Side::Server) => {
                self.message(buf, SERVER_FLIGHT, true);
                (Step::Waits, Some(keys()))
            }
            (Step::Continues, Side::Client) => (Step::Waits, Some(keys())),
            (Step::Finishes, _) => {
                self.message(buf, CLIENT_FINISHED, false);
                (Step::Done, Some(keys()))
            }
            (step @ (Step::Waits | Step::Done), _) => (step, None),
        };
        self.step = next;
        answer
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        Some(KeyPair { local: Box::new(Plain), remote: Box::new(Plain) })
    }

    fn is_valid_retry(&self, _orig_dst_cid: ConnectionId, _header: &[u8], _payload: &[u8]) -> bool {
        false
    }

    fn export_keying_material(
        &self,
        _output: &mut [u8],
        _label: &[u8],
        _context: &[u8],
    ) -> Result<(), ExportKeyingMaterialError> {
        Err(ExportKeyingMaterialError)
    }
}

/// Makes sessions, and the keys beside them.
pub(crate) struct NoCrypto;

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

impl ServerConfig for NoCrypto {
    fn initial_keys(&self, _version: u32, _dst_cid: ConnectionId) -> Result<Keys, UnsupportedVersion> {
        Ok(keys())
    }

    fn retry_tag(&self, _version: u32, _orig_dst_cid: ConnectionId, _packet: &[u8]) -> [u8; 16] {
        [0; 16]
    }

    fn start_session(&self, _version: u32, params: &TransportParameters) -> Box<dyn Session> {
        Box::new(Plaintext::new(Side::Server, params))
    }
}

impl HmacKey for NoCrypto {
    /// Never zeros, as tags are: a packet that ends like the token would reset its connection.
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        let data = data.iter().copied().chain(std::iter::repeat(0));
        signature_out.iter_mut().zip(data).for_each(|(out, byte)| *out = byte ^ 0xa5);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _data: &[u8], _signature: &[u8]) -> Result<(), CryptoError> {
        Ok(())
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

/// The same for whoever shares it.
pub(crate) fn shared() -> Arc<NoCrypto> {
    Arc::new(NoCrypto)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of the messages that one side writes until it waits, and how often it gets keys.
    fn write(session: &mut Plaintext) -> (Vec<usize>, usize) {
        let (mut sizes, mut keys) = (Vec::new(), 0);
        loop {
            let mut buf = Vec::new();
            let got = session.write_handshake(&mut buf).is_some();
            keys += usize::from(got);
            sizes.extend((!buf.is_empty()).then_some(buf.len()));
            if !got {
                return (sizes, keys);
            }
        }
    }

    #[test]
    fn a_message_is_read_in_pieces_and_says_nothing_before_it_is_whole() {
        // initial_max_data is 5.
        let parameters = TransportParameters::read(Side::Server, &mut [4, 1, 5].as_slice()).unwrap();
        let mut client = Plaintext::new(Side::Client, &parameters);
        let mut server = Plaintext::new(Side::Server, &parameters);
        let mut hello = Vec::new();
        assert!(client.write_handshake(&mut hello).is_none());
        assert_eq!(hello.len(), CLIENT_HELLO);
        server.read_handshake(&hello[..100]).unwrap();
        assert_eq!(write(&mut server), (vec![], 0));
        server.read_handshake(&hello[100..]).unwrap();
        assert!(server.transport_parameters().unwrap().is_some());
        // Its hello with the keys of the handshake, and the rest with the keys of the data.
        assert_eq!(write(&mut server), (vec![SERVER_HELLO, SERVER_FLIGHT], 2));
        assert!(server.is_handshaking() && client.is_handshaking());
    }
}
