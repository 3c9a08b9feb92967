//! The sender of a connection: it reports packets that leave.

use bytes::{Bytes, BytesMut};
use stack::{Event, Header, Side};

use crate::flight::SharedFlight;
use crate::peer::Peer;

/// A side with reports.
pub(crate) struct Reporting {
    peer: Peer,
    flight: SharedFlight,
    /// The time of the last datagram, and the datagrams since then at this time: quinn has one a nanosecond, so that
    /// the time at which a packet left names it.
    last: (u64, u64),
}

impl Reporting {
    pub(crate) fn new(peer: Peer, flight: SharedFlight) -> Self {
        Self { peer, flight, last: (0, 0) }
    }
}

/// The frames that `peer` sent and that ask for an acknowledgement.
fn asking(peer: &Peer) -> u64 {
    let Some((_, connection)) = &peer.connection else { return 0 };
    let sent = connection.stats().frame_tx;
    sent.ack_frequency
        + sent.crypto
        + sent.data_blocked
        + sent.datagram
        + u64::from(sent.handshake_done)
        + sent.immediate_ack
        + sent.max_data
        + sent.max_stream_data
        + sent.max_streams_bidi
        + sent.max_streams_uni
        + sent.new_connection_id
        + sent.new_token
        + sent.path_challenge
        + sent.path_response
        + sent.ping
        + sent.reset_stream
        + sent.retire_connection_id
        + sent.stream_data_blocked
        + sent.streams_blocked_bidi
        + sent.streams_blocked_uni
        + sent.stop_sending
        + sent.stream
}

impl Side for Reporting {
    fn receive(&mut self, now: u64, header: Header, datagram: BytesMut) {
        self.peer.receive(now, header, datagram);
    }

    fn transmit(&mut self, now: u64) -> Option<(Header, &[u8])> {
        let count = if self.last.0 == now { self.last.1 + 1 } else { 0 };
        let before = asking(&self.peer);
        let at = now + count;
        let (header, size) = self.peer.transmit(at).map(|(header, datagram)| (header, datagram.len()))?;
        self.last = (now, count);
        if asking(&self.peer) > before {
            self.flight.lock().push(now, self.peer.clock.instant(at));
        }
        Some((header, &self.peer.buffer[..size]))
    }

    fn expire(&mut self, now: u64) {
        self.peer.expire(now);
    }

    fn deadline(&mut self) -> Option<u64> {
        self.peer.deadline()
    }

    fn poll(&mut self) -> Option<Event> {
        self.peer.poll()
    }

    fn open_stream(&mut self) -> Option<u64> {
        self.peer.open_stream()
    }

    fn write(&mut self, stream: u64, bytes: usize) -> usize {
        self.peer.write(stream, bytes)
    }

    fn finish(&mut self, stream: u64) -> bool {
        self.peer.finish(stream)
    }

    fn send_datagram(&mut self, datagram: Bytes) {
        self.peer.send_datagram(datagram);
    }

    fn datagram_room(&mut self) -> (usize, usize) {
        self.peer.datagram_room()
    }
}
