//! What several charts are made of: their head, their axes, and the names of their curves.

use super::axis::Axis;
use super::{Drawn, FAINT_INK, GRID, INK, Scale, colour};
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// How far from the left edge a chart's own words begin.
pub(super) const LEFT: f64 = 24.0;

const LINE_HEIGHT: f64 = 24.0;

/// The title, and a line below it.
pub(super) fn head<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    scale: Scale,
    title: &str,
    subtitle: &str,
) -> Drawn<DB> {
    let left = scale.px(LEFT);
    area.draw(&Text::new(title.to_owned(), (left, scale.px(16.0)), scale.bold(22.0, INK)))?;
    area.draw(&Text::new(subtitle.to_owned(), (left, scale.px(44.0)), scale.text(15.0, FAINT_INK)))
}

/// Axes with their names, and a grid.
pub(super) fn mesh<DB: DrawingBackend>(
    chart: &mut ChartContext<'_, DB, Cartesian2d<Axis, Axis>>,
    scale: Scale,
    across: &str,
    up: &str,
) -> Drawn<DB>
where
    DB::ErrorType: 'static,
{
    chart
        .configure_mesh()
        .axis_style(FAINT_INK.stroke_width(scale.line(1.0)))
        .bold_line_style(GRID.stroke_width(scale.line(1.0)))
        .light_line_style(TRANSPARENT)
        .label_style(scale.text(13.0, INK))
        .set_all_tick_mark_size(scale.px(4.0))
        .x_desc(across)
        .y_desc(up)
        .axis_desc_style(scale.text(15.0, INK))
        .draw()
}

/// One named curve.
pub(super) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) width: f64,
    /// Whether its name is to stand out.
    pub(super) is_bold: bool,
}

/// The area of curves, and to the right of it that of their names, of this width.
pub(super) fn beside<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    scale: Scale,
    legend_width: f64,
) -> (DrawingArea<DB, Shift>, DrawingArea<DB, Shift>) {
    let (width, _) = area.dim_in_pixel();
    area.split_horizontally(width as i32 - scale.px(legend_width))
}

/// Curves on axes with these names.
pub(super) fn curves<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    scale: Scale,
    axes: (Axis, Axis),
    names: (&str, &str),
    lines: &[Line],
) -> Drawn<DB>
where
    DB::ErrorType: 'static,
{
    let mut chart = ChartBuilder::on(area)
        .margin_left(scale.px(12.0))
        .margin_right(scale.px(36.0))
        .margin_bottom(scale.px(8.0))
        .x_label_area_size(scale.px(52.0))
        .y_label_area_size(scale.px(84.0))
        .build_cartesian_2d(axes.0, axes.1)?;
    mesh(&mut chart, scale, names.0, names.1)?;
    for (index, line) in lines.iter().enumerate() {
        let style = colour(index).stroke_width(scale.line(line.width));
        chart.draw_series(LineSeries::new(line.points.iter().copied(), style))?;
    }
    Ok(())
}

/// The names of curves, one below the other.
pub(super) fn legend<DB: DrawingBackend>(
    area: &DrawingArea<DB, Shift>,
    scale: Scale,
    lines: &[Line],
) -> Drawn<DB> {
    for (index, line) in lines.iter().enumerate() {
        let middle = scale.px(14.0 + LINE_HEIGHT * index as f64);
        let (left, sample) = (scale.px(6.0), scale.px(26.0));
        let style = colour(index).stroke_width(scale.line(line.width));
        area.draw(&PathElement::new([(left, middle), (left + sample, middle)], style))?;
        let style = if line.is_bold { scale.bold(14.0, INK) } else { scale.text(14.0, INK) };
        let style = style.pos(Pos::new(HPos::Left, VPos::Center));
        area.draw(&Text::new(line.name.clone(), (left + sample + scale.px(8.0), middle), style))?;
    }
    Ok(())
}
