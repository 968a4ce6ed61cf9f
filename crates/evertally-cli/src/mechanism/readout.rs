//! From the releases of a step to the numbers of its rows.
//!
//! **Guarantee.** Everything here is computed from releases and public choices, so it costs no budget.
//! All releases of a step have the same error, so margins and quantiles are computed once.

use super::{Cumulated, Intervals};
use crate::output::{Estimate, MeanEstimate, Measured};
use evertally::post::{BoundedMean, Combined, PostProcess};
use evertally::{Plan, Release};

/// What the rows of a step are made of.
#[derive(Clone)]
pub(crate) enum Reading {
    /// Each release is a row.
    Totals,
    /// Every two releases give the mean of values in a range.
    Means(BoundedMean),
    /// The releases are those of ranges of bins, and give quantiles and cumulative counts.
    Cumulated(Cumulated),
    /// Each of so many releases includes those after it, and a row is what it has more than the next.
    Nested { rows: u32 },
}

impl Reading {
    /// The error of what is read, as a multiple of that of a total.
    pub(super) fn per_total(&self) -> f64 {
        match self {
            Self::Totals => 1.0,
            Self::Means(mean) => mean.count_error(),
            Self::Cumulated(cumulated) => cumulated.distribution().ranges().count_error(),
            // Differences of two totals, and the last total.
            Self::Nested { rows } => ((2.0 * f64::from(*rows) - 1.0) / f64::from(*rows)).sqrt(),
        }
    }
}

/// How releases are read.
#[derive(Clone)]
pub(super) struct Readout {
    pub(super) intervals: Intervals,
    /// One for each release.
    pub(super) post: Vec<PostProcess>,
    pub(super) reading: Reading,
}

impl Readout {
    /// The numbers of the rows that these releases give, in order.
    pub(super) fn read(&mut self, plan: &Plan, releases: &[Release]) -> Vec<Measured> {
        let Some(first) = releases.first() else { return Vec::new() };
        match &self.reading {
            Reading::Totals => {
                let margin = self.intervals.margin(plan, &first.spread());
                let posts = self.post.iter_mut();
                releases
                    .iter()
                    .zip(posts)
                    .map(|(release, post)| total(self.intervals, release, margin, post))
                    .collect()
            }
            Reading::Means(mean) => {
                let quantile = self.intervals.quantile_of_means(plan, &first.spread());
                let pairs = releases.as_chunks::<2>().0;
                pairs.iter().map(|[above, below]| mean_of(*mean, [above, below], quantile)).collect()
            }
            Reading::Cumulated(cumulated) => {
                let per_lane = cumulated.intervals_per_lane();
                cumulated.read(releases, self.intervals.quantile(plan, &first.spread(), per_lane))
            }
            Reading::Nested { .. } => self.differences(plan, releases),
        }
    }

    /// What each release has more than the next, and the last one.
    fn differences(&mut self, plan: &Plan, releases: &[Release]) -> Vec<Measured> {
        let next = releases.iter().skip(1).map(Some).chain([None]);
        let differences = releases.iter().zip(next).filter_map(|(release, next)| match next {
            Some(next) => release.less(next),
            None => Some(*release),
        });
        let of = |release: &Release, post| {
            total(self.intervals, release, self.intervals.margin(plan, &release.spread()), post)
        };
        differences.zip(&mut self.post).map(|(release, post)| of(&release, post)).collect()
    }

    /// The same for sums over periods, which do not only grow.
    pub(super) fn of_periods(&self) -> Self {
        let post = self.post.iter().cloned().map(PostProcess::without_monotone).collect();
        Self { post, ..self.clone() }
    }
}

/// An estimate in its interval. The interval belongs to the release before post-processing, and is
/// widened if the estimate lies outside. Adding zero turns a rounded -0 into 0.
fn total(intervals: Intervals, release: &Release, margin: f64, post: &mut PostProcess) -> Measured {
    let value = post.apply(release.value);
    let (lower, upper) = intervals.ends(release, margin, post.rounds());
    Measured::Total(Estimate {
        value: value + 0.0,
        standard_error: release.standard_error,
        lower: lower.min(value) + 0.0,
        upper: upper.max(value) + 0.0,
    })
}

fn mean_of(mean: BoundedMean, totals: [&Release; 2], quantile: f64) -> Measured {
    let estimate = |Combined { value, standard_error, margin }: Combined| Estimate {
        value: value + 0.0,
        standard_error,
        lower: value - margin,
        upper: value + margin,
    };
    let (count, sum) = (mean.count(totals, quantile), mean.sum(totals, quantile));
    let mean = mean.mean(totals, quantile);
    Measured::Mean(MeanEstimate {
        value: mean.value.map(|value| value + 0.0),
        lower: mean.lower + 0.0,
        upper: mean.upper + 0.0,
        count: estimate(count),
        sum: estimate(sum),
    })
}
