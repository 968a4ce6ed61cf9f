//! All parities of w among d columns, without enumerating the 2^d possible kinds of person.
//!
//! **Definition.** Each person is a row of d signs. The parity of a set P of w columns is the sum
//! over the rows of Π_{i ∈ P} x_i, a number from −(rows) to (rows). There are N = C(d, w) of them.
//! As linear queries they are rows of the 2^d × 2^d Hadamard matrix, applied to the histogram of
//! rows.
//!
//! **Guarantee.** γ_F of these queries is N. Their singular values are 2^{d/2}, N times, and the
//! nuclear norm over √(2^d) is N. L = I, R = A attains it, because every column of A is N signs. So
//! each parity gets independent noise of the same deviation. If a row is added or removed, nothing
//! is better: the mean squared error σ²N is the least of any factorization.
//!
//! - *Add or remove* a row: every parity changes by one, so Δ = √N.
//! - *Replace* a row: a parity that changes does so by two. Flipping k columns changes the sets
//!   that contain an odd number of them, Σ_{j odd} C(k, j) C(d−k, w−j). Δ is twice the root of the
//!   largest of these numbers over k, at most 2√N, and attained. Here no factorization has a mean
//!   squared error below 2σ²N. A times the vector of ones is 0, so the mean column of R may be
//!   subtracted from all. Then the squared distances of columns average to twice their squared
//!   norms, so Δ² ≥ 2‖R‖_F²/2^d, and ‖L‖_F ‖R‖_F is at least the nuclear norm 2^{d/2} N.
//!
//! **Cost.** Rows are stored as bits, one block at a time. Combining and counting a block of 64·B
//! rows takes N·B words. Memory is 8 N bytes.

use std::fmt;

use zeroize::Zeroizing;

use super::{NoiseScale, check_gaussian, white_noise};
use crate::matrix::Matrix;
use crate::noise::{NoiseKey, WhiteNoise};
use crate::noise_name::{Fields, NoiseName, Value};
use crate::privacy::{Budget, Neighbours};
use crate::{Error, Result};

/// The maximum number of columns.
pub const MAX_PARITY_COLUMNS: usize = 30;

/// The maximum number of parities that are answered at once: 128 MiB of totals.
pub const MAX_PARITIES: u64 = 1 << 24;

/// The maximum number of entries of the matrix of parities that are written out.
const MAX_ENTRIES: u64 = 1 << 24;

/// Words per column in a block. All columns of a block, and the intermediate products, stay in the
/// second-level cache.
const BLOCK_WORDS: usize = 1 << 10;

/// Released sums are integer multiples of 2⁻⁴⁰ until they become floats.
const UNIT_BITS: i32 = 40;

/// Which parities are answered, and with how much noise.
///
/// ```
/// use evertally::research::batch::ParityPlan;
/// use evertally::{Budget, Neighbours};
///
/// let plan = ParityPlan::new(30, 2, Budget::new(1.0, 1e-6)?, Neighbours::AddRemove)?;
/// assert_eq!(plan.queries(), 435);
/// assert!(plan.mean_squared_error() < 1.000_001 * plan.least_mean_squared_error());
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct ParityPlan {
    columns: usize,
    degree: usize,
    queries: u64,
    pub(super) noise: NoiseScale,
}

impl ParityPlan {
    /// All parities of `degree` among `columns` columns.
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless 1 ≤ degree ≤ columns ≤ 30 and there are at most 2²⁴ parities.
    /// [`Error::Unsupported`] for a budget of pure ε.
    pub fn new(columns: usize, degree: usize, budget: Budget, neighbours: Neighbours) -> Result<Self> {
        check_gaussian(budget)?;
        check_degree(columns, degree)?;
        let queries = choose(columns, degree);
        if queries > MAX_PARITIES {
            let expected = format!("one with at most {MAX_PARITIES} parities of {columns} columns");
            return Err(Error::bad("degree", expected, format!("{degree}, which has {queries}")));
        }
        let squared = match neighbours {
            Neighbours::AddRemove => queries,
            Neighbours::Replace => 4 * most_changed(columns, degree),
        };
        let sensitivity = (squared as f64).sqrt().next_up();
        let noise = NoiseScale::new(budget, neighbours, sensitivity, 1.0);
        Ok(Self { columns, degree, queries, noise })
    }

