//! Examples in memory: rows of features, each with a label.
//!
//! **Definition.** A [`Dataset`] holds n rows of the same width, all finite, with one label per
//! row. Its preparation for learning maps every row separately, with public numbers only:
//! [`Dataset::standardised`], [`Dataset::within_ball`], [`Dataset::with_intercept`],
//! [`Dataset::with_labels`].
//!
//! **Guarantee.** A map of single rows takes neighbours to neighbours: they still differ in one
//! row. Means and scales computed from the rows would change all rows when one changes, and spend
//! privacy that no budget accounts for. They must therefore come from a public source.
//! [`Dataset::split`] depends only on the position of a row. If neighbours differ by *replacing* a
//! row, positions are public, and so is the split. If a row may be *absent*, keep its place with a
//! row that does not count (a gradient of zero), because removing it would move every later row to
//! the other side.
//!
//! `Debug` shows sizes, never a value.

use std::fmt;

use evertally::{Error, Result};

use crate::positive;
use crate::set::shorten;

/// One row: its features and its label.
#[derive(Clone, Copy, PartialEq)]
pub struct Example<'a> {
    /// The features.
    pub features: &'a [f64],
    /// The label: a number, −1 or +1, or the index of a class, depending on the loss.
    pub label: f64,
}

impl fmt::Debug for Example<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Example").field("width", &self.features.len()).finish_non_exhaustive()
    }
}

/// Rows of features with their labels.
///
/// ```
/// use evertally_learn::Dataset;
///
/// let data = Dataset::new(2, vec![10.0, 3.0, 30.0, 4.0], vec![-1.0, 1.0])?
///     .standardised(&[20.0, 3.0], &[10.0, 1.0])?
///     .within_ball(1.0)?
///     .with_intercept(1.0)?;
/// assert_eq!((data.len(), data.width()), (2, 3));
/// assert_eq!(data.example(0).features, [-1.0, 0.0, 1.0]);
/// # Ok::<(), evertally::Error>(())
/// ```
#[derive(Clone, PartialEq)]
pub struct Dataset {
    width: usize,
    features: Vec<f64>,
    labels: Vec<f64>,
}

impl Dataset {
    /// A dataset from features, in row order, and labels.
    ///
    /// # Errors
    /// [`Error::BadParameter`] for a width of zero, or if there are not `width` features per label;
    /// [`Error::BadInput`], with the number of the row, for a value that is not finite.
    pub fn new(width: usize, features: Vec<f64>, labels: Vec<f64>) -> Result<Self> {
        if width == 0 {
            return Err(Error::bad("width", "at least one feature", width));
        }
        if labels.len().checked_mul(width) != Some(features.len()) {
            let expected = format!("{width} for each of {} labels", labels.len());
            return Err(Error::bad("features", expected, features.len()));
        }
        let data = Self { width, features, labels };
        data.checked()
    }

    fn checked(self) -> Result<Self> {
        for (row, example) in self.iter().enumerate() {
            let reason = if example.features.iter().any(|value| !value.is_finite()) {
                "a feature is not a finite number"
            } else if !example.label.is_finite() {
                "its label is not a finite number"
            } else {
                continue;
            };
            return Err(Error::BadInput { step: row as u64, reason });
        }
        Ok(self)
    }

    /// The number of rows.
    #[must_use]
    pub fn len(&self) -> usize {
        self.labels.len()
    }

