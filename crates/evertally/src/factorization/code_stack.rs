//! Noise read off the one-bits of a growing sequence of codes.
//!
//! The binary tree covers the first c items by one node for each one-bit of c. The smooth tree does the same
//! with codes of constant weight. In both, the noise of a node is named by the bits of the code down to and
//! including its own, so going from one code to the next keeps the noise above the highest changed bit and
//! needs fresh draws below it. The partial sums from the top are the state: one number for each one-bit.

use std::sync::Arc;

use zeroize::Zeroizing;

use crate::Result;
use crate::noise::{Correlator, WhiteField, restore_numbers};

/// The sequence of codes, strictly increasing. Code 0 is never read; it represents the empty prefix.
pub(crate) trait Codes: Send {
    /// Code number `step`.
    fn at(&self, step: u64) -> u64;
    /// The code after this one.
    fn successor(&self, code: u64) -> u64;
    /// The most one-bits in a code.
    fn max_ones(&self) -> u32;
}

pub(crate) struct CodeStack<C> {
    codes: C,
    field: Arc<dyn WhiteField>,
    code: u64,
    /// `partial[i]` lanes: the sum over the highest i one-bits of the current code.
    partial: Zeroizing<Vec<f64>>,
    fresh: Zeroizing<Vec<f64>>,
}

impl<C: Codes> CodeStack<C> {
    /// Starts before the first step. Code 0 must have no one-bit above the highest bit that code 1
    /// changes.
    pub(crate) fn new(codes: C, field: Arc<dyn WhiteField>) -> Self {
        let lanes = field.width();
        let partial = Zeroizing::new(vec![0.0; (codes.max_ones() as usize + 1) * lanes]);
        Self { code: codes.at(0), codes, field, partial, fresh: Zeroizing::new(vec![0.0; lanes]) }
    }
}

/// Bytes of state for each coordinate.
pub(crate) fn bytes_per_coordinate(max_ones: u32) -> u64 {
    8 * (u64::from(max_ones) + 2)
}

impl<C: Codes> Correlator for CodeStack<C> {
    fn next(&mut self, out: &mut [f64]) {
        let lanes = out.len();
        let code = self.codes.successor(self.code);
        let changed = 63 - (code ^ self.code).leading_zeros();
        // In two shifts, because the whole word may have changed.
        let mut depth = (code >> changed >> 1).count_ones() as usize;
        let mut rest = code & (u64::MAX >> (63 - changed));
        while rest != 0 {
            let bit = 63 - rest.leading_zeros();
            rest &= !(1 << bit);
            // The bits down to this one name the node, and the node names the draw.
            self.field.draw(code & (u64::MAX << bit), &mut self.fresh);
            let (above, below) = self.partial.split_at_mut((depth + 1) * lanes);
            let above = &above[depth * lanes..];
            for ((sum, base), fresh) in below.iter_mut().zip(above).zip(self.fresh.iter()) {
                *sum = base + fresh;
            }
            depth += 1;
        }
        out.copy_from_slice(&self.partial[depth * lanes..(depth + 1) * lanes]);
        self.code = code;
    }

    fn save(&self) -> Vec<f64> {
        self.partial.to_vec()
    }

    fn restore(&mut self, step: u64, saved: &[f64]) -> Result<()> {
        restore_numbers(&mut self.partial, saved)?;
        self.code = self.codes.at(step);
        Ok(())
    }
}
