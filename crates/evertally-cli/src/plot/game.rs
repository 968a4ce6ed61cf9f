//! Two neighbouring streams, told apart by a statistic: its distribution on both, and the errors of
//! every threshold.

use super::axis::Axis;
use super::frame::{Sample, head, legend_row, mesh, panel};
use super::{Area, Backend, Chart, Drawn, FAINT_INK, INK, Scale, WARNING, colour};
use plotters::prelude::*;

pub(crate) struct GameChart {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    /// Values of the statistic on one stream, in declared standard deviations.
    pub(crate) without: Vec<f64>,
    /// Values on its neighbour.
    pub(crate) with: Vec<f64>,
    /// The declared distance between the two.
    pub(crate) separation: f64,
    pub(crate) epsilon: f64,
    pub(crate) delta: f64,
    /// Whether the declared noise is Gaussian, so that normal curves are drawn.
    pub(crate) is_gaussian: bool,
}

const HEAD: f64 = 100.0;
const MARGINS: (f64, f64) = (28.0, 8.0);
const LABELS: (f64, f64) = (52.0, 70.0);
/// Bars per standard deviation.
const BARS: f64 = 4.0;
/// Points of a smooth curve.
const POINTS: i32 = 200;

type Series<'a> = [(&'static str, &'a [f64], RGBColor); 2];

impl Chart for GameChart {
    fn draw<B: Backend>(&self, area: &Area<B>, scale: Scale) -> Drawn<B> {
        let (head, body) = area.split_vertically(scale.px(HEAD));
        self.draw_head(&head, scale)?;
        let (width, _) = body.dim_in_pixel();
        let (spread, errors) = body.split_horizontally((0.56 * f64::from(width)) as i32);
        self.draw_spread(&spread, scale)?;
        self.draw_errors(&errors, scale)
    }
}

impl GameChart {
    fn series(&self) -> Series<'_> {
        [("without the person", &self.without, colour(0)), ("with the person", &self.with, colour(1))]
    }

    fn draw_head<B: Backend>(&self, area: &Area<B>, scale: Scale) -> Drawn<B> {
        head(area, scale, &self.title, &self.subtitle)?;
        let [without, with] = self.series().map(|(name, _, tone)| (name, Sample::Box(tone, 0.45)));
        let errors = ("errors of every threshold", Sample::Line(INK));
        let forbidden = ("forbidden by the budget", Sample::Box(WARNING, 0.16));
        legend_row(area, scale, 80.0, &[without, with, errors, forbidden])
    }

    /// Bars for what was measured, curves for what is declared.
    fn draw_spread<B: Backend>(&self, area: &Area<B>, scale: Scale) -> Drawn<B> {
        let bars = self.series().map(|(_, values, _)| bars(values));
        let ends = bars.iter().flatten().map(|bar| bar.0);
        let (lo, hi) =
            ends.fold((-3.0_f64, 3.0_f64), |(lo, hi), end| (lo.min(end), hi.max(end + 1.0 / BARS)));
        let (lo, hi) = (lo.max(-40.0), hi.min(40.0));
        let highest = bars.iter().flatten().map(|bar| bar.1).fold(density(0.0), f64::max);
        let axes = (Axis::linear(lo, hi, 8), Axis::linear(0.0, 1.06 * highest, 5));
        let mut chart = panel(area, scale, MARGINS, LABELS).build_cartesian_2d(axes.0, axes.1)?;
        mesh(&mut chart, scale, Some(("statistic, in declared standard deviations", "density")))?;
        for ((_, _, tone), bars) in self.series().iter().zip(&bars) {
            let rectangles = bars.iter().map(|&(left, height)| {
                Rectangle::new([(left, 0.0), (left + 1.0 / BARS, height)], tone.mix(0.35).filled())
            });
            chart.draw_series(rectangles)?;
        }
        let centres = if self.is_gaussian { &[0.0, self.separation][..] } else { &[] };
        for ((_, _, tone), centre) in self.series().iter().zip(centres) {
            let x = |i: i32| lo + (hi - lo) * f64::from(i) / f64::from(POINTS);
            let curve = (0..=POINTS).map(|i| (x(i), density(x(i) - centre)));
            chart.draw_series(LineSeries::new(curve, tone.stroke_width(scale.line(2.0))))?;
        }
        Ok(())
    }

    /// The two errors of every threshold, and the errors that (ε, δ) forbids.
    fn draw_errors<B: Backend>(&self, area: &Area<B>, scale: Scale) -> Drawn<B> {
        let axes = (Axis::linear(0.0, 1.0, 5), Axis::linear(0.0, 1.0, 5));
        let mut chart = panel(area, scale, MARGINS, LABELS).build_cartesian_2d(axes.0, axes.1)?;
        mesh(
            &mut chart,
            scale,
            Some(("false alarms: said with, was without", "misses: said without, was with")),
        )?;
        let growth = self.epsilon.exp();
        let least = |x: f64| (1.0 - self.delta - growth * x).max((1.0 - self.delta - x) / growth).max(0.0);
        let edge = (0..=POINTS).map(|i| f64::from(i) / f64::from(POINTS)).map(|x| (x, least(x)));
        let forbidden: Vec<_> = edge.clone().chain([(1.0, 0.0), (0.0, 0.0)]).collect();
        chart.draw_series(std::iter::once(Polygon::new(forbidden, WARNING.mix(0.16).filled())))?;
        chart.draw_series(LineSeries::new(edge, WARNING.stroke_width(scale.line(1.2))))?;
        let guess = [(0.0, 1.0), (1.0, 0.0)];
        chart.draw_series(LineSeries::new(guess, FAINT_INK.stroke_width(scale.line(1.0))))?;
        let errors = errors(&self.without, &self.with);
        chart.draw_series(LineSeries::new(errors, INK.stroke_width(scale.line(2.0))))?;
        Ok(())
    }
}

