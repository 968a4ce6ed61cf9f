//! The Python package `evertally`: the library on numpy arrays, behind `evertally._native`.
//!
//! One file a class. Three rules hold in all of them:
//! - **Arrays are not copied.** Inputs are read where numpy keeps them and outputs are written where numpy will keep them. What is not
//!   contiguous, or has another type, is refused by name rather than copied in silence.
//! - **The interpreter is free while work is done.** Every call that could take longer than a few microseconds detaches from it, and takes the
//!   lock of its object after that, so that no thread waits for a lock while it keeps the others from running ([`shared`]).
//! - **Errors keep their class** ([`errors`]).

mod arrays;
mod choices;
mod errors;
mod noise_key;
mod noise_stream;
mod plan;
mod shared;
mod spend;

use pyo3::prelude::*;

/// What the package is made of; use `evertally`.
#[pymodule(gil_used = false)]
fn _native(module: &Bound<'_, PyModule>) -> PyResult<()> {
    module.add("__version__", env!("CARGO_PKG_VERSION"))?;
    module.add_class::<plan::Plan>()?;
    module.add_class::<spend::Spend>()?;
    module.add_class::<noise_key::NoiseKey>()?;
    module.add_class::<noise_stream::NoiseStream>()?;
    module.add_function(wrap_pyfunction!(plan::plan, module)?)?;
    module.add_function(wrap_pyfunction!(plan::_plan_again, module)?)?;
    Ok(())
}
