//! The claims about γ_F and matrices, and the facts that the proofs use.

use super::claim::{Claim, Table, Verdict, certified, figure, horizon, yes};

use crate::error::Result;
use evertally::internals::noise::square_root_coefficient;
use evertally::research::bounds::*;
use std::f64::consts::PI;

/// γ_F and its properties.
pub(super) fn gamma() -> Result<Vec<Claim>> {
    let (positive, blocks) = block_check();
    let (dual, duality) = duality_check()?;
    let (subadditive, norm) = norm_check()?;
    Ok(vec![
        main_lemma()?,
        relation()?,
        figure_two()?,
        Claim::new(
            "Proposition 37",
            "A positive block matrix",
            "For ‖U‖, ‖V‖ ≤ 1 the block matrix of |ρ₁|²I, ρ₁ρ₂UVᵀ and |ρ₂|²I is positive semidefinite.",
            Verdict::if_all(positive),
            blocks,
        ),
        Claim::new(
            "Proposition 38",
            "Sums of entrywise products",
            "1ᵀ(A∘B)1 = Tr(A*B).",
            Verdict::HoldsPartly,
            conjugate_check(),
        ),
        Claim::new(
            "Lemma 42",
            "Strong duality",
            "Both semidefinite programs have strictly feasible points, so both attain γ_F.",
            Verdict::if_all(dual),
            duality,
        ),
        Claim::new(
            "Fact 43",
            "γ_F is a norm",
            "γ_F is definite, homogeneous and subadditive.",
            Verdict::if_all(subadditive),
            norm,
        ),
        Claim::new(
            "Fact 44",
            "Real factors for real matrices",
            "For a real matrix γ_F is attained by a real factorization.",
            Verdict::Holds,
            "The certificates of this report are real factorizations whose error equals a lower bound that \
             holds for complex ones too; see Lemma 1's table.",
        ),
        Claim::new(
            "Lemma 45",
            "The inner dimension",
            "An optimal factorization needs at most m inner dimensions for m columns.",
            Verdict::Holds,
            "The certified factorizations of the prefix sum have inner dimension m = n. (The proof says that \
             C has at most min(n, m) singular values; min(r, m) is meant.)",
        ),
        Claim::new(
            "Corollary 46",
            "The inner dimension, real",
            "The same with real factors.",
            Verdict::Holds,
            "As Lemma 45.",
        ),
        equal_singular_values()?,
        diagonal()?,
    ])
}

fn main_lemma() -> Result<Claim> {
    let mut table = Table::new(&["n", "‖A‖_*/√n", "γ_F from", "γ_F to", "‖A‖_F", "holds"]);
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
        table = table.row(vec![
            horizon(n),
            figure(nuclear),
            figure(lower),
            figure(upper),
            figure(frobenius),
            yes(holds),
        ]);
    }
    let (d, w) = (6, 2);
    let gamma = parity_gamma(d, w)?.middle();
    let frobenius = (gamma * f64::from(d).exp2()).sqrt();
    let finding = format!(
        "Both inequalities hold for the prefix sum{}. The last clause fails for matrices wider than high: \
         the paper's own parity matrix at d = {d}, w = {w} has equal singular values, but γ_F = {} and ‖A‖_F \
         = {}. It holds for square and tall matrices of full rank.",
        if all { ", as the certificates show" } else { " except as marked" },
        figure(gamma),
        figure(frobenius)
    );
    let statement = "For A with n rows and m columns ‖A‖_*/√m ≤ γ_F(A) ≤ ‖A‖_F; γ_F = √n for unitary A, and \
                     γ_F = ‖A‖_F if all singular values are the same.";
    let verdict = if all { Verdict::HoldsPartly } else { Verdict::Fails };
    Ok(Claim::new("Lemma 1", "γ_F between two norms", statement, verdict, finding).with(table))
}

fn relation() -> Result<Claim> {
    let n = 256;
    let (largest, mean) = (square_root_max_error(n)?.middle(), nuclear_mean_error(n)?.middle());
    let [largest, mean, factor] = [largest, mean, (largest / mean).sqrt()].map(figure);
    let finding = format!(
        "Rows of L are no longer than its Frobenius norm, and n of them no longer than √n times the longest. \
         At n = {n} γ_2² is at most {largest} (square root) and γ_F²/n at least {mean}, so the second inequality \
         is within a factor {factor} of equality."
    );
    Ok(Claim::new(
        "Equation gammanormrelationship",
        "γ_F and γ_2",
        "γ_2(A) ≤ γ_F(A) ≤ √n γ_2(A).",
        Verdict::Holds,
        finding,
    ))
}

