//! The long suite: 10⁸ draws of each kind, counted in constant memory.

use super::reference::{GAUSSIAN, LAPLACE, Reference};
use super::{SHORT, Z, of_chi_squared, of_count, of_distance};
use crate::noise::integer::{IntegerLaw, IntegerNoise};
use crate::noise::{KeyedNoise, LaneTag, NoiseKey, StreamKey, WhiteNoise};

const DRAWS: u64 = 100_000_000;
/// Draws made and counted at a time.
const CHUNK: usize = 1 << 16;
/// The cells of the histogram cover −8 to 8, with this many per unit. One more cell at each end
/// takes the rest.
const CELLS_PER_UNIT: usize = 1 << 16;
const REACH: usize = 8;
const CELLS: usize = 2 * REACH * CELLS_PER_UNIT;
/// Histogram cells that χ² merges, and the minimum expected count of a merged cell.
const CHI_SQUARED_CELLS: usize = 256;
const MIN_CELL_COUNT: f64 = 100.0;
const TAILS: [f64; 5] = [2.0, 3.0, 4.0, 5.0, 6.0];

/// The statistics that the checks need, for any number of draws.
#[derive(Default)]
struct DrawStatistics {
    count: u64,
    power_sums: [f64; 4],
    beyond: [u64; TAILS.len()],
    /// Cell i counts draws from its lower boundary up to, but not including, the next one.
    cells: Vec<u32>,
    last: f64,
    neighbours: f64,
    pairs: f64,
    pairs_squared: f64,
}

impl DrawStatistics {
    fn new() -> Self {
        Self { cells: vec![0; CELLS + 2], ..Self::default() }
    }

    /// Sums are taken chunk by chunk first, so that rounding stays below what a check could see.
    fn add(&mut self, x: &[f64]) {
        let mut sums = [0.0; 4];
        let mut neighbours = 0.0;
        for &v in x {
            let square = v * v;
            for (sum, power) in sums.iter_mut().zip([v, square, v * square, square * square]) {
                *sum += power;
            }
            for (count, tail) in self.beyond.iter_mut().zip(TAILS) {
                *count += u64::from(v.abs() > tail);
            }
            let cell = ((v + REACH as f64) * CELLS_PER_UNIT as f64).floor() + 1.0;
            self.cells[cell.clamp(0.0, (CELLS + 1) as f64) as usize] += 1;
            neighbours += self.last * v;
            self.last = v;
        }
        let (mut pairs, mut pairs_squared) = (0.0, 0.0);
        for pair in x.chunks_exact(2) {
            pairs += pair[0] * pair[1];
            pairs_squared += (pair[0] * pair[0] - 1.0) * (pair[1] * pair[1] - 1.0);
        }
        for (total, sum) in self.power_sums.iter_mut().zip(sums) {
            *total += sum;
        }
        self.neighbours += neighbours;
        self.pairs += pairs;
        self.pairs_squared += pairs_squared;
        self.count += x.len() as u64;
    }

    /// All checks: name, observed value, fraction of the threshold, and whether the check must
    /// detect a standard deviation that is 15 % short.
    fn checks(&self, law: &Reference) -> Vec<(String, String, f64, bool)> {
        let n = self.count as f64;
        let mut checks = Vec::new();
        for power in 1..=4 {
            let (mean, want) = (self.power_sums[power - 1] / n, law.moments[power - 1]);
            let z = (mean - want) / ((law.moments[2 * power - 1] - want * want) / n).sqrt();
            checks.push((
                format!("moment {power}"),
                format!("{mean:+.6}, z = {z:+.2}"),
                z.abs() / Z,
                power % 2 == 0,
            ));
        }
        for (&tail, &count) in TAILS.iter().zip(&self.beyond) {
            let p = 2.0 * (law.cdf)(-tail);
            // If fewer draws are expected than the logarithm of the threshold, even none at all is
            // no surprise.
            let sees_short = n * p > 40.0;
            let seen = format!("{count} of {:.1} expected", n * p);
            checks.push((format!("beyond {tail}"), seen, of_count(count as f64, n, p), sees_short));
        }
        let cdf: Vec<f64> = (0..=CELLS)
            .map(|i| (law.cdf)(i as f64 / CELLS_PER_UNIT as f64 - REACH as f64))
            .chain([1.0])
            .collect();
        checks.push(self.chi_squared(&cdf));
        checks.push(self.kolmogorov_smirnov(&cdf));
        let square_spread = law.moments[3] - 1.0;
        for (name, z) in [
            ("neighbours", self.neighbours / (n - 1.0).sqrt()),
            ("pairs", self.pairs / (n / 2.0).sqrt()),
            ("squares of pairs", self.pairs_squared / (square_spread * (n / 2.0).sqrt())),
        ] {
            checks.push((format!("correlation of {name}"), format!("z = {z:+.2}"), z.abs() / Z, false));
        }
        checks
    }

