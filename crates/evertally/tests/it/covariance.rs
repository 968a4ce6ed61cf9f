//! Released noise has covariance (σΔ)² L Lᵀ, plus the rounding to the grid, on real draws, for
//! every mechanism.
//!
//! **The test.** Feed zeros, so that releases are noise. Whiten each noise vector with the Cholesky
//! factor of the covariance that the plan's dense L and noise scale declare. If the declaration is
//! true, the entries u_i of the whitened vectors have mean 0, E u_i² = 1 and E u_i u_j = 0. Each of
//! these n + n(n+1)/2 moments is compared with its sample mean, in units of its own sample standard
//! error. The largest deviation must stay below 6.
//!
//! **False alarms.** By the central limit theorem each deviation exceeds 6 with probability 2e-9.
//! With 90 moments a mechanism is rejected wrongly with probability below 2e-7. (Seeds are fixed,
//! so a test that passes once always passes.)
//!
//! **Power.** The same samples must be rejected if the noise is 15 % short, and if every step draws
//! a fresh vector instead of sharing one. Both are shown below.

use crate::common::{budget_for, builder, mechanisms_and_workloads};
use evertally::{
    Contribution, Counter, KeyedCounter, Matrix, Mechanism, NoiseKey, Plan, SparseCounter, VectorCounter,
    Workload,
};

const STEPS: usize = 12;
const SAMPLES: usize = 3000;
const THRESHOLD: f64 = 6.0;

/// The covariance that the plan declares for these steps.
fn declared_covariance(plan: &Plan, steps: [usize; STEPS]) -> Matrix {
    let decoder = plan.dense().unwrap().decoder;
    let gram = decoder.times(&decoder.transpose());
    let variance = plan.noise_scale().powi(2);
    // Rounding to the grid adds the variance of a uniform error to each release independently.
    let rounded = plan.grid().unwrap_or(0.0).powi(2) / 12.0;
    Matrix::from_fn(STEPS, STEPS, |i, j| {
        variance * gram[(steps[i], steps[j])] + if i == j { rounded } else { 0.0 }
    })
}

fn every_step() -> [usize; STEPS] {
    std::array::from_fn(|step| step)
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
    let whitened = whiten(samples, covariance);
    let mut largest = 0.0_f64;
    for i in 0..STEPS {
        largest = largest.max(deviation(whitened.iter().map(|u| u[i]), 0.0));
        for j in 0..=i {
            let expected = f64::from(u8::from(i == j));
            largest = largest.max(deviation(whitened.iter().map(|u| u[i] * u[j]), expected));
        }
    }
    largest
}

fn whiten(samples: &[Vec<f64>], covariance: &Matrix) -> Vec<Vec<f64>> {
    let factor = cholesky(covariance);
    let whiten = |z: &Vec<f64>| {
        let mut u = vec![0.0; STEPS];
        for i in 0..STEPS {
            let known: f64 = (0..i).map(|k| factor[(i, k)] * u[k]).sum();
            u[i] = (z[i] - known) / factor[(i, i)];
        }
        u
    };
    samples.iter().map(whiten).collect()
}

/// The distance of the sample mean of a moment from its expectation, in its own standard errors.
fn deviation(moments: impl Iterator<Item = f64>, expected: f64) -> f64 {
    let moments: Vec<f64> = moments.collect();
    let n = moments.len() as f64;
    let mean = moments.iter().sum::<f64>() / n;
    let variance = moments.iter().map(|moment| (moment - mean).powi(2)).sum::<f64>() / n;
    (mean - expected).abs() / (variance / n).sqrt()
}

fn assert_declared(name: &str, samples: &[Vec<f64>], plan: &Plan) {
    assert_declared_at(every_step(), name, samples, plan);
}

