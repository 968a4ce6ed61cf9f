//! Whether the noise has the distribution it claims.
//!
//! Each check raises a false alarm on true noise with probability at most [`FALSE_ALARM`], by an
//! exact bound or by the normal limit of a mean of at least 10⁶ terms. The seeds are fixed, so a
//! check that passes once always passes. Each check of scale also runs on the same draws with a
//! standard deviation that is 15 % short, and must refuse them. A check that cannot detect that
//! proves nothing.
//!
//! The short suite takes 10⁶ draws of each kind and runs with the other tests. The long suite takes
//! 10⁸ in constant memory; `cargo xtask statistics` runs it and prints the results.

mod integer;
mod long;
mod reference;
mod short;

/// The probability that one check refuses true noise.
const FALSE_ALARM: f64 = 1e-6;
/// The two-sided normal quantile at [`FALSE_ALARM`].
const Z: f64 = 4.8917;
/// The scale error that the checks must detect.
const SHORT: f64 = 0.85;

/// All three functions return the statistic as a fraction of its threshold. Above one, the draws
/// are refused.
///
/// The count of an event of probability p among n draws is binomial. By Chernoff, n·KL(count/n ‖ p)
/// exceeds ln(2/α) with probability at most α.
fn of_count(count: f64, n: f64, p: f64) -> f64 {
    let term = |a: f64, b: f64| if a == 0.0 { 0.0 } else { a * (a / b).ln() };
    let share = count / n;
    n * (term(share, p) + term(1.0 - share, 1.0 - p)) / (2.0 / FALSE_ALARM).ln()
}

/// Massart's form of the Dvoretzky–Kiefer–Wolfowitz bound: P(√n D > s) ≤ 2 exp(−2s²) at every n.
fn of_distance(distance: f64, n: f64) -> f64 {
    n.sqrt() * distance / ((2.0 / FALSE_ALARM).ln() / 2.0).sqrt()
}

/// Uses the Wilson–Hilferty quantile of χ². Only large values are refused, so the two-sided
/// quantile is conservative.
fn of_chi_squared(statistic: f64, freedom: f64) -> f64 {
    let spread = 2.0 / (9.0 * freedom);
    statistic / (freedom * (1.0 - spread + Z * spread.sqrt()).powi(3))
}
