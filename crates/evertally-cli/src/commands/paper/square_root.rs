//! The claims about the square root: its upper bound, its norms and its data structure.

use super::claim::{
    Claim, SAMPLES, Table, Verdict, certified, count_of, figure, from_words, holds_from, horizon, yes,
};
use crate::error::Result;
use evertally::research::bounds::*;

/// Theorem 2.
pub(super) fn upper_bound() -> Result<Claim> {
    let from = holds_from(|n| Ok(square_root_mean_error(n)?.upper <= paper_upper_mean(n)?.lower))?;
    let mut table =
        Table::new(&["$n$", r"$(1 + \ln(4n/5)/π)^2$", "exact factor", "optimum or its lower bound", "holds"]);
    for n in SAMPLES {
        let (closed, exact) = (paper_upper_mean(n)?, square_root_mean_error(n)?);
        let least = match certified(n)? {
            Some(known) => figure(known.lower),
            _ => format!("≥ {}", figure(nuclear_mean_error(n)?.lower)),
        };
        table = table.row(vec![
            horizon(n),
            figure(closed.middle()),
            figure(exact.middle()),
            least,
            yes(exact.upper <= closed.lower),
        ]);
    }
    let finding = format!(
        "The closed form is above the exact factor {}; below that it promises less error than there is. Its \
         proof goes through a row norm that is false for every $t$ (Equation 28), and the error stays below \
         the bound only because the mean over rows is smaller than the last row.",
        from_words(from)
    );
    let statement = "For $0 < ε, δ < 1$ the square root $L = R = T(f)$ has mean squared error at most \
                     $$C^2 (1 + \\frac{\\ln(4n/5)}{π})^2, \\quad C = \\frac{2}{ε} · \\sqrt{4/9 + \
                     \\ln(\\sqrt{2/π}/δ)},$$ with $O(n^2)$ preprocessing and constant time per step.";
    Ok(Claim::new(
        "Theorem 2",
        "The error of the square root",
        statement,
        Verdict::from_horizon(from),
        finding,
    )
    .from(from)
    .with(table))
}

/// Both bounds at once, on γ_F itself.
pub(super) fn sandwich() -> Result<Claim> {
    let mut table =
        Table::new(&["$n$", "closed lower bound", "$γ_F/\\sqrt n$ from", "to", "closed upper bound"]);
    let (mut from, mut is_broken) = (None, false);
    for n in (1..=32_u64).rev().chain([64, 256]) {
        let Some(known) = certified(n)? else { continue };
        let (lower, upper) = (paper_lower_mean(n)?, paper_upper_mean(n)?);
        let holds = lower.upper <= known.upper && known.upper <= upper.lower;
        is_broken |= !holds;
        if n <= 32 && !is_broken {
            from = Some(n);
        }
        if [1, 2, 3, 4, 8, 32, 64, 256].contains(&n) {
            let roots = [lower.middle(), known.lower, known.upper, upper.middle()].map(f64::sqrt);
            table = table.figures(horizon(n), &roots);
        }
    }
    table.rows.sort_by_key(|row| row[0].plain().parse::<u64>().unwrap_or(u64::MAX));
    // Beyond n = 32 the square root's error is between γ_F and the closed form.
    let beyond = holds_from(|n| Ok(square_root_mean_error(n)?.upper <= paper_upper_mean(n)?.lower))?;
    let proved = from.filter(|_| beyond.is_some_and(|n| n <= 32));
    let finding = format!(
        "Holds {}: certificates of $γ_F$ to $n = 32$, and above that the square root's exact error, which is \
         at least $γ_F^2/n$.",
        from_words(proved)
    );
    Ok(Claim::new(
        "Equation (11)",
        "Both bounds on the norm of the prefix sum",
        "$$\\frac{1}{π}(2 + \\ln(\\frac{2n+1}{5}) + \\frac{\\ln(2n+1)}{2n}) ≤ \\frac{γ_F(A)}{\\sqrt n} ≤ 1 + \
         \\frac{\\ln(4n/5)}{π}.$$",
        Verdict::from_horizon(proved),
        finding,
    )
    .from(proved)
    .with(table))
}

