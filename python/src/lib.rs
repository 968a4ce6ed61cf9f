//! The Python package `evertally`: the library on numpy arrays, behind `evertally._native`.
//!
//! One file per class. Three rules hold in all of them:
//! - **Arrays are not copied.** Inputs are read where numpy keeps them and outputs are written
//!   where numpy will keep them. An array of another type or layout is refused, not copied
//!   silently.
//! - **The interpreter is free during work.** Every call that could take longer than a few
//!   microseconds detaches from the interpreter first and takes the lock of its object afterwards,
//!   so no thread blocks the others while it waits for a lock (`process_lock`).
//! - **Errors keep their class** (`errors`).

mod admission;
mod arrays;
mod attributes;
mod batch_plan;
mod bounds;
mod cell_digests;
mod choices;
mod comparison;
mod counter;
mod counter_core;
mod counter_rows;
mod definition;
mod discovering_counter;
mod discovery;
mod errors;
mod event_forms;
mod gamma;
mod guarded_state;
mod keyed_counter;
mod learner;
mod names;
mod noise_key;
mod noise_stream;
mod odometer;
mod participants;
mod pickled_plan;
mod plan;
mod presence;
mod process_lock;
mod release;
mod sparse_counter;
mod spend;
mod vector_counter;

use pyo3::prelude::*;

/// The extension module behind `evertally`. Import `evertally` instead.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<spend::Spend>()?;
    module.add_class::<noise_key::NoiseKey>()?;
    module.add_class::<noise_stream::NoiseStream>()?;
    module.add_class::<counter::Counter>()?;
    module.add_class::<vector_counter::VectorCounter>()?;
    module.add_class::<keyed_counter::KeyedCounter>()?;
    module.add_class::<sparse_counter::SparseCounter>()?;
    module.add_class::<discovery::Discovery>()?;
    module.add_class::<discovering_counter::DiscoveringCounter>()?;
    module.add_class::<discovering_counter::FoundKey>()?;
    module.add_class::<admission::Admission>()?;
    module.add_class::<presence::Presence>()?;
    module.add_class::<release::Release>()?;
    module.add_class::<release::VectorRelease>()?;
    module.add_class::<release::Releases>()?;
    module.add_class::<comparison::Comparison>()?;
    module.add_class::<gamma::Certificate>()?;
    module.add_class::<gamma::UnknownEnd>()?;
    module.add_class::<batch_plan::BatchPlan>()?;
    module.add_class::<odometer::Odometer>()?;
    module.add_class::<bounds::Bound>()?;
    module.add_class::<learner::LearningPlan>()?;
    module.add_class::<learner::Learner>()?;
    module.add_class::<participants::PyParticipants>()?;
    module.add_class::<cell_digests::CellDigests>()?;
    module.add_function(wrap_pyfunction!(comparison::compare, module)?)?;
    module.add_function(wrap_pyfunction!(gamma::gamma, module)?)?;
    module.add_function(wrap_pyfunction!(gamma::unknown_end, module)?)?;
    module.add_function(wrap_pyfunction!(bounds::bounds, module)?)?;
    module.add_function(wrap_pyfunction!(plan::plan, module)?)?;
    module.add_function(wrap_pyfunction!(discovery::discover, module)?)?;
    module.add_function(wrap_pyfunction!(discovery::_discovery_again, module)?)?;
    module.add_function(wrap_pyfunction!(pickled_plan::_plan_again, module)?)?;
    module.add_function(wrap_pyfunction!(definition::_definition, module)?)?;
    module.add_function(wrap_pyfunction!(event_forms::_time_micros, module)?)?;
    module.add_function(wrap_pyfunction!(event_forms::_bucket_micros, module)?)?;
    module.add_function(wrap_pyfunction!(event_forms::_interval_micros, module)?)?;
    module.add_function(wrap_pyfunction!(event_forms::_ends_on_grid, module)?)?;
    module.add_function(wrap_pyfunction!(event_forms::_whitespace, module)?)?;
    module.add("_GRID", event_forms::GRID)?;
    module.add("_OTHER", evertally_stream::OTHER)?;
    Ok(())
}
