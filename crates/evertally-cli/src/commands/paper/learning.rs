//! The claims about online learning.

use super::claim::{Claim, Table, Verdict, figure, horizon};
use crate::error::Result;
use evertally::internals::noise::square_root_coefficient;
use evertally::privacy::{gaussian_epsilon, gaussian_sigma, paper_sigma};
use evertally::research::bounds::*;

/// The budget at which regrets are computed.
const BUDGET: (f64, f64) = (0.5, 1e-6);

/// A clipping norm and a gradient's norm between it and its root.
pub(super) const CLIP: (f64, f64) = (0.25, 0.5);

/// The run that Theorem 30 does not survive: steps, the regulariser's scale, the learning rate.
pub(super) const FLAT: (u64, f64, f64) = (1000, 1e-6, 0.1);

/// Gradients, a noisy sum of them, and λ, for the functions of the proof of Theorem 6.
pub(super) const MINIMISED: ([f64; 4], f64, f64) = ([1.0; 4], 4.5, 3.0);

/// Definition 22 to Definition 29.
pub(super) fn definitions() -> Vec<Claim> {
    vec![
        Claim::definition(
            "Definition 22",
            "Extended-value convex function",
            "$φ(αx + (1−α)y) ≤ αφ(x) + (1−α)φ(y)$, with values up to $∞$.",
        ),
        Claim::definition(
            "Definition 23",
            "Proper and convex function",
            "Finite somewhere and nowhere $−∞$; convex if also extended-value convex.",
        ),
        Claim::definition(
            "Definition 24",
            "Subgradient",
            "All $g$ with $φ(y) − φ(x) ≥ ⟨g, y−x⟩$ for every $y$.",
        ),
        Claim::definition(
            "Definition 25",
            "Strong convexity",
            "$φ(y) − φ(x) ≥ ⟨g, y−x⟩ + \\frac{α}{2} ‖y−x‖^2$.",
        ),
        Claim::new(
            "Lemma 26",
            "Perturbed minimisers (McMahan)",
            "Adding a convex $ψ$ to $φ_1$ moves the minimiser by at most $‖b‖/λ$, $b$ a subgradient of $ψ$, if \
             the sum is $λ$-strongly convex.",
            Verdict::Holds,
            perturbation_check(),
        ),
        Claim::new(
            "Fact 27",
            "Hessians",
            "$α$-strong convexity is $∇^2 φ ⪰ αI$ for twice differentiable $φ$.",
            Verdict::Holds,
            "For $φ = \\frac{α}{2} ‖x‖^2$ both sides are equalities.",
        ),
        Claim::definition("Definition 28", "Fenchel conjugate", "$ψ^⋆(g) = \\sup_x ⟨g, x⟩ − ψ(x)$."),
        Claim::definition(
            "Definition 29",
            "Regret",
            "The mean loss of the models released less that of the best fixed model.",
        ),
        Claim::definition(
            "Algorithm 2",
            "Follow the regularised leader",
            "$θ_(t+1)$ minimises $η \\sum_{i≤t} ⟨∇_i, θ⟩ + ρ(θ)$.",
        ),
    ]
}

fn perturbation_check() -> String {
    // φ₁ = (λ/2)x², ψ = bx: the minimisers are 0 and −b/λ.
    let (lambda, b) = (3.0, 0.7);
    format!(
        "For $φ_1 = \\frac{{λ}}{{2}} x^2$ and $ψ = bx$ at $λ = {lambda}$, $b = {b}$ the minimiser moves by {} = \
         $|b|/λ$: an equality.",
        figure(f64::abs(-b / lambda))
    )
}