/// The density of a standard normal.
fn density(x: f64) -> f64 {
    (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt()
}

/// Left ends and heights of the bars of a histogram whose area is one.
fn bars(values: &[f64]) -> Vec<(f64, f64)> {
    let mut counts = std::collections::BTreeMap::new();
    for value in values.iter().filter(|value| value.is_finite()) {
        *counts.entry((value * BARS).floor() as i64).or_insert(0_u32) += 1;
    }
    let height = |count: u32| f64::from(count) * BARS / values.len() as f64;
    counts.into_iter().map(|(bar, count)| (bar as f64 / BARS, height(count))).collect()
}

/// The shares of false alarms and misses as the threshold falls from above all values to below them.
fn errors(without: &[f64], with: &[f64]) -> Vec<(f64, f64)> {
    let mut all: Vec<(f64, bool)> =
        without.iter().map(|&value| (value, false)).chain(with.iter().map(|&value| (value, true))).collect();
    all.sort_by(|a, b| b.0.total_cmp(&a.0));
    let (mut alarms, mut misses) = (0.0, 1.0);
    let mut curve = vec![(alarms, misses)];
    for tied in all.chunk_by(|a, b| a.0 == b.0) {
        for (_, is_with) in tied {
            if *is_with { misses -= 1.0 / with.len() as f64 } else { alarms += 1.0 / without.len() as f64 }
        }
        curve.push((alarms, misses));
    }
    curve
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn errors_fall_from_all_misses_to_all_false_alarms() {
        assert_eq!(errors(&[0.0, 1.0], &[1.0, 2.0]), [(0.0, 1.0), (0.0, 0.5), (0.5, 0.0), (1.0, 0.0)]);
    }

    #[test]
    fn bars_have_area_one() {
        let bars = bars(&[0.1, 0.2, -0.1, 7.0]);
        assert_eq!(bars, [(-0.25, 1.0), (0.0, 2.0), (7.0, 1.0)]);
        assert!((bars.iter().map(|bar| bar.1 / BARS).sum::<f64>() - 1.0).abs() < 1e-12);
    }
}
