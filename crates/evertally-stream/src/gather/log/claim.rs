//! A claim, and its bytes.
//!
//! | field | bytes |
//! |---|---|
//! | amount | the distance from one, in ones or in grid steps, with its sign in the lowest bit |
//! | place | step, offset in the step, and number of the key, side by side; the offset is in seconds, milliseconds or microseconds |
//! | id | 0 for none or the length plus one, and the text; if ids are compared within persons |
//!
//! All numbers are little-endian, and the same number has the same width in all claims: the width of the
//! largest so far ([`Form`]). Where every event counts as one, amounts have no bytes at all.

use std::cmp::Ordering;

use super::symbols::Symbols;
use crate::amount::Amount;

/// Microseconds in each unit of offsets, the longest first.
const UNITS: [u64; 3] = [1_000_000, 1_000, 1];

/// The bits behind the point of an amount.
const GRID_BITS: u32 = Amount::GRID_EXPONENT.unsigned_abs();

/// The bytes of the widest number.
const MAX_WIDTH: usize = size_of::<u128>();

/// An event that may count. No `Debug`: everything in it is private.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Claim<'a> {
    pub(super) step: u64,
    /// The time since the start of the step, in microseconds.
    pub(super) offset: u64,
    pub(super) id: Option<&'a str>,
    /// The number of its key.
    pub(super) key: u32,
    pub(super) amount: Amount,
}

impl Claim<'_> {
    /// The order of the rule, within a claimant.
    pub(super) fn order(&self, other: &Self, symbols: &Symbols) -> Ordering {
        let by_time = (self.step, self.offset).cmp(&(other.step, other.offset));
        let by_id = by_time.then_with(|| self.id.cmp(&other.id));
        by_id.then_with(|| symbols.order(self.key, other.key)).then_with(|| self.amount.cmp(&other.amount))
    }
}

/// How claims are written.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) struct Form {
    /// The unit of offsets, by its place among all units.
    unit: usize,
    step_bits: u32,
    offset_bits: u32,
    key_bits: u32,
    /// The bits of amounts that are zero in all claims, and are left out.
    cut_bits: u32,
    amount_bits: u32,
    has_ids: bool,
    id_bits: u32,
}

/// The numbers of a claim as they are written.
struct Written {
    place: u128,
    amount: u128,
    id: u128,
}

impl Form {
    /// The narrowest form.
    pub(super) fn new(has_ids: bool) -> Self {
        Self {
            unit: 0,
            step_bits: 0,
            offset_bits: 0,
            key_bits: 0,
            cut_bits: GRID_BITS,
            amount_bits: 0,
            has_ids,
            id_bits: 0,
        }
    }

    /// Whether claims hold ids.
    pub(super) fn has_ids(&self) -> bool {
        self.has_ids
    }

    /// The bytes of a claim, if all have as many.
    pub(super) fn width(&self) -> Option<usize> {
        (!self.has_ids).then(|| self.place_width() + self.amount_width())
    }

    fn place_width(&self) -> usize {
        // No claim is without bytes, so that bytes bound the number of claims.
        bytes_of(self.step_bits + self.offset_bits + self.key_bits).max(1)
    }

    fn amount_width(&self) -> usize {
        bytes_of(self.amount_bits)
    }

    /// The form that has room for this claim as well.
    pub(super) fn widened(mut self, claim: &Claim<'_>) -> Self {
        while !claim.offset.is_multiple_of(UNITS[self.unit]) {
            // An offset in a shorter unit is at most a thousand times as large.
            self.unit += 1;
            self.offset_bits = if self.offset_bits == 0 { 0 } else { self.offset_bits + 10 };
        }
        let grows = |bits: &mut u32, number: u128| *bits = (*bits).max(bits_of(number));
        grows(&mut self.step_bits, claim.step.into());
        grows(&mut self.offset_bits, (claim.offset / UNITS[self.unit]).into());
        grows(&mut self.key_bits, claim.key.into());
        let distance = distance_from_one(claim.amount);
        if distance.trailing_zeros() < self.cut_bits {
            self.amount_bits = if self.amount_bits == 0 { 0 } else { self.amount_bits + self.cut_bits };
            self.cut_bits = 0;
        }
        grows(&mut self.amount_bits, with_sign_below(distance >> self.cut_bits));
        if self.has_ids {
            grows(&mut self.id_bits, length_of(claim.id));
        }
        self
    }

