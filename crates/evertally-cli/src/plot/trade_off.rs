//! Two errors against each other: a curve of what can be had, and single points beside it.

use super::axis::Axis;
use super::frame::{Line, beside, curves, head, legend};
use super::{Area, Backend, Chart, Drawn, Scale};

pub(crate) struct TradeOffChart {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) across: String,
    pub(crate) up: String,
    pub(crate) lines: Vec<Line>,
}

const LEGEND_WIDTH: f64 = 270.0;

impl Chart for TradeOffChart {
    fn draw<B: Backend>(&self, area: &Area<B>, scale: Scale) -> Drawn<B> {
        head(area, scale, &self.title, &self.subtitle)?;
        let (_, body) = area.split_vertically(scale.px(72.0));
        let (left, right) = beside(&body, scale, LEGEND_WIDTH);
        let axes = (self.axis(|point| point.0), self.axis(|point| point.1));
        curves(&left, scale, axes, (&self.across, &self.up), &self.lines)?;
        legend(&right, scale, &self.lines)
    }
}

impl TradeOffChart {
    /// A logarithmic axis with some room at both ends.
    fn axis(&self, coordinate: impl Fn(&(f64, f64)) -> f64) -> Axis {
        let values = || self.lines.iter().flat_map(|line| &line.points).map(&coordinate);
        let (lo, hi) = (values().fold(f64::INFINITY, f64::min), values().fold(0.0, f64::max));
        Axis::logarithmic(lo * 0.9, hi * 1.1)
    }
}

/// A cross at a point, as one line. Its arms have the same length on logarithmic axes.
pub(crate) fn cross(name: &str, (x, y): (f64, f64)) -> Line {
    const ARM: f64 = 1.02;
    let points = vec![(x / ARM, y), (x * ARM, y), (x, y), (x, y / (ARM * ARM)), (x, y * ARM * ARM)];
    Line::plain(name, points)
}
