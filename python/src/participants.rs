//! The bound on how much one person may contribute, for whole batches of events. Private to the package.

use evertally_stream::{Admission, KnownIds, Participants, given_name};
use numpy::{Ix1, PyArray1};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::arrays::readable;
use crate::errors::{bad, refused};
use crate::noise_key::NoiseKey;
use crate::process_lock::ProcessLock;

/// Decides which events count, in the order given: each person in at most max_steps steps, at least
/// min_gap apart, with one event per step.
///
/// A person is stored as a keyed tag of 88 bits, so a state holds no names. It still shows in which
/// steps a tag counted: guard it like the data.
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
    admission: ProcessLock<Admission<KnownIds, Participants>>,
    max_steps: u64,
    min_gap: u64,
}

#[pymethods]
impl PyParticipants {
    #[new]
    fn new(max_steps: u64, min_gap: u64, key: &Bound<'_, NoiseKey>) -> PyResult<Self> {
        let persons = Participants::new(max_steps, min_gap, &key.get().copied()).map_err(refused)?;
        Ok(Self::admitting(persons, max_steps, min_gap))
    }

    /// Resumes from a saved state. A state with other limits or another key is refused.
    #[staticmethod]
    fn resume(max_steps: u64, min_gap: u64, key: &Bound<'_, NoiseKey>, state: &[u8]) -> PyResult<Self> {
        let copied = key.get().copied();
        let persons = key.py().detach(|| Participants::resume(max_steps, min_gap, &copied, state));
        Ok(Self::admitting(persons.map_err(refused)?, max_steps, min_gap))
    }

    /// Decides which events count, in the given order. Each has one person and one step; steps are an
    /// array of int64. An event whose person is None or blank never counts. With ids, an event whose
    /// id has counted for the same person does not count again. Ids are not part of the state. A
    /// refusal admits nothing.
    #[pyo3(signature = (persons, steps, ids=None))]
    #[expect(clippy::needless_pass_by_value, reason = "a list of Python has to be read into one of Rust")]
    fn admit<'py>(
        &self,
        py: Python<'py>,
        persons: Vec<Option<String>>,
        steps: &Bound<'py, PyAny>,
        ids: Option<Vec<Option<String>>>,
    ) -> PyResult<Bound<'py, PyArray1<bool>>> {
        let steps = readable::<i64, Ix1>("steps", steps)?;
        let steps = steps.as_slice()?;
        if steps.len() != persons.len() {
            return Err(bad("steps", &format!("one for each of {} persons", persons.len()), steps.len()));
        }
        if let Some(ids) = ids.as_ref().filter(|ids| ids.len() != persons.len()) {
            return Err(bad("ids", &format!("one for each of {} persons", persons.len()), ids.len()));
        }
        if steps.iter().any(|step| *step < 0) {
            return Err(bad("steps", "counted from zero", "one that is negative"));
        }
        let id_of = |event: usize| given_name(ids.as_ref()?.get(event)?.as_deref());
        let counted: Vec<bool> = self.admission.with(py, |admission| {
            let decide = |(event, (person, step)): (usize, (&Option<String>, &i64))| {
                let person = given_name(person.as_deref());
                let id = id_of(event).map(|id| (person, id));
                admission.decide(id, person, Ok(step.cast_unsigned())).is_counted()
            };
            Ok(persons.iter().zip(steps).enumerate().map(decide).collect())
        })?;
        Ok(PyArray1::from_vec(py, counted))
    }

    /// The state as bytes, for `resume`. It shows in which steps persons counted: guard it like the data.
    fn save<'py>(&self, py: Python<'py>) -> PyResult<Bound<'py, PyBytes>> {
        let save = |admission: &mut Admission<KnownIds, Participants>| {
            Ok(admission.persons.as_ref().map(Participants::save).unwrap_or_default())
        };
        Ok(PyBytes::new(py, &self.admission.with(py, save)?))
    }

    fn __repr__(&self) -> String {
        format!("_Participants(max_steps={}, min_gap={})", self.max_steps, self.min_gap)
    }
}

impl PyParticipants {
    fn admitting(persons: Participants, max_steps: u64, min_gap: u64) -> Self {
        let admission = Admission { ids: Some(KnownIds::default()), persons: Some(persons) };
        Self { admission: ProcessLock::new(admission), max_steps, min_gap }
    }
}
