//! One lane: a burst of steps as a few products of small matrices, because a single recursion would leave vector registers empty.
//!
//! **Definition.** For a burst of eight inputs h with the states v at its beginning,
//!
//! > u = T h + O v,  v ← D v + C h,  T_{ki} = l_{k−i},  O_{kj} = η_jθ_j^{k+1},  D_j = θ_j^8,  C_{ji} = θ_j^{7−i}:
//!
//! the recipe, eight steps at once. For slow decays, with s the running sums before each step, e_j(k) = (1−p_j)^{k+1}e_j + p_j Σ_{i≤k}(1−p_j)^{k−i}s_i.
//! Grades are applied step by step.
//!
//! **Guarantee.** The matrix applied is that of the recipe up to rounding, in an order of operations that depends on the step alone: bursts begin
//! at multiples of eight. (A lane of [`super::wide`] rounds in another order, so the two give noise that differs in the last bits.)
//!
//! **Cost.** 2J + 8 multiplications and additions a step, in whole vectors.

use zeroize::Zeroize;

use super::BURST;
use super::grades::Grades;
use super::recipe::Recipe;
use crate::noise::vectorise::vectorised;

/// Decays are handled eight at a time, the last ones padded by decays of weight zero.
type Eight = [f64; BURST];

/// The matrices of eight decays.
struct Group {
    /// O, a column a decay.
    read: [Eight; BURST],
    /// D, or 1 − (1−p)^8 for slow decays.
    keep: Eight,
    /// C, a column an input.
    write: [Eight; BURST],
}

/// The state of one lane.
pub(super) struct Narrow {
    /// T, a column an input.
    direct: [Eight; BURST],
    groups: Vec<Group>,
    slow: Vec<Group>,
    /// Σ_j η_j p_j(1−p_j)^k as a Toeplitz matrix, a column a running sum.
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

impl Narrow {
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

    /// Takes eight steps with this white noise and replaces it by what they release.
    pub(super) fn burst(&mut self, grades: &Grades<f64>, values: &mut Eight) {
        vectorised(
            #[inline(always)]
            || self.take(grades, values),
        );
    }

    #[inline(always)]
    fn take(&mut self, grades: &Grades<f64>, values: &mut Eight) {
        let h: Eight = std::array::from_fn(|k| values[k] * grades.drive[k]);
        // Two sums that do not wait for each other.
        let mut u = [0.0; BURST];
        for (column, h) in self.direct.iter().zip(h) {
            add(&mut u, column, h);
        }
        let mut from_states = [0.0; BURST];
        if !self.slow.is_empty() {
            self.take_slow(&h, &mut from_states);
        }
        for (group, state) in self.groups.iter().zip(&mut self.state) {
            let mut other = [0.0; BURST];
            for j in (0..BURST).step_by(2) {
                add(&mut from_states, &group.read[j], state[j]);
                add(&mut other, &group.read[j + 1], state[j + 1]);
            }
            add(&mut from_states, &other, 1.0);
            let mut next = [0.0; BURST];
            for (column, h) in group.write.iter().zip(h) {
                add(&mut next, column, h);
            }
            for j in 0..BURST {
                state[j] = group.keep[j] * state[j] + next[j];
            }
        }
        add(&mut u, &from_states, 1.0);
        if self.is_graded {
            for k in 0..BURST {
                values[k] = self.scale * (grades.norm[k] * u[k] + self.zeta);
                self.zeta -= grades.rise[k] * u[k];
            }
        } else {
            for k in 0..BURST {
                values[k] = self.scale * u[k];
            }
        }
    }

    /// Adds what the slow decays give, Σ η(S − e), and moves them on.
    #[inline(always)]
    fn take_slow(&mut self, h: &Eight, out: &mut Eight) {
        let mut sum = self.state.first().map_or(0.0, |first| first[0]);
        let (mut before, mut after) = ([0.0; BURST], [0.0; BURST]);
        for k in 0..BURST {
            before[k] = sum;
            sum += h[k];
            after[k] = sum;
        }
        add(out, &after, self.slow_weight);
        for (column, s) in self.slow_direct.iter().zip(before) {
            add(out, column, -s);
        }
        for (group, state) in self.slow.iter().zip(&mut self.slow_state) {
            for (column, e) in group.read.iter().zip(*state) {
                add(out, column, -e);
            }
            let mut rise = [0.0; BURST];
            for (column, s) in group.write.iter().zip(before) {
                add(&mut rise, column, s);
            }
            for j in 0..BURST {
                // The loss is taken off, rather than the rest kept, so that no digit of it is lost.
                state[j] += rise[j] - group.keep[j] * state[j];
            }
        }
    }

    /// The numbers of the state: decays, slow decays, ζ.
    pub(super) fn save(&self, out: &mut Vec<f64>) {
        out.extend(self.state.iter().flatten().take(self.decays));
        out.extend(self.slow_state.iter().flatten().take(self.slow_decays));
        if self.is_graded {
            out.push(self.zeta);
        }
    }

    /// Takes what `save` gave.
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

#[inline(always)]
fn add(sum: &mut Eight, column: &Eight, factor: f64) {
    for k in 0..BURST {
        sum[k] += column[k] * factor;
    }
}

impl Drop for Narrow {
    fn drop(&mut self) {
        self.state.as_flattened_mut().zeroize();
        self.slow_state.as_flattened_mut().zeroize();
        self.zeta.zeroize();
    }
}