fn figure_two() -> Result<Claim> {
    let mut table = Table::new(&["n", "dual value at equal weights", "γ_F from", "γ_F to"]);
    for n in [2_u64, 8, 64] {
        let root = (n as f64).sqrt();
        if let Some(known) = certified(n)? {
            table = table.figures(
                horizon(n),
                &[nuclear_norm(n)?.middle() / root, known.lower.sqrt() * root, known.upper.sqrt() * root],
            );
        }
    }
    Ok(Claim::new(
        "Figure 2",
        "The semidefinite programs",
        "γ_F is the value of a pair of semidefinite programs; the dual maximises w*(Â∘Ẑ)w.",
        Verdict::Holds,
        "Primal and dual values of the prefix sum meet in the certificates. The lower bound of Lemma 1 is \
         the dual at equal weights, and is not the optimum. Equation dualgeneral2 prints X̂ where Ẑ is \
         meant, and for complex A the product must be with the conjugate (Proposition 38).",
    )
    .with(table))
}

/// The block matrix at random angles, by its two-dimensional reduction: U = V = (cos, sin) columns.
fn block_check() -> (bool, String) {
    let mut least = f64::INFINITY;
    for i in 0..100 {
        let (a, b) = (f64::from(i) * 0.07 - 3.0, 2.0 - f64::from(i) * 0.05);
        for c in [-1.0, -0.4, 0.0, 0.7, 1.0] {
            // One row and column: [[a², abc], [abc, b²]] with |c| ≤ 1.
            let (trace, determinant) = (a * a + b * b, a * a * b * b * (1.0 - c * c));
            least = least.min((trace - (trace * trace - 4.0 * determinant).max(0.0).sqrt()) / 2.0);
        }
    }
    // Rounding of a trace of at most 25.
    let positive = least > -1e-13;
    let shown = if positive { least.max(0.0) } else { least };
    let text =
        format!("The least eigenvalue over 500 one-dimensional cases is {} up to rounding.", figure(shown));
    (positive, text)
}

/// A = B = (i): the sum of entrywise products is i², the trace of A*B is 1.
fn conjugate_check() -> String {
    let multiply = |(a, b): (f64, f64), (c, d): (f64, f64)| (a * c - b * d, a * d + b * c);
    let i = (0.0, 1.0);
    let (sum, trace) = (multiply(i, i).0, multiply((0.0, -1.0), i).0);
    format!(
        "True for real matrices. For A = B = (i) the left side is {sum} and the right side {trace}: one \
         factor must be conjugated. The lower bound of Lemma 1 survives with the conjugate of Z."
    )
}

fn duality_check() -> Result<(bool, String)> {
    let mut widest = 0.0_f64;
    for n in [2_u64, 16, 128] {
        if let Some(known) = certified(n)? {
            widest = widest.max(known.upper / known.lower - 1.0);
        }
    }
    let text = format!(
        "Primal and dual of the prefix sum meet to a relative {} at n = 2, 16 and 128.",
        figure(widest)
    );
    Ok((widest < 1e-7, text))
}

fn norm_check() -> Result<(bool, String)> {
    // A over 2n steps is two diagonal blocks A over n, and a block of ones below them: 1·1ᵀ, with
    // γ_F = ‖1‖·1 = √n.
    let n = 32_u64;
    let gamma =
        |n: u64| -> Result<Option<f64>> { Ok(certified(n)?.map(|known| (known.upper * n as f64).sqrt())) };
    let (Some(whole), Some(half)) = (gamma(2 * n)?, gamma(n)?) else { return Ok((false, String::new())) };
    let ones = (n as f64).sqrt();
    let sum = 2.0 * half + ones;
    let holds = whole <= sum;
    let [whole, half, ones, sum] = [whole, half, ones, sum].map(figure);
    let text = format!(
        "For example γ_F(A) = {whole} at n = {}, and its blocks, two of {half} and one of {ones}, add up to {sum}.",
        2 * n
    );
    Ok((holds, text))
}

