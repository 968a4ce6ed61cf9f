//! A minimum by Broyden, Fletcher, Goldfarb and Shanno's method, in the same steps on every machine.
//!
//! **Cost.** One value and gradient per step, and O(v²) operations for v variables.

/// Steps at most.
const STEPS: usize = 400;

/// The largest change of a variable in one step: variables are logarithms, and beyond this the
/// model says nothing.
const REACH: f64 = 1.0;

/// A fall smaller than this, several times over, is the end.
const MIN_FALL: f64 = 1e-12;

/// Walks from `start` downhill; returns where it ends and the value there.
pub(super) fn minimise(
    start: &[f64],
    mut value_and_gradient: impl FnMut(&[f64], &mut [f64]) -> f64,
) -> (Vec<f64>, f64) {
    let len = start.len();
    let mut place = start.to_vec();
    let mut gradient = vec![0.0; len];
    let mut value = value_and_gradient(&place, &mut gradient);
    let mut inverse = Inverse::new(len);
    let mut small_falls = 0;
    for _ in 0..STEPS {
        let mut direction = inverse.times(&gradient);
        direction.iter_mut().for_each(|d| *d = -*d);
        let mut slope = dot(&direction, &gradient);
        if slope >= 0.0 {
            inverse = Inverse::new(len);
            direction = gradient.iter().map(|g| -g).collect();
            slope = dot(&direction, &gradient);
        }
        let longest = direction.iter().fold(0.0_f64, |longest, d| longest.max(d.abs()));
        if longest == 0.0 {
            break;
        }
        let mut part = (REACH / longest).min(1.0);
        let mut next = Vec::new();
        let mut next_gradient = vec![0.0; len];
        let mut next_value = f64::INFINITY;
        for _ in 0..30 {
            next = place.iter().zip(&direction).map(|(x, d)| x + part * d).collect();
            next_value = value_and_gradient(&next, &mut next_gradient);
            if next_value <= value + 1e-4 * part * slope {
                break;
            }
            // The parabola through the value, the slope and the new value has its minimum here.
            let bend = next_value - value - part * slope;
            let lowest = -0.5 * part * part * slope / bend;
            part = if lowest.is_finite() { lowest.clamp(0.1 * part, 0.5 * part) } else { 0.1 * part };
        }
        if !next_value.is_finite() || next_value >= value {
            break;
        }
        let step: Vec<f64> = next.iter().zip(&place).map(|(a, b)| a - b).collect();
        let change: Vec<f64> = next_gradient.iter().zip(&gradient).map(|(a, b)| a - b).collect();
        inverse.update(&step, &change);
        small_falls = if value - next_value < MIN_FALL { small_falls + 1 } else { 0 };
        (place, gradient, value) = (next, next_gradient, next_value);
        if small_falls == 3 {
            break;
        }
    }
    (place, value)
}

/// The inverse of the matrix of second derivatives, as far as it is known.
struct Inverse {
    len: usize,
    entries: Vec<f64>,
    is_fresh: bool,
}

impl Inverse {
    /// The unit matrix.
    fn new(len: usize) -> Self {
        let entries = (0..len * len).map(|i| f64::from(u8::from(i % (len + 1) == 0))).collect();
        Self { len, entries, is_fresh: true }
    }

    fn times(&self, vector: &[f64]) -> Vec<f64> {
        self.entries.chunks_exact(self.len).map(|row| dot(row, vector)).collect()
    }

    /// Learns that `step` changed the gradient by `change`.
    fn update(&mut self, step: &[f64], change: &[f64]) {
        let curvature = dot(step, change);
        if curvature <= 1e-14 * dot(step, step).sqrt() * dot(change, change).sqrt() {
            return;
        }
        if self.is_fresh {
            let size = curvature / dot(change, change);
            self.entries.iter_mut().for_each(|entry| *entry *= size);
            self.is_fresh = false;
        }
        let moved = self.times(change);
        let factor = (1.0 + dot(change, &moved) / curvature) / curvature;
        for i in 0..self.len {
            for j in 0..self.len {
                self.entries[i * self.len + j] +=
                    factor * step[i] * step[j] - (moved[i] * step[j] + step[i] * moved[j]) / curvature;
            }
        }
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}
