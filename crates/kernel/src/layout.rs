//! The places of parameters and probes of a controller in its object: read from the types that the compiler leaves
//! there (BTF), which the kernel keeps as well.

use libbpf_rs::btf::types::{DataSec, Enum, Int, IntEncoding, Var};
use libbpf_rs::btf::{Btf, BtfKind};
use serde_json::Value;
use units::Span;

use crate::error::LoadError;

/// The type of a parameter, as `kernel/ack.h` defines it.
#[derive(Clone, Debug, PartialEq)]
pub(crate) enum Type {
    /// `span`: nanoseconds.
    Span,
    /// `real`: in units of 2^-32.
    Real,
    /// An unsigned integer.
    Count,
    /// `bool`.
    Flag,
    /// One of these.
    Choice(Vec<String>),
}

/// One parameter.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Slot {
    pub(crate) name: String,
    offset: usize,
    size: usize,
    kind: Type,
}

/// The variables in section `section`, in the order of their addresses, or none if there is no such section.
pub(crate) fn variables(btf: &Btf<'_>, section: &str) -> Vec<Slot> {
    let Some(data) = btf.type_by_name::<DataSec<'_>>(section) else { return Vec::new() };
    let mut slots: Vec<Slot> = data
        .iter()
        .filter_map(|info| {
            let var = btf.type_by_id::<Var<'_>>(info.ty)?;
            let name = var.name()?.to_str()?.to_string();
            let kind = kind_of(&var, &name)?;
            Some(Slot { name, offset: info.offset as usize, size: info.size, kind })
        })
        .collect();
    slots.sort_by_key(|slot| slot.offset);
    slots
}

fn kind_of(var: &Var<'_>, name: &str) -> Option<Type> {
    let declared = var.next_type()?;
    if declared.kind() == BtfKind::Typedef {
        match declared.name()?.to_str()? {
            "span" => return Some(Type::Span),
            "real" => return Some(Type::Real),
            _ => {}
        }
    }
    let plain = declared.skip_mods_and_typedefs();
    if let Ok(choices) = Enum::try_from(plain) {
        return Some(Type::Choice(members(&choices, &format!("{name}_"))));
    }
    let int = Int::try_from(plain).ok()?;
    Some(if matches!(int.encoding, IntEncoding::Bool) { Type::Flag } else { Type::Count })
}

/// The names of an enumeration without `prefix`, in order.
fn members(of: &Enum<'_>, prefix: &str) -> Vec<String> {
    of.iter().filter_map(|m| Some(m.name?.to_str()?.strip_prefix(prefix)?.to_string())).collect()
}

/// The names of the probes, in the order of their values in a record.
pub(crate) fn probe_names(btf: &Btf<'_>) -> Vec<String> {
    let mut names = btf.type_by_name::<Enum<'_>>("probe_name").map(|e| members(&e, "PROBE_")).unwrap_or_default();
    names.pop(); // PROBE_COUNT
    names
}

impl Slot {
    /// Puts `value`, as a scenario writes it, into `data`, the section.
    ///
    /// # Errors
    /// A sentence that names `controller`, the parameter, the value and the allowed values.
    pub(crate) fn write(&self, controller: &str, value: &Value, data: &mut [u8]) -> Result<(), LoadError> {
        let allowed = match &self.kind {
            Type::Span => "a time such as \"3ms\"".to_string(),
            Type::Real => "a number from 0, below 4294967296".to_string(),
            Type::Count => format!("a whole number from 0 to {}", self.most()),
            Type::Flag => "true or false".to_string(),
            Type::Choice(names) => names.iter().map(|name| name.replace('_', "-")).collect::<Vec<_>>().join(", "),
        };
        let number = self.encode(value).ok_or_else(|| {
            LoadError::Refused(format!(
                "`{controller}`, parameter `{}`: {value} is not allowed (allowed: {allowed})",
                self.name
            ))
        })?;
        let place = data.get_mut(self.offset..self.offset + self.size);
        let bytes = number.to_ne_bytes();
        // The low bytes are the first on the machines that there are: x86-64 and aarch64 are little-endian.
        match place {
            Some(place) if self.size <= bytes.len() => place.copy_from_slice(&bytes[..self.size]),
            _ => {
                return Err(LoadError::Refused(format!(
                    "`{controller}`: parameter `{}` lies outside its section",
                    self.name
                )));
            }
        }
        Ok(())
    }

