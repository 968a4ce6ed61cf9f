//! Plots as SVG or PNG, with embedded fonts.

mod axis;
mod bitmap;
mod curves;
mod estimates;
mod frame;
mod game;
mod profiles;
mod thinning;
mod trade_off;

pub(crate) use axis::grouped;
pub(crate) use curves::CurveChart;
pub(crate) use estimates::{EstimateChart, Point};
pub(crate) use frame::Line;
pub(crate) use game::GameChart;
pub(crate) use profiles::ProfileChart;
pub(crate) use thinning::Thinned;
pub(crate) use trade_off::{TradeOffChart, cross};

use crate::error::{CliError, Result};
use crate::panic_guard::without_panic;
use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::register_font;
use std::path::Path;

/// The name of the embedded fonts. SVG viewers use their own font of this family.
const FAMILY: &str = "sans-serif";

/// Coordinates are integers. Drawn at four times the size, curves are smooth to a quarter of a
/// pixel.
const VECTOR_SCALE: f64 = 4.0;

/// Bitmaps are drawn at twice the size, so that they are sharp on dense screens and in print.
const BITMAP_SCALE: f64 = 2.0;

const INK: RGBColor = RGBColor(0x22, 0x26, 0x2B);
const FAINT_INK: RGBColor = RGBColor(0x6B, 0x72, 0x7B);
const GRID: RGBColor = RGBColor(0xE3, 0xE6, 0xEA);
const WARNING: RGBColor = RGBColor(0xB0, 0x1E, 0x1E);

/// Colours that colour-blind readers can distinguish (Okabe and Ito), then darker ones for long lists.
const COLOURS: [u32; 13] = [
    0x0072B2, 0xD55E00, 0x009E73, 0xCC79A7, 0xE69F00, 0x56B4E9, 0x5B3F99, 0x8C564B, 0x4D4D4D, 0x6B8E23,
    0xB2225C, 0x2F6F6F, 0x9A6B00,
];

fn colour(index: usize) -> RGBColor {
    let [_, red, green, blue] = COLOURS[index % COLOURS.len()].to_be_bytes();
    RGBColor(red, green, blue)
}

/// The formats of pictures.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum PlotFormat {
    Svg,
    Png,
}

impl PlotFormat {
    /// The format for a file's extension. Call it before any work, so that a wrong name costs
    /// nothing.
    pub(crate) fn of(path: &Path) -> Result<Self> {
        let ending = path.extension().and_then(|ending| ending.to_str()).unwrap_or_default();
        match ending.to_ascii_lowercase().as_str() {
            "svg" => Ok(Self::Svg),
            "png" => Ok(Self::Png),
            _ => Err(CliError::bad(format!(
                "--plot: expected a file that ends in .svg or .png, got {}",
                path.display()
            ))),
        }
    }
}

/// What charts are drawn on. plotters requires errors without borrowed data.
pub(crate) trait Backend: DrawingBackend<ErrorType: 'static> {}

impl<B: DrawingBackend<ErrorType: 'static>> Backend for B {}

type Area<B> = DrawingArea<B, Shift>;

type Drawn<B> = std::result::Result<(), DrawingAreaErrorKind<<B as DrawingBackend>::ErrorType>>;

/// Something that can be drawn on any backend, at any scale.
pub(crate) trait Chart {
    /// Width and height at scale 1, in pixels.
    fn size(&self) -> (u32, u32) {
        (1200, 600)
    }

    /// Draws on an area that is white.
    fn draw<B: Backend>(&self, area: &Area<B>, scale: Scale) -> Drawn<B>;
}

/// Turns lengths at scale 1 into pixels.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Scale(f64);

impl Scale {
    fn px(self, length: f64) -> i32 {
        (length * self.0).round() as i32
    }

    fn line(self, width: f64) -> u32 {
        (width * self.0).round().max(1.0) as u32
    }

    fn text(self, size: f64, colour: RGBColor) -> TextStyle<'static> {
        (FAMILY, size * self.0).into_font().color(&colour)
    }

    fn bold(self, size: f64, colour: RGBColor) -> TextStyle<'static> {
        // The style must be given here: a font that was made plain keeps its plain glyphs.
        (FAMILY, size * self.0, FontStyle::Bold).into_font().color(&colour)
    }
}

/// Renders a chart to the bytes of a picture.
pub(crate) fn render(chart: &impl Chart, format: PlotFormat) -> Result<Vec<u8>> {
    let fonts: [(FontStyle, &'static [u8]); 2] = [
        (FontStyle::Normal, include_bytes!("../../assets/DejaVuSans-subset.ttf")),
        (FontStyle::Bold, include_bytes!("../../assets/DejaVuSans-Bold-subset.ttf")),
    ];
    for (style, bytes) in fonts {
        register_font(FAMILY, style, bytes).map_err(|_| cannot_draw("an embedded font is damaged"))?;
    }
    let drawn = without_panic(|| match format {
        PlotFormat::Svg => render_svg(chart),
        PlotFormat::Png => render_png(chart),
    });
    drawn.unwrap_or_else(|| Err(cannot_draw("drawing failed")))
}

fn scaled((width, height): (u32, u32), scale: f64) -> (u32, u32) {
    ((f64::from(width) * scale) as u32, (f64::from(height) * scale) as u32)
}

fn draw<B: Backend>(chart: &impl Chart, area: &Area<B>, scale: f64) -> Result<()> {
    area.fill(&WHITE)
        .and_then(|()| chart.draw(area, Scale(scale)))
        .and_then(|()| area.present())
        .map_err(cannot_draw)
}

fn render_svg(chart: &impl Chart) -> Result<Vec<u8>> {
    let (width, height) = chart.size();
    let (wide, high) = scaled((width, height), VECTOR_SCALE);
    let mut text = String::new();
    {
        let area = SVGBackend::with_string(&mut text, (wide, high)).into_drawing_area();
        draw(chart, &area, VECTOR_SCALE)?;
    }
    // The coordinates stay large; only the displayed size is reduced.
    let drawn_size = format!(r#"width="{wide}" height="{high}" viewBox"#);
    let shown_size = format!(r#"width="{width}" height="{height}" viewBox"#);
    Ok(text.replacen(&drawn_size, &shown_size, 1).into_bytes())
}

fn render_png(chart: &impl Chart) -> Result<Vec<u8>> {
    let (width, height) = scaled(chart.size(), BITMAP_SCALE);
    let mut pixels = vec![0xFF; width as usize * height as usize * 3];
    {
        let backend = BitMapBackend::with_buffer(&mut pixels, (width, height));
        let area = bitmap::TidyBitmap(backend).into_drawing_area();
        draw(chart, &area, BITMAP_SCALE)?;
    }
    encode_png(&pixels, width, height).map_err(cannot_draw)
}

fn encode_png(pixels: &[u8], width: u32, height: u32) -> std::result::Result<Vec<u8>, png::EncodingError> {
    let mut bytes = Vec::new();
    let mut encoder = png::Encoder::new(&mut bytes, width, height);
    encoder.set_color(png::ColorType::Rgb);
    encoder.set_depth(png::BitDepth::Eight);
    let mut writer = encoder.write_header()?;
    writer.write_image_data(pixels)?;
    writer.finish()?;
    Ok(bytes)
}

fn cannot_draw(reason: impl std::fmt::Display) -> CliError {
    CliError::Failure(format!("the plot cannot be drawn: {reason}"))
}
