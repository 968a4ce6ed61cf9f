//! γ_F of the prefix sum at any horizon, from weights that are constant on blocks.
//!
//! The best weights are smooth between the two ends of the horizon, so blocks that grow with the distance
//! to the nearer end describe them well, and their number grows only with ln n. [`verify::blocks`] proves
//! both bounds for every step.
//!
//! **Guarantee.** True bounds at every horizon to 2^60.
//!
//! **Cost.** O(J) per block and iteration, J ≈ 60 + 2 log₂ n. A block is one [`FINENESS`]-th of its distance
//! to the end, which leaves a gap of about 10⁻³ at 2^20 and less at longer horizons: a second on two cores.
//!
//! [`verify::blocks`]: super::verify::blocks

use super::certificate::Weights;
use super::fixed_point::{Point, Problem, iterate};
use super::nodes::Nodes;
use super::verify::blocks::{Block, inverses, prove_blocks, spectrum};
use super::verify::{Proof, sweep};
use crate::noise::Progress;
use crate::research::bounds::Interval;
use crate::workload::MAX_HORIZON;
use crate::{Error, Result};

/// The distance of a block to the nearer end of the horizon, in lengths of the block.
const FINENESS: u64 = 256;

/// The gap of the iteration, far below what blocks lose.
const GAP: f64 = 1e-5;

struct Blocks {
    steps: Vec<f64>,
}

impl Blocks {
    fn with(&self, logs: &[f64]) -> Vec<Block> {
        let heaviest = logs.iter().copied().fold(f64::NEG_INFINITY, f64::max);
        let block = |(steps, log): (&f64, &f64)| Block { steps: *steps, weight: (log - heaviest).exp() };
        self.steps.iter().zip(logs).map(block).collect()
    }
}

impl Problem for Blocks {
    fn count(&self) -> usize {
        self.steps.len()
    }

    fn evaluate(&self, logs: &[f64], tolerance: f64) -> Result<Point> {
        let blocks = self.with(logs);
        let (trace, largest) = spectrum(&blocks);
        let nodes = Nodes::new(1.0 / trace, largest, tolerance, 1);
        let mut ratios = inverses(&blocks, sweep::Rounding::Nearest, &nodes.shifts, &nodes.weights);
        let masses = blocks.iter().map(|block| block.steps * block.weight);
        let sum: f64 = masses.clone().zip(&ratios).map(|(mass, ratio)| mass * ratio).sum();
        let mass: f64 = masses.sum();
        let highest = ratios.iter().copied().fold(0.0, f64::max);
        ratios.iter_mut().for_each(|ratio| *ratio *= mass / sum);
        Ok(Point { lower: sum / mass.sqrt(), upper: (sum * highest).sqrt(), ratios })
    }

    fn weights_may_vanish(&self) -> bool {
        false
    }

    fn weights(&self, logs: &[f64]) -> Weights {
        Weights::GammaF { columns: logs.iter().map(|log| log.exp()).collect() }
    }
}

/// The lengths of blocks that grow with the distance to the nearer end.
fn layout(steps: u64) -> Vec<f64> {
    let (mut half, mut at) = (Vec::new(), 0);
    while at < steps / 2 {
        let length = (at / FINENESS).max(1).min(steps / 2 - at);
        half.push(length as f64);
        at += length;
    }
    let middle = (steps % 2 == 1).then_some(1.0);
    half.iter().copied().chain(middle).chain(half.iter().rev().copied()).collect()
}

/// Bounds γ_F²/n of the prefix sum over n = `steps` steps, for any horizon to 2^60.
///
/// [`gamma_f`](super::gamma_f) is sharper and takes time in proportion to the horizon.
///
/// # Errors
/// [`Error::BadParameter`] unless 1 ≤ `steps` ≤ 2^60.
///
/// ```
/// use evertally::research::gamma::least_mean_error;
///
/// let bounds = least_mean_error(1 << 40, &())?;
/// assert!(91.0 < bounds.lower && bounds.upper < 91.1);
/// # Ok::<(), evertally::Error>(())
/// ```
pub fn least_mean_error(steps: u64, progress: &dyn Progress) -> Result<Interval> {
    let norm = norm(steps, progress)?;
    let norm = Interval { lower: norm.lower, upper: norm.upper };
    // A long horizon is rounded once.
    let n = steps as f64;
    Ok(norm.squared() / Interval { lower: n.next_down(), upper: n.next_up() })
}