/// Theorem 30.
pub(super) fn leader() -> Result<Claim> {
    let (steps, flat, rate) = FLAT;
    let mut table = Table::new(&[
        "regulariser",
        "regret of the run",
        "printed bound",
        "bound with strong convexity",
        "printed holds",
    ]);
    let mut kept = 0;
    for (words, scale) in
        [("$½ θ^2$", 0.5), ("$10^{−2} θ^2$", 1e-2), ("$10^{−3} θ^2$", 1e-3), ("$10^{−6} θ^2$", flat)]
    {
        let run = leader_regret(steps, scale, rate)?;
        let holds = run.regret <= run.printed;
        kept += usize::from(holds);
        table = table.row(vec![
            words.to_owned(),
            figure(run.regret),
            figure(run.printed),
            figure(run.strongly_convex),
            super::claim::yes(holds),
        ]);
    }
    let run = leader_regret(steps, flat, rate)?;
    let finding = format!(
        "The regulariser must be strongly convex, which is not asked for. On $[−1, 1]$ with $ρ = 10^{{−6}} \
         θ^2$, $η = {rate}$ and the losses $½θ, −θ, θ, −θ, …$ the leader runs to $−1, 1, −1, …$ and loses 1 \
         in every step after the first: regret {} over {steps} steps, where the bound says {}. With an \
         $α$-strongly convex $ρ$ the first term is $\\frac{{2η}}{{nα}} \\sum ‖∇_i‖^2$, which every row keeps. \
         The proof of Theorem 6 takes $nκ^2/λ$ for the first term where this gives $2nκ^2/λ$; the sharper \
         constant is standard, but not this theorem's.",
        figure(run.regret),
        figure(run.printed)
    );
    Ok(Claim::new(
        "Theorem 30",
        "The regret of the leader (Hazan)",
        "For a regulariser $ρ$ and every $u$, regret is at most $$\\frac{2η}{n} \\sum_{i=1}^n ‖∇_i‖_2^2 + \
         \\frac{ρ(u) − ρ(θ_1)}{nη}.$$",
        if kept == 4 { Verdict::Holds } else { Verdict::Fails },
        finding,
    )
    .with(table))
}

/// Theorem 6.
pub(super) fn regret_bound() -> Result<Claim> {
    let (epsilon, delta) = BUDGET;
    let c = paper_sigma(epsilon, delta)?;
    let sigma = gaussian_sigma(epsilon, delta)?;
    let mut table = Table::new(&[
        "$n$",
        "$d$",
        "printed",
        "attained",
        "corrected, noise $C$",
        "corrected / printed",
        "corrected, exact $σ$",
    ]);
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    for n in [1_u64 << 10, 1 << 20] {
        for d in [1, 100, 10_000] {
            let with_c = regret(n, 1.0, d, 1.0, c)?;
            let exact = regret(n, 1.0, d, 1.0, sigma)?;
            let ratio = with_c.corrected / with_c.paper;
            (least, most) = (least.min(ratio), most.max(ratio));
            let figures =
                [with_c.paper, with_c.attained, with_c.corrected, ratio, exact.corrected].map(figure);
            table = table.row([horizon(n), d.to_string()].into_iter().chain(figures).collect());
        }
    }
    let finding = format!(
        "The least value of $\\frac{{a}}{{λ}} + \\frac{{λ}}{{2n}} ‖θ‖^2$ is $‖θ‖ \\sqrt{{2a/n}}$, twice the \
         printed $‖θ‖ \\sqrt{{a/(2n)}}$; the printed $a$ multiplies $κ^2$ by the logarithm too, which makes up \
         for little of it; $a$ rests on the false row norm; and noise of scale $Cκ‖R‖$ is drawn where $C‖R‖$ \
         is added up, so that $κC\\sqrt d$ must be $κ^2 C\\sqrt d$. At $ε = {epsilon}$, $δ = {delta:e}$, $κ = \
         ‖θ‖ = 1$ the proof supports {} to {} times what is printed.",
        figure(least),
        figure(most)
    );
    let statement = "Private follow-the-regularised-leader has regret at most $$‖θ‖ \\sqrt{\\frac{(1 + \
                     \\ln(4n/5)/π)(κ^2 + κC\\sqrt d)}{2n}},$$ here with $κ = 1$.";
    Ok(Claim::new("Theorem 6", "Regret", statement, Verdict::Unproven, finding).with(table))
}

