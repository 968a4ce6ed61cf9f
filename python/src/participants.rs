//! The bound on how much one person may contribute, for whole batches of events. Private to the package.

use evertally_stream::Participants;
use numpy::{Ix1, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::readable;
use crate::errors::{bad, refused};
use crate::noise_key::NoiseKey;
use crate::process_lock::ProcessLock;

/// Lets each person count in at most max_steps steps, at least min_gap apart, with one event a
/// step; the first events to arrive win.
///
/// A person is held as a keyed tag of 88 bits, so that a state names nobody; it still says in which
/// steps a tag counted. Guard it like the data.
///
/// >>> import evertally, numpy
/// >>> from evertally._native import _Participants
/// >>> key = evertally.NoiseKey.generate()
/// >>> persons = _Participants(2, 1, key)
/// >>> persons.admit(["ann", "ann", "bob", None], numpy.array([3, 3, 3, 3])).tolist()
/// [True, False, True, False]
/// >>> persons = _Participants.resume(2, 1, key, persons.save())
/// >>> persons.admit(["ann", "ann", " "], numpy.array([4, 5, 7])).tolist()
/// [True, False, False]
#[pyclass(frozen, module = "evertally._native", name = "_Participants")]
pub(crate) struct PyParticipants {
    persons: ProcessLock<Participants>,
    max_steps: u64,
    min_gap: u64,
}

#[pymethods]
impl PyParticipants {
    #[new]
    fn new(max_steps: u64, min_gap: u64, key: &Bound<'_, NoiseKey>) -> PyResult<Self> {
        let persons = Participants::new(max_steps, min_gap, &key.get().copied()).map_err(refused)?;
        Ok(Self { persons: ProcessLock::new(persons), max_steps, min_gap })
    }

    /// Continues from a saved state; the state of other limits or another key is refused.
    #[staticmethod]
    fn resume(max_steps: u64, min_gap: u64, key: &Bound<'_, NoiseKey>, state: &[u8]) -> PyResult<Self> {
        let copied = key.get().copied();
        let persons = key.py().detach(|| Participants::resume(max_steps, min_gap, &copied, state));
        Ok(Self { persons: ProcessLock::new(persons.map_err(refused)?), max_steps, min_gap })
    }

    /// Which events count, in the order given, one person and one step each; steps are an array of
    /// int64. None, or a blank name, is nobody: such an event never counts. A refusal admits
    /// nothing.
    #[expect(clippy::needless_pass_by_value, reason = "a list of Python has to be read into one of Rust")]
    fn admit<'py>(
        &self,
        py: Python<'py>,
        persons: Vec<Option<String>>,
        steps: &Bound<'py, PyAny>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let steps = readable::<i64, Ix1>("steps", steps)?;
        let steps = steps.as_slice()?;
        if steps.len() != persons.len() {
            return Err(bad("steps", &format!("one for each of {} persons", persons.len()), steps.len()));
        }
        if steps.iter().any(|step| *step < 0) {
            return Err(bad("steps", "counted from zero", "one that is negative"));
        }
        let counted: Vec<bool> = self.persons.with(py, |held| {
            let arrivals = persons.iter().zip(steps);
            Ok(arrivals.map(|(person, step)| held.admit(person.as_deref(), step.cast_unsigned())).collect())
        })?;
        Ok(PyArray1::from_vec(py, counted))
    }

    /// The state as bytes, for `resume`. It says in which steps persons counted: guard it like the data.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        Ok(PyBytes::new(py, &self.persons.with(py, |held| Ok(held.save()))?))
    }

    fn __repr__(&self) -> String {
        format!("_Participants(max_steps={}, min_gap={})", self.max_steps, self.min_gap)
    }
}
