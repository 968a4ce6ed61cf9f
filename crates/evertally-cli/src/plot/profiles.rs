//! The standard error of every step, one curve per mechanism.

use super::axis::Axis;
use super::frame::{Line, beside, curves, head, legend};
use super::{Area, Backend, Chart, Drawn, Scale};

pub(crate) struct ProfileChart {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    /// The mechanism that would be chosen has a thicker curve.
    pub(crate) profiles: Vec<Line>,
}

const LEGEND_WIDTH: f64 = 270.0;

impl Chart for ProfileChart {
    fn draw<B: Backend>(&self, area: &Area<B>, scale: Scale) -> Drawn<B> {
        head(area, scale, &self.title, &self.subtitle)?;
        let (_, body) = area.split_vertically(scale.px(72.0));
        let (left, right) = beside(&body, scale, LEGEND_WIDTH);
        curves(&left, scale, self.axes(), ("step", "standard error"), &self.profiles)?;
        legend(&right, scale, &self.profiles)
    }
}

impl ProfileChart {
    fn axes(&self) -> (Axis, Axis) {
        let points = || self.profiles.iter().flat_map(|profile| &profile.points);
        let last = points().map(|&(step, _)| step).fold(1.0, f64::max);
        let hi = points().map(|&(_, error)| error).fold(0.0, f64::max);
        let lo = points().map(|&(_, error)| error).filter(|&error| error > 0.0).fold(hi, f64::min);
        (Axis::logarithmic(1.0, last), Axis::logarithmic(lo * 0.85, hi * 1.2))
    }
}
