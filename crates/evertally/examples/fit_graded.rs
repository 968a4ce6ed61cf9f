//! Fits the shapes of the graded square root and prints the table that `graded_square_root/table.rs` holds.
//!
//! Run by `cargo xtask fit graded`. For every knot n, a quasi-Newton search minimises the logarithm
//! of the error over eight numbers, beginning with those of the neighbouring knot and held near
//! them by a ridge, because the valley is flat and the numbers in between are interpolated. The
//! worst step is approached by power means of growing power.

use std::fmt::Write as _;

use evertally::Objective;
use evertally::internals::factorization::graded_square_root::{PARAMETERS, Shape, trial};

type Parameters = [f64; PARAMETERS];

/// From where both directions set out.
const CENTRE: u64 = 256;

/// A unit of distance between neighbouring knots costs this much, relatively.
const RIDGE: f64 = 3e-6;

/// Grades below this make the closed form of the column norms cancel.
const MIN_GRADE: f64 = 0.06;

/// The step of central differences.
const DIFFERENCE: f64 = 1e-4;

fn knots() -> Vec<u64> {
    let mut knots: Vec<u64> = (1..=24).collect();
    let mut n = 24.0_f64;
    while n < 4096.0 {
        n *= 1.16;
        knots.push(n.round() as u64);
    }
    knots.extend([13, 14, 15, 16, 18, 20, 25, 30, 40].map(|i| 1 << i));
    knots.push(CENTRE);
    knots.sort_unstable();
    knots.dedup();
    knots
}

/// What is minimised: `power` stands for the worst step, none for the mean.
struct Loss {
    horizon: u64,
    power: Option<i32>,
    near: Parameters,
    ridge: f64,
}

impl Loss {
    fn at(&self, p: &Parameters) -> f64 {
        let Some(trial) = trial(self.horizon, &Shape::from_parameters(p), self.power.unwrap_or(1)) else {
            return f64::INFINITY;
        };
        let error = if self.power.is_some() { trial.soft_max } else { trial.mean };
        let distance: f64 = p.iter().zip(&self.near).map(|(a, b)| (a - b) * (a - b)).sum();
        let low = (MIN_GRADE - trial.least_grade).max(0.0);
        error.ln() + self.ridge * distance + low * low
    }

    fn gradient(&self, p: &Parameters) -> Parameters {
        std::array::from_fn(|i| {
            let moved = |by: f64| {
                let mut q = *p;
                q[i] += by;
                self.at(&q)
            };
            (moved(DIFFERENCE) - moved(-DIFFERENCE)) / (2.0 * DIFFERENCE)
        })
    }

    /// Broyden, Fletcher, Goldfarb and Shanno, with halving along the line.
    fn minimise(&self, start: Parameters, rounds: usize) -> Parameters {
        let (mut p, mut value, mut gradient) = (start, self.at(&start), self.gradient(&start));
        let mut inverse = identity();
        for _ in 0..rounds {
            let mut direction: Parameters = std::array::from_fn(|i| -dot(&inverse[i], &gradient));
            if dot(&direction, &gradient) >= 0.0 {
                inverse = identity();
                direction = gradient.map(|g| -g);
            }
            // No number moves by more than a half at once.
            let largest = direction.iter().fold(0.0_f64, |m, x| m.max(x.abs()));
            let mut size = (0.5 / largest).min(1.0);
            let mut next = None;
            for _ in 0..30 {
                let q: Parameters = std::array::from_fn(|i| p[i] + size * direction[i]);
                let found = self.at(&q);
                if found < value + 1e-4 * size * dot(&direction, &gradient) {
                    next = Some((q, found));
                    break;
                }
                size *= 0.5;
            }
            let Some((q, found)) = next else { break };
            let new = self.gradient(&q);
            update(
                &mut inverse,
                &std::array::from_fn(|i| q[i] - p[i]),
                &std::array::from_fn(|i| new[i] - gradient[i]),
            );
            let gained = value - found;
            (p, value, gradient) = (q, found, new);
            if gained < 1e-10 {
                break;
            }
        }
        p
    }
}

