//! Private online learning: follow the regularised leader on noisy prefix sums of clipped gradients.
//!
//! A [`LearningPlan`] is made once; a [`Learner`] then takes the gradients of one step and gives
//! the parameters of the next. What the sums of gradients are to a [`evertally::VectorCounter`],
//! the parameters are to the learner: everything after the private sum is post-processing.
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
//! | room | its one decision |
//! |---|---|
//! | [`LearningPlan`] | all choices, checked; why adaptively chosen gradients are covered |
//! | [`Batch`] | clipping, and sums that are exact |
//! | [`Learner`] | how parameters follow from private sums; its saved form |
//! | [`Set`], [`Schedule`] | where parameters may lie, and how fast they move |
//! | [`data`], [`loss`] | rows that are mapped one by one, and what is lost on them |
//! | [`bound`] | how large regret can be: of what is run, and the paper's |
//! | [`hindsight`], [`regret`] | the best fixed parameters, proved; regret measured. Not private |
//! | [`adversary`] | who chooses the data, having seen the parameters or not |

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

pub use batch::{Batch, LARGEST_BATCH};
pub use data::{Dataset, Example};
pub use learner::Learner;
pub use loss::{Loss, Losses};
pub use plan::{LearningPlan, LearningPlanBuilder, Update};
pub use schedule::Schedule;
pub use set::{Set, norm};