fn assert_declared_at(steps: [usize; STEPS], name: &str, samples: &[Vec<f64>], plan: &Plan) {
    let covariance = declared_covariance(plan, steps);
    for (i, step) in steps.iter().enumerate() {
        let stated = plan.standard_error(*step as u64).unwrap();
        assert!((stated / covariance[(i, i)].sqrt() - 1.0).abs() < 1e-6, "{name}: step {step}");
    }
    let honest = largest_deviation(samples, &covariance);
    assert!(honest < THRESHOLD, "{name}: {honest}");

    let short: Vec<Vec<f64>> = samples.iter().map(|z| z.iter().map(|v| 0.85 * v).collect()).collect();
    let planted = largest_deviation(&short, &covariance);
    assert!(planted > THRESHOLD, "{name}: noise 15 % short passes with {planted}");

    if !matches!(plan.mechanism(), Mechanism::OutputPerturbation) {
        // Step t is taken from sample r + t: every step has its own vector, and the right variance.
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

/// Coordinates of one vector are used as independent samples, so they must be independent of each
/// other too.
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
    let graded = Mechanism::GradedSquareRoot { decays: Some(6) };
    for mechanism in [Mechanism::SquareRoot, Mechanism::Binary, Mechanism::LaplaceTree, graded] {
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

/// Undeclared keys, released at steps that are far apart, and every third of them between those as
/// well.
#[test]
fn open_keys_release_the_declared_noise_at_any_steps() {
    let steps = [0, 1, 2, 7, 8, 15, 40, 64, 65, 120, 198, 199];
    let graded = builder(Workload::PrefixSum, 200).mechanism(Mechanism::GradedSquareRoot { decays: Some(6) });
    let decayed = builder(Workload::Decay { factor: 0.95 }, 200).mechanism(Mechanism::SquareRoot);
    for plan in [graded, decayed] {
        let plan = plan.budget(budget_for(Mechanism::SquareRoot)).open_keys().build().unwrap();
        let names: Vec<String> = (0..SAMPLES).map(|i| format!("key {i}")).collect();
        let mut counter = SparseCounter::new(&plan, NoiseKey::insecure_from_seed(1)).unwrap();
        let mut samples = vec![Vec::new(); SAMPLES];
        for t in 0..200 {
            counter.close_step().unwrap();
            if steps.contains(&t) {
                let released = counter.release_each(names.iter().map(String::as_str)).unwrap();
                samples.iter_mut().zip(released).for_each(|(sample, release)| sample.push(release.value));
            } else if t % 11 == 0 {
                counter.release_each(names.iter().step_by(3).map(String::as_str)).unwrap();
            }
        }
        assert_declared_at(steps, &format!("open {}", plan.mechanism()), &samples, &plan);
    }
}

/// The noise of two keys under many noise keys: all moments of a step of one and a step of the
/// other vanish.
///
/// 144 moments, each beyond 6 standard errors with probability 2e-9: a false alarm in less than one
/// of 3e6 runs.
#[test]
fn two_keys_are_uncorrelated() {
    let plan = builder(Workload::PrefixSum, STEPS as u64)
        .mechanism(Mechanism::GradedSquareRoot { decays: Some(6) })
        .budget(budget_for(Mechanism::SquareRoot))
        .keys(["north", "south"])
        .build()
        .unwrap();
    let (mut north, mut south) = (Vec::new(), Vec::new());
    for seed in 0..SAMPLES as u64 {
        let mut counter = KeyedCounter::new(&plan, NoiseKey::insecure_from_seed(seed)).unwrap();
        let steps: Vec<_> = (0..STEPS).map(|_| counter.step(&[0.0, 0.0]).unwrap()).collect();
        north.push(steps.iter().map(|releases| releases[0].value).collect::<Vec<f64>>());
        south.push(steps.iter().map(|releases| releases[1].value).collect::<Vec<f64>>());
    }
    let covariance = declared_covariance(&plan, every_step());
    let (north, south) = (whiten(&north, &covariance), whiten(&south, &covariance));
    let largest = |leak: f64| {
        let moments = (0..STEPS).flat_map(|i| (0..STEPS).map(move |j| (i, j)));
        let pairs = || north.iter().zip(&south);
        let moment = |(i, j): (usize, usize)| pairs().map(move |(a, b)| a[i] * (b[j] + leak * a[j]));
        moments.map(|at| deviation(moment(at), 0.0)).fold(0.0, f64::max)
    };
    assert!(largest(0.0) < THRESHOLD, "{}", largest(0.0));
    // A sixth of one key's noise in the other's would be detected.
    assert!(largest(0.17) > THRESHOLD, "{}", largest(0.17));
}
