use std::collections::BTreeMap;

use super::*;
use crate::noise::integer::exact;
use crate::noise::integer::words::{Listed, SimpleGenerator};

const LAWS: [IntegerLaw; 2] = [IntegerLaw::Gaussian, IntegerLaw::Laplace];

fn gamma(law: IntegerLaw, z: i64, scale: u64) -> f64 {
    let x = z as f64 / scale as f64;
    if law == IntegerLaw::Gaussian { 0.5 * x * x } else { x.abs() }
}

/// What the proof requires of the counts, with a margin far above these rounding errors.
#[test]
fn no_acceptance_probability_is_above_one() {
    let n = |strip: usize| f64::from(GAUSSIAN.ratios[strip].denominator);
    for strip in 0..GAUSSIAN_STRIPS {
        assert!(n(strip) >= n(0) * (-(strip as f64).powi(2) / 32.0).exp(), "{strip}");
    }
    for run in 0..MAX_RUN {
        let strip = GAUSSIAN_STRIPS as f64 + f64::from(run);
        let log_probability = (n(0) / n(GAUSSIAN_STRIPS)).log2() + f64::from(run + 1)
            - strip * strip / 32.0 * std::f64::consts::LOG2_E;
        assert!(log_probability < -1.0, "{run}: {log_probability}");
    }
    let n = |strip: usize| f64::from(LAPLACE.ratios[strip].denominator);
    for strip in 0..LAPLACE_STRIPS {
        assert!(n(strip) >= n(0) * (-(strip as f64) / 4.0).exp2(), "{strip}");
    }
    for scale in [1, 2, 3, 1000, 1 << 44, (1 << 52) - 1] {
        let [gaussian, laplace] = LAWS.map(|law| ScaledLaw::new(law, scale).width as f64 / scale as f64);
        assert!(gaussian >= 0.25 && gaussian <= 0.25 + 1.0 / scale as f64);
        let least = std::f64::consts::LN_2 / 4.0;
        assert!(laplace > least && laplace < least + 1e-5 + 1.0 / scale as f64);
    }
}

/// The largest sizes, which matter for sums of draws.
#[test]
fn no_draw_is_as_large_as_256_scales() {
    for scale in (16..10_000).chain([1 << 44, (1 << 52) - 1]) {
        let [gaussian, laplace] = LAWS.map(|law| ScaledLaw::new(law, scale).width);
        assert!(gaussian * u64::from(GAUSSIAN_STRIPS as u32 + MAX_RUN) <= 256 * scale);
        assert!(laplace * u64::from(LAPLACE_STRIPS as u32 * MAX_RUN) <= 256 * scale);
    }
}

/// The first digit at which the proposal from these words is rejected, which is its acceptance
/// probability times 2³².
fn accepted_digits(law: &ScaledLaw, words: [u32; 3], after: &[u32], z: &mut i64) -> u64 {
    let (mut low, mut high) = (0, 1 << 32);
    while low < high {
        let digit = (low + high) / 2;
        let [choice, place_low, place_high] = words;
        let words = [&[choice, place_low, place_high, digit as u32], after].concat();
        match law.propose(&mut Listed::new(&words)) {
            Some(drawn) => {
                *z = drawn;
                low = digit + 1;
            }
            None => high = digit,
        }
    }
    low
}

/// Enumerates all proposals at small scales with the code that draws: z has probability
/// (c/2w)·exp(−γ), as in the proof. One byte stands for all bytes of its strip, and runs of zeros
/// end at 30.
#[test]
fn enumerated_probabilities_are_those_of_the_law() {
    for (law, counts, c) in [
        (IntegerLaw::Gaussian, &[45, 44, 40, 34, 28, 21, 15, 10, 7, 4, 2, 6][..], 45.0 / 256.0),
        (IntegerLaw::Laplace, &[80, 69, 58, 49], 80.0 / 512.0),
    ] {
        for scale in [1, 2, 3, 5, 10, 33] {
            let scaled = ScaledLaw::new(law, scale);
            let mut probabilities = BTreeMap::<i64, f64>::new();
            let mut byte = 0;
            for (strip, &count) in counts.iter().enumerate() {
                byte += count;
                let has_run = law == IntegerLaw::Laplace || strip == GAUSSIAN_STRIPS;
                for (sign, run) in (0..2).flat_map(|sign| (0..30).map(move |run| (sign, run))) {
                    if run > 0 && !has_run {
                        continue;
                    }
                    let first = if run < 23 { 1 << (CHOICE_BITS + run) } else { 0 };
                    let further = if run < 23 { &[][..] } else { &[1 << (run - 23)] };
                    let weight = if has_run { (-f64::from(run) - 1.0).exp2() } else { 1.0 };
                    let weight = weight * f64::from(count) / 512.0 / scaled.width as f64;
                    for place in 0..scaled.width {
                        // The middle of the words for this place.
                        let word =
                            (((u128::from(place) << 64) + (1 << 63)) / u128::from(scaled.width)) as u64;
                        let words = [(byte - 1) | sign << 8 | first, word as u32, (word >> 32) as u32];
                        let mut z = 0;
                        let probability =
                            accepted_digits(&scaled, words, further, &mut z) as f64 / 4294967296.0;
                        *probabilities.entry(z).or_default() += weight * probability;
                    }
                }
            }
            assert_eq!(byte, 256);
            for z in (-8..=8).map(|x| x * scale as i64).chain(-40..=40) {
                let want = c / (2.0 * scaled.width as f64) * (-gamma(law, z, scale)).exp();
                let got = probabilities.get(&z).copied().unwrap_or(0.0);
                assert!((got - want).abs() < 1e-10, "{law:?} of {scale} at {z}: {got}, not {want}");
            }
        }
    }
}

