//! The claims about γ_F: its bounds, its semidefinite programs and its properties.

use super::claim::{Claim, Table, Verdict, certified, figure, horizon, yes};
use crate::error::Result;
use evertally::research::bounds::*;

/// Lemma 1.
pub(super) fn main_lemma() -> Result<Claim> {
    let mut table = Table::new(&["$n$", "$‖A‖_*/\\sqrt n$", "$γ_F$ from", "$γ_F$ to", "$‖A‖_F$", "holds"]);
    let mut all = true;
    for n in [1_u64, 2, 3, 8, 64, 256] {
        let root = (n as f64).sqrt();
        let nuclear = nuclear_norm(n)?.lower / root;
        let frobenius = ((n * (n + 1) / 2) as f64).sqrt();
        let Some(known) = certified(n)? else { continue };
        let (lower, upper) = (known.lower.sqrt() * root, known.upper.sqrt() * root);
        // Certificates carry margins of their own; at n = 1 all four figures are one.
        let holds = nuclear <= upper * (1.0 + 1e-9) && lower <= frobenius * (1.0 + 1e-9);
        all &= holds;
        let figures = [nuclear, lower, upper, frobenius].map(figure);
        table = table.row([horizon(n)].into_iter().chain(figures).chain([yes(holds)]).collect());
    }
    let (d, w) = (6, 2);
    let gamma = parity_gamma(d, w)?.middle();
    let frobenius = (gamma * f64::from(d).exp2()).sqrt();
    let finding = format!(
        "Both inequalities hold for the prefix sum{}. The last clause fails for matrices wider than high: \
         the paper's own parity matrix at $d = {d}$, $w = {w}$ has equal singular values, but $γ_F$ = {} and \
         $‖A‖_F$ = {}. It holds for square and tall matrices of full rank.",
        if all { ", as the certificates show" } else { " except as marked" },
        figure(gamma),
        figure(frobenius)
    );
    let statement = "For $A$ with $n$ rows and $m$ columns $$\\frac{‖A‖_*}{\\sqrt m} ≤ γ_F(A) ≤ ‖A‖_F;$$ \
                     $γ_F = \\sqrt n$ for unitary $A$, and $γ_F = ‖A‖_F$ if all singular values are the same.";
    let verdict = if all { Verdict::HoldsPartly } else { Verdict::Fails };
    Ok(Claim::new("Lemma 1", "$γ_F$ between two norms", statement, verdict, finding).with(table))
}

/// Equation (18).
pub(super) fn relation() -> Result<Claim> {
    let n = 256;
    let (largest, mean) = (square_root_max_error(n)?.middle(), nuclear_mean_error(n)?.middle());
    let [largest, mean, factor] = [largest, mean, (largest / mean).sqrt()].map(figure);
    let finding = format!(
        "Rows of $L$ are no longer than its Frobenius norm, and $n$ of them no longer than $\\sqrt n$ times \
         the longest. At $n = {n}$ $γ_2^2$ is at most {largest} (square root) and $γ_F^2/n$ at least {mean}, \
         so the second inequality is within a factor {factor} of equality."
    );
    Ok(Claim::new(
        "Equation (18)",
        "$γ_F$ and $γ_2$",
        "$$γ_2(A) ≤ γ_F(A) ≤ \\sqrt n γ_2(A).$$",
        Verdict::Holds,
        finding,
    ))
}

/// diag(1, 0), whose dual program has no maximum.
const NO_MAXIMUM: [[f64; 2]; 2] = [[1.0, 0.0], [0.0, 0.0]];

/// How close the dual of [`NO_MAXIMUM`] comes, and at which weights.
pub(super) fn dual_values() -> Result<Vec<(f64, f64)>> {
    let shares = [0.5, 0.1, 1e-2, 1e-4, 1e-8, 1e-12];
    shares.into_iter().map(|share| Ok((share, dual_value_of_two(NO_MAXIMUM, share)?))).collect()
}

