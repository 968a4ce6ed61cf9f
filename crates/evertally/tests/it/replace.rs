//! What a replaced contribution moves, by brute force: for reports, whose matrices have no formula.

use crate::common::budget;
use evertally::internals::factorization::Dense;
use evertally::{
    Contribution, Matrix, Mechanism, Neighbours, Objective, Participation, Plan, PlanSpec, Shape,
};

/// Everything that a person may add: in each step a value for one of the keys.
type Pattern = Vec<(usize, usize, f64)>;

/// All patterns with up to two steps at least `gap` apart, of the extreme values in every key. The
/// distance of two patterns is convex in their values, so it is largest at extreme ones.
fn patterns(n: usize, max_steps: u64, gap: usize, keys: usize, ends: [f64; 2]) -> Vec<Pattern> {
    let ones: Vec<(usize, usize, f64)> =
        (0..n).flat_map(|step| (0..keys).flat_map(move |key| ends.map(|value| (step, key, value)))).collect();
    let mut all: Vec<Pattern> = vec![Vec::new()];
    all.extend(ones.iter().map(|one| vec![*one]));
    if max_steps > 1 {
        let pairs = ones.iter().flat_map(|a| ones.iter().map(move |b| (a, b)));
        all.extend(pairs.filter(|(a, b)| a.0 + gap <= b.0).map(|(a, b)| vec![*a, *b]));
    }
    all
}

/// ‖R (u − v)‖, over all keys together.
fn distance(encoder: &Matrix, keys: usize, u: &Pattern, v: &Pattern) -> f64 {
    let n = encoder.columns();
    let square = |key: usize| {
        let mut change = vec![0.0; n];
        u.iter().filter(|one| one.1 == key).for_each(|(step, _, value)| change[*step] += value);
        v.iter().filter(|one| one.1 == key).for_each(|(step, _, value)| change[*step] -= value);
        let row = |i: usize| encoder.row(i).iter().zip(&change).map(|(r, x)| r * x).sum::<f64>();
        (0..encoder.rows()).map(|i| row(i).powi(2)).sum::<f64>()
    };
    (0..keys).map(square).sum::<f64>().sqrt()
}

/// The noise of a report under `replace` covers every pair of admissible contributions. At most twice
/// what is needed is paid for single contributions: the factor for replacement is 2 or √2, and zero,
/// which is admissible here, is one of the contributions that the largest can be replaced by.
#[test]
fn the_noise_of_reports_covers_every_replacement() {
    let mut beyond_one = 0;
    for (n, report) in [
        (1, "1=1;total=1"),
        (2, "1=1;total=9"),
        (4, "1=1;2=3;total=0"),
        (6, "1=5;3=1;1-4-6=2;total=1"),
        (6, "3=1;total=0"),
    ] {
        for (max_steps, gap) in [(1, 1), (2, 2)] {
            for (keys, ends) in [(1, [0.0, 1.0]), (1, [-1.0, 2.0]), (2, [0.0, 1.0]), (2, [-3.0, 1.0])] {
                let plan = |neighbours| -> Plan {
                    let names = (0..keys).map(|key| format!("key {key}")).collect();
                    PlanSpec {
                        objective: Objective::Report,
                        report: Some(report.parse().unwrap()),
                        mechanism: Some(Mechanism::Optimal),
                        neighbours,
                        contribution: Contribution::range(ends[0], ends[1]).unwrap(),
                        participation: Participation::at_most(max_steps, gap as u64).unwrap(),
                        shape: if keys == 1 { Shape::default() } else { Shape::Keyed { keys: names } },
                        ..PlanSpec::new(n as u64, budget())
                    }
                    .build()
                    .unwrap()
                };
                let context = format!("n = {n}, {report}, {max_steps} steps, {keys} keys, {ends:?}");
                let replace = plan(Neighbours::Replace);
                let Dense { encoder, .. } = replace.dense().unwrap();
                let all = patterns(n, max_steps, gap, keys, ends);
                let pairs = all.iter().flat_map(|u| all.iter().map(move |v| (u, v)));
                let furthest = pairs.map(|(u, v)| distance(&encoder, keys, u, v)).fold(0.0, f64::max);
                let covered = |plan: &Plan| plan.noise_scale() / plan.noise_multiplier();
                assert!(furthest <= covered(&replace), "{context}: {furthest} {}", covered(&replace));
                if max_steps == 1 {
                    assert!(furthest >= covered(&replace) / 2.0 * (1.0 - 1e-6), "{context}: {furthest}");
                }
                beyond_one += usize::from(furthest > covered(&plan(Neighbours::AddRemove)) * (1.0 + 1e-6));
            }
        }
    }
    // Noise for adding and removing would not do: without the factor, this test fails.
    assert!(beyond_one >= 20, "{beyond_one}");
}

/// Changes in turn have both signs, so replacing some by others can move the input twice as far as adding
/// them, even if values are in [0, 1]: (1, −1, 0) and (0, 1, −1) are √6 apart, and √2 · √2 would be charged.
#[test]
fn the_noise_of_changes_in_turn_covers_every_replacement() {
    let steps = 4;
    let mut beyond_one_sign = 0;
    for mechanism in [Mechanism::InputPerturbation, Mechanism::SquareRoot, Mechanism::Binary] {
        for changes in [1, 2, 3] {
            for low in [-1.0, 0.0] {
                let plan = Plan::prefix_sum(steps as u64)
                    .budget(budget())
                    .mechanism(mechanism)
                    .contribution(Contribution::range(low, 1.0).unwrap())
                    .participation(Participation::in_turn(changes).unwrap())
                    .neighbours(Neighbours::Replace)
                    .build()
                    .unwrap();
                let all: Vec<Pattern> = (0_u32..1 << steps)
                    .filter(|set| u64::from(set.count_ones()) <= changes)
                    .map(|set| {
                        let steps = (0..steps).filter(|step| set >> step & 1 == 1).enumerate();
                        steps.map(|(i, step)| (step, 0, if i % 2 == 0 { 1.0 } else { -1.0 })).collect()
                    })
                    .collect();
                let Dense { encoder, .. } = plan.dense().unwrap();
                let pairs = all.iter().flat_map(|u| all.iter().map(move |v| (u, v)));
                let furthest = pairs.map(|(u, v)| distance(&encoder, 1, u, v)).fold(0.0, f64::max);
                let covered = plan.noise_scale() / plan.noise_multiplier();
                assert!(furthest <= covered, "{mechanism}, {changes}, {low}: {furthest} > {covered}");
                beyond_one_sign += usize::from(furthest > covered / std::f64::consts::SQRT_2 * (1.0 + 1e-6));
            }
        }
    }
    assert!(beyond_one_sign > 0, "the factor for values of one sign would do");
}
