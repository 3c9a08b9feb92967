//! Template: first in, first out, but a packet that waited too long is dropped as its turn comes, and a full queue
//! drops the oldest.
//!
//! Name the paper or RFC here, and the place of each of its rules.

use serde::{Deserialize, Serialize};
use units::Span;

use super::fifo::Fifo;
use super::{Context, Discipline, Served, Settings};
use crate::{Limit, Packet, Service};

/// Its keys in a scenario, each with its default.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize, schemars::JsonSchema)]
#[serde(default, deny_unknown_fields)]
#[schemars(transform = Self::describe_bounds)]
pub struct TemplateSettings {
    /// How long a packet may wait, by default 50ms.
    pub patience: Span,
}

impl Default for TemplateSettings {
    fn default() -> Self {
        Self { patience: Span::from_millis(50) }
    }
}

units::bounds! {
    TemplateSettings {
        patience: Span = Span::from_nanos(1), Span::LONGEST_WAIT;
    }
}

impl Settings for TemplateSettings {
    fn check(&self) -> Result<(), (&'static str, String)> {
        self.out_of_bounds()
    }

    fn build<P: Packet>(&self, _limit: Limit, _service: &Service) -> Box<dyn Discipline<P>> {
        Box::new(Template { fifo: Fifo::new(), settings: *self })
    }
}

/// The queue at work.
#[derive(Debug)]
struct Template<P> {
    fifo: Fifo<P>,
    settings: TemplateSettings,
}

impl<P: Packet> Discipline<P> for Template<P> {
    fn push(&mut self, packet: P, cx: &mut Context<'_, P>) {
        self.fifo.push(cx.now, packet);
    }

    /// A full queue drops the oldest packet.
    fn make_room(&mut self, _packet: &P, cx: &mut Context<'_, P>) {
        if let Some((oldest, _)) = self.fifo.pop() {
            cx.drop(oldest);
        }
    }

    /// The last packet is served however long it waited: the link does not fall idle.
    fn pop(&mut self, cx: &mut Context<'_, P>) -> Option<Served<P>> {
        let mut head = self.fifo.pop()?;
        while cx.now.since(head.1) > self.settings.patience && cx.waiting().packets > 1 {
            cx.drop(head.0);
            head = self.fifo.pop()?;
        }
        Some(Served { packet: head.0, arrived: head.1, marked: false })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{Driven, Parcel, at};

    fn filled() -> Driven<Template<Parcel>> {
        let mut queue = Driven::new(Template { fifo: Fifo::new(), settings: TemplateSettings::default() });
        // Packets 0, 1, 2 arrive at 0, 30 and 60 ms.
        (0..3).for_each(|number| queue.push(at(30_000 * u64::from(number)), Parcel::full(number)));
        queue
    }

    #[test]
    fn what_waited_too_long_is_dropped_but_for_the_last() {
        // At 90 ms packet 0 has waited 90 ms and packet 1 60 ms, both above 50. At 200 ms packet 2 is alone.
        assert_eq!(filled().pop(at(90_000)).map(|served| served.packet.number), Some(2));
        let mut queue = filled();
        assert_eq!(queue.pop(at(40_000)).map(|served| served.packet.number), Some(0));
        assert_eq!(queue.pop(at(200_000)).map(|served| served.packet.number), Some(2));
    }

    #[test]
    fn a_full_queue_drops_the_oldest() {
        assert_eq!(filled().make_room(at(60_000), Parcel::full(3)), [Parcel::full(0)]);
    }
}