    /// The numbers of a claim; `None` if one needs another form.
    #[inline]
    fn written(&self, claim: &Claim<'_>) -> Option<Written> {
        let micros = claim.offset;
        // Each division is by a constant, which is several times faster than by a variable.
        let (offset, rest) = match self.unit {
            0 => (micros / UNITS[0], micros % UNITS[0]),
            1 => (micros / UNITS[1], micros % UNITS[1]),
            _ => (micros, 0),
        };
        let distance = distance_from_one(claim.amount);
        let amount = with_sign_below(distance >> self.cut_bits);
        let id = if self.has_ids { length_of(claim.id) } else { 0 };
        let fits = rest == 0
            && fits(claim.step.into(), self.step_bits)
            && fits(offset.into(), self.offset_bits)
            && fits(claim.key.into(), self.key_bits)
            && distance.trailing_zeros() >= self.cut_bits
            && fits(amount, self.amount_bits)
            && fits(id, self.id_bits);
        let moment = u128::from(claim.step) << self.offset_bits | u128::from(offset);
        let place = moment << self.key_bits | u128::from(claim.key);
        fits.then_some(Written { place, amount, id })
    }

    /// Adds the bytes of a claim; `None` if it needs another form, and then nothing was added.
    #[inline]
    pub(super) fn write(&self, claim: &Claim<'_>, bytes: &mut Vec<u8>) -> Option<()> {
        let Written { place, amount, id } = self.written(claim)?;
        write_number(amount, self.amount_width(), bytes);
        write_number(place, self.place_width(), bytes);
        if self.has_ids {
            write_number(id, bytes_of(self.id_bits), bytes);
            bytes.extend_from_slice(claim.id.unwrap_or_default().as_bytes());
        }
        Some(())
    }

    /// Reads a claim off the front; `None` if the bytes are damaged.
    #[inline]
    pub(super) fn read<'a>(&self, bytes: &mut &'a [u8]) -> Option<Claim<'a>> {
        let amount = read_number(bytes, self.amount_width())?;
        let place = read_number(bytes, self.place_width())?;
        let id = if self.has_ids { self.read_id(bytes)? } else { None };
        let (moment, key) = (place >> self.key_bits, place & mask(self.key_bits));
        let (step, offset) = (moment >> self.offset_bits, moment & mask(self.offset_bits));
        let distance = without_sign_below(amount) << self.cut_bits;
        Some(Claim {
            step: step as u64,
            offset: (offset as u64).wrapping_mul(UNITS[self.unit]),
            id,
            key: key as u32,
            amount: Amount::from_grid_steps(distance.wrapping_add(Amount::ONE.grid_steps())),
        })
    }

    /// The step and offset of a claim of this width, as one number in the order of time; `None` if the
    /// bytes are damaged.
    #[inline]
    pub(super) fn moment_of(&self, claim: &[u8]) -> Option<u128> {
        let mut place = claim.get(self.amount_width()..)?;
        Some(read_number(&mut place, self.place_width())? >> self.key_bits)
    }

    /// Whether two moments are in the same step.
    #[inline]
    pub(super) fn are_in_one_step(&self, one: u128, other: u128) -> bool {
        one >> self.offset_bits == other >> self.offset_bits
    }

    fn read_id<'a>(&self, bytes: &mut &'a [u8]) -> Option<Option<&'a str>> {
        let Some(length) = read_number(bytes, bytes_of(self.id_bits))?.checked_sub(1) else {
            return Some(None);
        };
        let (id, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
        *bytes = rest;
        Some(Some(std::str::from_utf8(id).ok()?))
    }
}

/// An amount less one, in grid steps.
fn distance_from_one(amount: Amount) -> i128 {
    amount.grid_steps().wrapping_sub(Amount::ONE.grid_steps())
}

/// A number whose sign is in the lowest bit, so that small ones of both signs have few bits.
fn with_sign_below(number: i128) -> u128 {
    (number << 1 ^ number >> (i128::BITS - 1)) as u128
}

