//! The key that the noise is derived from, read from a file that nobody else may read.

use crate::error::{CliError, Result};
use evertally::NoiseKey;
use std::path::Path;
use zeroize::Zeroizing;

/// The key in a file: 32 bytes as 64 hexadecimal digits. Whoever knows them can remove the noise, so what was read is
/// wiped from memory.
pub(crate) fn read(path: &Path) -> Result<NoiseKey> {
    refuse_readable_by_others(path)?;
    let text = std::fs::read_to_string(path).map_err(|error| CliError::reading(path, &error))?;
    let text = Zeroizing::new(text);
    // The message must not repeat the file: it may be a key with one digit too many.
    let bytes = parse(text.trim());
    let bytes =
        bytes.ok_or_else(|| CliError::bad(format!("{}: expected 64 hexadecimal digits", path.display())))?;
    Ok(NoiseKey::from_bytes(*bytes))
}

pub(crate) fn parse(text: &str) -> Option<Zeroizing<[u8; 32]>> {
    if text.len() != 64 || !text.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return None;
    }
    let mut key = Zeroizing::new([0; 32]);
    for (byte, digits) in key.iter_mut().zip(text.as_bytes().chunks(2)) {
        *byte = u8::from_str_radix(std::str::from_utf8(digits).ok()?, 16).ok()?;
    }
    Some(key)
}

#[cfg(unix)]
fn refuse_readable_by_others(path: &Path) -> Result<()> {
    use std::os::unix::fs::PermissionsExt;
    let metadata = std::fs::metadata(path).map_err(|error| CliError::reading(path, &error))?;
    if metadata.permissions().mode() & 0o077 != 0 {
        let remedy = format!("run chmod 600 {0}", path.display());
        return Err(CliError::bad(format!(
            "{} can be read by others than its owner: {remedy}",
            path.display()
        )));
    }
    Ok(())
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
        let key = parse(&"0f".repeat(32));
        assert_eq!(key.map(|bytes| *bytes), Some([15; 32]));
        for text in ["", "0f", &"0g".repeat(32), &"0f".repeat(33), &"é".repeat(32), &"+1".repeat(32)] {
            assert!(parse(text).is_none());
        }
    }
}
