//! NumPy's `.npy` files: one array of numbers.
//!
//! The format is a magic string, a version, the length of a header, the header (a Python dictionary
//! with the type, the order and the shape) and then the plain numbers. All three versions are read;
//! numbers of every width, real, integer, boolean or complex, in either byte order, rows or columns
//! first. Objects and records, which need Python, are refused.

use crate::error::{CliError, Result, shown};

/// An array of one or two dimensions, row by row. No `Debug`: it may be data.
pub(crate) struct Array {
    pub(crate) rows: usize,
    pub(crate) columns: usize,
    /// 1 for a list of numbers, which is stored as one row.
    pub(crate) dimensions: usize,
    pub(crate) real: Vec<f64>,
    pub(crate) imaginary: Option<Vec<f64>>,
}

const MAGIC: &[u8] = b"\x93NUMPY";

/// Numpy reads no longer header, because Python's parser could run out of memory.
const MAX_HEADER_BYTES: usize = 10_000;

/// Parses a file. The name is for errors.
pub(crate) fn parse(name: &str, bytes: &[u8]) -> Result<Array> {
    let refuse = |reason: &str| CliError::bad(format!("{name} is not a usable .npy file: {reason}"));
    let cut = || refuse("it ends before its array does");
    let rest = bytes.strip_prefix(MAGIC).ok_or_else(|| refuse("it does not start as one"))?;
    let (version, rest) = rest.split_at_checked(2).ok_or_else(cut)?;
    let (length, rest) = match version[0] {
        1 => rest.split_first_chunk().map(|(length, rest)| (u32::from(u16::from_le_bytes(*length)), rest)),
        2 | 3 => rest.split_first_chunk().map(|(length, rest)| (u32::from_le_bytes(*length), rest)),
        _ => return Err(refuse("its version is not 1, 2 or 3")),
    }
    .ok_or_else(cut)?;
    let (header, data) = rest.split_at_checked(length as usize).ok_or_else(cut)?;
    // The limits are numpy's.
    if version[1] != 0 {
        return Err(refuse("its version is not 1.0, 2.0 or 3.0"));
    }
    if header.len() > MAX_HEADER_BYTES {
        return Err(refuse("its header is too long"));
    }
    let header = std::str::from_utf8(header).map_err(|_| refuse("its header is not text"))?;
    let header = Header::parse(header).map_err(|reason| refuse(&reason))?;
    let (rows, columns) = match header.shape.as_slice() {
        [columns] => (1, *columns),
        [rows, columns] => (*rows, *columns),
        other => return Err(refuse(&format!("expected one or two dimensions, got {}", other.len()))),
    };
    let count = rows.checked_mul(columns).filter(|count| count.checked_mul(header.kind.bytes()).is_some());
    let count = count.ok_or_else(|| refuse("its shape is too large"))?;
    match data.len().cmp(&(count * header.kind.bytes())) {
        std::cmp::Ordering::Less => return Err(cut()),
        std::cmp::Ordering::Greater => return Err(refuse("it has more bytes after its array")),
        std::cmp::Ordering::Equal => {}
    }
    let in_order = |values: Vec<f64>| if header.fortran_order { transposed(&values, rows) } else { values };
    let parts = header.kind.read(data, header.big_endian);
    Ok(Array {
        rows,
        columns,
        dimensions: header.shape.len(),
        real: in_order(parts.0),
        imaginary: parts.1.map(in_order),
    })
}

/// Converts column order to row order.
fn transposed(values: &[f64], rows: usize) -> Vec<f64> {
    // A file may state any number of rows if they have no columns.
    let rows = rows.min(values.len());
    (0..rows).flat_map(|i| values.iter().skip(i).step_by(rows.max(1)).copied()).collect()
}

/// The type of a number.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Kind {
    Float(usize),
    Signed(usize),
    Unsigned(usize),
    Complex(usize),
}

impl Kind {
    fn bytes(self) -> usize {
        let (Self::Float(bytes) | Self::Signed(bytes) | Self::Unsigned(bytes) | Self::Complex(bytes)) = self;
        bytes
    }

    /// The real part of each number and, for complex numbers, the imaginary part.
    fn read(self, data: &[u8], big_endian: bool) -> (Vec<f64>, Option<Vec<f64>>) {
        let numbers = |kind: Self, skip: usize, stride: usize| -> Vec<f64> {
            data.chunks_exact(stride)
                .map(|cell| kind.number(&cell[skip..skip + kind.bytes()], big_endian))
                .collect()
        };
        match self {
            Self::Complex(bytes) => {
                let half = Self::Float(bytes / 2);
                (numbers(half, 0, bytes), Some(numbers(half, bytes / 2, bytes)))
            }
            real => (numbers(real, 0, real.bytes()), None),
        }
    }

