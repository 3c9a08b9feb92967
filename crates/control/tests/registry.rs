//! The registry and its documentation, for every controller in it.

mod common;

use common::{default_controller, forms, one, probes};
use control::registry::{CONTROLLERS, build, find};
use control::{Entry, Parameter, Parameters, Range, Reports};
use serde_json::{Value, json};

/// The parameters of each form, with the parameters that choose it.
fn parameters() -> impl Iterator<Item = (&'static Entry, Parameters, &'static Parameter)> {
    forms().flat_map(|(entry, _, given, form)| form.parameters.iter().map(move |p| (entry, given.clone(), p)))
}

/// Why `entry`, with the parameters `given`, refuses `value` for `parameter`, or `None` if it does not.
fn refusal(entry: &Entry, given: &Parameters, parameter: &Parameter, value: Value) -> Option<String> {
    let mut given = given.clone();
    given.insert(parameter.name.to_owned(), value);
    entry.build(&given).err().map(|error| error.to_string())
}

#[test]
fn names_are_in_alphabetical_order_and_unique() {
    assert!(CONTROLLERS.is_sorted_by(|a, b| a.name < b.name));
}

#[test]
fn every_controller_and_parameter_is_described() {
    for entry in CONTROLLERS {
        for text in [entry.title, entry.summary, entry.source] {
            assert!(!text.is_empty() && !text.ends_with('.'), "{}: {text:?}", entry.name);
        }
    }
    for (entry, _, p) in parameters() {
        for text in [p.meaning, p.source] {
            assert!(!text.is_empty() && !text.ends_with('.'), "{}, {}: {text:?}", entry.name, p.name);
        }
    }
    for entry in CONTROLLERS {
        for quantity in entry.probes {
            let (name, text) = (quantity.name, quantity.meaning);
            assert!(!text.is_empty() && !text.ends_with('.'), "{}, {name}: {text:?}", entry.name);
            let unit_in_name = ["ms", "s"].into_iter().find(|unit| name.ends_with(&format!("_{unit}"))).unwrap_or("");
            let time = if ["ms", "s"].contains(&quantity.unit) { quantity.unit } else { "" };
            assert_eq!(unit_in_name, time, "{}, {name}", entry.name);
        }
    }
}

/// Whether `source` says where to look a parameter up: a place in the document of its controller, a document, a name in
/// the code of a stack, or a symbol of the paper.
fn is_citation(source: &str) -> bool {
    const PLACES: [&str; 6] = ["section", "equation", "algorithm", "appendix", "figure", "table"];
    const NAMES: [&str; 6] = ["rfc ", "draft-", "linux, ", "freebsd, ", "ns-2, ", "the paper's "];
    let text = source.to_lowercase();
    let after = |word: &'static str| text.split(word).skip(1);
    let numbered = |rest: &str| {
        let number = rest.strip_prefix('s').unwrap_or(rest).trim_start_matches([' ', '(']);
        number.starts_with(|c: char| c.is_ascii_digit() || "ivx".contains(c))
    };
    let year = source.split(|c: char| !c.is_ascii_digit()).any(|part| matches!(part.parse(), Ok(1900..=2099)));
    year || PLACES.iter().any(|place| after(place).any(numbered))
        || NAMES.iter().any(|name| after(name).any(|rest| rest.starts_with(char::is_alphanumeric)))
}

#[test]
fn every_parameter_cites_a_source() {
    let own = parameters().map(|(entry, _, p)| (entry.name, p));
    let of_starts = control::SLOW_START.iter().map(|p| ("slow start", p));
    let of_tfrc = control::tfrc::Settings::PARAMETERS.iter().map(|p| ("tfrc", p));
    for (name, p) in own.chain(of_starts).chain(of_tfrc) {
        assert!(is_citation(p.source), "{name}, `{}`: {:?} cites nothing: make it a constant?", p.name, p.source);
    }
    for vague in ["", "as usual", "not given", "by experience", "the paper", "open", "true in Linux", "a value of 1"] {
        assert!(!is_citation(vague), "{vague}");
    }
}

#[test]
fn every_probe_is_declared_and_every_declared_one_is_shown() {
    for (entry, name, given, form) in forms() {
        let shown: Vec<_> = probes(&*entry.build(&given).unwrap()).into_keys().collect();
        let mut declared: Vec<_> = form.probes.iter().map(|quantity| quantity.name).collect();
        declared.sort_unstable();
        assert_eq!(shown, declared, "{name}");
    }
}

