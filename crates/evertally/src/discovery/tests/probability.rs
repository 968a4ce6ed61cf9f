//! How probable it is that a key appears, computed for the noise that runs, and compared with the promise.
//!
//! Integer draws of a key are within κ of rounded Gaussian draws, which is below 10⁻²⁰ here, so the
//! probability that rounded noise reaches an integer is that of Gaussian noise with the same L. For
//! up to three steps it is integrated.

use super::*;
use crate::discovery::threshold::Levels;
use std::f64::consts::SQRT_2;

/// P(X ≥ x).
fn tail(x: f64) -> f64 {
    0.5 * libm::erfc(x / SQRT_2)
}

/// P(L g reaches one of the levels) for a lower triangular L, by nested integration over the draws.
fn reaches(l: &[Vec<f64>], levels: &[f64]) -> f64 {
    fn from(l: &[Vec<f64>], levels: &[f64], draws: &mut Vec<f64>) -> f64 {
        let step = draws.len();
        let Some(level) = levels.get(step) else { return 0.0 };
        let past: f64 = draws.iter().zip(&l[step]).map(|(draw, weight)| draw * weight).sum();
        let here = (level - past) / l[step][step];
        if step + 1 == levels.len() {
            return tail(here);
        }
        // Simpson's rule over the draws that stay below the level.
        const PARTS: usize = 120;
        let low = -9.0_f64;
        let high = here.min(9.0);
        if high <= low {
            return 1.0;
        }
        let width = (high - low) / PARTS as f64;
        let mut sum = 0.0;
        for part in 0..=PARTS {
            let draw = low + width * part as f64;
            let weight = if part == 0 || part == PARTS { 1.0 } else { f64::from(2 + 2 * (part as u32 % 2)) };
            let density = (-0.5 * draw * draw).exp() / std::f64::consts::TAU.sqrt();
            draws.push(draw);
            sum += weight * density * from(l, levels, draws);
            draws.pop();
        }
        tail(here) + sum * width / 3.0
    }
    from(l, levels, &mut Vec::new())
}

/// The probability that a key with these counts of persons ever appears, if thresholds are scaled.
fn appears(discovery: &Discovery, counts: &[u64], scale: f64) -> f64 {
    let first = counts.iter().position(|count| *count >= discovery.floor());
    first.map_or(0.0, |first| noise_reaches(discovery, first, counts, scale))
}

/// The probability that the private count reaches the threshold at a step from `first` on, whatever the
/// floor.
fn noise_reaches(discovery: &Discovery, first: usize, counts: &[u64], scale: f64) -> f64 {
    let plan = discovery.persons();
    let decoder = plan.dense().unwrap().decoder;
    let row = |t: usize| -> Vec<f64> { (0..=t).map(|s| plan.noise_scale() * decoder[(t, s)]).collect() };
    let rows: Vec<Vec<f64>> = (first..counts.len()).map(row).collect();
    // A count is released on the grid of ones.
    let level =
        |step: usize| (discovery.threshold(step as u64).unwrap() * scale).round() - counts[step] as f64 - 0.5;
    let levels: Vec<f64> = (first..counts.len()).map(level).collect();
    reaches(&cholesky(&rows), &levels)
}

/// The lower triangular matrix whose noise has the covariance of these rows.
fn cholesky(rows: &[Vec<f64>]) -> Vec<Vec<f64>> {
    let dot = |a: &[f64], b: &[f64]| a.iter().zip(b).map(|(a, b)| a * b).sum::<f64>();
    let mut l: Vec<Vec<f64>> = Vec::new();
    for (i, row) in rows.iter().enumerate() {
        let mut new = vec![0.0; i + 1];
        for j in 0..=i {
            let rest =
                dot(row, &rows[j]) - dot(&new[..j], l.get(j).map_or(&new.clone()[..j], |other| &other[..j]));
            new[j] = if i == j { rest.sqrt() } else { rest / l[j][j] };
        }
        l.push(new);
    }
    l
}

fn discovery(horizon: u64, keys: u64, floor: u64, neighbours: Neighbours, epsilon: f64) -> Discovery {
    Plan::discover(horizon)
        .budget(Budget::new(epsilon, 2e-3).unwrap())
        .key_delta(1e-3)
        .keys_per_step(keys)
        .contribution(Contribution::range(0.0, 10.0).unwrap())
        .neighbours(neighbours)
        .floor(floor)
        .build()
        .unwrap()
}

/// The probability of the event that δ_key pays for, at worst: all keys of a person are at the floor with
/// them, from the first step on. Under replacement there are also the keys of the other person, which
/// are one below the floor without them: their noise must not reach the threshold either.
fn paid_for(discovery: &Discovery, scale: f64) -> f64 {
    let stays = |count: u64| {
        let counts = vec![count; discovery.horizon() as usize];
        1.0 - noise_reaches(discovery, 0, &counts, scale)
    };
    let keys = i32::try_from(discovery.keys_per_person()).unwrap();
    let floor = discovery.floor();
    match discovery.persons().neighbours() {
        Neighbours::AddRemove => 1.0 - stays(floor).powi(keys),
        Neighbours::Replace => 1.0 - stays(floor).powi(keys) * stays(floor - 1).powi(keys),
    }
}

