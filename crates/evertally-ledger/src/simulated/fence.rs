//! The fence: a few bytes beside the disk that are written durably, or not at all.

use std::io;

use super::{Operation, SimulatedMachine};
use crate::Fence;

/// A handle to the fence of a machine.
#[derive(Debug)]
pub struct SimulatedFence {
    pub(super) machine: SimulatedMachine,
    pub(super) life: u64,
}

impl Fence for SimulatedFence {
    fn read(&mut self) -> io::Result<Option<Vec<u8>>> {
        Ok(self.machine.lock_for(self.life)?.fence.clone())
    }

    fn write(&mut self, content: &[u8]) -> io::Result<()> {
        let mut state = self.machine.lock_for(self.life)?;
        let outcome = state.begin(Operation::Fence);
        if outcome.is_ok() || state.dice.once_in(2) {
            state.fence = Some(content.to_vec());
        }
        outcome
    }
}
