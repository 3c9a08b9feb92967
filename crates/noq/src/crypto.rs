//! Sessions and keys without cryptography. Nothing here is random, so a run is a function of its seed.
//!
//! noq and quinn have the same text. `shims.rs` of each has the traits that differ.

use std::any::Any;
use std::sync::Arc;

use bytes::BytesMut;
use stack::handshake::{self, Handshake};

use crate::proto::crypto::{
    CryptoError, ExportKeyingMaterialError, HeaderKey, HmacKey, KeyPair, Keys, PacketKey, Session,
};
use crate::proto::transport_parameters::TransportParameters;
use crate::proto::{Side, TransportError};
use crate::shims::Identifier;

/// The tag of AES-GCM and ChaCha20-Poly1305, and the sample of a header that is protected with either.
pub(crate) const TAG: usize = 16;

/// Keys that change nothing but the first byte of a tag, which has their generation: a packet is opened by its own.
#[derive(Default)]
pub(crate) struct Plain(u8);

impl Plain {
    /// Writes the tag at the end of `packet`.
    pub(crate) fn seal(&self, packet: &mut [u8]) {
        if let Some(tag) = packet.last_chunk_mut::<TAG>() {
            tag[0] = self.0;
        }
    }

    /// Removes the tag, unless it is of other keys.
    pub(crate) fn open(&self, payload: &mut BytesMut) -> Result<(), CryptoError> {
        let length = payload.len().checked_sub(TAG).filter(|&length| payload[length] == self.0).ok_or(CryptoError)?;
        payload.truncate(length);
        Ok(())
    }
}

fn packet_keys(generation: u8) -> KeyPair<Box<dyn PacketKey>> {
    KeyPair { local: Box::new(Plain(generation)), remote: Box::new(Plain(generation)) }
}

pub(crate) fn keys() -> Keys {
    Keys {
        header: KeyPair { local: Box::new(Plain::default()), remote: Box::new(Plain::default()) },
        packet: packet_keys(0),
    }
}

impl HeaderKey for Plain {
    fn decrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn encrypt(&self, _pn_offset: usize, _packet: &mut [u8]) {}

    fn sample_size(&self) -> usize {
        TAG
    }
}

/// One side of a handshake.
pub(crate) struct Plaintext {
    side: Side,
    handshake: Handshake,
    peer: Option<TransportParameters>,
    /// The last keys for data.
    generation: u8,
}

impl Plaintext {
    pub(crate) fn new(side: Side, parameters: &TransportParameters) -> Self {
        let mut own = Vec::new();
        parameters.write(&mut own);
        Self { side, handshake: Handshake::new(side.is_client(), own), peer: None, generation: 0 }
    }
}

impl Session for Plaintext {
    fn initial_keys(&self, _dst_cid: Identifier<'_>, _side: Side) -> Keys {
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
        self.handshake.is_under_way()
    }

    fn read_handshake(&mut self, buf: &[u8]) -> Result<bool, TransportError> {
        if let Some(mut parameters) = self.handshake.read(buf) {
            self.peer = Some(TransportParameters::read(self.side, &mut parameters).map_err(TransportError::from)?);
        }
        Ok(false)
    }

    fn transport_parameters(&self) -> Result<Option<TransportParameters>, TransportError> {
        Ok(self.peer)
    }

    fn write_handshake(&mut self, buf: &mut Vec<u8>) -> Option<Keys> {
        self.handshake.write(buf).then(keys)
    }

    fn next_1rtt_keys(&mut self) -> Option<KeyPair<Box<dyn PacketKey>>> {
        self.generation = self.generation.wrapping_add(1);
        Some(packet_keys(self.generation))
    }

    fn is_valid_retry(&self, _orig_dst_cid: Identifier<'_>, _header: &[u8], _payload: &[u8]) -> bool {
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

impl HmacKey for NoCrypto {
    fn sign(&self, data: &[u8], signature_out: &mut [u8]) {
        handshake::sign(data, signature_out);
    }

    fn signature_len(&self) -> usize {
        32
    }

    fn verify(&self, _data: &[u8], _signature: &[u8]) -> Result<(), CryptoError> {
        Ok(())
    }
}

/// The same for whoever shares it.
pub(crate) fn shared() -> Arc<NoCrypto> {
    Arc::new(NoCrypto)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_packet_is_opened_by_the_keys_that_sealed_it_alone() {
        let mut packet = [7; 20];
        packet[4..].fill(0);
        Plain(2).seal(&mut packet);
        let opened = |generation| {
            let mut payload = BytesMut::from(&packet[..]);
            Plain(generation).open(&mut payload).is_ok().then(|| payload.to_vec())
        };
        assert_eq!([1, 2, 3].map(opened), [None, Some(vec![7; 4]), None]);
        assert!(Plain(0).open(&mut BytesMut::from(&[0; TAG - 1][..])).is_err());
    }
}
