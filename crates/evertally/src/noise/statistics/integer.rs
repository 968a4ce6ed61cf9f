//! Tests of integer noise. At small scales every number is tested against its exact probability. At
//! large scales the tests of floating-point noise apply. The lowest bits are tested as well.

use super::reference::{GAUSSIAN, LAPLACE};
use super::short::{examine, examine_lags};
use super::{SHORT, of_chi_squared, of_count};
use crate::noise::integer::{IntegerLaw, IntegerNoise};
use crate::noise::{LaneTag, NoiseKey};

const DRAWS: usize = 1_000_000;
const LANES: u32 = 1000;
/// The minimum expected count of a χ² cell.
const MIN_CELL_COUNT: f64 = 100.0;

fn noise(seed: u64, law: IntegerLaw) -> IntegerNoise {
    IntegerNoise::new(NoiseKey::insecure_from_seed(seed).stream(b"whole statistics"), law)
}

/// 10⁶ draws: a thousand lanes, step by step.
fn draws(noise: &IntegerNoise, scale: u64) -> Vec<i64> {
    let lanes: Vec<LaneTag> = (0..LANES).map(|lane| noise.tag(&lane.to_le_bytes())).collect();
    let mut z = vec![0; DRAWS];
    for (index, row) in (0..).zip(z.chunks_mut(lanes.len())) {
        noise.draw_each(&lanes, index, scale, row);
    }
    z
}

/// Draws in units of the standard deviation that the law would have on the real numbers.
fn in_units(z: &[i64], deviation: f64) -> Vec<f64> {
    z.iter().map(|&z| z as f64 / deviation).collect()
}

/// χ² against the probabilities of all integers, at a scale that need not be an integer. The tails
/// are merged.
fn of_probabilities(z: &[i64], law: IntegerLaw, scale: f64) -> f64 {
    let weight = |z: i64| {
        let x = z as f64 / scale;
        if law == IntegerLaw::Gaussian { (-0.5 * x * x).exp() } else { (-x.abs()).exp() }
    };
    // Beyond 60 scales, the total probability is below 10⁻²⁵.
    let end = (60.0 * scale) as i64;
    let total: f64 = (-end..=end).map(weight).sum();
    let n = z.len() as f64;
    let expected = |z: i64| n * weight(z) / total;
    let reach = (0..end).take_while(|&z| expected(z) >= MIN_CELL_COUNT).last().unwrap_or(0);
    let mut cells = vec![(0.0, 0.0); 2 * reach as usize + 3];
    let cell = |z: i64| (z.clamp(-reach - 1, reach + 1) + reach + 1) as usize;
    for z in -end..=end {
        cells[cell(z)].1 += expected(z);
    }
    for &z in z {
        cells[cell(z)].0 += 1.0;
    }
    let statistic = cells.iter().map(|(got, want): &(f64, f64)| (got - want).powi(2) / want).sum();
    of_chi_squared(statistic, (cells.len() - 1) as f64)
}

fn numbers_have_their_probabilities(law: IntegerLaw) {
    for scale in [1, 2, 3, 10, 100] {
        let z = draws(&noise(scale, law), scale);
        let share = of_probabilities(&z, law, scale as f64);
        assert!(share <= 1.0, "{law:?} of {scale} is refused: {share} of the threshold");
        // Compared with a scale that much larger, the same draws are 15 % short.
        let share = of_probabilities(&z, law, scale as f64 / SHORT);
        assert!(share > 1.0, "{law:?} of {scale} passes although 15 % short: {share}");
    }
}

#[test]
fn gaussian_numbers_have_their_probabilities() {
    numbers_have_their_probabilities(IntegerLaw::Gaussian);
}

#[test]
fn laplace_numbers_have_their_probabilities() {
    numbers_have_their_probabilities(IntegerLaw::Laplace);
}

#[test]
fn wide_gaussian_draws_are_gaussian() {
    for scale in [1 << 44, IntegerNoise::SCALES - 1] {
        let z = draws(&noise(20, IntegerLaw::Gaussian), scale);
        let x = in_units(&z, scale as f64);
        examine(&x, &GAUSSIAN);
        examine_lags(&x);
    }
}

#[test]
fn wide_laplace_draws_are_laplace() {
    for scale in [1 << 44, IntegerNoise::SCALES - 1] {
        let z = draws(&noise(21, IntegerLaw::Laplace), scale);
        examine(&in_units(&z, scale as f64 * 2.0_f64.sqrt()), &LAPLACE);
    }
}

/// Half of the wide draws are negative, to within less than 10⁻¹³.
fn of_signs(z: &[i64]) -> f64 {
    of_count(z.iter().filter(|&&z| z < 0).count() as f64, z.len() as f64, 0.5)
}

/// χ² of eight neighbouring bits of a wide draw, which are uniform to far beyond double precision.
fn of_bits(z: &[i64], lowest: u32) -> f64 {
    let mut counts = [0_u32; 256];
    for &z in z {
        counts[(z >> lowest & 255) as usize] += 1;
    }
    let want = z.len() as f64 / 256.0;
    let statistic = counts.iter().map(|&count| (f64::from(count) - want).powi(2) / want).sum();
    of_chi_squared(statistic, 255.0)
}

#[test]
fn signs_and_low_bits_are_even() {
    for (seed, law) in [(30, IntegerLaw::Gaussian), (31, IntegerLaw::Laplace)] {
        let z = draws(&noise(seed, law), 1 << 44);
        assert!(of_signs(&z) <= 1.0, "{law:?}: {}", of_signs(&z));
        for lowest in [0, 4, 8, 13] {
            assert!(of_bits(&z, lowest) <= 1.0, "{law:?}, bits from {lowest} on: {}", of_bits(&z, lowest));
        }
        // One sign in fifty is lost, and one bit in twenty.
        let lean: Vec<i64> = z.iter().zip(0..).map(|(z, i)| if i % 50 == 0 { z.abs() } else { *z }).collect();
        assert!(of_signs(&lean) > 1.0, "{}", of_signs(&lean));
        for bit in [0, 11, 20] {
            let flat = z.iter().zip(0..).map(|(z, i)| if i % 20 == 0 { z & !(1 << bit) } else { *z });
            let flat: Vec<i64> = flat.collect();
            assert!([0, 4, 8, 13].into_iter().any(|lowest| of_bits(&flat, lowest) > 1.0), "bit {bit}");
        }
    }
}
