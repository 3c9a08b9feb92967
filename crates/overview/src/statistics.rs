//! Percentiles, grids, and lines through points. NaN is a missing value.

/// The finite values, rising.
pub(crate) fn sorted(mut values: Vec<f64>) -> Vec<f64> {
    values.retain(|value| value.is_finite());
    values.sort_unstable_by(f64::total_cmp);
    values
}

/// A percentile of rising values, between two of them by a straight line from the nearer one. NaN of none.
pub(crate) fn percentile(sorted: &[f64], percent: f64) -> f64 {
    let Some(last) = sorted.len().checked_sub(1) else { return f64::NAN };
    let place = last as f64 * percent / 100.0;
    let below = place.floor() as usize;
    let above = (below + 1).min(last);
    let (step, along) = (sorted[above] - sorted[below], place - below as f64);
    if along < 0.5 { sorted[below] + step * along } else { sorted[above] - step * (1.0 - along) }
}

/// The median of the finite values, NaN of none.
pub(crate) fn median(values: Vec<f64>) -> f64 {
    percentile(&sorted(values), 50.0)
}

/// A function of each value.
pub(crate) fn map(values: &[f64], each: &dyn Fn(f64) -> f64) -> Vec<f64> {
    values.iter().map(|&value| each(value)).collect()
}

/// The values whose key is chosen.
pub(crate) fn select(values: &[f64], keys: &[f64], chosen: &dyn Fn(f64) -> bool) -> Vec<f64> {
    let mut found = Vec::new();
    for (&value, &key) in values.iter().zip(keys) {
        if chosen(key) {
            found.push(value);
        }
    }
    found
}

/// Equal steps from `low` to `high`, both included.
pub(crate) fn linspace(low: f64, high: f64, count: usize) -> Vec<f64> {
    let step = (high - low) / (count - 1) as f64;
    let mut values: Vec<f64> = (0..count).map(|n| n as f64 * step + low).collect();
    values[count - 1] = high;
    values
}

/// Equal ratios from `low` to `high`, both included.
pub(crate) fn geomspace(low: f64, high: f64, count: usize) -> Vec<f64> {
    let powers = linspace(libm::log10(low), libm::log10(high), count);
    let mut values = map(&powers, &|power| libm::pow(10.0, power));
    (values[0], values[count - 1]) = (low, high);
    values
}

/// The number of rising values that are at most `limit`.
pub(crate) fn rank(sorted: &[f64], limit: f64) -> usize {
    sorted.partition_point(|&value| value <= limit)
}

/// The value at `x` on the line through the points, level beyond its ends. NaN without points.
pub(crate) fn interpolate(x: f64, xs: &[f64], ys: &[f64]) -> f64 {
    let right = rank(xs, x);
    let at = |n: usize| ys.get(n).copied().unwrap_or(f64::NAN);
    if right == 0 || right == xs.len() {
        return at(right.saturating_sub(1));
    }
    let left = right - 1;
    (at(right) - at(left)) / (xs[right] - xs[left]) * (x - xs[left]) + at(left)
}

/// The latest value at the times of the grid, missing if it is older than `longest`.
pub(crate) fn held(times: &[f64], values: &[f64], grid: &[f64], longest: f64) -> Vec<f64> {
    map(grid, &|time| match rank(times, time).checked_sub(1) {
        Some(row) if time - times[row] <= longest + 1e-9 => values[row],
        _ => f64::NAN,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn percentiles_lie_on_the_lines_between_the_values() {
        let values = sorted(vec![4.0, f64::NAN, 1.0, 3.0, f64::INFINITY, 2.0]);
        assert_eq!(values, [1.0, 2.0, 3.0, 4.0]);
        // Three steps: a fifth of the way is 0.6 of a step.
        assert_eq!([0.0, 20.0, 50.0, 100.0].map(|percent| percentile(&values, percent)), [1.0, 1.6, 2.5, 4.0]);
        assert!(percentile(&[], 50.0).is_nan());
    }

    #[test]
    fn grids_end_where_they_should() {
        assert_eq!(linspace(0.0, 1.0, 5), [0.0, 0.25, 0.5, 0.75, 1.0]);
        assert_eq!(geomspace(1.0, 100.0, 3), [1.0, 10.0, 100.0]);
        // 10 to the power of log10(0.3) is not 0.3.
        let powers = geomspace(0.3, 0.7, 4);
        assert_eq!((powers[0], powers[3]), (0.3, 0.7));
    }

    #[test]
    fn a_line_is_level_beyond_its_ends() {
        let at = |x| interpolate(x, &[1.0, 3.0], &[10.0, 20.0]);
        assert_eq!([0.0, 1.0, 1.5, 3.0, 9.0].map(at), [10.0, 10.0, 12.5, 20.0, 20.0]);
        assert!(interpolate(1.0, &[], &[]).is_nan());
    }

    #[test]
    fn a_value_is_held_until_it_is_too_old() {
        let held = held(&[1.0, 3.0], &[5.0, 7.0], &[0.5, 1.0, 2.0, 2.5, 3.0], 1.0);
        assert!(held[0].is_nan() && held[3].is_nan());
        assert_eq!([held[1], held[2], held[4]], [5.0, 5.0, 7.0]);
    }
}