fn without_sign_below(number: u128) -> i128 {
    (number >> 1) as i128 ^ -((number & 1) as i128)
}

/// 0 for no id, and the length plus one for an id.
fn length_of(id: Option<&str>) -> u128 {
    id.map_or(0, |id| id.len() as u128 + 1)
}

fn bits_of(number: u128) -> u32 {
    u128::BITS - number.leading_zeros()
}

fn bytes_of(bits: u32) -> usize {
    bits.div_ceil(u8::BITS) as usize
}

fn fits(number: u128, bits: u32) -> bool {
    number & !mask(bits) == 0
}

fn mask(bits: u32) -> u128 {
    if bits >= u128::BITS { u128::MAX } else { (1 << bits) - 1 }
}

#[inline]
fn write_number(number: u128, width: usize, bytes: &mut Vec<u8>) {
    // All bytes are written and some taken back, because a copy of few bytes costs more.
    let end = bytes.len() + width;
    bytes.extend_from_slice(&number.to_le_bytes());
    bytes.truncate(end);
}

#[inline]
fn read_number(bytes: &mut &[u8], width: usize) -> Option<u128> {
    let (number, rest) = match bytes.first_chunk::<MAX_WIDTH>() {
        Some(whole) if width <= MAX_WIDTH => {
            (u128::from_le_bytes(*whole) & mask(width as u32 * u8::BITS), &bytes[width..])
        }
        _ => {
            let (number, rest) = bytes.split_at_checked(width)?;
            (number.iter().rev().fold(0, |sum, byte| sum << 8 | u128::from(*byte)), rest)
        }
    };
    *bytes = rest;
    Some(number)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn claims_are_read_as_they_were_written(
            made in prop::collection::vec(
                (any::<u64>(), 0_u32..60, any::<u64>(), 0_u32..60, 0_u8..4, any::<u32>(), any::<i128>(), 6_u32..120),
                1..9,
            ),
            whole in any::<bool>(), id in prop::option::of(".{0,9}"), has_ids in any::<bool>(),
        ) {
            let claims: Vec<Claim<'_>> = made.into_iter().map(|(step, few, offset, less, zeros, key, steps, size)| {
                let unit = 1000_u64.pow(u32::from(zeros.min(2)));
                // All times are below 2^64 microseconds.
                let steps = (steps >> size) & if whole { !0xf_ffff } else { !0 };
                Claim {
                    step: step >> few.max(34),
                    offset: (offset >> less.max(30)) / unit * unit,
                    id: id.as_deref().filter(|_| has_ids),
                    key: key >> (few / 2),
                    amount: Amount::from_grid_steps(steps),
                }
            }).collect();
            let mut form = Form::new(has_ids);
            for (number, claim) in claims.iter().enumerate() {
                form = form.widened(claim);
                prop_assert!(form.widened(claim) == form);
                // A form has room for all claims before it was widened.
                let mut bytes = Vec::new();
                for claim in &claims[..=number] {
                    prop_assert!(form.write(claim, &mut bytes).is_some());
                }
                if let Some(width) = form.width() {
                    prop_assert_eq!(bytes.len(), width * (number + 1));
                }
                let mut read = &bytes[..];
                for claim in &claims[..=number] {
                    prop_assert!(form.read(&mut read).as_ref() == Some(claim));
                }
                prop_assert!(read.is_empty());
                prop_assert!(form.read(&mut read).is_none());
            }
        }
    }

    /// What the documented bytes of a person rest on.
    #[test]
    fn claims_are_as_wide_as_their_numbers() {
        let claim = |step, offset, key| Claim { step, offset, id: None, key, amount: Amount::ONE };
        let mut form = Form::new(false).widened(&claim(1343, 3599 * UNITS[0], 230));
        assert_eq!(form.width(), Some(4));
        form = form.widened(&claim(7, 1, 1));
        assert_eq!(form.width(), Some(7));
        let cents = Amount::nearest(19.99).unwrap();
        assert_eq!(form.widened(&Claim { amount: cents, ..claim(7, 1, 1) }).width(), Some(11));
    }
}
