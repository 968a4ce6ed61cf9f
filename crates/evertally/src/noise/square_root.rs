//! Coefficients of (1−x)^{−1/2} and (1−x)^{1/2}: the Toeplitz square root of the prefix sum, and
//! its inverse.
//!
//! **Definition.** f(0) = 1, f(k) = (1 − 1/(2k)) f(k−1) = C(2k,k)/4^k. The lower-triangular
//! Toeplitz matrix of f, squared, is the prefix sum. Its inverse has the coefficients 1 and f(k) −
//! f(k−1) = −f(k)/(2k−1).
//!
//! **Guarantee.** Every coefficient is within a relative 4·10⁻¹⁶ of the truth, at any k. The
//! recurrence would lose a digit whenever k grows a hundredfold. Below k = 32 the binomial
//! coefficient is exact and f is correctly rounded. Above, f(k)² = S(x)/(πx) with x = k + ¼, where
//! S has only even powers of 1/x. Five terms leave an error of 2·10⁻¹⁸, and the square root halves
//! the roundings of S, πx and the quotient.
//!
//! **Cost.** Two divisions and one root per coefficient. They are independent of each other and
//! therefore vectorised.
//!
//! **Source.** Tricomi and Erdélyi, *The asymptotic expansion of a ratio of gamma functions*
//! (1951), for Γ(k+½)/Γ(k+1); terms of S from its functional equation S(x)/S(x−1) =
//! x(k−½)²/((x−1)k²).

use rayon::prelude::*;

use super::vectorise::vectorised;

/// The first k at which the expansion is used.
const EXPANSION_FROM: u64 = 32;
/// Coefficients that one thread computes at a time.
const CHUNK_LEN: usize = 1 << 14;

/// Coefficients 0 to n−1 of (1−x)^{−1/2}: 1, 1/2, 3/8, 5/16, …
///
/// ```
/// use evertally::internals::noise::square_root_coefficients;
///
/// assert_eq!(square_root_coefficients(4), [1.0, 0.5, 0.375, 0.3125]);
/// ```
#[must_use]
pub fn square_root_coefficients(n: usize) -> Vec<f64> {
    let mut table = vec![0.0; n];
    for_each_chunk(&mut table, |first, chunk| {
        for (offset, value) in chunk.iter_mut().enumerate() {
            *value = expansion(first + f64::from(offset as u32));
        }
    });
    for (k, value) in (0..EXPANSION_FROM).zip(&mut table) {
        *value = exact(k);
    }
    table
}

/// Coefficients 0 to n−1 of (1−x)^{1/2}: 1, −1/2, −1/8, −1/16, …
pub(crate) fn inverse_square_root_coefficients(n: usize) -> Vec<f64> {
    let mut table = square_root_coefficients(n);
    for_each_chunk(&mut table, |first, chunk| {
        for (offset, value) in chunk.iter_mut().enumerate() {
            // At k = 0 this is −f(0)/(−1) = 1, so the first coefficient needs no special case.
            *value = -*value / (2.0 * (first + f64::from(offset as u32)) - 1.0);
        }
    });
    table
}

/// Coefficient k of (1−x)^{−1/2}, for k ≤ 2⁵⁰.
///
/// ```
/// use evertally::internals::noise::square_root_coefficient;
///
/// assert_eq!(square_root_coefficient(2), 0.375);
/// ```
#[must_use]
pub fn square_root_coefficient(k: u64) -> f64 {
    if k < EXPANSION_FROM { exact(k) } else { expansion(k as f64) }
}

/// C(2k,k)/4^k. Each step of the product is an exact integer, and C(62,31) < 2⁶³. The only rounding
/// is the conversion.
fn exact(k: u64) -> f64 {
    let binomial = (1..=k).fold(1_u128, |c, i| c * u128::from(2 * (2 * i - 1)) / u128::from(i));
    binomial as f64 / (1_u128 << (2 * k)) as f64
}

#[inline(always)]
fn expansion(k: f64) -> f64 {
    const S1: f64 = -1.0 / 32.0;
    const S2: f64 = 11.0 / 2048.0;
    const S3: f64 = -173.0 / 65536.0;
    const S4: f64 = 22931.0 / 8388608.0;
    let x = k + 0.25;
    let h = 1.0 / (x * x);
    let series = 1.0 + h * (S1 + h * (S2 + h * (S3 + h * S4)));
    (series / (std::f64::consts::PI * x)).sqrt()
}

