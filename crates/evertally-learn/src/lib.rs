//! Private online learning: follow the regularised leader on noisy prefix sums of clipped gradients.
//!
//! A [`LearningPlan`] is built once. A [`Learner`] then takes the gradients of one step and returns
//! the parameters of the next. An [`evertally::VectorCounter`] makes the private sums of gradients,
//! and everything after that is post-processing.
//!
//! ```
//! use evertally::{Budget, NoiseKey};
//! use evertally_learn::{Learner, LearningPlan, Set};
//!
//! let plan = LearningPlan::new(3, 500) // parameters and steps
//!     .budget(Budget::new(2.0, 1e-6)?)
//!     .clip(1.0)
//!     .set(Set::ball(1.0)?)
//!     .recommended(1.0) // λ by the bound on regret
//!     .build()?;
//! let mut learner = Learner::new(&plan, NoiseKey::from_os()?)?;
//! for (x, y) in [([1.0, 0.0, 0.5], 0.3), ([0.0, 1.0, 0.5], -0.2)] {
//!     let residual = x.iter().zip(learner.theta()).map(|(x, theta)| x * theta).sum::<f64>() - y;
//!     learner.step([x.map(|x| residual * x)])?;
//! }
//! # Ok::<(), evertally::Error>(())
//! ```
//!
//! | component | responsibility |
//! |---|---|
//! | [`LearningPlan`] | all choices, validated; why adaptively chosen gradients are covered |
//! | [`Batch`] | clipping and exact sums |
//! | [`Learner`] | how parameters follow from private sums; its saved form |
//! | [`Set`], [`Schedule`] | where parameters may lie, and how fast they move |
//! | [`data`], [`loss`] | rows, and the losses on them |
//! | [`bound`] | bounds on regret: for the mechanism that runs, and the paper's |
//! | [`hindsight`], [`regret`] | the best fixed parameters with a certificate; measured regret. Not private |
//! | [`adversary`] | sources of data that have seen the parameters or not |

#![forbid(unsafe_code)]

pub mod adversary;
mod batch;
pub mod bound;
pub mod data;
pub mod hindsight;
mod learner;
pub mod loss;
mod plan;
pub mod regret;
mod schedule;
mod segments;
mod set;
mod state;

pub use batch::{Batch, MAX_BATCH};
pub use data::{Dataset, Example};
pub use learner::Learner;
pub use loss::{Loss, Losses};
pub use plan::{LearningPlan, LearningPlanBuilder, Update};
pub use schedule::Schedule;
pub use set::{Set, norm};

/// Refuses a number that is not positive and finite.
fn positive(name: &'static str, value: f64) -> evertally::Result<f64> {
    if value > 0.0 && value.is_finite() {
        Ok(value)
    } else {
        Err(evertally::Error::bad(name, "positive and finite", value))
    }
}
