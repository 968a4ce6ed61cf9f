//! True totals, in exact fixed point.
//!
//! **Why not floats.** Sums of floats round, and how they round depends on the data: two streams
//! that differ by one in one step can end up hundreds apart, far beyond the sensitivity that the
//! noise covers (Casacuberta, Shoemate, Vadhan and Wagaman, 2022). Here an input is rounded once,
//! to a multiple of a unit that depends on the plan alone. Totals are integers, and noise is added
//! to them as integers too. An input that is an integer already, on a grid that is a power of two,
//! never becomes a float. Only the finished release does, which is post-processing.
//!
//! **What it costs.** With M the largest magnitude of a contribution, the unit is at most 2⁻⁶⁰·M
//! (2⁻⁸⁰·M for decays). Inputs that differ by v differ by at most v plus one unit after rounding,
//! so one changed step moves the total by at most M·(1 + 2⁻⁶⁰). A decayed total is truncated to
//! units at every step. After two totals first differ, truncation can change their difference by
//! one unit per step, as if the input of that step had changed by a unit.
//! [`rounding_charge`](crate::resolution::rounding_charge) covers both, for vectors coordinate by
//! coordinate.
//!
//! **Memory and threads.** 16 bytes per lane, and 16 for every input inside a window. A step
//! allocates nothing else. Many lanes are divided among threads; sums of integers do not depend on
//! the division. Totals and inputs are wiped when they are dropped or moved.

use rayon::prelude::*;
use zeroize::Zeroize;

use crate::Result;
use crate::resolution::{Input, Resolution, too_large};
use crate::workload::Workload;

/// Lanes that a thread handles at a time. With fewer lanes, one thread handles all.
const LANES_PER_THREAD: usize = 1 << 12;

/// The part of a total that remains when a step starts, before its input. Not for windows.
pub(crate) fn carried(workload: Workload, total: i128) -> i128 {
    match workload {
        Workload::Decay { factor } => cut_product(total, factor),
        _ => total,
    }
}

/// The true answers so far, one lane per coordinate or key. There is no `Debug`, because they must
/// not be shown.
pub(super) struct Totals {
    workload: Workload,
    unit: Resolution,
    sums: Vec<i128>,
    /// The inputs still inside the window. The input of step s is in row s mod width. Rows are added
    /// until there are `width` of them.
    recent: Vec<i128>,
}

impl Totals {
    pub(super) fn new(workload: Workload, unit: Resolution, lanes: usize) -> Self {
        Self { workload, unit, sums: vec![0; lanes], recent: Vec::new() }
    }

    /// Refuses inputs that the next step cannot take. Changes nothing.
    pub(super) fn check<T: Copy + Sync>(&self, step: u64, inputs: &[T], input: impl Input<T>) -> Result<()> {
        let recent = self.leaving(step).map_or(&[][..], |row| &self.recent[row..row + self.sums.len()]);
        let check = |first: usize, inputs: &[T]| {
            inputs.iter().zip(first..).find_map(|(x, lane)| {
                let leaving = recent.get(lane).copied().unwrap_or(0);
                match input.checked(self.unit, step, *x) {
                    Err(error) => Some(error),
                    Ok(x) => {
                        let sum = carried(self.workload, self.sums[lane]) - leaving + x;
                        (!self.unit.holds(sum)).then(|| too_large(step))
                    }
                }
            })
        };
        let refusal = if inputs.len() < LANES_PER_THREAD {
            check(0, inputs)
        } else {
            let parts = inputs.par_chunks(LANES_PER_THREAD).enumerate();
            parts.find_map_first(|(part, inputs)| check(part * LANES_PER_THREAD, inputs))
        };
        refusal.map_or(Ok(()), Err)
    }