    /// The number of columns d.
    #[must_use]
    pub fn columns(&self) -> usize {
        self.columns
    }

    /// The number of columns in each parity, w.
    #[must_use]
    pub fn degree(&self) -> usize {
        self.degree
    }

    /// The number of parities, C(d, w), which is also γ_F of the queries.
    #[must_use]
    pub fn queries(&self) -> u64 {
        self.queries
    }

    /// The standard deviation of the independent noise in every answer.
    #[must_use]
    pub fn standard_error(&self) -> f64 {
        self.noise.scale
    }

    /// The mean squared error, the same for every answer.
    #[must_use]
    pub fn mean_squared_error(&self) -> f64 {
        self.noise.scale * self.noise.scale
    }

    /// A lower bound on the mean squared error of any factorization at this budget.
    #[must_use]
    pub fn least_mean_squared_error(&self) -> f64 {
        let factor = match self.noise.neighbours {
            Neighbours::AddRemove => 1.0,
            Neighbours::Replace => 2.0,
        };
        factor * self.queries as f64 * self.noise.budget.noise_multiplier().powi(2)
    }

    /// The paper's lower bound for any mechanism whose noise does not depend on the data: C(d,
    /// w)/(e^{2ε} − 1)². It is defined for adding or removing a row, and for budgets of (ε, δ).
    #[must_use]
    pub fn paper_lower_bound(&self) -> Option<f64> {
        let epsilon =
            self.noise.budget.epsilon().filter(|_| self.noise.neighbours == Neighbours::AddRemove)?;
        Some(self.queries as f64 / (2.0 * epsilon).exp_m1().powi(2))
    }

    /// The sets of columns in the order in which parities are answered: 0 1, 0 2, …, 1 2, ….
    ///
    /// ```
    /// use evertally::research::batch::ParityPlan;
    /// use evertally::{Budget, Neighbours};
    /// let plan = ParityPlan::new(3, 2, Budget::new(1.0, 1e-6)?, Neighbours::AddRemove)?;
    /// assert_eq!(plan.sets().collect::<Vec<_>>(), [[0, 1], [0, 2], [1, 2]]);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    pub fn sets(&self) -> impl Iterator<Item = Vec<usize>> + use<> {
        sets(self.columns, self.degree)
    }
}

/// The matrix of all parities, C(d, w) × 2^d. Its rows are in the order of [`ParityPlan::sets`]. It
/// has one column per kind of person, and the bits of the column number give the columns of the
/// table that are −1.
///
/// ```
/// let queries = evertally::research::batch::parity_queries(2, 1)?;
/// assert_eq!(queries.row(0), [1.0, -1.0, 1.0, -1.0]);
/// # Ok::<(), evertally::Error>(())
/// ```
///
/// # Errors
/// [`Error::BadParameter`] unless 1 ≤ degree ≤ columns ≤ 30. [`Error::TooCostly`] above 2²⁴
/// entries; γ_F is C(d, w) in any case.
pub fn parity_queries(columns: usize, degree: usize) -> Result<Matrix> {
    check_degree(columns, degree)?;
    let rows = choose(columns, degree);
    if rows << columns > MAX_ENTRIES {
        let reason = format!("{rows} × 2^{columns} entries; their γ_F is {rows} exactly");
        return Err(Error::too_costly("a matrix of parities", reason));
    }
    let masks: Vec<usize> =
        sets(columns, degree).map(|set| set.iter().map(|column| 1 << column).sum()).collect();
    let sign = |ones: u32| if ones.is_multiple_of(2) { 1.0 } else { -1.0 };
    Ok(Matrix::from_fn(masks.len(), 1 << columns, |i, row| sign((masks[i] & row).count_ones())))
}

