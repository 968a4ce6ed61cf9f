//! Key files, and a record of what each key was used for.
//!
//! Noise is a function of a key and a name ([`evertally::NoiseName`]). The same key and the same
//! name give the same noise, which is what lets a run be repeated or resumed. It also carries the
//! largest risk: two different inputs under one key and name reveal their exact difference. This
//! crate prevents that.
//!
//! **Definition.** A record holds a chain of digests for each name that a key was used with, one
//! digest per step. Digest t is a keyed hash of digest t − 1 and of the input of step t. The record
//! is a directory beside the key file (`FILE.uses`). For a key that came from no file, it is kept
//! in the memory of the process.
//!
//! **Guarantee.** A release under a recorded name has the recorded input:
//! - the same name and the same input: allowed, and the releases are the same;
//! - the same name and another input: refused before anything is written or spent;
//! - another name: allowed, with independent noise. It spends the budget again.
//!
//! A digest is on the disk before its step is released. After a crash between the two, the same run
//! can complete, and a run with another input is refused. Concurrent processes are safe: a record
//! is created, compared and extended under a lock. Names and inputs are hashed with secrets derived
//! from the key. A record reveals neither to anyone without the key.
//!
//! **Limits.** A key given as bytes has no file, so its record ends with the process. A key file
//! that is copied without its record, or whose record was removed, starts with an empty record.
//! Rows that the caller adds to raw noise ([`evertally::NoiseStream`]) are never seen here.
//!
//! **Cost.** 16 bytes per step, or 16 bytes in total for a run whose steps are released together.
//! Each call that takes steps makes one synchronised write.
//!
//! `docs/keys.md` states what each interface refuses, what it allows and what the user must ensure.

mod digest;
mod disk;
mod error;
mod guard;
pub mod key_file;
mod record;
mod store;
mod uses;

pub use digest::{Digest, InputChain};
pub use disk::{is_still_at, sync_directory_of};
pub use error::{Error, Result};
pub use guard::Guard;
pub use uses::Uses;
