//! The canonical byte encoding of fields and values.
//!
//! | bytes | content |
//! |---|---|
//! | 4 | four letters that identify the kind of content |
//! | 1 | version |
//! | 1 + 8 + k | each field: its number, the length of its value, the value |
//!
//! Fields are in ascending order of their numbers, and absent fields are left out. Integers and
//! lengths are little-endian, 8 bytes each. A real is the 8 bytes of a double, with −0 written as
//! 0. A text is its length and its UTF-8 bytes. A choice is one byte.

/// Collects fields. It is public for crates that define what is counted, because they use the same
/// encoding.
///
/// ```
/// use evertally::internals::noise_name::{Fields, Value};
/// let mut fields = Fields::new(*b"MINE", 1);
/// fields.put(1, Value::new().text("visits").real(0.5));
/// fields.put(4, Value::new().code(2));
/// assert_eq!(fields.into_bytes().len(), 5 + (9 + 8 + 6 + 8) + (9 + 1));
/// ```
#[derive(Debug, Clone)]
pub struct Fields {
    bytes: Vec<u8>,
    last: u8,
}

impl Fields {
    /// Starts an encoding without fields. Four letters and a version identify the content.
    #[must_use]
    pub fn new(magic: [u8; 4], version: u8) -> Self {
        let mut bytes = magic.to_vec();
        bytes.push(version);
        Self { bytes, last: 0 }
    }

    /// Adds a field.
    ///
    /// # Panics
    /// If its number is not above that of the field before. The order is part of the encoding and
    /// is fixed in the caller's code.
    pub fn put(&mut self, number: u8, value: Value) {
        assert!(number > self.last, "fields stand in ascending order");
        self.last = number;
        self.bytes.push(number);
        self.bytes.extend((value.0.len() as u64).to_le_bytes());
        self.bytes.extend(value.0);
    }

    /// The encoding.
    #[must_use]
    pub fn into_bytes(self) -> Vec<u8> {
        self.bytes
    }
}

/// The value of a field: choices, numbers and texts, one after the other.
#[derive(Debug, Clone, Default)]
pub struct Value(Vec<u8>);

impl Value {
    /// An empty value.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// A choice by its number.
    #[must_use]
    pub fn code(mut self, code: u8) -> Self {
        self.0.push(code);
        self
    }

    /// An unsigned integer.
    #[must_use]
    pub fn integer(mut self, number: u64) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    /// A signed integer.
    #[must_use]
    pub fn signed(mut self, number: i64) -> Self {
        self.0.extend(number.to_le_bytes());
        self
    }

    /// A real number, bit for bit. −0 counts as 0.
    #[must_use]
    pub fn real(mut self, number: f64) -> Self {
        // Adding zero turns −0 into 0 and changes no other number.
        self.0.extend((number + 0.0).to_bits().to_le_bytes());
        self
    }

    /// A text with its length.
    #[must_use]
    pub fn text(self, text: &str) -> Self {
        self.bytes(text.as_bytes())
    }

    /// Bytes with their length.
    #[must_use]
    pub fn bytes(self, bytes: &[u8]) -> Self {
        self.integer(bytes.len() as u64).raw(bytes)
    }

    /// Bytes whose length is fixed by the field.
    #[must_use]
    pub fn raw(mut self, bytes: &[u8]) -> Self {
        self.0.extend(bytes);
        self
    }
}
