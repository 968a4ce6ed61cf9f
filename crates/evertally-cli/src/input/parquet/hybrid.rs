//! Small integers as Parquet packs them: runs of one value, and groups of bits.
//!
//! **Definition.** The hybrid encoding of levels and dictionary codes. A run has a header: the number
//! of repetitions doubled, then the value in whole bytes; or the number of groups of eight doubled and
//! one, then eight values of `width` bits per group, low bits first.
//! **Guarantee.** Any bytes give values below 2^width or `None`. The reader of the library is the
//! oracle ([`super::bulk`]).
//! **Source.** The Parquet format, "Encodings", RLE = 3.

/// Passes on `count` values, each with its number of repetitions. `None` if the bytes end too early or
/// are no such encoding, or the receiver stops.
pub(super) fn decode(
    mut bytes: &[u8],
    width: u32,
    count: usize,
    mut take: impl FnMut(u32, usize) -> Option<()>,
) -> Option<()> {
    if width > 32 {
        return None;
    }
    let mut left = count;
    while left > 0 {
        let header = varint(&mut bytes)?;
        let number = usize::try_from(header >> 1).ok()?;
        if number == 0 {
            return None;
        }
        if header & 1 == 0 {
            let (value, rest) = bytes.split_at_checked(width.div_ceil(8) as usize)?;
            let value = value.iter().rev().fold(0_u64, |value, byte| value << 8 | u64::from(*byte));
            if value >> width != 0 {
                return None;
            }
            let repeated = number.min(left);
            take(value as u32, repeated)?;
            (bytes, left) = (rest, left - repeated);
        } else {
            let values = number.checked_mul(8)?.min(left);
            let length = number.checked_mul(width as usize)?;
            // Some writers leave out the bytes behind the last value.
            let (packed, rest) = bytes.split_at(length.min(bytes.len()));
            unpack(packed, width, values, &mut take)?;
            (bytes, left) = (rest, left - values);
        }
    }
    Some(())
}

fn unpack(
    packed: &[u8],
    width: u32,
    count: usize,
    take: &mut impl FnMut(u32, usize) -> Option<()>,
) -> Option<()> {
    if count.checked_mul(width as usize)? > packed.len().checked_mul(8)? {
        return None;
    }
    let mask = (1_u64 << width) - 1;
    for index in 0..count {
        let bit = index * width as usize;
        let at = bit / 8;
        let word = match packed.get(at..at + 8).and_then(|bytes| bytes.try_into().ok()) {
            Some(bytes) => u64::from_le_bytes(bytes),
            None => packed[at..].iter().rev().fold(0, |word, byte| word << 8 | u64::from(*byte)),
        };
        take((word >> (bit % 8) & mask) as u32, 1)?;
    }
    Some(())
}

fn varint(bytes: &mut &[u8]) -> Option<u64> {
    let mut value = 0;
    for shift in (0..35).step_by(7) {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        value |= u64::from(byte & 0x7f) << shift;
        if byte < 0x80 {
            return Some(value);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    fn decoded(bytes: &[u8], width: u32, count: usize) -> Option<Vec<u32>> {
        let mut values = Vec::new();
        decode(bytes, width, count, |value, times| {
            values.extend(std::iter::repeat_n(value, times));
            Some(())
        })?;
        Some(values)
    }

    /// The example of the format's documentation: 0 to 7 in three bits each.
    #[test]
    fn runs_and_groups() {
        assert_eq!(
            decoded(&[0b11, 0b1000_1000, 0b1100_0110, 0b1111_1010], 3, 8).unwrap(),
            [0, 1, 2, 3, 4, 5, 6, 7]
        );
        assert_eq!(decoded(&[10, 4], 3, 5).unwrap(), [4; 5]);
        // A run is longer than what is asked for, and zero bits are a value.
        assert_eq!(decoded(&[10, 4, 3, 1, 2, 3], 8, 2).unwrap(), [4; 2]);
        assert_eq!(decoded(&[10], 0, 5).unwrap(), [0; 5]);
        let wide = [&[4_u8][..], &[1, 2, 3, 4]].concat();
        assert_eq!(decoded(&wide, 32, 2).unwrap(), [0x0403_0201; 2]);
    }

    #[test]
    fn damaged_bytes_are_refused() {
        for (bytes, width, count) in [
            (&[][..], 3, 1),
            (&[10], 3, 5),
            (&[10, 8], 3, 5),
            (&[0, 1], 3, 1),
            (&[1], 3, 1),
            (&[3, 1], 8, 3),
            (&[0xff; 9], 8, 3),
        ] {
            assert_eq!(decoded(bytes, width, count), None, "{bytes:?}");
        }
        assert_eq!(decoded(&[2, 1], 33, 1), None);
    }
}
