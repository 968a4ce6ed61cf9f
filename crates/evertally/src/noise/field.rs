//! A field of white noise: one draw for every (index, lane).
//!
//! A mechanism reads draws by index and never stores a draw that it could recompute. Several lanes
//! advance together. The coordinates of a vector share one stream, laid out index by index. The
//! keys of a keyed counter are distinguished by a tag of their name, so that a key's noise does not
//! depend on the other declared keys.

use std::ops::Range;
use std::sync::Arc;

use rayon::prelude::*;
use zeroize::Zeroize;

use super::keyed::{KeyedNoise, LaneTag, Tagger};
use super::keystream::wipe;
use super::real::Real;
use super::white::WhiteNoise;
use crate::{Error, Result};

/// Independent unit-variance draws g\[index, lane\].
pub trait WhiteField: Send + Sync {
    /// The number of lanes.
    fn width(&self) -> usize;

    /// Writes the draws `first, first + 1, …` of some lanes, index by index. The length of `out`
    /// must be a multiple of the number of lanes.
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

    /// Whether a lane must have the same noise, bit for bit, for any number of other lanes.
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

/// The coordinates of one vector. Draw (i, c) is number i·width + c of a single stream.
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

    /// The number of the first draw with this index. It panics on overflow, because starting over
    /// would use noise twice.
    fn first(&self, index: u64) -> u64 {
        index.checked_mul(self.width as u64).expect("plans check that all draws have a number")
    }
}

/// Draws fetched at a time when whole rows are fetched because most of their lanes are needed.
const STRIDED_BLOCK: usize = 1 << 12;

/// Unneeded draws that are made per row rather than starting again within the row.
const SPARE: usize = 32;

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
        // Short rows are fetched whole, several at a time, and the lanes are picked out.
        let rows = STRIDED_BLOCK / self.width;
        if rows > 1 && self.width <= lanes.len() + SPARE {
            let mut block = vec![F::ZERO; rows * self.width];
            for (chunk, values) in out.chunks_mut(rows * lanes.len()).enumerate() {
                let block = &mut block[..values.len() / lanes.len() * self.width];
                self.noise.fill(self.first(first + (chunk * rows) as u64), block);
                for (values, row) in values.chunks_mut(lanes.len()).zip(block.chunks(self.width)) {
                    values.copy_from_slice(&row[lanes.clone()]);
                }
            }
            return wipe(&mut block);
        }
        for (index, row) in (first..).zip(out.chunks_mut(lanes.len())) {
            self.noise.fill(self.first(index) + lanes.start as u64, row);
        }
    }
}

/// Some lanes of another field, with the same draws as in that field. What is computed from these
/// lanes is then the same as what is computed from all lanes and restricted to these.
pub(crate) struct SliceField {
    parent: Arc<dyn WhiteField>,
    lanes: Range<usize>,
}

impl SliceField {
    /// The given lanes of a field, which must have them.
    pub(crate) fn new(parent: Arc<dyn WhiteField>, lanes: Range<usize>) -> Self {
        debug_assert!(lanes.start < lanes.end && lanes.end <= parent.width(), "lanes that the field has");
        Self { parent, lanes }
    }

    fn in_parent(&self, lanes: &Range<usize>) -> Range<usize> {
        self.lanes.start + lanes.start..self.lanes.start + lanes.end
    }
}

impl WhiteField for SliceField {
    fn width(&self) -> usize {
        self.lanes.len()
    }

    fn tile(&self, first: u64, lanes: Range<usize>, out: &mut [f64]) {
        self.parent.tile(first, self.in_parent(&lanes), out);
    }

    fn tile_f32(&self, first: u64, lanes: Range<usize>, out: &mut [f32]) {
        self.parent.tile_f32(first, self.in_parent(&lanes), out);
    }

    /// One lane of several must run in the same way as the several, not as a field of one lane
    /// does.
    fn is_family(&self) -> bool {
        self.parent.is_family() || (self.lanes.len() == 1 && self.parent.width() > 1)
    }

    fn column(&self, lane: usize, first: u64, out: &mut [f64]) {
        self.parent.column(self.lanes.start + lane, first, out);
    }
}

/// One lane per key, all on one stream. A lane is identified by the tag of its name.
pub(crate) struct KeyedField {
    noise: KeyedNoise,
    tags: Vec<LaneTag>,
}

impl KeyedField {
    /// A field with one lane per name.
    ///
    /// # Errors
    /// [`Error::BadParameter`] if two names have the same tag, because they would share their
    /// noise. With a million names this happens with probability below 2⁻⁴⁹.
    pub(crate) fn new<'a>(noise: KeyedNoise, names: impl IntoIterator<Item = &'a str>) -> Result<Self> {
        Ok(Self { tags: distinct_tags(noise.tagger(), names)?, noise })
    }
}