    /// Takes the inputs of a step, which `check` has passed, and writes `release(lane, total,
    /// number)` of each new total over the number in `out`.
    pub(super) fn step<T: Copy + Sync>(
        &mut self,
        step: u64,
        inputs: &[T],
        input: impl Input<T>,
        out: &mut [f64],
        release: impl Fn(usize, i128, f64) -> f64 + Sync,
    ) {
        let (workload, unit, lanes) = (self.workload, self.unit, self.sums.len());
        // The row for this step's inputs still holds the inputs that leave the window.
        let row = match workload {
            Workload::SlidingWindow { width } => {
                let row = self.leaving(step).unwrap_or(self.recent.len());
                self.make_room(row, width);
                row..row + lanes
            }
            _ => 0..0,
        };
        let recent = &mut self.recent[row];
        let take = |lane: usize, sum: &mut i128, leaving: Option<&mut i128>, x: T, out: &mut f64| {
            let x = input.units(unit, x);
            *sum = carried(workload, *sum) + x;
            if let Some(leaving) = leaving {
                *sum -= *leaving;
                *leaving = x;
            }
            *out = release(lane, *sum, *out);
        };
        let work = |part: usize, sums: &mut [i128], inputs: &[T], out: &mut [f64], recent: &mut [i128]| {
            let mut recent = recent.iter_mut();
            for (((sum, x), out), lane) in sums.iter_mut().zip(inputs).zip(out).zip(part * LANES_PER_THREAD..)
            {
                take(lane, sum, recent.next(), *x, out);
            }
        };
        if lanes < LANES_PER_THREAD {
            return work(0, &mut self.sums, inputs, out, recent);
        }
        let sums = self.sums.par_chunks_mut(LANES_PER_THREAD);
        let all = sums.zip(inputs.par_chunks(LANES_PER_THREAD)).zip(out.par_chunks_mut(LANES_PER_THREAD));
        if recent.is_empty() {
            all.enumerate().for_each(|(part, ((sums, inputs), out))| work(part, sums, inputs, out, &mut []));
        } else {
            all.zip(recent.par_chunks_mut(LANES_PER_THREAD))
                .enumerate()
                .for_each(|(part, (((sums, inputs), out), recent))| work(part, sums, inputs, out, recent));
        }
    }

    /// The total of the first lane.
    pub(super) fn first(&self) -> i128 {
        self.sums[0]
    }

    /// The place of the inputs that leave the window at a step, once it is full.
    fn leaving(&self, step: u64) -> Option<usize> {
        match self.workload {
            Workload::SlidingWindow { width } if step >= width => {
                Some((step % width) as usize * self.sums.len())
            }
            _ => None,
        }
    }

    /// Ensures that row `row` exists. Memory grows by half, but not beyond the window.
    fn make_room(&mut self, row: usize, width: u64) {
        let lanes = self.sums.len();
        let needed = row + lanes;
        if needed > self.recent.capacity() {
            let most = usize::try_from(width).unwrap_or(usize::MAX).saturating_mul(lanes);
            // Moved by hand, so that the old memory is wiped.
            let mut moved = Vec::with_capacity(needed.max((needed / 2 * 3).min(most)));
            moved.extend_from_slice(&self.recent);
            std::mem::replace(&mut self.recent, moved).zeroize();
        }
        self.recent.resize(needed.max(self.recent.len()), 0);
    }

    /// The totals, then the inputs inside the window, oldest first, after this many steps. The
    /// caller must wipe them.
    pub(super) fn save(&self, step: u64) -> Vec<i128> {
        let (newer, older) = self.recent.split_at(self.leaving(step).unwrap_or(0));
        [&self.sums[..], older, newer].concat()
    }

    /// Restores what `save` returned after this many steps. `None` if it does not fit.
    pub(super) fn restore(&mut self, step: u64, saved: &[i128]) -> Option<()> {
        let lanes = self.sums.len();
        let kept = match self.workload {
            Workload::SlidingWindow { width } => usize::try_from(step.min(width)).ok()?.checked_mul(lanes)?,
            _ => 0,
        };
        if saved.len() != lanes.checked_add(kept)? || !saved.iter().all(|units| self.unit.holds(*units)) {
            return None;
        }
        let (sums, recent) = saved.split_at(lanes);
        self.sums.copy_from_slice(sums);
        self.recent.zeroize();
        self.recent = recent.to_vec();
        let oldest = self.leaving(step).unwrap_or(0);
        self.recent.rotate_right(oldest);
        Some(())
    }
}

