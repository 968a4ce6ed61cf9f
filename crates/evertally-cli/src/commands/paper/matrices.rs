//! The facts on matrices that the proofs use.

use super::claim::{Claim, Table, Verdict, figure};
use evertally::internals::noise::square_root_coefficient;
use std::f64::consts::PI;

/// Definition 10 to Fact 17.
pub(super) fn before_relation() -> Vec<Claim> {
    let (agreed, cases) = schur_check();
    vec![
        Claim::definition("Definition 10", "Dual norm", "$$‖z‖_⋆ = \\sup\\{ ⟨z, x⟩ : ‖x‖ ≤ 1 \\}.$$"),
        Claim::definition(
            "Remark 11",
            "Order of singular values",
            "Singular values and eigenvalues are listed in descending order.",
        ),
        Claim::new(
            "Proposition 12",
            "Sums of entrywise products, square",
            "$$⟨J, A ∘ B⟩ = ⟨A, B⟩ = \\Tr(A^* B).$$",
            Verdict::HoldsPartly,
            conjugate_check(),
        ),
        Claim::new(
            "Proposition 13",
            "Hadamard products and vectors",
            "$⟨A, B ∘ v v^*⟩ = v^* (A ∘ B) v$ for Hermitian $A$ and $B$.",
            Verdict::HoldsPartly,
            hermitian_check(),
        ),
        Claim::new(
            "Proposition 14",
            "Diagonal scaling",
            "$\\diag(x) A \\diag(y) = A ∘ x y^*$.",
            Verdict::Holds,
            "Entry by entry, for real $x$ and $y$ as stated.",
        ),
        Claim::definition(
            "Definition 15",
            "Schur complement",
            "$S_A = D − C A^{−1} B$ and $S_D = A − B D^{−1} C$.",
        ),
        Claim::new(
            "Lemma 16",
            "Schur complements and positivity",
            "With $A$ positive definite, $S$ is positive (semi)definite exactly if $S_A$ is.",
            Verdict::if_all(agreed == cases),
            format!("Both tests of positivity agree in {agreed} of {cases} two by two cases."),
        ),
        Claim::new(
            "Fact 17",
            "$‖A‖_(1→2)$ is the largest column norm",
            "$‖A‖_(1→2)$ is the largest 2-norm of a column.",
            Verdict::Holds,
            column_norm_check(),
        ),
    ]
}

/// Fact 18 to Theorem 21.
pub(super) fn after_relation() -> Vec<Claim> {
    vec![
        Claim::new(
            "Fact 18",
            "Traces",
            "$\\Tr(A)$ is the sum of eigenvalues, and $\\Tr(AB) ≥ λ_n(A) \\Tr(B)$ for positive $B$.",
            Verdict::Holds,
            trace_check(),
        ),
        singular_values(),
        Claim::definition(
            "Remark 20",
            "Convention",
            "The prefix sum is $n × n$, and $A = LR$ its factorization.",
        ),
        double_factorial(),
    ]
}

/// Propositions 37 and 38.
pub(super) fn for_the_main_lemma() -> Vec<Claim> {
    let (positive, blocks) = block_check();
    vec![
        Claim::new(
            "Proposition 37",
            "A positive block matrix",
            "For $‖U‖, ‖V‖ ≤ 1$ $$\\begin{pmatrix} |ρ_1|^2 I & ρ_1 ρ_2 U V^* \\\\ ρ_1^* ρ_2^* V U^* & |ρ_2|^2 I \
             \\end{pmatrix} ⪰ 0.$$",
            Verdict::if_all(positive),
            blocks,
        ),
        Claim::new(
            "Proposition 38",
            "Sums of entrywise products",
            "$1^* (A ∘ B) 1 = \\Tr(A^* B)$.",
            Verdict::HoldsPartly,
            conjugate_check(),
        ),
    ]
}

