use super::*;
use crate::noise::integer::natural::Natural;
use crate::noise::integer::words::{Listed, SimpleGenerator};

/// exp(−γ) itself.
fn plain_acceptance(law: IntegerLaw, scale: &Scale, size: u64) -> Acceptance<'_> {
    Acceptance { law, scale, size, ratio: Ratio::new(1, 1), doublings: 0 }
}

/// Typical acceptance probabilities, and some far out. They cover every strip, with sizes spread
/// over twice the strip's width.
fn for_many_acceptances(mut look: impl FnMut(&Acceptance<'_>)) {
    let mut words = SimpleGenerator(1);
    let gaussian = [45, 44, 40, 34, 28, 21, 15, 10, 7, 4, 2];
    let scales = [1, 2, 3, 4, 7, 100, 1 << 20, 12345678901, 1 << 44, (1 << 51) - 1, 1 << 51, (1 << 52) - 1];
    for scale in scales.map(Scale::new) {
        let mut spread = |strip: u64, width: f64| {
            let least = (strip as f64 * width * scale.value as f64).ceil() as u64;
            least + ((u128::from(words.next()) * u128::from(scale.value)) >> 33) as u64
        };
        for round in 0..60 {
            for (strip, count) in gaussian.into_iter().enumerate() {
                let size = spread(strip as u64, 0.25);
                let ratio = Ratio::new(45, count);
                look(&Acceptance { law: IntegerLaw::Gaussian, scale: &scale, size, ratio, doublings: 0 });
            }
            let size = spread(11 + round, 0.25);
            let (ratio, doublings) = (Ratio::new(45, 6), round as u32 + 1);
            look(&Acceptance { law: IntegerLaw::Gaussian, scale: &scale, size, ratio, doublings });
            for (strip, count) in [80, 69, 58, 49].into_iter().enumerate() {
                let size = spread(4 * round + strip as u64, 0.173_29);
                let (ratio, doublings) = (Ratio::new(80, count), round as u32);
                look(&Acceptance { law: IntegerLaw::Laplace, scale: &scale, size, ratio, doublings });
            }
        }
    }
}

#[test]
fn the_enclosure_holds() {
    let (mut looked_at, mut far, mut tight) = (0, 0, true);
    for_many_acceptances(|acceptance| {
        let Some(near) = acceptance.near() else {
            far += 1;
            return;
        };
        looked_at += 1;
        let shift = exact::fraction_bits(acceptance, 4) - 63;
        let [least, most] = exact::enclosure(acceptance, 4);
        let denominator = u64::from(acceptance.ratio.denominator);
        let is_within = |slack: u64| {
            let scaled = |value: u64| Natural::from(value).times(denominator).shifted(shift);
            // The slack is added to both sides, because there are no negative numbers.
            let raised = scaled(slack);
            scaled(near).compare(&least.clone().plus(&raised)).is_lt()
                && most.compare(&scaled(near + slack)).is_lt()
        };
        assert!(is_within(SLACK), "{} at scale {}", acceptance.size, acceptance.scale.value);
        tight &= is_within(SLACK / 4);
    });
    assert!(looked_at > 10_000 && far > 10, "{looked_at} looked at, {far} too far out");
    assert!(!tight, "the bound says more than is true by a factor of four");
}

/// Tests digits at and around the probability itself, where the first digit must leave the decision
/// open.
#[test]
fn the_first_digit_never_contradicts_the_others() {
    let mut opened = 0;
    for_many_acceptances(|acceptance| {
        let Some(near) = acceptance.near() else { return };
        let digit = (near >> 31) as u32;
        for digit in [
            digit.wrapping_sub(2),
            digit.wrapping_sub(1),
            digit,
            digit.wrapping_add(1),
            digit.wrapping_add(2),
        ] {
            for next in [0, 1 << 31, u32::MAX] {
                let got = acceptance.exceeds(digit, &mut Listed::new(&[next]));
                assert_eq!(got, exact::exceeds(acceptance, digit, &mut Listed::new(&[next])));
            }
        }
        let answers = [0, u32::MAX].map(|next| acceptance.exceeds(digit, &mut Listed::new(&[next; 4])));
        opened += u32::from(answers[0] != answers[1]);
    });
    assert!(opened > 10_000, "{opened} chances whose first digit decides nothing");
}

/// The digits of exp(−1/8), …, exp(−3) in base 2³², from a program for arbitrary precision.
const DIGITS: [(IntegerLaw, u64, u64, [u32; 8]); 6] = [
    (IntegerLaw::Gaussian, 4, 8, EXP_MINUS_EIGHTH),
    (IntegerLaw::Laplace, 1 << 40, 1 << 43, EXP_MINUS_EIGHTH),
    (
        IntegerLaw::Gaussian,
        (1 << 52) - 1,
        (1 << 52) - 1,
        [
            0x9b45_97e3,
            0x7cb0_4ff3,
            0xd675_a355,
            0x30cd_d767,
            0xe347_bf8a,
            0xd0e8_0abb,
            0xce4a_e958,
            0x6101_4318,
        ],
    ),
    (
        IntegerLaw::Laplace,
        3,
        3,
        [
            0x5e2d_58d8,
            0xb3bc_df1a,
            0xbade_c782,
            0x9054_f90d,
            0xda98_05aa,
            0xb56c_7733,
            0x3024_b9d0,
            0xa507_daed,
        ],
    ),
    (
        IntegerLaw::Gaussian,
        2 << 44,
        1 << 44,
        [
            0x22a5_5547,
            0x7f03_973f,
            0xb6ed_d5c2,
            0x5a05_2ae3,
            0xf0dd_961d,
            0xa28a_c995,
            0x9e13_29cd,
            0xbcb2_1c09,
        ],
    ),
    (
        IntegerLaw::Laplace,
        30_000_000_003,
        10_000_000_001,
        [
            0x0cbe_d866,
            0x6758_5764,
            0xa413_0191,
            0xc840_8680,
            0x3a08_ae39,
            0xcdc3_18c6,
            0x1477_227b,
            0x8fee_43f1,
        ],
    ),
];
const EXP_MINUS_EIGHTH: [u32; 8] =
    [0xe1eb_5127, 0x6c11_0c3c, 0x3eb1_269f, 0x2f5d_4afa, 0xbd80_29f1, 0xb773_28d9, 0xd41b_38c7, 0xb22b_96be];

#[test]
fn every_digit_is_compared() {
    for (law, size, scale, digits) in DIGITS {
        let scale = Scale::new(scale);
        let acceptance = plain_acceptance(law, &scale, size);
        // A truncated number is below itself. With its last digit raised, it is above.
        for count in 1..=digits.len() {
            let mut below = digits[..count].to_vec();
            let mut above = below.clone();
            above[count - 1] += 1;
            assert!(acceptance.exceeds(below[0], &mut Listed::new(&below[1..])), "{law:?}, {count} digits");
            assert!(!acceptance.exceeds(above[0], &mut Listed::new(&above[1..])), "{law:?}, {count} digits");
            below[count - 1] -= 1;
            below.extend([u32::MAX; 8]);
            assert!(acceptance.exceeds(below[0], &mut Listed::new(&below[1..])), "{law:?}, {count} digits");
        }
    }
}

#[test]
fn nothing_is_below_a_size_of_zero_and_far_sizes_decide() {
    for law in [IntegerLaw::Gaussian, IntegerLaw::Laplace] {
        for scale in [1, 5, (1 << 52) - 1].map(Scale::new) {
            let zero = plain_acceptance(law, &scale, 0);
            assert!(
                zero.exceeds(0, &mut Listed::new(&[]))
                    && zero.exceeds(u32::MAX, &mut Listed::new(&[u32::MAX; 99]))
            );
            // exp(−200) is between 2⁻²⁸⁹ and 2⁻²⁸⁸.
            let far = plain_acceptance(
                law,
                &scale,
                scale.value * if law == IntegerLaw::Gaussian { 20 } else { 200 },
            );
            assert_eq!(far.near(), Some(0));
            assert!(!far.exceeds(0, &mut Listed::new(&[0, 0, 0, 0, 0, 0, 0, 1])));
            assert!(far.exceeds(0, &mut Listed::new(&[0, 0, 0, 0, 0, 0, 0, 0, 1])));
        }
    }
}
