//! Canaries: distinctive secrets, and a search for them in all output.
//!
//! The search covers every form in which a secret could leak: as text in several bases, with and
//! without separators, and as bytes. Any six consecutive bytes of a key are enough.
#![allow(dead_code, reason = "each test file uses its own part")]

/// A count that is unlike anything else.
pub(crate) const COUNT: u64 = 918_273_645;

/// A key that is unlike anything else.
pub(crate) const KEY: [u8; 32] = [
    0xC7, 0x3A, 0x91, 0x5E, 0xE4, 0x0B, 0xD8, 0x66, 0xA9, 0x1F, 0xBE, 0x72, 0x85, 0xF3, 0x4C, 0xDD, 0x2B,
    0x97, 0x60, 0xFA, 0x18, 0xCE, 0x53, 0xB4, 0x7D, 0xE1, 0x0A, 0x8F, 0x36, 0xC9, 0x59, 0xA2,
];

/// The number of bytes that reveal a key.
const WINDOW: usize = 6;

/// The forms of one secret, each with a name and its bytes.
pub(crate) struct Canary {
    forms: Vec<(String, Vec<u8>)>,
}

impl Canary {
    /// An integer.
    pub(crate) fn number(value: u64) -> Self {
        let mut forms = Vec::new();
        let mut text = |name: &str, text: String| forms.push((name.to_owned(), text.into_bytes()));
        let digits = value.to_string();
        for separator in [",", "_", ".", " ", "'", "\u{a0}", "\u{202f}"] {
            text(&format!("decimal grouped by {separator:?}"), grouped(&digits, separator));
        }
        let scientific = format!("{value:e}");
        text("scientific", scientific.to_uppercase());
        text("scientific", scientific);
        text("hexadecimal", format!("{value:x}"));
        text("hexadecimal", format!("{value:X}"));
        text("binary digits", format!("{value:b}"));
        text("bits of a double", (value as f64).to_bits().to_string());
        text("bits of a double in hexadecimal", format!("{:x}", (value as f64).to_bits()));
        text("decimal", digits);
        let mut bytes = |name: &str, bytes: &[u8]| forms.push((name.to_owned(), bytes.to_vec()));
        bytes("64 bits", &value.to_le_bytes());
        bytes("64 bits, high byte first", &value.to_be_bytes());
        bytes("a double", &(value as f64).to_le_bytes());
        bytes("a double, high byte first", &(value as f64).to_be_bytes());
        Self { forms }
    }

    /// A real number, such as raw noise.
    pub(crate) fn real(value: f64) -> Self {
        let magnitude = value.abs();
        // All digits except the last few, which another notation may round.
        let digits = magnitude.to_string().chars().take(12).collect::<String>();
        let scientific = format!("{magnitude:e}").chars().take(12).collect::<String>();
        let forms = [
            ("decimal", digits.into_bytes()),
            ("scientific", scientific.into_bytes()),
            ("bits", value.to_bits().to_string().into_bytes()),
            ("bits in hexadecimal", format!("{:x}", value.to_bits()).into_bytes()),
            ("a double", value.to_le_bytes().to_vec()),
            ("a double, high byte first", value.to_be_bytes().to_vec()),
        ];
        Self { forms: forms.into_iter().map(|(name, form)| (name.to_owned(), form)).collect() }
    }

    /// A key.
    pub(crate) fn key(key: [u8; 32]) -> Self {
        let mut forms = Vec::new();
        for window in key.windows(WINDOW) {
            forms.push(("bytes".to_owned(), window.to_vec()));
            let joined = |each: &dyn Fn(&u8) -> String, separator: &str| {
                window.iter().map(each).collect::<Vec<_>>().join(separator).into_bytes()
            };
            for separator in ["", " ", ":", ", ", ","] {
                let name = |base: &str| format!("{base} joined by {separator:?}");
                forms.push((name("hexadecimal"), joined(&|byte| format!("{byte:02x}"), separator)));
                forms.push((name("HEXADECIMAL"), joined(&|byte| format!("{byte:02X}"), separator)));
                forms.push((name("0x"), joined(&|byte| format!("0x{byte:02x}"), separator)));
                if !separator.is_empty() {
                    forms.push((name("decimal"), joined(&u8::to_string, separator)));
                }
            }
            let escaped = window.escape_ascii().to_string();
            forms.push(("escaped".to_owned(), escaped.into_bytes()));
        }
        // Base 64 of the key, at every offset within a longer text.
        for skipped in 0..3 {
            for alphabet in [BASE_64, BASE_64_OF_ADDRESSES] {
                let text = base_64(&key[skipped..], alphabet);
                for window in text.windows(12) {
                    forms.push(("base 64".to_owned(), window.to_vec()));
                }
            }
        }
        for word in key.as_chunks::<4>().0 {
            forms.push(("32-bit words".to_owned(), u32::from_le_bytes(*word).to_string().into_bytes()));
            forms.push(("32-bit words".to_owned(), u32::from_be_bytes(*word).to_string().into_bytes()));
        }
        for word in key.as_chunks::<8>().0 {
            forms.push(("64-bit words".to_owned(), u64::from_le_bytes(*word).to_string().into_bytes()));
        }
        Self { forms }
    }

    /// The form in which the secret occurs in these bytes, if it does.
    pub(crate) fn found_in(&self, bytes: &[u8]) -> Option<&str> {
        let stands = |form: &[u8]| bytes.windows(form.len()).any(|window| window == form);
        self.forms.iter().find(|(_, form)| stands(form)).map(|(name, _)| name.as_str())
    }

    /// Fails if the secret occurs in these bytes.
    #[track_caller]
    pub(crate) fn must_not_be_in(&self, bytes: &[u8], place: &str) {
        if let Some(form) = self.found_in(bytes) {
            panic!("a canary sings in {place}: {form}");
        }
    }

    /// Every form, for tests that plant the secret.
    pub(crate) fn forms(&self) -> impl Iterator<Item = (&str, &[u8])> {
        self.forms.iter().map(|(name, form)| (name.as_str(), form.as_slice()))
    }
}

fn grouped(digits: &str, separator: &str) -> String {
    let groups: Vec<&str> = digits
        .as_bytes()
        .rchunks(3)
        .rev()
        .map(|group| std::str::from_utf8(group).unwrap_or_default())
        .collect();
    groups.join(separator)
}

const BASE_64: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
const BASE_64_OF_ADDRESSES: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-_";

fn base_64(bytes: &[u8], alphabet: &[u8; 64]) -> Vec<u8> {
    let triples = bytes
        .chunks_exact(3)
        .map(|three| (u32::from(three[0]) << 16) | (u32::from(three[1]) << 8) | u32::from(three[2]));
    triples.flat_map(|bits| [18, 12, 6, 0].map(|shift| alphabet[(bits >> shift & 63) as usize])).collect()
}
