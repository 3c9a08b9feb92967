//! The sysctls of Linux: live runs write them, packet scripts read them, and a page lists them. Those that set an
//! option are declared beside it, all others in `others.rs`.

mod forms;
mod others;

use std::collections::BTreeMap;

use serde::Serialize;
use transport::{Buffer, Stack};

use super::TransportOptions;
use super::effect::{by_name, check_relations};
use crate::language::Overrides;

pub(super) use forms::{
    Declared, ECN, MODES, PROBES, SWITCH, SetsOption, buffer, compressed, divisor, number, time, words,
};
use others::OTHERS;

/// Where the settings of TCP are.
const FOLDER: &str = "net.ipv4.";

/// Declares the options of a connection, each once: its key, its type, and the sysctls of Linux that set it.
///
/// ```text
/// options! {
///     /// The options of one connection.
///     pub struct Options;
///     /// An option without a sysctl
///     pub initial_window: u32,
///     /// An option that a sysctl sets
///     pub sack: bool => [words("tcp_sack", SWITCH)],
/// }
/// ```
macro_rules! options {
    (
        $(#[$about:meta])*
        pub struct $options:ident;
        $(
            $(#[$meaning:meta])+
            pub $field:ident: $kind:ty $(where from $least:expr, to $most:expr)? $(=> [$($form:expr),+])?,
        )+
    ) => {
        $(#[$about])*
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize, schemars::JsonSchema)]
        #[serde(deny_unknown_fields, rename_all = "snake_case")]
        #[schemars(transform = Self::describe_bounds)]
        pub struct $options {$(
            $(#[$meaning])+
            pub $field: $kind,
        )+}

        units::bounds! {
            $options {$($(
                $field: $kind = $least, $most;
            )?)+}
        }

        impl $options {
            /// The sysctls that set an option, in the order of the options.
            pub(in crate::transport_options) const SYSCTLS: &[&dyn sysctls::SetsOption] = &[$($($(
                &sysctls::Declared::<$kind> {
                    option: stringify!($field),
                    form: $form,
                    of: |options| &options.$field,
                    of_mut: |options| &mut options.$field,
                },
            )+)?)+];
        }
    };
}
pub(super) use options;

/// A sysctl as a page lists it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Sysctl {
    /// Its name, as `net.ipv4.tcp_sack` or, of a module's parameter, `tcp_cubic.hystart_detect`.
    pub name: String,
    /// The option that it sets, if it sets one.
    pub option: Option<&'static str>,
    /// The values that a packet script may give it.
    pub takes: String,
    /// Why other values are refused, or why it has no effect; of an option its table says it.
    pub why: Option<&'static str>,
    /// The value that live runs give it, if they set it: with the options of profile `linux`.
    pub live: Option<String>,
}

/// The meaning of a list of sysctls for one endpoint.
#[derive(Clone, Debug, Default, PartialEq, Serialize)]
pub struct Configured {
    /// The options that they set, of those that have an effect beside each other.
    pub transport: Overrides,
    /// The controller of its sockets, by the name of the kernel.
    pub controller: Option<String>,
    /// The shift of the windows that it announces.
    pub window_scale: Option<u8>,
    /// The number of `tcp_ecn`: it says whether a SYN asks for ECN, and for which.
    pub ecn: Option<u8>,
    /// The last one acts, so that it must come before the first socket.
    pub acts: bool,
}

/// Every sysctl that is known.
pub fn sysctls() -> Vec<Sysctl> {
    let linux = TransportOptions::of(&transport::linux());
    let live: BTreeMap<_, _> = linux.sysctls().unwrap_or_default().into_iter().collect();
    let with_value = |name: &str| live.get(name).cloned();
    let options = TransportOptions::SYSCTLS.iter().map(|declared| Sysctl {
        name: format!("{FOLDER}{}", declared.name()),
        option: Some(declared.option()),
        takes: declared.takes(),
        why: None,
        live: with_value(declared.name()),
    });
    let others = OTHERS.iter().map(|other| {
        let (takes, why) = other.role.described();
        Sysctl { name: other.full_name(), option: None, takes, why: Some(why), live: with_value(other.name) }
    });
    options.chain(others).collect()
}

impl TransportOptions {
    /// The sysctls that make the TCP of Linux follow these options, by their names below `net.ipv4`. Options that no
    /// sysctl sets are left out.
    ///
    /// # Errors
    /// The name of an option whose value cannot be had beside the others.
    pub fn sysctls(&self) -> Result<Vec<(&'static str, String)>, &'static str> {
        let mut all: Vec<(&'static str, String)> = Vec::new();
        for declared in Self::SYSCTLS {
            let Some(value) = declared.write(self) else { continue };
            match all.iter().find(|(name, _)| *name == declared.name()) {
                Some((_, other)) if *other != value => return Err(declared.option()),
                Some(_) => {}
                None => all.push((declared.name(), value)),
            }
        }
        let others = OTHERS.iter().filter_map(|other| Some((other.name, other.live?.to_owned())));
        all.extend(others);
        Ok(all)
    }

    /// The options that sysctls set, in the order of the declaration.
    pub fn set_by_sysctls() -> impl Iterator<Item = &'static str> {
        Self::SYSCTLS.iter().map(|declared| declared.option())
    }

    /// These options where a sysctl that live runs write sets them, and all others of `kernel`.
    #[must_use]
    pub fn by_sysctls(&self, kernel: &Self) -> Self {
        let mut options = kernel.clone();
        for declared in Self::SYSCTLS {
            declared.copy(self, &mut options);
        }
        options
    }
}

/// The meaning of `settings`, names and values in their order, for an endpoint with the stack `profile`.
///
/// # Errors
/// Why the last one that is refused cannot be simulated.
pub fn configure(profile: &Stack, settings: &[(String, String)]) -> Result<Configured, String> {
    // A host has a receive buffer, which opens its window and makes ACKs quick. Its application waits for room to send.
    let mut given = TransportOptions { receive_buffer: profile.buffers.usual.receive, ..TransportOptions::of(profile) };
    let mut configured = Configured::default();
    let mut set = vec!["receive_buffer"];
    for (name, value) in settings {
        let short = name.strip_prefix(FOLDER).unwrap_or_default();
        let refuse = |why: String| format!("the sysctl {name}={value} is not modelled: {why}");
        let mut known = false;
        configured.acts = false;
        for declared in TransportOptions::SYSCTLS.iter().filter(|declared| declared.name() == short) {
            declared.read(value, &mut given).map_err(refuse)?;
            given.out_of_bounds().map_err(|(option, why)| refuse(format!("{option} {why}")))?;
            check_relations(declared.option(), &given).map_err(|why| refuse(format!("{} {why}", declared.option())))?;
            set.push(declared.option());
            (known, configured.acts) = (true, true);
        }
        if short == ECN {
            configured.ecn = value.parse().ok();
        }
        if let Some(other) = OTHERS.iter().find(|other| other.full_name() == *name) {
            configured.acts = other.role.read(value, &mut configured).map_err(refuse)?;
            known = true;
        }
        if !known {
            return Err(format!("the sysctl {name}={value} is not modelled"));
        }
    }
    // An option that another one rules out is none: without SACK the kernel has no probes, whatever it is set to.
    configured.window_scale = window_scale(given.receive_buffer);
    let (used, given) = (by_name(&TransportOptions::of(&given.stack(profile))), by_name(&given));
    let in_use = set.into_iter().filter(|option| used[*option] == given[*option]);
    configured.transport = in_use.map(|option| (option.to_owned(), given[option].clone())).collect();
    Ok(configured)
}

/// The shift of windows for the largest receive buffer (tcp_select_initial_window), if there is one.
fn window_scale(buffer: Buffer) -> Option<u8> {
    let largest = match buffer {
        Buffer::Unlimited => return None,
        Buffer::Fixed(bytes) => bytes.get() * 2,
        Buffer::Tuned { most, .. } => most.get(),
    };
    // The binary logarithm less 15: 15 MiB are 2^23.9 bytes, and the shift is 8.
    let bits = u64::BITS - largest.leading_zeros();
    Some(bits.saturating_sub(16).min(14) as u8)
}
