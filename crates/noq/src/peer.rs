//! One side of a connection of noq, or of quinn (`crates/quinn`): an endpoint with one connection, and the calls of
//! its application.

use std::collections::VecDeque;
use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::ops::Range;
use std::sync::Arc;
use std::time::Instant;

use crate::proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent, Dir, EcnCodepoint,
    Endpoint, EndpointConfig, MtuDiscoveryConfig, NoneTokenStore, ServerConfig, Side, StreamEvent, StreamId,
    TransportConfig, VarInt,
};
use bytes::{Bytes, BytesMut};
use stack::{Event, Header, Settings};

use crate::clock::Clock;
use crate::passing::Factory;
use crate::{crypto, proto, shims};

/// The two sides of every connection. Connections do not meet, so all have the same.
#[derive(Clone, Copy)]
enum Host {
    Client = 1,
    Server = 2,
}

impl Host {
    /// Its address on a path.
    fn on(self, path: u32) -> SocketAddr {
        let [.., high, low, _] = (path << 8).to_be_bytes();
        SocketAddrV4::new(Ipv4Addr::new(10, high, low, self as u8), 443).into()
    }
}

/// The path of an address.
fn path_of(address: SocketAddr) -> u32 {
    match address {
        SocketAddr::V4(address) => u32::from(*address.ip()) >> 8 & 0xffff,
        SocketAddr::V6(_) => 0,
    }
}

/// The rules of noq with these settings: packets keep their size, and no connection ends by being idle.
fn transport(settings: &Settings) -> TransportConfig {
    let mut config = TransportConfig::default();
    let window = VarInt::from_u64(settings.receive_window).unwrap_or(VarInt::MAX);
    config
        .initial_mtu(settings.packet_size)
        .min_mtu(settings.packet_size)
        .mtu_discovery_config(None::<MtuDiscoveryConfig>)
        .stream_receive_window(window)
        .receive_window(window)
        .send_window(u64::MAX / 2)
        .max_idle_timeout(None)
        .enable_segmentation_offload(false);
    shims::allow_paths(&mut config, settings.paths);
    config
}

fn endpoint(settings: &Settings, first_identifier: u8) -> EndpointConfig {
    let mut config = EndpointConfig::new(crypto::shared());
    config.rng_seed(Some(settings.seed));
    shims::identify(&mut config, move || Box::new(Identifiers(first_identifier, 0)));
    // It is in the range that is allowed: a scenario with another packet size is refused.
    let _ = config.max_udp_payload_size(settings.packet_size.max(1472));
    config
}

/// Connection identifiers one after the other: noq's own are random.
struct Identifiers(u8, u32);

/// Bytes of an identifier, as noq has them.
const IDENTIFIER: usize = 8;

impl ConnectionIdGenerator for Identifiers {
    fn generate_cid(&mut self) -> ConnectionId {
        let mut bytes = [self.0; IDENTIFIER];
        bytes[IDENTIFIER - 4..].copy_from_slice(&self.1.to_be_bytes());
        self.1 += 1;
        ConnectionId::new(&bytes)
    }

    fn cid_len(&self) -> usize {
        IDENTIFIER
    }

    fn cid_lifetime(&self) -> Option<std::time::Duration> {
        None
    }
}

/// Adds to the rules of a connection. Times of the run count from the instant.
pub type Attach<'a> = &'a mut dyn FnMut(&mut TransportConfig, Instant);

/// So much is written at once, if there is as much.
const CHUNK: usize = 1 << 20;
/// The data that is written: zeros, which are never looked at.
static CONTENT: [u8; CHUNK] = [0; CHUNK];

/// One side of a connection.
pub struct Peer {
    pub(crate) clock: Clock,
    endpoint: Endpoint,
    pub(crate) connection: Option<(ConnectionHandle, Connection)>,
    /// The other side.
    other: Host,
    /// Paths that the client has yet to open, from the next one on.
    unopened: Range<u32>,
    pub(crate) buffer: Vec<u8>,
    /// Events that the application has not taken yet.
    events: VecDeque<Event>,
}

impl Peer {
    /// The side with `settings`, whose controllers are made by `factory`.
    pub(crate) fn open(
        settings: &Settings,
        clock: Clock,
        factory: Option<Factory>,
        attach: Attach<'_>,
    ) -> Result<Self, String> {
        let mut transport = transport(settings);
        if let Some(factory) = factory {
            transport.congestion_controller_factory(Arc::new(factory));
        }
        attach(&mut transport, clock.instant(0));
        let of = |endpoint, connection, other| Self {
            clock,
            endpoint,
            connection,
            other,
            unopened: 1..if settings.is_client { settings.paths } else { 1 },
            buffer: Vec::new(),
            events: VecDeque::new(),
        };
        if !settings.is_client {
            let mut config = ServerConfig::new(crypto::shared(), crypto::shared());
            config.transport_config(Arc::new(transport));
            let endpoint = shims::endpoint(endpoint(settings, 0x5e), Some(config));
            return Ok(of(endpoint, None, Host::Client));
        }
        let mut endpoint = shims::endpoint(endpoint(settings, 0xc1), None);
        let mut config = ClientConfig::new(crypto::shared());
        config
            .transport_config(Arc::new(transport))
            .token_store(Arc::new(NoneTokenStore))
            .initial_dst_cid_provider(Arc::new(|| ConnectionId::new(&[0x1d; IDENTIFIER])));
        let connection = endpoint
            .connect(clock.instant(settings.now), config, Host::Server.on(0), "receiver")
            .map_err(|error| error.to_string())?;
        Ok(of(endpoint, Some(connection), Host::Server))
    }

