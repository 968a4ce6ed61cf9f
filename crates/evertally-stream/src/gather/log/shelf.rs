//! The claims of the claimants whose tags begin with the same bits.
//!
//! **Definition.** Sorted claims are one group per claimant, in the order of their tags: 76 bits of the
//! tag, four bits for the number of claims, and the claims in the order of the rule. Recent claims stand
//! in the order of arrival, each as a group of its own. A group whose claims have ids, or of more than
//! fifteen claims, has 0 for their number, and six bytes more: the number of bytes of the claims.
//!
//! **Cost.** Merging n recent claims decodes the groups of their claimants. All others are stepped
//! over, and copied together.

use super::claim::{Claim, Form};
use super::reduce::{Decider, InStep, Joining};
use super::symbols::Symbols;
use super::tag::{HELD_BITS, Tag};
use crate::error::{Error, Result};

/// The bytes of a tag with the number of claims.
const HEADER_BYTES: usize = 10;

const COUNT_BITS: u32 = 4;

/// The bytes of the length of a long group.
const LENGTH_BYTES: usize = 6;

/// Recent claims of so many bytes are sorted in before there are more. In a wider form they may take
/// several times as many.
pub(super) const MAX_RECENT: usize = if cfg!(test) { 1 << 11 } else { 1 << 20 };

/// The bits of a place among recent claims.
const PLACE_BITS: u32 = u32::BITS;

const PLACE_MASK: u64 = (1 << PLACE_BITS) - 1;

/// Memory for merging, which is reused.
#[derive(Default)]
pub(super) struct Desk {
    /// What was sorted before.
    pub(super) old: Vec<u8>,
    pub(super) recent: Vec<u8>,
    pub(super) merged: Vec<u8>,
    /// A claim before it is put on its shelf.
    pub(super) line: Vec<u8>,
    order: Vec<u64>,
}

/// A group at the front of others.
#[derive(Clone, Copy)]
struct Group<'a> {
    /// The bits of its tag that are held.
    held: u128,
    claims: &'a [u8],
}

/// Writes a claim as a recent one; `None` if it needs another form.
pub(super) fn write_recent(tag: Tag, claim: &Claim<'_>, form: &Form, bytes: &mut Vec<u8>) -> Option<()> {
    if !form.has_ids() {
        write_header(tag.held(), 1, bytes);
        return form.write(claim, bytes);
    }
    write_header(tag.held(), 0, bytes);
    let start = bytes.len();
    bytes.extend_from_slice(&[0; LENGTH_BYTES]);
    form.write(claim, bytes)?;
    write_length(start, bytes);
    Some(())
}

#[inline]
fn write_header(held: u128, count: u8, bytes: &mut Vec<u8>) {
    // More is written and some taken back, because a copy of few bytes costs more.
    let end = bytes.len() + HEADER_BYTES;
    let header = (held << COUNT_BITS | u128::from(count)) << (u128::BITS - u8::BITS * HEADER_BYTES as u32);
    bytes.extend_from_slice(&header.to_be_bytes());
    bytes.truncate(end);
}

/// Writes the length of what stands behind a place for it.
fn write_length(start: usize, bytes: &mut [u8]) {
    let length = (bytes.len() - start - LENGTH_BYTES) as u64;
    bytes[start..start + LENGTH_BYTES].copy_from_slice(&length.to_le_bytes()[..LENGTH_BYTES]);
}

/// Takes a group off the front. `None` if the bytes are damaged.
#[inline]
fn take_group<'a>(groups: &mut &'a [u8], width: Option<usize>) -> Option<Group<'a>> {
    let header = header_of(groups)?;
    let count = (header & ((1 << COUNT_BITS) - 1)) as usize;
    let rest = &groups[HEADER_BYTES..];
    let (length, rest) = match width {
        Some(width) if count > 0 => (count * width, rest),
        _ => {
            let (length, rest) = rest.split_first_chunk::<LENGTH_BYTES>()?;
            let length = length.iter().rev().fold(0, |sum, byte| sum << 8 | usize::from(*byte));
            (length, rest)
        }
    };
    let (claims, rest) = rest.split_at_checked(length)?;
    *groups = rest;
    Some(Group { held: header >> COUNT_BITS, claims })
}

