//! Controllers in the kernel: loading, naming, parameters, probes.

use std::collections::BTreeMap;
use std::ffi::OsString;

use control::stacks::LINUX;
use control::{ControllerRef, LONGEST_NAME, Parameters, declared_name, registry};
use libbpf_rs::btf::Btf;
use libbpf_rs::btf::types::{MemberAttr, Struct};
use libbpf_rs::{ErrorKind, Link, MapCore, MapFlags, MapType, Object, ObjectBuilder, OpenObject};
use serde_json::Value;
use units::Span;

use crate::error::{LoadError, refused};
use crate::layout::{Slot, probe_names, variables};
use crate::ring::{Fields, drain};
use crate::{messages, object, requirements};

/// The longest name for `TCP_CONGESTION`, with its final zero.
const NAME_SIZE: usize = LONGEST_NAME + 1;

/// BPF_F_LINK: a link holds the controller, also where the file has the older section `.struct_ops`.
const LINKED: u32 = 1 << 13;

/// More controllers of one name than this are a mistake.
const MOST_INSTANCES: u32 = 999;

/// Controllers that can be loaded into the kernel.
#[derive(Debug)]
pub struct Congestion;

impl Congestion {
    /// Loads `controller`, one of [`crate::BUILT_IN`] or a source in C, with `parameters`, the rest at their defaults.
    /// It is registered as `ack_name`, or with a number at the end: `instance`, if that is above 1, or the next one
    /// that is free.
    ///
    /// # Errors
    /// One sentence: the missing part of the machine, the wrong parameter, the compiler's first error, or the
    /// verifier's refusal.
    pub fn load(controller: &ControllerRef, parameters: &Parameters, instance: u32) -> Result<Loaded, LoadError> {
        let bytes = object::find(controller)?;
        let name = &*controller.spelling();
        requirements::check()?;
        // The ranges of the simulator's controller of that name hold.
        if let ControllerRef::Registered(name) = controller {
            registry::find(name)?.build_for(LINUX, parameters)?;
        }
        messages::keep();
        let taken = std::fs::read_to_string("/proc/sys/net/ipv4/tcp_available_congestion_control").unwrap_or_default();
        for instance in instance.max(1)..=MOST_INSTANCES {
            let mut opened = Opened::new(name, &bytes)?;
            let called = numbered(&opened.name()?, instance);
            if taken.split_whitespace().any(|one| one == called) {
                continue;
            }
            opened.rename(&called)?;
            opened.set_parameters(parameters)?;
            if let Some(loaded) = opened.load(called)? {
                return Ok(loaded);
            }
        }
        Err(LoadError::Refused(format!("`{name}` is loaded into the kernel {MOST_INSTANCES} times already")))
    }
}

/// `name`, for the second instance on with the number at its end, within the kernel's limit.
fn numbered(name: &str, instance: u32) -> String {
    let suffix = if instance > 1 { format!("_{instance}") } else { String::new() };
    let room = NAME_SIZE - 1 - suffix.len();
    name.chars().take(room).chain(suffix.chars()).collect()
}

/// An object before it is loaded.
struct Opened<'a> {
    controller: &'a str,
    object: OpenObject,
    types: Btf<'a>,
    /// The name of the map with its callbacks.
    callbacks: OsString,
}

impl<'a> Opened<'a> {
    fn new(controller: &'a str, bytes: &'a [u8]) -> Result<Self, LoadError> {
        let failed = format!("`{controller}` is no BPF object that can be opened");
        let object = ObjectBuilder::default().open_memory(bytes).map_err(refused(&failed))?;
        let types = Btf::from_raw("controller", bytes).map_err(refused(&failed))?;
        let types =
            types.ok_or_else(|| LoadError::Refused(format!("`{controller}` has no types: compile it with -g")))?;
        let mut opened = Self { controller, object, types, callbacks: OsString::new() };
        opened.callbacks = opened.find_callbacks()?;
        Ok(opened)
    }

