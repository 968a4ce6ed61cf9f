//! Durable steps and releases: the part of the service that must never be wrong.
//!
//! # The life of a step
//! 1. An event is *acknowledged* when it is durable, and not before. Its client made its id, so a
//!    retry changes nothing.
//! 2. A step is *closed* by freezing its input: the totals of its events, with a hash. A closed
//!    step is not opened again.
//! 3. Its noise is derived from (key, stream, epoch, step), which the input does not enter, and the
//!    *release* is recorded with the hash of the input.
//! 4. The *fence*, outside the ledger, records the release; only then is it *shown*.
//!
//! # What holds
//! - **No acknowledged event is lost**, and none counts twice while its id is remembered
//!   ([`Spec::remember_ids`]).
//! - **A release never changes**, and no two releases of one step exist within an epoch: what a
//!   crash interrupts before 4 was seen by nobody, and what recovery makes again is the same,
//!   because input and noise are. Recovery compares it with the record, bit for bit.
//! - **The first write or sync that fails ends all changes** until the ledger is opened again:
//!   after a failed sync nobody knows what the disk has, and a later one that succeeds does not
//!   tell. What was shown is still shown.
//! - **The fence recognises a restored backup or a copy**, which releases nothing until an operator
//!   starts a new *epoch*. It has fresh noise, and its cost is composed with what was spent before
//!   ([`Ledger::epoch_preview`]).
//! - **A flipped byte is noticed**: frames form a chain of hashes, rows are sealed, and `verify`
//!   reads all of it.
//!
//! # What it takes
//! That the disk keeps what it has confirmed to be synced; that nobody but the service writes the
//! files; that the key stays secret; and that the fence is not set back together with the ledger.
//! The files hold true totals: anyone who can read the directory needs no releases. Names of
//! persons and ids of events are kept as keyed hashes.
//!
//! ```
//! use evertally::{Budget, Neighbours};
//! use evertally_ledger::{Event, Ledger, Location, NewPopulation, Spec, read_or_make_key};
//!
//! # let home = tempfile::tempdir()?;
//! let directory = home.path().join("counts");
//! let now = 1_800_000_000_000_000;
//! let location = Location::directory(&directory, None)?;
//! let mut ledger = Ledger::open(location, read_or_make_key(&directory)?, now)?;
//! ledger.grant(&NewPopulation {
//!     name: "everyone".to_owned(),
//!     unit: "event".to_owned(),
//!     neighbours: Neighbours::AddRemove,
//!     total: Budget::new(2.0, 1e-6)?,
//!     pure_part: 0.0,
//!     key_delta: 0.0,
//! })?;
//! let spec = Spec::new("visits", "everyone", 1.0, 1e-6).steps(24);
//! let counter = ledger.create(&spec.plan(now)?, now)?;
//! let event = counter.intake().prepare(&Event { id: "visit 1", ..Event::default() })?;
//! let receipt = ledger.submit(&counter, &[event.clone(), event], now)?;
//! ledger.advance("visits", 1)?;
//! ledger.commit(now)?; // now the receipt may be given away, and the release is there
//! assert_eq!((receipt.counted, receipt.duplicate), (1, 1));
//! let release = counter.latest().unwrap();
//! println!("{} ± {}", release.values[0], release.margin);
//! # drop(ledger);
//! # let again = Ledger::open(Location::directory(&directory, None)?, read_or_make_key(&directory)?, now)?;
//! # assert_eq!(again.read_view().counter("visits").and_then(|counter| counter.latest()), Some(release));
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```
//!
//! | module | responsibility |
//! |---|---|
//! | `spec`, `intake` | what a counter is made from; what the ledger sees of an event |
//! | `counter`, `running_counter` | what the input of a step is, and what is released of it |
//! | `found` | the keys that a counter finds: their names, who is new in them, and which have appeared |
//! | `ids`, `persons` | the stores of [`evertally_stream::admission`], which decides which events count |
//! | `ledger`, `commit`, `accounts`, `tokens`, `epoch` | everything that happens, and its order |
//! | `record`, `journal`, `store`, `checkpoint`, `recovery`, `rows`, `verify` | what is on the disk, and how it is checked |
//! | `location`, `fence` | where the files are, and how a copy is recognised |
//! | `simulated` (feature of the same name) | a machine in memory whose disk fails on demand, for tests |
//! | `read_view`, `ledger_thread` | what anybody may read; the thread that owns the rest |

#![forbid(unsafe_code)]

mod accounts;
mod checkpoint;
mod commit;
mod counter;
mod epoch;
mod error;
mod fence;
mod found;
mod ids;
mod intake;
mod journal;
mod ledger;
mod ledger_thread;
mod location;
mod persons;
mod read_view;
mod record;
mod recovery;
mod rows;
mod running_counter;
#[cfg(any(test, feature = "simulated"))]
pub mod simulated;
mod spec;
mod store;
mod tokens;
mod verify;

pub use accounts::{Entry, NewPopulation, Population};
pub use error::{Class, Error, Result};
pub use fence::{Fence, FileFence};
pub use intake::{Event, EventOrder, Intake, PreparedEvent, Receipt};
pub use ledger::{EpochCost, EpochResult, Ledger};
pub use ledger_thread::{Busy, LedgerThread, Statistics};
pub use location::{Location, read_or_make_key};
pub use read_view::{CounterView, KeyNames, Mode, ReadView, Status, StepRelease};
pub use spec::{CounterPlan, Discover, Spec};
pub use tokens::{Role, Token};
pub use verify::Verification;
