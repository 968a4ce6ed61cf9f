//! A bitmap backend that places text correctly and keeps the width of lines.

use plotters::prelude::BitMapBackend;
use plotters_backend::{
    BackendColor, BackendCoord, BackendStyle, BackendTextStyle, DrawingBackend, DrawingErrorKind,
    FontTransform,
};

/// How far the glyph renderer sets text above its place, as a share of the font size: it puts the
/// baseline half a size below the top of a box that it reports as only 0.8 sizes high.
const TEXT_IS_TOO_HIGH_BY: f64 = 0.15;

/// Forwards everything to [`BitMapBackend`], except that text moves down to the middle of its line,
/// and that a path is drawn segment by segment: drawn as one outline, a jagged curve becomes too
/// thin at its sharp turns.
pub(crate) struct TidyBitmap<'a>(pub(crate) BitMapBackend<'a>);

type Outcome<'a> = Result<(), DrawingErrorKind<<BitMapBackend<'a> as DrawingBackend>::ErrorType>>;

impl<'a> DrawingBackend for TidyBitmap<'a> {
    type ErrorType = <BitMapBackend<'a> as DrawingBackend>::ErrorType;

    fn get_size(&self) -> (u32, u32) {
        self.0.get_size()
    }

    fn ensure_prepared(&mut self) -> Outcome<'a> {
        self.0.ensure_prepared()
    }

    fn present(&mut self) -> Outcome<'a> {
        self.0.present()
    }

    fn draw_pixel(&mut self, point: BackendCoord, colour: BackendColor) -> Outcome<'a> {
        self.0.draw_pixel(point, colour)
    }

    fn draw_line<S: BackendStyle>(&mut self, from: BackendCoord, to: BackendCoord, style: &S) -> Outcome<'a> {
        self.0.draw_line(from, to, style)
    }

    fn draw_rect<S: BackendStyle>(
        &mut self,
        upper_left: BackendCoord,
        bottom_right: BackendCoord,
        style: &S,
        fill: bool,
    ) -> Outcome<'a> {
        self.0.draw_rect(upper_left, bottom_right, style, fill)
    }

    fn draw_path<S: BackendStyle, I: IntoIterator<Item = BackendCoord>>(
        &mut self,
        path: I,
        style: &S,
    ) -> Outcome<'a> {
        let mut previous = None;
        for point in path {
            if let Some(from) = previous.replace(point) {
                self.0.draw_line(from, point, style)?;
            }
        }
        Ok(())
    }

    fn draw_text<S: BackendTextStyle>(&mut self, text: &str, style: &S, (x, y): BackendCoord) -> Outcome<'a> {
        let shift = (style.size() * TEXT_IS_TOO_HIGH_BY).round() as i32;
        let place = match style.transform() {
            FontTransform::None => (x, y + shift),
            FontTransform::Rotate90 => (x - shift, y),
            FontTransform::Rotate180 => (x, y - shift),
            FontTransform::Rotate270 => (x + shift, y),
        };
        self.0.draw_text(text, style, place)
    }
}