/// "Improves … by a constant factor of about 3".
pub(super) fn improvement() -> Result<Claim> {
    let gain = |ratio: f64| ratio.sqrt().sqrt();
    let mut table = Table::new(&["$n$", "error of tree / square root", "regret bound of tree / square root"]);
    for m in [10, 20, 40, 60, 1000] {
        let ratio = tree_ratio_at_power(m)?.middle();
        table = table.figures(format!("$2^{m}$"), &[ratio, gain(ratio)]);
    }
    let finding = format!(
        "The figure comes from the constants of another paper's proof, which are not printed. What can be \
         computed is what the mechanism itself brings: the proof's regret grows with the fourth root of the \
         mean squared error, so putting the square root in the place of the tree divides it by {} at $n = \
         2^20$ and by less than {} at any $n$, if noise dominates; more can only come from proofs of \
         different care.",
        figure(gain(tree_ratio_at_power(20)?.middle())),
        figure(gain(limiting_tree_ratio()))
    );
    Ok(Claim::new(
        "After Theorem 6",
        "A factor of three",
        "The regret improves that of the same algorithm with the binary tree by a factor of about 3.",
        Verdict::Unproven,
        finding,
    )
    .with(table))
}

/// Remark 7.
pub(super) fn extensions() -> Claim {
    let mut table = Table::new(&["row $t$ of $L$", "diagonal", "sum of the other entries"]);
    for t in [1_u64, 2, 3, 4, 16, 1024] {
        table = table.figures(t.to_string(), &[1.0, beside_diagonal(t)]);
    }
    let last = (2..100).take_while(|&t| beside_diagonal(t) <= 1.0).last().unwrap_or(1);
    Claim::new(
        "Remark 7",
        "Extensions",
        "The results extend to composite losses, excess risk and momentum; the factors are diagonally dominant.",
        if last < 99 { Verdict::Fails } else { Verdict::Holds },
        format!(
            "The factors are not diagonally dominant beyond $n = {last}$: at $n = 1024$ the entries beside the \
             diagonal 1 of the last row of $L$ add up to {}. The extensions are references to other papers, \
             without a statement that could be computed; they inherit the constant of Theorem 6.",
            figure(beside_diagonal(1024))
        ),
    )
    .with(table)
}

/// The sum of the entries of row t of T(f) beside its diagonal.
pub(super) fn beside_diagonal(t: u64) -> f64 {
    (1..t).map(square_root_coefficient).sum()
}

/// The norm that the printed rule leaves of a gradient.
pub(super) fn kept(norm: f64) -> f64 {
    f64::min(CLIP.0 / (norm * norm), 1.0) * norm
}

/// Equation (31).
pub(super) fn clipping() -> Claim {
    let (kappa, norm) = CLIP;
    let mut table = Table::new(&["norm of the gradient", "clipped as printed", "clipped to $κ$"]);
    for norm in [0.1, 0.25, 0.4, norm, 1.0, 10.0] {
        table = table.figures(norm.to_string(), &[kept(norm), norm.min(kappa)]);
    }
    let finding = format!(
        "It divides by the square of the norm. At $κ = {kappa}$ a gradient of norm {norm} keeps norm {}, {} \
         times what is protected, and one of norm 10 is cut to {}.",
        figure(kept(norm)),
        figure(kept(norm) / kappa),
        figure(kept(10.0))
    );
    Claim::new(
        "Equation (31)",
        "Clipping",
        "$$\\text{clip}(g; κ) = \\min\\{ \\frac{κ}{‖g‖^2}, 1 \\} g$$ has norm at most $κ$.",
        Verdict::if_all(kept(norm) <= kappa),
        finding,
    )
    .with(table)
}

/// Theorem 41.
pub(super) fn restated() -> Result<Claim> {
    let (epsilon, delta) = BUDGET;
    let played = regret(1024, 1.0, 1, 1.0, paper_sigma(epsilon, delta)?)?;
    let finding = format!(
        "At the $λ$ of the proof, on the linear losses $κ, −κ, κ, …$ and then $κ$ again and again until their \
         sum is $λ‖θ‖$, expected regret is $‖θ‖ \\sqrt{{a/(2n)}} (1 + κ^2/(2a))$ with the printed $a$: noise of \
         mean zero changes nothing where losses are linear and fixed in advance. At $n = 1024$, $d = 1$, $κ = \
         ‖θ‖ = 1$ it is {}, and {} is printed. What is proved stands with Theorem 6.",
        figure(played.attained),
        figure(played.paper)
    );
    Ok(Claim::new(
        "Theorem 41",
        "Regret, restated",
        "The outputs of Algorithm 3 have the regret of Theorem 6, with $κ$ and $d$ written out.",
        if played.attained > played.paper { Verdict::Fails } else { Verdict::Unproven },
        finding,
    ))
}

