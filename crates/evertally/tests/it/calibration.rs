//! Compares the calibrated noise with references of 35 digits (`data/calibration.csv`, made by
//! `data/calibration.py`).

use evertally::Result;
use evertally::privacy::{Budget, Calibration, gaussian_delta, gaussian_epsilon, zcdp_epsilon};

struct Reference {
    epsilon: f64,
    delta: f64,
    exact: f64,
    zcdp: f64,
}

fn references() -> Vec<Reference> {
    let lines =
        include_str!("../data/calibration.csv").lines().skip_while(|line| line.starts_with('#')).skip(1);
    lines
        .map(|line| {
            let fields: Vec<f64> = line.split(',').map(|field| field.parse().expect("a number")).collect();
            let [epsilon, delta, exact, zcdp] = fields[..] else { panic!("four fields, not {line:?}") };
            Reference { epsilon, delta, exact, zcdp }
        })
        .collect()
}

/// σ is never below the true value, and above it by a relative 10⁻¹² at most. Returns the smallest
/// and the largest excess.
fn excess(calibration: Calibration, truth: impl Fn(&Reference) -> f64) -> Result<(f64, f64)> {
    let references = references();
    assert_eq!(references.len(), 105, "the whole table is there");
    let mut range = (f64::INFINITY, 0.0_f64);
    for reference in &references {
        let budget = Budget::new(reference.epsilon, reference.delta)?;
        let sigma = budget.with_calibration(calibration)?.noise_multiplier();
        let excess = sigma / truth(reference) - 1.0;
        let (epsilon, delta) = (reference.epsilon, reference.delta);
        assert!((0.0..=1e-12).contains(&excess), "ε = {epsilon}, δ = {delta}: {sigma} is off by {excess:e}");
        range = (range.0.min(excess), range.1.max(excess));
    }
    println!("{calibration}: relative excess from {:e} to {:e}", range.0, range.1);
    Ok(range)
}

#[test]
fn exact_calibration_is_the_reference_rounded_up() -> Result<()> {
    let (least, most) = excess(Calibration::Exact, |reference| reference.exact)?;
    // The margin is 1.1e-13, and the arithmetic should barely show in it.
    assert!(least > 0.9e-13 && most < 1.4e-13, "{least:e} to {most:e}");
    Ok(())
}

#[test]
fn zcdp_calibration_is_the_reference_rounded_up() -> Result<()> {
    excess(Calibration::Zcdp, |reference| reference.zcdp)?;
    Ok(())
}

#[test]
fn spent_privacy_is_the_reference_rounded_up() -> Result<()> {
    for Reference { epsilon, delta, exact, zcdp } in references() {
        // The reference, rounded to a float in either direction, is within 2⁻⁵³ of the true value.
        // The margins cover that.
        let spent = gaussian_epsilon(exact, delta)?;
        assert!(spent >= epsilon * (1.0 - 1e-15), "ε = {epsilon}, δ = {delta}: {spent}");
        // A relative change of σ by 1.1e-13 changes ε by that times μ/M(b) ≤ μ(b + 1), with M the
        // Mills ratio and μ = 1/σ.
        let mu = 1.0 / exact;
        let slack = 1.3e-13 * (mu * mu / 2.0 + mu + epsilon);
        assert!(spent <= epsilon + slack, "ε = {epsilon}, δ = {delta}: {spent}");
        let leaked = gaussian_delta(exact, epsilon)?;
        assert!(leaked >= delta && leaked <= delta * (1.0 + 5e-10), "ε = {epsilon}, δ = {delta}: {leaked}");
        let converted = zcdp_epsilon(1.0 / (2.0 * zcdp * zcdp), delta)?;
        assert!(
            (converted - epsilon).abs() <= 1e-11 * (1.0 + epsilon),
            "ε = {epsilon}, δ = {delta}: {converted}"
        );
    }
    Ok(())
}

#[test]
fn noise_falls_as_the_budget_grows() -> Result<()> {
    let sigma = |epsilon, delta| Budget::new(epsilon, delta).map(|budget| budget.noise_multiplier());
    for i in 0..60 {
        let epsilon = 1e-6 * 1.4_f64.powi(i);
        assert!(sigma(epsilon, 1e-9)? > sigma(epsilon * 1.4, 1e-9)?);
        let delta = 1e-300 * 1e5_f64.powi(i);
        assert!(sigma(1.0, delta)? > sigma(1.0, (delta * 1e5).min(0.999))?);
    }
    Ok(())
}
