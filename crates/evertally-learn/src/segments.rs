//! Restarted noise: the effect of one person in all segments together.
//!
//! **Definition.** With restarts after every m steps, each segment has its own mechanism with fresh
//! noise. The sum of all gradients is the last release of every finished segment plus the release of
//! the current one. A person takes part in at most k steps, at least b apart, and so in at most k_m =
//! min(k, ⌈m/b⌉) steps of one segment.
//!
//! **Guarantee.** Let Δ(j) be the sensitivity of one segment to j steps. With k_1 + … + k_S ≤ k
//! steps in S segments, the encoded streams of all segments move together by at most
//!
//! > Σ Δ(k_i)² ≤ min(k · max_j Δ(j)²/j, S · Δ(k_m)²),
//!
//! because each term is at most k_i times the largest Δ(j)²/j, and at most Δ(k_m)². Both are
//! attained in the cases that matter: one segment, and segments no longer than b. Gaussian
//! mechanisms compose as one if a bound on the sum of their squared shifts is fixed in advance, even
//! if each shift is chosen after seeing earlier releases (Smith and Thakurta, 2022).
//! The noise of a segment is set so that the bound meets the budget. Replacement doubles the shift
//! of every segment, and so the root of the bound, as for one segment.

use evertally::{Budget, Participation, Plan, PlanSpec, Result, Spend};

/// How the steps are split into segments, and in how many steps a person takes part.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Segments {
    /// The number of steps in a segment, m.
    pub(crate) length: u64,
    /// The number of steps of the run.
    pub(crate) steps: u64,
    /// The number of steps of the run in which one person takes part.
    pub(crate) participation: Participation,
}

impl Segments {
    /// The number of segments.
    pub(crate) fn count(&self) -> u64 {
        self.steps.div_ceil(self.length)
    }

    /// The number of steps of one segment in which one person takes part.
    fn within(&self) -> Result<Participation> {
        Participation::at_most(self.participation.bounded(self.length), self.participation.min_gap())
    }

    /// The plan of one segment. All segments together meet the budget.
    pub(crate) fn plan(&self, spec: PlanSpec, budget: Budget) -> Result<Plan> {
        let spec = PlanSpec { participation: self.within()?, budget: budget.into(), ..spec };
        let trial = spec.build()?;
        if self.count() == 1 {
            return Ok(trial);
        }
        // Δ does not depend on the budget, so any budget may be used to find it.
        let ratio = self.worst_shift(&trial, self.steps)? / trial.sensitivity().powi(2);
        let rho = budget.spend().mu_squared() / (2.0 * ratio);
        let budget = Budget::zcdp(rho * (1.0 - 16.0 * f64::EPSILON))?.into();
        PlanSpec { mechanism: Some(trial.mechanism()), budget, ..spec }.build()
    }

    /// The bound on Σ Δ(k_i)² over the segments of the first `taken` steps.
    fn worst_shift(&self, plan: &Plan, taken: u64) -> Result<f64> {
        let segments = taken.div_ceil(self.length) as f64;
        let all = self.participation.bounded(taken);
        let max = all.min(self.within()?.max_steps());
        let squared = |steps: u64| -> Result<f64> {
            let participation = Participation::at_most(steps, self.participation.min_gap())?;
            Ok(plan.factorization().sensitivity(participation).powi(2))
        };
        // Between two numbers in the list, Δ is at most that of the larger, and the number of steps
        // is at least one more than the smaller.
        let (mut steepest, mut last) = (0.0_f64, 0);
        for steps in few_numbers(max) {
            steepest = steepest.max(squared(steps)? / (last + 1) as f64);
            last = steps;
        }
        let bound = (all as f64 * steepest).min(segments * squared(max)?);
        Ok(bound * (1.0 + 8.0 * f64::EPSILON))
    }

    /// The privacy cost of the first `taken` steps.
    pub(crate) fn spend(&self, plan: &Plan, taken: u64) -> Result<Spend> {
        if taken == 0 {
            return Spend::new(0.0, 0.0, 0.0);
        }
        let whole = plan.spend();
        if self.count() == 1 && self.participation.bounded(taken) == self.participation.bounded(self.steps) {
            // The cost that the plan was made for, without the rounding of the ratio below.
            return Ok(whole);
        }
        let ratio = self.worst_shift(plan, taken)? / plan.sensitivity().powi(2);
        Spend::new(whole.mu_squared() * ratio * (1.0 + 4.0 * f64::EPSILON), 0.0, whole.variation())
    }
}

/// All numbers up to sixteen, and then ever sparser ones, up to and including `max`.
fn few_numbers(max: u64) -> impl Iterator<Item = u64> {
    std::iter::successors(Some(1), |number| Some(number + 1 + number / 16))
        .take_while(move |number| *number < max)
        .chain([max])
}

#[cfg(test)]
mod tests {
    use super::*;
    use evertally::privacy::NoiseKind;
    use evertally::{Contribution, Mechanism};