/// The block matrix in one dimension: [[a², abc], [abc, b²]] with |c| ≤ 1.
fn block_check() -> (bool, String) {
    let mut least = f64::INFINITY;
    for i in 0..100 {
        let (a, b) = (f64::from(i) * 0.07 - 3.0, 2.0 - f64::from(i) * 0.05);
        for c in [-1.0, -0.4, 0.0, 0.7, 1.0] {
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
pub(super) fn conjugate_figures() -> String {
    let multiply = |(a, b): (f64, f64), (c, d): (f64, f64)| (a * c - b * d, a * d + b * c);
    let i = (0.0, 1.0);
    let (sum, trace) = (multiply(i, i).0, multiply((0.0, -1.0), i).0);
    format!("for $A = B = (i)$ the left side of Proposition 38 is ${sum}$ and the right side ${trace}$.")
}

fn conjugate_check() -> String {
    format!(
        "True for real matrices. Otherwise one factor must be conjugated: {} The lower bound of Lemma 1 \
         survives with the conjugate of $Z$.",
        conjugate_figures().replace(" of Proposition 38", "")
    )
}

/// A = B = [[0, i], [−i, 0]] and v = (1, 1): the left side adds up |A_(ij)|², the right side A_ij².
fn hermitian_check() -> String {
    let entries = [(0.0_f64, 1.0_f64), (0.0, -1.0)];
    let left: f64 = entries.iter().map(|(a, b)| a * a + b * b).sum();
    let right: f64 = entries.iter().map(|(a, b)| a * a - b * b).sum();
    format!(
        "True for real $B$. For $A = B = \\begin{{pmatrix}} 0 & i \\\\ −i & 0 \\end{{pmatrix}}$ and $v = (1, 1)$ \
         the left side is ${left}$ and the right side ${right}$: $B$ must be conjugated on one side, as in \
         Proposition 12."
    )
}

/// A = diag(−1, 2) and B = diag(3, 1).
fn trace_check() -> String {
    let (a, b) = ([-1.0_f64, 2.0], [3.0_f64, 1.0]);
    let product: f64 = a.iter().zip(b).map(|(a, b)| a * b).sum();
    let bound = a[0].min(a[1]) * (b[0] + b[1]);
    format!("For example $\\Tr(AB) = {product} ≥ {bound}$ for $A = \\diag(−1, 2)$ and $B = \\diag(3, 1)$.")
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
        "True. The first line of its proof is not: for $A = (1, 1)$, $x = (½, ½)$ it equates $‖Ax‖^2 = {image}$ \
         with $\\sum \\sum |A_(ij)|^2 |x_j|^2 = {printed}$. The triangle inequality proves the fact."
    )
}

/// Theorem 19.
fn singular_values() -> Claim {
    let mut table = Table::new(&["$n$", "$Σσ^2$", "$n(n+1)/2$", "$Πσ$", "$\\det A$"]);
    let mut worst = 0.0_f64;
    for n in [1_u32, 2, 5, 20, 100] {
        let sigma = |i: u32| 0.5 / (f64::from(2 * i - 1) * PI / f64::from(4 * n + 2)).sin();
        let squares: f64 = (1..=n).map(|i| sigma(i).powi(2)).sum();
        let product: f64 = (1..=n).map(sigma).product();
        let expected = f64::from(n) * f64::from(n + 1) / 2.0;
        worst = worst.max((squares / expected - 1.0).abs()).max((product - 1.0).abs());
        let cells = [squares, expected, product].map(figure);
        table = table.row([n.to_string()].into_iter().chain(cells).chain(["1".to_owned()]).collect());
    }
    let finding = format!(
        "The sum of squares is $‖A‖_F^2$ and the product the determinant, to ${worst:.0e}$. The matrix \
         displayed in its proof, with diagonal 2, …, 2, 1, is $(A A^*)^{{−1}}$; $(A^* A)^{{−1}}$ has diagonal \
         1, 2, …, 2. Both have the same eigenvalues."
    );
    let statement = "The singular values of the prefix sum are $$½ \\csc(\\frac{(2i−1)π}{4n+2}), \\quad i = \
                     1, …, n.$$";
    let verdict = Verdict::if_all(worst < 1e-10);
    Claim::new("Theorem 19", "Singular values", statement, verdict, finding).with(table)
}

/// Theorem 21.
fn double_factorial() -> Claim {
    let lower = |k: u64| (1.0 / (PI * (k as f64 + 4.0 / PI - 1.0))).sqrt();
    let upper = |k: u64| (1.0 / (PI * (k as f64 + 0.25))).sqrt();
    let mut fails = 0;
    let tried = 100_000_u64;
    for k in 1..=tried {
        let f = square_root_coefficient(k);
        fails += usize::from(f < lower(k) * (1.0 - 1e-14) || f >= upper(k) * (1.0 + 1e-14));
    }
    let mut table = Table::new(&["$k$", "lower", "$f(k)$", "upper"]);
    for k in [0, 1, 2, 10, 1000] {
        table = table.figures(k.to_string(), &[lower(k), square_root_coefficient(k), upper(k)]);
    }
    let finding = format!(
        "Fails at {fails} of $k = 1, …, {tried}$. At $k = 1$ the lower bound is an equality; at $k = 0$, \
         outside the statement, it would fail."
    );
    let statement = "$$\\frac{1}{\\sqrt{π(k + 4/π − 1)}} ≤ f(k) < \\frac{1}{\\sqrt{π(k + ¼)}}, \\quad f(k) = \
                     \\frac{(2k−1)!!}{(2k)!!}, \\; k ≥ 1.$$";
    let verdict = if fails == 0 { Verdict::Holds } else { Verdict::Fails };
    Claim::new("Theorem 21", "Wallis' inequality (Chen and Qi)", statement, verdict, finding).with(table)
}
