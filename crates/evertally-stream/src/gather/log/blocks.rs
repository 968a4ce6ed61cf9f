//! Many strings of bytes that grow and shrink, in memory of equal blocks.
//!
//! **Definition.** A [`Chain`] is a string of bytes in blocks. A [`Pool`] holds the blocks of all chains,
//! and for each block the number of the next one. It takes memory in slabs.
//! **Cost.** Four bytes per block, and half a block per chain. No memory is lost between strings of
//! unequal lengths, so what the pool holds is what the program takes. The numbers stand apart from the
//! blocks, because they fit a cache: the processor fetches many blocks of a chain at a time.

const BLOCK_BYTES: usize = 512;

/// The blocks of a slab.
const SLAB_BLOCKS: usize = 64;

/// The number of no block.
const NONE: u32 = u32::MAX;

/// Blocks of memory.
pub(super) struct Pool {
    slabs: Vec<Vec<u8>>,
    /// The number of the block behind each.
    next: Vec<u32>,
    /// The first block that is free.
    free: u32,
    used: usize,
}

impl Pool {
    pub(super) fn new() -> Self {
        Self { slabs: Vec::new(), next: Vec::new(), free: NONE, used: 0 }
    }

    /// The bytes of the blocks that are in use.
    pub(super) fn bytes(&self) -> usize {
        self.used * (BLOCK_BYTES + size_of::<u32>())
    }

    fn take(&mut self) -> u32 {
        if self.free == NONE {
            // 2³² blocks are 2 TiB.
            let first = (self.slabs.len() * SLAB_BLOCKS) as u32;
            self.slabs.push(vec![0; SLAB_BLOCKS * BLOCK_BYTES]);
            self.next.resize(self.next.len() + SLAB_BLOCKS, NONE);
            for number in (first..first + SLAB_BLOCKS as u32).rev() {
                self.free_block(number);
            }
        }
        let taken = self.free;
        self.free = self.next(taken);
        self.used += 1;
        taken
    }

    fn free_block(&mut self, number: u32) {
        let next = std::mem::replace(&mut self.free, number);
        self.link(number, next);
    }

    #[inline]
    fn block(&mut self, number: u32) -> &mut [u8] {
        let start = number as usize % SLAB_BLOCKS * BLOCK_BYTES;
        &mut self.slabs[number as usize / SLAB_BLOCKS][start..start + BLOCK_BYTES]
    }

    fn link(&mut self, number: u32, next: u32) {
        self.next[number as usize] = next;
    }

    #[inline]
    fn next(&self, number: u32) -> u32 {
        self.next[number as usize]
    }
}

/// A string of bytes.
#[derive(Clone, Copy)]
pub(super) struct Chain {
    first: u32,
    last: u32,
    /// The bytes of the last block that are free.
    room: u32,
    length: usize,
}

impl Default for Chain {
    fn default() -> Self {
        Self { first: NONE, last: NONE, room: 0, length: 0 }
    }
}

impl Chain {
    pub(super) fn len(&self) -> usize {
        self.length
    }

    pub(super) fn is_empty(&self) -> bool {
        self.length == 0
    }

    /// Adds bytes to the end.
    #[inline]
    pub(super) fn append(&mut self, mut bytes: &[u8], pool: &mut Pool) {
        self.length += bytes.len();
        loop {
            let (now, later) = bytes.split_at(bytes.len().min(self.room as usize));
            if !now.is_empty() {
                let start = BLOCK_BYTES - self.room as usize;
                pool.block(self.last)[start..start + now.len()].copy_from_slice(now);
                self.room -= now.len() as u32;
            }
            if later.is_empty() {
                return;
            }
            bytes = later;
            self.extend(pool);
        }
    }

    /// Adds a block to the end.
    #[cold]
    fn extend(&mut self, pool: &mut Pool) {
        let block = pool.take();
        pool.link(block, NONE);
        if self.last == NONE {
            self.first = block;
        } else {
            pool.link(self.last, block);
        }
        (self.last, self.room) = (block, BLOCK_BYTES as u32);
    }

    /// Adds all bytes to a vector.
    pub(super) fn read(&self, pool: &mut Pool, out: &mut Vec<u8>) {
        out.reserve(self.length);
        let (mut number, mut left) = (self.first, self.length);
        while left > 0 {
            let count = left.min(BLOCK_BYTES);
            let block = pool.block(number);
            out.extend_from_slice(&block[..count]);
            number = pool.next(number);
            left -= count;
        }
    }

    /// Empties the string, whose blocks are free then.
    pub(super) fn clear(&mut self, pool: &mut Pool) {
        let mut number = self.first;
        while number != NONE {
            let next = pool.next(number);
            pool.free_block(number);
            pool.used -= 1;
            number = next;
        }
        *self = Self::default();
    }

    /// Replaces the string. Blocks stay where they are, so that they are read in the order of memory.
    pub(super) fn replace(&mut self, bytes: &[u8], pool: &mut Pool) {
        let (mut number, mut rest) = (self.first, bytes);
        let mut written = Self::default();
        while number != NONE && !rest.is_empty() {
            let (now, later) = rest.split_at(rest.len().min(BLOCK_BYTES));
            pool.block(number)[..now.len()].copy_from_slice(now);
            written.first = if written.first == NONE { number } else { written.first };
            (written.last, written.room) = (number, (BLOCK_BYTES - now.len()) as u32);
            written.length += now.len();
            (number, rest) = (pool.next(number), later);
        }
        // Blocks that are left over are free.
        if number != NONE {
            Self { first: number, ..Self::default() }.clear(pool);
            if written.last != NONE {
                pool.link(written.last, NONE);
            }
        }
        *self = written;
        self.append(rest, pool);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn chains_are_strings(
            changes in prop::collection::vec((0_usize..3, 0_u8..4, 0_usize..1300), 0..60),
        ) {
            let mut pool = Pool::new();
            let mut chains = [Chain::default(); 3];
            let mut strings = [const { Vec::new() }; 3];
            for (number, (which, change, length)) in changes.into_iter().enumerate() {
                let bytes: Vec<u8> = (0..length).map(|at| (at + number) as u8).collect();
                let (chain, string) = (&mut chains[which], &mut strings[which]);
                match change {
                    0 => {
                        chain.clear(&mut pool);
                        string.clear();
                    }
                    1 => {
                        chain.replace(&bytes, &mut pool);
                        string.clone_from(&bytes);
                    }
                    _ => {
                        chain.append(&bytes, &mut pool);
                        string.extend_from_slice(&bytes);
                    }
                }
                for (chain, string) in chains.iter().zip(&strings) {
                    let mut read = Vec::new();
                    chain.read(&mut pool, &mut read);
                    prop_assert_eq!(&read, string);
                    prop_assert_eq!(chain.len(), string.len());
                }
                let blocks: usize = strings.iter().map(|string| string.len().div_ceil(BLOCK_BYTES)).sum();
                prop_assert_eq!(pool.bytes(), blocks * (BLOCK_BYTES + 4));
            }
        }
    }
}
