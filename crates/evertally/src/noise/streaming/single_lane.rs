//! One lane: a burst of steps as a few products of small matrices, because a single recursion would
//! leave vector registers empty.
//!
//! **Definition.** For a burst of eight inputs h and the states v at its start,
//!
//! > u = T h + O v, v ← D v + C h, T_{ki} = l_{k−i}, O_{kj} = η_jθ_j^{k+1}, D_j = θ_j^8,
//! > C_{ji} = θ_j^{7−i}.
//!
//! These are eight steps of the recipe at once. For slow decays, with s the running sums before
//! each step, e_j(k) = (1−p_j)^{k+1}e_j + p_j Σ_{i≤k}(1−p_j)^{k−i}s_i. Grades are applied step by
//! step.
//!
//! **Guarantee.** The applied matrix is that of the recipe up to rounding. The order of operations
//! depends only on the step, because bursts start at multiples of eight. (A lane of
//! [`super::many_lanes`] rounds in another order, so the two give noise that differs in the last
//! bits.)
//!
//! **Cost.** 2J + 8 multiplications and additions per step, in full vectors.

use pulp::{Simd, WithSimd};
use zeroize::Zeroize;

use super::BURST;
use super::grades::BurstGrades;
use super::recipe::Recipe;

/// Decays are handled eight at a time. The last group is padded with decays of weight zero.
type Eight = [f64; BURST];

/// The matrices of eight decays.
struct Group {
    /// O, one column per decay.
    read: [Eight; BURST],
    /// D, or 1 − (1−p)^8 for slow decays.
    keep: Eight,
    /// C, one column per input.
    write: [Eight; BURST],
}

/// The state of one lane.
pub(super) struct SingleLane {
    /// T, one column per input.
    direct: [Eight; BURST],
    groups: Vec<Group>,
    slow: Vec<Group>,
    /// Σ_j η_j p_j(1−p_j)^k as a Toeplitz matrix, one column per running sum.
    slow_direct: [Eight; BURST],
    /// η of S for the slow decays: η v = ηS − ηe.
    slow_weight: f64,
    is_graded: bool,
    scale: f64,
    decays: usize,
    slow_decays: usize,
    state: Vec<Eight>,
    slow_state: Vec<Eight>,
    zeta: f64,
}

impl SingleLane {
    pub(super) fn new(recipe: &Recipe, scale: f64) -> Self {
        let powers = |base: f64, power: usize| libm::pow(base, power as f64);
        let mut response = [0.0; BURST];
        for (k, l) in response.iter_mut().enumerate() {
            *l = recipe.decays.iter().map(|d| d.weight * powers(d.decay, k)).sum();
        }
        response[0] += recipe.impulse;
        let groups: Vec<Group> = recipe
            .decays
            .chunks(BURST)
            .map(|eight| {
                let mut group = Group::default();
                for (j, d) in eight.iter().enumerate() {
                    group.keep[j] = powers(d.decay, BURST);
                    for k in 0..BURST {
                        group.read[j][k] = d.weight * powers(d.decay, k + 1);
                        group.write[k][j] = powers(d.decay, BURST - 1 - k);
                    }
                }
                group
            })
            .collect();
        // (1−p)^k without forming 1 − p.
        let left = |loss: f64, k: usize| libm::exp(k as f64 * libm::log1p(-loss));
        let mut slow_response = [0.0; BURST];
        for (k, q) in slow_response.iter_mut().enumerate() {
            *q = recipe.slow.iter().map(|slow| slow.weight * slow.loss * left(slow.loss, k)).sum();
        }
        let slow: Vec<Group> = recipe
            .slow
            .chunks(BURST)
            .map(|eight| {
                let mut group = Group::default();
                for (j, slow) in eight.iter().enumerate() {
                    group.keep[j] = -libm::expm1(BURST as f64 * libm::log1p(-slow.loss));
                    for k in 0..BURST {
                        group.read[j][k] = slow.weight * left(slow.loss, k + 1);
                        group.write[k][j] = slow.loss * left(slow.loss, BURST - 1 - k);
                    }
                }
                group
            })
            .collect();
        Self {
            direct: toeplitz(&response),
            slow_direct: toeplitz(&slow_response),
            slow_weight: recipe.slow.iter().map(|slow| slow.weight).sum(),
            is_graded: recipe.grading.is_some(),
            scale,
            decays: recipe.decays.len(),
            slow_decays: recipe.slow.len(),
            state: vec![[0.0; BURST]; groups.len()],
            slow_state: vec![[0.0; BURST]; slow.len()],
            zeta: 0.0,
            groups,
            slow,
        }
    }

