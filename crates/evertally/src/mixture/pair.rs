//! An encoder R = T(r) and a decoder L = T(l), both mixtures, whose product is exactly the
//! workload.
//!
//! **Definition.** The mixtures are given by poles and zeros, written as losses. With 1−λ = τ₀ < p₀
//! < τ₁ < p₁ < …,
//!
//! > r(x) = Π_{i≥1}(1 − (1−τ_i)x) / Π_j(1 − (1−p_j)x),  l(x) = 1/((1−λx) r(x)),
//!
//! where λ = 1 for the prefix sum and λ < 1 for a decayed one. The sequence of losses either ends
//! with a pole p, and then l has an impulse κ beside its decays, or with a zero τ, and then r has
//! one. Partial fractions give r_k = κ′·\[k = 0\] + Σ_j ω_j(1−p_j)^k and l_k = κ·\[k = 0\] + Σ_i
//! η_i(1−τ_i)^k. Because poles and zeros interlace, every weight is positive, so no sum here
//! cancels. Both r and l are one at k = 0.
//!
//! **Guarantee.** L R = A exactly. R is used for the accounting and L is run, and neither
//! approximates the other. Decays with losses of at least [`SLOW`] are run as doubles 1−τ, and τ is
//! computed back from them. Smaller losses are run as they are. So the accounting is about what is
//! run, except for the rounding of the weights η, which are products of J ratios and right to a
//! relative ε of about 4J units in the last place. That rounding changes Δ by at most a relative
//! 2ε: on the unit circle all 1/(1−θx) with 0 ≤ θ ≤ 1 lie in one quadrant, so Σ_i η_i|1−θ_i x|⁻¹ +
//! κ ≤ √2·|l(x)|. Hence l̂ = l·(1+e) with
//! |e(x)| ≤ √2ε, ‖T(e)‖ is at most that, and R̂ = L̂⁻¹A = (I + T(e))⁻¹R.
//!
//! **Cost.** O(J²) to create.

use super::{Mixture, Node};
use crate::elliptic;
use crate::noise::streaming::{Decay, Recipe, SLOW, SlowDecay};

/// See the module documentation.
#[derive(Debug, Clone)]
pub(crate) struct Pair {
    encoder: Mixture,
    decoder: Mixture,
    /// The decays of the decoder. The first is that of the workload.
    zeros: Vec<Node>,
}

impl Pair {
    /// Creates a pair from the poles p of the encoder and the poles τ of the decoder, which start
    /// with that of the workload. Returns nothing if they do not interlace in ascending order: the
    /// weights are positive only then, and the sensitivity depends on it.
    pub(crate) fn new(poles: &[Node], zeros: Vec<Node>) -> Option<Self> {
        let is_interlaced = poles.iter().zip(&zeros).all(|(pole, zero)| pole.minus(*zero) > 0.0)
            && zeros[1..].iter().zip(poles).all(|(zero, pole)| zero.minus(*pole) > 0.0);
        let decoder_has_impulse = zeros.len() == poles.len();
        if !(is_interlaced && (decoder_has_impulse || zeros.len() == poles.len() + 1)) {
            return None;
        }
        // Each product pairs a factor of the numerator with one of the denominator, which keeps it
        // near one.
        let others = |i: usize, of: &[Node]| {
            of.iter().enumerate().filter(move |(k, _)| *k != i).map(|(_, node)| *node).collect::<Vec<_>>()
        };
        let ratio = |above: Node, below: Node, pole: Node| above.minus(pole) / below.minus(pole);
        let encoder_weight = |(j, pole): (usize, &Node)| {
            let pairs = others(j, poles);
            let product: f64 =
                pairs.iter().zip(&zeros[1..]).map(|(p, zero)| ratio(*zero, *p, *pole)).product();
            if decoder_has_impulse {
                product
            } else {
                product * (zeros[poles.len()].minus(*pole) / pole.decay)
            }
        };
        let weights = poles.iter().enumerate().map(encoder_weight).collect();
        let decoder_weight = |(i, zero): (usize, &Node)| {
            let below = others(i, &zeros);
            let (above, first) = if decoder_has_impulse {
                (others(i, poles), poles[i].minus(*zero) / zero.decay)
            } else {
                (poles.to_vec(), 1.0)
            };
            above.iter().zip(&below).fold(first, |value, (p, k)| value * ratio(*p, *k, *zero))
        };
        let inverse_weights = zeros.iter().enumerate().map(decoder_weight).collect();
        // For x → ∞ the ratio of the leading coefficients remains.
        let (impulse, inverse_impulse) = if decoder_has_impulse {
            (0.0, poles.iter().zip(&zeros).map(|(pole, zero)| pole.decay / zero.decay).product())
        } else {
            (poles.iter().zip(&zeros[1..]).map(|(pole, zero)| zero.decay / pole.decay).product(), 0.0)
        };
        Some(Self {
            encoder: Mixture::new(poles, weights, impulse),
            decoder: Mixture::new(&zeros, inverse_weights, inverse_impulse),
            zeros,
        })
    }

