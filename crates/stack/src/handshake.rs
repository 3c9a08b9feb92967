//! A handshake without cryptography: the messages of TLS 1.3 as sizes, with the transport parameters in them.

use bytes::{Buf as _, BufMut as _, Bytes, BytesMut};

/// The messages of a handshake in bytes, as rustls sends them with one ECDSA certificate of a usual size.
const CLIENT_HELLO: usize = 300;
const SERVER_HELLO: usize = 122;
/// Encrypted extensions, certificate, its verification, and the end.
const SERVER_FLIGHT: usize = 1000;
const CLIENT_FINISHED: usize = 36;
/// How long the rest of a message is: its first bytes.
const LENGTH: usize = 4;

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
#[derive(Debug)]
pub struct Handshake {
    is_client: bool,
    /// The transport parameters of this side.
    own: Vec<u8>,
    step: Step,
    /// Messages that were read to their end.
    messages: usize,
    read: BytesMut,
}

impl Handshake {
    /// The side with these transport parameters.
    pub fn new(is_client: bool, own: Vec<u8>) -> Self {
        let step = if is_client { Step::Hello } else { Step::Waits };
        Self { is_client, own, step, messages: 0, read: BytesMut::new() }
    }

    /// It is not over yet.
    pub fn is_under_way(&self) -> bool {
        self.step != Step::Done
    }

    /// Reads a piece of what the other side wrote: its transport parameters, if they are in it.
    pub fn read(&mut self, piece: &[u8]) -> Option<Bytes> {
        self.read.extend_from_slice(piece);
        let mut found = None;
        while let Some(parameters) = self.take_message() {
            self.messages += 1;
            found = Some(parameters.freeze()).filter(|parameters| !parameters.is_empty()).or(found);
            self.step = match (self.is_client, self.messages) {
                (false, 1) => Step::Answers,
                (true, 1) => Step::Continues,
                (true, 2) => Step::Finishes,
                _ => Step::Done,
            };
        }
        found
    }

    /// Writes the next message, if there is one. Returns whether new keys follow it.
    pub fn write(&mut self, buf: &mut Vec<u8>) -> bool {
        let (next, message) = match (self.step, self.is_client) {
            (Step::Hello, _) => (Step::Waits, Some((CLIENT_HELLO, true))),
            (Step::Answers, _) => (Step::Continues, Some((SERVER_HELLO, false))),
            (Step::Continues, false) => (Step::Waits, Some((SERVER_FLIGHT, true))),
            (Step::Continues, true) => (Step::Waits, None),
            (Step::Finishes, _) => (Step::Done, Some((CLIENT_FINISHED, false))),
            (Step::Waits | Step::Done, _) => return false,
        };
        if let Some((size, with)) = message {
            self.message(buf, size, with);
        }
        // The hello goes with the first keys.
        let has_keys = self.step != Step::Hello;
        self.step = next;
        has_keys
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

/// A signature that anybody can make. It never has zeros, as tags have: a packet that ends like the token would reset
/// its connection.
pub fn sign(data: &[u8], signature: &mut [u8]) {
    let data = data.iter().copied().chain(std::iter::repeat(0));
    signature.iter_mut().zip(data).for_each(|(out, byte)| *out = byte ^ 0xa5);
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Sizes of the messages that one side writes until it waits, and how often it gets keys.
    fn write(side: &mut Handshake) -> (Vec<usize>, usize) {
        let (mut sizes, mut keys) = (Vec::new(), 0);
        loop {
            let mut buf = Vec::new();
            let got = side.write(&mut buf);
            keys += usize::from(got);
            sizes.extend((!buf.is_empty()).then_some(buf.len()));
            if !got {
                return (sizes, keys);
            }
        }
    }

    #[test]
    fn a_message_is_read_in_pieces_and_says_nothing_before_it_is_whole() {
        let mut client = Handshake::new(true, vec![4, 1, 5]);
        let mut server = Handshake::new(false, vec![4, 1, 5]);
        let mut hello = Vec::new();
        assert!(!client.write(&mut hello));
        assert_eq!(hello.len(), CLIENT_HELLO);
        assert_eq!(server.read(&hello[..100]), None);
        assert_eq!(write(&mut server), (vec![], 0));
        assert_eq!(server.read(&hello[100..]).as_deref(), Some(&[4, 1, 5][..]));
        // Its hello with the keys of the handshake, and the rest with the keys of the data.
        assert_eq!(write(&mut server), (vec![SERVER_HELLO, SERVER_FLIGHT], 2));
        assert!(server.is_under_way() && client.is_under_way());
    }
}
