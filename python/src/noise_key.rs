//! The secret that noise comes from.

use std::io::Write;
use std::path::PathBuf;

use pyo3::prelude::*;
use pyo3::types::PyBytes;
use zeroize::Zeroizing;

use crate::errors::{OrRaise, bad};

/// The secret that all noise comes from: 256 bits.
///
/// Privacy holds against whoever does not have it. Keep it as you keep the data, and never use one key for the same plan twice with
/// different data: the difference of the two releases would carry no noise. Plans that differ, even in nothing but the name of their
/// `stream`, have independent noise under one key.
///
/// >>> import evertally
/// >>> key = evertally.NoiseKey.generate()
/// >>> key
/// NoiseKey(..)
/// >>> evertally.NoiseKey.from_bytes(key.to_bytes()).tag == key.tag
/// True
#[pyclass(frozen, module = "evertally", name = "NoiseKey")]
pub(crate) struct NoiseKey(evertally::NoiseKey);

impl NoiseKey {
    /// The key for one more object. Copies are deliberate: objects wipe theirs when they are gone.
    pub(crate) fn copied(&self) -> evertally::NoiseKey {
        evertally::NoiseKey::from_bytes(*self.0.expose_bytes())
    }
}

impl From<evertally::NoiseKey> for NoiseKey {
    fn from(key: evertally::NoiseKey) -> Self {
        Self(key)
    }
}

/// The key that was given, or a fresh one that nobody keeps.
pub(crate) fn given_or_fresh(key: Option<&NoiseKey>) -> PyResult<evertally::NoiseKey> {
    key.map_or_else(|| evertally::NoiseKey::from_os().or_raise(), |key| Ok(key.copied()))
}

#[pymethods]
impl NoiseKey {
    /// A fresh key from the operating system.
    #[staticmethod]
    fn generate() -> PyResult<Self> {
        evertally::NoiseKey::from_os().or_raise().map(Self)
    }

    /// The key that `to_bytes` gave. The 32 bytes must have been drawn at random; a password or a hash of public data will not do.
    #[staticmethod]
    fn from_bytes(data: &[u8]) -> PyResult<Self> {
        let bytes: [u8; 32] =
            data.try_into().map_err(|_| bad("key", "32 bytes", format!("{} bytes", data.len())))?;
        Ok(Self(evertally::NoiseKey::from_bytes(bytes)))
    }

    /// The key in a file of 64 hexadecimal digits that nobody but its owner may read, as the command line takes it.
    #[staticmethod]
    fn from_file(path: PathBuf) -> PyResult<Self> {
        refuse_readable_by_others(&path)?;
        let text = Zeroizing::new(std::fs::read(&path)?);
        // The message must not repeat the file: it may be a key with one digit too many.
        let expected = || bad("key file", "64 hexadecimal digits", "something else");
        let digits = text.trim_ascii();
        if digits.len() != 64 {
            return Err(expected());
        }
        let mut bytes = Zeroizing::new([0_u8; 32]);
        for (byte, pair) in bytes.iter_mut().zip(digits.chunks(2)) {
            let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
            let (Some(high), Some(low)) = (high, low) else { return Err(expected()) };
            // Two digits of sixteen fill a byte.
            *byte = (high * 16 + low) as u8;
        }
        Ok(Self(evertally::NoiseKey::from_bytes(*bytes)))
    }

    /// A key for tests and examples. Whoever guesses the seed can take the noise off: nothing released under it is private.
    #[staticmethod]
    fn insecure_from_seed(seed: u64) -> Self {
        Self(evertally::NoiseKey::insecure_from_seed(seed))
    }

    /// The secret itself. Python cannot wipe it from memory; `to_file` writes it without making such a copy.
    fn to_bytes<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, self.0.expose_bytes())
    }

    /// Writes the key into a new file that its owner alone may read; a file that exists is not touched.
    fn to_file(&self, path: PathBuf) -> PyResult<()> {
        let mut options = std::fs::OpenOptions::new();
        options.write(true).create_new(true);
        #[cfg(unix)]
        std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
        let mut digits = Zeroizing::new([b'\n'; 65]);
        for (pair, byte) in digits.chunks_mut(2).zip(self.0.expose_bytes()) {
            pair[0] = hexadecimal(byte >> 4);
            pair[1] = hexadecimal(byte & 15);
        }
        let mut file = options.open(&path)?;
        file.write_all(&digits[..])?;
        file.sync_all()?;
        Ok(())
    }

    /// Eight public bytes by which saved states know their key. They tell nothing else of it.
    #[getter]
    fn tag<'py>(&self, py: Python<'py>) -> Bound<'py, PyBytes> {
        PyBytes::new(py, &self.0.tag())
    }

    fn __repr__(&self) -> &'static str {
        "NoiseKey(..)"
    }
}

fn hexadecimal(digit: u8) -> u8 {
    if digit < 10 { b'0' + digit } else { b'a' + (digit - 10) }
}

#[cfg(unix)]
fn refuse_readable_by_others(path: &std::path::Path) -> PyResult<()> {
    use std::os::unix::fs::PermissionsExt;
    if std::fs::metadata(path)?.permissions().mode() & 0o077 != 0 {
        let remedy = "a file that others can read; run chmod 600 on it";
        return Err(bad("key file", "private to its owner", remedy));
    }
    Ok(())
}

#[cfg(not(unix))]
fn refuse_readable_by_others(_path: &std::path::Path) -> PyResult<()> {
    Ok(())
}
