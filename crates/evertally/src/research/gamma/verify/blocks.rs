//! The proof for prefix sums with weights that are constant on blocks: any horizon, O(J) per block.
//!
//! **What is proved.** As in [`super::structured`] for λ = 1 and u = 1: bounds on d_i/v_i and on S. Here
//! the bounds hold for all steps i of a block at once.
//!
//! **How.** In a block of weight v, the recurrences of [`super::sweep`] for e and for c = s v + k are the
//! same map x ← a + x/(1 + x), a = s v. It is a Möbius map of determinant 1 and trace 2 + a = 2 cosh θ, so
//! with S_k = sinh kθ and r = (S_k − S_{k−1})/S_k = 2 cosh((k − ½)θ) sinh(θ/2)/sinh kθ, k steps are
//!
//! > x ← ((a + r) x + a)/(x + r).
//!
//! The map increases, so its orbits are monotone: every e_i of the block is between those of its first and
//! last step, and so is every k_i. Hence h_i = e_i + k_i is at least the sum of the smaller ends and at
//! most the sum of the larger ones. The price is relative: a block that is short compared with its
//! distance to both ends of the horizon loses little.
//!
//! **Rounding.** For kθ > 45, r is 1 − e^{−θ} up to e^{θ−2kθ}, a relative 10⁻²⁰ for k < 2⁶¹. Otherwise
//! the arguments of the hyperbolic functions are off by less than 45·8u, so r has a relative error below
//! 2⁻⁴³ if each function is right to a few units in the last place. The map changes relatively by no more
//! than a and r do. A factor 1 ∓ [`NUDGE`] after each block keeps e and k on their side of the true value.

use rayon::prelude::*;

use super::structured::{Nodes, REACH_LOSS, down, sum_above, sum_below, up};
use super::sweep::Rounding;
use super::{Proof, UNIT};
use crate::{Error, Result};

/// Covers the roundings of one block.
const NUDGE: f64 = 1.0 / (1_u64 << 41) as f64;

/// Steps of equal weight.
#[derive(Debug, Clone, Copy)]
pub(in crate::research::gamma) struct Block {
    pub(in crate::research::gamma) steps: f64,
    pub(in crate::research::gamma) weight: f64,
}

/// k steps of x ← a + x/(1 + x).
fn advance(x: f64, a: f64, steps: f64) -> f64 {
    if steps < 0.5 {
        return x;
    }
    if steps < 1.5 {
        return a + x / (1.0 + x);
    }
    let angle = 2.0 * libm::asinh(0.5 * a.sqrt());
    let whole = steps * angle;
    let r = if whole > 45.0 {
        -libm::expm1(-angle)
    } else {
        2.0 * libm::cosh(whole - 0.5 * angle) * libm::sinh(0.5 * angle) / libm::sinh(whole)
    };
    ((a + r) * x + a) / (x + r)
}

/// 1/h for each block and one node: at least, about or at most, for a direction of up, none or down of
/// the carried values.
fn inverse(blocks: &[Block], shift: f64, rounding: Rounding, out: &mut [f64], weight: f64) {
    let nudge = match rounding {
        Rounding::Down => 1.0 - NUDGE,
        Rounding::Nearest => 1.0,
        Rounding::Up => 1.0 + NUDGE,
    };
    let mut ends = Vec::with_capacity(blocks.len());
    let mut f = 0.0;
    for block in blocks {
        let a = shift * block.weight;
        let first = nudge * (a + f);
        let last = nudge * advance(first, a, block.steps - 1.0);
        f = last / (1.0 + last);
        ends.push((first, last));
    }
    let mut last_k: f64 = 1.0;
    for ((block, (first, last)), out) in blocks.iter().zip(&ends).zip(out).rev() {
        let a = shift * block.weight;
        let end = nudge * (a + last_k);
        // k of the first step comes from c of the second.
        let first_k = if block.steps < 1.5 {
            last_k
        } else {
            let second = nudge * advance(end, a, block.steps - 2.0);
            second / (1.0 + second)
        };
        *out += weight
            * match rounding {
                Rounding::Down => 1.0 / (first.min(*last) + first_k.min(last_k)),
                Rounding::Up => 1.0 / (first.max(*last) + first_k.max(last_k)),
                Rounding::Nearest => 0.5 / (first + first_k) + 0.5 / (last + last_k),
            };
        let start = nudge * advance(end, a, block.steps - 1.0);
        last_k = start / (1.0 + start);
    }
}

/// Nodes that are summed in one task.
const NODES: usize = 8;