    /// Passes pending events between endpoint and connection.
    fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
    }

    /// Turns an event of the connection into events of the application.
    fn take(&mut self, event: proto::Event) {
        let Some((_, connection)) = &mut self.connection else { return };
        match event {
            proto::Event::Connected => self.events.push_back(Event::Connected),
            proto::Event::Stream(StreamEvent::Finished { .. }) => self.events.push_back(Event::Acknowledged),
            proto::Event::Stream(StreamEvent::Opened { dir }) => {
                while let Some(stream) = connection.streams().accept(dir) {
                    read(connection, stream, &mut self.events);
                }
            }
            proto::Event::Stream(StreamEvent::Readable { id }) => read(connection, id, &mut self.events),
            proto::Event::DatagramReceived => {
                while let Some(datagram) = connection.datagrams().recv() {
                    self.events.push_back(Event::Datagram(datagram));
                }
            }
            proto::Event::ConnectionLost { reason } => self.events.push_back(Event::Lost(reason.to_string())),
            event => self.events.extend(shims::opened(connection, &event).map(path_of).map(Event::Opened)),
        }
    }

    /// Opens the paths that the other side has allowed by now.
    fn open_paths(&mut self, now: Instant) {
        let Some((_, connection)) = &mut self.connection else { return };
        while let Some(path) = self.unopened.clone().next()
            && !connection.is_handshaking()
            && shims::open_path(connection, self.other.on(path), now)
        {
            self.unopened.next();
        }
    }

    fn stream(index: u64) -> StreamId {
        StreamId::new(Side::Client, Dir::Uni, index)
    }
}

/// Reads a stream in any order: both end a connection that waits for data in more than 1,024 places.
fn read(connection: &mut Connection, id: StreamId, events: &mut VecDeque<Event>) {
    let mut stream = connection.recv_stream(id);
    let Ok(mut chunks) = stream.read(false) else { return };
    while let Ok(chunk) = chunks.next(usize::MAX) {
        let Some(chunk) = chunk else {
            events.push_back(Event::Complete(id.index()));
            break;
        };
        let to = chunk.offset + chunk.bytes.len() as u64;
        events.push_back(Event::Arrived { stream: id.index(), from: chunk.offset, to });
    }
    // More room is announced at the next look at the connection.
    let _ = chunks.finalize();
}

impl stack::Side for Peer {
    fn receive(&mut self, now: u64, header: Header, datagram: BytesMut) {
        let (now, from) = (self.clock.instant(now), self.other.on(header.path));
        let codepoint = EcnCodepoint::from_bits(header.ecn);
        self.buffer.clear();
        let event = shims::handle(&mut self.endpoint, (now, from), codepoint, datagram, &mut self.buffer);
        match (event, &mut self.connection) {
            (Some(DatagramEvent::ConnectionEvent(_, event)), Some((_, connection))) => connection.handle_event(event),
            (Some(DatagramEvent::NewConnection(incoming)), None) => {
                self.connection = self.endpoint.accept(incoming, now, &mut self.buffer, None).ok();
            }
            // A second first packet is a copy, and connections that are closed need no answer.
            (Some(DatagramEvent::NewConnection(incoming)), Some(_)) => self.endpoint.ignore(incoming),
            _ => {}
        }
        self.settle();
        self.open_paths(now);
    }

    fn transmit(&mut self, now: u64) -> Option<(Header, &[u8])> {
        let now = self.clock.instant(now);
        let (_, connection) = self.connection.as_mut()?;
        self.buffer.clear();
        let Some(transmit) = connection.poll_transmit(now, shims::ONE, &mut self.buffer) else {
            self.settle();
            return None;
        };
        let ecn = transmit.ecn.map_or(0, |codepoint| codepoint as u8);
        Some((Header { path: path_of(transmit.destination), ecn }, &self.buffer[..transmit.size]))
    }

    fn expire(&mut self, now: u64) {
        let now = self.clock.instant(now);
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
        self.settle();
    }

    fn deadline(&mut self) -> Option<u64> {
        let (_, connection) = self.connection.as_mut()?;
        connection.poll_timeout().map(|at| self.clock.time(at))
    }

    fn poll(&mut self) -> Option<Event> {
        while self.events.is_empty() {
            let event = self.connection.as_mut()?.1.poll()?;
            self.take(event);
        }
        self.events.pop_front()
    }

    fn open_stream(&mut self) -> Option<u64> {
        self.connection.as_mut()?.1.streams().open(Dir::Uni).map(StreamId::index)
    }

    fn write(&mut self, stream: u64, bytes: usize) -> usize {
        let Some((_, connection)) = &mut self.connection else { return 0 };
        let piece = Bytes::from_static(&CONTENT[..bytes.min(CHUNK)]);
        shims::write(&mut connection.send_stream(Self::stream(stream)), piece)
    }

    fn finish(&mut self, stream: u64) -> bool {
        let Some((_, connection)) = &mut self.connection else { return false };
        connection.send_stream(Self::stream(stream)).finish().is_ok()
    }

    fn send_datagram(&mut self, datagram: Bytes) {
        if let Some((_, connection)) = &mut self.connection {
            let _ = connection.datagrams().send(datagram, true);
        }
    }

    fn datagram_room(&mut self) -> (usize, usize) {
        let Some((_, connection)) = &mut self.connection else { return (0, 0) };
        let most = connection.datagrams().max_size().unwrap_or(0);
        (most, usize::from(connection.current_mtu()).saturating_sub(most))
    }
}
