//! The claims about privacy and parity queries.

use super::claim::{Claim, Table, Verdict, figure, horizon};
use crate::error::Result;
use evertally::privacy::{gaussian_delta, gaussian_epsilon, gaussian_sigma, paper_sigma};
use evertally::research::bounds::*;

/// Definition 31 and Fact 32.
pub(super) fn definitions() -> Vec<Claim> {
    vec![
        Claim::definition(
            "Definition 31",
            "Differential privacy",
            "$P[M(D) ∈ C] ≤ e^ε P[M(D′) ∈ C] + δ$ for all neighbours $D$, $D′$ and measurable $C$; streams are \
             neighbours if they differ in one step.",
        ),
        Claim::new(
            "Fact 32",
            "Linear images of Gaussians",
            "If $X$ is $N(μ, Σ)$, $AX$ is $N(Aμ, AΣA^*)$.",
            Verdict::Holds,
            densities(),
        ),
    ]
}

/// What the printed densities integrate to.
fn densities() -> String {
    let sigma = 4.0_f64;
    let step = 1e-3;
    let integral = |density: &dyn Fn(f64) -> f64| -> f64 {
        (-40_000..=40_000).map(|i| density(f64::from(i) * step * sigma) * step * sigma).sum()
    };
    let tau = std::f64::consts::TAU;
    let scalar = integral(&|x| (-x * x / (2.0 * sigma * sigma)).exp() / (tau * sigma).sqrt());
    let vector = integral(&|x| (-x * x / (sigma * sigma)).exp() / (tau * sigma * sigma).sqrt());
    format!(
        "The densities printed above it are slips of the pen: at $σ = {sigma}$ the first, with $\\sqrt{{2πσ}}$, \
         integrates to {}, and the second, without the ½ in the exponent, to {} in one dimension.",
        figure(scalar),
        figure(vector)
    )
}

/// Definition 33.
pub(super) fn gaussian_mechanism() -> Result<Claim> {
    let finding = format!(
        "$C$ is a standard deviation, not the variance that Theorem 2 calls it; at $ε = ½$, $δ = 10^{{−6}}$ it \
         is {}.",
        figure(paper_sigma(0.5, 1e-6)?)
    );
    Ok(Claim::new(
        "Definition 33",
        "The Gaussian mechanism",
        "Release $f(x) + N(0, C^2 Δ^2 I)$, with $Δ$ the $ℓ_2$ sensitivity of $f$.",
        Verdict::Definition,
        finding,
    ))
}

/// Theorem 34.
pub(super) fn calibration() -> Result<Claim> {
    let mut table =
        Table::new(&["$ε$", "$δ$", "$C$", "exact $σ$", "$C/σ$", "$C^2/σ^2$", "$δ$ actually spent by $C$"]);
    let (mut least, mut most) = (f64::INFINITY, 0.0_f64);
    let mut private = true;
    for epsilon in [0.01, 0.1, 0.3, 0.5, 0.8, 0.999] {
        for delta in [1e-12, 1e-10, 1e-6, 1e-3] {
            let (c, sigma) = (paper_sigma(epsilon, delta)?, gaussian_sigma(epsilon, delta)?);
            (least, most) = (least.min(c / sigma), most.max(c / sigma));
            let spent = gaussian_delta(c, epsilon)?;
            private &= spent <= delta;
            if [1e-10, 1e-6].contains(&delta) {
                table = table.row(vec![
                    epsilon.to_string(),
                    format!("{delta:e}"),
                    figure(c),
                    figure(sigma),
                    figure(c / sigma),
                    figure((c / sigma).powi(2)),
                    format!("{spent:.1e}"),
                ]);
            }
        }
    }
    let [least, most, least_squared, most_squared] = [least, most, least * least, most * most].map(figure);
    let finding = format!(
        "Private at all 24 budgets tried, but loose: $C$ is {least} to {most} times the least noise, \
         {least_squared} to {most_squared} times in squared error."
    );
    let verdict = if private { Verdict::Holds } else { Verdict::Fails };
    Ok(Claim::new(
        "Theorem 34",
        "The Gaussian mechanism is private",
        "For $0 < ε, δ < 1$ noise of multiplier $$C = \\frac{2}{ε} · \\sqrt{4/9 + \\ln(\\sqrt{2/π}/δ)}$$ is \
         $(ε, δ)$-private.",
        verdict,
        finding,
    )
    .with(table))
}

