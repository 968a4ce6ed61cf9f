//! The banded square root and the banded inverse square root.
//!
//! **Definition.** s is the root of the workload and c its inverse. The banded square root keeps
//! the first p coefficients of s: R = T(s_0, …, s_{p−1}). The banded inverse square root keeps the
//! first p coefficients of c: R⁻¹ = T(c_0, …, c_{p−1}). In both, L = A R⁻¹. With p = n either is
//! the square root.
//!
//! **Guarantee.** Δ and errors are those of the coefficients that are run. If a person takes part
//! several times, at least p steps apart, the columns of the banded R do not overlap and Δ grows
//! only like √k. This suits training with many epochs.
//!
//! **Cost.** The noise is z = A y, with y_t = (g_t − Σ_{0<k<p} s_k y_{t−k})/s_0 or
//! y_t = Σ_{k<p} c_k g_{t−k}. State and time are O(p) per step. The second form keeps only white
//! noise, which can be drawn again, so its saved state is only the sums of A y. Preparation takes
//! O(n p) operations.
//!
//! **Source.** Banded root: Kalinin and Lampert (2024). Banded inverse root: Kalinin, McKenna,
//! Upadhyay and Lampert (2025).

use std::collections::VecDeque;
use std::sync::Arc;

use zeroize::Zeroizing;

use super::series::partial_energies;
use super::{Cost, Dense, Factorization, Kind, Mechanism, Request, dense_size, in_turn, root_size, series};
use crate::matrix::Matrix;
use crate::noise::{Correlator, Progress, WhiteField, misfit};
use crate::privacy::{CompensatedSum, Participation, toeplitz_sensitivity};
use crate::workload::{Filter, Workload};
use crate::{Error, Result};

pub(super) static SQUARE_ROOT: Kind = Kind {
    name: "banded-square-root",
    code: 11,
    factorize: |request, band| Ok(Arc::new(Banded::new(Form::Root, request, band)?)),
    ..BANDED
};

pub(super) static INVERSE_SQUARE_ROOT: Kind = Kind {
    name: "banded-inverse-square-root",
    code: 12,
    factorize: |request, band| Ok(Arc::new(Banded::new(Form::InverseRoot, request, band)?)),
    ..BANDED
};

/// What both have in common.
const BANDED: Kind = Kind {
    preparation: |horizon, _, band| {
        // If no band is named, all narrower powers of two are tried as well.
        let tried = band.unwrap_or(2 * MAX_CHOSEN_BAND).min(2 * horizon);
        4.0 * horizon as f64 * tried as f64
    },
    min_cost: |horizon, _| Cost::arrays(horizon, 3, 0),
    ..Kind::DEFAULT
};

/// The widest band that is tried when none is named.
const MAX_CHOSEN_BAND: u64 = 1024;

/// Multiply-adds that one banded factorization may take to prepare.
const MAX_WORK: f64 = 6.9e10;

/// Multiply-adds that trying several bands may take together.
const MAX_CHOICE_WORK: f64 = 5e8;

/// Which series is cut to a band.
#[derive(Clone, Copy)]
enum Form {
    Root,
    InverseRoot,
}

impl Form {
    fn mechanism(self, band: Option<u64>) -> Mechanism {
        match self {
            Self::Root => Mechanism::BandedSquareRoot { band },
            Self::InverseRoot => Mechanism::BandedInverseSquareRoot { band },
        }
    }
}

struct Banded {
    form: Form,
    workload: Workload,
    band: usize,
    /// The first column of L.
    decoder: Vec<f64>,
    /// The first column of R.
    encoder: Vec<f64>,
    /// ‖L\[t;\]‖² of every step.
    row_norms: Vec<f64>,
}

