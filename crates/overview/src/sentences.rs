//! The sentences of the page: questions with their answers.

use serde_json::Value;

use crate::metrics;
use crate::run::{Label, Run};
use crate::statistics::median;

/// Questions and answers.
pub(crate) fn sentences(labels: &[Label<'_>]) -> Value {
    let all: Vec<&Label<'_>> = labels.iter().collect();
    let throughput = said(&all, &|run| run.throughput() / 1e6, "Mbit/s") + &of_rate(labels);
    let mut rows = vec![("Throughput", throughput)];
    if labels.iter().all(|label| label.first().bottleneck().is_some()) {
        let mean = said(&all, &|run| run.of_bottleneck("queue_delay_mean_ms"), "ms");
        let most = said(&all, &|run| run.of_bottleneck("queue_delay_p95_ms"), "ms");
        rows.push((
            "Delay",
            format!("{mean} of queueing on average{}; 95 % of the time at most {most}", place(labels)),
        ));
    }
    let limits = limits(&all);
    if !limits.is_empty() {
        rows.insert(0, ("Limit", limits));
    }
    let mut silent = all.clone();
    silent.retain(|label| label.of.iter().all(|run| goodput(run) == 0.0));
    if !silent.is_empty() {
        let mut delivery = "no data was delivered in the measured time".to_owned();
        if labels.len() > 1 {
            let names: Vec<&str> = silent.iter().map(|label| &*label.name).collect();
            delivery = format!("{delivery} with {}", names.join(", "));
        }
        rows.insert(0, ("Delivery", delivery));
    }
    rows.push(("Loss", said(&all, &loss_percent, "% of the data packets, on the way")));
    rows.push(("Fairness", fairness(labels)));
    rows.into_iter().map(|(question, answer)| Value::from(vec![question.to_owned(), answer])).collect()
}

/// What limited the flows of each label, unless it was the window: the median over its repetitions.
fn limits(all: &[&Label<'_>]) -> String {
    let mut limits = Vec::new();
    for label in all {
        let mut found: Vec<(&str, f64)> = label.of.iter().filter_map(Run::limit).collect();
        found.sort_by(|one, other| one.1.total_cmp(&other.1));
        if let Some(&(limit, percent)) = found.get(label.of.len() / 2) {
            limits.push(format!("{} was limited by its {limit} {} % of the time", label.name, digits(percent)));
        }
    }
    limits.join("; ")
}

/// The median over the repetitions of each label: `cubic 48.2, cdg 43.9 Mbit/s`.
fn said(labels: &[&Label<'_>], value: &dyn Fn(&Run<'_>) -> f64, unit: &str) -> String {
    let mut sentence = String::new();
    for label in labels {
        if labels.len() > 1 {
            sentence += if sentence.is_empty() { "" } else { ", " };
            sentence += &label.name;
            sentence += " ";
        }
        sentence += &digits(median(label.of.iter().map(value).collect()));
    }
    sentence + " " + unit
}

/// Three digits, as `%.3g` of C prints them, but all digits before the point from 100 on, and no powers of ten.
fn digits(number: f64) -> String {
    if !number.is_finite() {
        return "unknown".to_owned();
    }
    let (mut leading, mut power) = (number.abs(), 0_usize);
    while (f64::MIN_POSITIVE..0.9995).contains(&leading) {
        leading *= 10.0;
        power += 1;
    }
    let decimals = if leading < 9.995 { 2 } else { usize::from(leading < 99.95) };
    if power > 4 {
        return "under 0.0001".to_owned();
    }
    fixed(number, decimals + power)
}

/// A number with so many decimals at most.
fn fixed(number: f64, decimals: usize) -> String {
    let text = format!("{number:.decimals$}");
    if decimals == 0 { text } else { text.trim_end_matches('0').trim_end_matches('.').to_owned() }
}

/// Goodput of all flows.
fn goodput(run: &Run<'_>) -> f64 {
    metrics::goodput(run.flows("delivered_bytes"), run.measured_s())
}

/// Loss of all flows.
fn loss_percent(run: &Run<'_>) -> f64 {
    metrics::loss_percent(run.flows("data_packets"), run.flows("loss_rate"))
}

/// `, of the 50 that the bottleneck carries`, if all labels have the same: of IP, if it frames packets.
///
/// Stations are left out: the rate of their frames is far above the capacity of the shared channel.
fn of_rate(labels: &[Label<'_>]) -> String {
    let rate = labels[0].first().of_bottleneck("rate_bps");
    let same = labels.iter().all(|label| label.first().of_bottleneck("rate_bps") == rate);
    if !same || !rate.is_finite() || labels.iter().any(|label| shares_a_channel(label.first())) {
        return String::new();
    }
    let framings: Vec<f64> = labels.iter().map(|label| label.first().framing()).collect();
    if framings.iter().all(|&framing| framing == 1.0) {
        return format!(", of the {} that the bottleneck carries", digits(rate / 1e6));
    }
    let carried = digits(rate / median(framings) / 1e6);
    format!(", of the {carried} that the bottleneck carries without the frames of its {}", digits(rate / 1e6))
}

/// True if the bottleneck is the queue of a station.
fn shares_a_channel(run: &Run<'_>) -> bool {
    let wireless = run.scenario()["wlans"].as_array().is_some_and(|wlans| !wlans.is_empty());
    wireless && run.numbers("stations", "link").contains(&run.of_bottleneck("link"))
}

/// The name of the bottleneck, if a network has several links and all runs have the same.
fn place(labels: &[Label<'_>]) -> String {
    let mut names = Vec::new();
    for label in labels {
        names.push(label.first().texts("links", "name").swap_remove(label.first().bottleneck().unwrap_or(0)));
    }
    names.dedup();
    let several = labels.iter().any(|label| label.first().scenario()["path"].is_null());
    if several && names.len() == 1 { format!(" at the bottleneck, {}", names[0]) } else { String::new() }
}

fn fairness(labels: &[Label<'_>]) -> String {
    if labels.iter().all(|label| label.first().flow_count() == 1) {
        return "a flow has the path for itself".to_owned();
    }
    let mut several: Vec<&Label<'_>> = labels.iter().collect();
    several.retain(|label| label.first().fairness().is_finite());
    if several.is_empty() {
        return "less than two flows that send all they can last, and only these are compared".to_owned();
    }
    let index = said(&several, &|run| run.fairness(), "(1 is equal)");
    format!("Jain's index of the lasting flows{}: {index}", place(labels))
}

#[cfg(test)]
mod tests {
    use super::digits;

    #[test]
    fn a_number_has_three_digits_or_all_before_its_point() {
        let found = [0.0, 5.0, 12.34, 99.96, 123.5, 1234.5, -0.5, 0.000_123_45, 0.000_012_345].map(digits);
        assert_eq!(found, ["0", "5", "12.3", "100", "124", "1234", "-0.5", "0.000123", "under 0.0001"]);
        assert_eq!(digits(f64::NAN), "unknown");
    }
}