    /// The square root of 1/(1−λx), for λ the `factor`, with `terms` decays on each side. 1/√y is
    /// approximated for y = 1 − λx in \[low, high\] by Zolotarev's best rational function. Returns
    /// nothing if `low` is so much smaller than 1 − λ that decays coincide.
    pub(crate) fn square_root(factor: f64, low: f64, high: f64, terms: usize) -> Option<Self> {
        let fractions = elliptic::inverse_square_root(low, high, terms);
        let mut poles: Vec<f64> = fractions.iter().map(|fraction| fraction.shift).collect();
        let between = elliptic::inverse_square_root_zeros(low, high, terms);
        let (mut zeros, mut moved) = (vec![workload_node(factor)], Vec::new());
        for shift in &between {
            let exact = Node::from_shift(*shift, factor);
            let run = as_run(exact);
            moved.push(factor * run.minus(exact) / (exact.decay * run.decay));
            zeros.push(run);
        }
        // Evenly spaced in the logarithm, on an interval a little wider than the one on which 1/√y
        // is approximated. On a narrower interval the poles below would move far.
        let (first, ratio) = (0.25 * low, 12.0 * high / low);
        let point = |m: usize| first * libm::pow(ratio, (m as f64 + 0.5) / terms as f64);
        let points: Vec<f64> = (0..terms).map(point).collect();
        follow(&mut poles, &between, &moved, &points);
        let poles: Vec<Node> = poles.into_iter().map(|shift| Node::from_shift(shift, factor)).collect();
        Self::new(&poles, zeros)
    }

    /// (1−x)^{-1/2} as in [`Pair::square_root`], with every coefficient k multiplied by about
    /// exp(−lost·k)·(1+k)^tilt. All decays are run as doubles. Returns nothing if a decay would
    /// grow.
    pub(crate) fn tilted(low: f64, high: f64, terms: usize, lost: f64, tilt: f64) -> Option<Self> {
        let (mut poles, mut weights) = (Vec::new(), Vec::new());
        for fraction in elliptic::inverse_square_root(low, high, terms) {
            let pole = fraction.shift / (1.0 + fraction.shift);
            poles.push(pole + (1.0 - pole) * lost);
            weights.push(fraction.weight / (1.0 + fraction.shift) * libm::pow(pole, -tilt));
        }
        let between =
            (1..poles.len()).map(|i| Node::from_loss(zero_between(&poles, &weights, i)).as_double());
        let zeros = std::iter::once(workload_node(1.0)).chain(between).collect();
        let poles: Vec<Node> = poles.into_iter().map(Node::from_loss).collect();
        Self::new(&poles, zeros)
    }

    /// r.
    pub(crate) fn encoder(&self) -> &Mixture {
        &self.encoder
    }

    /// l.
    pub(crate) fn decoder(&self) -> &Mixture {
        &self.decoder
    }

    /// 1 − τ_i.
    pub(crate) fn decays(&self) -> impl Iterator<Item = f64> {
        self.zeros.iter().map(|zero| zero.decay)
    }

    /// The recipe that runs the decoder.
    pub(crate) fn recipe(&self) -> Recipe {
        let mut recipe = Recipe { impulse: self.decoder.impulse(), ..Recipe::default() };
        for (zero, weight) in self.zeros.iter().zip(self.decoder.weights()) {
            if zero.loss > 0.0 && zero.loss < SLOW {
                recipe.slow.push(SlowDecay { loss: zero.loss, weight: *weight });
            } else {
                recipe.decays.push(Decay { decay: zero.decay, weight: *weight });
            }
        }
        // Slow decays need the running sum.
        if !recipe.slow.is_empty() && self.zeros[0].loss > 0.0 {
            recipe.decays.insert(0, Decay { decay: 1.0, weight: 0.0 });
        }
        recipe
    }
}

/// The decay of the workload 1/(1−λx).
pub(crate) fn workload_node(factor: f64) -> Node {
    Node::from_decay(factor)
}

