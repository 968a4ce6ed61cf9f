//! Running totals of a sensitive stream under differential privacy.
//!
//! The error is close to the least that is mathematically possible, and every release states it.
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
//! 1. A [`Plan`] fixes everything in advance: the horizon, the [`Workload`], the [`Budget`], who is
//!    protected, and the [`Mechanism`]. It may take seconds to make. It states the noise and the
//!    error of every step.
//! 2. A counter takes the input of one step and gives its [`Release`]: [`Counter`] for one number,
//!    [`KeyedCounter`] for declared keys, [`SparseCounter`] for keys that nobody declares,
//!    [`DiscoveringCounter`] for keys that the data decide and that are found privately,
//!    [`VectorCounter`] for vectors. [`NoiseStream`] is the noise alone. Each can be saved as bytes
//!    and resumed.
//! 3. A [`NoiseKey`] is the only source of randomness. The same key and plan give the same noise, so
//!    a key must never serve two different inputs.
//!
//! The mathematics is the matrix mechanism: a workload A is factored as A = L R, and the counter
//! releases A x + σ‖R‖·L g with Gaussian g. The crate does no input or output and reads no clock.
//!
//! `examples/` in the repository is a short tutorial: `counter`, `keys`, `resume`, `vectors` and
//! `workloads`.

mod counter;
mod discovery;
mod elliptic;
mod error;
mod factorization;
pub mod internals;
mod key_record;
mod matrix;
mod mixture;
mod noise;
mod noise_name;
mod noise_stream;
mod objective;
mod plan;
pub mod post;
pub mod privacy;
pub mod ranges;
mod release;
mod report;
pub mod research;
mod resolution;
mod saved_form;
mod spec;
mod workload;

pub use counter::{Counter, KeyedCounter, SparseCounter, VectorCounter, VectorRelease};
pub use discovery::{DiscoveringCounter, Discovery, DiscoveryBuilder, FoundKey};
pub use error::{Error, ErrorClass, Result};
pub use factorization::{Cost, Dense, Mechanism};
pub use matrix::Matrix;
pub use noise::{NoiseKey, Progress};
pub use noise_name::NoiseName;
pub use noise_stream::NoiseStream;
pub use objective::Objective;
pub use plan::{Accuracy, Comparison, Milestone, Optimum, Plan, PlanBuilder, ReportAccuracy};
pub use privacy::{
    Budget, BudgetSpec, Calibration, Contribution, Neighbours, Odometer, Participation, Spend, Unit,
};
pub use release::{Release, Rounding, Spread, Tail};
pub use report::{Division, Report};
pub use spec::{Arithmetic, Horizon, PlanSpec, Shape};
pub use workload::Workload;
