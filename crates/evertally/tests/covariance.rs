//! Released noise has covariance (σΔ)² L Lᵀ, on real draws, for every mechanism.
//!
//! **The test.** Feed zeros, so that releases are noise. Whiten each noise vector with the Cholesky factor of the
//! covariance declared by the plan's dense L and noise scale. If the declaration is true, the entries u_i of the whitened
//! vectors have mean 0, E u_i² = 1 and E u_i u_j = 0. Each of these n + n(n+1)/2 moments is compared with its sample mean, in
//! units of its own sample standard error, and the largest deviation must stay below 6.
//!
//! **False alarms.** By the central limit theorem each deviation exceeds 6 with probability 2e-9; with 90 moments a
//! mechanism is rejected wrongly with probability below 2e-7. (Seeds are fixed, so a green run stays green.)
//!
//! **Power.** The same samples must be rejected when the noise is 15 % short, and when every step draws a fresh vector
//! instead of sharing one; both are shown below.

#![allow(clippy::unwrap_used, reason = "a failed test is a failed test")]

mod common;

use common::{budget_for, builder, mechanisms_and_workloads};
use evertally::{
    Contribution, Counter, KeyedCounter, Matrix, Mechanism, NoiseKey, Plan, VectorCounter, Workload,
};

const STEPS: usize = 12;
const SAMPLES: usize = 3000;
const THRESHOLD: f64 = 6.0;

/// The covariance that the plan declares.
fn declared_covariance(plan: &Plan) -> Matrix {
    let decoder = plan.dense().unwrap().decoder;
    let gram = decoder.times(&decoder.transpose());
    let variance = plan.noise_scale().powi(2);
    Matrix::from_fn(STEPS, STEPS, |i, j| variance * gram[(i, j)])
}

/// The lower Cholesky factor, from the textbook.
fn cholesky(covariance: &Matrix) -> Matrix {
    let n = covariance.rows();
    let mut factor = Matrix::zeros(n, n);
    for i in 0..n {
        for j in 0..=i {
            let sum: f64 = (0..j).map(|k| factor[(i, k)] * factor[(j, k)]).sum();
            let rest = covariance[(i, j)] - sum;
            factor[(i, j)] = if i == j { rest.sqrt() } else { rest / factor[(j, j)] };
        }
    }
    factor
}

/// The largest deviation of a moment of the whitened samples, in standard errors.
fn largest_deviation(samples: &[Vec<f64>], covariance: &Matrix) -> f64 {
    let factor = cholesky(covariance);
    let whitened: Vec<Vec<f64>> = samples
        .iter()
        .map(|z| {
            let mut u = vec![0.0; STEPS];
            for i in 0..STEPS {
                let known: f64 = (0..i).map(|k| factor[(i, k)] * u[k]).sum();
                u[i] = (z[i] - known) / factor[(i, i)];
            }
            u
        })
        .collect();
    let deviation = |moment: &dyn Fn(&[f64]) -> f64, expected: f64| {
        let n = whitened.len() as f64;
        let mean = whitened.iter().map(|u| moment(u)).sum::<f64>() / n;
        let variance = whitened.iter().map(|u| (moment(u) - mean).powi(2)).sum::<f64>() / n;
        (mean - expected).abs() / (variance / n).sqrt()
    };
    let mut largest = 0.0_f64;
    for i in 0..STEPS {
        largest = largest.max(deviation(&|u| u[i], 0.0));
        for j in 0..=i {
            largest = largest.max(deviation(&|u| u[i] * u[j], f64::from(u8::from(i == j))));
        }
    }
    largest
}

fn assert_declared(name: &str, samples: &[Vec<f64>], plan: &Plan) {
    let covariance = declared_covariance(plan);
    let honest = largest_deviation(samples, &covariance);
    assert!(honest < THRESHOLD, "{name}: {honest}");

    let short: Vec<Vec<f64>> = samples.iter().map(|z| z.iter().map(|v| 0.85 * v).collect()).collect();
    let planted = largest_deviation(&short, &covariance);
    assert!(planted > THRESHOLD, "{name}: noise 15 % short passes with {planted}");

    if !matches!(plan.mechanism(), Mechanism::OutputPerturbation) {
        // Step t taken from sample r + t: every step has its own vector, and the right variance.
        let fresh: Vec<Vec<f64>> = (0..samples.len())
            .map(|r| (0..STEPS).map(|t| samples[(r + t) % samples.len()][t]).collect())
            .collect();
        let planted = largest_deviation(&fresh, &covariance);
        assert!(planted > THRESHOLD, "{name}: a fresh vector a step passes with {planted}");
    }
}

#[test]
fn scalar_counters_release_the_declared_noise() {
    for (mechanism, workload) in mechanisms_and_workloads() {
        let plan = builder(workload, STEPS as u64)
            .mechanism(mechanism)
            .budget(budget_for(mechanism))
            .build()
            .unwrap();
        let samples: Vec<Vec<f64>> = (0..SAMPLES as u64)
            .map(|seed| {
                let mut counter = Counter::new(&plan, NoiseKey::insecure_from_seed(seed)).unwrap();
                (0..STEPS).map(|_| counter.step(0.0).unwrap().value).collect()
            })
            .collect();
        assert_declared(&format!("{mechanism} {workload}"), &samples, &plan);
    }
}

/// Coordinates of one vector stand in for independent samples: so they must be independent of each other too.
#[test]
fn vector_coordinates_are_independent_streams() {
    for mechanism in
        [Mechanism::SquareRoot, Mechanism::HonakerStreaming, Mechanism::BandedSquareRoot { band: Some(4) }]
    {
        let plan = Plan::prefix_sum(STEPS as u64)
            .mechanism(mechanism)
            .budget(budget_for(mechanism))
            .dimension(SAMPLES)
            .contribution(Contribution::norm(1.0).unwrap())
            .build()
            .unwrap();
        let mut counter = VectorCounter::new(&plan, NoiseKey::insecure_from_seed(1)).unwrap();
        let zero = vec![0.0; SAMPLES];
        let steps: Vec<Vec<f64>> = (0..STEPS).map(|_| counter.step(&zero).unwrap().values).collect();
        let samples: Vec<Vec<f64>> =
            (0..SAMPLES).map(|c| steps.iter().map(|values| values[c]).collect()).collect();
        assert_declared(&format!("vector {mechanism}"), &samples, &plan);
    }
}

#[test]
fn keys_are_independent_streams() {
    for mechanism in [Mechanism::SquareRoot, Mechanism::Binary, Mechanism::LaplaceTree] {
        let plan = builder(Workload::PrefixSum, STEPS as u64)
            .mechanism(mechanism)
            .budget(budget_for(mechanism))
            .keys((0..SAMPLES).map(|i| format!("key {i}")))
            .build()
            .unwrap();
        let mut counter = KeyedCounter::new(&plan, NoiseKey::insecure_from_seed(1)).unwrap();
        let zero = vec![0.0; SAMPLES];
        let steps: Vec<Vec<f64>> = (0..STEPS)
            .map(|_| counter.step(&zero).unwrap().iter().map(|release| release.value).collect())
            .collect();
        let samples: Vec<Vec<f64>> =
            (0..SAMPLES).map(|c| steps.iter().map(|values| values[c]).collect()).collect();
        assert_declared(&format!("keyed {mechanism}"), &samples, &plan);
    }
}