    /// The place of a member among the callbacks.
    fn place(&self, name: &str) -> Result<usize, LoadError> {
        let callbacks = self.types.type_by_name::<Struct<'_>>("tcp_congestion_ops").ok_or_else(|| self.none())?;
        let member = callbacks.iter().find(|m| m.name.is_some_and(|known| known == name)).ok_or_else(|| self.none())?;
        let MemberAttr::Normal { offset } = member.attr else { return Err(self.none()) };
        Ok(offset as usize / 8)
    }

    fn none(&self) -> LoadError {
        LoadError::Refused(format!("`{}` has no controller: no CONTROLLER(...) or struct_ops", self.controller))
    }

    /// The map of the controller: of several the first that is complete, as tests of the kernel have others beside it.
    fn find_callbacks(&self) -> Result<OsString, LoadError> {
        let needed = [self.place("ssthresh")?, self.place("undo_cwnd")?];
        let is_set = |all: &[u8], at: usize| all.get(at..at + 8).is_some_and(|pointer| pointer != [0; 8]);
        let maps: Vec<_> = self.object.maps().filter(|map| map.map_type() == MapType::StructOps).collect();
        let complete =
            maps.iter().find(|map| map.initial_value().is_some_and(|all| needed.iter().all(|&at| is_set(all, at))));
        complete.or(maps.first()).map(|map| map.name().to_owned()).ok_or_else(|| self.none())
    }

    /// Does `change` to the bytes of the name in the callbacks.
    fn with_name<T>(&mut self, change: impl FnOnce(&mut [u8]) -> T) -> Result<T, LoadError> {
        let (at, none) = (self.place("name")?, self.none());
        let mut map = self.object.maps_mut().find(|map| map.name() == self.callbacks);
        let all = map.as_mut().and_then(|map| map.initial_value_mut());
        let bytes = all.and_then(|all| all.get_mut(at..at + NAME_SIZE)).ok_or(none)?;
        Ok(change(bytes))
    }

    fn name(&mut self) -> Result<String, LoadError> {
        let name = self.with_name(|bytes| bytes.iter().take_while(|&&b| b != 0).copied().collect::<Vec<_>>())?;
        declared_name(&name).map_err(|why| LoadError::Refused(format!("`{}`: {why}", self.controller)))
    }

    fn rename(&mut self, to: &str) -> Result<(), LoadError> {
        self.with_name(|bytes| {
            bytes.fill(0);
            bytes[..to.len()].copy_from_slice(to.as_bytes());
        })
    }

    fn set_parameters(&mut self, given: &Parameters) -> Result<(), LoadError> {
        let slots = variables(&self.types, ".data");
        if given.is_empty() {
            return Ok(());
        }
        let Some(mut map) = self.object.maps_mut().find(|map| is_parameters(&map.name().to_string_lossy())) else {
            return Err(unknown(self.controller, &slots, given.keys().next().map_or("", String::as_str)));
        };
        write_all(self.controller, &slots, given, map.initial_value_mut().unwrap_or_default())
    }

    /// Loads and registers, or `None` if the name was taken meanwhile.
    fn load(mut self, called: String) -> Result<Option<Loaded>, LoadError> {
        let none = self.none();
        if let Some(mut map) = self.object.maps_mut().find(|map| map.name() == self.callbacks) {
            let flags = map.map_flags() | LINKED;
            map.set_map_flags(flags).map_err(refused("the flags of a map cannot be set"))?;
        }
        let Self { controller, object, types, callbacks } = self;
        let (slots, probes) = (variables(&types, ".data"), probe_names(&types));
        let mut object = object.load().map_err(|error| {
            LoadError::Refused(format!("the kernel refuses `{controller}`: {}", messages::why(&error)))
        })?;
        let link = object.maps_mut().find(|map| map.name() == callbacks).map(|mut map| map.attach_struct_ops());
        match link {
            Some(Ok(link)) => {
                let controller = controller.to_string();
                Ok(Some(Loaded { link, object, name: called, controller, slots, probes }))
            }
            Some(Err(error)) if error.kind() == ErrorKind::AlreadyExists => Ok(None),
            Some(Err(error)) => {
                Err(LoadError::Refused(format!("the kernel does not register `{controller}`: {error:#}")))
            }
            None => Err(none),
        }
    }
}

