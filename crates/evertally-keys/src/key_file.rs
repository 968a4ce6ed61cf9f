//! Key files: 64 hexadecimal digits that only their owner may read.

use std::fs::OpenOptions;
use std::io::Write;
use std::path::Path;

use evertally::NoiseKey;
use zeroize::Zeroizing;

use crate::error::{Error, Result};

/// Reads a key file. Anyone who knows the digits can remove the noise, so the bytes read are wiped
/// from memory.
///
/// # Errors
/// [`Error::KeyFile`] if others can read the file, or if it is not exactly 64 hexadecimal digits;
/// [`Error::File`] if it cannot be read. No message quotes the file, because it may hold a key with
/// one digit too many.
pub fn read(path: &Path) -> Result<NoiseKey> {
    refuse_readable_by_others(path)?;
    let text = Zeroizing::new(std::fs::read(path).map_err(|error| Error::reading(path, error))?);
    let bytes = parse(text.trim_ascii());
    let reason = "expected 64 hexadecimal digits";
    bytes.map(|bytes| NoiseKey::from_bytes(*bytes)).ok_or(Error::KeyFile { path: path.to_owned(), reason })
}

/// Writes a key to a new file that only its owner may read. An existing file is never overwritten.
///
/// # Errors
/// [`Error::File`] if the file exists already, or cannot be written.
pub fn write_new(path: &Path, key: &NoiseKey) -> Result<()> {
    let mut options = OpenOptions::new();
    options.write(true).create_new(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut digits = Zeroizing::new([b'\n'; 65]);
    for (pair, byte) in digits.chunks_mut(2).zip(key.expose_bytes()) {
        pair[0] = digit(byte >> 4);
        pair[1] = digit(byte & 15);
    }
    let written = options.open(path).and_then(|mut file| {
        file.write_all(&digits[..])?;
        file.sync_all()
    });
    written.map_err(|error| Error::writing(path, error))
}

/// Parses a key from 64 hexadecimal digits.
#[must_use]
pub fn parse(digits: &[u8]) -> Option<Zeroizing<[u8; 32]>> {
    if digits.len() != 64 {
        return None;
    }
    let mut key = Zeroizing::new([0; 32]);
    for (byte, pair) in key.iter_mut().zip(digits.chunks(2)) {
        let [high, low] = [pair[0], pair[1]].map(|digit| char::from(digit).to_digit(16));
        *byte = u8::try_from(high? * 16 + low?).ok()?;
    }
    Some(key)
}

fn digit(value: u8) -> u8 {
    if value < 10 { b'0' + value } else { b'a' + (value - 10) }
}

#[cfg(unix)]
fn refuse_readable_by_others(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = std::fs::metadata(path).map_err(|error| Error::reading(path, error))?;
    if metadata.permissions().mode() & 0o077 == 0 {
        return Ok(());
    }
    let reason = "users other than its owner can read it; run chmod 600 on it";
    Err(Error::KeyFile { path: path.to_owned(), reason })
}

#[cfg(not(unix))]
fn refuse_readable_by_others(_path: &Path) -> Result<()> {
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_are_64_hexadecimal_digits() {
        assert_eq!(parse("0f".repeat(32).as_bytes()).map(|bytes| *bytes), Some([15; 32]));
        for text in ["", "0f", &"0g".repeat(32), &"0f".repeat(33), &"é".repeat(32), &"+1".repeat(32)] {
            assert!(parse(text.as_bytes()).is_none());
        }
    }

    #[test]
    fn a_key_that_was_written_is_read_and_never_overwritten() {
        let place = tempfile::tempdir().unwrap();
        let path = place.path().join("noise.key");
        let key = NoiseKey::from_os().unwrap();
        write_new(&path, &key).unwrap();
        assert_eq!(read(&path).unwrap().tag(), key.tag());
        assert!(write_new(&path, &key).is_err());
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            std::fs::set_permissions(&path, std::fs::Permissions::from_mode(0o640)).unwrap();
            let error = read(&path).unwrap_err();
            assert!(error.is_bad_input() && error.to_string().contains("chmod 600"), "{error}");
        }
    }
}