#[test]
fn every_controller_builds_with_its_documented_defaults() {
    for (entry, name, given, form) in forms() {
        let mut documented: Parameters =
            form.parameters.iter().map(|p| (p.name.to_string(), p.default.to_json())).collect();
        documented.extend(given.clone());
        let built = entry.build(&documented).unwrap();
        let default = entry.build(&given).unwrap();
        assert_eq!(probes(&*built), probes(&*default), "{name}");
        assert_eq!(built.window(), default.window());
    }
}

#[test]
fn an_unknown_controller_is_refused_with_the_nearest_name() {
    for (given, meant) in [("cubik", "cubic"), ("reno", "newreno"), ("CDG", "cdg"), ("vegass", "vegas")] {
        let error = find(given).err().unwrap().to_string();
        assert!(error.contains(&format!("no controller `{given}`; did you mean `{meant}`?")), "{error}");
    }
}

#[test]
fn a_controller_of_linux_alone_is_refused_with_where_it_runs() {
    for (name, alike) in [("bbr", ", but `bbr1` and `bbr3`"), ("lp", ""), ("nv", "")] {
        let error = find(name).err().unwrap().to_string();
        assert!(error.starts_with(&format!("the simulator has no `{name}`{alike}; live runs")), "{error}");
    }
}

#[test]
fn who_looks_for_tfrc_among_controllers_learns_what_it_is() {
    let error = find("tfrc").err().unwrap().to_string();
    assert!(error.starts_with("`tfrc` is no controller but a kind of flow"), "{error}");
    for parameter in control::tfrc::Settings::PARAMETERS {
        assert!(error.contains(parameter.name), "{error}");
    }
}

#[test]
fn an_unknown_parameter_is_refused_with_the_nearest_name() {
    let error = build("cdg", &one("beta", json!(0.5))).err().unwrap().to_string();
    assert!(error.starts_with("`cdg` has no parameter `beta`; did you mean `beta_"), "{error}");
    // By its meaning, not by its spelling: `decrease` is the opposite.
    let error = build("aimd", &one("increase", json!(2))).err().unwrap().to_string();
    assert!(error.starts_with("`aimd` has no parameter `increase`; did you mean `alpha`? (there are"), "{error}");
    let error = build("relentless", &one("beta", json!(0.5))).err().unwrap().to_string();
    assert_eq!(error, "`relentless` has no parameters, so `beta` cannot be set");
    for entry in CONTROLLERS {
        let error = entry.build(&one("no_such_thing", json!(1))).err().unwrap().to_string();
        assert!(error.contains(entry.name) && error.contains("no_such_thing"), "{error}");
    }
}

#[test]
fn a_refusal_names_controller_parameter_value_and_range() {
    assert_eq!(
        build("aimd", &one("beta", json!(1.5))).err().unwrap().to_string(),
        "`aimd`, parameter `beta`: 1.5 is out of range (allowed: above 0, below 1)"
    );
    let error = build("cdg", &one("G", json!(3))).err().unwrap().to_string();
    assert!(
        error.starts_with("`cdg`, parameter `G`: invalid type: integer `3`, expected a time with its unit"),
        "{error}"
    );
}

#[test]
fn every_parameter_refuses_what_is_no_value_of_its_kind() {
    for (entry, given, p) in parameters() {
        let name = entry.name;
        let wrong = match p.range {
            Range::Number(_) | Range::Integer(_) | Range::IntegerOr(..) => {
                vec![json!(-2), json!(-1.5), json!(1e300), json!(u64::MAX), json!("1"), json!(true)]
            }
            Range::Time(_) => ["3", "-1ms", "1000000s", "1e300s", "soon"].map(Value::from).to_vec(),
            Range::Rate(_) => ["3", "-1mbit", "1e300bit", "fast"].map(Value::from).to_vec(),
            Range::Switch | Range::Choice(_) => vec![json!(3), json!("maybe")],
        };
        for wrong in wrong.into_iter().chain([json!(null), json!([1])]) {
            let why =
                refusal(entry, &given, p, wrong.clone()).unwrap_or_else(|| panic!("{name}, {} = {wrong}", p.name));
            assert!(why.contains(&format!("`{name}`, parameter `{}`: ", p.name)), "{why}");
            assert!(why.ends_with(&format!(" (allowed: {})", p.range)), "{why}");
        }
    }
}

#[test]
fn every_choice_is_accepted() {
    for (entry, given, p) in parameters() {
        let choices = match p.range {
            Range::Switch => vec![json!(false), json!(true)],
            Range::Choice(choices) => choices.iter().map(|choice| choice.to_json()).collect(),
            Range::IntegerOr(_, word) => vec![json!(word)],
            _ => continue,
        };
        for choice in choices {
            assert_eq!(refusal(entry, &given, p, choice), None);
        }
    }
}

