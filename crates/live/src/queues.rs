//! Queues of a plan that the kernel's queue disciplines can be, in the words of `tc`.

use network::{CakeSettings, DisciplineSettings, QueueSettings, Service};
use scenario::PlannedLink;
use units::tc;

/// The source of the queues of a run.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub enum Queues {
    /// All are the simulator's.
    #[default]
    Simulated,
    /// Those with a discipline that the kernel has are the kernel's; all others, first in, first out among them, the
    /// simulator's. These are the kernel's disciplines by their names in `tc`.
    WhereOffered(Vec<String>),
    /// All are the kernel's, with the disciplines that it has.
    Kernel(Vec<String>),
}

/// A queue of the kernel.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct KernelDiscipline {
    /// The discipline with its settings, as `tc` spells them.
    pub(crate) words: Vec<String>,
    /// Its own shaper has the rate of the link; otherwise a token bucket before it has.
    pub(crate) shapes: bool,
    /// Flows have queues of their own, and may overtake each other.
    pub(crate) fair: bool,
    /// It drops arrivals without a word to the sender.
    pub(crate) silent: bool,
}

impl Queues {
    /// The kernel's discipline for the queue of `link`; `None` where the simulator's is taken.
    ///
    /// # Errors
    /// The kernel's is asked for and cannot be had: a sentence about the link.
    pub(crate) fn of(&self, link: &PlannedLink) -> Result<Option<KernelDiscipline>, String> {
        let (offered, all) = match self {
            Self::Simulated => return Ok(None),
            Self::WhereOffered(offered) => (offered, false),
            Self::Kernel(offered) => (offered, true),
        };
        let wanted = all || link.settings.queue.discipline != DisciplineSettings::Fifo;
        // A link without a rate has no queue.
        if !wanted || link.settings.service == Service::Unlimited {
            return Ok(None);
        }
        match discipline(link, offered) {
            Ok(found) => Ok(Some(found)),
            Err(_) if !all => Ok(None),
            Err(why) => Err(format!("link `{}`: the kernel's queues cannot be its queue: {why}", link.name)),
        }
    }
}

/// The kernel's discipline that is the queue of `link`.
fn discipline(link: &PlannedLink, offered: &[String]) -> Result<KernelDiscipline, String> {
    let QueueSettings { limit, count_in_service, mark_above, discipline, framing } = &link.settings.queue;
    let Service::Fixed(rate) = link.settings.service else {
        return Err("they serve at a constant rate only".to_owned());
    };
    if !link.limits.is_empty() || link.held.is_some() {
        return Err("`tc` has no steps of a limit and no `count_delayed`".to_owned());
    }
    if *count_in_service || mark_above.is_some() {
        let key = if *count_in_service { "count_in_service" } else { "mark_above" };
        return Err(format!("`tc` has no `{key}`"));
    }
    let mut settings = *discipline;
    match &mut settings {
        DisciplineSettings::Red(red) => red.bandwidth = red.bandwidth.or(Some(rate)),
        DisciplineSettings::DualPi2(_) => {
            return Err("its discipline is not among those that a run can have".to_owned());
        }
        DisciplineSettings::Cake(cake) if framing.if_any().is_some() => {
            (cake.overhead, cake.mpu, cake.link_layer) = (framing.overhead, framing.mpu, framing.link_layer);
        }
        _ if framing.if_any().is_some() => {
            return Err("the token bucket before it has no `framing`; `cake` has".to_owned());
        }
        _ => {}
    }
    let mut words = settings.tc_words(*limit)?;
    if let DisciplineSettings::Cake(cake) = &settings {
        check_cake(cake)?;
        words.splice(1..1, ["bandwidth".to_owned(), tc::spelled_rate(rate)]);
    }
    let name = words[0].as_str();
    if !matches!(name, "pfifo" | "bfifo") && !offered.iter().any(|one| one == name) {
        return Err(format!("this kernel has no discipline `{name}`"));
    }
    Ok(KernelDiscipline {
        shapes: name == "cake",
        fair: matches!(name, "cake" | "fq_codel" | "fq_pie"),
        silent: name == "red",
        words,
    })
}

