//! Private running totals with their 95 % intervals: one panel per group.

use super::axis::Axis;
use super::frame::{Sample, head, legend_row, mesh, panel};
use super::{Area, Backend, Chart, Drawn, FAINT_INK, INK, Scale, WARNING, colour};
use evertally_stream::Zone;
use plotters::prelude::*;

/// A picture with more panels is unreadable. The file has all groups.
const MAX_PANELS: usize = 12;

/// One point of a curve.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Point {
    /// The start of the bucket in microseconds since 1970, or the step.
    pub(crate) x: f64,
    /// `None` where there is an interval and no estimate.
    pub(crate) value: Option<f64>,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    /// The true total. Present only if the user asked for a plot that is not private.
    pub(crate) truth_not_private: Option<f64>,
}

/// The picture of a whole run.
pub(crate) struct EstimateChart {
    pub(crate) title: String,
    /// Budget and mechanism.
    pub(crate) subtitle: String,
    /// The zone of the time axis, if steps have times.
    pub(crate) times: Option<Zone>,
    /// Whether zero is visible, so that the height of a curve shows its size.
    pub(crate) shows_zero: bool,
    /// Panels with their names; a single total has no name.
    pub(crate) panels: Vec<(Option<String>, Vec<Point>)>,
}

const HEAD: f64 = 92.0;

impl EstimateChart {
    fn shown(&self) -> &[(Option<String>, Vec<Point>)] {
        &self.panels[..self.panels.len().min(MAX_PANELS)]
    }

    /// Columns and rows of panels.
    fn grid(&self) -> (usize, usize) {
        let count = self.shown().len().max(1);
        let columns = match count {
            1 => 1,
            2..=6 => 2,
            _ => 3,
        };
        (columns, count.div_ceil(columns))
    }

    fn shows_truth(&self) -> bool {
        self.panels.iter().any(|(_, points)| points.iter().any(|point| point.truth_not_private.is_some()))
    }
}

impl Chart for EstimateChart {
    fn size(&self) -> (u32, u32) {
        let (columns, rows) = self.grid();
        let panel_height = if rows == 1 { 420 } else { 230 };
        (if columns == 3 { 1320 } else { 1080 }, HEAD as u32 + panel_height * rows as u32)
    }

    fn draw<B: Backend>(&self, area: &Area<B>, scale: Scale) -> Drawn<B> {
        let (head, body) = area.split_vertically(scale.px(HEAD));
        self.draw_head(&head, scale)?;
        let (columns, rows) = self.grid();
        let cells = body.split_evenly((rows, columns));
        for (index, ((name, points), cell)) in self.shown().iter().zip(&cells).enumerate() {
            self.draw_panel(cell, scale, name.as_deref(), points, colour(index))?;
        }
        Ok(())
    }
}

impl EstimateChart {
    fn draw_head<B: Backend>(&self, area: &Area<B>, scale: Scale) -> Drawn<B> {
        let hidden = self.panels.len() - self.shown().len();
        let more = if hidden > 0 { format!(" · {hidden} further groups not drawn") } else { String::new() };
        let subtitle = format!("{}{more}", self.subtitle);
        head(area, scale, &self.title, &subtitle)?;
        let mut entries =
            vec![("private estimate", Sample::Line(INK)), ("95 % interval", Sample::Box(FAINT_INK, 0.3))];
        if self.shows_truth() {
            entries.push(("true total: NOT PRIVATE", Sample::Dashes(WARNING)));
        }
        legend_row(area, scale, 76.0, &entries)
    }

    fn draw_panel<B: Backend>(
        &self,
        area: &Area<B>,
        scale: Scale,
        name: Option<&str>,
        points: &[Point],
        tone: RGBColor,
    ) -> Drawn<B> {
        let (x_axis, (bottom, top), y_axis) = self.axes(points);
        let mut builder = panel(area, scale, (26.0, 6.0), (34.0, 76.0));
        builder.margin_top(scale.px(8.0));
        if let Some(name) = name {
            builder.caption(name, scale.bold(16.0, tone));
        }
        let mut chart = builder.build_cartesian_2d(x_axis, y_axis)?;
        mesh(&mut chart, scale, None)?;
        // The band is one polygon: along the upper ends, and back along the lower ones.
        let upper = points.iter().map(|point| (point.x, point.upper.min(top)));
        let lower = points.iter().rev().map(|point| (point.x, point.lower.max(bottom)));
        let band: Vec<_> = upper.chain(lower).collect();
        chart.draw_series(std::iter::once(Polygon::new(band, tone.mix(0.22).filled())))?;
        // The curve has a gap where there is no estimate.
        for run in points.chunk_by(|one, next| one.value.is_some() && next.value.is_some()) {
            let curve = run.iter().filter_map(|point| Some((point.x, point.value?)));
            chart.draw_series(LineSeries::new(curve, tone.stroke_width(scale.line(1.6))))?;
        }
        let truth: Vec<_> =
            points.iter().filter_map(|point| point.truth_not_private.map(|truth| (point.x, truth))).collect();
        if !truth.is_empty() {
            let line = WARNING.stroke_width(scale.line(1.2));
            chart.draw_series(DashedLineSeries::new(
                truth,
                scale.px(5.0) as u32,
                scale.px(3.0) as u32,
                line,
            ))?;
        }
        Ok(())
    }

    /// The axis of time, the visible range of values, and its axis.
    fn axes(&self, points: &[Point]) -> (Axis, (f64, f64), Axis) {
        let first = points.first().map_or(0.0, |point| point.x);
        let last = points.last().map_or(1.0, |point| point.x);
        let (columns, rows) = self.grid();
        let (across, up) = (if columns == 1 { 9 } else { 5 }, if rows == 1 { 7 } else { 4 });
        let x_axis = match &self.times {
            Some(zone) => Axis::time(first, last, across, zone),
            None => Axis::linear(first, last, across),
        };
        // An interval without an estimate says next to nothing, and would make all others look small.
        let has_values = points.iter().any(|point| point.value.is_some());
        let shown = points.iter().filter(|point| point.value.is_some() || !has_values);
        let ends = shown.flat_map(|point| {
            [Some(point.lower), Some(point.upper), point.value, point.truth_not_private].into_iter().flatten()
        });
        // An interval without an end reaches to the edge of the panel.
        let ends = ends.filter(|end| end.is_finite());
        let ends: Vec<f64> = ends.chain((self.shows_zero || points.is_empty()).then_some(0.0)).collect();
        let ends = if ends.is_empty() { vec![0.0, 1.0] } else { ends };
        let (lo, hi) = ends
            .into_iter()
            .fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), end| (lo.min(end), hi.max(end)));
        let room = if hi > lo { 0.04 * (hi - lo) } else { 0.5 * lo.abs().max(1.0) };
        let bottom = if self.shows_zero && lo >= 0.0 { 0.0 } else { lo - room };
        (x_axis, (bottom, hi + room), Axis::linear(bottom, hi + room, up))
    }
}
