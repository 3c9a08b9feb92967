//! Controllers that need notice of each mark.

use control::{ControllerRef, Parameters, registry};
use network::DisciplineSettings;
use transport::{EcnMode, Marks, Stack};

use crate::plan::{PlannedFlow, PlannedLink};

/// The stack `profile` with the features that `cc` needs: accurate ECN if each mark counts.
pub(crate) fn with_needs(profile: Stack, cc: &ControllerRef, parameters: &Parameters) -> Stack {
    let ControllerRef::Registered(name) = cc else { return profile };
    if !needs_marks(name, parameters) {
        return profile;
    }
    Stack { marks: Marks::Counted { kept: profile.marks.kept() }, ..profile }
}

/// Warnings of flows whose controllers answer to marks one by one and get notice of some or none of them: a sentence
/// for each controller.
pub(crate) fn unnoticed_marks(flows: &[PlannedFlow], links: &[PlannedLink]) -> Vec<String> {
    let mut warnings = Vec::new();
    for flow in flows {
        let ControllerRef::Registered(name) = &flow.cc else { continue };
        let reason = match flow.options.ecn() {
            EcnMode::Accurate if flow.forward.iter().any(|hop| hop.link.is_some_and(|link| may_mark(&links[link]))) => {
                continue;
            }
            EcnMode::Accurate => {
                "no queue on its way marks, so that it answers to losses alone: give one `mark_above` or a discipline"
            }
            EcnMode::Off => {
                "`transport.ecn` is false, so that nothing is marked and it answers to losses alone: leave `ecn` out"
            }
            EcnMode::Classic => {
                "`transport.ecn` is true, so that one mark is echoed for a whole round trip: leave `ecn` out"
            }
        };
        if needs_marks(name, &flow.parameters) && !warnings.iter().any(|(known, _)| known == name) {
            warnings.push((*name, format!("`{}`: `{name}` needs notice of each mark, but {reason}", flow.name())));
        }
    }
    warnings.into_iter().map(|(_, warning)| warning).collect()
}

/// Every discipline can be set to mark. A plain queue does from `mark_above` packets on.
fn may_mark(link: &PlannedLink) -> bool {
    let queue = &link.settings.queue;
    queue.mark_above.is_some() || queue.discipline != DisciplineSettings::Fifo
}

fn needs_marks(name: &str, parameters: &Parameters) -> bool {
    registry::build(name, parameters).is_ok_and(|built| built.wants().needs_marks)
}