/// Figure 2.
pub(super) fn programs() -> Result<Claim> {
    let mut table = Table::new(&["$n$", "dual value at equal weights", "$γ_F$ from", "$γ_F$ to"]);
    for n in [2_u64, 8, 64] {
        let root = (n as f64).sqrt();
        if let Some(known) = certified(n)? {
            table = table.figures(
                horizon(n),
                &[nuclear_norm(n)?.middle() / root, known.lower.sqrt() * root, known.upper.sqrt() * root],
            );
        }
    }
    let best = dual_values()?.into_iter().map(|(_, value)| value).fold(0.0, f64::max);
    let finding = format!(
        "The values meet: those of the prefix sum do in the certificates. The lower bound of Lemma 1 is the \
         dual at equal weights, and is not the optimum. But the dual has a supremum and no maximum, because \
         all of $w$ must be positive: for $A = \\diag(1, 0)$, $γ_F = 1$, and the dual stays below 1, {best} at \
         the last weights tried (Equation 43)."
    );
    Ok(Claim::new(
        "Figure 2",
        "The semidefinite programs",
        "$γ_F(A)$ is the value of a pair of semidefinite programs. The dual is $$\\max w^* (\\hat A ∘ \\hat Z) w \\quad \
         \\text{ with } \\begin{pmatrix} n I & 0 \\\\ 0 & I \\end{pmatrix} ⪰ \\hat Z, \\; ‖w‖_2 = 1, \\; w_1 = α 1_n, \
         \\; w > 0.$$",
        Verdict::HoldsPartly,
        finding,
    )
    .with(table))
}

/// Equation (24).
pub(super) fn printed_dual() -> Claim {
    Claim::new(
        "Equation (24)",
        "The dual, as used",
        "$$γ_F(A) = \\max w^* (\\hat A ∘ \\hat X) w.$$",
        Verdict::HoldsPartly,
        format!(
            "$\\hat X$ is printed where $\\hat Z$ is meant, and the maximum is a supremum (Equation 43). For complex $A$ \
             the product must be with the conjugate: {}",
            super::matrices::conjugate_figures()
        ),
    )
}

/// Equation (43).
pub(super) fn supremum() -> Result<Claim> {
    let mut table = Table::new(&["weight $s$ of column 2", "dual value", "$1 −$ value"]);
    let mut is_below = true;
    let mut is_rising = true;
    let mut last = 0.0;
    for (share, value) in dual_values()? {
        is_below &= value < 1.0;
        is_rising &= value > last;
        last = value;
        let share = if share < 1e-2 { format!("{share:e}") } else { share.to_string() };
        table = table.row(vec![share, format!("{value:.13}"), figure(1.0 - value)]);
    }
    let limit = dual_value_of_two(NO_MAXIMUM, 0.0)?;
    let attained = dual_value_of_two([[1.0, 0.0], [0.0, 0.1]], 0.01 / 1.01)?;
    let finding = format!(
        "For $A = \\diag(1, 0)$ the best value at column weights $(1−s, s)$ is $\\sqrt(1−s)$: {} and {} for \
         every $s > 0$ tried. Its supremum is $γ_F = 1$, at $s$ = 0 ({}), which $w > 0$ excludes: “we can \
         safely assume” $β, y > 0$ holds for the supremum only. Equation (42), with $y ≥ 0$, attains it. For a \
         matrix without zero columns the maximum can exist: for $\\diag(1, 1/10)$ the weights $a^2/Σa^2$ give {}, \
         its Frobenius norm.",
        if is_rising { "rising with smaller $s$" } else { "not rising" },
        if is_below { "below 1" } else { "not below 1" },
        figure(limit),
        figure(attained)
    );
    Ok(Claim::new(
        "Equation (43)",
        "The dual attains its value",
        "$$γ_F(A) = \\max w^* (\\hat A ∘ \\hat Z) w \\quad \\text{ over } w > 0, ‖w‖_2 = 1, w_1 = α 1_n.$$",
        if is_below { Verdict::Fails } else { Verdict::Holds },
        finding,
    )
    .with(table))
}

/// Lemma 42.
pub(super) fn duality() -> Result<Claim> {
    let mut widest = 0.0_f64;
    for n in [2_u64, 16, 128] {
        if let Some(known) = certified(n)? {
            widest = widest.max(known.upper / known.lower - 1.0);
        }
    }
    let finding = format!(
        "Primal and dual of the prefix sum meet to a relative ${}$ at $n$ = 2, 16 and 128. These are the \
         programs of Equations (38) and (40), with weights that may be zero; the form of Equation (43) does \
         not attain its value.",
        figure(widest)
    );
    Ok(Claim::new(
        "Lemma 42",
        "Strong duality",
        "Both semidefinite programs, Equations (38) and (40), have strictly feasible points, so both attain \
         $γ_F$.",
        Verdict::if_all(widest < 1e-7),
        finding,
    ))
}

