//! A field of white noise: one draw for every (index, coordinate).
//!
//! A mechanism consumes draws by index and never keeps one it could make again. Several coordinates advance
//! together: those of a vector share one stream, laid out index by index; the keys of a keyed counter have a
//! stream each, so that a key's noise does not depend on which other keys were declared.

use super::white::WhiteNoise;

/// Independent unit-variance draws g\[index, coordinate\].
pub trait WhiteField: Send + Sync {
    /// The number of coordinates.
    fn width(&self) -> usize;

    /// Writes the draw with this index for every coordinate.
    fn draw(&self, index: u64, out: &mut [f64]);

    /// Writes the draws `first, first + 1, …` of one coordinate.
    fn column(&self, coordinate: usize, first: u64, out: &mut [f64]);
}

/// The coordinates of one vector: draw (i, c) is number i·width + c of a single stream.
pub struct VectorField {
    noise: WhiteNoise,
    width: usize,
}

impl VectorField {
    /// A field of `width` coordinates on one stream.
    #[must_use]
    pub fn new(noise: WhiteNoise, width: usize) -> Self {
        Self { noise, width }
    }

    /// The number of the first draw with this index. Starting over would use noise twice, so it is refused loudly.
    fn first(&self, index: u64) -> u64 {
        index.checked_mul(self.width as u64).expect("plans check that all draws have a number")
    }
}

/// Draws fetched at a time when one coordinate of several is wanted.
const STRIDED_BLOCK: usize = 1 << 14;

impl WhiteField for VectorField {
    fn width(&self) -> usize {
        self.width
    }

    fn draw(&self, index: u64, out: &mut [f64]) {
        self.noise.fill(self.first(index), out);
    }

    fn column(&self, coordinate: usize, first: u64, out: &mut [f64]) {
        if self.width == 1 {
            return self.noise.fill_parallel(first, out);
        }
        let rows = (STRIDED_BLOCK / self.width).max(1);
        let mut block = vec![0.0; rows * self.width];
        for (chunk, values) in out.chunks_mut(rows).enumerate() {
            let start = self.first(first + (chunk * rows) as u64);
            let block = &mut block[..values.len() * self.width];
            self.noise.fill(start, block);
            for (value, row) in values.iter_mut().zip(block.chunks(self.width)) {
                *value = row[coordinate];
            }
        }
    }
}

/// One stream for each key.
pub struct KeyedField {
    streams: Vec<WhiteNoise>,
}

impl KeyedField {
    /// A field with one coordinate for each stream.
    #[must_use]
    pub fn new(streams: Vec<WhiteNoise>) -> Self {
        Self { streams }
    }
}

impl WhiteField for KeyedField {
    fn width(&self) -> usize {
        self.streams.len()
    }

    fn draw(&self, index: u64, out: &mut [f64]) {
        for (value, stream) in out.iter_mut().zip(&self.streams) {
            *value = stream.draw(index);
        }
    }

    fn column(&self, coordinate: usize, first: u64, out: &mut [f64]) {
        self.streams[coordinate].fill_parallel(first, out);
    }
}