/// Calls `work(first index, chunk)` on all threads. An index is exact as a double. The loops inside
/// vectorise because they add 32-bit offsets to it.
fn for_each_chunk(table: &mut [f64], work: impl Fn(f64, &mut [f64]) + Sync) {
    table.par_chunks_mut(CHUNK_LEN).enumerate().for_each(|(i, chunk)| {
        let first = (i * CHUNK_LEN) as f64;
        vectorised(
            #[inline(always)]
            || work(first, chunk),
        );
    });
}

#[cfg(test)]
mod tests {
    use super::*;

    /// (k, f(k), coefficient k of the inverse), from 60-digit arithmetic.
    #[expect(clippy::excessive_precision, reason = "the digits are those of the source")]
    const KNOWN: [(u64, f64, f64); 19] = [
        (1, 0.5, -0.5),
        (2, 0.375, -0.125),
        (5, 0.24609375, -0.02734375),
        (31, 0.1009236863471409742509799, -0.001654486661428540561491474),
        (32, 0.09934675374796689652830833, -0.001576932599174077722671561),
        (33, 0.09784149990330073142939457, -0.001505253844666165098913763),
        (63, 0.07094031336820422729395024, -0.0005675225069456338183516019),
        (64, 0.07038609217001513176821625, -0.0005542211981890955257339862),
        (65, 0.06984466069178424613922997, -0.0005414314782308856289862789),
        (100, 0.05634847900925642224724526, -0.0002831581859761629258655541),
        (1000, 0.01783901114585432073023807, -0.000008923967556705513121679874),
        (4095, 0.008816269425245455027414123, -0.000001076599026162590673759204),
        (4096, 0.008815193220481631119329722, -0.000001076204763823908084401138),
        (65537, 0.002203844543326240753588534, -1.681387122692118707581679e-8),
        (1048576, 0.0005509663245030477237103536, -2.627213417169520572006277e-10),
        (16777215, 0.0001377416006246036550135747, -4.105019955028996470587376e-12),
        (16777216, 0.0001377415965195840670019626, -4.105019588011612147497377e-12),
        (1073741824, 0.00001721769969122546310460773, -8.017616206427607364503359e-15),
        (1099511627776, 0.0000005380531154133721790489678, -2.446782288705512006699056e-19),
    ];

    #[test]
    fn agrees_with_sixty_digits() {
        for (k, f, inverse) in KNOWN {
            let got = square_root_coefficient(k);
            assert!((got / f - 1.0).abs() <= 4e-16, "f({k}) = {got}");
            let got = -got / (2.0 * k as f64 - 1.0);
            assert!((got / inverse - 1.0).abs() <= 4e-16, "inverse coefficient {k} = {got}");
        }
    }

    /// Neighbouring coefficients obey the recurrence, so those between the pinned ones are right as
    /// well. Both sides have their own error, hence twice the tolerance and a rounding.
    #[test]
    fn obeys_the_recurrence() {
        let (f, inverse) = (square_root_coefficients(100_000), inverse_square_root_coefficients(100_000));
        assert_eq!((f[0], inverse[0]), (1.0, 1.0));
        for k in 1..f.len() {
            let two_k = 2.0 * k as f64;
            assert!((f[k - 1] * (two_k - 1.0) / two_k / f[k] - 1.0).abs() <= 10e-16, "{k}");
            assert!((-f[k - 1] / two_k / inverse[k] - 1.0).abs() <= 10e-16, "{k}");
        }
    }

    #[test]
    fn squares_to_the_prefix_sum_and_inverts() {
        let (f, inverse) = (square_root_coefficients(500), inverse_square_root_coefficients(500));
        let square = super::super::causal_convolution_direct(&f, &f);
        let unit = super::super::causal_convolution_direct(&f, &inverse);
        assert!(square.iter().all(|value| (value - 1.0).abs() < 1e-13));
        assert!(unit.iter().enumerate().all(|(k, value)| (value - f64::from(k == 0)).abs() < 1e-15));
    }

    #[test]
    fn lengths_around_nothing() {
        assert!(square_root_coefficients(0).is_empty());
        assert_eq!(square_root_coefficients(1), [1.0]);
        assert_eq!(inverse_square_root_coefficients(4), [1.0, -0.5, -0.125, -0.0625]);
    }
}