/// Σ_j w_j/h(s_j) for each block, added in an order that does not depend on the number of threads.
pub(in crate::research::gamma) fn inverses(
    blocks: &[Block],
    rounding: Rounding,
    shifts: &[f64],
    weights: &[f64],
) -> Vec<f64> {
    let parts: Vec<Vec<f64>> = shifts
        .par_chunks(NODES)
        .zip(weights.par_chunks(NODES))
        .map(|(shifts, weights)| {
            let mut sum = vec![0.0; blocks.len()];
            shifts.iter().zip(weights).for_each(|(s, w)| inverse(blocks, *s, rounding, &mut sum, *w));
            sum
        })
        .collect();
    let mut total = vec![0.0; blocks.len()];
    parts.iter().for_each(|part| total.iter_mut().zip(part).for_each(|(total, x)| *total += x));
    total
}

/// An upper bound on tr(BᵀB) = Σ_i v_i (n − i), i from 0, and on the eigenvalues of its inverse.
pub(in crate::research::gamma) fn spectrum(blocks: &[Block]) -> (f64, f64) {
    let (mut left, mut trace) = (0.0, 0.0);
    for block in blocks.iter().rev() {
        trace += block.weight * block.steps * (left + block.steps);
        left += block.steps;
    }
    let lightest = blocks.iter().map(|block| block.weight).fold(f64::INFINITY, f64::min);
    (trace, 4.0 / lightest)
}

/// Bounds on γ_F of the prefix sum over all steps of the blocks.
pub(in crate::research::gamma) fn prove_blocks(blocks: &[Block]) -> Result<Proof> {
    let is_usable = |block: &Block| (1e-9..=1.0).contains(&block.weight) && block.steps >= 1.0;
    let n: f64 = blocks.iter().map(|block| block.steps).sum();
    if !(blocks.iter().all(is_usable) && (1.0..=2.0_f64.powi(61)).contains(&n)) {
        return Err(Error::bad("weights", "between 1e-9 and 1", "a weight outside that range"));
    }
    // Sums of so many numbers, and a rounding or two in each.
    let margin = (blocks.len() + 64) as f64 * UNIT;
    let (trace, largest) = spectrum(blocks);
    let nodes = Nodes::around(1.0 / (trace * (1.0 + 2.0 * margin)), up(largest));
    let margin = margin + (nodes.shifts.len() + 64) as f64 * UNIT;
    let mut upper = inverses(blocks, Rounding::Down, &nodes.shifts, &nodes.weights);
    let mut lower = inverses(blocks, Rounding::Up, &nodes.shifts, &nodes.weights);
    let mut after = 0.0;
    for ((block, upper), lower) in blocks.iter().zip(&mut upper).zip(&mut lower).rev() {
        // Σ u from the step on: of the first step, and of the last.
        let (most, least) = (after + block.steps, after + 1.0);
        *upper = nodes.enclosed_above(*upper + nodes.tails(most, block.weight), margin);
        *lower = nodes.enclosed_below(*lower + nodes.tails(least, block.weight), margin + REACH_LOSS);
        after += block.steps;
    }
    let weighted = |ratios: &[f64]| -> Vec<f64> {
        blocks.iter().zip(ratios).map(|(block, ratio)| block.steps * block.weight * ratio).collect()
    };
    let mass: Vec<f64> = blocks.iter().map(|block| block.steps * block.weight).collect();
    let largest = upper.iter().copied().fold(0.0, f64::max);
    Ok(Proof {
        lower: down(sum_below(&weighted(&lower)) / sum_above(&mass).sqrt()),
        upper: up((sum_above(&weighted(&upper)) * largest).sqrt()),
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn many_steps_are_one() {
        for a in [1e-30, 1e-12, 1e-3, 0.7, 40.0, 1e9] {
            for start in [1e-20, 1e-3, 1.0, 1e6] {
                let mut x: f64 = start;
                for steps in 0..300 {
                    let got = advance(start, a, f64::from(steps));
                    assert!((got / x - 1.0).abs() < 1e-12, "{a} {start} {steps}: {got} {x}");
                    x = a + x / (1.0 + x);
                }
            }
        }
        // Half the steps, twice.
        for (a, steps) in [(1e-20, 1e12), (1e-30, 1e15), (1e-9, 1e9)] {
            let once = advance(0.3, a, 2.0 * steps);
            let twice = advance(advance(0.3, a, steps), a, steps);
            assert!((once / twice - 1.0).abs() < 1e-11, "{a} {steps}: {once} {twice}");
        }
    }
}