/// How an adversary of two rounds decides how much to differ in the second.
type Rule = (&'static str, fn(f64) -> f64);

const RULES: [Rule; 5] = [
    ("always all that is left", |_| 1.0),
    ("all if the loss of round 1 is positive", |loss| f64::from(u8::from(loss > 0.0))),
    ("all if it is negative", |loss| f64::from(u8::from(loss < 0.0))),
    ("all unless it is above $ε$", |loss| f64::from(u8::from(loss <= ADAPTIVE_BUDGET.0))),
    ("half", |_| 0.5),
];

const ADAPTIVE_BUDGET: (f64, f64) = (0.5, 1e-6);

/// Theorem 35.
pub(super) fn adaptive() -> Result<Claim> {
    let (epsilon, delta) = ADAPTIVE_BUDGET;
    let sigma = gaussian_sigma(epsilon, delta)?;
    let mut table =
        Table::new(&["what differs in round 2", "$δ$ at share 0.1", "$δ$ at share 0.5", "$δ$ at share 0.9"]);
    let mut most = 0.0_f64;
    for (words, rule) in RULES {
        let mut cells = vec![words.to_owned()];
        for share in [0.1, 0.5, 0.9] {
            let reached = adaptive_delta(epsilon, sigma, share, rule)?;
            most = most.max(reached);
            cells.push(format!("{reached:.4e}"));
        }
        table = table.row(cells);
    }
    // The trapezoidal rule is exact to about 1e-8 here.
    let holds = most <= delta * (1.0 + 1e-6);
    let factor = fresh_noise_shortfall(1024)?;
    let finding = format!(
        "Played in two rounds at $ε = {epsilon}$, $δ = {delta:e}$: the neighbours' streams differ by a share \
         of the squared sensitivity in round 1, and by what the first release suggests in round 2. No rule \
         passes the $δ$ of streams fixed beforehand; always spending what is left reaches it (at most \
         ${most:.4e}$). It needs one noise vector drawn beforehand: with fresh noise every round, as Algorithm \
         1 is printed, even a fixed stream spends $ε$ = {} over 1024 steps.",
        figure(gaussian_epsilon(sigma / factor, delta)?)
    );
    Ok(Claim::new(
        "Theorem 35",
        "Adaptive streams (Denisov and others)",
        "A matrix mechanism with Gaussian noise that is private for streams fixed beforehand is private for \
         streams chosen adaptively.",
        Verdict::if_all(holds),
        finding,
    )
    .with(table))
}

/// Theorem 36.
pub(super) fn factorization() -> Result<Claim> {
    let (epsilon, delta) = (0.01, 0.1);
    let sigma = gaussian_sigma(epsilon, delta)?;
    let finding = format!(
        "The first part holds. The second and third say the same constant $e^(2ε)$ for oblivious noise and for \
         any mechanism, where Theorem 4 has $e^(4ε)$ for the latter and the cited reduction doubles $ε$; and \
         they give three limits on $δ$ ($1$, $1/(4e^ε)$, in the proof $1/(2e^ε)$). Over all integer inputs the \
         smaller loss is right: averaging a mechanism over a large box of inputs makes it oblivious at no cost \
         in $ε$. But not for every $δ$ allowed: at $ε = {epsilon}$, $δ = {delta}$ one query ($γ_F = 1$, $n = \
         1$) needs error {} with Gaussian noise, and {} is claimed. At $ε = {epsilon}$ the constant is proven \
         to $δ$ = {}.",
        figure(sigma * sigma),
        figure(paper_constant(epsilon, Reach::Oblivious)?),
        figure(largest_paper_delta(epsilon, Reach::Oblivious)?)
    );
    Ok(Claim::new(
        "Theorem 36",
        "$γ_F$ and the error of linear queries",
        "$Ax + N(0, C^2 ‖R‖_(1→2)^2 L L^*)$ is $(ε, δ)$-private; every oblivious ($0 ≤ δ ≤ 1$) and every ($δ ≤ \
         1/(4e^ε)$) mechanism has error at least $$\\frac{γ_F^2}{n(e^(2ε) − 1)^2}.$$",
        Verdict::HoldsPartly,
        finding,
    ))
}

/// Algorithm 1.
pub(super) fn algorithm_one() -> Result<Claim> {
    let (epsilon, delta) = (0.5, 1e-6);
    let sigma = gaussian_sigma(epsilon, delta)?;
    let c = paper_sigma(epsilon, delta)?;
    let mut table =
        Table::new(&["$n$", "noise too small by", "$ε$ spent, exact $σ$", "$ε$ spent, paper's $C$"]);
    for n in [1_u64, 16, 1 << 10, 1 << 20] {
        let factor = fresh_noise_shortfall(n)?;
        table = table.figures(
            horizon(n),
            &[factor, gaussian_epsilon(sigma / factor, delta)?, gaussian_epsilon(c / factor, delta)?],
        );
    }
    Ok(Claim::new(
        "Algorithm 1",
        "The mechanism",
        "In round $t$ sample $z$ from $N(0, C^2 ‖R‖_(1→2)^2 I_t)$ and release the total plus $⟨L[t;], z⟩$.",
        Verdict::Fails,
        format!(
            "Sampling $z$ anew in every round makes $n$ independent noises, and the first input is in all $n$ \
             releases: at $ε = {epsilon}$, $δ = {delta:e}$ the table shows what is spent. One vector $z$ for \
             all rounds gives the privacy that is proved. (The sum is over $x_i$, not $x_t$.)"
        ),
    )
    .with(table))
}

/// Definition 8 and Theorem 9.
pub(super) fn parity() -> Result<Vec<Claim>> {
    let (epsilon, delta) = (0.5, 1e-6);
    let mut table = Table::new(&[
        "$d$",
        "$w$",
        "$γ_F$, the number of queries",
        "paper's bound",
        "proved here",
        "Gaussian noise, exact",
    ]);
    let word = |value: &evertally::Result<f64>| {
        value.as_ref().map_or_else(|_| "does not apply".to_owned(), |v| figure(*v))
    };
    for (d, w) in [(4, 2), (10, 3), (20, 3), (30, 15)] {
        let bounds = parity_bounds(d, w, epsilon, delta)?;
        table = table.row(vec![
            d.to_string(),
            w.to_string(),
            figure(bounds.gamma.middle()),
            word(&bounds.paper),
            word(&bounds.any_mechanism),
            word(&bounds.matrix_mechanism),
        ]);
    }
    let (orthogonal, pairs) = orthogonal_pairs(6, 3);
    let finding = format!(
        "$γ_F$ is the number $q$ of queries exactly: {orthogonal} of {pairs} pairs of rows at $d = 6$, $w = 3$ \
         are orthogonal, so Lemma 1 gives $q$, and $L = I$ attains it. The error follows for the $δ$ of \
         Theorem 4's table, not for $0 ≤ δ ≤ 1$: at $δ = 1$ nothing need be hidden. And it must be divided by \
         the queries, not as Equation (1) is printed."
    );
    Ok(vec![
        Claim::definition(
            "Definition 8",
            "Parity queries",
            "$q_P(x) = \\prod_{i∈P} x_i$ for the sets $P$ of $w$ out of $d$ signs.",
        ),
        Claim::new(
            "Theorem 9",
            "Lower bound for parity queries",
            "For $ε > 0$ and $0 ≤ δ ≤ 1$ answering all $q = \\frac{d!}{w!(d−w)!}$ parities of $w$ out of $d$ \
             signs has mean squared error at least $$\\frac{q}{(e^(2ε) − 1)^2}.$$",
            Verdict::HoldsPartly,
            finding,
        )
        .with(table),
    ])
}

fn orthogonal_pairs(d: u32, w: u32) -> (usize, usize) {
    let sets: Vec<u32> = (0..1_u32 << d).filter(|set| set.count_ones() == w).collect();
    let (mut orthogonal, mut pairs) = (0, 0);
    for (i, p) in sets.iter().enumerate() {
        for q in &sets[..i] {
            let inner: i64 = (0..1_u32 << d).map(|x| 1 - 2 * i64::from((x & (p ^ q)).count_ones() % 2)).sum();
            pairs += 1;
            orthogonal += usize::from(inner == 0);
        }
    }
    (orthogonal, pairs)
}