impl Drop for Totals {
    fn drop(&mut self) {
        self.sums.zeroize();
        self.recent.zeroize();
    }
}

/// total·factor for 0 < factor < 1, truncated towards zero to an integer; otherwise exact.
fn cut_product(total: i128, factor: f64) -> i128 {
    // factor = mantissa·2^{−shift} with 53 bits of mantissa.
    let shift = (52 - libm::ilogb(factor)) as u32;
    let mantissa = libm::scalbn(factor, shift as i32) as u128;
    let magnitude = total.unsigned_abs();
    let low = (magnitude & u128::from(u64::MAX)) * mantissa;
    let high = (magnitude >> 64) * mantissa + (low >> 64);
    // The product is high·2^64 + the low half of `low`; it loses at least 53 bits.
    let product = if shift < 64 {
        (high << (64 - shift)) | ((low & u128::from(u64::MAX)) >> shift)
    } else {
        high.checked_shr(shift - 64).unwrap_or(0)
    };
    if total < 0 { -(product as i128) } else { product as i128 }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::Error;
    use crate::resolution::Doubles;
    use proptest::prelude::*;

    fn totals(workload: Workload) -> Totals {
        Totals::new(workload, Resolution::new(workload, 1.0), 1)
    }

    /// A step of one lane: its total.
    fn taken(totals: &mut Totals, step: u64, x: f64) -> Result<i128> {
        totals.check(step, &[x], Doubles)?;
        totals.step(step, &[x], Doubles, &mut [0.0], |_, _, _| 0.0);
        Ok(totals.sums[0])
    }

    fn value(totals: &mut Totals, step: u64, x: f64) -> f64 {
        totals.unit.value(taken(totals, step, x).unwrap())
    }

    #[test]
    fn totals_follow_the_matrix() {
        for workload in
            [Workload::PrefixSum, Workload::SlidingWindow { width: 4 }, Workload::Decay { factor: 0.75 }]
        {
            let n = 20;
            let a = workload.matrix(n);
            let x: Vec<f64> = (0..n).map(|i| ((i * 7) % 5) as f64).collect();
            let mut totals = totals(workload);
            for t in 0..n {
                let expected: f64 = a.row(t).iter().zip(&x).map(|(a, x)| a * x).sum();
                assert!((value(&mut totals, t as u64, x[t]) - expected).abs() < 1e-12, "{workload} at {t}");
            }
        }
    }

    #[test]
    fn a_refused_input_leaves_the_total_alone() {
        let mut totals = totals(Workload::PrefixSum);
        taken(&mut totals, 0, 3.0).unwrap();
        for bad in [f64::NAN, f64::INFINITY, f64::NEG_INFINITY, 1e300, 2e18] {
            assert!(taken(&mut totals, 1, bad).is_err());
        }
        assert_eq!(value(&mut totals, 1, 1.0), 4.0);
    }

    /// Many lanes on any number of threads, saved and restored in the middle, against one lane at a
    /// time.
    #[test]
    fn lanes_and_threads_do_not_matter() {
        let lanes = 2 * LANES_PER_THREAD + 77;
        let input = |t: u64, lane: usize| ((t as usize * 31 + lane * 7) % 101) as f64 / 8.0 - 5.0;
        for workload in
            [Workload::PrefixSum, Workload::SlidingWindow { width: 3 }, Workload::Decay { factor: 0.9 }]
        {
            let run = |lanes: std::ops::Range<usize>| {
                let mut many = Totals::new(workload, Resolution::new(workload, 1.0), lanes.len());
                for t in 0..8 {
                    let inputs: Vec<f64> = lanes.clone().map(|lane| input(t, lane)).collect();
                    many.check(t, &inputs, Doubles).unwrap();
                    many.step(t, &inputs, Doubles, &mut vec![0.0; lanes.len()], |_, _, _| 0.0);
                    let saved = many.save(t + 1);
                    many = Totals::new(workload, many.unit, lanes.len());
                    many.restore(t + 1, &saved).unwrap();
                }
                many.sums.clone()
            };
            let pool = |threads| rayon::ThreadPoolBuilder::new().num_threads(threads).build().unwrap();
            let one = pool(1).install(|| run(0..lanes));
            assert_eq!(one, pool(2).install(|| run(0..lanes)));
            assert_eq!(one, pool(7).install(|| run(0..lanes)));
            for lane in [0, 1, LANES_PER_THREAD, lanes - 1] {
                assert_eq!(run(lane..lane + 1), [one[lane]]);
            }
        }
    }

    #[test]
    fn the_first_lane_that_cannot_be_taken_is_named_on_any_threads() {
        let totals =
            Totals::new(Workload::PrefixSum, Resolution::new(Workload::PrefixSum, 1.0), 3 * LANES_PER_THREAD);
        let mut inputs = vec![1.0; 3 * LANES_PER_THREAD];
        inputs[LANES_PER_THREAD + 3] = f64::NAN;
        inputs[2 * LANES_PER_THREAD] = 1e300;
        for _ in 0..20 {
            let refusal = totals.check(5, &inputs, Doubles).unwrap_err();
            assert_eq!(refusal, Error::BadInput { step: 5, reason: "not a finite number" });
        }
    }

    /// Rounding in floats once moved two totals apart by 220 after a change of one contribution of
    /// magnitude one, with totals near 2^52 and inputs of a half that round to even.
    #[test]
    fn neighbouring_streams_stay_within_one_contribution() {
        let stream = |extra: f64| {
            let mut totals = totals(Workload::PrefixSum);
            value(&mut totals, 0, 4_503_599_627_370_496.0 + extra);
            (1..400).map(|t| if t % 2 == 0 { 0.5 } else { -0.5 }).enumerate().for_each(|(t, x)| {
                value(&mut totals, t as u64 + 1, x);
            });
            totals.save(400)[0]
        };
        assert_eq!(Resolution::new(Workload::PrefixSum, 1.0).value(stream(1.0) - stream(0.0)), 1.0);
    }

    proptest! {
        #[test]
        fn products_are_cut_exactly(total in -(1_i128 << 120)..(1_i128 << 120), factor in 1e-30..0.999_999_f64) {
            let product = cut_product(total, factor);
            prop_assert!(product.unsigned_abs() <= total.unsigned_abs());
            let expected = total as f64 * factor;
            prop_assert!((product as f64 - expected).abs() <= expected.abs() * 1e-15 + 1.0);
        }

        /// The charge for decay: two streams that differ by one contribution differ, at every later
        /// step, by at most the decayed contribution and one unit for each step.
        #[test]
        fn decayed_neighbours_stay_within_the_charge(
            inputs in prop::collection::vec(-3.0..3.0_f64, 1..60),
            changed in 0_usize..60,
            factor in 0.01..0.999_f64,
        ) {
            let (mut a, mut b) = (totals(Workload::Decay { factor }), totals(Workload::Decay { factor }));
            let mut allowed = 0.0;
            for (t, &x) in inputs.iter().enumerate() {
                let extra = f64::from(u8::from(t == changed % inputs.len()));
                let a = taken(&mut a, t as u64, x).unwrap();
                let b = taken(&mut b, t as u64, x + extra).unwrap();
                let unit = Resolution::new(Workload::Decay { factor }, 1.0).value(1);
                allowed = factor * allowed + extra + 2.0 * unit;
                prop_assert!((b - a).unsigned_abs() as f64 * unit <= allowed * (1.0 + 1e-12), "{t}");
            }
        }
    }
}
