//! The same runs inside a kernel that is a program, and whose clock advances only while all in it wait.

use engine::{Engine, Failure, Job, Watch};
use scenario::Plan;

use crate::datagrams;
use crate::fidelity::Fidelity;
use crate::host::system;
use crate::run::{Live, Outcome};

/// Runs plans on the TCP of such a kernel.
pub struct VirtualTime(pub Live);

impl Engine for VirtualTime {
    const KIND: &'static str = "uml";
    type Notes = Fidelity;

    fn check(&self, plan: &Plan) -> Result<(), Failure> {
        if let Some(flow) = plan.flows.iter().find(|flow| datagrams::are_of(flow)) {
            let message = "runs in real time or simulated, but not in a kernel in virtual time";
            return Err(Failure::Refused(format!("flow `{}`: a flow of datagrams {message}", flow.name())));
        }
        self.0.check(plan)
    }

    fn run(self, job: &Job, watch: &Watch) -> Result<Outcome, Failure> {
        system::enter_virtual_time().map_err(|error| Failure::Machine(error.to_string()))?;
        self.0.run(job, watch)
    }
}
