//! Round numbers of axes, and numbers as text.

/// Round numbers between two others, about as many as there is room for.
pub fn ticks(one: f64, other: f64, room: f64) -> Vec<f64> {
    let (low, high) = (one.min(other), one.max(other));
    let least = (high - low) / room.clamp(1.0, 8.0);
    if !(least.is_finite() && least > 0.0) {
        return Vec::new();
    }
    let power = 10f64.powf(least.log10().floor());
    let steps = [1.0, 2.0, 5.0, 10.0].map(|k| k * power).into_iter();
    let step = steps.filter(|step| step.is_finite()).find(|step| *step >= least).unwrap_or(least);
    let (first, last) = ((low / step).ceil() as i64, (high / step).floor() as i64);
    (first..=last).map(|k| k as f64 * step).collect()
}

/// 1, 2 and 5 times the powers of ten from a number to another, or the powers alone if these are many.
pub fn steps(low: f64, high: f64) -> Vec<f64> {
    let (first, last) = (low.log10().floor() as i32, high.log10().floor() as i32);
    let factors: &[f64] = if last - first < 4 { &[1.0, 2.0, 5.0] } else { &[1.0] };
    let decade = |power| factors.iter().map(move |factor| factor * 10f64.powi(power));
    (first..=last).flat_map(decade).filter(|number| (low..=high).contains(number)).collect()
}

/// A number of few digits.
pub fn number(x: f64) -> String {
    let magnitude = x.abs();
    if magnitude != 0.0 && !(1e-3..1e6).contains(&magnitude) {
        return format!("{x:.1e}").replace(".0e", "e");
    }
    let text = format!("{x:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_owned()
}

/// A number of three digits, for texts.
pub fn rounded(x: f64) -> String {
    if x == 0.0 || !x.is_finite() {
        return number(x);
    }
    let unit = 10f64.powf(x.abs().log10().floor() - 2.0);
    match unit.is_normal() {
        true => number((x / unit).round() * unit),
        false => number(x),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ticks_are_round() {
        assert_eq!(ticks(-0.5, 359.5, 8.0), [0.0, 50.0, 100.0, 150.0, 200.0, 250.0, 300.0, 350.0]);
        assert_eq!(ticks(-0.5, 0.5, 1.0), [0.0]);
        assert_eq!(ticks(0.5, -180.5, 8.0), [-150.0, -100.0, -50.0, 0.0]);
        assert!(ticks(0.0, 0.0, 5.0).is_empty() && ticks(0.0, f64::INFINITY, 5.0).is_empty());
        for top in [f64::MAX, 1e39, 1e-310, 5e-323] {
            let ticks = ticks(0.0, top, 5.0);
            assert!(
                ticks.len() > 1 && ticks.iter().all(|tick| (0.0..=top).contains(tick)),
                "{top}: {ticks:?}"
            );
        }
    }

    #[test]
    fn numbers_are_short() {
        assert_eq!([0.0, 12.5, 300.0, 1.26e-7, 2e9].map(number), ["0", "12.5", "300", "1.3e-7", "2e9"]);
        assert_eq!(
            [19.2345, 0.43219, 123456.0, 5e-324].map(rounded),
            ["19.2", "0.432", "123000", "4.9e-324"]
        );
    }
}
