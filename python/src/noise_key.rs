//! The secret key of the noise, and the record of its uses.

use std::path::PathBuf;

use evertally::internals::noise::copy_of;
use evertally_keys::{Guard, InputChain, Uses, key_file};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{OrRaise, bad, key_refused};
use crate::plan::Plan;

/// The secret key from which all noise is derived: 256 bits.
///
/// Privacy holds against everyone who does not have the key. Guard it like the data. One key and
/// one plan give the same noise every time, and the same noise on different data would reveal their
/// exact difference. A key therefore remembers, by keyed hashes, what was counted under it: other
/// data under the same plan raise `KeyReused`, and the same data give the same releases again.
/// Plans that differ in any choice have independent noise under one key, and each of them spends
/// its own budget.
///
/// The record is in the directory `FILE.uses` next to the key file, where all processes find it.
/// The record of a key without a file lasts until the process ends; a forked process inherits it.
/// Nothing is refused under a copy of a key file that was made without its record, or if you add
/// the noise of a `NoiseStream` yourself: there it is your responsibility to use one key for one
/// set of data.
///
/// >>> import evertally
/// >>> key = evertally.NoiseKey.generate()
/// >>> key
/// NoiseKey(..)
/// >>> plan = evertally.plan(10)
/// >>> first = evertally.Counter(plan, key).step(3)
/// >>> evertally.Counter(plan, key).step(3) == first
/// True
/// >>> evertally.Counter(plan, key).step(4)
/// Traceback (most recent call last):
///     ...
/// evertally.KeyReused: this key was used before ... (they differ at step 0): ...
#[pyclass(frozen, module = "evertally", name = "NoiseKey")]
pub(crate) struct NoiseKey {
    key: evertally::NoiseKey,
    /// The record of uses. None for a key under which nothing is private, and if the caller keeps
    /// the record.
    uses: Option<Uses>,
}

impl NoiseKey {
    fn remembered(key: evertally::NoiseKey) -> Self {
        let uses = Some(Uses::in_this_process(&key));
        Self { key, uses }
    }

    /// A copy of the key for another object. Each object wipes its copy when it is dropped.
    pub(crate) fn copied(&self) -> evertally::NoiseKey {
        copy_of(&self.key)
    }

    /// Asks the guard of a whole plan. Does nothing if there is no record.
    fn guard(
        &self,
        py: Python<'_>,
        plan: &Bound<'_, Plan>,
        ask: impl FnOnce(&mut Guard) -> evertally_keys::Result<()> + Send,
    ) -> PyResult<()> {
        let Some(uses) = &self.uses else { return Ok(()) };
        let name = plan.get().inner.noise_name();
        py.detach(|| ask(&mut uses.guard(&name)?)).map_err(key_refused)
    }

    /// The record of the key's uses.
    pub(crate) fn uses(&self) -> Option<&Uses> {
        self.uses.as_ref()
    }
}

/// The given key with its record, or a fresh one that is not kept.
pub(crate) fn given_or_fresh<'a>(
    key: Option<&'a Bound<'_, NoiseKey>>,
) -> PyResult<(evertally::NoiseKey, Option<&'a Uses>)> {
    match key.map(Bound::get) {
        Some(given) => Ok((given.copied(), given.uses())),
        None => Ok((evertally::NoiseKey::from_os().or_raise()?, None)),
    }
}

#[pymethods]
impl NoiseKey {
    /// A fresh key from the operating system. This process records what is counted under it;
    /// `to_file` moves the record to a file.
    #[staticmethod]
    fn generate() -> PyResult<Self> {
        evertally::NoiseKey::from_os().or_raise().map(Self::remembered)
    }