#[test]
fn zero_is_refused_only_where_it_is_out_of_range() {
    // Worked out from the papers and read off the declarations by hand.
    for (name, parameter, zero, allowed) in [
        ("cdg", "a", json!(0), true),
        ("cdg", "beta_d", json!(0), false),
        ("cdg", "G", json!("0s"), false),
        ("cdg", "rtt_tick", json!("0s"), true),
        ("card", "every", json!(0), false),
        ("cubic", "C", json!(0), false),
        ("jk", "initial_threshold", json!(0), false),
    ] {
        let entry = find(name).unwrap();
        let p = entry.parameters.iter().find(|p| p.name == parameter).unwrap();
        assert_eq!(refusal(entry, &Parameters::new(), p, zero).is_none(), allowed, "{name}, {parameter}");
    }
}

#[test]
fn two_parameters_that_contradict_are_refused() {
    let of = [
        ("hd", r#"{"q_min": "30ms"}"#, "`q_min`: 30ms is out of range (allowed: 0s to 10s, below q_th)"),
        ("pert", r#"{"t_max": "5ms"}"#, "`t_min`: 5ms is out of range (allowed: 0s to 10s, below t_max)"),
        ("vegas", r#"{"alpha": 4}"#, "`beta`: 3 is out of range (allowed: above 0, at most 10000, not below alpha)"),
        (
            "htcp",
            r#"{"beta_max": 0.4}"#,
            "`beta_max`: 0.4 is out of range (allowed: above 0, below 1, not below beta_min)",
        ),
    ];
    for (name, given, sentence) in of {
        let error = build(name, &serde_json::from_str(given).unwrap()).err().unwrap().to_string();
        assert_eq!(error, format!("`{name}`, parameter {sentence}"));
    }
}

#[test]
fn the_profiles_page_lists_the_controllers_that_keep_more_on_a_mark_than_on_a_loss() {
    let keep: Vec<_> = CONTROLLERS.iter().filter(|entry| default_controller(entry).keep(1.0)).collect();
    let names: Vec<_> = keep.iter().map(|entry| format!("`{}`", entry.name)).collect();
    let page = include_str!("../../../docs/profiles.md").split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(page.contains(&names.join(", ")), "docs/profiles.md does not list {}", names.join(", "));
}

/// What controllers ask for beyond the usual events, and which do.
const WANTED: &[(&str, &str)] = &[
    ("transmit-start marks recovery", "bbr1"),
    ("transmit-start lost-segments recovery", "bbr3"),
    ("marks recovery l4s", "c4"),
    ("recovery", "copa e-tcp"),
    ("transmit-start", "cubic cubic-linux cubic-rfc westwood-linux"),
    ("marks needs-marks", "dctcp"),
    ("exact-rtt", "gentle-1 gentle-2 illinois illinois-linux tcp-c tcp-c-linux tcp-fq tcp-fq-linux"),
    ("exact-rtt", "tcp-fs tcp-fs-linux tcp-q tcp-q-linux vegas veno yeah"),
    ("transmit-start exact-rtt", "gentle-1-linux gentle-2-linux vegas-linux vegas-linux-3.5 veno-linux"),
    ("transmit-start exact-rtt", "yeah-linux"),
    ("marks needs-marks l4s", "prague"),
];

#[test]
fn only_some_ask_for_more_than_the_usual_events() {
    for (entry, name, given, _) in forms() {
        let wants = entry.build(&given).unwrap().wants();
        let flags = [
            ("sent", wants.sent),
            ("transmit-start", wants.transmit_start),
            ("lost-segments", wants.segments == Reports::Lost),
            ("segments", wants.segments == Reports::All),
            ("timer", wants.timer),
            ("fractional-window", wants.fractional_window),
            ("marks", wants.governs_marks),
            ("needs-marks", wants.needs_marks),
            ("recovery", wants.governs_recovery),
            ("exact-rtt", wants.exact_rtt),
            ("l4s", wants.l4s),
        ];
        let asked: Vec<_> = flags.into_iter().filter_map(|(flag, set)| set.then_some(flag)).collect();
        let listed = WANTED.iter().find(|(_, names)| names.split(' ').any(|listed| listed == name));
        assert_eq!(asked.join(" "), listed.map_or("", |(flags, _)| flags), "{name}");
    }
}
