//! Curves of any length in bounded memory.

/// A picture has no more pixels across than this.
const MAX_POINTS: usize = 2048;

/// Keeps every s-th point and the last one, doubling s whenever there are too many.
#[derive(Debug, Clone)]
pub(crate) struct Thinned<T> {
    kept: Vec<T>,
    last: Option<T>,
    stride: u64,
    seen: u64,
}

impl<T> Default for Thinned<T> {
    fn default() -> Self {
        Self { kept: Vec::new(), last: None, stride: 1, seen: 0 }
    }
}

impl<T: Copy> Thinned<T> {
    pub(crate) fn push(&mut self, point: T) {
        self.last = Some(point);
        if self.seen.is_multiple_of(self.stride) {
            self.kept.push(point);
            self.last = None;
        }
        self.seen += 1;
        if self.kept.len() > MAX_POINTS {
            let mut index = 0;
            self.kept.retain(|_| {
                index += 1;
                index % 2 == 1
            });
            self.stride *= 2;
        }
    }

    pub(crate) fn points(&self) -> Vec<T> {
        self.kept.iter().copied().chain(self.last).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn first_and_last_stay_and_memory_is_bounded() {
        for count in [1_u32, 2, 4096, 4097, 4098, 100_003] {
            let mut thinned = Thinned::default();
            (0..count).for_each(|point| thinned.push(point));
            let points = thinned.points();
            assert_eq!((points.first(), points.last()), (Some(&0), Some(&(count - 1))));
            assert!(points.len() <= MAX_POINTS + 1);
            assert!(points.is_sorted_by(|a, b| a < b));
        }
    }
}
