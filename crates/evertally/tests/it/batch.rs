//! The matrix mechanism for any linear queries, on real draws.
//!
//! **The test.** Answers of one plan to one histogram under many keys, minus the true answers, are
//! noise of mean zero and declared covariance (noise scale)² L Lᵀ. For fixed vectors c, cᵀ(answers
//! − A x) divided by its declared deviation is standard normal. Its mean over S keys has deviation
//! 1/√S and its mean square has deviation √(2/S). Coordinates and pairwise sums (which carry the
//! covariances) are tested. Every deviation must stay below 6 of its own standard errors.
//!
//! **False alarms.** Each deviation exceeds 6 with probability below 1e-8 (the mean square of 4,000
//! normals is close to normal, with a slightly heavier upper tail). At most 90 are tested per plan,
//! so a plan is rejected wrongly with probability below 1e-6. (Seeds are fixed, so a test that
//! passes once always passes.)
//!
//! **Power.** The same draws must be rejected when the noise is 15 % short: the mean square is then
//! 0.7225, 12 standard errors away.

use evertally::research::batch::{BatchPlan, ParityPlan, ParityTotals};
use evertally::research::gamma::{ComplexMatrix, gamma_2, gamma_f};
use evertally::{Budget, Matrix, Neighbours, NoiseKey};

const SAMPLES: u64 = 4000;

fn budget() -> Budget {
    Budget::new(1.0, 1e-6).unwrap()
}

/// Queries of several shapes: square, wide, tall, and of deficient rank with a cell that no query
/// uses.
fn workloads() -> Vec<(&'static str, Matrix)> {
    let wavy = |i: usize, j: usize| ((3 * i + 5 * j) as f64).sin() * 2.0;
    vec![
        ("square", Matrix::from_fn(5, 5, |i, j| f64::from(u8::from(j <= i)))),
        ("wide", Matrix::from_fn(3, 8, wavy)),
        ("tall", Matrix::from_fn(8, 3, wavy)),
        (
            "deficient",
            Matrix::from_fn(6, 5, |i, j| if j == 4 { 0.0 } else { (i + 1) as f64 * (j + 1) as f64 }),
        ),
    ]
}

/// The largest deviation of a first or second moment, in standard errors.
fn largest_deviation(noise: &[Vec<f64>], covariance: &Matrix) -> f64 {
    let n = covariance.rows();
    let samples = noise.len() as f64;
    let mut worst = 0.0_f64;
    for i in 0..n {
        for j in i..n {
            let variance = if i == j {
                covariance[(i, i)]
            } else {
                covariance[(i, i)] + covariance[(j, j)] + 2.0 * covariance[(i, j)]
            };
            // If the declared noise cancels, nothing can be measured in its units.
            if variance < 1e-9 * covariance[(i, i)].max(covariance[(j, j)]) {
                continue;
            }
            let of = |z: &Vec<f64>| (if i == j { z[i] } else { z[i] + z[j] }) / variance.sqrt();
            let mean = noise.iter().map(of).sum::<f64>() / samples;
            let square = noise.iter().map(|z| of(z).powi(2)).sum::<f64>() / samples;
            worst = worst.max(mean.abs() * samples.sqrt()).max((square - 1.0).abs() * (samples / 2.0).sqrt());
        }
    }
    worst
}

#[test]
fn answers_are_unbiased_and_have_the_stated_covariance() {
    for neighbours in [Neighbours::AddRemove, Neighbours::Replace] {
        for (name, queries) in workloads() {
            let data: Vec<f64> = (0..queries.columns()).map(|j| 100.0 * (j + 1) as f64 + 0.5).collect();
            let truth: Vec<f64> = (0..queries.rows())
                .map(|i| queries.row(i).iter().zip(&data).map(|(a, x)| a * x).sum())
                .collect();
            let plan = BatchPlan::new(queries, budget(), neighbours).unwrap();
            let noise: Vec<Vec<f64>> = (0..SAMPLES)
                .map(|seed| {
                    let answers = plan.answer(&data, NoiseKey::insecure_from_seed(seed)).unwrap();
                    answers.iter().zip(&truth).map(|(answer, truth)| answer.value - truth).collect()
                })
                .collect();
            let gram = plan.decoder().times(&plan.decoder().transpose());
            let n = plan.queries();
            let declared = |scale: f64| Matrix::from_fn(n, n, |i, j| scale * scale * gram[(i, j)]);
            let deviation = largest_deviation(&noise, &declared(plan.noise_scale()));
            assert!(deviation < 6.0, "{name}: {deviation}");
            let short = largest_deviation(&noise, &declared(plan.noise_scale() / 0.85));
            assert!(short > 6.0, "{name}: noise that is 15 % short goes unseen at {short}");
        }
    }
}

