//! A machine whose disk fails on demand: tests of the ledger run on it.
//!
//! **Definition.** A [`SimulatedMachine`] holds a disk ([`SimulatedDisk`], a storage backend in
//! memory) and a fence beside it ([`SimulatedFence`]). What is written stands in a cache, where
//! reads see it, and reaches the *platter* when it is synced. A power cut keeps the platter and a
//! part of the cache that a seed chooses: nothing, all of it, a prefix, or any subset, with writes
//! torn at sectors of 512 bytes. Faults are planned ahead ([`Faults`]): which write, change of
//! length, sync or write of the fence fails, from where on the disk is full, when the power goes.
//!
//! **Guarantee.** The same calls with the same seeds do the same. A handle that was made before a
//! power cut answers nothing but errors afterwards, as a process that has died writes no more; what
//! it left behind is seen by handles made afterwards alone.
//!
//! **After a sync that failed**, some of what was to be synced has reached the platter, some may
//! still reach it, and some is lost although reads show it: that is what Linux does with dirty
//! pages that it could not write.
//!
//! **Cost.** Two copies of the file in memory, and the writes since the last sync.
//!
//! **Source.** A. Rebello et al., *Can applications recover from fsync failures?* (2020), for what
//! remains after a failed sync.
//!
//! ```
//! use evertally_ledger::simulated::{Faults, SimulatedMachine};
//! use redb::StorageBackend;
//!
//! let machine = SimulatedMachine::new(1);
//! let disk = machine.disk();
//! disk.set_len(3)?;
//! disk.sync_data()?;
//! disk.write(0, b"new")?;
//! machine.cut_power(7);
//! assert!(disk.sync_data().is_err());
//! assert!([b"new", &[0; 3]].contains(&machine.image().as_slice().try_into()?));
//!
//! machine.plan(Faults { full_from: Some(0), ..Faults::default() });
//! assert!(machine.disk().write(0, b"more").is_err());
//! # Ok::<(), Box<dyn std::error::Error>>(())
//! ```

mod dice;
mod disk;
mod faults;
mod fence;

pub use dice::Dice;
pub use disk::SimulatedDisk;
pub use faults::{Counts, Faults, Operation};
pub use fence::SimulatedFence;

use std::io;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use disk::Disk;

/// A disk and a fence, the plan of their faults, and what both have done so far. Clones are handles
/// to one machine.
#[derive(Clone, Debug)]
pub struct SimulatedMachine {
    state: Arc<Mutex<State>>,
}

#[derive(Debug)]
struct State {
    /// Counts power cuts: a handle of an earlier life is dead.
    life: u64,
    disk: Disk,
    fence: Option<Vec<u8>>,
    faults: Faults,
    counts: Counts,
    dice: Dice,
}

impl SimulatedMachine {
    /// An empty disk, a fence that nobody has written, and no faults.
    pub fn new(seed: u64) -> Self {
        let state = State {
            life: 0,
            disk: Disk::default(),
            fence: None,
            faults: Faults::default(),
            counts: Counts::default(),
            dice: Dice::new(seed),
        };
        Self { state: Arc::new(Mutex::new(state)) }
    }

    /// A handle to the disk, good until the power is cut.
    pub fn disk(&self) -> SimulatedDisk {
        SimulatedDisk { life: self.lock().life, machine: self.clone() }
    }

    /// A handle to the fence, good until the power is cut.
    pub fn fence(&self) -> SimulatedFence {
        SimulatedFence { life: self.lock().life, machine: self.clone() }
    }

    /// Sets what will fail, in place of what was planned before. Operations are counted from here.
    pub fn plan(&self, faults: Faults) {
        let mut state = self.lock();
        (state.faults, state.counts) = (faults, Counts::default());
    }

    /// What was done since the last plan, what failed included.
    pub fn counts(&self) -> Counts {
        self.lock().counts
    }

    /// Ends every process and cuts the power. What was synced is kept; of what was not, the seed
    /// chooses what is. No faults are planned any more.
    pub fn cut_power(&self, seed: u64) {
        let mut state = self.lock();
        state.disk.lose_cache(&mut Dice::new(seed));
        state.end_life();
    }

    /// Ends every process, as `kill -9` does: what was written stands in the cache, synced or not,
    /// and a later power cut may still take it. No faults are planned any more.
    pub fn kill(&self) {
        self.lock().end_life();
    }

    /// Whether nothing planned has taken the power away.
    pub fn has_power(&self) -> bool {
        let state = self.lock();
        !state.faults.is_without_power(&state.counts)
    }

    /// Whether reads show what a failed sync has lost. A process that is started again cannot tell,
    /// so that nothing is promised on such a machine before its power is cut.
    pub fn shows_what_is_lost(&self) -> bool {
        self.lock().disk.shows_what_is_lost()
    }

    /// The file as it stands on the platter.
    pub fn image(&self) -> Vec<u8> {
        self.lock().disk.platter().to_vec()
    }

    /// Puts an image in place of the file, and leaves the fence as it is: what an operator does who
    /// restores a backup. Every process is ended.
    pub fn restore(&self, image: Vec<u8>) {
        let mut state = self.lock();
        state.disk = Disk::holding(image);
        state.end_life();
    }

    fn lock(&self) -> MutexGuard<'_, State> {
        // A test that panics while it holds the lock fails anyway.
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// The state, for a handle that is still alive.
    fn lock_for(&self, life: u64) -> io::Result<MutexGuard<'_, State>> {
        let state = self.lock();
        if state.life == life && !state.faults.is_without_power(&state.counts) {
            Ok(state)
        } else {
            Err(io::Error::other("the power is off"))
        }
    }
}

impl State {
    fn end_life(&mut self) {
        self.life += 1;
        (self.faults, self.counts) = (Faults::default(), Counts::default());
    }

    /// Counts an operation and says whether it is to fail.
    fn begin(&mut self, operation: Operation) -> io::Result<()> {
        let fault = self.faults.fault(operation, &self.counts);
        self.counts.add(operation);
        fault.map_or(Ok(()), Err)
    }
}

#[cfg(test)]
mod tests;
