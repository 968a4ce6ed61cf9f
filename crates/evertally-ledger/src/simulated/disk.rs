//! The disk: a platter, a cache in front of it, and what is lost between them.

use std::io;

use redb::StorageBackend;

use super::{Dice, Operation, SimulatedMachine};

/// What reaches the platter whole or not at all.
const SECTOR: u64 = 512;

/// A handle to the disk of a machine, as the database takes it.
#[derive(Debug)]
pub struct SimulatedDisk {
    pub(super) machine: SimulatedMachine,
    pub(super) life: u64,
}

/// A file on a disk.
#[derive(Debug, Default)]
pub(super) struct Disk {
    /// What reads see.
    cache: Vec<u8>,
    /// What is safe.
    platter: Vec<u8>,
    /// What stands between them, in order.
    pending: Vec<Change>,
    /// Whether a failed sync lost something that the cache still shows.
    has_lost: bool,
}

#[derive(Debug)]
enum Change {
    Write { offset: u64, data: Vec<u8> },
    SetLength(u64),
}

impl Disk {
    pub(super) fn holding(image: Vec<u8>) -> Self {
        Self { cache: image.clone(), platter: image, ..Self::default() }
    }

    pub(super) fn platter(&self) -> &[u8] {
        &self.platter
    }

    pub(super) fn shows_what_is_lost(&self) -> bool {
        self.has_lost
    }

    /// Everything reaches the platter.
    pub(super) fn sync(&mut self) {
        for change in self.pending.drain(..) {
            change.apply(&mut self.platter);
        }
    }

    /// Of every write that was to be synced, one of three things becomes: it has reached the
    /// platter, may still reach it, or is lost.
    fn fail_to_sync(&mut self, dice: &mut Dice) {
        let mut pending = Vec::new();
        for change in self.pending.drain(..) {
            match dice.below(3) {
                0 => change.apply(&mut self.platter),
                // The length is kept in the file system's journal, which goes on in order.
                _ if matches!(change, Change::SetLength(_)) => change.apply(&mut self.platter),
                1 => pending.push(change),
                _ => self.has_lost = true,
            }
        }
        self.pending = pending;
    }

    /// What remains of the file when the power is cut.
    pub(super) fn lose_cache(&mut self, dice: &mut Dice) {
        let pending = std::mem::take(&mut self.pending);
        let kept_lengths = {
            let lengths = pending.iter().filter(|change| matches!(change, Change::SetLength(_))).count();
            dice.below(lengths as u64 + 1)
        };
        let fate = dice.below(4);
        let prefix = dice.below(pending.len() as u64 + 1);
        let mut lengths = 0;
        for (index, change) in (0..).zip(pending) {
            match change {
                // Lengths are journaled: they are kept in order, or not at all.
                Change::SetLength(_) => {
                    lengths += 1;
                    if lengths <= kept_lengths || fate == 1 {
                        change.apply(&mut self.platter);
                    }
                }
                Change::Write { .. } => match fate {
                    0 => {}
                    1 => change.apply(&mut self.platter),
                    2 if index < prefix => change.apply(&mut self.platter),
                    2 if index == prefix => change.tear(dice, &mut self.platter),
                    2 => {}
                    _ => change.tear(dice, &mut self.platter),
                },
            }
        }
        self.cache.clone_from(&self.platter);
        self.has_lost = false;
    }

    fn change(&mut self, change: Change) {
        change.apply(&mut self.cache);
        self.pending.push(change);
    }
}

impl Change {
    /// Bytes beyond the end are not there: a length that was not kept cuts off what was written behind it.
    fn apply(&self, file: &mut Vec<u8>) {
        match self {
            Self::SetLength(length) => file.resize(*length as usize, 0),
            Self::Write { offset, data } => {
                let start = (*offset as usize).min(file.len());
                let end = (start + data.len()).min(file.len());
                file[start..end].copy_from_slice(&data[..end - start]);
            }
        }
    }

    /// Applies the sectors of a write that the dice choose.
    fn tear(&self, dice: &mut Dice, file: &mut Vec<u8>) {
        let Self::Write { offset, data } = self else { return };
        let mut at = 0;
        while at < data.len() {
            let sector_ends = SECTOR - (offset + at as u64) % SECTOR;
            let end = (at + sector_ends as usize).min(data.len());
            if dice.once_in(2) {
                Self::Write { offset: offset + at as u64, data: data[at..end].to_vec() }.apply(file);
            }
            at = end;
        }
    }
}

impl StorageBackend for SimulatedDisk {
    fn len(&self) -> io::Result<u64> {
        Ok(self.machine.lock_for(self.life)?.disk.cache.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        let state = self.machine.lock_for(self.life)?;
        let end = offset as usize + out.len();
        let found = state.disk.cache.get(offset as usize..end).ok_or(io::ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(found);
        Ok(())
    }

    fn set_len(&self, length: u64) -> io::Result<()> {
        let mut state = self.machine.lock_for(self.life)?;
        state.begin(Operation::SetLength)?;
        if state.faults.capacity.is_some_and(|capacity| length > capacity) {
            return Err(io::ErrorKind::StorageFull.into());
        }
        state.disk.change(Change::SetLength(length));
        Ok(())
    }

    fn sync_data(&self) -> io::Result<()> {
        let mut state = self.machine.lock_for(self.life)?;
        let outcome = state.begin(Operation::Sync);
        let state = &mut *state;
        match &outcome {
            Ok(()) if state.faults.sync_lies => {}
            Ok(()) => state.disk.sync(),
            Err(_) => state.disk.fail_to_sync(&mut state.dice),
        }
        outcome
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        let mut state = self.machine.lock_for(self.life)?;
        let outcome = state.begin(Operation::Write);
        // Of a write that fails, the beginning may have been written.
        let written = match &outcome {
            Ok(()) => data.len(),
            Err(_) => state.dice.below(data.len() as u64 + 1) as usize,
        };
        if offset as usize + written > state.disk.cache.len() {
            return Err(io::Error::other("a write beyond the end of the file"));
        }
        state.disk.change(Change::Write { offset, data: data[..written].to_vec() });
        outcome
    }
}