    /// Cells of 1/256, merged in the tails until enough draws are expected.
    fn chi_squared(&self, cdf: &[f64]) -> (String, String, f64, bool) {
        let n = self.count as f64;
        let mut merged: Vec<(f64, f64)> = vec![(0.0, 0.0)];
        let ends = (0..=CELLS).step_by(CHI_SQUARED_CELLS).chain([CELLS + 1]);
        let (mut start, mut below) = (0, 0.0);
        for end in ends {
            let got: f64 = self.cells[start..=end].iter().map(|&count| f64::from(count)).sum();
            let want = n * (cdf[end] - below);
            (start, below) = (end + 1, cdf[end]);
            match merged.last_mut() {
                Some(cell) if cell.1 < MIN_CELL_COUNT => *cell = (cell.0 + got, cell.1 + want),
                _ => merged.push((got, want)),
            }
        }
        // The remainder at the upper end joins its neighbour.
        if let Some(&(got, want)) = merged.last().filter(|cell| cell.1 < MIN_CELL_COUNT) {
            merged.pop();
            if let Some(cell) = merged.last_mut() {
                *cell = (cell.0 + got, cell.1 + want);
            }
        }
        let statistic: f64 = merged.iter().map(|(got, want)| (got - want).powi(2) / want).sum();
        let freedom = (merged.len() - 1) as f64;
        let seen = format!("{statistic:.1} at {freedom} degrees of freedom");
        ("chi-squared".into(), seen, of_chi_squared(statistic, freedom), true)
    }

    /// The distance at cell boundaries. It is never above the true distance, so the same bound on
    /// false alarms applies. It is below the true distance by at most the largest cell, because
    /// both functions increase across a cell.
    fn kolmogorov_smirnov(&self, cdf: &[f64]) -> (String, String, f64, bool) {
        let n = self.count as f64;
        let (mut seen, mut below) = (0_u64, 0.0);
        let (mut distance, mut largest_cell) = (0.0_f64, 0.0_f64);
        for (&count, &cdf) in self.cells.iter().zip(cdf) {
            seen += u64::from(count);
            distance = distance.max((seen as f64 / n - cdf).abs());
            largest_cell = largest_cell.max(cdf - below);
            below = cdf;
        }
        let text =
            format!("√n D from {:.3} to {:.3}", n.sqrt() * distance, n.sqrt() * (distance + largest_cell));
        ("Kolmogorov–Smirnov".into(), text, of_distance(distance, n), true)
    }
}

/// Examines `draws` draws, and the same draws scaled to be 15 % short. `fill(i, x)` writes chunk i.
fn examine(title: &str, law: &Reference, draws: u64, mut fill: impl FnMut(u64, &mut [f64])) {
    let (mut statistics, mut short) = (DrawStatistics::new(), DrawStatistics::new());
    let mut x = vec![0.0; CHUNK];
    for chunk in 0..draws.div_ceil(CHUNK as u64) {
        let wanted = (draws - chunk * CHUNK as u64).min(CHUNK as u64) as usize;
        fill(chunk, &mut x);
        statistics.add(&x[..wanted]);
        x.iter_mut().for_each(|v| *v *= SHORT);
        short.add(&x[..wanted]);
    }
    assert_eq!(statistics.count, draws);
    println!("\n{title}: {draws} draws; shares of the threshold, and of the same 15 % short");
    for ((name, seen, share, must_see), (.., short, _)) in
        statistics.checks(law).into_iter().zip(short.checks(law))
    {
        println!("  {name:<32} {seen:<36} {share:>7.3} {short:>12.1}");
        assert!(share <= 1.0, "{title}: {name} refuses true noise: {share} of the threshold");
        assert!(!must_see || short > 1.0, "{title}: {name} does not see 15 % short: {short}");
    }
}

fn stream(seed: u64) -> StreamKey {
    NoiseKey::insecure_from_seed(seed).stream(b"long statistics")
}

fn examine_white(title: &str, law: &Reference, draws: u64, white: &WhiteNoise) {
    examine(title, law, draws, |chunk, x| white.fill(chunk * CHUNK as u64, x));
}

#[test]
#[ignore = "10⁸ draws: cargo xtask statistics"]
fn gaussian() {
    examine_white("Gaussian", &GAUSSIAN, DRAWS, &WhiteNoise::gaussian(stream(3)));
}

