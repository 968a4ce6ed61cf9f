//! The error itself: what it is divided by, and what it is for a matrix mechanism.

use super::claim::{Claim, Table, Verdict, figure};
use crate::error::Result;
use evertally::privacy::gaussian_sigma;
use evertally::research::bounds::*;

/// The budget of the comparison.
const BUDGET: (f64, f64) = (0.5, 1e-6);

/// Noise on the answers to all parities of weight one: what two divisors say of its error.
pub(super) struct Divisors {
    /// The number of signs, and of queries.
    pub(super) queries: u32,
    /// The total squared error divided by the number of inputs, as Equation (1) prints it.
    pub(super) by_inputs: f64,
    /// The same divided by the number of queries.
    pub(super) by_queries: f64,
    /// The least error that Theorem 9 claims for any mechanism.
    pub(super) claimed: f64,
}

/// At the budget that is used here. The best matrix mechanism adds noise of σ√d to each answer.
pub(super) fn divisors(signs: u32) -> Result<Divisors> {
    let (epsilon, delta) = BUDGET;
    let queries = parity_gamma(signs, 1)?.middle();
    let total = gaussian_sigma(epsilon, delta)?.powi(2) * queries * queries;
    Ok(Divisors {
        queries: signs,
        by_inputs: total / f64::from(signs).exp2(),
        by_queries: total / queries,
        claimed: queries * paper_constant(epsilon, Reach::Oblivious)?,
    })
}

/// The first number of signs at which Equation (1) as printed contradicts Theorem 9.
pub(super) fn contradiction() -> Result<Divisors> {
    for signs in 1..40 {
        let found = divisors(signs)?;
        if found.by_inputs < found.claimed {
            return Ok(found);
        }
    }
    divisors(40)
}

pub(super) fn equation_one() -> Result<Claim> {
    let mut table = Table::new(&[
        "queries, $d$",
        "inputs, $2^d$",
        "total/inputs, Equation (1)",
        "total/queries",
        "Theorem 9 claims at least",
    ]);
    for signs in [2, 6, 10, 12, 20] {
        let found = divisors(signs)?;
        let figures = [found.by_inputs, found.by_queries, found.claimed].map(figure);
        let counts = [found.queries.to_string(), (1_u64 << signs).to_string()];
        table = table.row(counts.into_iter().chain(figures).collect());
    }
    let found = contradiction()?;
    let finding = format!(
        "The sum runs over the $q$ queries and must be divided by $q$. Both are $n$ for the prefix sum, but \
         not for parities. With Equation (1) as printed, the error of Gaussian noise on all $d$ parities of \
         weight one is below what Theorem 9 claims for any mechanism from $d = {}$ on: there it is {}, and {} \
         is claimed ($ε = {}$, $δ = {:e}$). Divided by the queries it is {}.",
        found.queries,
        figure(found.by_inputs),
        figure(found.claimed),
        BUDGET.0,
        BUDGET.1,
        figure(found.by_queries)
    );
    let statement = "The mean squared error of a mechanism $M$ for $q$ linear queries $A$ on $n$ inputs is \
                     $$\\err(M, A, n) = \\max_x E[\\frac{1}{n} ‖M(x) − Ax‖_2^2].$$";
    Ok(Claim::new("Equation (1)", "The mean squared error", statement, Verdict::Fails, finding).with(table))
}

pub(super) fn equation_two() -> Claim {
    Claim::definition(
        "Equation (2)",
        "The error of continual counting",
        "The same for the prefix sum $A$, with the largest error over the streams $x$ in $\\{0, 1\\}^n$. \
         The largest over all integer streams is the same for noise that does not depend on $x$, and is what \
         lower bounds need (Theorem 4).",
    )
}

pub(super) fn equation_three() -> Claim {
    Claim::definition(
        "Equation (3)",
        "The factorization norm",
        r"$$γ_F(A) = \min\{ ‖L‖_F ‖R‖_{1→2} : LR = A \}.$$",
    )
}

pub(super) fn equation_four() -> Result<Claim> {
    // L = R = T(f) over four steps: the covariance of the noise is Δ²LLᵀ, and its trace over n.
    let f: Vec<f64> = (0..4).map(evertally::internals::noise::square_root_coefficient).collect();
    let sensitivity: f64 = f.iter().map(|x| x * x).sum();
    let trace: f64 = (1..=4).map(|t| f[..t].iter().map(|x| x * x).sum::<f64>()).sum();
    let error = sensitivity * trace / 4.0;
    let finding = format!(
        "For example the covariance of the square root's noise over four steps, entry by entry, has the mean \
         variance {} at $C = 1$; the formula gives {}. With the optimal factors it is $C^2 γ_F(A)^2/n$ \
         (Equation 5).",
        figure(error),
        figure(square_root_mean_error(4)?.middle())
    );
    let verdict = Verdict::if_all((error / square_root_mean_error(4)?.middle() - 1.0).abs() < 1e-12);
    Ok(Claim::new(
        "Equation (4)",
        "The error of a matrix mechanism",
        r"$$\err(M_{L,R}, A, n) = \frac{1}{n} C^2 ‖L‖_F^2 ‖R‖_{1→2}^2 .$$",
        verdict,
        finding,
    ))
}
