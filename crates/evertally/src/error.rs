//! Errors as values with a class: the same class in Rust, on the command line, over HTTP and in Python.

use std::fmt;

/// What went wrong. Messages never carry a key, a true count or a noise value.
#[derive(Debug, Clone, PartialEq, thiserror::Error)]
#[non_exhaustive]
pub enum Error {
    /// A parameter outside the range in which the mathematics holds.
    #[error("{name} must be {expected}, got {got}")]
    BadParameter {
        /// The parameter, as the caller knows it.
        name: &'static str,
        /// The values that are accepted.
        expected: String,
        /// What was given.
        got: String,
    },
    /// A mechanism cannot serve the request (its workload, budget or participation).
    #[error("{mechanism} cannot be used here: {reason}")]
    Unsupported {
        /// The mechanism's name.
        mechanism: String,
        /// Why not, and what would work.
        reason: String,
    },
    /// A mechanism could serve the request, but not at this size.
    #[error("{mechanism} is too costly here: {reason}")]
    TooCostly {
        /// The mechanism's name.
        mechanism: String,
        /// The cost and the limit it exceeds.
        reason: String,
    },
    /// Every declared step has been released.
    #[error("the horizon of {horizon} steps is spent: a further release would not be private")]
    HorizonSpent {
        /// The number of steps that were declared.
        horizon: u64,
    },
    /// A mechanism would exceed the total that was stated for a population.
    #[error("the budget of {population} does not allow {asked}: {left} is left of {total}")]
    BudgetSpent {
        /// The population whose budget it is.
        population: String,
        /// What the mechanism would have spent.
        asked: String,
        /// What could still be spent.
        left: String,
        /// The total that was stated.
        total: String,
    },
    /// An input that the counter cannot represent exactly.
    #[error("input at step {step} is not usable: {reason}")]
    BadInput {
        /// The step, counted from zero.
        step: u64,
        /// Why, without the value.
        reason: &'static str,
    },
    /// A saved state that is damaged, or belongs to another plan or key.
    #[error("saved state refused: {reason}")]
    BadState {
        /// What does not fit.
        reason: &'static str,
    },
    /// The operating system gave no randomness. There is no fallback.
    #[error("the operating system gave no randomness: {reason}")]
    NoEntropy {
        /// The system's own words.
        reason: String,
    },
}

/// The class of an [`Error`], stable across every face of the project.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[non_exhaustive]
pub enum ErrorClass {
    /// The caller gave something that cannot be used.
    BadParameter,
    /// The request is well formed, but nothing here can serve it.
    Unsupported,
    /// No step is left.
    HorizonSpent,
    /// The privacy budget of a population does not allow it.
    BudgetSpent,
    /// A saved state cannot be trusted.
    BadState,
    /// The machine failed.
    System,
}

impl ErrorClass {
    /// The name by which programs know the class.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::BadParameter => "bad-parameter",
            Self::Unsupported => "unsupported",
            Self::HorizonSpent => "horizon-spent",
            Self::BudgetSpent => "budget-spent",
            Self::BadState => "bad-state",
            Self::System => "system",
        }
    }
}

impl Error {
    /// The class of this error.
    #[must_use]
    pub fn class(&self) -> ErrorClass {
        match self {
            Self::BadParameter { .. } | Self::BadInput { .. } => ErrorClass::BadParameter,
            Self::Unsupported { .. } | Self::TooCostly { .. } => ErrorClass::Unsupported,
            Self::HorizonSpent { .. } => ErrorClass::HorizonSpent,
            Self::BudgetSpent { .. } => ErrorClass::BudgetSpent,
            Self::BadState { .. } => ErrorClass::BadState,
            Self::NoEntropy { .. } => ErrorClass::System,
        }
    }

    /// The parameter that an [`Error::BadParameter`] names.
    #[must_use]
    pub fn parameter(&self) -> Option<&'static str> {
        match self {
            Self::BadParameter { name, .. } => Some(name),
            _ => None,
        }
    }

    /// [`Error::BadParameter`] from what was expected and what was given.
    pub fn bad(name: &'static str, expected: impl Into<String>, got: impl fmt::Display) -> Self {
        Self::BadParameter { name, expected: expected.into(), got: got.to_string() }
    }

    /// [`Error::Unsupported`] from a mechanism and a reason.
    pub fn unsupported(mechanism: impl fmt::Display, reason: impl Into<String>) -> Self {
        Self::Unsupported { mechanism: mechanism.to_string(), reason: reason.into() }
    }

    pub(crate) fn too_costly(mechanism: impl fmt::Display, reason: impl Into<String>) -> Self {
        Self::TooCostly { mechanism: mechanism.to_string(), reason: reason.into() }
    }
}

/// The result of every fallible call in this crate.
pub type Result<T> = std::result::Result<T, Error>;
