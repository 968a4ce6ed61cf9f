//! Times the certified optimum on request, for `cargo xtask bench gamma`.
//!
//! The answer to a line `time N GAP` is the seconds it took to certify γ_F of the prefix sum over N
//! steps to that relative gap. The answer to `optimum N` is the optimal mean error factor.

use std::io::{self, BufRead, Write};
use std::time::Instant;

use evertally::Workload;
use evertally::research::gamma::{Subject, gamma_f};

fn main() -> io::Result<()> {
    for line in io::stdin().lock().lines() {
        let line = line?;
        let bad = || io::Error::new(io::ErrorKind::InvalidInput, "expected: time N GAP, or optimum N");
        let words: Vec<&str> = line.split_whitespace().collect();
        let (n, gap) = match words[..] {
            ["time", n, gap] => (n.parse().ok(), gap.parse().ok()),
            ["optimum", n] => (n.parse().ok(), Some(1e-9)),
            _ => return Err(bad()),
        };
        let (Some(n), Some(gap)) = (n, gap) else { return Err(bad()) };
        let start = Instant::now();
        let certificate =
            gamma_f(Subject::workload(Workload::PrefixSum, n), gap, &()).map_err(io::Error::other)?;
        let seconds = start.elapsed().as_secs_f64();
        let reached = certificate.gap();
        if reached > gap {
            return Err(io::Error::other(format!("the gap at {n} is {reached:e}, not {gap:e}")));
        }
        let answer = if words[0] == "optimum" { certificate.error_factor().1 } else { seconds };
        writeln!(io::stdout(), "{answer}")?;
        io::stdout().flush()?;
    }
    Ok(())
}
