//! Pickled plans.
//!
//! **Definition.** A pickle holds the spec of a plan as a dictionary, and beside it the keys of a part
//! and whether persons are bounded to one step, because a spec contains neither.
//!
//! **Guarantee.** The plan that is made of a pickle has the fingerprint of the original, or it is
//! refused.

use pyo3::prelude::*;
use pyo3::types::PyDict;

use crate::choices;
use crate::errors::BadState;
use crate::plan::Plan;

/// The name of a part's keys in a pickled plan.
const PART: &str = "_part";

/// The name of the mark of a pickled plan that bounds persons to one step.
const BOUNDS_PERSONS: &str = "_bounds_persons";

#[pymethods]
impl Plan {
    fn __reduce__<'py>(&self, py: Python<'py>) -> PyResult<(Bound<'py, PyAny>, Bound<'py, PyAny>)> {
        let again = py.import("evertally._native")?.getattr("_plan_again")?;
        let text = serde_json::to_string(&self.whole())
            .map_err(|error| BadState::new_err(format!("a plan cannot be pickled: {error}")))?;
        let spec = py.import("json")?.call_method1("loads", (text,))?.cast_into::<PyDict>()?;
        if self.whole.is_some() {
            spec.set_item(PART, self.keys())?;
        }
        if self.bounds_persons && self.max_steps() == 1 {
            spec.set_item(BOUNDS_PERSONS, true)?;
        }
        let arguments = (spec, self.fingerprint());
        Ok((again, arguments.into_pyobject(py)?.into_any()))
    }
}

/// Makes a pickled plan again, and checks that it is the same.
///
/// Version 0.1 pickled keyword arguments.
#[pyfunction]
pub(crate) fn _plan_again(py: Python<'_>, pickled: &Bound<'_, PyDict>, fingerprint: &[u8]) -> PyResult<Plan> {
    let spec = pickled.copy()?;
    let part: Option<Vec<String>> = spec.get_item(PART)?.map(|keys| keys.extract()).transpose()?;
    if part.is_some() {
        spec.del_item(PART)?;
    }
    let bounds_persons = spec.contains(BOUNDS_PERSONS)?;
    if bounds_persons {
        spec.del_item(BOUNDS_PERSONS)?;
    }
    let spec = if spec.contains("budget")? {
        let text: String = py.import("json")?.call_method1("dumps", (spec,))?.extract()?;
        serde_json::from_str(&text).map_err(|error| BadState::new_err(format!("pickled plan: {error}")))?
    } else {
        choices::read("plan", &spec)?.0
    };
    let mut plan = Plan::make(py, &spec, bounds_persons)?;
    if let Some(keys) = part {
        plan = plan._part(py, keys)?;
    }
    if plan.inner.fingerprint() == fingerprint {
        Ok(plan)
    } else {
        Err(BadState::new_err("saved state refused: this version makes another plan of the same choices"))
    }
}