fn check_degree(columns: usize, degree: usize) -> Result<()> {
    if columns == 0 || columns > MAX_PARITY_COLUMNS {
        return Err(Error::bad("columns", format!("from 1 to {MAX_PARITY_COLUMNS}"), columns));
    }
    if degree == 0 || degree > columns {
        return Err(Error::bad("degree", format!("from 1 to the {columns} columns"), degree));
    }
    Ok(())
}

/// The sets of `degree` among `columns` columns, in order.
fn sets(columns: usize, degree: usize) -> impl Iterator<Item = Vec<usize>> {
    std::iter::successors(Some((0..degree).collect::<Vec<_>>()), move |set| {
        // The last member that can move does, and those after it follow directly.
        let at = (0..degree).rev().find(|&at| set[at] < columns - degree + at)?;
        let mut next = set.clone();
        let moved = next[at] + 1;
        next[at..].iter_mut().zip(moved..).for_each(|(member, column)| *member = column);
        Some(next)
    })
}

/// C(n, k), for n ≤ 30.
fn choose(n: usize, k: usize) -> u64 {
    if k > n { 0 } else { (0..k as u64).fold(1, |product, i| product * (n as u64 - i) / (i + 1)) }
}

/// The largest number of sets of `degree` columns whose parity changes when some columns are
/// flipped.
fn most_changed(columns: usize, degree: usize) -> u64 {
    let changed = |flipped: usize| -> u64 {
        let odd = (1..=degree).step_by(2);
        odd.map(|j| choose(flipped, j) * choose(columns - flipped, degree - j)).sum()
    };
    (1..=columns).map(changed).max().unwrap_or_default()
}

/// The true parities of the rows so far. `Debug` omits their values, because they must not be
/// shown.
///
/// ```
/// use evertally::research::batch::{ParityPlan, ParityTotals};
/// use evertally::{Budget, Neighbours, NoiseKey};
///
/// let plan = ParityPlan::new(3, 2, Budget::new(1.0, 1e-6)?, Neighbours::AddRemove)?;
/// let mut totals = ParityTotals::new(&plan);
/// totals.add(0b011); // columns 0 and 1 are −1, column 2 is +1
/// totals.add(0b000);
/// let answers = totals.release(NoiseKey::from_os()?);
/// assert_eq!(answers.len(), 3);
/// # Ok::<(), evertally::Error>(())
/// ```
pub struct ParityTotals {
    plan: ParityPlan,
    /// Hash of the columns' names, which identifies the counted columns.
    names: [u8; 32],
    totals: Zeroizing<Vec<i64>>,
    /// The rows of the block, one bit per row, column by column.
    block: Vec<Zeroizing<Vec<u64>>>,
    rows: usize,
}

impl ParityTotals {
    /// Totals before the first row.
    #[must_use]
    pub fn new(plan: &ParityPlan) -> Self {
        Self {
            plan: *plan,
            names: [0; 32],
            totals: vec![0; plan.queries as usize].into(),
            block: vec![vec![0; BLOCK_WORDS].into(); plan.columns],
            rows: 0,
        }
    }

