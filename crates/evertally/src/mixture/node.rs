//! One decay, given by both its loss p and its factor 1 − p.
//!
//! For decays near one the loss has the accurate digits, and for decays near zero the factor has
//! them. The difference of two decays needs both.

/// A decay by `decay` = 1 − `loss`.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct Node {
    /// p, with all its digits if it is at most one half.
    pub(crate) loss: f64,
    /// 1 − p, with all its digits if it is at most one half.
    pub(crate) decay: f64,
}

impl Node {
    /// Creates a decay from its loss.
    pub(crate) fn from_loss(loss: f64) -> Self {
        Self { loss, decay: 1.0 - loss }
    }

    /// Creates a decay from its factor.
    pub(crate) fn from_decay(decay: f64) -> Self {
        Self { loss: 1.0 - decay, decay }
    }

    /// The decay by factor/(1 + shift): a pole of 1/(1 + shift − factor·x).
    pub(crate) fn from_shift(shift: f64, factor: f64) -> Self {
        let decay = factor / (1.0 + shift);
        if decay < 0.5 {
            return Self::from_decay(decay);
        }
        Self::from_loss((1.0 - factor) + factor * (shift / (1.0 + shift)))
    }

    /// The same decay, moved by less than a rounding, so that 1 − p is a double and p its exact
    /// complement. The accounting then uses exactly the decay that is run.
    pub(crate) fn as_double(self) -> Self {
        Self::from_decay(self.decay)
    }

    /// Whether both numbers describe exactly the same decay.
    fn is_exact(self) -> bool {
        1.0 - self.loss == self.decay
    }

    /// λ = −ln(1 − p).
    pub(crate) fn rate(self) -> f64 {
        if self.decay >= 0.5 || self.is_exact() { -libm::log1p(-self.loss) } else { -libm::log(self.decay) }
    }

    /// p − p′, right to two units in the last place for any two decays.
    pub(crate) fn minus(self, other: Self) -> f64 {
        let by_loss = |node: Self| node.loss <= 0.5 || node.is_exact();
        match (by_loss(self), by_loss(other)) {
            (true, true) => self.loss - other.loss,
            (false, false) => other.decay - self.decay,
            (false, true) if other.loss <= 0.5 => (0.5 - self.decay) + (0.5 - other.loss),
            (true, false) if self.loss <= 0.5 => -((0.5 - other.decay) + (0.5 - self.loss)),
            // Both factors are below one half and so have all their digits.
            _ => other.decay - self.decay,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn differences_keep_their_digits_on_either_side_of_a_half() {
        // Decays 2^-80 apart near zero, losses 2^-80 apart near zero, and across the middle.
        let tiny = libm::exp2(-80.0);
        let near_zero = |multiple: f64| Node::from_decay(multiple * tiny);
        let near_one = |multiple: f64| Node::from_loss(multiple * tiny);
        assert_eq!(near_zero(3.0).minus(near_zero(5.0)), 2.0 * tiny);
        assert_eq!(near_one(3.0).minus(near_one(5.0)), -2.0 * tiny);
        assert_eq!(near_zero(1.0).minus(near_one(1.0)), 1.0);
        assert_eq!(near_one(1.0).minus(near_zero(1.0)), -1.0);
        let (above, below) = (Node::from_decay(0.5 - 3.0 * libm::exp2(-54.0)), Node::from_loss(0.5));
        assert_eq!(above.minus(below), 3.0 * libm::exp2(-54.0));
        assert_eq!(below.minus(above), -3.0 * libm::exp2(-54.0));
        assert_eq!(Node::from_decay(0.25).minus(near_zero(1.0)), -0.25);
    }

    #[test]
    fn rates_are_those_of_the_factor() {
        for decay in [1e-300, 1e-40, 1e-3, 0.3, 0.5, 0.9] {
            assert!((Node::from_decay(decay).rate() / -decay.ln() - 1.0).abs() < 1e-15);
        }
        assert!((Node::from_loss(1e-19).rate() / 1e-19 - 1.0).abs() < 1e-15);
        assert_eq!(Node::from_loss(0.0).rate(), 0.0);
        assert_eq!(Node::from_loss(1.0).rate(), f64::INFINITY);
    }

    #[test]
    fn a_double_is_its_own_complement() {
        for loss in [1e-9, 1.0 / 3.0, 0.7, 0.999_999] {
            let node = Node::from_loss(loss).as_double();
            assert!(node.is_exact() && (node.loss - loss).abs() < 1.2e-16, "{loss}");
        }
    }
}