/// The decay as the engine runs it.
pub(crate) fn as_run(node: Node) -> Node {
    if node.loss < SLOW { node } else { node.as_double() }
}

/// Moves the poles along with the zeros, which rounding moved, so that their quotient stays the
/// same.
///
/// ln r = Σ_i ln(y + τ_i) − Σ_j ln(y + p_j) stays constant as long as Σ_j ṗ_j/(y + p_j) = Σ_i
/// τ̇_i/(y + τ_i). This is a differential equation, and one Runge–Kutta step is taken. If the
/// workload itself decays, rounding may move a zero by 10⁻³ of its distance to the workload's own
/// pole.
fn follow(poles: &mut [f64], zeros: &[f64], moved: &[f64], points: &[f64]) {
    let at = |slope: &[f64], part: f64| {
        let poles: Vec<f64> = poles.iter().zip(slope).map(|(p, d)| p + part * d).collect();
        let zeros: Vec<f64> = zeros.iter().zip(moved).map(|(z, d)| z + part * d).collect();
        velocity(&poles, &zeros, moved, points)
    };
    let first = velocity(poles, zeros, moved, points);
    let second = at(&first, 0.5);
    let third = at(&second, 0.5);
    let fourth = at(&third, 1.0);
    for (j, pole) in poles.iter_mut().enumerate() {
        *pole += (first[j] + 2.0 * (second[j] + third[j]) + fourth[j]) / 6.0;
    }
}

/// ṗ for given τ̇. Each 1/(y + τ) is interpolated at points y_m by fractions with the poles −p_j.
/// The error is φ(y)/φ(−τ)/(y + τ) with φ(y) = Π_m (y − y_m)/(y + p_m), a small number divided by a
/// large one.
fn velocity(poles: &[f64], zeros: &[f64], moved: &[f64], points: &[f64]) -> Vec<f64> {
    let value = |zero: f64| poles.iter().zip(points).map(|(p, y)| (p - zero) / (y + zero)).product::<f64>();
    let values: Vec<f64> = zeros.iter().map(|zero| value(*zero)).collect();
    let speed = |(j, pole): (usize, &f64)| {
        let others = poles.iter().zip(points).enumerate().filter(|(k, _)| *k != j);
        let residue = (points[j] + pole) * others.map(|(_, (p, y))| (y + pole) / (p - pole)).product::<f64>();
        let terms = zeros.iter().zip(&values).zip(moved);
        residue * terms.map(|((zero, value), moved)| moved * value / (pole - zero)).sum::<f64>()
    };
    poles.iter().enumerate().map(speed).collect()
}