    /// Names the columns of the table. Under one key, different columns then have different noise.
    /// Without names, two choices of columns whose parities happen to be equal get equal answers,
    /// which reveals that they are equal.
    #[must_use]
    pub fn named<S: AsRef<str>>(mut self, columns: impl IntoIterator<Item = S>) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key("evertally parity columns 1");
        for column in columns {
            let column = column.as_ref().as_bytes();
            // With its length, so that no two lists of names give the same bytes.
            hasher.update(&(column.len() as u64).to_le_bytes()).update(column);
        }
        self.names = *hasher.finalize().as_bytes();
        self
    }

    /// Adds a row, given as a mask: bit i is set if column i is −1. Bits beyond the columns are
    /// ignored.
    pub fn add(&mut self, negative: u32) {
        let (word, bit) = (self.rows / 64, self.rows % 64);
        for (column, words) in self.block.iter_mut().enumerate() {
            words[word] |= u64::from(negative >> column & 1) << bit;
        }
        self.rows += 1;
        if self.rows == 64 * BLOCK_WORDS {
            self.count_block();
        }
    }

    /// Adds the block to the totals and empties it.
    fn count_block(&mut self) {
        let words = self.rows.div_ceil(64);
        let columns: Vec<&[u64]> = self.block.iter().map(|column| &column[..words]).collect();
        let mut products = vec![vec![0; words]; self.plan.degree];
        let mut totals = self.totals.iter_mut();
        count_sets(&columns, &vec![0; words], &mut products[1..], self.rows as i64, &mut totals);
        self.block.iter_mut().for_each(|column| column[..words].fill(0));
        self.rows = 0;
    }

    /// The true totals of all rows so far, for a digest of the input. They are as private as the
    /// rows.
    #[doc(hidden)]
    pub fn counted(&mut self) -> &[i64] {
        if self.rows > 0 {
            self.count_block();
        }
        &self.totals
    }

    /// Private answers to all parities, in the order of [`ParityPlan::sets`], each with the plan's
    /// standard error.
    ///
    /// A key must be used for one table only. Noise depends on the data as well as on the key, so
    /// using a key twice by mistake does not reveal the difference. It does reveal whether two
    /// tables have equal parities. For several choices of columns of one table, see
    /// [`named`](Self::named).
    #[must_use]
    #[expect(clippy::needless_pass_by_value, reason = "taking the key keeps it from being used twice")]
    pub fn release(mut self, key: NoiseKey) -> Vec<f64> {
        self.counted();
        let mut answers = vec![0.0; self.totals.len()];
        self.white(&key).fill_parallel(0, &mut answers);
        for (answer, &total) in answers.iter_mut().zip(self.totals.iter()) {
            // Added as integers, so that the answer is a function of the noisy sum only.
            let noise = libm::scalbn(self.plan.noise.scale * *answer, UNIT_BITS).round() as i128;
            *answer = libm::scalbn(((i128::from(total) << UNIT_BITS) + noise) as f64, -UNIT_BITS);
        }
        answers
    }

    /// The name of this noise. Other columns, degrees, budgets and neighbours have other names.
    #[must_use]
    pub fn noise_name(&self) -> NoiseName {
        let ParityPlan { columns, degree, noise, .. } = &self.plan;
        let mut fields = Fields::new(*b"EVNP", 2);
        fields.put(3, noise.budget.name_value());
        fields.put(4, noise.neighbours.name_value());
        fields.put(10, Value::new().integer(*columns as u64).integer(*degree as u64));
        fields.put(12, Value::new().raw(&self.names));
        NoiseName::new(fields.into_bytes())
    }

    fn white(&self, key: &NoiseKey) -> WhiteNoise {
        let mut hasher = blake3::Hasher::new_derive_key("evertally parity totals 1");
        for total in self.totals.iter() {
            hasher.update(&total.to_le_bytes());
        }
        white_noise(&self.noise_name(), &hasher, key)
    }
}

/// Visits the sets in order. `products` has one buffer per member except the last.
fn count_sets(
    columns: &[&[u64]],
    product: &[u64],
    products: &mut [Vec<u64>],
    rows: i64,
    totals: &mut std::slice::IterMut<'_, i64>,
) {
    let Some((next, later)) = products.split_first_mut() else {
        for column in columns {
            let negative: u32 = product.iter().zip(*column).map(|(a, b)| (a ^ b).count_ones()).sum();
            if let Some(total) = totals.next() {
                *total += rows - 2 * i64::from(negative);
            }
        }
        return;
    };
    let members_to_come = later.len() + 1;
    for first in 0..columns.len() - members_to_come {
        for ((word, a), b) in next.iter_mut().zip(product).zip(columns[first]) {
            *word = a ^ b;
        }
        count_sets(&columns[first + 1..], next, later, rows, totals);
    }
}

