//! The standard error of every step, one curve a mechanism.

use super::axis::Axis;
use super::{Chart, Drawn, FAINT_INK, GRID, INK, Scale, colour};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// One mechanism's curve.
pub(crate) struct Profile {
    pub(crate) name: String,
    /// Steps counted from zero, with the standard error there.
    pub(crate) errors: Vec<(u64, f64)>,
    /// The mechanism that would be taken is drawn thicker.
    pub(crate) chosen: bool,
}

pub(crate) struct ProfileChart {
    pub(crate) title: String,
    pub(crate) subtitle: String,
    pub(crate) profiles: Vec<Profile>,
}

const LEGEND_WIDTH: f64 = 270.0;
const LINE_HEIGHT: f64 = 24.0;

impl Chart for ProfileChart {
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
        let (_, body) = area.split_vertically(scale.px(72.0));
        let (width, _) = body.dim_in_pixel();
        let (curves, legend) = body.split_horizontally(width as i32 - scale.px(LEGEND_WIDTH));
        self.draw_curves(&curves, scale)?;
        self.draw_legend(&legend, scale)
    }
}

impl ProfileChart {
    fn draw_curves<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>, scale: Scale) -> Drawn<DB>
    where
        DB::ErrorType: 'static,
    {
        let points = || self.profiles.iter().flat_map(|profile| &profile.errors);
        let last = points().map(|&(step, _)| step + 1).max().unwrap_or(1);
        let hi = points().map(|&(_, error)| error).fold(0.0, f64::max);
        let lo = points().map(|&(_, error)| error).filter(|&error| error > 0.0).fold(hi, f64::min);
        let x_axis = Axis::logarithmic(1.0, last as f64);
        let y_axis = Axis::logarithmic(lo * 0.85, hi * 1.2);
        let mut chart = ChartBuilder::on(area)
            .margin_left(scale.px(12.0))
            .margin_right(scale.px(36.0))
            .margin_bottom(scale.px(8.0))
            .x_label_area_size(scale.px(52.0))
            .y_label_area_size(scale.px(84.0))
            .build_cartesian_2d(x_axis, y_axis)?;
        chart
            .configure_mesh()
            .axis_style(FAINT_INK.stroke_width(scale.line(1.0)))
            .bold_line_style(GRID.stroke_width(scale.line(1.0)))
            .light_line_style(TRANSPARENT)
            .label_style(scale.text(13.0, INK))
            .set_all_tick_mark_size(scale.px(4.0))
            .x_desc("step")
            .y_desc("standard error")
            .axis_desc_style(scale.text(15.0, INK))
            .draw()?;
        for (index, profile) in self.profiles.iter().enumerate() {
            let width = if profile.chosen { 3.2 } else { 1.6 };
            let curve = profile.errors.iter().map(|&(step, error)| ((step + 1) as f64, error));
            chart.draw_series(LineSeries::new(curve, colour(index).stroke_width(scale.line(width))))?;
        }
        Ok(())
    }

    fn draw_legend<DB: DrawingBackend>(&self, area: &DrawingArea<DB, Shift>, scale: Scale) -> Drawn<DB> {
        for (index, profile) in self.profiles.iter().enumerate() {
            let middle = scale.px(14.0 + LINE_HEIGHT * index as f64);
            let (left, sample) = (scale.px(6.0), scale.px(26.0));
            let width = if profile.chosen { 3.2 } else { 1.6 };
            let line = colour(index).stroke_width(scale.line(width));
            area.draw(&PathElement::new([(left, middle), (left + sample, middle)], line))?;
            let style = if profile.chosen { scale.bold(14.0, INK) } else { scale.text(14.0, INK) };
            let style = style.pos(Pos::new(HPos::Left, VPos::Center));
            area.draw(&Text::new(profile.name.clone(), (left + sample + scale.px(8.0), middle), style))?;
        }
        Ok(())
    }
}