fn dot(a: &Parameters, b: &Parameters) -> f64 {
    a.iter().zip(b).map(|(x, y)| x * y).sum()
}

fn identity() -> [Parameters; PARAMETERS] {
    std::array::from_fn(|i| std::array::from_fn(|j| f64::from(u8::from(i == j))))
}

fn update(inverse: &mut [Parameters; PARAMETERS], s: &Parameters, y: &Parameters) {
    let curvature = dot(s, y);
    if curvature <= 1e-14 {
        return;
    }
    let hy: Parameters = std::array::from_fn(|i| dot(&inverse[i], y));
    let factor = (1.0 + dot(&hy, y) / curvature) / curvature;
    for i in 0..PARAMETERS {
        for j in 0..PARAMETERS {
            inverse[i][j] += factor * s[i] * s[j] - (hy[i] * s[j] + s[i] * hy[j]) / curvature;
        }
    }
}

fn fit(horizon: u64, objective: Objective, near: Parameters, ridge: f64) -> Parameters {
    let loss = |power| Loss { horizon, power, near, ridge };
    let mut found = match objective {
        Objective::Worst => {
            [150, 600, 2400].into_iter().fold(near, |p, power| loss(Some(power)).minimise(p, 60))
        }
        _ => loss(None).minimise(near, 80),
    };
    // The decline enters by its square; between knots of opposite signs it would pass through zero.
    found[6] = found[6].abs();
    found
}

fn main() {
    let mut text = String::from(
        "//! The fitted numbers. Made by `cargo xtask fit graded`; not to be edited.\n\nuse super::shape::PARAMETERS;\n",
    );
    let objectives =
        [(Objective::Mean, "MEAN", "the mean error"), (Objective::Worst, "WORST", "the worst step")];
    let results: Vec<String> = std::thread::scope(|scope| {
        let threads: Vec<_> = objectives
            .into_iter()
            .map(|(objective, name, what)| scope.spawn(move || table(objective, name, what)))
            .collect();
        threads.into_iter().map(|thread| thread.join().unwrap_or_default()).collect()
    });
    results.iter().for_each(|result| text.push_str(result));
    print!("{text}");
}

fn table(objective: Objective, name: &str, what: &str) -> String {
    let knots = knots();
    let centre = knots.partition_point(|n| *n < CENTRE);
    let start = [-3.0, -0.5, 0.0, -3.0, -0.5, 0.0, 0.6, 0.016];
    let mut found = vec![fit(CENTRE, objective, start, 1e-7); knots.len()];
    report(CENTRE, objective, &found[centre]);
    for i in centre + 1..knots.len() {
        found[i] = fit(knots[i], objective, found[i - 1], RIDGE);
        report(knots[i], objective, &found[i]);
    }
    for i in (0..centre).rev() {
        found[i] = fit(knots[i], objective, found[i + 1], RIDGE);
        report(knots[i], objective, &found[i]);
    }
    let mut text =
        format!("\n/// Knots for {what}.\npub(super) const {name}: &[(u64, [f64; PARAMETERS])] = &[\n");
    for (n, p) in knots.iter().zip(&found) {
        let numbers: Vec<String> = p.iter().map(|x| format!("{x:.5}")).collect();
        let _ = writeln!(text, "    ({n}, [{}]),", numbers.join(", "));
    }
    text + "];\n"
}

fn report(n: u64, objective: Objective, p: &Parameters) {
    if let Some(trial) = trial(n, &Shape::from_parameters(p), 400) {
        eprintln!(
            "{objective} {n}: mean {:.6} max {:.6} least grade {:.3} {p:.3?}",
            trial.mean, trial.max, trial.least_grade
        );
    }
}
