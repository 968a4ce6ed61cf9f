//! The standard normal distribution.

use std::f64::consts::SQRT_2;

use super::crossing;

/// P(Z > z).
pub(crate) fn above(z: f64) -> f64 {
    0.5 * libm::erfc(z / SQRT_2)
}

/// The z that a standard normal exceeds with probability p, 1e-300 ≤ p ≤ ½.
pub(crate) fn quantile_above(p: f64) -> f64 {
    crossing(above, p, 0.0, 40.0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tails_and_quantiles() {
        assert!((above(5.0) / 2.866_515_718_791_939e-7 - 1.0).abs() < 1e-12);
        assert!((quantile_above(2.866_515_718_791_939e-7) - 5.0).abs() < 1e-12);
        assert!((quantile_above(0.025) - 1.959_963_984_540_054).abs() < 1e-12);
    }
}
