//! The secret that noise comes from, and where its uses are recorded.

use std::path::PathBuf;

use evertally_keys::{Guard, InputChain, Uses, key_file};
use pyo3::prelude::*;
use pyo3::types::PyBytes;

use crate::errors::{OrRaise, bad, key_refused};
use crate::plan::Plan;

/// The secret that all noise comes from: 256 bits.
///
/// Privacy holds against whoever does not have it. Keep it as you keep the data. One key and one
/// plan make the same noise every time, and the same noise on different data would give their exact
/// difference away. A key therefore remembers, by keyed hashes, what was counted under it: other
/// data under the same plan raise `KeyReused`, and the same data give the same releases again.
/// Plans that differ in any choice have independent noise under one key, and each of them spends a
/// budget of its own.
///
/// The record stands beside the key's file, in the directory `FILE.uses`, where all processes find
/// it. A key that has no file is remembered by the process until it ends; a forked process knows
/// what came before the fork. Nothing is refused under a copy of a key file that was made without
/// its record, or to whoever adds data to a `NoiseStream`: there, one key for one set of data is
/// yours to keep.
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
    /// Where uses are recorded; nowhere for a key under which nothing is private, and where the
    /// caller keeps a record.
    uses: Option<Uses>,
}

impl NoiseKey {
    fn remembered(key: evertally::NoiseKey) -> Self {
        let uses = Some(Uses::in_this_process(&key));
        Self { key, uses }
    }

    /// The key for one more object. Copies are deliberate: objects wipe theirs when they are gone.
    pub(crate) fn copied(&self) -> evertally::NoiseKey {
        copy_of(&self.key)
    }

    /// Does what the guard of a whole plan has to say; nothing where there is no record.
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

    /// Where uses of the key are recorded.
    pub(crate) fn uses(&self) -> Option<&Uses> {
        self.uses.as_ref()
    }
}

/// One more copy of a key.
pub(crate) fn copy_of(key: &evertally::NoiseKey) -> evertally::NoiseKey {
    evertally::NoiseKey::from_bytes(*key.expose_bytes())
}

/// The key that was given, or a fresh one that nobody keeps.
pub(crate) fn given_or_fresh(key: Option<&NoiseKey>) -> PyResult<evertally::NoiseKey> {
    key.map_or_else(|| evertally::NoiseKey::from_os().or_raise(), |key| Ok(key.copied()))
}

#[pymethods]
impl NoiseKey {
    /// A fresh key from the operating system. This process remembers what is counted under it;
    /// `to_file` takes the record along.
    #[staticmethod]
    fn generate() -> PyResult<Self> {
        evertally::NoiseKey::from_os().or_raise().map(Self::remembered)
    }

    /// The key that `to_bytes` gave. Only this process remembers what is counted under it: other
    /// processes, and this one after a restart, cannot refuse other data, and one key for one set
    /// of data is yours to keep. A key file has a record.
    ///
    /// The 32 bytes must have been drawn at random; a password or a hash of public data will not do.
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

    /// The key in a file of 64 hexadecimal digits that nobody but its owner may read, as the
    /// command line takes it. What is counted under it is recorded in the directory `FILE.uses`,
    /// which all processes and the command line share. The file must stand where that directory can
    /// be written. A copy of the file without its record starts anew: nothing is refused there.
    #[staticmethod]
    #[expect(clippy::needless_pass_by_value, reason = "paths of Python are read into ones of Rust")]
    fn from_file(path: PathBuf) -> PyResult<Self> {
        let key = key_file::read(&path).map_err(key_refused)?;
        let uses = Uses::beside(&path, &key).map_err(key_refused)?;
        Ok(Self { key, uses: Some(uses) })
    }

    /// A key for tests and examples. Whoever guesses the seed can take the noise off: nothing
    /// released under it is private, and nothing is recorded or refused under it.
    #[staticmethod]
    fn insecure_from_seed(seed: u64) -> Self {
        Self { key: evertally::NoiseKey::insecure_from_seed(seed), uses: None }
    }

    /// The secret itself. Python cannot wipe it from memory; `to_file` writes it without making such a copy.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.key.expose_bytes())
    }

    /// Writes the key into a new file that its owner alone may read; a file that exists is not
    /// touched. What this process remembers of the key moves to the directory `FILE.uses`, and what
    /// is counted from now on is recorded there. A key that has a record in a directory already
    /// leaves it where it is: the new file is a copy without a record.
    #[expect(clippy::needless_pass_by_value, reason = "paths of Python are read into ones of Rust")]
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

    /// Eight public bytes by which saved states know their key. They tell nothing else of it.
    #[getter]
    fn tag<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.key.tag())
    }

    /// The same key without a record, for tasks of a job whose input was recorded as a whole.
    /// Private to the package.
    fn _without_record(&self) -> Self {
        Self { key: self.copied(), uses: None }
    }

    /// Whether uses of the key are recorded. Private to the package.
    #[getter]
    fn _has_record(&self) -> bool {
        self.uses.is_some()
    }

    /// Records what a job that has begun is known by under the name of a plan's noise, or refuses
    /// another one. Private to the package.
    fn _admit_job(&self, py: Python<'_>, plan: &Bound<'_, Plan>, job: &[u8]) -> PyResult<()> {
        let digests = |chain: &mut InputChain| {
            chain.step_of_bytes(job);
        };
        self.guard(py, plan, |guard| guard.admit_run(digests, |_, _| Ok(())))
    }

    /// Records the digests of all steps of a job under the name of a plan's noise, 16 bytes per
    /// step, or refuses other ones. Private to the package.
    fn _admit_steps(&self, py: Python<'_>, plan: &Bound<'_, Plan>, digests: &[u8]) -> PyResult<()> {
        let (steps, _) = digests.as_chunks::<16>();
        let digests = |chain: &mut InputChain| steps.iter().map(|step| chain.step_of_bytes(step)).collect();
        self.guard(py, plan, |guard| guard.admit(digests, |_| Ok(())))
    }

    fn __repr__(&self) -> &'static str {
        "NoiseKey(..)"
    }
}