#[test]
fn the_error_is_the_least_possible() {
    for (name, queries) in workloads() {
        let plan = BatchPlan::new(queries.clone(), budget(), Neighbours::AddRemove).unwrap();
        let ratio = plan.mean_squared_error() / plan.least_mean_squared_error();
        assert!((1.0..1.000_01).contains(&ratio), "{name}: {ratio}");
        let per_query: f64 = (0..plan.queries()).map(|i| plan.standard_error(i).powi(2)).sum();
        assert!((per_query / plan.queries() as f64 / plan.mean_squared_error() - 1.0).abs() < 1e-12);
        // Replacement needs at least the same deviation, and at most twice as much.
        let replace = BatchPlan::new(queries, budget(), Neighbours::Replace).unwrap();
        let factor = replace.sensitivity() / plan.sensitivity();
        assert!((1.0..=2.000_001).contains(&factor), "{name}: {factor}");
    }
    // Opposite columns: replacing a unit of one by a unit of the other changes the query by two.
    let opposite = Matrix::from_fn(1, 2, |_, j| if j == 0 { 1.0 } else { -1.0 });
    let sensitivity =
        |neighbours| BatchPlan::new(opposite.clone(), budget(), neighbours).unwrap().sensitivity();
    let factor = sensitivity(Neighbours::Replace) / sensitivity(Neighbours::AddRemove);
    assert!((factor - 2.0).abs() < 1e-6, "{factor}");
}

#[test]
fn a_key_used_twice_does_not_lay_open_the_difference() {
    let (_, queries) = workloads().remove(0);
    let plan = BatchPlan::new(queries, budget(), Neighbours::AddRemove).unwrap();
    let answer = |x: f64| plan.answer(&[x, 1.0, 1.0, 1.0, 1.0], NoiseKey::insecure_from_seed(1)).unwrap();
    assert_eq!(answer(1.0), answer(1.0));
    assert!((answer(2.0)[4].value - answer(1.0)[4].value - 1.0).abs() > 1e-3);
}

/// Queries that differ in the sign of a cell have the same L. With the same noise, the difference
/// of their answers would be twice that cell.
#[test]
fn other_queries_have_other_noise_even_where_the_decoder_is_the_same() {
    let plan = |sign: f64| {
        let queries = Matrix::from_fn(1, 2, |_, cell| if cell == 0 { 1.0 } else { sign });
        BatchPlan::new(queries, budget(), Neighbours::AddRemove).unwrap()
    };
    let (sum, difference) = (plan(1.0), plan(-1.0));
    assert_eq!(sum.decoder(), difference.decoder(), "or the test shows nothing");
    let answer =
        |plan: &BatchPlan| plan.answer(&[120.0, 340.0], NoiseKey::insecure_from_seed(1)).unwrap()[0].value;
    let twice_the_cell = answer(&sum) - answer(&difference);
    assert!((twice_the_cell - 680.0).abs() > 1e-3, "{twice_the_cell}");
}

/// One key serves one table, of which several sets of columns may be requested. Equal totals must
/// not show as equal answers.
#[test]
fn other_columns_have_other_noise_even_where_their_parities_are_equal() {
    let plan = ParityPlan::new(1, 1, budget(), Neighbours::AddRemove).unwrap();
    let answer = |names: &[&str]| {
        let mut totals = ParityTotals::new(&plan).named(names);
        totals.add(0);
        totals.release(NoiseKey::insecure_from_seed(1))
    };
    assert_eq!(answer(&["a"]), answer(&["a"]));
    assert_ne!(answer(&["a"]), answer(&["b"]));
    assert_ne!(answer(&["a", "b"]), answer(&["ab"]));
}