impl Banded {
    /// The named band, cut to the horizon, or the power of two (or the gap between participations)
    /// of least mean error.
    fn new(form: Form, request: &Request<'_>, band: Option<u64>) -> Result<Self> {
        let mechanism = form.mechanism(band);
        let n = root_size(&mechanism, request)?;
        if band == Some(0) {
            return Err(Error::bad("band", "an integer from 1", 0));
        }
        let widest = band.unwrap_or(MAX_CHOSEN_BAND).min(request.horizon);
        if widest as f64 * request.horizon as f64 > MAX_WORK {
            let reason = format!("preparing {n} steps with a band of {widest} takes too many operations");
            return Err(Error::too_costly(mechanism, reason));
        }
        let make = |band: u64| Self::with_band(form, request.workload, n, band as usize);
        if band.is_some() {
            return Ok(make(widest));
        }
        let error = |banded: &Self| {
            banded.sensitivity(request.participation).powi(2) * banded.mean_row_norm_squared()
        };
        candidates(request)
            .into_iter()
            .map(make)
            .min_by(|a, b| error(a).total_cmp(&error(b)))
            .ok_or_else(|| Error::too_costly(mechanism, "no band fits"))
    }

    fn with_band(form: Form, workload: Workload, n: usize, band: usize) -> Self {
        let (decoder, encoder) = match form {
            // l = a/r.
            Form::Root => {
                let mut encoder = series::root(workload, band);
                let decoder = series::divide(&workload.coefficients(n), &encoder, n);
                encoder.resize(n, 0.0);
                (decoder, encoder)
            }
            // r = 1/c and l = a·c.
            Form::InverseRoot => {
                let inverse = series::inverse_root(workload, band);
                let encoder = series::divide(&[1.0], &inverse, n);
                (series::multiply(&workload.coefficients(n), &inverse, n), encoder)
            }
        };
        let row_norms = partial_energies(&decoder).collect();
        Self { form, workload, band, decoder, encoder, row_norms }
    }
}

/// The bands that are tried when none is named, widest first.
fn candidates(request: &Request<'_>) -> Vec<u64> {
    let mut candidates: Vec<u64> = (0..=MAX_CHOSEN_BAND.ilog2()).map(|i| 1 << i).collect();
    let gap = request.participation.min_gap();
    if request.participation.bounded(request.horizon) > 1 && gap <= MAX_CHOSEN_BAND {
        candidates.push(gap);
    }
    if request.horizon <= MAX_CHOSEN_BAND {
        candidates.push(request.horizon);
    }
    candidates.retain(|p| *p <= request.horizon);
    // Wide bands are the accurate ones at long horizons. If trying all would take long, the narrow
    // ones are not tried.
    candidates.sort_unstable_by(|a, b| b.cmp(a));
    let mut work = 0.0;
    candidates.retain(|p| {
        let is_first = work == 0.0;
        work += *p as f64 * request.horizon as f64;
        is_first || work <= MAX_CHOICE_WORK
    });
    candidates
}

impl Factorization for Banded {
    fn mechanism(&self) -> Mechanism {
        self.form.mechanism(Some(self.band as u64))
    }

    fn horizon(&self) -> u64 {
        self.row_norms.len() as u64
    }

    fn sensitivity(&self, participation: Participation) -> f64 {
        toeplitz_sensitivity(&self.encoder, participation)
    }

    /// RᵀR ≥ 0 if R ≥ 0.
    fn gram_is_nonnegative(&self) -> bool {
        self.encoder.iter().all(|r| *r >= 0.0)
    }

    fn gram_falls(&self) -> bool {
        in_turn::toeplitz_falls(&self.encoder)
    }

    fn row_norm_squared(&self, step: u64) -> f64 {
        self.row_norms[step as usize]
    }

    /// Row t has l_{t−j} in column j. The difference has l_{i+lag} − l_i where both rows reach, and
    /// the first `lag` coefficients where only the later row does.
    fn difference_norm_squared(&self, earlier: u64, later: u64) -> f64 {
        let lag = later - earlier;
        let both = earlier as usize + 1;
        let mut sum = CompensatedSum::default();
        for (near, far) in self.decoder[..both].iter().zip(&self.decoder[lag as usize..]) {
            sum.add((far - near) * (far - near));
        }
        sum.value() + self.row_norms[(lag - 1) as usize]
    }

