//! Axes with ticks at round numbers, dates or powers of ten, and labels that read well.

use evertally_stream::Zone;
use jiff::Timestamp;
use jiff::civil::Date;
use jiff::tz::TimeZone;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, Ranged, ValueFormatter};
use std::ops::Range;

/// One axis: its range, and its ticks with their labels.
#[derive(Debug, Clone)]
pub(crate) struct Axis {
    lo: f64,
    hi: f64,
    logarithmic: bool,
    ticks: Vec<(f64, String)>,
}

const MICROS_A_SECOND: f64 = 1e6;
/// The most decades with written-out numbers. More of them would overlap.
const MAX_FULL_DECADES: f64 = 8.0;
const DAY: f64 = 86_400.0;

impl Axis {
    /// Round numbers, about `count` of them.
    pub(crate) fn linear(lo: f64, hi: f64, count: usize) -> Self {
        let (lo, hi) = widened(lo, hi);
        let step = round_step((hi - lo) / count as f64);
        // One digit more than the power of ten, for steps of 2.5; zeros at the end are not printed.
        let decimals = (1.0 - step.log10().floor()).max(0.0) as usize;
        let ticks = multiples(lo, hi, step).map(|tick| (tick, grouped(tick, decimals))).collect();
        Self { lo, hi, logarithmic: false, ticks }
    }

    /// Powers of ten, with numbers between them if there are few, and every third one in short form
    /// if there are many. The range must be positive.
    pub(crate) fn logarithmic(lo: f64, hi: f64) -> Self {
        let lo = lo.max(f64::MIN_POSITIVE);
        let hi = hi.max(lo * 1.1);
        let decades = (hi / lo).log10();
        let within: &[f64] = match decades {
            // An axis with only two or three numbers would look linear.
            ..1.0 => &[1.0, 1.5, 2.0, 3.0, 4.0, 5.0, 6.0, 8.0],
            ..3.0 => &[1.0, 2.0, 5.0],
            _ => &[1.0],
        };
        let is_long = decades > MAX_FULL_DECADES;
        let powers = lo.log10().floor() as i32..=hi.log10().ceil() as i32;
        let ticks = powers
            .filter(|power| !is_long || power.rem_euclid(3) == 0)
            .flat_map(|power| within.iter().map(move |&digit| (digit * 10_f64.powi(power), power)))
            .filter(|&(tick, _)| tick >= lo && tick <= hi)
            .map(|(tick, power)| match power {
                4.. if is_long => (tick, format!("10{}", raised(power))),
                _ => (tick, grouped(tick, (1 - power).max(0) as usize)),
            })
            .collect();
        Self { lo, hi, logarithmic: true, ticks }
    }

    /// Times in microseconds since 1970, ticks at whole minutes, hours, days, months or years of a zone.
    pub(crate) fn time(lo: f64, hi: f64, count: usize, zone: &Zone) -> Self {
        let (first, last) = widened(lo, hi);
        // Ticks are chosen by what the clocks show, and drawn where they show it.
        let local = |time: f64| zone.local_micros(time as i64).map_or(time, |local| local as f64);
        let (lo, hi) = if zone.is_utc() { (first, last) } else { (local(first), local(last)) };
        let wanted = (hi - lo) / MICROS_A_SECOND / count as f64;
        const STEPS: [f64; 16] = [
            1.0,
            5.0,
            15.0,
            30.0,
            60.0,
            300.0,
            900.0,
            1_800.0,
            3_600.0,
            3.0 * 3_600.0,
            6.0 * 3_600.0,
            12.0 * 3_600.0,
            DAY,
            2.0 * DAY,
            7.0 * DAY,
            14.0 * DAY,
        ];
        let ticks = match STEPS.into_iter().find(|&step| step >= wanted) {
            Some(step) => even_ticks(lo, hi, step),
            None => month_ticks(lo, hi, (wanted / (30.44 * DAY)).ceil() as i32),
        };
        let ticks = if zone.is_utc() {
            ticks
        } else {
            let placed =
                |(tick, label): (f64, String)| Some((zone.instant_of_local(tick as i64)? as f64, label));
            ticks.into_iter().filter_map(placed).collect()
        };
        Self { lo: first, hi: last, logarithmic: false, ticks }
    }
}