fn unknown(controller: &str, slots: &[Slot], name: &str) -> LoadError {
    let known: Vec<String> = slots.iter().map(|slot| format!("`{}`", slot.name)).collect();
    LoadError::Refused(if known.is_empty() {
        format!("`{controller}` has no parameters in the kernel, so `{name}` cannot be set")
    } else {
        format!("`{controller}` has no parameter `{name}` in the kernel (there are {})", known.join(", "))
    })
}

/// True if the map `name` is the section of the parameters. Before it, libbpf puts the object's name.
pub(crate) fn is_parameters(name: &str) -> bool {
    name.ends_with(".data")
}

/// Puts the parameters `given` into `data`, the section.
fn write_all(controller: &str, slots: &[Slot], given: &Parameters, data: &mut [u8]) -> Result<(), LoadError> {
    given.iter().try_for_each(|(name, value)| {
        let slot = slots.iter().find(|slot| slot.name == *name).ok_or_else(|| unknown(controller, slots, name))?;
        slot.write(controller, value, data)
    })
}

/// Sets the parameters `given` in `map`, the section of the parameters, for the flows that run and those to come: all
/// or none.
pub(crate) fn set_in(map: &dyn MapCore, controller: &str, slots: &[Slot], given: &Parameters) -> Result<(), LoadError> {
    let mut data = read_section(map)?;
    write_all(controller, slots, given, &mut data)?;
    map.update(&0u32.to_ne_bytes(), &data, MapFlags::ANY)
        .map_err(refused(format!("parameters of `{controller}` cannot be set")))
}

/// The values of `slots` in `map`.
pub(crate) fn values_in(map: &dyn MapCore, slots: &[Slot]) -> Result<BTreeMap<String, Value>, LoadError> {
    let data = read_section(map)?;
    Ok(slots.iter().filter_map(|slot| Some((slot.name.clone(), slot.read(&data)?))).collect())
}

pub(crate) fn read_section(map: &dyn MapCore) -> Result<Vec<u8>, LoadError> {
    let data =
        map.lookup(&0u32.to_ne_bytes(), MapFlags::ANY).map_err(refused("parameters cannot be read from the kernel"))?;
    data.ok_or_else(|| LoadError::Refused("the kernel has no parameters of this controller".into()))
}

/// On which ACKs a connection shows its probes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProbeTurns {
    /// At least this far apart.
    Every(Span),
    /// Every n-th, from the first on. 1 is each.
    Acks(u32),
}

/// One value that a controller showed.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Probe<'a> {
    /// Microseconds on CLOCK_MONOTONIC.
    pub time_us: u64,
    /// The network namespace of the connection (see [`crate::namespace_cookie`]).
    pub net_cookie: u64,
    /// The sender's port.
    pub local_port: u16,
    /// The receiver's port.
    pub remote_port: u16,
    /// Its name, as in the simulator.
    pub name: &'a str,
    /// Its value, in the unit that it has in the simulator.
    pub value: f64,
}

/// A controller in the kernel. When this is dropped its name vanishes. Connections that use it keep it until they are
/// closed.
#[derive(Debug)]
pub struct Loaded {
    // Goes before the object.
    link: Link,
    object: Object,
    name: String,
    controller: String,
    slots: Vec<Slot>,
    probes: Vec<String>,
}

impl Loaded {
    /// The name for the socket option `TCP_CONGESTION`.
    pub fn name(&self) -> &str {
        &self.name
    }

    /// The spelling of the controller that [`Congestion::load`] was given.
    pub fn controller(&self) -> &str {
        &self.controller
    }

    /// Sets a parameter while flows run.
    ///
    /// # Errors
    /// The sentence for a parameter that is unknown or out of range.
    pub fn set(&self, name: &str, value: &Value) -> Result<(), LoadError> {
        let given = Parameters::from([(name.to_string(), value.clone())]);
        if let Ok(entry) = registry::find(&self.controller) {
            entry.build_for(LINUX, &given)?;
        }
        set_in(&self.map(".data", is_parameters)?, &self.controller, &self.slots, &given)
    }

