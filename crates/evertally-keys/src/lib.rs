//! Key files, and a record of what each key was used for.
//!
//! Noise is a function of a key and a name ([`evertally::NoiseName`]). The same key and the same
//! name give the same noise, which is what lets a run be repeated or resumed. It is also the one
//! way to lose everything: two different inputs under one key and name lay their difference open,
//! exactly. This crate keeps that from happening.
//!
//! **Definition.** A record holds, for each name that a key has served, a chain of digests, one for
//! every step: digest t is a keyed hash of digest t − 1 and of the input of step t. It stands
//! beside the key file in a directory of its own (`FILE.uses`), or in the memory of the process for
//! a key that came from no file.
//!
//! **Guarantee.** What is released under a recorded name has the recorded input, or nothing is released:
//! - the same name and the same input: allowed, and the releases are the same ones again;
//! - the same name and another input: refused before anything is written or spent;
//! - another name: independent noise, allowed, and a further use of the budget.
//!
//! A digest is on the disk before its step is released. After a crash between the two, the same run
//! completes and another is refused. Two processes at once are safe: a record is made, compared and
//! extended under a lock. Names and inputs are hashed with secrets derived from the key, so that a
//! record tells nothing about either to somebody without the key.
//!
//! **What cannot be guarded.** A key whose bytes are handed in has no file, so that nothing is
//! remembered beyond the process. A key file that is copied without its record, or whose record was
//! removed, starts anew. Rows that are added by the caller to raw noise
//! ([`evertally::NoiseStream`]) are never seen here.
//!
//! **Cost.** 16 bytes per step, or 16 bytes in all for a run whose steps are released together; one
//! synchronised write per call that takes steps.
//!
//! `docs/keys.md` says what each face refuses, allows and leaves to the user.

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