/// Among the accepted 64-bit numbers, every place has the same number of them.
#[test]
fn places_are_uniform() {
    let mut words = SimpleGenerator(2);
    for end in [1, 2, 3, 5, 7, 1000, 1 << 42, (1 << 42) + 1, (3 << 48) - 1, (1 << 50) - 3, 1 << 50] {
        let each = (1_u128 << 64) / u128::from(end);
        let some = (0..50).map(|_| u64::from(words.next()) << 20 | u64::from(words.next() >> 12));
        for place in some.map(|place| place % end).chain([0, end - 1]) {
            let first = (u128::from(place) << 64).div_ceil(end.into());
            let next = (u128::from(place + 1) << 64).div_ceil(end.into());
            let refused = u128::from(below(end, first as u64).is_none());
            assert_eq!(next - first - refused, each, "{place} of {end}");
            for word in [first + refused, first + 1, (first + next) / 2, next - 1] {
                assert!(word >= next || below(end, word as u64) == Some(place), "{place} of {end}");
            }
        }
    }
}

/// The draw as it is defined, step by step, with every probability compared digit by digit.
fn obvious(law: IntegerLaw, scale: u64, words: &mut SimpleGenerator) -> i64 {
    let counts: &[u8] = match law {
        IntegerLaw::Gaussian => &[45, 44, 40, 34, 28, 21, 15, 10, 7, 4, 2, 6],
        IntegerLaw::Laplace => &[80, 69, 58, 49],
    };
    let width = match law {
        IntegerLaw::Gaussian => scale.div_ceil(4),
        IntegerLaw::Laplace => (u128::from(scale) * 11357 / 65536) as u64 + 1,
    };
    loop {
        let [choice, low, high, digit] = [(); 4].map(|()| words.next());
        let mut byte = choice % 256;
        let mut strip = 0;
        while byte >= u32::from(counts[strip]) {
            byte -= u32::from(counts[strip]);
            strip += 1;
        }
        let is_negative = choice / 256 % 2 == 1;
        let mut zeros = 0;
        let (mut bits, mut left) = (choice / 512, 23);
        let needs_run = law == IntegerLaw::Laplace || strip == 11;
        while needs_run && bits % 2 == 0 {
            zeros += 1;
            (bits, left) = (bits / 2, left - 1);
            if left == 0 {
                (bits, left) = (words.next(), 32);
            }
        }
        let (strip, count, doublings) = match law {
            IntegerLaw::Gaussian if strip < 11 => (strip as u64, counts[strip], 0),
            IntegerLaw::Gaussian => (11 + u64::from(zeros), counts[11], zeros + 1),
            IntegerLaw::Laplace => (4 * u64::from(zeros) + strip as u64, counts[strip], zeros),
        };
        let place = u128::from(low) + (u128::from(high) << 32);
        let product = place * u128::from(width);
        if product % (1 << 64) < (1 << 64) % u128::from(width) {
            continue;
        }
        let size = strip * width + (product / (1 << 64)) as u64;
        if is_negative && size == 0 {
            continue;
        }
        let (scale, ratio) = (Scale::new(scale), Ratio::new(counts[0], count));
        if exact::exceeds(&Acceptance { law, scale: &scale, size, ratio, doublings }, digit, words) {
            return if is_negative { -(size as i64) } else { size as i64 };
        }
    }
}

#[test]
fn draws_are_those_of_the_definition() {
    for law in LAWS {
        for scale in [1, 2, 5, 1000, (1 << 44) - 1, 1 << 44, (1 << 52) - 1] {
            let scaled = ScaledLaw::new(law, scale);
            let mut words = SimpleGenerator(scale);
            for draw in 0..1000 {
                let want = obvious(law, scale, &mut words.clone());
                assert_eq!(scaled.draw(&mut words), want, "{law:?} of {scale}, draw {draw}");
            }
        }
    }
}

#[test]
fn runs_are_counted_across_words_and_end() {
    let run = |choice: u32, further: &[u32]| zeros(choice, &mut Listed::new(further));
    assert_eq!(run(1 << 9, &[]), Some(0));
    assert_eq!(run(0x1ff | 1 << 31, &[]), Some(22));
    assert_eq!(run(0x1ff, &[1]), Some(23));
    assert_eq!(run(0, &[0, 0, 1 << 31]), Some(23 + 64 + 31));
    assert_eq!(run(0, &[0, 0, 0, 0, 0, 0, 0, 1 << 8]), Some(255));
    assert_eq!(run(0, &[0, 0, 0, 0, 0, 0, 0, 1 << 9]), None);
    assert_eq!(run(0, &[]), None);
}

/// Minus zero would count zero twice. It is rejected for any further words.
#[test]
fn zero_has_one_sign() {
    for law in LAWS {
        let scaled = ScaledLaw::new(law, 1 << 44);
        let zero = |choice: u32| scaled.propose(&mut Listed::new(&[choice, 1, 0, 0]));
        assert_eq!(zero(1 << 9), Some(0));
        assert_eq!(zero(1 << 9 | 1 << 8), None);
    }
}
