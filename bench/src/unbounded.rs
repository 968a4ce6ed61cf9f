//! The price of an unknown end, for `cargo xtask bench unbounded`: a line of JSON with the least price
//! of all, and one per power of two.
//!
//! A price is a squared error at step t beside the least possible one of a stream that is known to have
//! t steps. Up to [`CERTIFIED`] steps the least one is proved by a certificate, and beyond it is that of
//! the plan for that horizon, which is within 0.2 % of it.

use std::io::{self, Write};

use evertally::research::gamma::{Subject, gamma_2, gamma_f};
use evertally::{Arithmetic, Budget, Matrix, Mechanism, Objective, Plan, Workload};
use serde_json::json;

const LAST_POWER: u32 = 40;

/// The longest horizon that is certified, as a power of two.
const CERTIFIED: u32 = 16;

/// The steps for which the least price of all is certified. Longer streams only pay more.
const LEAST: usize = 256;

fn main() -> io::Result<()> {
    writeln!(io::stdout(), "{}", json!({ "least_price": least_price(LEAST)?, "steps": LEAST }))?;
    let steps: Vec<f64> = (0..=LAST_POWER).map(|power| f64::from(power).exp2()).collect();
    let optima: Vec<f64> = (0..=LAST_POWER).map(optimum).collect::<io::Result<_>>()?;
    let plan = |mechanism, objective| {
        let plan = Plan::unbounded(Workload::PrefixSum).budget(Budget::zcdp(0.5).map_err(io::Error::other)?);
        let plan = plan.mechanism(mechanism).objective(objective).arithmetic(Arithmetic::Float);
        plan.build().map_err(io::Error::other)
    };
    let every_step = plan(Mechanism::EndlessSquareRoot, Objective::Worst)?;
    let anytime = plan(Mechanism::EndlessSquareRoot, Objective::Anytime)?;
    let capped = plan(Mechanism::SquareRoot, Objective::Mean)?;
    let root = Logarithmic::new(0.0, 0.0, -60.0).energy(&steps);
    let endless = best(&steps, &optima, (-3.0, -0.55), |gamma| Logarithmic::new(gamma, 0.0, -700.0).total());
    let ended = best(&steps, &optima, (-3.0, 0.5), |gamma| {
        Logarithmic::new(gamma, 0.0, -60.0).energy(&steps[LAST_POWER as usize..])[0]
    });
    let error = |plan: &Plan, step: u64| {
        plan.standard_error(step - 1).map(|error| error * error).map_err(io::Error::other)
    };
    let mut finished = 0.0;
    for power in 0..=LAST_POWER {
        let (t, place) = (1_u64 << power, power as usize);
        let price = |error: f64| error / optima[place];
        let so_far = anytime.milestone(t).map_err(io::Error::other)?.rmse_so_far.unwrap_or(f64::NAN);
        // A block of 1, 2, 4, … steps has ended at step 2^k − 1.
        let doubling = if power == 0 { 1.0 } else { finished / optimum_before(power)? };
        finished += root[place] * root[place];
        let line = json!({
            "power": power,
            "is_certified": power <= CERTIFIED,
            "optimum": optima[place],
            "every_step": price(error(&every_step, t)?),
            "anytime_mean": price(so_far * so_far),
            "anytime_step": price(error(&anytime, t)?),
            "square_root_capped": price(error(&capped, t)?),
            "doubling": doubling,
            "logarithmic": endless.1[place],
            "logarithmic_gamma": endless.0,
            "logarithmic_capped": ended.1[place],
            "logarithmic_capped_gamma": ended.0,
        });
        writeln!(io::stdout(), "{line}")?;
    }
    Ok(())
}

/// A lower bound on the largest price of every mechanism over so many steps: γ_2² of the workload
/// whose row t is divided by the root of the optimum for t steps.
fn least_price(steps: usize) -> io::Result<f64> {
    let roots: Vec<f64> = (1..=steps).map(|t| Ok(gamma(t)?.1.sqrt().next_up())).collect::<io::Result<_>>()?;
    let weighted = Matrix::from_fn(steps, steps, |t, j| if j <= t { 1.0 / roots[t] } else { 0.0 });
    Ok(gamma_2(Subject::Real(weighted), 1e-3, &()).map_err(io::Error::other)?.error_factor().0)
}

/// γ_F²/t at 2^power steps.
fn optimum(power: u32) -> io::Result<f64> {
    if power <= CERTIFIED {
        return certified(1 << power);
    }
    let plan = Plan::prefix_sum(1 << power).budget(Budget::zcdp(0.5).map_err(io::Error::other)?);
    let graded = Mechanism::GradedSquareRoot { decays: None };
    let plan = plan.mechanism(graded).arithmetic(Arithmetic::Float).build().map_err(io::Error::other)?;
    Ok(plan.accuracy().mean_error)
}

