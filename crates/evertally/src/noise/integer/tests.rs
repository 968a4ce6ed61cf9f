//! Compares the filters with the matrices that they stand for, in both directions.

use std::sync::Arc;

use super::*;
use crate::noise::WhiteField;
use crate::plan::Plan;
use crate::privacy::{Budget, Participation};
use crate::workload::Workload;
use crate::{Mechanism, PlanBuilder};

/// Every mechanism that a filter runs, on every workload that it serves.
fn plans(horizon: u64) -> Vec<Plan> {
    let workloads = [
        Workload::PrefixSum,
        Workload::Decay { factor: 0.9 },
        Workload::Decay { factor: 1e-3 },
        Workload::SlidingWindow { width: 1 },
        Workload::SlidingWindow { width: 3 },
        Workload::SlidingWindow { width: 7 },
    ];
    let builder = |workload, mechanism| -> PlanBuilder {
        Plan::for_workload(horizon, workload).budget(Budget::new(1.0, 1e-6).unwrap()).mechanism(mechanism)
    };
    let all =
        workloads.into_iter().flat_map(|workload| Mechanism::ALL.map(|mechanism| (workload, mechanism)));
    let made = all.filter_map(|(workload, mechanism)| builder(workload, mechanism).build().ok());
    // The optimum has integers for reports. Finding it takes seconds at the longest of these horizons.
    let report = "1=1;total=1".parse().unwrap();
    let optimum = builder(Workload::PrefixSum, Mechanism::Optimal).report(report);
    let made = made.chain((horizon <= 130).then(|| optimum.build().unwrap()));
    made.filter(|plan| plan.exact().is_some_and(|exact| plan.reversible_lane(exact).is_some())).collect()
}

/// Small integers that vary, so that doubles hold all products exactly.
fn draws(n: u64) -> Vec<i128> {
    (0..n).map(|t| i128::from((t + 1).wrapping_mul(0x9E37_79B9_7F4A_7C15) >> 44) - (1 << 19)).collect()
}

#[test]
fn every_filter_is_its_matrix_to_half_a_unit_and_runs_back() {
    let mut mechanisms = std::collections::HashSet::new();
    for horizon in (1..=12).chain([40, 130, 700]) {
        for plan in plans(horizon) {
            mechanisms.insert(plan.mechanism().name());
            let exact = plan.exact().unwrap();
            let decoder = plan.dense().unwrap().decoder;
            let (mut forward, mut backward) =
                (plan.reversible_lane(exact).unwrap(), plan.reversible_lane(exact).unwrap());
            let z = draws(horizon);
            for t in 0..horizon as usize {
                let noise = forward.noise(|_, _| z[t]);
                let scaled = |j: usize| decoder[(t, j)] / decoder[(j, j)] * z[j] as f64;
                let expected: f64 = (0..=t).map(scaled).sum();
                let context = format!("{} of {}, n = {horizon}, t = {t}", plan.mechanism(), plan.workload());
                assert!((noise as f64 - expected).abs() < 0.5 + 1e-4, "{context}: {noise} {expected}");
                let (draw, scale) = backward.draw(noise);
                assert_eq!(draw, z[t], "{context}");
                let wanted = exact.scale * decoder[(t, t)];
                assert!(scale as f64 >= wanted && (scale as f64) < wanted * (1.0 + 1e-9) + 2.0, "{context}");
            }
        }
    }
    for name in [
        "markov",
        "graded-square-root",
        "endless-square-root",
        "square-root",
        "blt",
        "normalized-square-root",
        "output-perturbation",
        "optimal",
    ] {
        assert!(mechanisms.contains(name), "{name}");
    }
}

/// Given white noise.
struct Given(Vec<f64>);

impl WhiteField for Given {
    fn width(&self) -> usize {
        1
    }

    fn tile(&self, first: u64, _: std::ops::Range<usize>, out: &mut [f64]) {
        out.copy_from_slice(&self.0[first as usize..][..out.len()]);
    }
}

