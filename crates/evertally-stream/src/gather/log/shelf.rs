//! The claims of the claimants whose tags begin with the same byte.
//!
//! **Definition.** `sorted` holds one group per claimant, in the order of their tags: ten bytes of the
//! tag, the length of the claims in bytes, and the claims in the order of the rule. `recent` holds single
//! claims in the order of arrival, each behind its tag.
//!
//! **Cost.** Sorting in n recent claims decodes the groups of their claimants. The others are stepped
//! over by their lengths, and copied together.

use super::claim::{Claim, Form, read_number, write_number};
use super::reduce::Decider;
use super::symbols::Symbols;
use crate::error::{Error, Result};

/// The number of shelves: one for each first byte of a tag.
pub(super) const SHELVES: usize = 256;

/// The bytes of a tag behind its first.
pub(super) type Tag = [u8; 10];

/// `recent` may be this part of `sorted`.
const MAX_RECENT_PART: usize = 12;

/// `recent` may always have this many bytes.
const MIN_RECENT_BYTES: usize = 4096;

#[derive(Default)]
pub(super) struct Shelf {
    sorted: Vec<u8>,
    recent: Vec<u8>,
}

impl Shelf {
    /// The bytes of memory that are held.
    pub(super) fn bytes(&self) -> usize {
        self.sorted.capacity() + self.recent.capacity()
    }

    /// Takes a claim. Whether it is time to sort.
    pub(super) fn add(&mut self, tag: Tag, claim: &Claim, form: Form) -> bool {
        self.recent.extend_from_slice(&tag);
        form.write(claim, &mut self.recent);
        self.recent.len() >= MIN_RECENT_BYTES.max(self.sorted.len() / MAX_RECENT_PART)
    }

    /// Sorts recent claims among the others.
    pub(super) fn sort(&mut self, form: Form, decider: &Decider, symbols: &Symbols) -> Result<()> {
        if self.recent.is_empty() {
            return Ok(());
        }
        let recent = read_recent(&self.recent, form).ok_or_else(damaged)?;
        // No larger than needed: what is left over stays unused.
        let mut merged = Vec::with_capacity(self.sorted.len() + self.recent.len() + recent.len());
        let mut old = &self.sorted[..];
        let (mut claims, mut written) = (Vec::new(), Vec::new());
        for group in recent.chunk_by(|one, other| one.0 == other.0) {
            let tag = group[0].0;
            claims.clear();
            copy_groups_before(&mut old, Some(tag), &mut merged).ok_or_else(damaged)?;
            if old.starts_with(&tag) {
                let (_, held) = take_group(&mut old).ok_or_else(damaged)?;
                read_claims(held, form, &mut claims).ok_or_else(damaged)?;
            }
            claims.extend(group.iter().map(|(_, claim)| claim.clone()));
            claims.sort_by(|one, other| one.order(other, symbols));
            decider.reduce(&mut claims, symbols);
            written.clear();
            claims.iter().for_each(|claim| form.write(claim, &mut written));
            merged.extend_from_slice(&tag);
            write_number(written.len() as u128, &mut merged);
            merged.extend_from_slice(&written);
        }
        copy_groups_before(&mut old, None, &mut merged).ok_or_else(damaged)?;
        merged.shrink_to_fit();
        self.sorted = merged;
        self.recent = Vec::new();
        Ok(())
    }

    /// The sorted groups, which leave the shelf. It must be sorted.
    pub(super) fn take_sorted(&mut self) -> Vec<u8> {
        std::mem::take(&mut self.sorted)
    }

    /// Takes sorted groups back. Each claim is handed in again, so that all can be sorted together.
    pub(super) fn take_back(&mut self, mut groups: &[u8], form: Form) -> Result<()> {
        let mut claims = Vec::new();
        while !groups.is_empty() {
            let (tag, group) = take_group(&mut groups).ok_or_else(damaged)?;
            claims.clear();
            read_claims(group, form, &mut claims).ok_or_else(damaged)?;
            for claim in &claims {
                self.recent.extend_from_slice(&tag);
                form.write(claim, &mut self.recent);
            }
        }
        Ok(())
    }

    /// Passes on the claims of each claimant. The shelf must be sorted.
    pub(super) fn each_claimant(&self, form: Form, mut each: impl FnMut(&[Claim])) -> Result<()> {
        let (mut groups, mut claims) = (&self.sorted[..], Vec::new());
        while !groups.is_empty() {
            let (_, group) = take_group(&mut groups).ok_or_else(damaged)?;
            claims.clear();
            read_claims(group, form, &mut claims).ok_or_else(damaged)?;
            each(&claims);
        }
        Ok(())
    }
}

/// The tag and the claims of the first group, which is taken off the front.
fn take_group<'a>(groups: &mut &'a [u8]) -> Option<(Tag, &'a [u8])> {
    let (tag, mut rest) = groups.split_first_chunk::<{ size_of::<Tag>() }>()?;
    let length = usize::try_from(read_number(&mut rest)?).ok()?;
    let (claims, rest) = rest.split_at_checked(length)?;
    *groups = rest;
    Some((*tag, claims))
}

fn read_claims(mut bytes: &[u8], form: Form, claims: &mut Vec<Claim>) -> Option<()> {
    while !bytes.is_empty() {
        claims.push(form.read(&mut bytes)?);
    }
    Some(())
}

/// Claims by tag.
fn read_recent(mut bytes: &[u8], form: Form) -> Option<Vec<(Tag, Claim)>> {
    let mut recent = Vec::new();
    while let Some((tag, rest)) = bytes.split_first_chunk::<{ size_of::<Tag>() }>() {
        bytes = rest;
        recent.push((*tag, form.read(&mut bytes)?));
    }
    recent.sort_by_key(|(tag, _)| *tag);
    Some(recent)
}

/// Copies the groups before a tag, or all that are left.
fn copy_groups_before(old: &mut &[u8], tag: Option<Tag>, merged: &mut Vec<u8>) -> Option<()> {
    let (all, mut rest) = (*old, *old);
    while !rest.is_empty() {
        let (other, _) = take_group(&mut rest)?;
        if tag.is_some_and(|tag| other >= tag) {
            break;
        }
        *old = rest;
    }
    merged.extend_from_slice(&all[..all.len() - old.len()]);
    Some(())
}

fn damaged() -> Error {
    Error::Spill { reason: "the file has changed".to_owned() }
}
