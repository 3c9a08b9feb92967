//! The settings of CAKE.

use units::{Bytes, Span};

use super::{AckFilter, Diffserv, Isolation};
use crate::queue::tc::settings;
use crate::{Framing, LinkLayer};

settings! {
    /// What a scenario says about CAKE, named as in `tc`.
    #[derive(Eq)]
    pub struct CakeSettings in "cake", limit memlimit, rate "bandwidth" {
        /// The classes by the `dscp` of flows; by default one for all.
        diffserv: Diffserv = Diffserv::Besteffort, choice, omitted Diffserv::Diffserv3;
        /// Whether all flows share one queue; by default they do not.
        flowblind: bool = false, words("flowblind" = true);
        /// How flows and hosts, the nodes at their ends, are kept apart; by default by flows.
        isolation: Isolation = Isolation::Flows, choice, unless flowblind, omitted Isolation::TripleIsolate;
        /// Which ACKs of TCP go from its queues when later ones say as much; by default none.
        ack_filter: AckFilter = AckFilter::NoAckFilter, choice, if other;
        /// Bytes that a packet takes on the link in addition to those of IP.
        overhead: i32 = 0, value, from -64, to 256;
        /// The least size on the link, overhead included.
        mpu: u32 = 0, value, if other, from 0, to 256;
        /// Cells of ATM, or the sync bytes of PTM; by default neither.
        link_layer: LinkLayer = LinkLayer::None, choice, if other;
        /// The round-trip time of most flows: CoDel's interval, and twenty times its target; by default 100ms.
        rtt: Span = Span::from_millis(100), value, from Span::from_nanos(1), to Span::LONGEST_WAIT;
        /// How many bytes may wait; by default four times what the link sends in `rtt`, at least 4MiB, at most 15360kB.
        memlimit: Option<Bytes> = None, value, from Bytes::new(1), to Bytes::LARGEST;
    }
    shorthands {
        "flowblind" = |cake| (cake.flowblind, cake.isolation) = (true, Isolation::Flows);
        "diffserv" = |cake| cake.diffserv = Diffserv::Diffserv4;
        "datacentre" = |cake| cake.rtt = Span::from_micros(100);
        "lan" = |cake| cake.rtt = Span::from_millis(1);
        "metro" = |cake| cake.rtt = Span::from_millis(10);
        "regional" = |cake| cake.rtt = Span::from_millis(30);
        "internet" = |cake| cake.rtt = Span::from_millis(100);
        "oceanic" = |cake| cake.rtt = Span::from_millis(300);
        "satellite" = |cake| cake.rtt = Span::from_secs(1);
        "interplanetary" = |cake| cake.rtt = Span::from_secs(1000);
    }
    framed |cake, frame| {
        let mut framing = cake.framing();
        frame(&mut framing);
        let Framing { overhead, mpu, link_layer, .. } = framing;
        (cake.overhead, cake.mpu, cake.link_layer) = (overhead, mpu, link_layer);
    }
    passed {
        "unlimited" = "the rate of the path is given elsewhere";
        "nat" = "no addresses are translated";
        "nonat" = "no addresses are translated";
        "wash" = "no other link reads the code points";
        "nowash" = "no other link reads the code points";
        "split-gso" = "packets are single segments";
        "no-split-gso" = "packets are single segments";
        "via-ethernet" = "tc passes over it, too";
        "egress" = "it shapes the packets that leave it";
        "ingress" = "dropped packets do not count against the rate";
    }
    refused {
        "autorate-ingress" = "the rate does not adapt; give `bandwidth`";
        "fwmark" = "packets have no marks of a firewall; `diffserv4` goes by the `dscp` of flows";
    }
}