/// The tags of these names. Refuses names of which two have the same tag.
pub(super) fn distinct_tags<'a>(
    mut tagger: Tagger,
    names: impl IntoIterator<Item = &'a str>,
) -> Result<Vec<LaneTag>> {
    let tags: Vec<LaneTag> = names.into_iter().map(|name| tagger.tag(name.as_bytes())).collect();
    let mut sorted: Vec<[u8; 11]> = tags.iter().map(|tag| tag.to_bytes()).collect();
    sorted.par_sort_unstable();
    if sorted.windows(2).any(|pair| pair[0] == pair[1]) {
        let expected = "with distinct tags, because two keys with one tag would share their noise (take another noise key)";
        return Err(Error::bad("keys", expected, "two with one tag"));
    }
    Ok(tags)
}

/// Lanes or draws that one thread makes at a time.
const DRAWS_PER_THREAD: usize = 1 << 12;

impl KeyedField {
    fn tile_of<F: Real>(&self, first: u64, lanes: Range<usize>, out: &mut [F]) {
        let tags = &self.tags[lanes];
        if out.len() == tags.len() && tags.len() > DRAWS_PER_THREAD {
            let parts = tags.par_chunks(DRAWS_PER_THREAD).zip(out.par_chunks_mut(DRAWS_PER_THREAD));
            return parts.for_each(|(tags, out)| self.noise.draw_each(tags, first, out));
        }
        self.noise.draw_steps(tags, first, out.len() / tags.len(), out);
    }
}

impl WhiteField for KeyedField {
    fn width(&self) -> usize {
        self.tags.len()
    }

    fn is_family(&self) -> bool {
        true
    }

    fn tile(&self, first: u64, lanes: Range<usize>, out: &mut [f64]) {
        self.tile_of(first, lanes, out);
    }

    fn tile_f32(&self, first: u64, lanes: Range<usize>, out: &mut [f32]) {
        self.tile_of(first, lanes, out);
    }

    fn column(&self, lane: usize, first: u64, out: &mut [f64]) {
        let parts = out.par_chunks_mut(DRAWS_PER_THREAD).enumerate();
        parts.for_each(|(part, out)| {
            self.noise.fill(self.tags[lane], first + (part * DRAWS_PER_THREAD) as u64, out);
        });
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::NoiseKey;

    #[test]
    fn keys_that_share_a_tag_are_refused() {
        let noise = || KeyedNoise::gaussian(NoiseKey::insecure_from_seed(1).stream(b"test"));
        // Two names that share a tag cannot be found, so the test uses the same name twice.
        assert!(KeyedField::new(noise(), ["a", "b", "a"]).is_err());
        assert!(KeyedField::new(noise(), ["a", "b", "c"]).is_ok());
    }

    #[test]
    fn lanes_of_a_vector_are_parts_of_its_rows() {
        for width in [1, 2, 33, 34, 100, 1025, 1500, 5000] {
            let white = WhiteNoise::gaussian(NoiseKey::insecure_from_seed(1).stream(b"test"));
            let field = VectorField::new(white, width);
            let mut rows = vec![0.0; 5 * width];
            field.tile(7, 0..width, &mut rows);
            for lanes in [0..1, 0..width.div_ceil(2), width / 3..width, width - 1..width] {
                let mut part = vec![0.0; 5 * lanes.len()];
                field.tile(7, lanes.clone(), &mut part);
                let want = rows.chunks(width).flat_map(|row| &row[lanes.clone()]);
                assert!(part.iter().eq(want), "{lanes:?} of {width}");
            }
        }
    }

    #[test]
    fn rows_tiles_and_columns_are_the_same_draws() {
        let names: Vec<String> = (0..5000).map(|i| format!("key {i}")).collect();
        let noise = KeyedNoise::gaussian(NoiseKey::insecure_from_seed(1).stream(b"test"));
        let field = KeyedField::new(noise, names.iter().map(String::as_str)).unwrap();
        let mut rows = vec![0.0; 3 * 5000];
        field.tile(6, 0..5000, &mut rows);
        let mut row = vec![0.0; 5000];
        field.draw(8, &mut row);
        assert_eq!(row, rows[10_000..]);
        let mut column = [0.0; 3];
        field.column(4321, 6, &mut column);
        assert_eq!(column, [rows[4321], rows[9321], rows[14_321]]);
        let mut long = vec![0.0; 9000];
        field.column(17, 0, &mut long);
        assert_eq!(long[8], row[17]);
    }
}
