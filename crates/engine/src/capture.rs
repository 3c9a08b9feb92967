//! Places of packet captures.

use std::io::Write;

use network::Discard;
use record::pcapng::Point;
use scenario::Plan;

use crate::Failure;

/// A capture that is asked for: its file and its place.
pub struct CaptureTo {
    /// Takes the file, and is buffered by the engine.
    pub writer: Box<dyn Write + Send>,
    /// The place.
    pub point: Point,
}

/// The interface that a capture has for each place, or `None` for a place that it does not see.
#[derive(Debug)]
pub struct Interfaces {
    /// Packets that leave the senders and come back to them.
    pub sender: Option<u32>,
    /// Packets that reach the receivers and leave them.
    pub receiver: Option<u32>,
    /// Packets that are offered to each link of the plan.
    pub links: Vec<Option<u32>>,
}

impl Interfaces {
    /// The interfaces of a capture at `point`, with their names. Refused where `plan` has no such place.
    pub fn new(point: Point, plan: &Plan) -> Result<(Self, Vec<&str>), Failure> {
        let none = Self { sender: None, receiver: None, links: vec![None; plan.links.len()] };
        Ok(match point {
            Point::Sender => (Self { sender: Some(0), ..none }, vec!["sender"]),
            Point::Receiver => (Self { receiver: Some(0), ..none }, vec!["receiver"]),
            Point::Bottleneck => {
                let refusal = "no link has a rate, so there is no bottleneck to capture at";
                let bottleneck = plan.bottleneck.ok_or_else(|| Failure::CapturePoint(refusal.to_owned()))?;
                let name = plan.links[bottleneck].name.as_str();
                // Both directions, as one machine there sees them.
                let seen = |link: &str| link.strip_suffix(":reverse").unwrap_or(link) == name;
                let links = plan.links.iter().map(|link| seen(&link.name).then_some(0)).collect();
                (Self { links, ..none }, vec![name])
            }
            Point::All => {
                let names = ["sender", "receiver"].into_iter().chain(plan.links.iter().map(|l| l.name.as_str()));
                let links = (2..).take(plan.links.len()).map(Some).collect();
                (Self { sender: Some(0), receiver: Some(1), links }, names.collect())
            }
        })
    }
}

/// The comment on a packet that a link discarded.
pub fn comment(why: Discard) -> &'static str {
    match why {
        Discard::Lost => "lost: impairment of the link",
        Discard::Full => "dropped: the queue is full",
        Discard::Early => "dropped early, before the queue is full",
        Discard::Evicted => "dropped while it waited: the last of the longest queue",
        Discard::Head => "dropped while it waited, when its turn came",
        Discard::Retries => "lost: not acknowledged within the retry limit of the station",
    }
}
