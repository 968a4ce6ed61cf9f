//! Rows from a file, and their split for training, for choosing the rate, and for testing.

use std::path::Path;

use evertally_learn::{Dataset, Losses};

/// A constant feature of every row.
const INTERCEPT: f64 = 0.5;

pub(crate) struct Table {
    pub(crate) name: String,
    pub(crate) loss: Losses,
    data: Dataset,
}

pub(crate) struct Split {
    pub(crate) train: Dataset,
    pub(crate) validation: Dataset,
    pub(crate) test: Dataset,
}

impl Table {
    /// Features, then the label: −1 and +1, or classes from zero.
    pub(crate) fn read(path: &Path) -> Result<Self, String> {
        let fail = |error: &dyn std::fmt::Display| format!("{}: {error}", path.display());
        let mut reader = csv::Reader::from_path(path).map_err(|error| fail(&error))?;
        let (mut features, mut labels, mut width) = (Vec::new(), Vec::new(), 0);
        for record in reader.deserialize::<Vec<f64>>() {
            let mut row = record.map_err(|error| fail(&error))?;
            labels.push(row.pop().ok_or_else(|| fail(&"an empty row"))?);
            width = row.len();
            features.extend(row);
        }
        let classes = labels.iter().fold(0.0_f64, |most, label| most.max(*label)) as usize + 1;
        let name = if labels.contains(&-1.0) { "logistic".to_owned() } else { format!("softmax:{classes}") };
        let loss = name.parse().map_err(|error| fail(&error))?;
        let data = Dataset::new(width, features, labels)
            .and_then(|data| data.within_ball(1.0))
            .and_then(|data| data.with_intercept(INTERCEPT))
            .map_err(|error| fail(&error))?;
        let name = path.file_stem().unwrap_or_default().to_string_lossy().into_owned();
        Ok(Self { name, loss, data })
    }

    /// A fifth of the rows for choosing, a fifth for testing, and a number of the others for
    /// training, in an order given by the seed.
    pub(crate) fn split(&self, seed: u64, training_rows: usize) -> Result<Split, evertally::Error> {
        let mut order: Vec<usize> = (0..self.data.len()).collect();
        let mut random = SplitMix(seed);
        for last in (1..order.len()).rev() {
            order.swap(last, (random.next() % (last as u64 + 1)) as usize);
        }
        let fifth = order.len() / 5;
        let part = |rows: &[usize]| {
            let features = rows.iter().flat_map(|row| self.data.example(*row).features.iter().copied());
            let labels = rows.iter().map(|row| self.data.example(*row).label);
            Dataset::new(self.data.width(), features.collect(), labels.collect())
        };
        let (held_out, train) = order.split_at(2 * fifth);
        let train = &train[..training_rows];
        Ok(Split {
            train: part(train)?,
            validation: part(&held_out[..fifth])?,
            test: part(&held_out[fifth..])?,
        })
    }

    pub(crate) fn training_rows(&self) -> usize {
        self.data.len() - 2 * (self.data.len() / 5)
    }

    pub(crate) fn parameters(&self) -> usize {
        self.loss.parameters(self.data.width())
    }
}

/// The share of rows whose label is predicted correctly.
pub(crate) fn accuracy(loss: &Losses, theta: &[f64], data: &Dataset) -> f64 {
    let right =
        data.iter().filter(|example| loss.prediction(theta, example.features) == example.label).count();
    right as f64 / data.len() as f64
}

/// The generator of Steele, Lea and Flood for the order of rows, which is public here.
struct SplitMix(u64);

impl SplitMix {
    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9E37_79B9_7F4A_7C15);
        let mut word = self.0;
        word = (word ^ (word >> 30)).wrapping_mul(0xBF58_476D_1CE4_E5B9);
        word = (word ^ (word >> 27)).wrapping_mul(0x94D0_49BB_1331_11EB);
        word ^ (word >> 31)
    }
}
