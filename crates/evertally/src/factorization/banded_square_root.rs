//! The banded square root: R = T(first p coefficients of the root), L = A R⁻¹.
//!
//! For several participations at least p apart the columns that one person touches do not overlap, so Δ grows
//! like √k only: the mechanism for many epochs. With p = n it is the square root.
//! y = R⁻¹g by the recursion y_t = (g_t − Σ_{0<k<p} r_k y_{t−k})/r_0, then z = A y. State and time O(p).

use std::collections::VecDeque;
use std::sync::Arc;

use zeroize::Zeroize;

use super::toeplitz::{Toeplitz, answer_from_toeplitz, banded_encoder, choose_band};
use super::{Cost, Dense, Factorization, Mechanism, Request};
use crate::Result;
use crate::noise::{Correlator, Progress, WhiteField, misfit};
use crate::privacy::Participation;
use crate::workload::{Filter, Workload};

pub(crate) struct BandedSquareRoot {
    toeplitz: Toeplitz,
    workload: Workload,
    band: usize,
}

impl BandedSquareRoot {
    pub(crate) fn new(request: &Request<'_>, band: Option<u64>) -> Result<Self> {
        let mechanism = Mechanism::BandedSquareRoot { band };
        let (workload, n) = (request.workload, request.horizon as usize);
        let (band, toeplitz) = choose_band(&mechanism, request, band, |p| banded_encoder(workload, n, p))?;
        Ok(Self { toeplitz, workload, band })
    }
}

impl Factorization for BandedSquareRoot {
    fn mechanism(&self) -> Mechanism {
        Mechanism::BandedSquareRoot { band: Some(self.band as u64) }
    }

    answer_from_toeplitz!();

    fn cost(&self) -> Cost {
        Cost {
            shared_bytes: self.toeplitz.bytes(),
            bytes_per_coordinate: 8 * (self.band as u64 + 1 + self.workload.kept(self.horizon())),
            operations_per_step: 2.0 * self.band as f64 + 2.0,
        }
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, _: &dyn Progress) -> Box<dyn Correlator> {
        let filter = Filter::new(self.workload, field.width());
        let band = self.toeplitz.encoder()[..self.band].to_vec();
        Box::new(Recursion { field, step: 0, band, recent: VecDeque::new(), filter })
    }
}

struct Recursion {
    field: Arc<dyn WhiteField>,
    step: u64,
    /// r_0, …, r_{p−1}.
    band: Vec<f64>,
    /// y of the last p − 1 steps, newest first, one vector a step.
    recent: VecDeque<Vec<f64>>,
    filter: Filter,
}

impl Correlator for Recursion {
    fn next(&mut self, out: &mut [f64]) {
        self.field.draw(self.step, out);
        for (r, past) in self.band[1..].iter().zip(&self.recent) {
            for (y, past) in out.iter_mut().zip(past) {
                *y -= r * past;
            }
        }
        out.iter_mut().for_each(|y| *y /= self.band[0]);
        if self.band.len() > 1 {
            let oldest = if self.recent.len() == self.band.len() - 1 { self.recent.pop_back() } else { None };
            let mut newest = oldest.unwrap_or_else(|| vec![0.0; out.len()]);
            newest.copy_from_slice(out);
            self.recent.push_front(newest);
        }
        self.filter.apply(out);
        self.step += 1;
    }

    fn save(&self) -> Vec<f64> {
        let mut saved = Vec::new();
        self.filter.save(&mut saved);
        saved.extend(self.recent.iter().flatten());
        saved
    }

    fn restore(&mut self, step: u64, saved: &[f64]) -> Result<()> {
        let mut numbers = saved.iter().copied();
        self.filter.restore(step, &mut numbers).ok_or_else(misfit)?;
        let kept = step.min(self.band.len() as u64 - 1) as usize;
        let rest: Vec<f64> = numbers.collect();
        let lanes = self.field.width();
        if rest.len() != kept * lanes {
            return Err(misfit());
        }
        self.recent = rest.chunks(lanes).map(<[f64]>::to_vec).collect();
        self.step = step;
        Ok(())
    }
}

impl Drop for Recursion {
    fn drop(&mut self) {
        self.recent.iter_mut().for_each(Zeroize::zeroize);
    }
}
