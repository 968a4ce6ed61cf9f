//! A claim, and its bytes.
//!
//! | field | bytes |
//! |---|---|
//! | time | a number: the distance from the start in seconds, milliseconds or microseconds times four, plus 0, 1 or 2 for the unit |
//! | key | a number, if keys are declared |
//! | amount | a number: with its sign in the lowest bit but one, as a count of ones or, if the lowest bit is set, of grid steps |
//! | id | a number, 0 for none or the length plus one, and the text; if ids are compared within persons |
//!
//! A number is written in groups of seven bits, the low ones first.

use std::cmp::Ordering;

use super::symbols::Symbols;
use crate::amount::Amount;

const MICROS_PER_SECOND: u64 = 1_000_000;
const MICROS_PER_MILLISECOND: u64 = 1_000;

/// An event that may count. No `Debug`: everything in it is private.
#[derive(Clone, PartialEq, Eq)]
pub(super) struct Claim {
    pub(super) time: i64,
    pub(super) id: Option<Box<str>>,
    /// The number of its key.
    pub(super) key: u32,
    pub(super) amount: Amount,
}

impl Claim {
    /// The order of the rule, within a claimant.
    pub(super) fn order(&self, other: &Self, symbols: &Symbols) -> Ordering {
        let by_time = self.time.cmp(&other.time).then_with(|| self.id.cmp(&other.id));
        by_time.then_with(|| symbols.order(self.key, other.key)).then_with(|| self.amount.cmp(&other.amount))
    }
}

/// Which fields claims have, and where their times start.
#[derive(Clone, Copy)]
pub(super) struct Form {
    pub(super) start: i64,
    pub(super) has_keys: bool,
    pub(super) has_ids: bool,
}

impl Form {
    pub(super) fn write(self, claim: &Claim, bytes: &mut Vec<u8>) {
        // The time is not before the start of the first step.
        let micros = claim.time.wrapping_sub(self.start) as u64;
        let (count, unit) = match micros {
            _ if micros.is_multiple_of(MICROS_PER_SECOND) => (micros / MICROS_PER_SECOND, 0),
            _ if micros.is_multiple_of(MICROS_PER_MILLISECOND) => (micros / MICROS_PER_MILLISECOND, 1),
            _ => (micros, 2),
        };
        write_number(u128::from(count) << 2 | unit, bytes);
        if self.has_keys {
            write_number(u128::from(claim.key), bytes);
        }
        let steps = claim.amount.grid_steps();
        let one = Amount::ONE.grid_steps();
        let (count, unit) = if steps % one == 0 { (steps / one, 0) } else { (steps, 1) };
        // Totals are far below 2^125 grid steps.
        write_number(count.unsigned_abs() << 2 | u128::from(count < 0) << 1 | unit, bytes);
        if self.has_ids {
            let id = claim.id.as_deref();
            write_number(id.map_or(0, |id| id.len() as u128 + 1), bytes);
            bytes.extend_from_slice(id.unwrap_or_default().as_bytes());
        }
    }

    /// Reads a claim off the front; `None` if the bytes are damaged.
    pub(super) fn read(self, bytes: &mut &[u8]) -> Option<Claim> {
        let coded = read_number(bytes)?;
        let unit = [MICROS_PER_SECOND, MICROS_PER_MILLISECOND, 1].get((coded & 3) as usize)?;
        let micros = u64::try_from(coded >> 2).ok()?.checked_mul(*unit)?;
        let key = if self.has_keys { u32::try_from(read_number(bytes)?).ok()? } else { 0 };
        let coded = read_number(bytes)?;
        let size = i128::try_from(coded >> 2).ok()?;
        let size = if coded & 1 == 0 { size.checked_mul(Amount::ONE.grid_steps())? } else { size };
        let amount = Amount::from_grid_steps(if coded & 2 == 0 { size } else { -size });
        let id = if self.has_ids { self.read_id(bytes)? } else { None };
        Some(Claim { time: self.start.wrapping_add(micros as i64), id, key, amount })
    }

    fn read_id(self, bytes: &mut &[u8]) -> Option<Option<Box<str>>> {
        let Some(length) = read_number(bytes)?.checked_sub(1) else { return Some(None) };
        let (id, rest) = bytes.split_at_checked(usize::try_from(length).ok()?)?;
        *bytes = rest;
        Some(Some(std::str::from_utf8(id).ok()?.into()))
    }
}

pub(super) fn write_number(mut number: u128, bytes: &mut Vec<u8>) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

pub(super) fn read_number(bytes: &mut &[u8]) -> Option<u128> {
    // Nearly all numbers fit into a word, which is much faster to assemble.
    let mut number = 0_u64;
    for (index, group) in bytes.iter().enumerate().take(9) {
        number |= u64::from(group & 0x7f) << (7 * index);
        if group & 0x80 == 0 {
            *bytes = &bytes[index + 1..];
            return Some(number.into());
        }
    }
    read_long_number(bytes)
}

fn read_long_number(bytes: &mut &[u8]) -> Option<u128> {
    let mut number = 0;
    for shift in (0..u128::BITS).step_by(7) {
        let (group, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u128::from(group & 0x7f) << shift;
        if group & 0x80 == 0 {
            return Some(number);
        }
    }
    None
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn claims_are_read_as_they_were_written(
            times in prop::collection::vec((0_i64..=i64::MAX - 5, 0_u8..4), 1..9),
            steps in any::<i128>(), whole in any::<bool>(), key in any::<u32>(),
            id in prop::option::of(".{0,9}"), has_keys in any::<bool>(), has_ids in any::<bool>(),
        ) {
            let form = Form { start: -5, has_keys, has_ids };
            let steps = (steps >> 8) & if whole { !0xf_ffff } else { !0 };
            let claims: Vec<Claim> = times.into_iter().map(|(time, zeros)| {
                let unit = 1000_i64.pow(u32::from(zeros.min(2)));
                Claim {
                    time: time / unit * unit - 5,
                    id: id.clone().filter(|_| has_ids).map(Into::into),
                    key: if has_keys { key } else { 0 },
                    amount: Amount::from_grid_steps(steps),
                }
            }).collect();
            let mut bytes = Vec::new();
            claims.iter().for_each(|claim| form.write(claim, &mut bytes));
            let mut read = &bytes[..];
            for claim in &claims {
                prop_assert!(form.read(&mut read).as_ref() == Some(claim));
            }
            prop_assert!(read.is_empty());
            prop_assert!(form.read(&mut read).is_none());
        }
    }
}