    /// Whether there are no rows.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.labels.is_empty()
    }

    /// The number of features.
    #[must_use]
    pub fn width(&self) -> usize {
        self.width
    }

    /// All features, in row order.
    #[must_use]
    pub fn features(&self) -> &[f64] {
        &self.features
    }

    /// All labels.
    #[must_use]
    pub fn labels(&self) -> &[f64] {
        &self.labels
    }

    /// A row, counted from zero.
    ///
    /// # Panics
    /// If the row does not exist.
    #[must_use]
    pub fn example(&self, row: usize) -> Example<'_> {
        Example {
            features: &self.features[row * self.width..(row + 1) * self.width],
            label: self.labels[row],
        }
    }

    /// The rows in order.
    pub fn iter(&self) -> impl ExactSizeIterator<Item = Example<'_>> {
        self.features
            .chunks_exact(self.width)
            .zip(&self.labels)
            .map(|(features, &label)| Example { features, label })
    }

    /// Subtracts its mean from every feature and divides by its scale. Both must be public: see the
    /// module's documentation.
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless there is one finite mean and one positive finite scale per
    /// feature; [`Error::BadInput`] if a result overflows.
    pub fn standardised(mut self, means: &[f64], scales: &[f64]) -> Result<Self> {
        let expected = format!("{} finite numbers, one per feature", self.width);
        if means.len() != self.width || means.iter().any(|mean| !mean.is_finite()) {
            return Err(Error::bad("means", expected, format!("{} numbers", means.len())));
        }
        if scales.len() != self.width || scales.iter().any(|&scale| !(scale > 0.0 && scale.is_finite())) {
            let expected = format!("{} positive numbers, one per feature", self.width);
            return Err(Error::bad("scales", expected, format!("{} numbers", scales.len())));
        }
        for row in self.features.chunks_exact_mut(self.width) {
            for ((value, mean), scale) in row.iter_mut().zip(means).zip(scales) {
                *value = (*value - mean) / scale;
            }
        }
        self.checked()
    }

    /// Shortens every row longer than `radius` to that norm. Other rows stay unchanged.
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless the radius is positive and finite.
    pub fn within_ball(mut self, radius: f64) -> Result<Self> {
        positive("radius", radius)?;
        self.features.chunks_exact_mut(self.width).for_each(|row| shorten(row, radius));
        Ok(self)
    }

    /// Appends one feature with the same value in every row, so that a linear score can have an
    /// intercept.
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless the value is finite.
    pub fn with_intercept(self, value: f64) -> Result<Self> {
        if !value.is_finite() {
            return Err(Error::bad("intercept", "a finite number", value));
        }
        let features = self
            .features
            .chunks_exact(self.width)
            .flat_map(|row| row.iter().copied().chain([value]))
            .collect();
        Ok(Self { width: self.width + 1, features, labels: self.labels })
    }

    /// Maps every label separately, such as classes 0 and 1 to −1 and +1, or an amount to its share
    /// of a public range.
    ///
    /// # Errors
    /// [`Error::BadInput`] if a mapped label is not finite.
    pub fn with_labels(mut self, map: impl Fn(f64) -> f64) -> Result<Self> {
        self.labels.iter_mut().for_each(|label| *label = map(*label));
        self.checked()
    }

    /// Splits the rows into those to learn from and those held out. Of every `every` rows the last
    /// is held out.
    ///
    /// ```
    /// use evertally_learn::Dataset;
    /// let (train, held_out) = Dataset::new(1, vec![0.0; 10], (0..10).map(f64::from).collect())?.split(5)?;
    /// assert_eq!(held_out.labels(), [4.0, 9.0]);
    /// assert_eq!(train.len(), 8);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::BadParameter`] unless `every` is at least two.
    pub fn split(self, every: usize) -> Result<(Self, Self)> {
        if every < 2 {
            return Err(Error::bad("every", "at least two", every));
        }
        let part = |held_out: bool| {
            let chosen = || (0..self.len()).filter(move |row| (row % every == every - 1) == held_out);
            Self {
                width: self.width,
                features: chosen().flat_map(|row| self.example(row).features).copied().collect(),
                labels: chosen().map(|row| self.labels[row]).collect(),
            }
        };
        Ok((part(false), part(true)))
    }

    /// The largest norm of a row. It is computed from the data and is not private. For planning,
    /// declare a bound and enforce it with [`Dataset::within_ball`].
    #[must_use]
    pub fn largest_norm(&self) -> f64 {
        self.iter().map(|example| crate::norm(example.features)).fold(0.0, f64::max)
    }
}

impl fmt::Debug for Dataset {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Dataset")
            .field("rows", &self.len())
            .field("width", &self.width)
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use evertally::ErrorClass;

    #[test]
    fn data_that_is_none_is_refused_with_its_row() {
        assert!(Dataset::new(0, vec![], vec![]).is_err());
        assert!(Dataset::new(2, vec![1.0; 3], vec![1.0; 2]).is_err());
        let nan = Dataset::new(2, vec![1.0, 1.0, f64::NAN, 1.0], vec![1.0; 2]).unwrap_err();
        assert!(nan.to_string().contains("step 1"), "{nan}");
        assert_eq!(nan.class(), ErrorClass::BadParameter);
        assert!(Dataset::new(1, vec![1.0], vec![f64::INFINITY]).is_err());
        let data = Dataset::new(2, vec![1.0, 2.0], vec![7.0]).unwrap();
        assert!(data.clone().standardised(&[0.0], &[1.0, 1.0]).is_err());
        assert!(data.clone().standardised(&[0.0, 0.0], &[1.0, 0.0]).is_err());
        assert!(data.clone().standardised(&[0.0, 0.0], &[1.0, f64::MIN_POSITIVE / 4.0]).is_err());
        assert!(data.clone().within_ball(f64::NAN).is_err());
        assert!(data.clone().with_intercept(f64::NAN).is_err());
        assert!(data.clone().with_labels(|_| f64::NAN).is_err());
        assert!(data.split(1).is_err());
    }

    #[test]
    fn debug_tells_sizes_and_no_value() {
        let data = Dataset::new(2, vec![123.25, 456.5], vec![789.75]).unwrap();
        let shown = format!("{data:?} {:?}", data.example(0));
        assert!(["123", "456", "789"].iter().all(|digits| !shown.contains(digits)), "{shown}");
        assert!(shown.contains("rows: 1"));
    }

    #[test]
    fn maps_of_rows_leave_the_other_rows_alone() {
        let prepared = |first: f64| {
            Dataset::new(2, vec![first, 1.0, 3.0, 4.0, 0.3, 0.4], vec![1.0, 2.0, 3.0])
                .and_then(|data| data.standardised(&[0.0, 0.5], &[2.0, 1.0]))
                .and_then(|data| data.within_ball(1.0))
                .and_then(|data| data.with_intercept(0.5))
                .unwrap()
        };
        let (one, other) = (prepared(0.0), prepared(1e6));
        assert_ne!(one.example(0), other.example(0));
        assert!((1..3).all(|row| one.example(row) == other.example(row)));
        // Rows of norm at most one, before their intercept.
        assert!(other.largest_norm() <= 1.25_f64.sqrt() * (1.0 + 1e-15));
    }
}