/// "This also means that we have bounded operators on the Hilbert space."
pub(super) fn unbounded() -> Result<Claim> {
    let mut table =
        Table::new(&["$n$", "$‖A‖$ of the leading section", "$2n/π$", "ratio", "$‖T(f)‖$ is at least"]);
    for n in [1_u64, 10, 100, 1000, 1 << 20, 1 << 40] {
        let (norm, rate) = (spectral_norm(n)?.middle(), 2.0 * n as f64 / std::f64::consts::PI);
        table = table.figures(horizon(n), &[norm, rate, norm / rate, norm.sqrt()]);
    }
    let far = spectral_norm(1 << 40)?.lower;
    let finding = format!(
        "The norm of the leading $n × n$ section is $σ_1 = ½ \\csc(π/(4n+2))$ and grows like $2n/π$, without \
         end: ${}$ at $n = 2^40$. So the infinite prefix sum is no bounded operator, and neither is the factor \
         $T(f)$: $‖A‖ ≤ ‖T(f)‖^2$. Nothing else in the proof uses the sentence.",
        figure(far)
    );
    Ok(Claim::new(
        "After Equation (27)",
        "Bounded operators",
        "The factorization into two Toeplitz matrices means that they are bounded operators on the Hilbert \
         space.",
        Verdict::Fails,
        finding,
    )
    .with(table))
}

/// Equation (28).
pub(super) fn row_norm() -> Result<Claim> {
    let (true_at, all) =
        count_of(|t| Ok(square_root_row_norm_squared(t)?.lower <= paper_row_norm_squared(t)?.upper))?;
    let corrected =
        holds_from(|t| Ok(square_root_row_norm_squared(t)?.lower <= row_norm_squared_bound(t)?.upper))?;
    let mut table = Table::new(&[
        "$t$",
        r"printed $1 + \ln((4t−3)/5)/π$",
        "exact $‖L[t;]‖^2$",
        r"corrected $1 + \ln(4t−3)/π$",
    ]);
    for t in SAMPLES {
        table = table.figures(
            horizon(t),
            &[
                paper_row_norm_squared(t)?.middle(),
                square_root_row_norm_squared(t)?.middle(),
                row_norm_squared_bound(t)?.middle(),
            ],
        );
    }
    let finding = format!(
        "True at {true_at} of the {all} steps scanned: the sum starts at 1, so the integral that bounds it \
         must start at 0. $1 + \\ln(4t−3)/π$ holds {}.",
        from_words(corrected).replace("$n", "$t")
    );
    let statement =
        "The squared norm of row $t$ of $L$ is at most $$1 + \\frac{1}{π} \\ln(\\frac{4t−3}{5}).$$";
    Ok(Claim::new("Equation (28)", "The norm of a row", statement, Verdict::if_all(true_at == all), finding)
        .with(table))
}

/// Equation (29).
pub(super) fn factor_norms() -> Result<Claim> {
    let closed = |n: u64| -> Result<f64> { Ok(paper_upper_mean(n)?.lower.sqrt()) };
    let frobenius = holds_from(|n| Ok(square_root_decoder_mean(n)?.upper <= closed(n)?))?;
    let (column, all) = count_of(|n| Ok(square_root_row_norm_squared(n)?.lower <= closed(n)?))?;
    let mut table = Table::new(&["$n$", r"$1 + \ln(4n/5)/π$", "exact $‖L‖_F^2/n$", "exact $‖R‖_(1→2)^2$"]);
    for n in SAMPLES {
        table = table.figures(
            horizon(n),
            &[closed(n)?, square_root_decoder_mean(n)?.middle(), square_root_row_norm_squared(n)?.middle()],
        );
    }
    let finding = format!(
        "The bound on $‖L‖_F^2$ holds {}, that on $‖R‖_(1→2)^2$ at {column} of {all} horizons.",
        from_words(frobenius)
    );
    let statement =
        "$$‖L‖_F^2 ≤ n(1 + \\frac{\\ln(4n/5)}{π}), \\quad ‖R‖_(1→2)^2 ≤ 1 + \\frac{\\ln(4n/5)}{π}.$$";
    Ok(Claim::new(
        "Equation (29)",
        "The norms of $L$ and $R$",
        statement,
        Verdict::if_all(frobenius == Some(1) && column == all),
        finding,
    )
    .from(frobenius)
    .with(table))
}

/// Corollary 39.
pub(super) fn corollary() -> Result<Claim> {
    let from = holds_from(|n| Ok(square_root_mean_error(n)?.lower <= paper_corollary_mean(n)?.upper))?;
    let finding = format!(
        "The bound is weaker than Theorem 2's and holds {}. The recipe does not give it: its second step \
         scales the draws by $C$ and leaves out $‖R‖_(1→2)$, {} at $n = 1024$. Preprocessing takes \
         $O(n \\log n)$ by a fast Fourier transform rather than $O(n^2)$.",
        from_words(from),
        figure(unscaled_noise_shortfall(1024)?)
    );
    let statement = "A data structure with $O(n)$ space, $O(1)$ time per step and $O(n^2)$ preprocessing has \
                     error at most $$C^2 (1 + \\frac{\\ln n}{π})^2.$$";
    Ok(Claim::new("Corollary 39", "The fast data structure", statement, Verdict::HoldsPartly, finding)
        .from(from))
}