    /// Takes eight steps per burst with this white noise, and replaces it by their output.
    pub(super) fn bursts<'a>(&mut self, bursts: impl Iterator<Item = (&'a mut Eight, &'a BurstGrades<f64>)>) {
        pulp::Arch::new().dispatch(Bursts { lane: self, bursts });
    }
}

struct Bursts<'n, I> {
    lane: &'n mut SingleLane,
    bursts: I,
}

impl<'a, I: Iterator<Item = (&'a mut Eight, &'a BurstGrades<f64>)>> WithSimd for Bursts<'_, I> {
    type Output = ();

    #[inline(always)]
    fn with_simd<S: Simd>(self, simd: S) {
        for (values, grades) in self.bursts {
            match S::F64_LANES {
                8 => self.lane.take::<S, 1>(simd, grades, values),
                4 => self.lane.take::<S, 2>(simd, grades, values),
                2 => self.lane.take::<S, 4>(simd, grades, values),
                _ => self.lane.take::<S, 8>(simd, grades, values),
            }
        }
    }
}

/// Eight numbers in N vectors. These are vector types instead of arrays, so that sums stay in
/// registers.
type Vectors<S, const N: usize> = [<S as Simd>::f64s; N];

#[inline(always)]
fn load<S: Simd, const N: usize>(eight: &Eight) -> Vectors<S, N> {
    let (vectors, _) = S::as_simd_f64s(eight);
    std::array::from_fn(|i| vectors[i])
}

#[inline(always)]
fn store<S: Simd, const N: usize>(vectors: &Vectors<S, N>, eight: &mut Eight) {
    // One by one, because a copy of unknown length would be a function call.
    for (slot, vector) in S::as_mut_simd_f64s(eight).0.iter_mut().zip(vectors) {
        *slot = *vector;
    }
}

/// sum + column·factor.
#[inline(always)]
fn add<S: Simd, const N: usize>(simd: S, sum: Vectors<S, N>, column: &Eight, factor: f64) -> Vectors<S, N> {
    let (column, factor) = (load::<S, N>(column), simd.splat_f64s(factor));
    std::array::from_fn(|i| simd.add_f64s(sum[i], simd.mul_f64s(column[i], factor)))
}

/// Σ_i column_i·factor_i, in two sums that do not wait for each other.
#[inline(always)]
fn product<S: Simd, const N: usize>(simd: S, columns: &[Eight; BURST], factors: &Eight) -> Vectors<S, N> {
    let zero = [simd.splat_f64s(0.0); N];
    let (mut even, mut odd) = (zero, zero);
    for i in (0..BURST).step_by(2) {
        even = add(simd, even, &columns[i], factors[i]);
        odd = add(simd, odd, &columns[i + 1], factors[i + 1]);
    }
    std::array::from_fn(|i| simd.add_f64s(even[i], odd[i]))
}

