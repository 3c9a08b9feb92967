//! One side of a connection of noq: an endpoint with one connection.

use std::net::{Ipv4Addr, SocketAddr, SocketAddrV4};
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::time::Instant;

use bytes::BytesMut;
use noq_proto::{
    ClientConfig, Connection, ConnectionHandle, ConnectionId, ConnectionIdGenerator, DatagramEvent, EcnCodepoint,
    Endpoint, EndpointConfig, MtuDiscoveryConfig, NoneTokenStore, ServerConfig, TransportConfig, VarInt,
};
use units::{Ecn, Random};

use crate::crypto;

/// The two sides of every connection. Connections do not meet, so all have the same.
const CLIENT: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 1), 443));
const SERVER: SocketAddr = SocketAddr::V4(SocketAddrV4::new(Ipv4Addr::new(10, 0, 0, 2), 443));

/// Rules of noq that hold for both sides.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Rules {
    /// Bytes of a full packet, without the headers of IP and UDP.
    pub(crate) packet_size: u16,
    /// The receive window in bytes.
    pub(crate) receive_window: u64,
}

impl Rules {
    /// The rules of noq with the settings of the scenario: packets keep their size, and no connection ends by being
    /// idle.
    pub(crate) fn transport(&self) -> TransportConfig {
        let mut config = TransportConfig::default();
        let window = VarInt::from_u64(self.receive_window).unwrap_or(VarInt::MAX);
        config
            .initial_mtu(self.packet_size)
            .min_mtu(self.packet_size)
            .mtu_discovery_config(None::<MtuDiscoveryConfig>)
            .stream_receive_window(window)
            .receive_window(window)
            .send_window(u64::MAX / 2)
            .max_idle_timeout(None)
            .enable_segmentation_offload(false);
        config
    }

    fn endpoint(&self, random: &mut Random, first_identifier: u8) -> EndpointConfig {
        let mut config = EndpointConfig::new(crypto::shared());
        let seed = std::array::from_fn(|_| (random.uniform() * 256.0) as u8);
        config.rng_seed(Some(seed)).cid_generator(Arc::new(move || Box::new(Identifiers(first_identifier, 0))));
        // It is in the range that is allowed: a scenario with another packet size is refused.
        let _ = config.max_udp_payload_size(self.packet_size.max(1472));
        config
    }
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

/// One side of a connection.
pub(crate) struct Peer {
    endpoint: Endpoint,
    connection: Option<(ConnectionHandle, Connection)>,
    /// The address of the other side.
    other: SocketAddr,
    buffer: Vec<u8>,
}

impl Peer {
    /// The side that opens the connection, at `now`.
    pub(crate) fn client(
        now: Instant,
        rules: &Rules,
        transport: TransportConfig,
        random: &mut Random,
    ) -> Result<Self, String> {
        let mut endpoint = Endpoint::new(Arc::new(rules.endpoint(random, 0xc1)), None, false);
        let mut config = ClientConfig::new(crypto::shared());
        config
            .transport_config(Arc::new(transport))
            .token_store(Arc::new(NoneTokenStore))
            .initial_dst_cid_provider(Arc::new(|| ConnectionId::new(&[0x1d; IDENTIFIER])));
        let connection = endpoint.connect(now, config, SERVER, "receiver").map_err(|error| error.to_string())?;
        Ok(Self { endpoint, connection: Some(connection), other: SERVER, buffer: Vec::new() })
    }

    /// The side that answers.
    pub(crate) fn server(rules: &Rules, transport: TransportConfig, random: &mut Random) -> Self {
        let mut config = ServerConfig::new(crypto::shared(), crypto::shared());
        config.transport_config(Arc::new(transport));
        let endpoint = Endpoint::new(Arc::new(rules.endpoint(random, 0x5e)), Some(Arc::new(config)), false);
        Self { endpoint, connection: None, other: CLIENT, buffer: Vec::new() }
    }

    /// The connection, once there is one.
    pub(crate) fn connection(&mut self) -> Option<&mut Connection> {
        self.connection.as_mut().map(|(_, connection)| connection)
    }

    /// `content` arrives.
    pub(crate) fn receive(&mut self, now: Instant, ecn: Ecn, content: BytesMut) {
        let codepoint = EcnCodepoint::from_bits(ecn.bits());
        self.buffer.clear();
        let event = self.endpoint.handle(now, self.other.into(), codepoint, content, &mut self.buffer);
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
    }

    /// Passes pending events between endpoint and connection.
    pub(crate) fn settle(&mut self) {
        let Some((handle, connection)) = &mut self.connection else { return };
        while let Some(event) = connection.poll_endpoint_events() {
            if let Some(answer) = self.endpoint.handle_event(*handle, event) {
                connection.handle_event(answer);
            }
        }
    }

    /// The deadline of the connection has come.
    pub(crate) fn expire(&mut self, now: Instant) {
        if let Some((_, connection)) = &mut self.connection {
            connection.handle_timeout(now);
        }
        self.settle();
    }

    /// The next datagram that leaves now, and its codepoint.
    pub(crate) fn transmit(&mut self, now: Instant) -> Option<(BytesMut, Ecn)> {
        let (_, connection) = self.connection.as_mut()?;
        self.buffer.clear();
        let transmit = connection.poll_transmit(now, NonZeroUsize::MIN, &mut self.buffer)?;
        let ecn = transmit.ecn.map_or(Ecn::NotCapable, |codepoint| Ecn::of(codepoint as u8));
        Some((BytesMut::from(&self.buffer[..transmit.size]), ecn))
    }

    /// When the connection is looked at next.
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.connection.as_ref().and_then(|(_, connection)| connection.poll_timeout())
    }
}