    fn cost(&self) -> Cost {
        Cost {
            shared_bytes: 24 * self.horizon(),
            bytes_per_coordinate: 8 * (self.band as u64 + 1 + self.workload.kept(self.horizon())),
            operations_per_step: 2.0 * self.band as f64 + 2.0,
        }
    }

    fn dense(&self) -> Result<Dense> {
        dense_size(&self.mechanism(), self.horizon())?;
        Ok(Dense {
            decoder: Matrix::lower_toeplitz(&self.decoder),
            encoder: Matrix::lower_toeplitz(&self.encoder),
        })
    }

    fn correlator(&self, field: Arc<dyn WhiteField>, _: &dyn Progress) -> Box<dyn Correlator> {
        let filter = Filter::new(self.workload, field.width());
        let (band, kept) = match self.form {
            Form::Root => (self.encoder[..self.band].to_vec(), self.band - 1),
            Form::InverseRoot => (series::inverse_root(self.workload, self.band), self.band),
        };
        Box::new(Stream { form: self.form, field, step: 0, band, kept, recent: VecDeque::new(), filter })
    }
}

/// y by the recursion or the moving sum, then z = A y.
struct Stream {
    form: Form,
    field: Arc<dyn WhiteField>,
    step: u64,
    /// s_0, …, s_{p−1} or c_0, …, c_{p−1}.
    band: Vec<f64>,
    /// How many rows `recent` holds once it is full.
    kept: usize,
    /// The last rows, newest first: y of the recursion, g of the moving sum.
    recent: VecDeque<Zeroizing<Vec<f64>>>,
    filter: Filter,
}

impl Stream {
    fn remember(&mut self, row: &[f64]) {
        if self.kept == 0 {
            return;
        }
        let oldest = if self.recent.len() == self.kept { self.recent.pop_back() } else { None };
        let mut newest = oldest.unwrap_or_else(|| Zeroizing::new(vec![0.0; row.len()]));
        newest.copy_from_slice(row);
        self.recent.push_front(newest);
    }

    /// The number of rows in `recent` after this many steps.
    fn kept_after(&self, step: u64) -> u64 {
        step.min(self.kept as u64)
    }
}

impl Correlator for Stream {
    fn next(&mut self, out: &mut [f64]) {
        self.field.draw(self.step, out);
        match self.form {
            Form::Root => {
                for (r, past) in self.band[1..].iter().zip(&self.recent) {
                    out.iter_mut().zip(past.iter()).for_each(|(y, past)| *y -= r * past);
                }
                out.iter_mut().for_each(|y| *y /= self.band[0]);
                self.remember(out);
            }
            Form::InverseRoot => {
                self.remember(out);
                out.fill(0.0);
                for (c, past) in self.band.iter().zip(&self.recent) {
                    out.iter_mut().zip(past.iter()).for_each(|(y, past)| *y += c * past);
                }
            }
        }
        self.filter.apply(out);
        self.step += 1;
    }

    fn save(&self) -> Vec<f64> {
        let mut saved = Vec::new();
        self.filter.save(&mut saved);
        if let Form::Root = self.form {
            saved.extend(self.recent.iter().flat_map(|row| row.iter()));
        }
        saved
    }

    fn restore(&mut self, step: u64, saved: &[f64]) -> Result<()> {
        let rows = self.kept_after(step);
        let lanes = self.field.width();
        match self.form {
            Form::Root => {
                let kept = rows as usize * lanes;
                let split = saved.len().checked_sub(kept).ok_or_else(misfit)?;
                self.filter.restore(step, &saved[..split]).ok_or_else(misfit)?;
                self.recent = saved[split..].chunks(lanes).map(|row| Zeroizing::new(row.to_vec())).collect();
            }
            Form::InverseRoot => {
                self.filter.restore(step, saved).ok_or_else(misfit)?;
                let drawn = |index| {
                    let mut past = Zeroizing::new(vec![0.0; lanes]);
                    self.field.draw(index, &mut past);
                    past
                };
                self.recent = (step - rows..step).rev().map(drawn).collect();
            }
        }
        self.step = step;
        Ok(())
    }
}