    /// The key from the bytes of `to_bytes`. Only this process records what is counted under it.
    /// Other processes, and this one after a restart, cannot refuse other data: it is then your
    /// responsibility to use one key for one set of data. A key file has a lasting record.
    ///
    /// The 32 bytes must be random. A password or a hash of public data is not enough.
    ///
    /// >>> import evertally
    /// >>> key = evertally.NoiseKey.generate()
    /// >>> evertally.NoiseKey.from_bytes(key.to_bytes()).tag == key.tag
    /// True
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        let bytes: [u8; 32] =
            data.try_into().map_err(|_| bad("key", "32 bytes", format!("{} bytes", data.len())))?;
        Ok(Self::remembered(evertally::NoiseKey::from_bytes(bytes)))
    }

    /// The key from a file of 64 hexadecimal digits that only its owner may read, as for the
    /// command line. What is counted under it is recorded in the directory `FILE.uses`, which all
    /// processes and the command line share. That directory must be writable. A copy of the file
    /// without its record starts with an empty record, and nothing is refused there.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "a Python path is converted to a Rust path")]
    fn from_file(path: PathBuf) -> PyResult<Self> {
        let key = key_file::read(&path).map_err(key_refused)?;
        let uses = Uses::beside(&path, &key).map_err(key_refused)?;
        Ok(Self { key, uses: Some(uses) })
    }

    /// A key for tests and examples. Anyone who guesses the seed can remove the noise: nothing
    /// released under it is private, and nothing is recorded or refused under it.
    #[staticmethod]
    fn insecure_from_seed(seed: u64) -> Self {
        Self { key: evertally::NoiseKey::insecure_from_seed(seed), uses: None }
    }

    /// The bytes of the key. Python cannot wipe them from memory; `to_file` makes no such copy.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.key.expose_bytes())
    }

    /// Writes the key to a new file that only its owner may read. An existing file is not touched.
    /// The record of this process moves to the directory `FILE.uses`, and later uses are recorded
    /// there. A record that is already in a directory stays there: the new file is then a copy
    /// without a record.
    #[expect(clippy::needless_pass_by_value, reason = "a Python path is converted to a Rust path")]
    fn to_file(&self, py: Python<'_>, path: PathBuf) -> PyResult<()> {
        py.detach(|| {
            key_file::write_new(&path, &self.key)?;
            let Some(uses) = &self.uses else { return Ok(()) };
            uses.move_beside(&path).inspect_err(|_| {
                // A key file without its record would let other data be counted.
                drop(std::fs::remove_file(&path));
            })
        })
        .map_err(key_refused)
    }

    /// Eight public bytes by which saved states recognise their key. They reveal nothing else about
    /// it.
    #[getter]
    fn tag(&self) -> [u8; 8] {
        self.key.tag()
    }

    /// The same key without a record, for tasks of a job whose input was recorded as one.
    /// Private to the package.
    fn _without_record(&self) -> Self {
        Self { key: self.copied(), uses: None }
    }

    /// Whether uses of the key are recorded. Private to the package.
    #[getter]
    fn _has_record(&self) -> bool {
        self.uses.is_some()
    }

    /// Records the identity of a started job under the name of a plan's noise, or refuses a
    /// different job. Private to the package.
    fn _admit_job(&self, py: Python<'_>, plan: &Bound<'_, Plan>, job: &[u8]) -> PyResult<()> {
        let digests = |chain: &mut InputChain| {
            chain.step_of_bytes(job);
        };
        self.guard(py, plan, |guard| guard.admit_run(digests, |_, _| Ok(())))
    }

    /// Records the digests of all steps of a job under the name of a plan's noise, 16 bytes per
    /// step, or refuses different digests. Private to the package.
    fn _admit_steps(&self, py: Python<'_>, plan: &Bound<'_, Plan>, digests: &[u8]) -> PyResult<()> {
        let (steps, _) = digests.as_chunks::<16>();
        let digests = |chain: &mut InputChain| steps.iter().map(|step| chain.step_of_bytes(step)).collect();
        self.guard(py, plan, |guard| guard.admit(digests, |_| Ok(())))
    }

    fn __repr__(&self) -> &'static str {
        "NoiseKey(..)"
    }
}