    /// The largest whole number that it takes.
    fn most(&self) -> u64 {
        if self.size < 4 { (1 << (8 * self.size)) - 1 } else { u64::from(u32::MAX) }
    }

    fn encode(&self, value: &Value) -> Option<u64> {
        const BEYOND: f64 = 4_294_967_296.0;
        match &self.kind {
            Type::Span => value.as_str()?.parse::<Span>().ok().map(Span::as_nanos),
            Type::Real => value.as_f64().filter(|x| (0.0..BEYOND).contains(x)).map(|x| (x * BEYOND).round() as u64),
            Type::Count => value.as_u64().filter(|&x| x <= self.most()),
            Type::Flag => value.as_bool().map(u64::from),
            Type::Choice(names) => {
                let text = value.as_str().map_or_else(|| value.to_string(), |s| s.replace('-', "_"));
                names.iter().position(|name| *name == text).map(|at| at as u64)
            }
        }
    }

    /// The value in `data`, the section, as a scenario writes it.
    pub(crate) fn read(&self, data: &[u8]) -> Option<Value> {
        let place = data.get(self.offset..self.offset + self.size).filter(|place| place.len() <= 8)?;
        let mut bytes = [0; 8];
        bytes[..place.len()].copy_from_slice(place);
        let number = u64::from_ne_bytes(bytes);
        Some(match &self.kind {
            Type::Span => Span::from_nanos(number).to_string().into(),
            // Nine decimals: 0.7 comes back as 0.7.
            Type::Real => (((number as f64 / 4_294_967_296.0) * 1e9).round() / 1e9).into(),
            Type::Count => number.into(),
            Type::Flag => (number != 0).into(),
            Type::Choice(names) => names.get(number as usize)?.replace('_', "-").into(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn slot(kind: Type, size: usize) -> Slot {
        Slot { name: "x".into(), offset: 8, size, kind }
    }

    #[test]
    fn values_are_written_in_the_units_of_the_kernel_and_read_back() {
        let choices = Type::Choice(vec!["1".into(), "2".into(), "in_turns".into()]);
        for (kind, size, given, stored) in [
            (Type::Span, 8, serde_json::json!("3ms"), 3_000_000u64),
            (Type::Real, 8, serde_json::json!(0.75), 3 << 30),
            (Type::Real, 8, serde_json::json!(0.7), 3_006_477_107),
            (Type::Count, 4, serde_json::json!(20), 20),
            (Type::Flag, 1, serde_json::json!(true), 1),
            (choices, 4, serde_json::json!("in-turns"), 2),
        ] {
            let slot = slot(kind, size);
            let mut data = [0; 24];
            slot.write("c", &given, &mut data).unwrap();
            assert_eq!(u64::from_ne_bytes(data[8..16].try_into().unwrap()), stored, "{slot:?}");
            assert_eq!(data[..8], [0; 8]);
            assert_eq!(slot.read(&data), Some(given));
        }
    }

    #[test]
    fn what_is_not_allowed_is_said() {
        let mut data = [0; 24];
        let choice = slot(Type::Choice(vec!["1".into(), "2".into()]), 4);
        assert_eq!(
            choice.write("da", &serde_json::json!(3), &mut data).unwrap_err().to_string(),
            "`da`, parameter `x`: 3 is not allowed (allowed: 1, 2)"
        );
        assert!(slot(Type::Count, 4).write("da", &serde_json::json!(-1), &mut data).is_err());
        assert_eq!(
            slot(Type::Count, 1).write("da", &serde_json::json!(256), &mut data).unwrap_err().to_string(),
            "`da`, parameter `x`: 256 is not allowed (allowed: a whole number from 0 to 255)"
        );
        assert!(slot(Type::Count, 4).write("da", &serde_json::json!(1u64 << 32), &mut data).is_err());
        assert!(slot(Type::Real, 8).write("da", &serde_json::json!(5e9), &mut data).is_err());
        assert!(slot(Type::Span, 8).write("da", &serde_json::json!(3), &mut data).is_err());
        assert_eq!(data, [0; 24]);
    }
}
