//! What hosts do besides sending data and acknowledging it: data leave the other way, windows change, an application
//! writes and reads when it likes. Each thing happens at random, and none keeps data from arriving.

use units::{Random, Span};

use super::World;

/// How the hosts of a world talk.
pub(in crate::tcp::sender) struct Talk {
    random: Random,
    /// The application reads segments below this one.
    edge: u64,
    /// Segments that an interactive application has written.
    written: u64,
}

impl Talk {
    pub(in crate::tcp::sender) fn new(seed: u64) -> Self {
        Self { random: Random::stream(seed, "talk", 0), edge: 40, written: 0 }
    }

    /// A whole number from 1 to `most`.
    fn number(&mut self, most: u32) -> u32 {
        1 + (self.random.uniform() * f64::from(most)) as u32
    }
}

impl World {
    /// The hosts talk from the start on.
    pub(in crate::tcp::sender) fn talking(mut self, talk: Talk) -> Self {
        self.receiver.open_to(talk.edge);
        if self.stack.receive_window.is_multiple_of(2) {
            self.sender.probe_window();
        }
        self.talk = Some(talk);
        self.write_and_read();
        self
    }

    /// The hosts do something else, or nothing.
    pub(super) fn talk(&mut self) {
        let Some(mut talk) = self.talk.take() else { return };
        if talk.random.happens(0.4) {
            let window = talk.number(50);
            match talk.number(10) {
                1 => self.receiver.on_acknowledged_with_data(self.now),
                2 => self.receiver.look_at_waiting(self.now),
                3 => self.sender.note_packet(self.now),
                4 => self.sender.note_part(talk.random.happens(0.5)),
                5 => self.sender.note_held(talk.random.happens(0.5)),
                6 => self.receiver.set_window(window.min(self.stack.receive_window)),
                7 => self.sender.note_receive_window(window.min(self.stack.receive_window)),
                8 => self.receiver.repeat(),
                9 => self.receiver.end_quick_acks(),
                _ => {
                    let state = self.sender.state();
                    self.receiver.note_rtt(&self.stack, state.smoothed_rtt, state.timeout);
                }
            }
        }
        let acts = talk.random.happens(0.2);
        self.talk = Some(talk);
        if acts {
            self.write_and_read();
        }
    }

    /// The applications write and read more.
    fn write_and_read(&mut self) {
        let Some(talk) = &mut self.talk else { return };
        talk.written += u64::from(talk.number(30));
        let most = talk.number(60);
        talk.edge = talk.edge.max(self.receiver.delivered_segments() + u64::from(most));
        self.sender.note_written(talk.written);
        self.receiver.open_to(talk.edge);
    }

    /// Nothing is under way and no timer runs: the applications go on after a pause, and an ACK says so.
    pub(super) fn wakes(&mut self) -> bool {
        if self.talk.is_some() {
            self.now += Span::from_millis(200);
            self.write_and_read();
            self.sender.note_held(false);
            self.receiver.repeat();
        }
        self.talk.is_some()
    }
}