#[test]
fn the_integration_is_right() {
    // Steps with correlation 1/√2, two independent ones, and three.
    let joint = crate::discovery::threshold::tests::joint_by_plackett(1.5, 0.5_f64.sqrt());
    let either = 2.0 * tail(1.5) - joint;
    let levels = [1.5, 1.5 * 2.0_f64.sqrt()];
    assert!((reaches(&[vec![1.0], vec![1.0, 1.0]], &levels) / either - 1.0).abs() < 1e-6);
    let independent = 1.0 - (1.0 - tail(1.5)).powi(2);
    assert!((reaches(&[vec![1.0], vec![0.0, 1.0]], &[1.5, 1.5]) / independent - 1.0).abs() < 1e-6);
    let three = 1.0 - (1.0 - tail(2.5)).powi(3);
    let identity = [vec![1.0], vec![0.0, 1.0], vec![0.0, 0.0, 1.0]];
    assert!((reaches(&identity, &[2.5; 3]) / three - 1.0).abs() < 1e-6);
    let l = cholesky(&[vec![3.0], vec![4.0, 5.0]]);
    assert!((l[1][0] - 4.0).abs() < 1e-12 && (l[1][1] - 5.0).abs() < 1e-12);
}

/// The event that δ_key pays for has no more than δ_key, and not much less. A threshold that is 10 % low,
/// one for a single key and one that forgets that replacement has two persons break the promise.
#[test]
fn what_one_person_decides_alone_has_the_probability_that_was_promised() {
    let mut broken = [0; 3];
    for horizon in 1..=3 {
        for (keys, floor, epsilon) in [(1, 1, 1.0), (1, 2, 1.0), (2, 1, 0.3), (3, 2, 0.1), (8, 5, 0.1)] {
            for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
                let discovery = discovery(horizon, keys, floor, neighbours, epsilon);
                let promised = discovery.key_delta();
                let reached = paid_for(&discovery, 1.0);
                let words = format!("{horizon} steps, {keys} keys, floor {floor}, {neighbours}: {reached}");
                assert!(reached <= promised, "{words}");
                assert!(reached > 0.3 * promised, "{words}");
                assert!(paid_for(&discovery, 0.9) > promised, "{words}: 10 % low");
                broken[0] += 1;
                let with = |keys: u64| {
                    let levels = Levels::new(discovery.persons(), promised / keys as f64).unwrap();
                    paid_for(&Discovery { levels, ..discovery.clone() }, 1.0)
                };
                if keys > 2 {
                    assert!(with(keys_that_differ(1, neighbours)) > promised, "{words}: one key");
                    broken[1] += 1;
                }
                if neighbours == Neighbours::Replace && epsilon < 0.2 {
                    assert!(with(keys) > promised, "{words}: one person");
                    broken[2] += 1;
                }
            }
        }
    }
    assert!(broken.iter().all(|count| *count > 0), "{broken:?}");
}

/// Every history of up to five persons in up to three steps, and the same without the person who came at
/// one of the steps: that the key ever appears is as probable as (ε, δ) allows.
#[test]
fn whether_a_key_ever_appears_is_private_for_every_small_history() {
    for horizon in 1..=3_usize {
        for floor in [1, 2, 3] {
            let discovery = discovery(horizon as u64, 1, floor, Neighbours::AddRemove, 1.0);
            let (epsilon, delta) = (discovery.epsilon(), discovery.delta());
            let mut known = HashMap::new();
            let mut probability = |counts: &[u64]| {
                *known.entry(counts.to_vec()).or_insert_with(|| appears(&discovery, counts, 1.0))
            };
            for arrivals in 0..6_u64.pow(horizon as u32) {
                let arrivals: Vec<u64> =
                    (0..horizon as u32).map(|step| arrivals / 6_u64.pow(step) % 6).collect();
                let counts: Vec<u64> = arrivals
                    .iter()
                    .scan(0, |count, new| {
                        *count += new;
                        Some(*count)
                    })
                    .collect();
                for leaves in (0..horizon).filter(|step| arrivals[*step] > 0) {
                    let without: Vec<u64> =
                        counts.iter().enumerate().map(|(t, count)| count - u64::from(t >= leaves)).collect();
                    let (with, without) = (probability(&counts), probability(&without));
                    for (one, other) in [(with, without), (1.0 - with, 1.0 - without)] {
                        let words = format!("{counts:?} without one from step {leaves}, floor {floor}");
                        assert!(one <= epsilon.exp() * other + delta, "{words}: {one} {other}");
                        assert!(other <= epsilon.exp() * one + delta, "{words}: {one} {other}");
                    }
                }
            }
        }
    }
}

/// The counter that runs, with many keys that one person holds alone: as many appear as may, and not many
/// fewer.
#[test]
fn as_many_keys_of_one_person_appear_as_promised() {
    const KEYS: u32 = 20_000;
    let discovery =
        Plan::discover(16).budget(Budget::new(1.0, 0.05).unwrap()).key_delta(0.02).floor(1).build().unwrap();
    let mut counter = DiscoveringCounter::new(&discovery, key(7)).unwrap();
    (0..KEYS).for_each(|number| counter.add(&format!("{number}"), 1.0, 1).unwrap());
    let mut appeared = 0.0;
    for _ in 0..16 {
        appeared = counter.close_step().unwrap().len() as f64;
    }
    let expected = discovery.key_delta() * f64::from(KEYS);
    let deviation = expected.sqrt();
    assert!(appeared < expected + 4.0 * deviation, "{appeared} of at most {expected}");
    // Thresholds are integers, and rounded up.
    assert!(appeared > 0.1 * expected, "{appeared} of {expected}");
}