    /// The parameters as they are now.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn parameters(&self) -> Result<BTreeMap<String, Value>, LoadError> {
        if self.slots.is_empty() {
            return Ok(BTreeMap::new());
        }
        values_in(&self.map(".data", is_parameters)?, &self.slots)
    }

    /// The names of the probes that this controller shows.
    pub fn probe_names(&self) -> &[String] {
        &self.probes
    }

    /// Asks for probes of each connection. Without this there are none.
    ///
    /// # Errors
    /// The kernel does not take it.
    pub fn show_probes(&self, turns: ProbeTurns) -> Result<(), LoadError> {
        if self.probes.is_empty() {
            return Ok(());
        }
        let map = self.map(".data.probe", |name| name.ends_with(".data.probe"))?;
        let mut data = read_section(&map)?;
        let (interval, acks) = match turns {
            ProbeTurns::Every(interval) => (interval.as_nanos(), 0),
            ProbeTurns::Acks(acks) => (0, u64::from(acks)),
        };
        for (place, number) in data.chunks_exact_mut(8).zip([interval, acks]) {
            place.copy_from_slice(&number.to_ne_bytes());
        }
        map.update(&0u32.to_ne_bytes(), &data, MapFlags::ANY).map_err(refused("probes cannot be asked for"))
    }

    /// Hands the probes since the last call to `take`, oldest first.
    ///
    /// # Errors
    /// The kernel's ring buffer cannot be read.
    pub fn probes(&self, mut take: impl FnMut(Probe<'_>)) -> Result<(), LoadError> {
        if self.probes.is_empty() {
            return Ok(());
        }
        let map = self.map("probes", |name| name == "probes")?;
        drain(&map, |record| {
            let _ = self.read_probes(record, &mut take);
        })
    }

    /// `None` if the record ends early.
    fn read_probes(&self, record: &[u8], take: &mut impl FnMut(Probe<'_>)) -> Option<()> {
        let mut fields = Fields(record);
        let (time_us, net_cookie) = (fields.u64()?, fields.u64()?);
        let (local_port, remote_port) = (fields.u16()?, fields.u16()?);
        let _count = fields.u32()?;
        for name in &self.probes {
            let (value, divisor) = (fields.i64()?, fields.u64()?);
            let value = value as f64 / divisor as f64;
            take(Probe { time_us, net_cookie, local_port, remote_port, name, value });
        }
        Some(())
    }

    /// Records of probes that found no room, since the start.
    ///
    /// # Errors
    /// The kernel does not answer.
    pub fn probes_missed(&self) -> Result<u64, LoadError> {
        if self.probes.is_empty() {
            return Ok(0);
        }
        let data = read_section(&self.map(".data.probe", |name| name.ends_with(".data.probe"))?)?;
        Ok(data.get(16..24).and_then(|bytes| bytes.try_into().ok()).map_or(0, u64::from_ne_bytes))
    }

    pub(crate) fn link_mut(&mut self) -> &mut Link {
        &mut self.link
    }

    pub(crate) fn object_mut(&mut self) -> &mut Object {
        &mut self.object
    }

    fn map(&self, what: &str, is: impl Fn(&str) -> bool) -> Result<libbpf_rs::Map<'_>, LoadError> {
        let found = self.object.maps().find(|map| is(&map.name().to_string_lossy()));
        found.ok_or_else(|| LoadError::Refused(format!("`{}` has no {what}", self.controller)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_number_of_an_instance_fits_the_fifteen_characters_of_the_kernel() {
        assert_eq!(numbered("ack_cdg", 1), "ack_cdg");
        assert_eq!(numbered("ack_cdg", 2), "ack_cdg_2");
        assert_eq!(numbered("ack_newreno", 123), "ack_newreno_123");
        assert_eq!(numbered("ack_fifteen_cha", 12), "ack_fifteen__12");
    }
}