/// Compares with the floating-point engine, over a horizon on which roundings could add up.
#[test]
fn over_long_horizons_roundings_do_not_add_up() {
    let horizon = 1 << 17;
    let workloads =
        [Workload::PrefixSum, Workload::SlidingWindow { width: 1000 }, Workload::Decay { factor: 0.9999 }];
    let mechanisms = [
        Mechanism::SquareRoot,
        Mechanism::GradedSquareRoot { decays: None },
        Mechanism::EndlessSquareRoot,
        Mechanism::Markov { chains: None },
    ];
    for (workload, mechanism) in workloads.into_iter().flat_map(|workload| mechanisms.map(|m| (workload, m)))
    {
        let builder = Plan::for_workload(horizon, workload).budget(Budget::new(1.0, 1e-6).unwrap());
        let Ok(plan) = builder.mechanism(mechanism).build() else { continue };
        let exact = plan.exact().unwrap();
        let mut lane = plan.reversible_lane(exact).unwrap();
        let (z, mut white, mut noise) = (draws(horizon), Vec::new(), Vec::new());
        for t in 0..horizon {
            noise.push(lane.noise(|scale, _| {
                // Draws have the standard deviation s·L[t,t]; those of the engine have one.
                white.push(z[t as usize] as f64 * exact.scale / scale as f64);
                z[t as usize]
            }));
        }
        let mut doubles = plan.factorization().correlator(Arc::new(Given(white)), &());
        for (t, noise) in noise.iter().enumerate() {
            let mut row = [0.0];
            doubles.next(&mut row);
            let error = (*noise as f64 - row[0]).abs();
            assert!(error < 0.51, "{mechanism} of {workload}, {t}: {noise} {}", row[0]);
        }
    }
}

/// Where norms are below 2⁻¹⁴, and their parts finer: the filter beside its definition in doubles.
#[test]
fn at_the_last_steps_of_an_endless_stream_the_filter_is_its_definition() {
    let unbounded = Plan::unbounded(Workload::PrefixSum).budget(Budget::new(1.0, 1e-6).unwrap());
    let plan = unbounded.mechanism(Mechanism::EndlessSquareRoot).build().unwrap();
    let exact = plan.exact().unwrap();
    let recipe = plan.factorization().recipe().unwrap();
    let filter = Filter::new(&recipe);
    let mut steps = StepReader::new(&recipe, plan.horizon(), exact.scale);
    let taps: Vec<(f64, f64)> = recipe.decays.iter().map(|tap| (1.0 - tap.decay, tap.weight)).collect();
    let taps: Vec<_> = taps.into_iter().chain(recipe.slow.iter().map(|tap| (tap.loss, tap.weight))).collect();
    let mut block = crate::noise::GradeBlock::default();
    for first in [1 << 20, 1 << 30, plan.horizon() - 512] {
        recipe.grading.as_ref().unwrap().block(first, &mut block);
        let (mut lane, mut v, mut zeta) = (vec![0; filter.rows()], vec![0.0; taps.len()], 0.0);
        for (i, z) in draws(500).into_iter().enumerate() {
            let numbers = steps.at(first + i as u64);
            let noise = filter.step(&mut lane, &numbers, |_| z);
            let (norm, next) = (block.norms[i], block.norms[i + 1]);
            v.iter_mut().zip(&taps).for_each(|(v, (loss, _))| *v -= loss * *v);
            let past: f64 = v.iter().zip(&taps).map(|(v, (_, weight))| weight * v).sum();
            let expected = z as f64 + norm * past + zeta;
            assert!((noise as f64 - expected).abs() < 0.51, "{first} + {i}: {noise} {expected}");
            let drive = z as f64 / norm;
            zeta -= (next - norm) * (past + drive);
            v.iter_mut().for_each(|v| *v += drive);
            let wanted = exact.scale * norm / block.grades[i];
            assert!(numbers.scale as f64 >= wanted && (numbers.scale as f64) < wanted * (1.0 + 1e-9) + 2.0);
        }
    }
}