    /// One number, of at most eight bytes.
    fn number(self, cell: &[u8], big_endian: bool) -> f64 {
        let mut word = [0; 8];
        for (place, byte) in word.iter_mut().zip(cell) {
            *place = *byte;
        }
        if big_endian {
            word[..cell.len()].reverse();
        }
        let word = u64::from_le_bytes(word);
        // Shifting the sign to the top and back extends it.
        let unused = 64 - 8 * cell.len() as u32;
        match self {
            Self::Float(4) => f64::from(f32::from_bits(word as u32)),
            Self::Float(_) | Self::Complex(_) => f64::from_bits(word),
            Self::Signed(_) => ((word << unused) as i64 >> unused) as f64,
            Self::Unsigned(_) => word as f64,
        }
    }
}

struct Header {
    kind: Kind,
    big_endian: bool,
    fortran_order: bool,
    shape: Vec<usize>,
}

impl Header {
    /// Parses the Python dictionary of a header, and nothing around it but blanks: numpy refuses a
    /// file with anything else, such as zero bytes as padding.
    fn parse(text: &str) -> std::result::Result<Self, String> {
        let mut rest = Literal(text);
        let (mut descr, mut fortran_order, mut shape) = (None, None, None);
        // Python 2 wrote 3L.
        let shape_of = |text: &str| {
            text.strip_suffix('L').unwrap_or(text).parse::<usize>().map_err(|_| NOT_A_SHAPE.to_owned())
        };
        rest.expect('{')?;
        while !rest.take('}') {
            let key = rest.quoted().ok_or(NOT_A_DICTIONARY)?;
            rest.expect(':')?;
            let is_new = match key {
                "descr" => {
                    let value =
                        rest.quoted().ok_or("it holds records: expected an array of plain numbers")?;
                    descr.replace(value).is_none()
                }
                "fortran_order" => {
                    let value = match rest.word() {
                        "True" => true,
                        "False" => false,
                        _ => return Err("its fortran_order is neither True nor False".to_owned()),
                    };
                    fortran_order.replace(value).is_none()
                }
                "shape" => {
                    let sizes = rest.tuple().ok_or("its shape is not a tuple")?;
                    let sizes = sizes.iter().map(|size| shape_of(size));
                    shape.replace(sizes.collect::<std::result::Result<Vec<usize>, _>>()?).is_none()
                }
                _ => return Err("its header has other keys than descr, fortran_order and shape".to_owned()),
            };
            if !is_new {
                return Err("its header has a key twice".to_owned());
            }
            if !rest.take(',') {
                rest.expect('}')?;
                break;
            }
        }
        if !rest.0.trim_matches(BLANKS).is_empty() {
            return Err("its header goes on after its dictionary".to_owned());
        }
        let missing = |key: &str| format!("its header has no {key}");
        let (big_endian, kind) = number_type(descr.ok_or_else(|| missing("descr"))?)?;
        let fortran_order = fortran_order.ok_or_else(|| missing("fortran_order"))?;
        Ok(Self { kind, big_endian, fortran_order, shape: shape.ok_or_else(|| missing("shape"))? })
    }
}

const BLANKS: [char; 4] = [' ', '\t', '\n', '\r'];
const NOT_A_DICTIONARY: &str = "its header is not a dictionary";
const NOT_A_SHAPE: &str = "its shape is not a tuple of sizes";

/// The rest of a Python literal.
struct Literal<'a>(&'a str);

impl<'a> Literal<'a> {
    /// Whether this character is next. If it is, it is passed.
    fn take(&mut self, wanted: char) -> bool {
        let rest = self.0.trim_start_matches(BLANKS).strip_prefix(wanted);
        self.0 = rest.unwrap_or(self.0);
        rest.is_some()
    }

    fn expect(&mut self, wanted: char) -> std::result::Result<(), String> {
        if self.take(wanted) { Ok(()) } else { Err(NOT_A_DICTIONARY.to_owned()) }
    }

    /// A text in quotes. Texts with escapes name nothing that a header has.
    fn quoted(&mut self) -> Option<&'a str> {
        let quote = ['\'', '"'].into_iter().find(|quote| self.take(*quote))?;
        let (inside, rest) = self.0.split_once(quote)?;
        self.0 = rest;
        (!inside.contains('\\')).then_some(inside)
    }

    /// Letters and digits.
    fn word(&mut self) -> &'a str {
        let rest = self.0.trim_start_matches(BLANKS);
        let end = rest.find(|c: char| !c.is_ascii_alphanumeric()).unwrap_or(rest.len());
        self.0 = &rest[end..];
        &rest[..end]
    }

    /// The parts of a tuple. One part needs a comma to be a tuple.
    fn tuple(&mut self) -> Option<Vec<&'a str>> {
        if !self.take('(') {
            return None;
        }
        let (inside, rest) = self.0.split_once(')')?;
        self.0 = rest;
        let inside = inside.trim_matches(BLANKS);
        if inside.is_empty() {
            return Some(Vec::new());
        }
        let without_last = inside.strip_suffix(',');
        let parts: Vec<&str> =
            without_last.unwrap_or(inside).split(',').map(|part| part.trim_matches(BLANKS)).collect();
        (parts.len() > 1 || without_last.is_some()).then_some(parts)
    }
}