/// Refuses settings of CAKE that need more than it is shown: copies of packets reach it with the addresses of one pair
/// of hosts, without code points and ACK numbers.
fn check_cake(cake: &CakeSettings) -> Result<(), String> {
    for (key, name, usual) in [
        ("isolation", cake.isolation.name(), "flows"),
        ("diffserv", cake.diffserv.name(), "besteffort"),
        ("ack_filter", cake.ack_filter.name(), "no-ack-filter"),
    ] {
        if name != usual {
            return Err(format!("it sees no hosts, code points and ACK numbers, and `{key}` is `{name}`"));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    fn of(queue: &str, queues: &Queues) -> Result<Option<String>, String> {
        let toml =
            format!("duration = \"1s\"\npath = {{ rtt = \"20ms\", {queue} }}\nflows = [{{ cc = \"newreno\" }}]\n");
        let plan = scenario::from_toml(&toml, "test.toml").unwrap().plan(&scenario::NoFiles).unwrap();
        let found = queues.of(&plan.links[plan.bottleneck.unwrap()])?;
        Ok(found.map(|found| found.words.join(" ")))
    }

    fn offered() -> Vec<String> {
        ["cake", "codel", "fq_codel", "fq_pie", "pie", "red"].map(str::to_owned).to_vec()
    }

    fn words(queue: &str) -> String {
        let queue = format!("rate = \"10mbit\", queue = {queue}");
        of(&queue, &Queues::Kernel(offered())).unwrap().unwrap()
    }

    #[test]
    fn every_discipline_is_spelled_as_tc_does() {
        assert_eq!(words("\"50p\""), "pfifo limit 50");
        assert_eq!(words("\"30kB\""), "bfifo limit 30000");
        assert_eq!(words("{ discipline = \"codel\" }"), "codel limit 1000 target 5000us interval 100000us noecn");
        assert_eq!(
            words("{ discipline = \"pie\", limit = \"200p\", ecn = true, tupdate = \"20ms\" }"),
            "pie limit 200 target 15000us tupdate 20000us alpha 2 beta 20 ecn nobytemode"
        );
        assert_eq!(
            words("{ discipline = \"fq_codel\", ce_threshold = \"1ms\" }"),
            "fq_codel limit 10240 flows 1024 quantum 1500 target 5000us interval 100000us memory_limit 33554432 \
             drop_batch 64 ce_threshold 1000us ecn"
        );
        assert_eq!(
            words("{ discipline = \"fq_pie\" }"),
            "fq_pie limit 10240 flows 1024 target 15000us tupdate 15000us alpha 2 beta 20 quantum 1500 memory_limit \
             33554432 ecn_prob 10 noecn nobytemode"
        );
        assert_eq!(
            words(
                "{ limit = \"400kB\", discipline = \"red\", min = \"15kB\", max = \"45kB\", burst = 17, ecn = true }"
            ),
            "red limit 400000 min 15000 max 45000 avpkt 1000 burst 17 bandwidth 10000000bit probability 0.02 ecn"
        );
        assert_eq!(
            words("{ discipline = \"cake\" }"),
            "cake bandwidth 10000000bit besteffort flows overhead 0 rtt 100000us"
        );
        // The shaper of `cake` frames packets of the line.
        assert_eq!(
            words("{ discipline = \"cake\" }, framing = \"pppoe-vcmux\""),
            "cake bandwidth 10000000bit besteffort flows overhead 32 atm rtt 100000us"
        );
    }

    #[test]
    fn the_kernel_has_a_queue_where_tc_offers_its_discipline() {
        let where_offered = Queues::WhereOffered(offered());
        let simulated = |queue: &str| of(queue, &where_offered).unwrap().is_none();
        assert!(!simulated("rate = \"10mbit\", queue = { discipline = \"codel\" }"));
        assert!(simulated("rate = \"10mbit\", queue = \"50p\""));
        assert!(simulated("rate = \"10mbit\", queue = { discipline = \"avq\", limit = \"99p\" }"));
        assert!(simulated("rate = \"10mbit\", queue = { discipline = \"codel\", limit = \"50ms\" }"));
        assert_eq!(of("rate = \"10mbit\", queue = { discipline = \"codel\" }", &Queues::Simulated), Ok(None));
    }

    #[test]
    fn a_queue_that_the_kernel_cannot_be_is_refused_by_its_link() {
        let refused = |queue: &str, offered| {
            of(&format!("rate = \"10mbit\", queue = {queue}"), &Queues::Kernel(offered)).unwrap_err()
        };
        for (queue, why) in [
            ("{ discipline = \"avq\", limit = \"99p\" }", "not among those of `tc`"),
            ("{ discipline = \"codel\", limit = \"30kB\" }", "its limit in `tc` is one in packets"),
            ("{ discipline = \"red\", limit = \"30p\" }", "its limit in `tc` is one in bytes"),
            ("{ discipline = \"red\", limit = \"30kB\", gentle = true }", "`tc` has no `gentle`"),
            ("{ discipline = \"cake\", limit = \"30p\" }", "by `memlimit` alone"),
            ("{ discipline = \"cake\", diffserv = \"diffserv4\" }", "`diffserv` is `diffserv4`"),
            ("{ discipline = \"cake\", ack_filter = \"ack-filter\" }", "`ack_filter` is `ack-filter`"),
            ("{ limit = \"30p\", mark_above = \"5p\" }", "`tc` has no `mark_above`"),
            ("{ limit = \"30p\", count_in_service = true }", "`tc` has no `count_in_service`"),
            ("\"30p\", framing = \"docsis\"", "the token bucket before it has no `framing`; `cake` has"),
        ] {
            let sentence = refused(queue, offered());
            assert!(sentence.starts_with("link `bottleneck`: the kernel's queues cannot be its queue"), "{sentence}");
            assert!(sentence.contains(why), "{sentence}");
        }
        assert!(refused("{ discipline = \"pie\" }", Vec::new()).contains("this kernel has no discipline `pie`"));
        let steps = "rate = [[\"0s\", \"10mbit\"], [\"1s\", \"5mbit\"]], queue = \"50p\"";
        assert!(of(steps, &Queues::Kernel(offered())).unwrap_err().contains("constant rate only"));
    }
}