/// A lane has the same noise among many lanes, alone, and when it is started late. States can be
/// resumed.
#[test]
fn a_lane_has_the_same_noise_wherever_it_runs() {
    let key = crate::noise::NoiseKey::insecure_from_seed(3);
    let names: Vec<String> = (0..200).map(|i| format!("key {i}")).collect();
    let budget = Budget::new(1.0, 1e-6).unwrap();
    let many = Plan::prefix_sum(600).budget(budget).keys(names.clone()).build().unwrap();
    let one = many.part(["key 77"]).unwrap();
    let (exact, alone) = (many.exact().unwrap(), one.exact().unwrap());
    assert_eq!(exact.scale, alone.scale);
    let mut many_rows = many.integer_noise(exact, &key, &()).unwrap();
    let mut one_row = one.integer_noise(alone, &key, &()).unwrap();
    // Lanes that are started on demand.
    let mut lazy = many.integer_lanes(exact, &key).unwrap();
    let tag = lazy.noise().tag(b"key 77");
    let mut lane = IntegerLane::new(tag, 0, &vec![0; 2 * lazy.rows()]);
    let (mut row, mut single) = (vec![0; 200], [0]);
    for t in 0..600 {
        many_rows.next(&mut row);
        one_row.next(&mut single);
        assert_eq!(row[77], single[0], "{t}");
        if t % 97 == 5 || t == 599 {
            lazy.advance(std::slice::from_mut(&mut lane), t + 1);
            assert_eq!(lane.noise(), single[0], "{t}");
            let saved = many_rows.save();
            many_rows = many.integer_noise(exact, &key, &()).unwrap();
            many_rows.restore(t + 1, &saved).unwrap();
            assert!(many_rows.restore(t + 1, &saved[1..]).is_err());
            many_rows.restore(t + 1, &saved).unwrap();
        }
    }
}

/// Tries everything that one person can do, over all patterns of steps and all signs, with real
/// noise. The distance is never above the declared one, and close to it.
#[test]
fn no_neighbour_is_farther_than_declared() {
    let key = crate::noise::NoiseKey::insecure_from_seed(5);
    for horizon in 1..=7_u64 {
        for (k, b) in [(1, 1), (2, 1), (2, 3), (3, 2)] {
            let workloads =
                [Workload::PrefixSum, Workload::Decay { factor: 0.7 }, Workload::SlidingWindow { width: 2 }];
            for (workload, mechanism) in workloads
                .into_iter()
                .flat_map(|workload| Mechanism::ALL.map(|mechanism| (workload, mechanism)))
            {
                let plan = Plan::for_workload(horizon, workload)
                    .budget(Budget::new(1.0, 1e-6).unwrap())
                    .participation(Participation::at_most(k, b).unwrap())
                    .mechanism(mechanism)
                    .build();
                let Ok(plan) = plan else { continue };
                if plan.exact().is_none() {
                    continue;
                }
                let farthest = farthest_neighbour(&plan, &key);
                let declared = 1.0 / plan.noise_multiplier();
                let context = format!("{mechanism} of {workload}, n = {horizon}, {k} steps {b} apart");
                assert!(farthest <= declared, "{context}: {farthest} {declared}");
                // The trees' dense R omits nodes that nobody reads.
                let has_filter = plan.reversible_lane(plan.exact().unwrap()).is_some();
                let is_exact = has_filter && k == 1 && workload != (Workload::SlidingWindow { width: 2 });
                assert!(!is_exact || farthest > declared * (1.0 - 1e-5), "{context}: {farthest} {declared}");
            }
        }
    }
}

/// The largest distance over all sets of steps in which a person may take part, with contributions
/// of one, on a stream that needs rounding.
fn farthest_neighbour(plan: &Plan, key: &crate::noise::NoiseKey) -> f64 {
    let n = plan.horizon() as usize;
    let (k, b) = (plan.participation().max_steps() as u32, plan.participation().min_gap() as usize);
    let stream: Vec<f64> = (0..n).map(|t| 3.7 * ((t * t) % 5) as f64 + 0.1).collect();
    let mut farthest = 0.0_f64;
    for pattern in 0_u32..1 << n {
        let steps: Vec<usize> = (0..n).filter(|t| pattern >> t & 1 == 1).collect();
        if pattern.count_ones() > k || steps.windows(2).any(|pair| pair[1] - pair[0] < b) {
            continue;
        }
        let mut other = stream.clone();
        steps.iter().for_each(|&t| other[t] += 1.0);
        farthest =
            farthest.max(crate::counter::replay_lane(plan, key, "", &stream, &other).unwrap().distance);
    }
    farthest
}
