//! Stations of a wireless network that do not sense each other: `hidden`.

use std::fmt;

use serde::{Deserialize, Deserializer, Serialize, Serializer, de};

/// The most stations of a network in which some do not sense each other: each has its own view of the medium.
const MOST_STATIONS: usize = 1000;

/// Which stations do not sense each other. All sense the access point, and it senses all.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum HiddenSpec {
    /// `all`: none senses another.
    All,
    /// Lists of stations: stations of one entry do not sense stations of another in the same list. A name with `count`
    /// includes all its copies, which sense each other.
    Lists(Vec<Vec<String>>),
}

impl HiddenSpec {
    /// The pairs among `nodes`, each with the name of the table that it is a copy of. The first is the access point.
    pub(crate) fn pairs(&self, nodes: &[(&str, Option<&str>)]) -> Result<Vec<[u32; 2]>, String> {
        if nodes.len() > MOST_STATIONS + 1 {
            return Err(format!("at most {MOST_STATIONS} stations share a network where some are hidden"));
        }
        let numbered = || (0u32..).zip(nodes);
        let lists = match self {
            Self::All => {
                let stations = numbered().skip(1);
                vec![stations.map(|(station, (name, _))| ((*name).to_owned(), vec![station])).collect::<Vec<_>>()]
            }
            Self::Lists(lists) => {
                let members = |name: &String| {
                    let mine = |(_, (node, table)): &(u32, &(&str, Option<&str>))| node == name || *table == Some(name);
                    (name.clone(), numbered().filter(mine).map(|(station, _)| station).collect::<Vec<u32>>())
                };
                lists.iter().map(|list| list.iter().map(members).collect()).collect()
            }
        };
        let mut pairs = Vec::new();
        for list in &lists {
            if list.len() < 2 && *self != Self::All {
                return Err("each list needs two stations or more that do not sense each other".to_owned());
            }
            for (index, (name, members)) in list.iter().enumerate() {
                match members[..] {
                    [] => return Err(format!("there is no station `{name}`")),
                    [0, ..] => return Err(format!("`{name}` is the access point, which all stations sense")),
                    _ => {}
                }
                for (other, others) in &list[..index] {
                    if members.iter().any(|station| others.contains(station)) {
                        return Err(format!("`{other}` and `{name}` are the same station"));
                    }
                    let pair = |one: &u32| others.iter().map(move |other| [*one, *other]).collect::<Vec<_>>();
                    pairs.extend(members.iter().flat_map(pair));
                }
            }
        }
        Ok(pairs)
    }
}

impl Serialize for HiddenSpec {
    fn serialize<S: Serializer>(&self, s: S) -> Result<S::Ok, S::Error> {
        match self {
            Self::All => s.serialize_str("all"),
            Self::Lists(lists) => lists.serialize(s),
        }
    }
}

impl<'de> Deserialize<'de> for HiddenSpec {
    fn deserialize<D: Deserializer<'de>>(d: D) -> Result<Self, D::Error> {
        struct Visitor;
        impl<'de> de::Visitor<'de> for Visitor {
            type Value = HiddenSpec;
            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str(r#""all", or lists of stations that do not sense each other like [["laptop", "tv"]]"#)
            }
            fn visit_str<E: de::Error>(self, text: &str) -> Result<HiddenSpec, E> {
                match text {
                    "all" => Ok(HiddenSpec::All),
                    _ => Err(E::invalid_value(de::Unexpected::Str(text), &self)),
                }
            }
            fn visit_seq<A: de::SeqAccess<'de>>(self, mut list: A) -> Result<HiddenSpec, A::Error> {
                let mut lists = Vec::new();
                while let Some(names) = list.next_element()? {
                    lists.push(names);
                }
                Ok(HiddenSpec::Lists(lists))
            }
        }
        d.deserialize_any(Visitor)
    }
}

impl schemars::JsonSchema for HiddenSpec {
    fn schema_name() -> std::borrow::Cow<'static, str> {
        "Hidden".into()
    }
    fn json_schema(_: &mut schemars::SchemaGenerator) -> schemars::Schema {
        schemars::json_schema!({
            "description": "Stations that do not sense each other: all, or lists of names",
            "anyOf": [
                { "const": "all" },
                {
                    "type": "array",
                    "items": { "type": "array", "minItems": 2, "items": { "type": "string" } }
                }
            ]
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NODES: [(&str, Option<&str>); 4] =
        [("ap", None), ("tv", Some("tv")), ("sta-0", Some("sta")), ("sta-1", Some("sta"))];

    fn lists(lists: &[&[&str]]) -> HiddenSpec {
        let owned = |list: &&[&str]| list.iter().map(|name| (*name).to_owned()).collect();
        HiddenSpec::Lists(lists.iter().map(owned).collect())
    }

    #[test]
    fn all_stations_are_hidden_from_each_other() {
        assert_eq!(HiddenSpec::All.pairs(&NODES), Ok(vec![[2, 1], [3, 1], [3, 2]]));
    }

    #[test]
    fn stations_of_one_entry_sense_each_other() {
        assert_eq!(lists(&[&["tv", "sta"]]).pairs(&NODES), Ok(vec![[2, 1], [3, 1]]));
        assert_eq!(lists(&[&["sta-0", "sta-1"]]).pairs(&NODES), Ok(vec![[3, 2]]));
    }

    #[test]
    fn a_thousand_stations_may_be_hidden_from_each_other() {
        let pairs = |stations: usize| HiddenSpec::All.pairs(&vec![("sta", None); 1 + stations]);
        assert_eq!(pairs(1000).unwrap().len(), 499_500);
        assert_eq!(pairs(1001), Err("at most 1000 stations share a network where some are hidden".to_owned()));
    }

    #[test]
    fn one_station_has_nothing_to_hide_from() {
        assert_eq!(HiddenSpec::All.pairs(&NODES[..2]), Ok(vec![]));
    }
}
