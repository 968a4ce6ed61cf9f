//! What is provably possible, and what follows from it for data that does not change.
//!
//! - [`gamma`]: the least error that any factorization of a matrix has, with certificates.
//! - [`bounds`]: proven bounds on every mechanism, at any horizon, and the paper's closed forms.
//! - [`batch`]: any linear queries at once, on data that does not change.
//!
//! These are modules and not a crate of their own, because the library needs them: the `optimal`
//! mechanism and [`Plan`](crate::Plan) comparisons need the solver of [`gamma`], and every plan
//! states its distance to a bound of [`bounds`].

pub mod batch;
pub mod bounds;
pub mod gamma;
