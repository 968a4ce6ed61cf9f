//! A field of white noise: one draw for every (index, lane).
//!
//! A mechanism consumes draws by index and never keeps one it could make again. Several lanes advance together: the coordinates
//! of a vector share one stream, laid out index by index; the keys of a keyed counter have a stream each, so that a key's
//! noise does not depend on which other keys were declared.

use std::ops::Range;

use zeroize::Zeroize;

use super::real::Real;
use super::white::WhiteNoise;

/// Independent unit-variance draws g\[index, lane\].
pub trait WhiteField: Send + Sync {
    /// The number of lanes.
    fn width(&self) -> usize;

    /// Writes the draws `first, first + 1, …` of some lanes, index by index; `out` holds a whole number of indices.
    fn tile(&self, first: u64, lanes: Range<usize>, out: &mut [f64]);

    /// The same draws, rounded to single precision.
    fn tile_f32(&self, first: u64, lanes: Range<usize>, out: &mut [f32]) {
        let mut doubles = vec![0.0; out.len()];
        self.tile(first, lanes, &mut doubles);
        for (value, double) in out.iter_mut().zip(&doubles) {
            *value = *double as f32;
        }
        doubles.zeroize();
    }

    /// Whether a lane must have the same noise, bit for bit, however many others there are.
    fn is_family(&self) -> bool {
        false
    }

    /// Writes the draw with this index for every lane.
    fn draw(&self, index: u64, out: &mut [f64]) {
        self.tile(index, 0..self.width(), out);
    }

    /// Writes the draws `first, first + 1, …` of one lane.
    fn column(&self, lane: usize, first: u64, out: &mut [f64]) {
        self.tile(first, lane..lane + 1, out);
    }
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

/// Draws fetched at a time when few coordinates of several are wanted.
const STRIDED_BLOCK: usize = 1 << 12;

impl WhiteField for VectorField {
    fn width(&self) -> usize {
        self.width
    }

    fn tile(&self, first: u64, lanes: Range<usize>, out: &mut [f64]) {
        self.tile_of(first, lanes, out);
    }

    fn tile_f32(&self, first: u64, lanes: Range<usize>, out: &mut [f32]) {
        self.tile_of(first, lanes, out);
    }
}

impl VectorField {
    fn tile_of<F: Real>(&self, first: u64, lanes: Range<usize>, out: &mut [F]) {
        if lanes.len() == self.width {
            return self.noise.fill_parallel(self.first(first), out);
        }
        // Where rows are short, whole ones are fetched together and the lanes picked out.
        let rows = STRIDED_BLOCK / self.width;
        if rows > 1 {
            let mut block = vec![F::ZERO; rows * self.width];
            for (chunk, values) in out.chunks_mut(rows * lanes.len()).enumerate() {
                let block = &mut block[..values.len() / lanes.len() * self.width];
                self.noise.fill(self.first(first + (chunk * rows) as u64), block);
                for (values, row) in values.chunks_mut(lanes.len()).zip(block.chunks(self.width)) {
                    values.copy_from_slice(&row[lanes.clone()]);
                }
            }
            return;
        }
        for (index, row) in (first..).zip(out.chunks_mut(lanes.len())) {
            self.noise.fill(self.first(index) + lanes.start as u64, row);
        }
    }
}

/// One stream for each key.
pub struct KeyedField {
    streams: Vec<WhiteNoise>,
}

impl KeyedField {
    /// A field with one lane for each stream.
    #[must_use]
    pub fn new(streams: Vec<WhiteNoise>) -> Self {
        Self { streams }
    }
}

impl WhiteField for KeyedField {
    fn width(&self) -> usize {
        self.streams.len()
    }

    fn is_family(&self) -> bool {
        true
    }

    fn tile(&self, first: u64, lanes: Range<usize>, out: &mut [f64]) {
        let streams = &self.streams[lanes];
        for (index, row) in (first..).zip(out.chunks_mut(streams.len())) {
            for (value, stream) in row.iter_mut().zip(streams) {
                *value = stream.draw(index);
            }
        }
    }

    fn column(&self, lane: usize, first: u64, out: &mut [f64]) {
        self.streams[lane].fill_parallel(first, out);
    }
}
