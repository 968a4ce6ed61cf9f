//! Choices made by bytes: a target's input determines its operations, so that libFuzzer can change
//! them one by one.

/// Numbers at which behaviour changes: signs, limits of integers and of doubles, infinities and
/// NaN.
pub const EDGES: [f64; 28] = [
    0.0,
    -0.0,
    1.0,
    -1.0,
    0.5,
    0.1,
    -7.25,
    100.0,
    918_273_645.0,
    9_007_199_254_740_992.0,
    9_007_199_254_740_994.0,
    -9_007_199_254_740_993.0,
    i64::MAX as f64,
    i64::MIN as f64,
    u64::MAX as f64,
    1.329_227_995_784_916e36,
    -1.4e36,
    1e18,
    1e300,
    -1e300,
    1e-300,
    f64::MIN_POSITIVE,
    5e-324,
    f64::MAX,
    f64::MIN,
    f64::INFINITY,
    f64::NEG_INFINITY,
    f64::NAN,
];

/// Bytes that are read from the front. After the last byte, every choice is the first alternative.
#[derive(Debug, Clone)]
pub struct Choices<'a> {
    bytes: &'a [u8],
}

impl<'a> Choices<'a> {
    /// Choices from these bytes.
    #[must_use]
    pub fn new(bytes: &'a [u8]) -> Self {
        Self { bytes }
    }

    /// Whether all bytes are used.
    #[must_use]
    pub fn are_used(&self) -> bool {
        self.bytes.is_empty()
    }

    /// All remaining bytes.
    #[must_use]
    pub fn rest(&self) -> &'a [u8] {
        self.bytes
    }

    /// One byte.
    pub fn byte(&mut self) -> u8 {
        let (first, rest) = self.bytes.split_first().unwrap_or((&0, &[]));
        self.bytes = rest;
        *first
    }

    /// A number below `end`, of one byte.
    pub fn below(&mut self, end: usize) -> usize {
        usize::from(self.byte()) % end
    }

    /// One of several.
    pub fn one_of<T: Clone>(&mut self, values: &[T]) -> T {
        values[self.below(values.len())].clone()
    }

    /// A boolean, with equal probabilities.
    pub fn flag(&mut self) -> bool {
        self.byte() & 1 == 1
    }

    /// Any 64 bits.
    pub fn word(&mut self) -> u64 {
        u64::from_le_bytes(std::array::from_fn(|_| self.byte()))
    }

    /// Any double: an edge, a small integer, or arbitrary bits.
    pub fn real(&mut self) -> f64 {
        match self.byte() {
            200.. => f64::from_bits(self.word()),
            byte @ 100.. => EDGES[usize::from(byte) % EDGES.len()],
            byte => f64::from(byte),
        }
    }
}