impl fmt::Debug for ParityTotals {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ParityTotals").field("plan", &self.plan).finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(columns: usize, degree: usize, neighbours: Neighbours) -> ParityPlan {
        ParityPlan::new(columns, degree, Budget::new(1.0, 1e-6).unwrap(), neighbours).unwrap()
    }

    /// The parities of one row, from the definition.
    fn parities(plan: &ParityPlan, row: u32) -> Vec<i64> {
        let sign = |column: usize| if row >> column & 1 == 1 { -1 } else { 1 };
        plan.sets().map(|set| set.into_iter().map(sign).product()).collect()
    }

    #[test]
    fn totals_are_sums_of_products() {
        for columns in 1..=6 {
            for degree in 1..=columns {
                let plan = plan(columns, degree, Neighbours::AddRemove);
                let mut totals = ParityTotals::new(&plan);
                let mut expected = vec![0; plan.queries as usize];
                for row in (0..200_u32).map(|i| i.wrapping_mul(0x9E37_79B9) >> 20) {
                    totals.add(row);
                    expected.iter_mut().zip(parities(&plan, row)).for_each(|(sum, x)| *sum += x);
                }
                totals.count_block();
                assert_eq!(*totals.totals, expected, "{columns} choose {degree}");
            }
        }
    }

    #[test]
    fn blocks_follow_each_other() {
        let plan = plan(3, 2, Neighbours::AddRemove);
        let mut totals = ParityTotals::new(&plan);
        let rows = 64 * BLOCK_WORDS + 17;
        (0..rows).for_each(|_| totals.add(0b001));
        totals.count_block();
        assert_eq!(*totals.totals, [-(rows as i64), -(rows as i64), rows as i64]);
    }

    #[test]
    fn sensitivities_are_the_largest_changes() {
        for columns in 1..=7 {
            for degree in 1..=columns {
                let squared = |a: Vec<i64>, b: Vec<i64>| -> i64 {
                    a.iter().zip(&b).map(|(a, b)| (a - b) * (a - b)).sum()
                };
                let add = plan(columns, degree, Neighbours::AddRemove);
                let replace = plan(columns, degree, Neighbours::Replace);
                let alone = squared(parities(&add, 0), vec![0; add.queries as usize]);
                assert!((add.sensitivity().powi(2) / alone as f64 - 1.0).abs() < 1e-14);
                let farthest =
                    (0..1 << columns).map(|row| squared(parities(&add, 0), parities(&add, row))).max();
                assert!((replace.sensitivity().powi(2) / farthest.unwrap() as f64 - 1.0).abs() < 1e-14);
                assert!(replace.mean_squared_error() >= replace.least_mean_squared_error());
            }
        }
    }

    #[test]
    fn thirty_columns_need_no_universe() {
        let plan = plan(30, 3, Neighbours::AddRemove);
        assert_eq!(plan.sets().count(), 4060);
        let mut totals = ParityTotals::new(&plan);
        totals.add(1 << 29);
        totals.count_block();
        assert_eq!(*totals.totals, parities(&plan, 1 << 29));
    }

    #[test]
    fn what_is_too_much_is_refused() {
        let budget = Budget::new(1.0, 1e-6).unwrap();
        let refused = |columns, degree| {
            ParityPlan::new(columns, degree, budget, Neighbours::AddRemove).unwrap_err().to_string()
        };
        assert!(refused(0, 1).contains("columns must be from 1 to 30"));
        assert!(refused(31, 1).contains("got 31"));
        assert!(refused(5, 0).contains("from 1 to the 5 columns"));
        assert!(refused(5, 6).contains("got 6"));
        assert!(refused(30, 15).contains("155117520"));
        let pure = ParityPlan::new(5, 2, Budget::pure(1.0).unwrap(), Neighbours::AddRemove);
        assert!(pure.unwrap_err().to_string().contains("pure"));
    }
}
