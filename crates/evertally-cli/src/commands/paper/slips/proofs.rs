//! Slips from Section 2 on.

use super::super::claim::{Slip, count_of, figure, from_words, holds_from};
use super::super::learning;
use super::{grave, slip, spent_words};
use crate::error::Result;
use evertally::research::bounds::*;
use std::f64::consts::PI;

pub(super) fn slips() -> Result<Vec<Slip>> {
    let norm = spectral_norm(1 << 20)?.middle();
    let square = paper_lower_mean(1 << 20)?.middle() * PI * PI;
    Ok(vec![
        leader()?,
        slip(
            "Unbounded operators",
            "Section 5.1, after Equation (27)",
            ["two Toeplitz matrices are bounded operators", "neither the prefix sum nor $T(f)$ is bounded"],
            format!(
                "The norm of the leading section of the prefix sum is {} at $n = 2^20$ and grows like $2n/π$ \
                 (there {}).",
                figure(norm),
                figure(2.0 / PI * (1_u64 << 20) as f64)
            ),
        ),
        row_norm()?,
        grave(
            "Noise without the sensitivity",
            "Section 5.1, Corollary 39, step 2",
            ["$g = C (g_1, …, g_n)$", "$g = C ‖R‖_(1→2) (g_1, …, g_n)$"],
            spent_words(unscaled_noise_shortfall(1024)?)?,
        ),
        slip(
            "A square lost",
            "Section 5.2, proof of Theorem 4, last display",
            ["the bracket", "the bracket squared, as in the theorem"],
            format!(
                "At $n = 2^20$ the bracket is {} and its square {}: the theorem is right, the display too small \
                 by that factor.",
                figure(square.sqrt()),
                figure(square)
            ),
        ),
        slip(
            "The ones of the tree",
            "Section 6, proof of Theorem 5 and Lemma 40",
            [
                "$‖L‖_F^2 = n \\log_2(n)/2$",
                "$n \\log_2(n)/2 + 1$ at powers of two; the one-bits of $1, …, n$ in general",
            ],
            format!(
                "$n = 8$: {} ones against {}; $n = 100$: {} against {}.",
                binary_tree_ones(8)?,
                8 * 3 / 2,
                binary_tree_ones(100)?,
                figure(50.0 * 100_f64.log2())
            ),
        ),
        clipping()?,
        minimised()?,
        of_the_pen(),
    ])
}

fn leader() -> Result<Slip> {
    let (steps, scale, rate) = learning::FLAT;
    let run = leader_regret(steps, scale, rate)?;
    Ok(grave(
        "A regulariser without strong convexity",
        "Section 2.2, Theorem 30",
        [
            "$\\frac{2η}{n} \\sum ‖∇_i‖^2 + \\frac{ρ(u) − ρ(θ_1)}{nη}$ for any $ρ$",
            "for 1-strongly convex $ρ$; otherwise the first term is divided by its modulus",
        ],
        format!(
            "$ρ = 10^{{−6}} θ^2$ on $[−1, 1]$, losses $½, −1, 1, −1, …$, $η = {rate}$: regret {} over {steps} \
             steps, {} is printed.",
            figure(run.regret),
            figure(run.printed)
        ),
    ))
}

fn row_norm() -> Result<Slip> {
    let holds = holds_from(|n| Ok(square_root_mean_error(n)?.upper <= paper_upper_mean(n)?.lower))?;
    let (rows, all) =
        count_of(|t| Ok(square_root_row_norm_squared(t)?.lower <= paper_row_norm_squared(t)?.upper))?;
    Ok(grave(
        "The norm of a row",
        "Section 5.1, Equation (28)",
        [
            "$‖L[t;]‖^2 ≤ 1 + \\ln((4t−3)/5)/π$",
            "$‖L[t;]‖^2 ≤ 1 + \\ln(4t−3)/π$; exactly $\\sum_{k<t} f(k)^2$",
        ],
        format!(
            "True at {rows} of {all} steps; at $t = 1024$ {} is printed, {} is exact. The final $(1 + \
             \\ln(4n/5)/π)^2$ holds {} all the same.",
            figure(paper_row_norm_squared(1024)?.middle()),
            figure(square_root_row_norm_squared(1024)?.middle()),
            from_words(holds)
        ),
    ))
}

fn clipping() -> Result<Slip> {
    let (kappa, norm) = learning::CLIP;
    let kept = learning::kept(norm);
    Ok(grave(
        "Clipping, and a scale that grows",
        "Section 7, Equation (31) and Algorithm 3, line 5",
        [
            "$\\min\\{κ/‖g‖^2, 1\\} g$, and noise of scale $Cκ‖R(t)‖$ in round $t$",
            "$\\min\\{κ/‖g‖, 1\\} g$, and the scale of the full horizon, $Cκ‖R‖$",
        ],
        format!(
            "With $κ = {kappa}$ a gradient of norm {norm} keeps norm {}, {} times what is protected; one of \
             norm 10 is cut to {}. One noise vector at the scale of $R(t)$: {}",
            figure(kept),
            figure(kept / kappa),
            figure(learning::kept(10.0)),
            spent_words(growing_scale_shortfall(1024)?)?
        ),
    ))
}

fn minimised() -> Result<Slip> {
    let (gradients, noisy, lambda) = learning::MINIMISED;
    let found = printed_minimisers(&gradients, noisy, lambda)?;
    Ok(slip(
        "The regulariser, $t$ times",
        "Section 7, before Equation (35)",
        [
            "$φ_1 = \\frac{1}{λ} \\sum_{i=1}^t (⟨∇_i, θ⟩ + \\frac{λ}{2} ‖θ‖^2)$ with $∇^2 φ_1 = λI$",
            "$φ_1 = \\sum_{i=1}^t ⟨∇_i, θ⟩ + \\frac{λ}{2} ‖θ‖^2$, and $φ_2 = φ_1 + ⟨s_t − \\sum_{i=1}^t ∇_i, θ⟩$",
        ],
        format!(
            "At $t$ = {}, $λ$ = {lambda} the printed $φ_1$ has $∇^2 φ_1$ = {} and its minimum at ${}$; the model \
             is ${}$.",
            gradients.len(),
            figure(found.first_curvature),
            figure(found.first),
            figure(found.without_noise)
        ),
    ))
}

fn of_the_pen() -> Slip {
    let row_one = 1_u64.count_ones();
    slip(
        "Slips of the pen",
        "Sections 1.2, 2, 5 and 6, Theorem 19",
        [
            "$|z| = a^2 + b^2$; densities with $\\sqrt{2πσ}$ and without ½; sensitivity $κ‖R(t)‖^2$; row $i$ of \
             the tree's $L$ has $⌈\\log_2 i⌉$ ones; error $C ‖L‖_F ‖R‖$; $(A^* A)^{−1}$ with diagonal 2, …, 2, \
             1; $\\Tr(A^* B)$ without the conjugate",
            "$\\sqrt{a^2 + b^2}$; $\\sqrt{2π} σ$ and ½; $κ‖R‖$; at most $⌊\\log_2 i⌋ + 1$; $C^2 ‖L‖_F^2 ‖R‖^2/n$; \
             1, 2, …, 2; with it",
        ],
        format!(
            "Row 1 of the tree's $L$ has {row_one} one, and $⌈\\log_2 1⌉$ = {}; for $z = 3 + 4i$, $|z|$ = {}, \
             and $a^2 + b^2$ = {}.",
            figure(1_f64.log2().ceil()),
            figure(3_f64.hypot(4.0)),
            figure(3_f64.powi(2) + 4_f64.powi(2))
        ),
    )
}