/// Ticks at even spacing, labelled by what changes between them. Weeks start on Mondays.
fn even_ticks(lo: f64, hi: f64, step: f64) -> Vec<(f64, String)> {
    const MONDAY: f64 = 4.0 * DAY;
    let pattern = match step {
        step if step < 60.0 => "%H:%M:%S",
        step if step < 3_600.0 => "%H:%M",
        step if step < DAY => "%-d %b %H:%M",
        _ => "%-d %b",
    };
    let micros = step * MICROS_A_SECOND;
    let shift = if step > 2.0 * DAY { MONDAY * MICROS_A_SECOND } else { 0.0 };
    multiples(lo - shift, hi - shift, micros)
        .map(|tick| tick + shift)
        .map(|tick| (tick, label(tick, pattern)))
        .collect()
}

/// Ticks at the start of months, or of years if there are many.
fn month_ticks(lo: f64, hi: f64, months: i32) -> Vec<(f64, String)> {
    let months =
        [1, 2, 3, 6, 12, 24, 60, 120, 600, 1_200, 6_000, 12_000].into_iter().find(|&step| step >= months);
    let months = months.unwrap_or(24_000);
    let Ok(first) = Timestamp::from_microsecond(lo as i64) else { return Vec::new() };
    let first = first.to_zoned(TimeZone::UTC).date();
    let mut month = (i32::from(first.year()) * 12 + i32::from(first.month()) - 1).div_euclid(months) * months;
    let pattern = if months < 12 { "%b %Y" } else { "%Y" };
    let mut ticks = Vec::new();
    while let Some(tick) = start_of_month(month).filter(|&tick| tick <= hi) {
        if tick >= lo {
            ticks.push((tick, label(tick, pattern)));
        }
        month += months;
    }
    ticks
}

fn start_of_month(month: i32) -> Option<f64> {
    let (year, month) =
        (i16::try_from(month.div_euclid(12)).ok()?, i8::try_from(month.rem_euclid(12)).ok()? + 1);
    let date = Date::new(year, month, 1).ok()?;
    let time = date.to_zoned(TimeZone::UTC).ok()?.timestamp();
    Some(time.as_microsecond() as f64)
}

fn label(micros: f64, pattern: &str) -> String {
    let time = Timestamp::from_microsecond(micros as i64);
    time.map_or_else(|_| String::new(), |time| time.to_zoned(TimeZone::UTC).strftime(pattern).to_string())
}

/// A range that is never empty.
fn widened(lo: f64, hi: f64) -> (f64, f64) {
    if hi > lo { (lo, hi) } else { (lo - 0.5, lo + 0.5) }
}

/// The nearest of 1, 2, 2.5 and 5 times a power of ten, in ratio.
fn round_step(wanted: f64) -> f64 {
    let power = 10_f64.powf(wanted.log10().floor());
    let ratio = |digit: &f64| (digit * power / wanted).ln().abs();
    let nearest = [1.0, 2.0, 2.5, 5.0, 10.0].into_iter().min_by(|a, b| ratio(a).total_cmp(&ratio(b)));
    nearest.unwrap_or(1.0) * power
}

fn multiples(lo: f64, hi: f64, step: f64) -> impl Iterator<Item = f64> {
    let first = (lo / step).ceil();
    // No plot needs more ticks than this.
    (0..200)
        .map(move |index| (first + f64::from(index)) * step)
        .take_while(move |&tick| tick <= hi * (1.0 + 1e-12))
}

/// A number as an exponent.
fn raised(number: i32) -> String {
    const DIGITS: [char; 10] = ['⁰', '¹', '²', '³', '⁴', '⁵', '⁶', '⁷', '⁸', '⁹'];
    number.to_string().chars().filter_map(|digit| DIGITS.get(digit.to_digit(10)? as usize)).collect()
}