/// Fact 43.
pub(super) fn norm() -> Result<Claim> {
    // A over 2n steps is two diagonal blocks A over n, and a block of ones below them: 1·1ᵀ, with
    // γ_F = ‖1‖·1 = √n.
    let n = 32_u64;
    let gamma =
        |n: u64| -> Result<Option<f64>> { Ok(certified(n)?.map(|known| (known.upper * n as f64).sqrt())) };
    let (mut holds, mut finding) = (false, String::new());
    if let (Some(whole), Some(half)) = (gamma(2 * n)?, gamma(n)?) {
        let ones = (n as f64).sqrt();
        let sum = 2.0 * half + ones;
        holds = whole <= sum;
        let [whole, half, ones, sum] = [whole, half, ones, sum].map(figure);
        finding = format!(
            "For example $γ_F(A)$ = {whole} at $n = {}$, and its blocks, two of {half} and one of {ones}, add \
             up to {sum}.",
            2 * n
        );
    }
    Ok(Claim::new(
        "Fact 43",
        "$γ_F$ is a norm",
        "$γ_F$ is definite, homogeneous and subadditive.",
        Verdict::if_all(holds),
        finding,
    ))
}

/// Fact 44, Lemma 45 and Corollary 46.
pub(super) fn factors() -> Vec<Claim> {
    vec![
        Claim::new(
            "Fact 44",
            "Real factors for real matrices",
            "For a real matrix $γ_F$ is attained by a real factorization.",
            Verdict::Holds,
            "The certificates of this report are real factorizations whose error equals a lower bound that \
             holds for complex ones too; see Lemma 1's table.",
        ),
        Claim::new(
            "Lemma 45",
            "The inner dimension",
            "An optimal factorization needs at most $m$ inner dimensions for $m$ columns.",
            Verdict::Holds,
            "The certified factorizations of the prefix sum have inner dimension $m = n$. (The proof says \
             that $C$ has at most $\\min(n, m)$ singular values; $\\min(r, m)$ is meant.)",
        ),
        Claim::new(
            "Corollary 46",
            "The inner dimension, real",
            "The same with real factors.",
            Verdict::Holds,
            "As Lemma 45.",
        ),
    ]
}

/// Corollary 47.
pub(super) fn equal_singular_values() -> Claim {
    let (d, n) = (3_u32, 8_u64);
    let nuclear = n as f64 * f64::from(d).exp2().sqrt() / (n as f64).sqrt();
    let finding = format!(
        "Both bounds of Lemma 1 meet: for the {n} × {n} Hadamard matrix $‖A‖_*/\\sqrt n$ = {} and $‖A‖_F$ = {}.",
        figure(nuclear),
        figure(n as f64)
    );
    Claim::new(
        "Corollary 47",
        "Equal singular values",
        "A square non-singular matrix whose singular values are all the same has $γ_F = ‖A‖_F$.",
        Verdict::Holds,
        finding,
    )
}

/// Lemma 48.
pub(super) fn diagonal() -> Claim {
    let entries = [3.0_f64, 1.0, 0.5, 2.0];
    let squares: f64 = entries.iter().map(|x| x * x).sum();
    // Weights v = a²/Σa²: the nuclear norm of A diag(√v) is Σ a²/√Σa².
    let dual: f64 = entries.iter().map(|x| x * x / squares.sqrt()).sum();
    let equal: f64 = entries.iter().sum::<f64>() / (entries.len() as f64).sqrt();
    let [dual, norm, equal] = [dual, squares.sqrt(), equal].map(figure);
    let finding = format!(
        "For $\\diag(3, 1, ½, 2)$ the dual at weights $a^2/Σa^2$ gives {dual}, equal to $‖A‖_F$ = {norm}; \
         Lemma 1 alone gives {equal}."
    );
    Claim::new(
        "Lemma 48",
        "Diagonal matrices",
        "A diagonal matrix has $γ_F = ‖A‖_F$.",
        Verdict::Holds,
        finding,
    )
}