#[test]
fn bad_input_is_refused() {
    let identity = || Matrix::from_fn(2, 2, |i, j| f64::from(u8::from(i == j)));
    let plan = BatchPlan::new(identity(), budget(), Neighbours::AddRemove).unwrap();
    let key = || NoiseKey::insecure_from_seed(1);
    assert!(plan.answer(&[1.0], key()).is_err());
    assert!(plan.answer(&[1.0, f64::NAN], key()).is_err());
    assert!(plan.answer(&[1.0, 1e16], key()).is_err());
    let refused = |queries: Matrix| BatchPlan::new(queries, budget(), Neighbours::AddRemove).is_err();
    assert!(refused(Matrix::zeros(0, 0)));
    assert!(refused(Matrix::zeros(3, 0)));
    assert!(refused(Matrix::zeros(2, 2)));
    assert!(refused(Matrix::from_fn(2, 2, |_, _| f64::NAN)));
    assert!(BatchPlan::new(identity(), Budget::pure(1.0).unwrap(), Neighbours::AddRemove).is_err());
    let worst = gamma_2(identity(), 1e-6, &()).unwrap();
    assert!(BatchPlan::from_certificate(worst, budget(), Neighbours::AddRemove).is_err());
    let complex = ComplexMatrix::new(identity(), identity()).unwrap();
    let complex = gamma_f(complex, 1e-6, &()).unwrap();
    assert!(BatchPlan::from_certificate(complex, budget(), Neighbours::AddRemove).is_err());
    let mut tampered = gamma_f(identity(), 1e-6, &()).unwrap();
    tampered.lower *= 1.1;
    assert!(BatchPlan::from_certificate(tampered, budget(), Neighbours::AddRemove).is_err());
}

#[test]
fn parities_are_unbiased_with_independent_noise() {
    let plan = ParityPlan::new(4, 2, budget(), Neighbours::Replace).unwrap();
    let rows = [0b0000, 0b0001, 0b0110, 0b1111, 0b1000, 0b1000];
    let truth: Vec<f64> = plan
        .sets()
        .map(|set| {
            let parity =
                |row: &u32| set.iter().map(|c| if row >> c & 1 == 1 { -1.0 } else { 1.0 }).product::<f64>();
            rows.iter().map(parity).sum()
        })
        .collect();
    let noise: Vec<Vec<f64>> = (0..SAMPLES)
        .map(|seed| {
            let mut totals = ParityTotals::new(&plan);
            rows.iter().for_each(|row| totals.add(*row));
            let answers = totals.release(NoiseKey::insecure_from_seed(seed));
            answers.iter().zip(&truth).map(|(answer, truth)| answer - truth).collect()
        })
        .collect();
    let declared = |scale: f64| Matrix::from_fn(6, 6, |i, j| if i == j { scale * scale } else { 0.0 });
    assert!(largest_deviation(&noise, &declared(plan.standard_error())) < 6.0);
    assert!(largest_deviation(&noise, &declared(plan.standard_error() / 0.85)) > 6.0);
}

/// The plan for parities is the general mechanism at its optimum.
#[test]
fn parities_agree_with_the_general_mechanism() {
    let parity = ParityPlan::new(4, 2, budget(), Neighbours::AddRemove).unwrap();
    let sets: Vec<_> = parity.sets().collect();
    let queries = Matrix::from_fn(sets.len(), 16, |i, row| {
        sets[i].iter().map(|c| if row >> c & 1 == 1 { -1.0 } else { 1.0 }).product()
    });
    let general = BatchPlan::new(queries, budget(), Neighbours::AddRemove).unwrap();
    assert!((general.mean_squared_error() / parity.mean_squared_error() - 1.0).abs() < 1e-5);
    assert!((general.certificate().upper - 6.0).abs() < 1e-4);
}