/// A number with its thousands set apart.
pub(crate) fn grouped(number: f64, decimals: usize) -> String {
    let text = format!("{:.decimals$}", number.abs());
    let (whole, fraction) = text.split_once('.').unwrap_or((&text, ""));
    let mut grouped = String::new();
    for (index, digit) in whole.chars().enumerate() {
        if index > 0 && (whole.len() - index) % 3 == 0 {
            grouped.push(',');
        }
        grouped.push(digit);
    }
    let sign =
        if number < 0.0 && text.bytes().any(|byte| (b'1'..=b'9').contains(&byte)) { "−" } else { "" };
    let fraction = fraction.trim_end_matches('0');
    if fraction.is_empty() { format!("{sign}{grouped}") } else { format!("{sign}{grouped}.{fraction}") }
}

impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, limit: (i32, i32)) -> i32 {
        let share = if self.logarithmic {
            (value.max(self.lo) / self.lo).ln() / (self.hi / self.lo).ln()
        } else {
            (value - self.lo) / (self.hi - self.lo)
        };
        // Points outside the range stay within what a backend can draw.
        limit.0 + (share.clamp(-1.0, 2.0) * f64::from(limit.1 - limit.0)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, _hint: Hint) -> Vec<f64> {
        self.ticks.iter().map(|&(tick, _)| tick).collect()
    }

    fn range(&self) -> Range<f64> {
        self.lo..self.hi
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        self.ticks.iter().find(|(tick, _)| tick == value).map(|(_, label)| label.clone()).unwrap_or_default()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn labels(axis: &Axis) -> Vec<&str> {
        axis.ticks.iter().map(|(_, label)| label.as_str()).collect()
    }

    #[test]
    fn numbers_are_round_and_grouped() {
        assert_eq!(
            labels(&Axis::linear(-700.0, 2_100.0, 5)),
            ["−500", "0", "500", "1,000", "1,500", "2,000"]
        );
        assert_eq!(labels(&Axis::linear(0.0, 1.0, 4)), ["0", "0.25", "0.5", "0.75", "1"]);
        assert_eq!(grouped(1_234_567.5, 1), "1,234,567.5");
        assert_eq!(grouped(-0.001, 1), "0");
        assert!(!labels(&Axis::linear(5.0, 5.0, 4)).is_empty());
    }

    #[test]
    fn weeks_start_on_mondays_and_months_on_their_first() {
        let (from, utc) = (1_767_571_200e6, Zone::utc());
        assert_eq!(
            labels(&Axis::time(from, from + 15.0 * DAY * 1e6, 3, &utc)),
            ["5 Jan", "12 Jan", "19 Jan"]
        );
        assert_eq!(
            labels(&Axis::time(from, from + 100.0 * DAY * 1e6, 4, &utc)),
            ["Feb 2026", "Mar 2026", "Apr 2026"]
        );
        assert_eq!(
            labels(&Axis::time(from, from + 3_600e6, 4, &utc)),
            ["00:00", "00:15", "00:30", "00:45", "01:00"]
        );
    }

    /// In New York, months start five hours after those of UTC: a tick at midnight UTC would be before
    /// the axis.
    #[test]
    fn ticks_are_at_local_midnight() {
        for name in ["America/New_York", "Europe/Zurich", "UTC"] {
            let zone = Zone::named(name).unwrap();
            let start = |local: f64| zone.instant_of_local(local as i64).unwrap() as f64;
            let (first, last) = (start(1_767_225_600e6), start(1_796_083_200e6));
            let axis = Axis::time(first, last, 9, &zone);
            assert_eq!(labels(&axis)[..3], ["Jan 2026", "Mar 2026", "May 2026"], "{name}");
            assert_eq!(axis.ticks[0].0, first);
            assert_eq!((axis.lo, axis.hi), (first, last));
        }
    }

    #[test]
    fn powers_of_ten() {
        assert_eq!(labels(&Axis::logarithmic(1.0, 30_000.0)), ["1", "10", "100", "1,000", "10,000"]);
        assert_eq!(labels(&Axis::logarithmic(0.4, 6.0)), ["0.5", "1", "2", "5"]);
        assert_eq!(
            labels(&Axis::logarithmic(0.3, 2.0)),
            ["0.3", "0.4", "0.5", "0.6", "0.8", "1", "1.5", "2"]
        );
        assert_eq!(labels(&Axis::logarithmic(1.0, 2e12)), ["1", "1,000", "10⁶", "10⁹", "10¹²"]);
    }
}
