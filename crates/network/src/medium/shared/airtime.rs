//! The airtime that counts for the turns of stations at an access point with airtime fairness.

use super::{ACCESS_POINT, Access, Fate, Medium};
use crate::Packet;
use crate::medium::Attempt;

impl<P: Packet> Medium<P> {
    /// Takes the airtime of `attempt` from the turn of the station that it was for, or that sent it.
    pub(super) fn charge(&mut self, attempt: &Attempt) {
        let Access { station, priority, .. } = self.accesses[attempt.access as usize];
        let station = match attempt.fate {
            _ if station == ACCESS_POINT => attempt.to,
            Fate::Acknowledged => station,
            // The access point does not know whose frames it did not understand.
            Fate::Error | Fate::Collision(_) => return,
        };
        let mut of_access_point = self.accesses.iter_mut().take_while(|access| access.station == ACCESS_POINT);
        if let Some(access) = of_access_point.find(|access| access.priority == priority) {
            access.rooms.charge(station, attempt.airtime());
        }
    }
}
