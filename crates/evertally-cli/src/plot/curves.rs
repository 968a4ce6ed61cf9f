//! Curves over steps, on axes of plain numbers.

use super::axis::Axis;
use super::{Chart, Drawn, FAINT_INK, GRID, INK, Scale, WARNING, colour};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// One curve.
pub(crate) struct Curve {
    pub(crate) name: String,
    /// Steps with the value after them.
    pub(crate) points: Vec<(f64, f64)>,
}

pub(crate) struct CurveChart {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    /// What must be said of the picture, in the colour of warnings.
    pub(crate) warning: Option<String>,
    pub(crate) across: String,
    pub(crate) up: String,
    pub(crate) curves: Vec<Curve>,
}

const LEGEND_WIDTH: f64 = 230.0;
const LINE_HEIGHT: f64 = 24.0;
/// The share of the height that stays empty above and below the curves.
const ROOM: f64 = 0.06;

impl Chart for CurveChart {
    fn size(&self) -> (u32, u32) {
        (1200, 600)
    }

    fn draw<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>, scale: Scale) -> Drawn<DB>
    where
        DB::ErrorType: 'static,
    {
        area.fill(&WHITE)?;
        let left = scale.px(24.0);
        area.draw(&Text::new(self.title.clone(), (left, scale.px(16.0)), scale.bold(22.0, INK)))?;
        area.draw(&Text::new(self.subtitle.clone(), (left, scale.px(44.0)), scale.text(15.0, FAINT_INK)))?;
        let mut head = 72.0;
        if let Some(warning) = &self.warning {
            area.draw(&Text::new(warning.clone(), (left, scale.px(66.0)), scale.text(15.0, WARNING)))?;
            head = 94.0;
        }
        let (_, body) = area.split_vertically(scale.px(head));
        let (width, _) = body.dim_in_pixel();
        let (curves, legend) = body.split_horizontally(width as i32 - scale.px(LEGEND_WIDTH));
        self.draw_curves(&curves, scale)?;
        self.draw_legend(&legend, scale)
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

    fn draw_curves<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>, scale: Scale) -> Drawn<DB>
    where
        DB::ErrorType: 'static,
    {
        if self.curves.iter().all(|curve| curve.points.is_empty()) {
            return Ok(());
        }
        let (across, up) = self.ranges();
        let axes = (Axis::linear(across.0, across.1, 8), Axis::linear(up.0, up.1, 6));
        let mut chart = ChartBuilder::on(area)
            .margin_left(scale.px(12.0))
            .margin_right(scale.px(36.0))
            .margin_bottom(scale.px(8.0))
            .x_label_area_size(scale.px(52.0))
            .y_label_area_size(scale.px(84.0))
            .build_cartesian_2d(axes.0, axes.1)?;
        chart
            .configure_mesh()
            .axis_style(FAINT_INK.stroke_width(scale.line(1.0)))
            .bold_line_style(GRID.stroke_width(scale.line(1.0)))
            .light_line_style(TRANSPARENT)
            .label_style(scale.text(13.0, INK))
            .set_all_tick_mark_size(scale.px(4.0))
            .x_desc(self.across.as_str())
            .y_desc(self.up.as_str())
            .axis_desc_style(scale.text(15.0, INK))
            .draw()?;
        for (index, curve) in self.curves.iter().enumerate() {
            let line = colour(index).stroke_width(scale.line(2.0));
            chart.draw_series(LineSeries::new(curve.points.iter().copied(), line))?;
        }
        Ok(())
    }

    fn draw_legend<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>, scale: Scale) -> Drawn<DB> {
        for (index, curve) in self.curves.iter().enumerate() {
            let middle = scale.px(14.0 + LINE_HEIGHT * index as f64);
            let (left, sample) = (scale.px(6.0), scale.px(26.0));
            let line = colour(index).stroke_width(scale.line(2.0));
            area.draw(&PathElement::new([(left, middle), (left + sample, middle)], line))?;
            let style = scale.text(14.0, INK).pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(curve.name.clone(), (left + sample + scale.px(8.0), middle), style))?;
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use super::super::{PlotFormat, render};
    use super::*;

    fn chart(curves: Vec<Curve>) -> CurveChart {
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
        let curve = |points: &[(f64, f64)]| Curve { name: "one".to_owned(), points: points.to_vec() };
        let (across, up) = chart(vec![curve(&[(0.0, 1.0), (9.0, -1.0)]), curve(&[(4.0, 3.0)])]).ranges();
        assert_eq!(across, (0.0, 9.0));
        assert!(up.0 < -1.0 && up.1 > 3.0);
    }

    #[test]
    fn nothing_and_one_point_are_drawn() {
        for points in [vec![], vec![(0.0, 1.0)]] {
            let svg =
                render(&chart(vec![Curve { name: "one".to_owned(), points }]), PlotFormat::Svg).unwrap();
            let text = String::from_utf8(svg).unwrap();
            assert!(text.contains("a title") && text.contains("a warning"), "{text}");
        }
    }
}
