//! Running totals of a sensitive stream under differential privacy, at the least error that is
//! provably possible.
//!
//! The matrix mechanism: a workload A (the prefix sum, a sliding window, a decayed sum) is factored
//! as A = L R, and A x + σ‖R‖ L g is released, with Gaussian g. Everything expensive happens once,
//! in a [`Plan`]; a [`Counter`] then takes one input and gives one [`Release`] a step.
//!
//! ```
//! use evertally::{Budget, Counter, NoiseKey, Plan};
//!
//! let plan = Plan::prefix_sum(1 << 10).budget(Budget::new(1.0, 1e-6)?).build()?;
//! println!("{}: {}", plan.mechanism(), plan.accuracy());
//! let mut counter = Counter::new(&plan, NoiseKey::from_os()?)?;
//! for x in [2.0, 0.0, 5.0] {
//!     let release = counter.step(x)?;
//!     println!("{:.1} ± {:.1}", release.value, release.margin(0.95));
//! }
//! # Ok::<(), evertally::Error>(())
//! ```
//!
//! | room | its one decision |
//! |---|---|
//! | [`privacy`] | how much noise a budget asks for, who is protected, and what was spent |
//! | [`workload`] | what is released at each step |
//! | [`factorization`] | L and R: one file a mechanism |
//! | [`noise`] | white noise as a function of key and index, and its correlation |
//! | [`gamma`] | the least error that any factorization has |
//! | [`bounds`] | what is proven of every mechanism, at any horizon |
//! | [`noise_name`] | what noise is derived from, besides the key |
//! | [`plan`] | all choices, checked, and what follows from them |
//! | [`counter`] | the running state, one step at a time |
//! | [`batch`] | any linear queries at once, on data that does not change |
//! | [`post`] | what may be done to releases afterwards |
//!
//! This crate does no input or output and reads no clock. Randomness comes from the key that is handed in.

pub mod batch;
pub mod bounds;
pub mod counter;
mod elliptic;
pub mod error;
pub mod factorization;
pub mod gamma;
pub mod matrix;
mod mixture;
pub mod noise;
pub mod noise_name;
mod noise_stream;
mod objective;
pub mod plan;
pub mod post;
pub mod privacy;
pub mod release;
pub mod workload;

pub use counter::{Counter, KeyedCounter, SparseCounter, VectorCounter, VectorRelease};
pub use error::{Error, ErrorClass, Result};
pub use factorization::Mechanism;
pub use matrix::Matrix;
pub use noise::{NoiseKey, Progress};
pub use noise_name::NoiseName;
pub use noise_stream::NoiseStream;
pub use plan::{Accuracy, Arithmetic, Comparison, Milestone, Objective, Optimum, Plan, PlanBuilder};
pub use privacy::{Budget, Calibration, Contribution, Neighbours, Odometer, Participation, Spend, Unit};
pub use release::{Release, Spread, Tail};
pub use workload::Workload;