/// The first ten bytes as a number.
#[inline]
fn header_of(bytes: &[u8]) -> Option<u128> {
    let (high, rest) = bytes.split_first_chunk::<8>()?;
    let low = rest.first_chunk::<2>()?;
    Some(u128::from(u64::from_be_bytes(*high)) << 16 | u128::from(u16::from_be_bytes(*low)))
}

/// Adds the claims of a group to others.
fn read_claims<'a>(mut bytes: &'a [u8], form: &Form, claims: &mut Vec<Claim<'a>>) -> Option<()> {
    while !bytes.is_empty() {
        claims.push(form.read(&mut bytes)?);
    }
    Some(())
}

/// Writes a group, unless it is empty.
fn write_group(held: u128, claims: &[Claim<'_>], form: &Form, bytes: &mut Vec<u8>) -> Option<()> {
    let is_short = !form.has_ids() && claims.len() < 1 << COUNT_BITS;
    write_header(held, if is_short { claims.len() as u8 } else { 0 }, bytes);
    let start = bytes.len();
    if !is_short {
        bytes.extend_from_slice(&[0; LENGTH_BYTES]);
    }
    for claim in claims {
        form.write(claim, bytes)?;
    }
    if !is_short {
        write_length(start, bytes);
    }
    Some(())
}

/// Passes on the claims of each group, with the bits of its tag.
pub(super) fn each_group<'a>(
    mut groups: &'a [u8],
    form: &Form,
    mut each: impl FnMut(u128, &[Claim<'a>]) -> Result<()>,
) -> Result<()> {
    let (width, mut claims) = (form.width(), Vec::new());
    while !groups.is_empty() {
        let group = take_group(&mut groups, width).ok_or_else(damaged)?;
        claims.clear();
        read_claims(group.claims, form, &mut claims).ok_or_else(damaged)?;
        each(group.held, &claims)?;
    }
    Ok(())
}

/// Writes all groups in another form, which has room for their claims.
pub(super) fn rewrite(groups: &[u8], form: &Form, other: &Form, bytes: &mut Vec<u8>) -> Result<()> {
    each_group(groups, form, |held, claims| write_group(held, claims, other, bytes).ok_or_else(damaged))
}

/// Writes groups in another form, which has room for their claims, and takes them off the front: as many
/// as are sorted in at a time.
pub(super) fn rewrite_some(groups: &mut &[u8], form: &Form, other: &Form, bytes: &mut Vec<u8>) -> Result<()> {
    let (width, mut claims) = (form.width(), Vec::new());
    while !groups.is_empty() && bytes.len() < MAX_RECENT {
        let group = take_group(groups, width).ok_or_else(damaged)?;
        claims.clear();
        read_claims(group.claims, form, &mut claims).ok_or_else(damaged)?;
        write_group(group.held, &claims, other, bytes).ok_or_else(damaged)?;
    }
    Ok(())
}

/// Puts recent groups in the order of their tags: each is a place in the bytes, behind the first bits of
/// its tag. `None` if the bytes are damaged, or too many for places.
fn arrange(recent: &[u8], width: Option<usize>, order: &mut Vec<u64>) -> Option<()> {
    if recent.len() as u64 > PLACE_MASK {
        return None;
    }
    order.clear();
    let mut rest = recent;
    while !rest.is_empty() {
        let place = (recent.len() - rest.len()) as u64;
        let group = take_group(&mut rest, width)?;
        order.push((group.held >> (HELD_BITS - u64::BITS)) as u64 & !PLACE_MASK | place);
    }
    order.sort_unstable();
    // Nearly all of those with the same first bits have the same tag.
    for same in order.chunk_by_mut(|one, other| (one ^ other) & !PLACE_MASK == 0) {
        if same.len() > 1 {
            same.sort_by_key(|entry| header_of(&recent[place_of(*entry)..]));
        }
    }
    Some(())
}

fn place_of(entry: u64) -> usize {
    (entry & PLACE_MASK) as usize
}

/// What merging looks at.
struct Merging<'a> {
    form: &'a Form,
    decider: &'a Decider,
    symbols: &'a Symbols,
    joining: Option<Joining>,
}

impl Desk {
    /// Merges recent claims among the sorted ones. What is merged is on the desk then. If a sum of
    /// amounts is wider than each of them, nothing is, and the answer is the form that they need.
    pub(super) fn merge(
        &mut self,
        form: &Form,
        decider: &Decider,
        symbols: &Symbols,
    ) -> Result<Option<Form>> {
        let Self { old, recent, merged, order, .. } = self;
        arrange(recent, form.width(), order).ok_or_else(damaged)?;
        merged.clear();
        let merging = Merging { form, decider, symbols, joining: decider.joining() };
        merging.merge(old, recent, order, merged).ok_or_else(damaged)
    }
}

impl Merging<'_> {
    /// `None` if the bytes are damaged.
    fn merge(&self, old: &[u8], recent: &[u8], order: &[u64], merged: &mut Vec<u8>) -> Option<Option<Form>> {
        let (mut old, width) = (old, self.form.width());
        let (mut claims, mut in_step) = (Vec::new(), InStep::default());
        let mut order = order.iter().map(|entry| &recent[place_of(*entry)..]).peekable();
        while let Some(mut first) = order.next() {
            let first = take_group(&mut first, width)?;
            self.copy_groups_before(&mut old, first.held, merged)?;
            let is_of_first =
                |groups: &[u8]| header_of(groups).is_some_and(|header| header >> COUNT_BITS == first.held);
            let is_known = is_of_first(old);
            if !order.peek().is_some_and(|next| is_of_first(next)) {
                let mut rest = old;
                let known = if is_known { take_group(&mut rest, width)?.claims } else { &[] };
                if self.join(first, known, merged)? {
                    old = rest;
                    continue;
                }
            }
            claims.clear();
            if is_known {
                read_claims(take_group(&mut old, width)?.claims, self.form, &mut claims)?;
            }
            read_claims(first.claims, self.form, &mut claims)?;
            while let Some(mut next) = order.next_if(|next| is_of_first(next)) {
                read_claims(take_group(&mut next, width)?.claims, self.form, &mut claims)?;
            }
            claims.sort_by(|one, other| one.order(other, self.symbols));
            self.decider.reduce(&mut claims, &mut in_step, self.symbols);
            if write_group(first.held, &claims, self.form, merged).is_none() {
                return Some(Some(claims.iter().fold(*self.form, |form, claim| form.widened(claim))));
            }
        }
        merged.extend_from_slice(old);
        Some(None)
    }

    /// Writes what is kept of a claim and of those that are known, if time alone decides that. Their bytes
    /// stay as they are. Otherwise nothing is written.
    #[inline]
    fn join(&self, new: Group<'_>, known: &[u8], merged: &mut Vec<u8>) -> Option<bool> {
        let (Some(joining), Some(width)) = (self.joining, self.form.width()) else { return Some(false) };
        let count = known.len() / width;
        let is_full = count >= joining.most && !joining.drops_last;
        if new.claims.len() != width || is_full || count + 1 >= 1 << COUNT_BITS {
            return Some(false);
        }
        let moment = self.form.moment_of(new.claims)?;
        let competes = |other: u128| !joining.has_steps || self.form.are_in_one_step(moment, other);
        let (mut before, mut is_kept) = (0, true);
        let mut after = known;
        while let Some((claim, rest)) = after.split_at_checked(width) {
            let other = self.form.moment_of(claim)?;
            // At the same time, the key and the amount decide. Others may be added up.
            if other == moment || competes(other) && !joining.counts_one {
                return Some(false);
            }
            if other > moment {
                if is_kept && competes(other) {
                    after = rest;
                }
                break;
            }
            is_kept = !competes(other);
            before += width;
            after = rest;
        }
        let added = if is_kept { new.claims } else { &[] };
        let length = (before + added.len() + after.len()).min(joining.most.saturating_mul(width));
        write_header(new.held, (length / width) as u8, merged);
        let end = merged.len() + length;
        merged.extend_from_slice(&known[..before]);
        merged.extend_from_slice(added);
        merged.extend_from_slice(after);
        merged.truncate(end);
        Some(true)
    }

    /// Copies the groups before a tag.
    fn copy_groups_before(&self, old: &mut &[u8], held: u128, merged: &mut Vec<u8>) -> Option<()> {
        let (all, width) = (*old, self.form.width());
        while !old.is_empty() && header_of(old)? >> COUNT_BITS < held {
            take_group(old, width)?;
        }
        merged.extend_from_slice(&all[..all.len() - old.len()]);
        Some(())
    }
}

pub(super) fn damaged() -> Error {
    Error::Spill { reason: "the file has changed".to_owned() }
}