/// γ_F²/t one step before. At long horizons a step makes no difference.
fn optimum_before(power: u32) -> io::Result<f64> {
    if power <= CERTIFIED { certified((1 << power) - 1) } else { optimum(power) }
}

fn certified(steps: usize) -> io::Result<f64> {
    Ok(gamma(steps)?.0)
}

/// Both bounds.
fn gamma(steps: usize) -> io::Result<(f64, f64)> {
    let subject = Subject::workload(Workload::PrefixSum, steps);
    Ok(gamma_f(subject, 1e-6, &()).map_err(io::Error::other)?.error_factor())
}

/// The exponent γ in the range, with δ = 0, whose largest price is least if `column` is the square of
/// its longest column, and its prices.
fn best(
    steps: &[f64],
    optima: &[f64],
    (mut low, mut high): (f64, f64),
    column: impl Fn(f64) -> f64,
) -> (f64, Vec<f64>) {
    let prices = |gamma: f64| -> Vec<f64> {
        let column = column(gamma);
        let rows = Logarithmic::new(-gamma, 0.0, -60.0).energy(steps);
        rows.iter().zip(optima).map(|(row, optimum)| row * column / optimum).collect()
    };
    let largest = |gamma: f64| prices(gamma).into_iter().fold(0.0, f64::max);
    while high - low > 0.01 {
        let (left, right) = (low + (high - low) / 3.0, high - (high - low) / 3.0);
        if largest(left) < largest(right) { high = right } else { low = left }
    }
    let gamma = f64::midpoint(low, high);
    (gamma, prices(gamma))
}

/// Coefficients of (1−x)^{-1/2} · g^γ · (2 ln(g)/x)^δ with g = ln(1/(1−x))/x: the factorization of
/// Jacobsen and Fawaz (2025) as reconstructed from its description, not their program.
///
/// The first four are those of its power series. Later ones are integrals over the cut from one to
/// infinity, f_k = (1/π) ∫ Im f(x + i0) x^{−k−1} dx, by the trapezoidal rule in ln(x − 1): f_{4+k} = Σ
/// w_i exp(−r_i k).
struct Logarithmic {
    head: [f64; HEAD],
    nodes: Vec<(f64, f64)>,
    tail: (f64, f64),
}

const HEAD: usize = 4;
const SPACING: f64 = 0.4;

impl Logarithmic {
    /// `low` is the least ln(x − 1): it limits lags to about its exponential.
    fn new(gamma: f64, delta: f64, low: f64) -> Self {
        let points = ((60.0 - low) / SPACING) as usize;
        let nodes = (0..points).map(|i| {
            let y = low + SPACING * i as f64;
            let x = 1.0 + y.exp();
            // ln(1/(1−x)) above the cut, by its real and imaginary parts.
            let log = (-y, std::f64::consts::PI);
            let g = ln((log.0 / x, log.1 / x));
            let mut value = (0.5 * log.0 + gamma * g.0, 0.5 * log.1 + gamma * g.1);
            if delta != 0.0 {
                let h = ln((2.0 / x * g.0, 2.0 / x * g.1));
                value = (value.0 + delta * h.0, value.1 + delta * h.1);
            }
            let rate = y.exp().ln_1p();
            let size = (value.0 - HEAD as f64 * x.ln()).exp() * value.1.sin();
            (size / std::f64::consts::PI * y.exp() / x * SPACING, rate)
        });
        Self { head: head(gamma, delta), nodes: nodes.collect(), tail: (gamma, delta) }
    }

    /// Σ_{k<t} f_k².
    fn energy(&self, steps: &[f64]) -> Vec<f64> {
        let of = |t: &f64| {
            let first: f64 = self.head.iter().take(*t as usize).map(|f| f * f).sum();
            first + self.pairs((t - HEAD as f64).max(0.0))
        };
        steps.iter().map(of).collect()
    }

    fn pairs(&self, steps: f64) -> f64 {
        if steps == 0.0 {
            return 0.0;
        }
        let mut sum = 0.0;
        for (i, (w, r)) in self.nodes.iter().enumerate() {
            for (j, (v, s)) in self.nodes[..=i].iter().enumerate() {
                let rate = r + s;
                let count = if i == j { 1.0 } else { 2.0 };
                sum += count * w * v * (-(-rate * steps).exp_m1()) / -(-rate).exp_m1();
            }
        }
        sum
    }

