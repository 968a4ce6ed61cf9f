//! Curves over steps, on axes of plain numbers.

use super::axis::Axis;
use super::frame::{LEFT, Line, beside, curves, head, legend};
use super::{Area, Backend, Chart, Drawn, Scale, WARNING};
use plotters::prelude::*;

pub(crate) struct CurveChart {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    /// A line in the colour of warnings.
    pub(crate) warning: Option<String>,
    pub(crate) across: String,
    pub(crate) up: String,
    pub(crate) curves: Vec<Line>,
}

const LEGEND_WIDTH: f64 = 230.0;
/// The empty share of the height above and below the curves.
const ROOM: f64 = 0.06;

impl Chart for CurveChart {
    fn draw<B: Backend>(&self, area: &Area<B>, scale: Scale) -> Drawn<B> {
        head(area, scale, &self.title, &self.subtitle)?;
        let mut below = 72.0;
        if let Some(warning) = &self.warning {
            let place = (scale.px(LEFT), scale.px(66.0));
            area.draw(&Text::new(warning.clone(), place, scale.text(15.0, WARNING)))?;
            below = 94.0;
        }
        let (_, body) = area.split_vertically(scale.px(below));
        let (left, right) = beside(&body, scale, LEGEND_WIDTH);
        if self.curves.iter().any(|curve| !curve.points.is_empty()) {
            let (across, up) = self.ranges();
            let axes = (Axis::linear(across.0, across.1, 8), Axis::linear(up.0, up.1, 6));
            curves(&left, scale, axes, (&self.across, &self.up), &self.curves)?;
        }
        legend(&right, scale, &self.curves)
    }
}

impl CurveChart {
    /// The ranges that hold every point, with some room above and below.
    fn ranges(&self) -> ((f64, f64), (f64, f64)) {
        let points = || self.curves.iter().flat_map(|curve| &curve.points);
        let range = |values: &mut dyn Iterator<Item = f64>| {
            values.fold((f64::INFINITY, f64::NEG_INFINITY), |(lo, hi), value| (lo.min(value), hi.max(value)))
        };
        let across = range(&mut points().map(|point| point.0));
        let (lo, hi) = range(&mut points().map(|point| point.1));
        let room = ROOM * (hi - lo);
        (across, (lo - room, hi + room))
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PlotFormat, render};
    use super::*;

    fn chart(curves: Vec<Line>) -> CurveChart {
        CurveChart {
            title: "a title".to_owned(),
            subtitle: "a subtitle".to_owned(),
            warning: Some("a warning".to_owned()),
            across: "step".to_owned(),
            up: "loss".to_owned(),
            curves,
        }
    }

    #[test]
    fn ranges_hold_every_point() {
        let curve = |points: &[(f64, f64)]| Line::plain("one", points.to_vec());
        let (across, up) = chart(vec![curve(&[(0.0, 1.0), (9.0, -1.0)]), curve(&[(4.0, 3.0)])]).ranges();
        assert_eq!(across, (0.0, 9.0));
        assert!(up.0 < -1.0 && up.1 > 3.0);
    }

    #[test]
    fn nothing_and_one_point_are_drawn() {
        for points in [vec![], vec![(0.0, 1.0)]] {
            let svg = render(&chart(vec![Line::plain("one", points)]), PlotFormat::Svg).unwrap();
            let text = String::from_utf8(svg).unwrap();
            assert!(text.contains("a title") && text.contains("a warning"), "{text}");
        }
    }
}
