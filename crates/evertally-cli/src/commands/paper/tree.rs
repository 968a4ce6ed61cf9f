//! The claims about the binary tree.

use super::claim::{Claim, Table, Verdict, certified, figure, from_words, holds_from, horizon, tree_ratios};
use crate::error::Result;
use evertally::research::bounds::*;

/// The abstract.
pub(super) fn factor_ten() -> Result<Claim> {
    let limit = limiting_tree_ratio();
    let mut first = None;
    for m in 1..=1000 {
        if first.is_none() && tree_ratio_at_power(m)?.lower >= 10.0 {
            first = Some(m);
        }
    }
    let mut table = Table::new(&["$n$", "tree / square root, exact"]);
    for m in [10, 12, 20, 30, 40, 50, 60, 100, 300, 1000] {
        table = table.figures(format!("$2^{m}$"), &[tree_ratio_at_power(m)?.middle()]);
    }
    let [at_12, at_20, at_60] = tree_ratios()?;
    let finding = format!(
        "{} is the limit. The exact ratio is {at_12} at $n = 4096$, {at_20} at $2^20$ and {at_60} at $2^60$; \
         it reaches 10 only at $n = 2^{}$.",
        figure(limit),
        first.unwrap_or_default()
    );
    let statement = "The mean squared error is a factor 10 (about $10.2 = ½(π/\\ln 2)^2$) smaller than that \
                     of the binary tree.";
    Ok(Claim::new("Abstract", "A factor of ten", statement, Verdict::HoldsPartly, finding).with(table))
}

/// Theorem 5.
pub(super) fn ratio() -> Result<Claim> {
    let ratio = |n: u64| -> Result<Interval> { Ok(binary_tree_mean_error(n)? / square_root_mean_error(n)?) };
    let from = holds_from(|n| Ok(ratio(n)?.lower >= paper_tree_ratio(n)?.upper))?;
    let mut table = Table::new(&[
        "$n$",
        "closed: tree/square root ≥",
        "exact tree/square root",
        "closed: tree/optimum =",
        "exact tree/optimum ≤",
    ]);
    for n in [2, 64, 1 << 10, 1 << 12, 1 << 20, 1 << 40, 1 << 60] {
        let optimum = match certified(n)? {
            Some(known) => known,
            _ => nuclear_mean_error(n)?,
        };
        table = table.figures(
            horizon(n),
            &[
                paper_tree_ratio(n)?.middle(),
                ratio(n)?.middle(),
                paper_optimum_ratio(n)?.middle(),
                (binary_tree_mean_error(n)? / optimum).upper,
            ],
        );
    }
    let below = holds_from(|n| {
        Ok((binary_tree_mean_error(n)? / nuclear_mean_error(n)?).upper < paper_optimum_ratio(n)?.lower)
    })?;
    let finding = format!(
        "The first inequality holds {}. The second is no equality: it divides by a lower bound that no \
         mechanism attains. The true ratio is below it {}.",
        from_words(from),
        from_words(below)
    );
    let statement = "The binary tree's error is at least $$\\frac{\\log_2 n (1 + \\log_2 n)}{2 (1 + \
                     \\ln(4n/5)/π)^2}$$ times that of the square root, and equals $$\\frac{π^2 \\log_2 n (1 + \
                     \\log_2 n)}{2 (2 + \\ln((2n+1)/5) + \\ln(2n+1)/(2n))^2}$$ times that of the best matrix \
                     mechanism.";
    Ok(Claim::new("Theorem 5", "The binary tree is suboptimal", statement, Verdict::HoldsPartly, finding)
        .from(from)
        .with(table))
}

/// W_m of Section 1.2.
pub(super) fn written() -> Result<Claim> {
    let mut table = Table::new(&[
        "$m$",
        "$n = 2^m$",
        "rows of $W_m$",
        "needed, $2n − 1$",
        "columns of $W_m$",
        "needed, $n$",
    ]);
    let mut halves = 0;
    let tried = 10;
    for m in 1..=tried {
        let (rows, columns) = written_tree_size(m)?;
        let n = 1_usize << m;
        halves += usize::from(2 * columns == n);
        if m <= 4 || m == tried {
            let cells = [rows, 2 * n - 1, columns, n].map(|count| count.to_string());
            table = table.row([m.to_string(), n.to_string()].into_iter().chain(cells).collect());
        }
    }
    let (rows, columns) = written_tree_size(3)?;
    let finding = format!(
        "Built by the recursion, $W_m$ has $n/2$ columns and $n − 1$ rows at {halves} of the {tried} powers of \
         two tried: the tree over half of the stream. At $n = 8$ it is {rows} × {columns}, and no $L$ makes \
         $L W_m$ the 8 × 8 prefix sum. $W_0 = (1)$ and $1_(2^(k−1))$ are meant, as in Section 6. The matrix is $(2n − 1) × n$, and row $t$ of $L$ has as many ones as $t$ in binary.",
    );
    Ok(Claim::new(
        "Section 1.2.2, contribution 3",
        "The matrix of the tree",
        "$R = W_m$ for $n = 2^m$, with $$W_1 = (1), \\quad W_k = \\begin{pmatrix} W_(k−1) & 0 \\\\ 0 & W_(k−1) \
         \\\\ 1_(2^(k−2)) & 1_(2^(k−2)) \\end{pmatrix},$$ in $\\{0, 1\\}^(n × (2n−1))$; row $t$ of $L$ has \
         $\\log_2 t$ ones.",
        Verdict::if_all(halves == 0),
        finding,
    )
    .with(table))
}

/// Lemma 40.
pub(super) fn lemma() -> Result<Claim> {
    let mut table = Table::new(&[
        "$n$",
        "ones of $L$",
        "$n \\log_2(n)/2$",
        "levels",
        "$\\log_2 n + 1$",
        "exact factor",
        "printed factor",
    ]);
    for n in [1, 2, 8, 100, 1 << 10, 1 << 20, 1 << 60] {
        table = table.row(vec![
            horizon(n),
            binary_tree_ones(n)?.to_string(),
            figure(n as f64 * (n as f64).log2() / 2.0),
            binary_tree_sensitivity_squared(n)?.to_string(),
            figure((n as f64).log2() + 1.0),
            figure(binary_tree_mean_error(n)?.middle()),
            figure(paper_tree_mean(n)?.middle()),
        ]);
    }
    let mut off_by_one = 0;
    for m in 0..=60_u32 {
        let n = 1_u128 << m;
        off_by_one += usize::from(binary_tree_ones(1 << m)? == n * u128::from(m) / 2 + 1);
    }
    let finding = format!(
        "At $n = 2^m$, $L$ has $n m/2 + 1$ ones, one more than printed, for {off_by_one} of the 61 powers of \
         two up to $2^60$; at other $n$ both norms differ. The mean squared error is $C^2 ‖L‖_F^2 ‖R‖^2/n$, \
         not $C ‖L‖_F ‖R‖$ as the sentence after it says."
    );
    let statement = "The binary tree factors the prefix sum with $$‖L‖_F^2 ‖R‖_(1→2)^2 = \\frac{n \\log_2 n}{2} (1 + \
         \\log_2 n).$$";
    Ok(Claim::new(
        "Lemma 40",
        "The tree as a factorization",
        statement,
        Verdict::if_all(off_by_one == 0),
        finding,
    )
    .with(table))
}