    fn spec(length: u64, mechanism: Mechanism) -> PlanSpec {
        let vectors = Plan::prefix_sum(length).dimension(2).contribution(Contribution::norm(1.0).unwrap());
        vectors.mechanism(mechanism).spec().clone()
    }

    fn segments(length: u64, steps: u64, k: u64, b: u64) -> Segments {
        Segments { length, steps, participation: Participation::at_most(k, b).unwrap() }
    }

    /// For every number of steps taken, the largest Σ Δ(k_i)² over all placements of steps at least b
    /// apart, by enumeration.
    fn brute_force(plan: &Plan, segments: &Segments) -> Vec<f64> {
        let dense = plan.dense().unwrap().encoder;
        let mut worst = vec![0.0_f64; segments.steps as usize + 1];
        for pattern in 0_u32..1 << segments.steps {
            let places: Vec<u64> = (0..segments.steps).filter(|step| pattern >> step & 1 == 1).collect();
            let gap = segments.participation.min_gap();
            if places.len() as u64 > segments.participation.max_steps()
                || places.windows(2).any(|pair| pair[1] - pair[0] < gap)
            {
                continue;
            }
            let mut total = 0.0;
            for segment in 0..segments.count() {
                let inside: Vec<usize> = places
                    .iter()
                    .filter(|place| *place / segments.length == segment)
                    .map(|place| (place % segments.length) as usize)
                    .collect();
                for row in 0..dense.rows() {
                    total += inside.iter().map(|column| dense.row(row)[*column].abs()).sum::<f64>().powi(2);
                }
            }
            let taken = places.last().map_or(0, |last| *last as usize + 1);
            worst[taken] = worst[taken].max(total);
        }
        (1..worst.len()).for_each(|taken| worst[taken] = worst[taken].max(worst[taken - 1]));
        worst
    }

    #[test]
    fn no_pattern_costs_more_than_the_budget() {
        let budget = Budget::new(1.0, 1e-6).unwrap();
        for (length, steps, k, b) in [
            (4, 12, 1, 1),
            (4, 12, 3, 4),
            (4, 11, 5, 2),
            (3, 9, 9, 1),
            (6, 12, 2, 5),
            (12, 12, 3, 4),
            (5, 12, 12, 3),
        ] {
            let gaussian = |mechanism: &Mechanism| mechanism.noise() == NoiseKind::Gaussian;
            for mechanism in Mechanism::ALL.into_iter().filter(gaussian) {
                let segments = segments(length, steps, k, b);
                let plan = segments.plan(spec(length, mechanism), budget).unwrap();
                let shifts = brute_force(&plan, &segments).into_iter();
                let shifts: Vec<f64> = shifts.map(|shift| shift / plan.noise_scale().powi(2)).collect();
                for (taken, shift) in shifts.iter().enumerate() {
                    let spent = segments.spend(&plan, taken as u64).unwrap().mu_squared();
                    assert!(*shift <= spent, "{mechanism} {segments:?} after {taken}: {shift} > {spent}");
                }
                let (shift, allowed) = (shifts[steps as usize], budget.spend().mu_squared());
                assert!(shift <= allowed, "{mechanism} {segments:?}: {shift} > {allowed}");
                let spend = segments.spend(&plan, steps).unwrap();
                assert!(
                    (shift..=allowed * (1.0 + 1e-12)).contains(&spend.mu_squared()),
                    "{mechanism} {segments:?}"
                );
                // Tight for segments within the gap, and for one segment where Δ itself is.
                let is_exact = mechanism == Mechanism::SquareRoot;
                if length == steps && is_exact || length <= b || k == 1 {
                    assert!(shift > 0.999 * allowed, "{mechanism} {segments:?}: {shift} of {allowed}");
                }
            }
        }
    }

    #[test]
    fn fewer_steps_cost_less_and_none_costs_nothing() {
        let segments = segments(10, 40, 4, 10);
        let plan = segments.plan(spec(10, Mechanism::SquareRoot), Budget::new(2.0, 1e-6).unwrap()).unwrap();
        let spent: Vec<f64> =
            [0, 1, 10, 11, 20, 40].map(|taken| segments.spend(&plan, taken).unwrap().mu_squared()).to_vec();
        assert_eq!(spent[0], 0.0);
        assert_eq!(spent[1], spent[2]);
        assert!((spent[3] / spent[1] - 2.0).abs() < 1e-12 && (spent[5] / spent[1] - 4.0).abs() < 1e-12);
        let epsilon = segments.spend(&plan, 40).unwrap().epsilon(1e-6).unwrap();
        assert!((2.0 - 1e-6..=2.0).contains(&epsilon), "{epsilon}");
    }

    #[test]
    fn few_numbers_end_where_they_should() {
        assert_eq!(few_numbers(1).collect::<Vec<_>>(), [1]);
        assert_eq!(few_numbers(3).collect::<Vec<_>>(), [1, 2, 3]);
        let many: Vec<u64> = few_numbers(100_000).collect();
        assert!(many.len() < 250 && *many.last().unwrap() == 100_000 && many.is_sorted());
    }
}
