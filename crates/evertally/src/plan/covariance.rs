//! The covariance of the noise in all releases of a plan.

use super::Plan;
use crate::Result;
use crate::matrix::Matrix;

impl Plan {
    /// C\[s,t\]: the covariance of the noise in the releases of steps s and t, in squared units of the
    /// data, including the rounding to the grid. It says nothing about the data.
    ///
    /// A sum of releases Σ a_t·release_t has the variance aᵀCa, exactly. The total over the steps after
    /// s up to t has C\[t,t\] + C\[s,s\] − 2C\[s,t\], and its difference to another such total has four
    /// coefficients.
    ///
    /// ```
    /// use evertally::{Budget, Plan};
    /// let plan = Plan::prefix_sum(10).budget(Budget::new(1.0, 1e-6)?).build()?;
    /// let c = plan.covariance()?;
    /// assert!((c[(3, 3)].sqrt() / plan.standard_error(3)? - 1.0).abs() < 1e-9);
    /// # Ok::<(), evertally::Error>(())
    /// ```
    ///
    /// # Errors
    /// [`Error::TooCostly`](crate::Error::TooCostly) beyond 2,048 steps.
    pub fn covariance(&self) -> Result<Matrix> {
        let decoder = self.dense()?.decoder.to_faer();
        let product = &decoder * decoder.transpose();
        let (variance, rounding) = (self.noise_scale().powi(2), self.rounding().deviation().powi(2));
        Ok(Matrix::from_fn(product.nrows(), product.ncols(), |s, t| {
            variance * product[(s, t)] + if s == t { rounding } else { 0.0 }
        }))
    }
}
