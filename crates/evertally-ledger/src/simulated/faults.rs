//! What is to fail, and what has been done.

use std::io;

/// What can fail.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Operation {
    /// A write to the file.
    Write,
    /// A change of the file's length.
    SetLength,
    /// A sync of the file.
    Sync,
    /// A durable write of the fence.
    Fence,
}

impl Operation {
    /// All of them.
    pub const ALL: [Self; 4] = [Self::Write, Self::SetLength, Self::Sync, Self::Fence];
}

/// How often each operation was asked for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Counts {
    by_operation: [u64; 4],
}

impl Counts {
    /// How often this one was asked for.
    pub fn of(&self, operation: Operation) -> u64 {
        self.by_operation[operation as usize]
    }

    /// How often any was.
    pub fn all(&self) -> u64 {
        self.by_operation.iter().sum()
    }

    pub(super) fn add(&mut self, operation: Operation) {
        self.by_operation[operation as usize] += 1;
    }
}

/// A plan of faults. All numbers count from zero, and from the moment at which the plan is set.
#[derive(Clone, Copy, Debug, Default)]
pub struct Faults {
    /// This operation, when it comes for the k-th time, fails with an input or output error; all
    /// others work, later ones of the same kind included.
    pub fails: Option<(Operation, u64)>,
    /// The disk is full from the k-th operation of any kind on: nothing is written, and the
    /// file does not grow. Syncs and the fence, whose file has its place already, still work.
    pub full_from: Option<u64>,
    /// The file cannot be longer than this many bytes.
    pub capacity: Option<u64>,
    /// The power fails at the k-th operation of any kind: it and all others fail from there
    /// on, reads included.
    pub power_fails_at: Option<u64>,
    /// Syncs do nothing and say that all is well. No ledger can be safe on such a disk; tests are
    /// shown to notice.
    pub sync_lies: bool,
}

impl Faults {
    /// The error that an operation ends with, if it is to fail, after what was done before.
    pub(super) fn fault(&self, operation: Operation, before: &Counts) -> Option<io::Error> {
        if self.power_fails_at.is_some_and(|at| before.all() >= at) {
            return Some(io::Error::other("the power has gone"));
        }
        if self.fails == Some((operation, before.of(operation))) {
            return Some(io::Error::other("input or output error"));
        }
        let grows = matches!(operation, Operation::Write | Operation::SetLength);
        if grows && self.full_from.is_some_and(|at| before.all() >= at) {
            return Some(io::ErrorKind::StorageFull.into());
        }
        None
    }

    /// Whether nothing is planned to fail. A sync that lies does not fail.
    pub fn is_none(&self) -> bool {
        let Self { fails, full_from, capacity, power_fails_at, sync_lies: _ } = *self;
        fails.is_none() && full_from.is_none() && capacity.is_none() && power_fails_at.is_none()
    }

    /// Whether the power has gone.
    pub(super) fn is_without_power(&self, done: &Counts) -> bool {
        // The operation at which it goes is counted, so that it is seen to fail by itself.
        self.power_fails_at.is_some_and(|at| done.all() > at)
    }
}
