//! Panels of the page: curves with their bands on one axis.

use serde_json::Value;

use crate::TENFOLD;
use crate::run::{Label, Run};
use crate::statistics::{median, percentile, sorted};

/// The percentiles of the band around a median.
pub(crate) const BAND: [f64; 2] = [20.0, 80.0];

/// With more curves than this the page would be unreadable: the first ones are shown.
const MOST_CURVES: usize = 40;

/// A logarithmic axis ends this factor below the largest value. Smaller values are drawn on its edge.
const DEEPEST: f64 = 1000.0;

/// Numbers as JSON, null for a missing value.
pub(crate) fn list(values: &[f64]) -> Value {
    values.iter().map(|&value| Value::from(value)).collect()
}

/// An object of JSON. The macro of `serde_json` would write each entry out.
pub(crate) fn object(entries: Vec<(&str, Value)>) -> Value {
    entries.into_iter().map(|(key, value)| (key.to_owned(), value)).collect()
}

/// One curve of a run.
#[derive(Default)]
pub(crate) struct Curve {
    /// Empty for all flows of a run together.
    pub(crate) name: String,
    pub(crate) cc: String,
    /// Empty on the grid of a panel.
    pub(crate) times: Vec<f64>,
    pub(crate) values: Vec<f64>,
}

/// The medians of a label's curve over the repetitions.
pub(crate) struct Band {
    pub(crate) label: String,
    pub(crate) cc: String,
    pub(crate) median: Vec<f64>,
    /// The low and the high end of the band, with several repetitions.
    pub(crate) ends: Vec<Vec<f64>>,
}

/// The curves of each label, the repetitions of one together.
pub(crate) fn bands(labels: &[Label<'_>], curves: &dyn Fn(&Run<'_>) -> Vec<Curve>) -> Vec<Band> {
    let mut found = Vec::new();
    for label in labels {
        let runs: Vec<Vec<Curve>> = label.of.iter().map(curves).collect();
        for (number, first) in runs[0].iter().enumerate() {
            let mut repetitions = Vec::new();
            for curves in &runs {
                // Another repetition may have other groups.
                if let Some(curve) = curves.get(number)
                    && curve.name == first.name
                {
                    repetitions.push(&*curve.values);
                }
            }
            let name = if runs[0].len() == 1 { &label.name } else { &first.name };
            found.push(band(name, first, &repetitions));
        }
    }
    found.truncate(MOST_CURVES);
    found
}

fn band(label: &str, first: &Curve, repetitions: &[&[f64]]) -> Band {
    let mut band = Band { label: label.to_owned(), cc: first.cc.clone(), median: Vec::new(), ends: Vec::new() };
    if repetitions.len() == 1 {
        band.median.clone_from(&first.values);
        return band;
    }
    band.ends = vec![Vec::new(); 2];
    for n in 0..first.values.len() {
        let values = sorted(repetitions.iter().map(|values| values[n]).collect());
        band.median.push(percentile(&values, 50.0));
        for (end, percent) in band.ends.iter_mut().zip(BAND) {
            end.push(percentile(&values, percent));
        }
    }
    band
}

/// A line for comparison.
pub(crate) struct Level {
    pub(crate) label: &'static str,
    /// None if the line is not known.
    pub(crate) values: Vec<f64>,
}

/// A panel: its name, the labels of its axes, the values of x, curves and further parts.
pub(crate) struct Panel<'a> {
    pub(crate) name: &'a str,
    pub(crate) title: &'a str,
    pub(crate) x_label: &'a str,
    pub(crate) log: bool,
    pub(crate) log_x: bool,
    /// The lower end of the axis.
    pub(crate) floor: Option<f64>,
    pub(crate) x: &'a [f64],
    pub(crate) curves: &'a [Band],
    pub(crate) level: Option<Level>,
    pub(crate) ticks: Vec<Value>,
}