impl SingleLane {
    #[inline(always)]
    fn take<S: Simd, const N: usize>(&mut self, simd: S, grades: &BurstGrades<f64>, values: &mut Eight) {
        let plus = |a: Vectors<S, N>, b: Vectors<S, N>| -> Vectors<S, N> {
            std::array::from_fn(|i| simd.add_f64s(a[i], b[i]))
        };
        let mut h = *values;
        if self.is_graded {
            h = std::array::from_fn(|k| h[k] * grades.drive[k]);
        }
        let mut sum = product::<S, N>(simd, &self.direct, &h);
        if !self.slow.is_empty() {
            sum = plus(sum, self.take_slow(simd, &h));
        }
        for (group, state) in self.groups.iter().zip(&mut self.state) {
            sum = plus(sum, product(simd, &group.read, state));
            let (kept, keep) = (load::<S, N>(state), load::<S, N>(&group.keep));
            let kept: Vectors<S, N> = std::array::from_fn(|i| simd.mul_f64s(keep[i], kept[i]));
            store::<S, N>(&plus(kept, product(simd, &group.write, &h)), state);
        }
        let mut u = [0.0; BURST];
        store::<S, N>(&sum, &mut u);
        if self.is_graded {
            for k in 0..BURST {
                values[k] = self.scale * (grades.norm[k] * u[k] + self.zeta);
                self.zeta -= grades.rise[k] * u[k];
            }
        } else {
            *values = u.map(|u| self.scale * u);
        }
    }

    /// The contribution of the slow decays, Σ η(S − e). Advances them.
    #[inline(always)]
    fn take_slow<S: Simd, const N: usize>(&mut self, simd: S, h: &Eight) -> Vectors<S, N> {
        let mut sum = self.state.first().map_or(0.0, |first| first[0]);
        let (mut before, mut after) = ([0.0; BURST], [0.0; BURST]);
        for k in 0..BURST {
            before[k] = sum;
            sum += h[k];
            after[k] = sum;
        }
        let minus = |a: Vectors<S, N>, b: Vectors<S, N>| -> Vectors<S, N> {
            std::array::from_fn(|i| simd.sub_f64s(a[i], b[i]))
        };
        let mut out = add(simd, [simd.splat_f64s(0.0); N], &after, self.slow_weight);
        out = minus(out, product(simd, &self.slow_direct, &before));
        for (group, state) in self.slow.iter().zip(&mut self.slow_state) {
            out = minus(out, product(simd, &group.read, state));
            let rise: Vectors<S, N> = product(simd, &group.write, &before);
            let (left, keep) = (load::<S, N>(state), load::<S, N>(&group.keep));
            // The loss is subtracted, instead of keeping the rest, so that none of its digits are
            // lost.
            let next: Vectors<S, N> = std::array::from_fn(|i| {
                simd.add_f64s(left[i], simd.sub_f64s(rise[i], simd.mul_f64s(keep[i], left[i])))
            });
            store::<S, N>(&next, state);
        }
        out
    }

    /// The numbers of the state: decays, slow decays, ζ.
    pub(super) fn save(&self, out: &mut Vec<f64>) {
        out.extend(self.state.iter().flatten().take(self.decays));
        out.extend(self.slow_state.iter().flatten().take(self.slow_decays));
        if self.is_graded {
            out.push(self.zeta);
        }
    }

    /// Returns to the state before the first step.
    pub(super) fn clear(&mut self) {
        self.state.as_flattened_mut().zeroize();
        self.slow_state.as_flattened_mut().zeroize();
        self.zeta.zeroize();
    }

    /// Restores what `save` wrote.
    pub(super) fn restore(&mut self, saved: &[f64]) {
        let (decays, rest) = saved.split_at(self.decays);
        let (slow, zeta) = rest.split_at(self.slow_decays);
        for (value, saved) in self.state.iter_mut().flatten().zip(decays) {
            *value = *saved;
        }
        for (value, saved) in self.slow_state.iter_mut().flatten().zip(slow) {
            *value = *saved;
        }
        self.zeta = zeta.first().copied().unwrap_or(0.0);
    }
}

impl Default for Group {
    fn default() -> Self {
        Self { read: [[0.0; BURST]; BURST], keep: [0.0; BURST], write: [[0.0; BURST]; BURST] }
    }
}

/// The lower triangular Toeplitz matrix, column by column.
fn toeplitz(response: &Eight) -> [Eight; BURST] {
    std::array::from_fn(|i| std::array::from_fn(|k| if k >= i { response[k - i] } else { 0.0 }))
}

impl Drop for SingleLane {
    fn drop(&mut self) {
        self.clear();
    }
}