#[test]
#[ignore = "10⁸ draws: cargo xtask statistics"]
fn gaussian_chacha8() {
    examine_white("Gaussian, 8 rounds", &GAUSSIAN, DRAWS, &WhiteNoise::gaussian_chacha8(stream(4)));
}

#[test]
#[ignore = "10⁸ draws: cargo xtask statistics"]
fn laplace() {
    examine_white("Laplace", &LAPLACE, DRAWS, &WhiteNoise::laplace(stream(5)));
}

#[test]
#[ignore = "10⁸ draws: cargo xtask statistics"]
fn keyed_along_one_key() {
    let noise = KeyedNoise::gaussian(stream(6));
    let tag = noise.tag(b"name");
    examine("Gaussian, along one key", &GAUSSIAN, DRAWS, |chunk, x| noise.fill(tag, chunk * CHUNK as u64, x));
}

/// Step by step, so that neighbours are the same draw of two keys.
#[test]
#[ignore = "10⁸ draws: cargo xtask statistics"]
fn keyed_across_keys() {
    let noise = KeyedNoise::gaussian(stream(7));
    let tags: Vec<LaneTag> = (0..CHUNK as u32).map(|name| noise.tag(&name.to_le_bytes())).collect();
    examine("Gaussian, across 2^16 keys", &GAUSSIAN, DRAWS, |step, x| noise.draw_each(&tags, step, x));
}

/// Integers in units of their standard deviation. At this scale their law is that of real numbers,
/// to within 2⁻⁴⁴.
fn examine_integers(title: &str, law: &Reference, noise: &IntegerNoise, deviation: f64) {
    const SCALE: u64 = 1 << 44;
    let lanes: Vec<LaneTag> = (0..CHUNK as u32).map(|name| noise.tag(&name.to_le_bytes())).collect();
    let mut z = vec![0; CHUNK];
    examine(title, law, DRAWS, |step, x| {
        noise.draw_each(&lanes, step, SCALE, &mut z);
        for (x, &z) in x.iter_mut().zip(&z) {
            *x = z as f64 / (SCALE as f64 * deviation);
        }
    });
}

#[test]
#[ignore = "10⁸ draws: cargo xtask statistics"]
fn integer_gaussian() {
    let noise = IntegerNoise::new(stream(11), IntegerLaw::Gaussian);
    examine_integers("Gaussian, integers", &GAUSSIAN, &noise, 1.0);
}

#[test]
#[ignore = "10⁸ draws: cargo xtask statistics"]
fn integer_laplace() {
    let noise = IntegerNoise::new(stream(12), IntegerLaw::Laplace);
    examine_integers("Laplace, integers", &LAPLACE, &noise, std::f64::consts::SQRT_2);
}

/// The statistics themselves, on few enough draws for the ordinary tests.
#[test]
fn a_hundredth_of_the_long_suite() {
    examine_white("Gaussian", &GAUSSIAN, DRAWS / 100, &WhiteNoise::gaussian(stream(8)));
    examine_white("Laplace", &LAPLACE, DRAWS / 100, &WhiteNoise::laplace(stream(9)));
}

/// The checks that do not detect scale must detect correlated and asymmetric draws.
#[test]
fn the_long_suite_sees_correlation_and_bias() {
    let white = WhiteNoise::gaussian(stream(10));
    let mut x = vec![0.0; 1 << 20];
    white.fill(0, &mut x);
    let refused = |spoil: &dyn Fn(&mut [f64])| -> Vec<String> {
        let mut y = x.clone();
        spoil(&mut y);
        let mut statistics = DrawStatistics::new();
        statistics.add(&y);
        statistics.checks(&GAUSSIAN).into_iter().filter(|check| check.2 > 1.0).map(|check| check.0).collect()
    };
    assert_eq!(refused(&|_| {}), Vec::<String>::new());
    let biased = refused(&|y| y.iter_mut().for_each(|v| *v += 0.02));
    assert_eq!(biased, ["moment 1", "moment 3", "chi-squared", "Kolmogorov–Smirnov"]);
    // The draws of a pair have a correlation of one hundredth, at the same variance.
    let leaning = refused(&|y| {
        for pair in y.chunks_exact_mut(2) {
            pair[1] = 0.01 * pair[0] + (1.0 - 0.0001_f64).sqrt() * pair[1];
        }
    });
    assert_eq!(leaning, ["correlation of neighbours", "correlation of pairs"]);
    // One pair in fifty shares its size. The law of each draw is unchanged.
    let sharing = refused(&|y| {
        for pair in y.chunks_exact_mut(2).step_by(50) {
            pair[1] = pair[0].copysign(pair[1]);
        }
    });
    assert_eq!(sharing, ["correlation of squares of pairs"]);
}