/// Algorithm 3.
pub(super) fn algorithm() -> Result<Claim> {
    let (epsilon, delta) = BUDGET;
    let sigma = gaussian_sigma(epsilon, delta)?;
    let scale = growing_scale_shortfall(1024)?;
    let finding = format!(
        "Three slips. Clipping must divide by the norm (Equation 31). $Z$ must be drawn once. And its scale \
         must be that of the full horizon: with one vector and the scale of $R(t)$ the noise falls short by {} \
         at $n = 1024$, and $ε$ = {} is spent where $ε = {epsilon}$ was asked (exact $σ$, $δ = {delta:e}$). The \
         regulariser is $\\frac{{λ}}{{2}} ‖θ‖^2$, $\\frac{{1}}{{λ}} ‖θ‖^2$ and $\\frac{{1}}{{2λ}} ‖θ‖^2$ in \
         three places.",
        figure(scale),
        figure(gaussian_epsilon(sigma / scale, delta)?)
    );
    Ok(Claim::new(
        "Algorithm 3",
        "Private follow-the-regularised-leader",
        "Clip gradients to $κ$ by Equation (31); in round $t$ draw $Z$ of scale $Cκ‖R(t)‖$ and release \
         $L[t;](R(t)G(t) + Z)$.",
        Verdict::Fails,
        finding,
    ))
}

/// φ₁ and φ₂ of the proof of Theorem 6.
pub(super) fn minimised() -> Result<Claim> {
    let (gradients, noisy, lambda) = MINIMISED;
    let found = printed_minimisers(&gradients, noisy, lambda)?;
    let sum: f64 = gradients.iter().sum();
    let table = Table::new(&["", "as printed", "as it must be"])
        .row(vec!["$∇^2 φ_1$".to_owned(), figure(found.first_curvature), figure(lambda)])
        .row(vec!["minimiser of $φ_1$".to_owned(), figure(found.first), figure(found.without_noise)])
        .row(vec!["minimiser of $φ_2$".to_owned(), figure(found.second), figure(found.with_noise)])
        .row(vec![
            "distance of the minimisers".to_owned(),
            figure((found.first - found.second).abs()),
            figure((found.with_noise - found.without_noise).abs()),
        ]);
    let finding = format!(
        "$φ_1$ as printed has the regulariser inside the sum and counts it $t$ times, and $φ_2$ divides the \
         gradients by $λ$ but not the noise. For $t$ = {} gradients that add up to {sum}, $s_t$ = {noisy} and \
         $λ$ = {lambda}, $∇^2 φ_1$ is {} and not $λ$, and the minimisers are ${}$ and ${}$ where the models are \
         ${}$ and ${}$. With $φ_1 = \\sum_{{i≤t}} ⟨∇_i, θ⟩ + \\frac{{λ}}{{2}} ‖θ‖^2$ and $φ_2 = φ_1 + ⟨s_t − \
         \\sum_{{i≤t}} ∇_i, θ⟩$ the bound that follows, a distance of at most $‖L[t;] Z_t‖/λ$, is right: here \
         ${}$.",
        gradients.len(),
        figure(found.first_curvature),
        figure(found.first),
        figure(found.second),
        figure(found.without_noise),
        figure(found.with_noise),
        figure((noisy - sum).abs() / lambda)
    );
    Ok(Claim::new(
        "Before Equation (35)",
        "What the proof minimises",
        "$$φ_1(θ) = \\frac{1}{λ} \\sum_{i=1}^t (⟨∇_i, θ⟩ + \\frac{λ}{2} ‖θ‖^2), \\quad φ_2(θ) = \\frac{1}{λ} \
         \\sum_{i=1}^t ⟨∇_i, θ⟩ + \\frac{λ}{2} ‖θ‖^2 + ⟨s_t − \\sum_{i=1}^t ∇_i, θ⟩$$ have $∇^2 φ_1 = λI$ and \
         the models without and with noise as minimisers.",
        Verdict::Fails,
        finding,
    )
    .with(table))
}
