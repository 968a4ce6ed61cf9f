//! The frame of a chart: title, axes and legend, and a panel of named lines.

use super::axis::Axis;
use super::{Area, Backend, Drawn, FAINT_INK, GRID, INK, Scale, colour};
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

/// The left margin of the text.
pub(super) const LEFT: f64 = 24.0;

const LINE_HEIGHT: f64 = 24.0;

/// The title, and a line below it.
pub(super) fn head<B: Backend>(area: &Area<B>, scale: Scale, title: &str, subtitle: &str) -> Drawn<B> {
    let left = scale.px(LEFT);
    area.draw(&Text::new(title.to_owned(), (left, scale.px(16.0)), scale.bold(22.0, INK)))?;
    area.draw(&Text::new(subtitle.to_owned(), (left, scale.px(44.0)), scale.text(15.0, FAINT_INK)))
}

/// A chart with these margins (right and below) and room for the labels of its axes (x and y).
pub(super) fn panel<'a, 'b, B: Backend>(
    area: &'a Area<B>,
    scale: Scale,
    margins: (f64, f64),
    labels: (f64, f64),
) -> ChartBuilder<'a, 'b, B> {
    let mut builder = ChartBuilder::on(area);
    builder.margin_left(scale.px(12.0)).margin_right(scale.px(margins.0)).margin_bottom(scale.px(margins.1));
    builder.x_label_area_size(scale.px(labels.0)).y_label_area_size(scale.px(labels.1));
    builder
}

/// Axes and a grid; the names of the axes across and up, if they have any.
pub(super) fn mesh<B: Backend>(
    chart: &mut ChartContext<'_, B, Cartesian2d<Axis, Axis>>,
    scale: Scale,
    names: Option<(&str, &str)>,
) -> Drawn<B> {
    let mut mesh = chart.configure_mesh();
    mesh.axis_style(FAINT_INK.stroke_width(scale.line(1.0)))
        .bold_line_style(GRID.stroke_width(scale.line(1.0)))
        .light_line_style(TRANSPARENT)
        .label_style(scale.text(13.0, INK))
        .set_all_tick_mark_size(scale.px(4.0));
    if let Some((across, up)) = names {
        mesh.x_desc(across).y_desc(up).axis_desc_style(scale.text(15.0, INK));
    }
    mesh.draw()
}

/// How an entry of a legend looks.
#[derive(Clone, Copy)]
pub(super) enum Sample {
    Line(RGBColor),
    Dashes(RGBColor),
    /// A filled box; the second number is its opacity.
    Box(RGBColor, f64),
}

/// A legend in one row, whose middle is this far below the top.
pub(super) fn legend_row<B: Backend>(
    area: &Area<B>,
    scale: Scale,
    middle: f64,
    entries: &[(&str, Sample)],
) -> Drawn<B> {
    let (middle, width, gap) = (scale.px(middle), scale.px(26.0), scale.px(8.0));
    let ink = scale.text(14.0, INK).pos(Pos::new(HPos::Left, VPos::Center));
    let stroke = |from: i32, to: i32, tone: RGBColor| {
        let style = tone.stroke_width(scale.line(2.0));
        area.draw(&PathElement::new([(from, middle), (to, middle)], style))
    };
    let mut at = scale.px(LEFT);
    for &(name, sample) in entries {
        match sample {
            Sample::Line(tone) => stroke(at, at + width, tone)?,
            Sample::Dashes(tone) => {
                for dash in 0..3 {
                    let start = at + scale.px(9.5 * f64::from(dash));
                    stroke(start, start + scale.px(6.5), tone)?;
                }
            }
            Sample::Box(tone, opacity) => {
                let corners = [(at, middle - scale.px(6.0)), (at + width, middle + scale.px(6.0))];
                area.draw(&Rectangle::new(corners, tone.mix(opacity).filled()))?;
            }
        }
        area.draw(&Text::new(name, (at + width + gap, middle), ink.clone()))?;
        let (text_width, _) = area.estimate_text_size(name, &ink)?;
        at += width + gap + text_width as i32 + scale.px(28.0);
    }
    Ok(())
}

/// One named curve.
pub(crate) struct Line {
    pub(super) name: String,
    pub(super) points: Vec<(f64, f64)>,
    pub(super) width: f64,
    /// Whether its name is in bold.
    pub(super) is_bold: bool,
}

impl Line {
    pub(crate) fn plain(name: &str, points: Vec<(f64, f64)>) -> Self {
        Self { name: name.to_owned(), points, width: 2.0, is_bold: false }
    }

    /// The standard errors of a mechanism. Steps count from zero.
    pub(crate) fn profile(name: impl Into<String>, errors: &[(u64, f64)], is_chosen: bool) -> Self {
        Self {
            name: name.into(),
            points: errors.iter().map(|&(step, error)| ((step + 1) as f64, error)).collect(),
            width: if is_chosen { 3.2 } else { 1.6 },
            is_bold: is_chosen,
        }
    }
}

/// Splits an area into one for curves and, to the right, one of this width for their names.
pub(super) fn beside<B: Backend>(area: &Area<B>, scale: Scale, legend_width: f64) -> (Area<B>, Area<B>) {
    let (width, _) = area.dim_in_pixel();
    area.split_horizontally(width as i32 - scale.px(legend_width))
}

/// Curves on axes with these names.
pub(super) fn curves<B: Backend>(
    area: &Area<B>,
    scale: Scale,
    axes: (Axis, Axis),
    names: (&str, &str),
    lines: &[Line],
) -> Drawn<B> {
    let mut chart = panel(area, scale, (36.0, 8.0), (52.0, 84.0)).build_cartesian_2d(axes.0, axes.1)?;
    mesh(&mut chart, scale, Some(names))?;
    for (index, line) in lines.iter().enumerate() {
        let style = colour(index).stroke_width(scale.line(line.width));
        chart.draw_series(LineSeries::new(line.points.iter().copied(), style))?;
    }
    Ok(())
}

/// A legend with one line per curve.
pub(super) fn legend<B: Backend>(area: &Area<B>, scale: Scale, lines: &[Line]) -> Drawn<B> {
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
