//! The standard error of every step, one curve per mechanism.

use super::axis::Axis;
use super::frame::{Line, beside, curves, head, legend};
use super::{Area, Backend, Chart, Drawn, Scale};

/// One mechanism's curve.
pub(crate) struct Profile {
    pub(crate) name: String,
    /// Steps counted from zero, with the standard error there.
    pub(crate) errors: Vec<(u64, f64)>,
    /// The mechanism that would be chosen has a thicker curve.
    pub(crate) chosen: bool,
}

pub(crate) struct ProfileChart {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) profiles: Vec<Profile>,
}

const LEGEND_WIDTH: f64 = 270.0;

impl Chart for ProfileChart {
    fn draw<B: Backend>(&self, area: &Area<B>, scale: Scale) -> Drawn<B> {
        head(area, scale, &self.title, &self.subtitle)?;
        let (_, body) = area.split_vertically(scale.px(72.0));
        let lines: Vec<Line> = self.profiles.iter().map(Profile::line).collect();
        let (left, right) = beside(&body, scale, LEGEND_WIDTH);
        curves(&left, scale, self.axes(), ("step", "standard error"), &lines)?;
        legend(&right, scale, &lines)
    }
}

impl Profile {
    fn line(&self) -> Line {
        Line {
            name: self.name.clone(),
            points: self.errors.iter().map(|&(step, error)| ((step + 1) as f64, error)).collect(),
            width: if self.chosen { 3.2 } else { 1.6 },
            is_bold: self.chosen,
        }
    }
}

impl ProfileChart {
    fn axes(&self) -> (Axis, Axis) {
        let points = || self.profiles.iter().flat_map(|profile| &profile.errors);
        let last = points().map(|&(step, _)| step + 1).max().unwrap_or(1);
        let hi = points().map(|&(_, error)| error).fold(0.0, f64::max);
        let lo = points().map(|&(_, error)| error).filter(|&error| error > 0.0).fold(hi, f64::min);
        (Axis::logarithmic(1.0, last as f64), Axis::logarithmic(lo * 0.85, hi * 1.2))
    }
}