/// The byte order and the type that a description such as `<f8` names.
fn number_type(descr: &str) -> std::result::Result<(bool, Kind), String> {
    let (big_endian, name) = match descr.as_bytes().first() {
        Some(b'>') => (true, &descr[1..]),
        Some(b'<' | b'|' | b'=') => (false, &descr[1..]),
        _ => (false, descr),
    };
    let kind = match name {
        "f4" | "f8" => Kind::Float(width(name)),
        "i1" | "i2" | "i4" | "i8" => Kind::Signed(width(name)),
        "u1" | "u2" | "u4" | "u8" => Kind::Unsigned(width(name)),
        "b1" | "?" => Kind::Unsigned(1),
        "c8" => Kind::Complex(8),
        "c16" => Kind::Complex(16),
        _ if name.starts_with('O') => {
            return Err("it holds Python objects: expected an array of plain numbers".to_owned());
        }
        _ => return Err(format!("numbers of type {} are not read", shown(descr))),
    };
    Ok((big_endian, kind))
}

/// The number of bytes in a name of one letter and one digit.
fn width(name: &str) -> usize {
    name[1..].parse().unwrap_or(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file of version 1 as numpy lays it out.
    fn file(descr: &str, fortran: bool, shape: &str, data: &[u8]) -> Vec<u8> {
        let order = if fortran { "True" } else { "False" };
        let mut header = format!("{{'descr': '{descr}', 'fortran_order': {order}, 'shape': {shape}, }}");
        while (10 + header.len() + 1) % 64 != 0 {
            header.push(' ');
        }
        header.push('\n');
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    }

    fn read(descr: &str, data: &[u8]) -> Vec<f64> {
        let count = data.len() / descr[2..].parse::<usize>().unwrap();
        parse("a.npy", &file(descr, false, &format!("({count},)"), data)).ok().unwrap().real
    }

    #[track_caller]
    fn refused(bytes: &[u8], part: &str) {
        let error = parse("a.npy", bytes).err().unwrap().to_string();
        assert!(error.contains(part), "{error}");
    }

    #[test]
    fn every_type_is_read_in_both_orders() {
        assert_eq!(read("<f8", &1.5_f64.to_le_bytes()), [1.5]);
        assert_eq!(read(">f8", &1.5_f64.to_be_bytes()), [1.5]);
        assert_eq!(read("<f4", &[0, 0, 0xc0, 0x3f]), [1.5]);
        assert_eq!(read(">f4", &[0x3f, 0xc0, 0, 0]), [1.5]);
        assert_eq!(read("|i1", &[0xff, 3]), [-1.0, 3.0]);
        assert_eq!(read("<i2", &[0xfe, 0xff, 1, 0]), [-2.0, 1.0]);
        assert_eq!(read(">i2", &[0xff, 0xfe]), [-2.0]);
        assert_eq!(read("<i4", &(-70_000_i32).to_le_bytes()), [-70_000.0]);
        assert_eq!(read(">i8", &(-5_000_000_000_i64).to_be_bytes()), [-5e9]);
        assert_eq!(read("|u1", &[255]), [255.0]);
        assert_eq!(read("<u2", &[0xff, 0xff]), [65_535.0]);
        assert_eq!(read(">u4", &[0xff, 0xff, 0xff, 0xff]), [4_294_967_295.0]);
        assert_eq!(read("<u8", &u64::MAX.to_le_bytes()), [18_446_744_073_709_551_615.0]);
        assert_eq!(read("|b1", &[0, 1]), [0.0, 1.0]);
        let complex = [1.0_f64.to_le_bytes(), (-2.0_f64).to_le_bytes()].concat();
        let array = parse("a.npy", &file("<c16", false, "(1, 1)", &complex)).ok().unwrap();
        assert_eq!((array.real, array.imaginary), (vec![1.0], Some(vec![-2.0])));
        let array =
            parse("a.npy", &file(">c8", false, "(1,)", &[0x3f, 0x80, 0, 0, 0xc0, 0, 0, 0])).ok().unwrap();
        assert_eq!((array.real, array.imaginary), (vec![1.0], Some(vec![-2.0])));
    }

    #[test]
    fn both_orders_of_a_matrix_are_read() {
        let rows = parse("a.npy", &file("|u1", false, "(2, 3)", &[1, 2, 3, 4, 5, 6])).ok().unwrap();
        let columns = parse("a.npy", &file("|u1", true, "(2, 3)", &[1, 4, 2, 5, 3, 6])).ok().unwrap();
        assert_eq!(rows.real, [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]);
        assert_eq!(rows.real, columns.real);
        assert_eq!((rows.rows, rows.columns, rows.dimensions), (2, 3, 2));
        let empty = parse("a.npy", &file("<f8", true, "(0, 3)", &[])).ok().unwrap();
        assert_eq!((empty.rows, empty.real.len()), (0, 0));
        // Each of its rows was once looked for, which takes centuries.
        let rows = u64::MAX / 8;
        let empty = parse("a.npy", &file("<f8", true, &format!("({rows}, 0)"), &[])).ok().unwrap();
        assert!(empty.real.is_empty());
    }

    #[test]
    fn later_versions_have_longer_headers() {
        let first = file("|u1", false, "(1,)", &[7]);
        for version in [2, 3] {
            let mut bytes = b"\x93NUMPY".to_vec();
            bytes.extend([version, 0]);
            bytes.extend(u32::from(u16::from_le_bytes([first[8], first[9]])).to_le_bytes());
            bytes.extend(&first[10..]);
            assert_eq!(parse("a.npy", &bytes).ok().unwrap().real, [7.0]);
        }
    }

    #[test]
    fn files_that_are_cut_or_hold_something_else_are_refused() {
        let whole = file("<f8", false, "(2, 2)", &[0; 32]);
        for length in 0..whole.len() {
            assert!(parse("a.npy", &whole[..length]).is_err(), "cut at {length}");
        }
        refused(&whole[..whole.len() - 1], "ends before");
        refused(&[whole.as_slice(), &[0]].concat(), "more bytes after");
        refused(b"PK\x03\x04", "does not start as one");
        refused(&file("|O", false, "(1,)", &[0; 8]), "Python objects");
        refused(&file("<U3", false, "(1,)", &[0; 12]), "<U3");
        refused(&file("<f8", false, "(1, 1, 1)", &[0; 8]), "dimensions, got 3");
        refused(&file("<f8", false, "()", &[0; 8]), "dimensions, got 0");
        refused(&file("<f8", false, "(99999999999, 99999999999)", &[0; 8]), "too large");
        refused(&file("<f8", false, "(-1,)", &[]), "sizes");
        let records =
            String::from_utf8_lossy(b"{'descr': [('a', '<f8')], 'fortran_order': False, 'shape': (1,)}")
                .into_owned();
        assert!(Header::parse(&records).is_err_and(|reason| reason.contains("records")));
    }

    /// Such files were read, although numpy refuses them.
    #[test]
    fn headers_that_numpy_refuses_are_refused() {
        let with_header = |header: &str, version: [u8; 2]| {
            let mut bytes = b"\x93NUMPY".to_vec();
            bytes.extend(version);
            bytes.extend((header.len() as u16).to_le_bytes());
            bytes.extend(header.as_bytes());
            bytes.extend(7.0_f64.to_le_bytes());
            bytes
        };
        let good = "{'descr': '<f8', 'fortran_order': False, 'shape': (1,), }";
        for end in ["", "\n", "     \n", "  \t "] {
            let read = parse("a.npy", &with_header(&format!("{good}{end}"), [1, 0]));
            assert_eq!(read.ok().unwrap().real, [7.0], "{end:?}");
        }
        let quotes = good.replace('\'', "\"").replace(", }", "}");
        assert!(parse("a.npy", &with_header(&quotes, [1, 0])).is_ok());
        for end in ["\0", "\0\0\0\0\n", " x", "{}", "}", "# padding"] {
            refused(&with_header(&format!("{good}{end}"), [1, 0]), "after its dictionary");
        }
        refused(&with_header(good, [1, 1]), "version");
        refused(&with_header(&format!("x{good}"), [1, 0]), "not a dictionary");
        refused(&with_header(&good.replace("'shape'", "'other': 1, 'shape'"), [1, 0]), "other keys");
        refused(&with_header(&good.replace("'shape'", "'descr': '<f4', 'shape'"), [1, 0]), "twice");
        refused(&with_header(&good.replace("(1,)", "(1)"), [1, 0]), "not a tuple");
        refused(&with_header(&good.replace("(1,)", "(1,,)"), [1, 0]), "sizes");
        refused(&with_header(&good.replace("(1,)", "(,)"), [1, 0]), "sizes");
        refused(&with_header(&good.replace("False", "Falsehood"), [1, 0]), "neither");
        refused(&with_header(&good.replace(", 'fortran", " 'fortran"), [1, 0]), "not a dictionary");
        refused(&with_header("{'descr': '<f8', 'shape': (1,)}", [1, 0]), "no fortran_order");
        refused(&with_header(&format!("{good}{}", " ".repeat(10_000)), [1, 0]), "too long");
    }
}
