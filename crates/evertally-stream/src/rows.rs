//! Input in which each row is already the count of one step.

use crate::amount::{Amount, Clamp};
use crate::closed::ClosedStep;
use crate::error::{Error, Result};

/// Turns the n-th row into step n. A row is closed as soon as it is read.
pub struct Rows {
    horizon: Option<u64>,
    clamp: Option<Clamp>,
    next: u64,
}

impl Rows {
    /// Rows for a declared number of steps; `None` if the number of rows is public.
    pub fn new(horizon: Option<u64>, clamp: Option<Clamp>) -> Result<Self> {
        if horizon == Some(0) {
            return Err(Error::bad("the number of steps", "at least 1", 0));
        }
        Ok(Self { horizon, clamp, next: 0 })
    }

    /// The same for rows that come after those of earlier runs.
    #[must_use]
    pub fn after(mut self, steps: u64) -> Self {
        self.next = steps;
        self
    }

    /// Takes the next row.
    pub fn push(&mut self, value: f64) -> Result<ClosedStep> {
        let step = self.next;
        Ok(ClosedStep { step, totals: vec![self.take(value)?] })
    }

    /// The same, as the total of the step.
    pub fn take(&mut self, value: f64) -> Result<Amount> {
        if let Some(horizon) = self.horizon
            && self.next >= horizon
        {
            return Err(Error::HorizonSpent { horizon });
        }
        let amount = match &self.clamp {
            Some(clamp) => clamp.apply(value)?,
            None => Amount::nearest(value)?,
        };
        self.next += 1;
        Ok(amount)
    }

    /// The declared steps for which there was no row, each zero.
    pub fn finish(self) -> impl Iterator<Item = ClosedStep> {
        let end = self.horizon.unwrap_or(self.next);
        (self.next..end).map(|step| ClosedStep { step, totals: vec![Amount::default()] })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn missing_rows_are_zero_and_a_further_row_is_an_error() {
        let mut rows = Rows::new(Some(3), None).unwrap();
        assert!(rows.push(4.0).is_ok_and(|closed| closed.totals[0].to_f64() == 4.0));
        let rest: Vec<_> = rows.finish().map(|closed| (closed.step, closed.totals[0].to_f64())).collect();
        assert_eq!(rest, [(1, 0.0), (2, 0.0)]);

        let mut later = Rows::new(Some(3), None).unwrap().after(2);
        assert!(later.push(4.0).is_ok_and(|closed| closed.step == 2));
        assert!(later.push(4.0).is_err());

        let mut rows = Rows::new(Some(1), None).unwrap();
        assert!(rows.push(1.0).is_ok());
        assert!(rows.push(1.0).is_err_and(|error| error == Error::HorizonSpent { horizon: 1 }));
    }

    #[test]
    fn values_are_clamped_or_must_be_exact() {
        let mut rows = Rows::new(None, Some(Clamp::new(-2.0, 2.0).unwrap())).unwrap();
        assert!(rows.push(1e300).is_ok_and(|closed| closed.totals[0].to_f64() == 2.0));
        let mut rows = Rows::new(None, None).unwrap();
        assert!(rows.push(1e300).is_err());
        assert!(rows.push(f64::NAN).is_err());
        assert!(Rows::new(Some(0), None).is_err());
    }
}