fn equal_singular_values() -> Result<Claim> {
    let (d, n) = (3_u32, 8_u64);
    let nuclear = n as f64 * f64::from(d).exp2().sqrt() / (n as f64).sqrt();
    let finding = format!(
        "Both bounds of Lemma 1 meet: for the {n} × {n} Hadamard matrix ‖A‖_*/√n = {} and ‖A‖_F = {}.",
        figure(nuclear),
        figure(n as f64)
    );
    Ok(Claim::new(
        "Corollary 47",
        "Equal singular values",
        "A square non-singular matrix whose singular values are all the same has γ_F = ‖A‖_F.",
        Verdict::Holds,
        finding,
    ))
}

fn diagonal() -> Result<Claim> {
    let entries = [3.0_f64, 1.0, 0.5, 2.0];
    let squares: f64 = entries.iter().map(|x| x * x).sum();
    // Weights v = a²/Σa²: the nuclear norm of A diag(√v) is Σ a²/√Σa².
    let dual: f64 = entries.iter().map(|x| x * x / squares.sqrt()).sum();
    let equal: f64 = entries.iter().sum::<f64>() / (entries.len() as f64).sqrt();
    let [dual, norm, equal] = [dual, squares.sqrt(), equal].map(figure);
    let finding = format!(
        "For diag(3, 1, ½, 2) the dual at weights a²/Σa² gives {dual}, equal to ‖A‖_F = {norm}; Lemma 1 alone \
         gives {equal}."
    );
    Ok(Claim::new(
        "Lemma 48",
        "Diagonal matrices",
        "A diagonal matrix has γ_F = ‖A‖_F.",
        Verdict::Holds,
        finding,
    ))
}

/// Facts on matrices and functions that the proofs use.
pub(super) fn preliminaries() -> Result<Vec<Claim>> {
    let definition = |id, title, statement| Claim::new(id, title, statement, Verdict::Definition, "");
    let (agreed, cases) = schur_check();
    Ok(vec![
        definition("Definition 10", "Dual norm", "‖z‖_⋆ = sup{⟨z,x⟩ : ‖x‖ ≤ 1}."),
        definition(
            "Remark 11",
            "Order of singular values",
            "Singular values and eigenvalues are listed in descending order.",
        ),
        Claim::new(
            "Proposition 12",
            "Sums of entrywise products, square",
            "⟨J, A∘B⟩ = ⟨A,B⟩ = Tr(A*B).",
            Verdict::HoldsPartly,
            conjugate_check(),
        ),
        Claim::new(
            "Proposition 13",
            "Hadamard products and vectors",
            "⟨A, B∘vv*⟩ = v*(A∘B)v for Hermitian A and B.",
            Verdict::HoldsPartly,
            hermitian_check(),
        ),
        Claim::new(
            "Proposition 14",
            "Diagonal scaling",
            "diag(x) A diag(y) = A∘xy*.",
            Verdict::Holds,
            "Entry by entry, for real x and y as stated.",
        ),
        definition("Definition 15", "Schur complement", "S_A = D − CA⁻¹B and S_D = A − BD⁻¹C."),
        Claim::new(
            "Lemma 16",
            "Schur complements and positivity",
            "With A positive definite, S is positive (semi)definite exactly if S_A is.",
            Verdict::if_all(agreed == cases),
            format!("Both tests of positivity agree in {agreed} of {cases} two by two cases."),
        ),
        Claim::new(
            "Fact 17",
            "‖A‖₁→₂ is the largest column norm",
            "‖A‖₁→₂ is the largest 2-norm of a column.",
            Verdict::Holds,
            column_norm_check(),
        ),
        Claim::new(
            "Fact 18",
            "Traces",
            "Tr(A) is the sum of eigenvalues, and Tr(AB) ≥ λ_n(A)Tr(B) for positive B.",
            Verdict::Holds,
            trace_check(),
        ),
        singular_values()?,
        definition("Remark 20", "Convention", "The prefix sum is n × n, and A = LR its factorization."),
        double_factorial(),
    ])
}

/// A = B = [[0, i], [−i, 0]] and v = (1, 1): the left side adds up |A_ij|², the right side A_ij².
fn hermitian_check() -> String {
    let entries = [(0.0_f64, 1.0_f64), (0.0, -1.0)];
    let left: f64 = entries.iter().map(|(a, b)| a * a + b * b).sum();
    let right: f64 = entries.iter().map(|(a, b)| a * a - b * b).sum();
    format!(
        "True for real B. For A = B = [[0, i], [−i, 0]] and v = (1, 1) the left side is {left} and the right \
         side {right}: B must be conjugated on one side, as in Proposition 12."
    )
}