/// Bounds on γ_F.
fn norm(steps: u64, progress: &dyn Progress) -> Result<Proof> {
    if !(1..=MAX_HORIZON).contains(&steps) {
        return Err(Error::bad("steps", "from 1 to 2^60", steps));
    }
    let problem = Blocks { steps: layout(steps) };
    let logs = vec![0.0; problem.count()];
    let found = iterate(&problem, logs, GAP, &|fraction| progress.report(0.9 * fraction))?;
    let proof = prove_blocks(&problem.with(&found.logs))?;
    progress.report(1.0);
    Ok(proof)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::research::bounds::{nuclear_mean_error, square_root_mean_error};
    use crate::research::gamma::{Subject, gamma_f};
    use crate::workload::Workload;

    #[test]
    fn both_methods_agree() {
        for steps in (1..=40).chain([255, 256, 257, 1000, 4097, 20_000]) {
            let proof = norm(steps as u64, &()).unwrap();
            let exact = gamma_f(Subject::workload(Workload::PrefixSum, steps), 1e-9, &()).unwrap();
            let overlap = proof.lower <= exact.upper && exact.lower <= proof.upper;
            assert!(overlap, "{steps}: {proof:?} {} {}", exact.lower, exact.upper);
            // Blocks of single steps lose nothing.
            let gap = if steps <= 512 { 2e-5 } else { 7e-4 };
            assert!(proof.upper / proof.lower - 1.0 < gap, "{steps}: {proof:?}");
        }
    }

    /// Blocks of arbitrary weights and lengths prove what the same weights prove when written out.
    #[test]
    fn blocks_enclose_the_proof_of_single_steps() {
        use super::super::verify::prove;
        for seed in 0..30_u64 {
            let blocks: Vec<Block> = (0..12)
                .map(|i| {
                    let scattered = (seed * 7919 + i * 104_729) % 101;
                    let weight = 0.02 + 0.0095 * scattered as f64;
                    Block { steps: (1 + (seed + i * i) % 9) as f64, weight }
                })
                .collect();
            let of_block = |block: &Block| vec![block.weight; block.steps as usize];
            let columns: Vec<f64> = blocks.iter().flat_map(of_block).collect();
            let subject = Subject::workload(Workload::PrefixSum, columns.len());
            let written = prove(&subject, &Weights::GammaF { columns }).unwrap();
            let proof = prove_blocks(&blocks).unwrap();
            // Both enclose the same two numbers, and blocks are wider.
            assert!(proof.lower <= written.lower * (1.0 + 1e-11), "{seed}: {proof:?} {written:?}");
            assert!(proof.upper >= written.upper * (1.0 - 1e-11), "{seed}: {proof:?} {written:?}");
            assert!(proof.lower > 0.6 * written.lower && proof.upper < 1.5 * written.upper, "{seed}");
        }
    }

    #[test]
    fn bounds_meet_far_beyond_what_fits_into_memory() {
        let mut before = 0.0;
        for log in [21, 30, 40, 60] {
            let steps = 1_u64 << log;
            let bounds = least_mean_error(steps, &()).unwrap();
            assert!(bounds.upper / bounds.lower - 1.0 < 1.2e-3, "{log}: {bounds:?}");
            // The best mean error does not fall, and is between the nuclear norm and the square root.
            assert!(bounds.upper > before, "{log}");
            before = bounds.lower;
            assert!(nuclear_mean_error(steps).unwrap().lower < bounds.upper, "{log}");
            assert!(square_root_mean_error(steps).unwrap().upper > bounds.lower, "{log}");
        }
        for bad in [0, MAX_HORIZON + 1] {
            assert!(least_mean_error(bad, &()).is_err());
        }
    }
}
