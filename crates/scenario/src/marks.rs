//! Controllers that need marks, on a transport that does not report each.

use control::{ControllerRef, registry};
use transport::EcnMode;

use crate::plan::PlannedFlow;

/// Warnings of flows whose controllers answer to marks one by one and do not hear of each: a sentence a controller.
pub(crate) fn unheard_marks(flows: &[PlannedFlow]) -> Vec<String> {
    let mut warnings = Vec::new();
    for flow in flows {
        let (ControllerRef::Registered(name), ecn) = (&flow.cc, flow.options.ecn()) else { continue };
        if ecn == EcnMode::Accurate {
            continue;
        }
        let needs_marks = registry::build(name, &flow.parameters).is_ok_and(|built| built.wants().needs_marks);
        let hears = match ecn {
            EcnMode::Off => "`transport.ecn` is false, so that nothing is marked and it answers to losses alone",
            _ => "`transport.ecn` is true, so that one mark is echoed for a whole round trip",
        };
        let warning = format!("`{}`: `{name}` needs to hear of each mark, but {hears}: write \"accurate\"", flow.name);
        if needs_marks && !warnings.iter().any(|(known, _)| known == name) {
            warnings.push((*name, warning));
        }
    }
    warnings.into_iter().map(|(_, warning)| warning).collect()
}
