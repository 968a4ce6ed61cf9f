//! The banded inverse square root: R⁻¹ = T(first p coefficients of the inverse root), L = A R⁻¹.
//!
//! Kalinin, McKenna, Upadhyay and Lampert (2025). The noise is y_t = Σ_{k<p} c_k g_{t−k}, then z = A y: only
//! white noise is kept, and that can be drawn again, so a resumed run needs no more than the sums of A y.
//! State and time O(p). With p = n it is the square root.

use std::collections::VecDeque;
use std::sync::Arc;

use zeroize::Zeroize;

use super::toeplitz::{Toeplitz, answer_from_toeplitz, banded_inverse, choose_band};
use super::{Cost, Dense, Factorization, Mechanism, Request, series};
use crate::Result;
use crate::noise::{Correlator, Progress, WhiteField, misfit};
use crate::privacy::Participation;
use crate::workload::{Filter, Workload};

pub(crate) struct BandedInverseSquareRoot {
    toeplitz: Toeplitz,
    workload: Workload,
    band: usize,
}

impl BandedInverseSquareRoot {
    pub(crate) fn new(request: &Request<'_>, band: Option<u64>) -> Result<Self> {
        let mechanism = Mechanism::BandedInverseSquareRoot { band };
        let (workload, n) = (request.workload, request.horizon as usize);
        let (band, toeplitz) = choose_band(&mechanism, request, band, |p| banded_inverse(workload, n, p))?;
        Ok(Self { toeplitz, workload, band })
    }
}

impl Factorization for BandedInverseSquareRoot {
    fn mechanism(&self) -> Mechanism {
        Mechanism::BandedInverseSquareRoot { band: Some(self.band as u64) }
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
        let band = series::inverse_root(self.workload, self.band);
        Box::new(MovingSum { field, step: 0, band, recent: VecDeque::new(), filter })
    }
}

struct MovingSum {
    field: Arc<dyn WhiteField>,
    step: u64,
    /// c_0, …, c_{p−1}.
    band: Vec<f64>,
    /// g of the last p steps, newest first, one vector a step.
    recent: VecDeque<Vec<f64>>,
    filter: Filter,
}

impl Correlator for MovingSum {
    fn next(&mut self, out: &mut [f64]) {
        let oldest = if self.recent.len() == self.band.len() { self.recent.pop_back() } else { None };
        let mut newest = oldest.unwrap_or_else(|| vec![0.0; out.len()]);
        self.field.draw(self.step, &mut newest);
        self.recent.push_front(newest);
        out.fill(0.0);
        for (c, past) in self.band.iter().zip(&self.recent) {
            for (y, past) in out.iter_mut().zip(past) {
                *y += c * past;
            }
        }
        self.filter.apply(out);
        self.step += 1;
    }

    fn save(&self) -> Vec<f64> {
        let mut saved = Vec::new();
        self.filter.save(&mut saved);
        saved
    }

    fn restore(&mut self, step: u64, saved: &[f64]) -> Result<()> {
        let mut numbers = saved.iter().copied();
        self.filter.restore(step, &mut numbers).ok_or_else(misfit)?;
        if numbers.next().is_some() {
            return Err(misfit());
        }
        let first = step.saturating_sub(self.band.len() as u64);
        self.recent = (first..step)
            .rev()
            .map(|index| {
                let mut past = vec![0.0; self.field.width()];
                self.field.draw(index, &mut past);
                past
            })
            .collect();
        self.step = step;
        Ok(())
    }
}

impl Drop for MovingSum {
    fn drop(&mut self) {
        self.recent.iter_mut().for_each(Zeroize::zeroize);
    }
}
