//! Running totals of a sensitive stream under differential privacy.

pub mod error;
pub mod noise;
pub mod privacy;

pub use error::{Error, ErrorClass, Result};
