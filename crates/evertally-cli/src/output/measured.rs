//! What a row of a table measures: a total, a total with its rate, a mean, or a quantile.

use super::Estimate;
use serde::{Serialize, Serializer};

/// Which numbers the rows of a table have.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Measures {
    Totals,
    /// Totals, and the same per unit of a denominator.
    Rates,
    Means,
    Quantiles,
}

/// The numbers of a row.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Measured {
    Total(Estimate),
    /// The rate is missing for a group without a denominator.
    Rate(Estimate, Option<Estimate>),
    Mean(MeanEstimate),
    Quantile(QuantileEstimate),
}

/// A mean with its 95 % interval, and the count and the sum that it follows from.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct MeanEstimate {
    /// `None` if the count cannot be told from zero.
    pub(crate) value: Option<f64>,
    pub(crate) lower: f64,
    pub(crate) upper: f64,
    pub(crate) count: Estimate,
    pub(crate) sum: Estimate,
}

/// A quantile with its 95 % interval, or a cumulative count beside quantiles.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) struct QuantileEstimate {
    /// `None` in a bin without an end, and if the number of events cannot be told from zero.
    pub(crate) value: Option<f64>,
    /// Of counts only.
    pub(crate) standard_error: Option<f64>,
    /// `None` if the interval has no lower end.
    pub(crate) lower: Option<f64>,
    /// `None` if the interval has no upper end.
    pub(crate) upper: Option<f64>,
}

/// A column, and whether its cells may be empty.
type Column = (&'static str, bool);

const TOTAL: [Column; 4] =
    [("estimate", false), ("standard_error", false), ("lower", false), ("upper", false)];

const QUANTILE: [Column; 4] =
    [(TOTAL[0].0, true), (TOTAL[1].0, true), (TOTAL[2].0, true), (TOTAL[3].0, true)];

const RATE: [Column; 8] = [
    TOTAL[0],
    TOTAL[1],
    TOTAL[2],
    TOTAL[3],
    ("rate", true),
    ("rate_standard_error", true),
    ("rate_lower", true),
    ("rate_upper", true),
];

const MEAN: [Column; 11] = [
    ("mean", true),
    ("mean_lower", false),
    ("mean_upper", false),
    ("count", false),
    ("count_standard_error", false),
    ("count_lower", false),
    ("count_upper", false),
    ("sum", false),
    ("sum_standard_error", false),
    ("sum_lower", false),
    ("sum_upper", false),
];

impl Measures {
    /// The columns, in every format.
    pub(super) fn columns(self) -> &'static [Column] {
        match self {
            Self::Totals => &TOTAL,
            Self::Rates => &RATE,
            Self::Means => &MEAN,
            Self::Quantiles => &QUANTILE,
        }
    }
}

impl Measured {
    fn measures(&self) -> Measures {
        match self {
            Self::Total(_) => Measures::Totals,
            Self::Rate(..) => Measures::Rates,
            Self::Mean(_) => Measures::Means,
            Self::Quantile(_) => Measures::Quantiles,
        }
    }

    /// The numbers, in the order of the columns.
    pub(super) fn numbers(&self) -> impl Iterator<Item = Option<f64>> {
        let (mean, ends, estimates) = match *self {
            Self::Total(total) => (None, None, [Some(Some(total)), None]),
            Self::Rate(total, rate) => (None, None, [Some(Some(total)), Some(rate)]),
            Self::Mean(MeanEstimate { value, lower, upper, count, sum }) => {
                (Some(value), Some([Some(lower), Some(upper)]), [Some(Some(count)), Some(Some(sum))])
            }
            Self::Quantile(_) => (None, None, [None, None]),
        };
        let quantile = match *self {
            Self::Quantile(QuantileEstimate { value, standard_error, lower, upper }) => {
                Some([value, standard_error, lower, upper])
            }
            _ => None,
        };
        let estimates = estimates.into_iter().flatten();
        let numbers = estimates
            .flat_map(|estimate| estimate.map_or([None; 4], |estimate| estimate.numbers().map(Some)));
        let others = mean.into_iter().chain(ends.into_iter().flatten()).chain(numbers);
        others.chain(quantile.into_iter().flatten())
    }

    /// The standard error of what was counted. A quantile counts nothing.
    pub(crate) fn standard_error(&self) -> Option<f64> {
        match self {
            Self::Total(total) | Self::Rate(total, _) => Some(total.standard_error),
            Self::Mean(mean) => Some(mean.count.standard_error),
            Self::Quantile(quantile) => quantile.standard_error,
        }
    }

    /// What a plot shows: the value, if there is one, and its interval, which may have no end.
    pub(crate) fn drawn(&self) -> Option<(Option<f64>, f64, f64)> {
        match *self {
            Self::Total(shown) | Self::Rate(_, Some(shown)) => {
                Some((Some(shown.value), shown.lower, shown.upper))
            }
            Self::Rate(_, None) => None,
            Self::Mean(mean) => Some((mean.value, mean.lower, mean.upper)),
            Self::Quantile(QuantileEstimate { value, lower, upper, .. }) => {
                Some((value, lower.unwrap_or(f64::NEG_INFINITY), upper.unwrap_or(f64::INFINITY)))
            }
        }
    }
}

impl Serialize for Measured {
    fn serialize<S: Serializer>(&self, serializer: S) -> std::result::Result<S::Ok, S::Error> {
        let columns = self.measures().columns().iter().map(|(name, _)| name);
        serializer.collect_map(columns.zip(self.numbers()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// One number for each column, and none missing where a column cannot be empty.
    #[test]
    fn numbers_fit_their_columns() {
        let total = Estimate { value: 1.0, standard_error: 2.0, lower: 3.0, upper: 4.0 };
        let mean = MeanEstimate { value: None, lower: 5.0, upper: 6.0, count: total, sum: total };
        let all = [
            Measured::Total(total),
            Measured::Rate(total, Some(total)),
            Measured::Rate(total, None),
            Measured::Mean(mean),
            Measured::Mean(MeanEstimate { value: Some(7.0), ..mean }),
            Measured::Quantile(QuantileEstimate {
                value: Some(1.0),
                standard_error: None,
                lower: None,
                upper: Some(2.0),
            }),
        ];
        for measured in all {
            let numbers: Vec<_> = measured.numbers().collect();
            let columns = measured.measures().columns();
            assert_eq!(numbers.len(), columns.len());
            assert!(
                numbers
                    .iter()
                    .zip(columns)
                    .all(|(number, (_, may_be_empty))| { number.is_some() || *may_be_empty })
            );
        }
        let numbers: Vec<_> = all[4].numbers().flatten().collect();
        assert_eq!(numbers, [7.0, 5.0, 6.0, 1.0, 2.0, 3.0, 4.0, 1.0, 2.0, 3.0, 4.0]);
    }
}