    /// Σ f_k² over all k. Beyond e^700, where f_k² is (ln k)^2γ (2 ln ln k)^2δ/πk, it is an integral in
    /// u = ln ln k.
    fn total(&self) -> f64 {
        let (gamma, delta) = self.tail;
        let fall = -(2.0 * gamma + 1.0);
        let (first, length) = (700.0_f64.ln(), 60.0 / fall);
        let points = 200_000;
        let step = length / f64::from(points);
        let far: f64 = (0..points)
            .map(|i| first + step * (f64::from(i) + 0.5))
            .map(|u| (-fall * u).exp() * (2.0 * u).powf(2.0 * delta) * step)
            .sum();
        let first: f64 = self.head.iter().map(|f| f * f).sum();
        first + self.pairs(f64::INFINITY) + far / std::f64::consts::PI
    }
}

/// The logarithm of a complex number.
fn ln((re, im): (f64, f64)) -> (f64, f64) {
    (re.hypot(im).ln(), im.atan2(re))
}

/// The first coefficients, by power series.
fn head(gamma: f64, delta: f64) -> [f64; HEAD] {
    const LEN: usize = HEAD + 1;
    let g: [f64; LEN] = std::array::from_fn(|k| 1.0 / (k as f64 + 1.0));
    let mut root = [1.0; LEN];
    for k in 1..LEN {
        root[k] = root[k - 1] * (1.0 - 0.5 / k as f64);
    }
    // (1 + …)^p and ln(1 + …).
    let power = |c: &[f64; LEN], p: f64| {
        let mut b = [0.0; LEN];
        b[0] = 1.0;
        for n in 1..LEN {
            b[n] = (1..=n).map(|k| (p * k as f64 - (n - k) as f64) * c[k] * b[n - k]).sum::<f64>() / n as f64;
        }
        b
    };
    let mut log = [0.0; LEN];
    for n in 1..LEN {
        log[n] = g[n] - (1..n).map(|k| k as f64 * log[k] * g[n - k]).sum::<f64>() / n as f64;
    }
    let h: [f64; LEN] = std::array::from_fn(|k| log.get(k + 1).map_or(0.0, |next| 2.0 * next));
    let times = |a: [f64; LEN], b: [f64; LEN]| -> [f64; LEN] {
        std::array::from_fn(|n| (0..=n).map(|k| a[k] * b[n - k]).sum())
    };
    let all = times(times(root, power(&g, gamma)), power(&h, delta));
    std::array::from_fn(|k| all[k])
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Without logarithms it is the square root.
    #[test]
    fn the_cut_gives_the_coefficients_of_the_series() {
        let root = Logarithmic::new(0.0, 0.0, -60.0);
        let fifth: f64 = root.nodes.iter().map(|(w, _)| w).sum();
        assert!((fifth - 35.0 / 128.0).abs() < 1e-12, "{fifth}");
        assert_eq!(root.head, [1.0, 0.5, 0.375, 0.3125]);
        let energy = root.energy(&[1.0, 2.0, 3.0]);
        assert_eq!(energy, [1.0, 1.25, 1.25 + 0.375 * 0.375]);
    }

    /// At one step there is nothing to pay. At two, with L[0, 0] = 1 at least and the optimum for two
    /// steps beside it, a little; and each further step adds to it.
    #[test]
    fn the_least_price_rises_with_the_steps() {
        let prices = [1, 2, 16, 64].map(|steps| least_price(steps).unwrap());
        eprintln!("{prices:?}");
        assert!((prices[0] - 1.0).abs() < 3e-3 && prices.is_sorted(), "{prices:?}");
        assert!(prices[3] < 1.617, "{prices:?}");
    }

    /// A factorization and its inverse multiply to the prefix sum.
    #[test]
    fn the_two_factors_multiply_to_ones() {
        let at = |f: &Logarithmic, k: usize| match f.head.get(k) {
            Some(first) => *first,
            None => f.nodes.iter().map(|(w, r)| w * (-r * (k - HEAD) as f64).exp()).sum(),
        };
        for (gamma, delta) in [(-0.51, 0.0), (-0.51, 0.612), (0.4, 0.2)] {
            let (r, l) = (Logarithmic::new(gamma, delta, -60.0), Logarithmic::new(-gamma, -delta, -60.0));
            for n in 0..30 {
                let sum: f64 = (0..=n).map(|k| at(&r, k) * at(&l, n - k)).sum();
                assert!((sum - 1.0).abs() < 1e-9, "{gamma} {delta} {n}: {sum}");
            }
        }
    }
}
