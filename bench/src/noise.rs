//! Times square-root noise on request, for `cargo xtask bench noise`.
//!
//! Each line of input is a task and a length. Each line of output is the seconds it took. The
//! Python worker `noise.py` uses the same protocol, so that the two can be timed alternately.

use std::io::{self, BufRead, Write};
use std::time::Instant;

use evertally::internals::noise::{CausalConvolver, NoiseKey, WhiteNoise, square_root_coefficients};

fn main() -> io::Result<()> {
    let white = WhiteNoise::gaussian(NoiseKey::insecure_from_seed(1).stream(b"bench"));
    let mut kept: Option<(CausalConvolver, Vec<f64>)> = None;
    let mut first = 0;
    for line in io::stdin().lock().lines() {
        let line = line?;
        let Some((task, n)) = parse(&line) else {
            return Err(io::Error::new(io::ErrorKind::InvalidInput, "expected: first|reused|normals LENGTH"));
        };
        first += n as u64;
        let seconds = match task {
            // Everything from the start: coefficients, plan, transforms of the kernel, memory,
            // normals, convolution.
            "first" => {
                drop(kept.take());
                let start = Instant::now();
                let convolver = CausalConvolver::new(&square_root_coefficients(n));
                let mut z = vec![0.0; n];
                white.fill_parallel(first, &mut z);
                convolver.apply(&mut z);
                let seconds = start.elapsed().as_secs_f64();
                kept = Some((convolver, z));
                seconds
            }
            // Reuses the plan of the last `first`: normals and convolution.
            "reused" => {
                if kept.as_ref().is_none_or(|(convolver, _)| convolver.len() != n) {
                    kept = Some((CausalConvolver::new(&square_root_coefficients(n)), vec![0.0; n]));
                }
                let Some((convolver, z)) = &mut kept else { continue };
                let start = Instant::now();
                white.fill_parallel(first, z);
                convolver.apply(z);
                start.elapsed().as_secs_f64()
            }
            "normals" => {
                let mut z = vec![0.0; n];
                let start = Instant::now();
                white.fill_parallel(first, &mut z);
                start.elapsed().as_secs_f64()
            }
            "normals-one-thread" => {
                let mut z = vec![0.0; n];
                z.fill(1.0);
                let start = Instant::now();
                white.fill(first, &mut z);
                start.elapsed().as_secs_f64()
            }
            _ => return Err(io::Error::new(io::ErrorKind::InvalidInput, "unknown task")),
        };
        // The values are used, so that the compiler cannot remove their computation.
        if let Some((_, z)) = &kept {
            assert!(z.iter().step_by(997).all(|value| value.is_finite()));
        }
        writeln!(io::stdout(), "{seconds}")?;
        io::stdout().flush()?;
    }
    Ok(())
}

fn parse(line: &str) -> Option<(&str, usize)> {
    let (task, n) = line.trim().split_once(' ')?;
    Some((task, n.parse().ok()?))
}
