//! `--bins`: the edges of bins.
//!
//! **Definition.** Either numbers in ascending order, or `LO..HI:N` for N equal bins between LO and HI, or
//! `LO..HI:Nlog` for N bins whose ends grow by one factor. The i-th of N + 1 evenly spaced edges is
//! (LO·(N − i) + HI·i)/N in doubles. Those of a logarithmic scale are rounded to four digits, which
//! people can read, and which hide the last bits of powers: the edges are the same on every machine. LO
//! and HI are edges as they were given.

use crate::error::{CliError, Result, shown};

/// More bins than anybody can look at.
const MAX_EDGES: usize = 100_000;

/// The edges that a text declares.
pub(super) fn parse(text: &str) -> Result<Vec<f64>> {
    let edges = match text.split_once("..") {
        Some((lo, rest)) => spaced(lo, rest).ok_or_else(|| {
            let expected =
                "LO..HI:N such as 0..1000:256, or LO..HI:Nlog with LO above 0, such as 1..1000:30log";
            CliError::bad(format!("--bins: expected {expected}, got {}", shown(text)))
        })?,
        None => text.split(',').map(number).collect::<Option<_>>().ok_or_else(|| {
            CliError::bad(format!("--bins: expected finite numbers such as 0,10,20,50, got {}", shown(text)))
        })?,
    };
    if edges.len() > MAX_EDGES {
        let got = edges.len();
        return Err(CliError::bad(format!("--bins: expected at most {MAX_EDGES} edges, got {got}")));
    }
    if edges.is_sorted_by(|edge, next| edge < next) {
        return Ok(edges);
    }
    let reason = if text.contains("..") { "; bins this narrow have equal ends" } else { "" };
    Err(CliError::bad(format!(
        "--bins: expected edges in ascending order, each once, got {}{reason}",
        shown(text)
    )))
}

fn number(part: &str) -> Option<f64> {
    part.trim().parse().ok().filter(|number: &f64| number.is_finite())
}

/// Evenly spaced edges, or those of a logarithmic scale. One more than may be is enough to be refused.
fn spaced(lo: &str, rest: &str) -> Option<Vec<f64>> {
    let (hi, bins) = rest.split_once(':')?;
    let (bins, is_log) = bins.trim().strip_suffix("log").map_or((bins, false), |bins| (bins, true));
    let (lo, hi, bins) = (number(lo)?, number(hi)?, bins.trim().parse::<usize>().ok()?);
    if lo >= hi || bins == 0 || (is_log && lo <= 0.0) {
        return None;
    }
    let all = bins as f64;
    let inner = (1..bins.min(MAX_EDGES)).map(|i| {
        let i = i as f64;
        if is_log {
            let edge = lo * (hi / lo).powf(i / all);
            format!("{edge:.3e}").parse().unwrap_or(edge)
        } else {
            (lo * (all - i) + hi * i) / all
        }
    });
    Some(std::iter::once(lo).chain(inner).chain([hi]).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn edges_are_listed_or_spaced() {
        for (text, edges) in [
            ("7", &[7.0][..]),
            ("-1.5, 0,10", &[-1.5, 0.0, 10.0]),
            ("0..10:4", &[0.0, 2.5, 5.0, 7.5, 10.0]),
            ("-1..1:2", &[-1.0, 0.0, 1.0]),
            ("0..1:1", &[0.0, 1.0]),
            ("0..1:10", &[0.0, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0]),
            ("1..1000:3log", &[1.0, 10.0, 100.0, 1000.0]),
            ("0.05 .. 20 : 2 log", &[0.05, 1.0, 20.0]),
            ("1..2:2log", &[1.0, 1.414, 2.0]),
        ] {
            assert_eq!(parse(text).unwrap(), edges, "{text}");
        }
        assert_eq!(parse("0..1:99999").unwrap().len(), 100_000);
    }

    #[test]
    fn edges_that_make_no_sense_are_refused() {
        for (text, part) in [
            ("", "expected finite numbers"),
            ("1,,2", "expected finite numbers"),
            ("1,1", "ascending"),
            ("0..10", "expected LO..HI:N"),
            ("0..10:", "expected LO..HI:N"),
            ("0..10:0", "expected LO..HI:N"),
            ("0..10:-3", "expected LO..HI:N"),
            ("10..0:5", "expected LO..HI:N"),
            ("0..inf:5", "expected LO..HI:N"),
            ("0..10:5log", "LO above 0"),
            ("0..1:100000", "at most 100000 edges"),
            ("0..1:18446744073709551615", "at most 100000 edges"),
            ("1..1.001:90log", "equal ends"),
            ("1..1.0000000000000002:9", "equal ends"),
        ] {
            let refusal = parse(text).unwrap_err().to_string();
            assert!(refusal.contains(part), "{text}: {refusal}");
        }
    }
}