/// A = diag(−1, 2) and B = diag(3, 1).
fn trace_check() -> String {
    let (a, b) = ([-1.0_f64, 2.0], [3.0_f64, 1.0]);
    let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let bound = a[0].min(a[1]) * (b[0] + b[1]);
    format!("For example Tr(AB) = {product} ≥ {bound} for A = diag(−1, 2) and B = diag(3, 1).")
}

/// [[a, b], [b, d]] is positive exactly if d − b²/a is, for a > 0.
fn schur_check() -> (usize, usize) {
    let mut agreed = 0;
    let mut cases = 0;
    for a in [0.5_f64, 1.0, 3.0] {
        for b in [-2.0, -0.5, 0.0, 1.0] {
            for d in [-1.0, 0.3, 1.0, 9.0] {
                cases += 1;
                let least = (a + d) / 2.0 - (((a - d) / 2.0).powi(2) + b * b).sqrt();
                agreed += usize::from((least > 0.0) == (d - b * b / a > 0.0));
            }
        }
    }
    (agreed, cases)
}

fn column_norm_check() -> String {
    // A = (1 1), x = (½, ½).
    let (a, x) = ([1.0_f64, 1.0], [0.5_f64, 0.5]);
    let image = (a[0] * x[0] + a[1] * x[1]).powi(2);
    let printed: f64 = a.iter().zip(x).map(|(a, x)| a * a * x * x).sum();
    format!(
        "True. The first line of its proof is not: for A = (1 1), x = (½, ½) it equates ‖Ax‖² = {image} with \
         ΣΣ|A_ij|²|x_j|² = {printed}. The triangle inequality proves the fact."
    )
}

fn singular_values() -> Result<Claim> {
    let mut table = Table::new(&["n", "Σσ²", "n(n+1)/2", "Πσ", "det A"]);
    let mut worst = 0.0_f64;
    for n in [1_u32, 2, 5, 20, 100] {
        let sigma = |i: u32| 0.5 / (f64::from(2 * i - 1) * PI / f64::from(4 * n + 2)).sin();
        let squares: f64 = (1..=n).map(|i| sigma(i).powi(2)).sum();
        let product: f64 = (1..=n).map(sigma).product();
        let expected = f64::from(n) * f64::from(n + 1) / 2.0;
        worst = worst.max((squares / expected - 1.0).abs()).max((product - 1.0).abs());
        table = table.row(vec![
            n.to_string(),
            figure(squares),
            figure(expected),
            figure(product),
            "1".to_owned(),
        ]);
    }
    let finding = format!(
        "The sum of squares is ‖A‖_F² and the product the determinant, to {worst:.0e}. The matrix displayed \
         in its proof, with diagonal 2, …, 2, 1, is (AAᵀ)⁻¹; (AᵀA)⁻¹ has diagonal 1, 2, …, 2. Both have the \
         same eigenvalues."
    );
    let statement = "The singular values of the prefix sum are ½csc((2i−1)π/(4n+2)), i = 1…n.";
    let verdict = Verdict::if_all(worst < 1e-10);
    Ok(Claim::new("Theorem 19", "Singular values", statement, verdict, finding).with(table))
}

fn double_factorial() -> Claim {
    let lower = |k: u64| (1.0 / (PI * (k as f64 + 4.0 / PI - 1.0))).sqrt();
    let upper = |k: u64| (1.0 / (PI * (k as f64 + 0.25))).sqrt();
    let mut fails = 0;
    let tried = 100_000_u64;
    for k in 1..=tried {
        let f = square_root_coefficient(k);
        fails += usize::from(f < lower(k) * (1.0 - 1e-14) || f >= upper(k) * (1.0 + 1e-14));
    }
    let mut table = Table::new(&["k", "lower", "f(k)", "upper"]);
    for k in [0, 1, 2, 10, 1000] {
        table = table.figures(k.to_string(), &[lower(k), square_root_coefficient(k), upper(k)]);
    }
    let finding = format!(
        "Fails at {fails} of k = 1…{tried}. At k = 1 the lower bound is an equality; at k = 0, outside the \
         statement, it would fail."
    );
    let statement = "1/√(π(k + 4/π − 1)) ≤ f(k) < 1/√(π(k + ¼)) for k ≥ 1, where f(k) = (2k−1)!!/(2k)!!.";
    let verdict = if fails == 0 { Verdict::Holds } else { Verdict::Fails };
    Claim::new("Theorem 21", "Wallis' inequality (Chen and Qi)", statement, verdict, finding).with(table)
}