/// The root τ of Σ_j ω_j/(p_j − τ) between poles i−1 and i, where the sum increases from −∞ to ∞.
fn zero_between(poles: &[f64], weights: &[f64], i: usize) -> f64 {
    let sum = |tau: f64| poles.iter().zip(weights).map(|(p, w)| w / (p - tau)).sum::<f64>();
    let (mut low, mut high) = (poles[i - 1], poles[i]);
    for _ in 0..200 {
        // Bisects the logarithm, because poles are spread over many powers of ten.
        let middle = (low * high).sqrt();
        if middle <= low || middle >= high {
            break;
        }
        if sum(middle) < 0.0 { low = middle } else { high = middle }
    }
    low
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::noise::{causal_convolution_direct, square_root_coefficient};

    fn assert_product(pair: &Pair, factor: f64, n: usize, context: &str) {
        let (r, l) = (pair.encoder().coefficients(n), pair.decoder().coefficients(n));
        for (k, sum) in causal_convolution_direct(&r, &l).into_iter().enumerate() {
            let expected = libm::pow(factor, k as f64);
            assert!((sum - expected).abs() < 2e-13, "{context}, {k}: {sum} {expected}");
        }
        let weights = pair.encoder().weights().iter().chain(pair.decoder().weights());
        assert!(weights.chain([&r[0], &l[0]]).all(|w| *w > 0.0), "{context}");
    }

    #[test]
    fn the_two_mixtures_multiply_to_the_workload() {
        for n in [1_u64, 2, 3, 5, 17, 100, 1000] {
            for terms in [1, 2, 3, 7, 20] {
                let tilted = Pair::tilted(0.6 / n as f64, 2.0, terms, 0.3 / n as f64, 0.02).unwrap();
                assert_product(&tilted, 1.0, n as usize, &format!("tilted {n} {terms}"));
                for factor in [1.0, 1.0 - 1e-11, 0.999, 0.5, 0.3, 1e-3, 1e-17, 1e-40] {
                    let pair = Pair::square_root(factor, 0.6 / n as f64, 2.0, terms).unwrap();
                    assert_product(&pair, factor, n as usize, &format!("{factor} {n} {terms}"));
                }
            }
        }
    }

    #[test]
    fn either_side_may_have_the_impulse() {
        let nodes = |losses: &[f64]| losses.iter().map(|p| Node::from_loss(*p)).collect::<Vec<_>>();
        let decoder_has = Pair::new(&nodes(&[1e-3, 0.1]), nodes(&[0.0, 0.01])).unwrap();
        assert!(decoder_has.decoder().impulse() > 0.0 && decoder_has.encoder().impulse() == 0.0);
        assert_product(&decoder_has, 1.0, 300, "impulse in the decoder");
        let encoder_has = Pair::new(&nodes(&[1e-3, 0.1]), nodes(&[0.0, 0.01, 0.6])).unwrap();
        assert!(encoder_has.encoder().impulse() > 0.0 && encoder_has.decoder().impulse() == 0.0);
        assert_product(&encoder_has, 1.0, 300, "impulse in the encoder");
        // Both forms agree if the last decay has loss one and nothing remains of it.
        let limit = Pair::new(&nodes(&[1e-3, 0.1, 1.0]), nodes(&[0.0, 0.01, 0.6])).unwrap();
        let (a, b) = (limit.encoder().coefficients(9), encoder_has.encoder().coefficients(9));
        assert!(a.iter().zip(&b).all(|(a, b)| (a - b).abs() < 1e-15));
        let none = Pair::new(&[], nodes(&[0.0])).unwrap();
        assert_eq!((none.encoder().coefficient(0), none.decoder().coefficient(7)), (1.0, 1.0));
    }

    #[test]
    fn what_does_not_interlace_is_no_pair() {
        let nodes = |losses: &[f64]| losses.iter().map(|p| Node::from_loss(*p)).collect::<Vec<_>>();
        for (poles, zeros) in [
            (vec![0.1, 0.2], vec![0.0, 0.3]),
            (vec![0.1, 0.2], vec![0.0, 0.1]),
            (vec![0.0, 0.2], vec![0.0, 0.1]),
            (vec![0.1], vec![0.0, 0.2, 0.3]),
            (vec![0.1, 0.3], vec![0.0]),
        ] {
            assert!(Pair::new(&nodes(&poles), nodes(&zeros)).is_none(), "{poles:?} {zeros:?}");
        }
        assert!(Pair::tilted(0.01, 2.0, 5, -0.1, 0.0).is_none());
    }

    #[test]
    fn a_tilted_root_approaches_the_root() {
        for n in [1_u64, 2, 10, 1 << 10, 1 << 20, 1 << 30, 1 << 40] {
            let terms = (4.0 + 0.6 * libm::log2(n as f64)) as usize;
            let pair = Pair::tilted(0.6 / n as f64, 2.0, terms, 0.0, 0.0).unwrap();
            assert!(pair.decoder().impulse() > 0.0);
            assert!((pair.encoder().weights().iter().sum::<f64>() - 1.0).abs() < 1e-12);
            // r is scaled to start with one, which the approximation of the root misses slightly.
            for i in 0..=20 {
                let k = libm::pow(n as f64, f64::from(i) / 20.0).floor().min(n as f64 - 1.0) as u64;
                let ratio = pair.encoder().coefficient(k) / square_root_coefficient(k);
                assert!((ratio - 1.0).abs() < 0.02, "n = {n}, k = {k}: {ratio}");
            }
        }
    }

    #[test]
    fn the_recipe_has_every_decay_of_the_decoder() {
        let pair = Pair::square_root(1.0, 1e-17, 2.0, 60).unwrap();
        let recipe = pair.recipe();
        assert!(recipe.slow.len() > 10 && recipe.decays[0].decay == 1.0 && recipe.decays[0].weight > 0.0);
        assert_eq!(recipe.rows(), pair.decoder().len());
        assert!(recipe.decays[1..].iter().all(|d| 1.0 - d.decay >= SLOW));
        assert!(recipe.slow.iter().all(|d| d.loss < SLOW));
        let slow = Pair::square_root(1.0 - 1e-12, 1e-14, 2.0, 60).unwrap().recipe();
        assert_eq!((slow.decays[0].decay, slow.decays[0].weight), (1.0, 0.0));
        let ordinary = Pair::square_root(0.9, 1e-4, 2.0, 30).unwrap().recipe();
        assert_eq!((ordinary.slow.len(), ordinary.decays[0].decay), (0, 0.9));
    }
}