impl Panel<'_> {
    pub(crate) fn into_json(self) -> Value {
        let mut curves = Vec::new();
        for one in self.curves {
            let label = ("label", Value::from(&*one.label));
            let mut curve = vec![label, ("cc", Value::from(&*one.cc)), ("median", list(&one.median))];
            for (end, values) in ["low", "high"].into_iter().zip(&one.ends) {
                curve.push((end, list(values)));
            }
            curves.push(object(curve));
        }
        let mut levels = Vec::new();
        if let Some(level) = self.level {
            levels.push(object(vec![("label", level.label.into()), ("values", list(&level.values))]));
        }
        object(vec![
            ("name", self.name.into()),
            ("title", self.title.into()),
            ("x_label", self.x_label.into()),
            ("log", self.log.into()),
            ("log_x", self.log_x.into()),
            ("floor", self.floor.into()),
            ("x", list(self.x)),
            ("curves", curves.into()),
            ("levels", levels.into()),
            ("ticks", self.ticks.into()),
        ])
    }
}

/// A panel over time. Its axis is logarithmic if its curves differ by more than tenfold.
///
/// A linear axis begins at 0, except for an RTT with a base. `ticks` are marked along the lower edge.
pub(crate) fn over_time(
    [name, title]: [&str; 2],
    grid: &[f64],
    curves: &[Band],
    level: Option<Level>,
    ticks: Vec<Value>,
) -> Value {
    let mut medians = sorted(curves.iter().map(|one| median(one.median.clone())).collect());
    medians.retain(|&value| value > 0.0);
    let log = medians.len() > 1 && medians[medians.len() - 1] > TENFOLD * medians[0];
    let has_base = name == "rtt" && level.as_ref().is_some_and(|level| level.values[0] > 0.0);
    let floor = if log { Some(log_floor(curves, level.as_ref())) } else { (!has_base).then_some(0.0) };
    Panel { name, title, x_label: "time (s)", log, log_x: false, floor, x: grid, curves, level, ticks }.into_json()
}

/// The lower end of a logarithmic axis. Values below it are drawn there.
///
/// Without it a queue that empties would go down without end.
fn log_floor(curves: &[Band], level: Option<&Level>) -> f64 {
    let mut values = level.map_or_else(Vec::new, |level| level.values.clone());
    for one in curves {
        values.extend_from_slice(&one.median);
    }
    let mut values = sorted(values);
    values.retain(|&value| value > 0.0);
    values[0].max(values[values.len() - 1] / DEEPEST)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curves(values: &[&[f64]]) -> Vec<Band> {
        let band =
            |values: &&[f64]| Band { label: "one".into(), cc: "cdg".into(), median: values.to_vec(), ends: Vec::new() };
        values.iter().map(band).collect()
    }

    #[test]
    fn a_logarithmic_axis_ends_a_thousandth_below_the_largest_value() {
        assert_eq!(log_floor(&curves(&[&[0.0, 4.0, 100.0]]), None), 4.0);
        assert_eq!(log_floor(&curves(&[&[0.0, 0.01, 500.0, f64::NAN]]), None), 0.5);
    }

    #[test]
    fn curves_that_lie_apart_have_a_logarithmic_axis() {
        let axis = |name: &str, curves: &[Band], level| {
            let panel = over_time([name, ""], &[], curves, level, Vec::new());
            (panel["log"].clone(), panel["floor"].clone())
        };
        assert_eq!(axis("queue", &curves(&[&[0.0, 4.0, 4.0], &[50.0, 50.0]]), None), (true.into(), 4.0.into()));
        assert_eq!(axis("queue", &curves(&[&[0.0, 4.0]]), None), (false.into(), 0.0.into()));
        let base = || Some(Level { label: "base RTT", values: vec![40.0] });
        assert_eq!(axis("rtt", &curves(&[&[60.0]]), base()), (false.into(), Value::Null));
        assert_eq!(axis("window", &curves(&[&[60.0]]), base()), (false.into(), 0.0.into()));
    }

    #[test]
    fn a_band_goes_from_the_20th_to_the_80th_percentile_of_the_repetitions() {
        let first = Curve { values: vec![1.0, f64::NAN], ..Curve::default() };
        let made = band("cdg", &first, &[&[1.0, f64::NAN], &[11.0, f64::NAN], &[3.0, 5.0]]);
        // The second of three is the median, 0.4 and 1.6 of the two steps from 1 over 3 to 11.
        assert!((made.ends[0][0] - 1.8).abs() < 1e-12 && (made.ends[1][0] - 7.8).abs() < 1e-12);
        assert_eq!(made.median, [3.0, 5.0]);
    }
}
