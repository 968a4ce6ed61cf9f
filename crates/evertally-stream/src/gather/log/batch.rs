//! Events that compete, by columns: read by one thread, and handed over many at a time.

use super::claim::Claim;
use super::symbols::Symbols;
use super::tag::{Tag, Tagger};
use crate::amount::Amount;
use crate::names::given_name;

/// The most bytes of undeclared keys that a batch remembers.
const MAX_KEY_BYTES: usize = 1 << 20;

/// Events that compete, which a thread has read and a [`Gather`](crate::Gather) has not taken yet. No
/// `Debug`: everything in it is private.
///
/// ```
/// use evertally::Participation;
/// use evertally_stream::{Buckets, Gather, Rules};
/// let rules = Rules { limits: Some(Participation::at_most(1, 1)?), ..Rules::default() };
/// let mut gather = Gather::new(Buckets::new(0, "1d".parse()?, 2)?, rules, 1 << 20)?;
/// let mut batch = gather.claim_batch().ok_or("no event competes")?;
/// for time in [5, 9] {
///     let ann = batch.tag_of("ann").ok_or("she has a name")?;
///     batch.push(ann, gather.moment_of(time)?, batch.no_key(), None, gather.amount_of(None)?);
/// }
/// gather.take(&mut batch)?;
/// assert_eq!(gather.finish()?.next().ok_or("a step")?.totals[0].to_f64(), 1.0);
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct ClaimBatch {
    tagger: Tagger,
    pub(super) symbols: Symbols,
    /// The numbers that the log has for undeclared keys, as far as they were asked for.
    pub(super) numbers: Vec<Option<u32>>,
    pub(super) rows: Vec<Row>,
    /// The ids of all rows.
    pub(super) ids: String,
}

/// A competing event.
#[derive(Clone, Copy)]
pub(super) struct Row {
    pub(super) tag: Tag,
    amount: Amount,
    moment: Moment,
    pub(super) key: KeyNumber,
    /// Where its id starts and ends.
    id: Option<(usize, usize)>,
}

/// A time in the declared range, as its step and the microseconds since the start of the step.
#[derive(Clone, Copy)]
pub struct Moment {
    pub(crate) step: u64,
    pub(crate) offset: u64,
}

/// The number of a key in a batch.
#[derive(Clone, Copy, PartialEq, Eq)]
pub struct KeyNumber(pub(super) u32);

impl ClaimBatch {
    pub(super) fn new(tagger: Tagger, symbols: Symbols) -> Self {
        Self { tagger, symbols, numbers: Vec::new(), rows: Vec::new(), ids: String::new() }
    }

    /// The tag of a person or id; `None` if it has no name.
    #[inline]
    #[must_use]
    pub fn tag_of(&self, name: &str) -> Option<Tag> {
        given_name(Some(name)).map(|name| self.tagger.tag_of(name.as_bytes()))
    }

    /// The tag of a person or id that is an integer: that of its digits.
    #[inline]
    #[must_use]
    pub fn tag_of_integer(&self, number: i64) -> Tag {
        let mut digits = [0; MAX_DIGITS];
        let start = write_digits(number, &mut digits);
        self.tagger.tag_of(&digits[start..])
    }

    /// The number of a key. It holds until the batch [forgets](Self::forget_keys).
    #[inline]
    pub fn number_of(&mut self, key: Option<&str>) -> KeyNumber {
        KeyNumber(self.symbols.number_of(key))
    }

    /// The number of an event without a key.
    #[must_use]
    pub fn no_key(&self) -> KeyNumber {
        KeyNumber(super::symbols::NO_KEY)
    }

    /// The place of a key among the totals of a step.
    #[inline]
    #[must_use]
    pub fn place_of(&self, key: KeyNumber) -> usize {
        self.symbols.place_of(key.0)
    }

    /// Forgets undeclared keys, if they are many. No row may be in the batch.
    pub fn forget_keys(&mut self) {
        if self.symbols.bytes() > MAX_KEY_BYTES && self.is_empty() {
            self.symbols.forget();
            self.numbers = Vec::new();
        }
    }

    /// Adds an event of the claimant with this tag. The id is compared where persons are bounded too.
    #[inline]
    pub fn push(&mut self, tag: Tag, moment: Moment, key: KeyNumber, id: Option<&str>, amount: Amount) {
        let id = given_name(id).map(|id| {
            let start = self.ids.len();
            self.ids.push_str(id);
            (start, self.ids.len())
        });
        self.rows.push(Row { tag, amount, moment, key, id });
    }

    /// The number of events.
    #[must_use]
    pub fn len(&self) -> usize {
        self.rows.len()
    }

    /// Whether there is no event.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.rows.is_empty()
    }

    /// Drops all events.
    pub fn clear(&mut self) {
        self.rows.clear();
        self.ids.clear();
    }
}

/// The most digits of an integer, and a sign.
const MAX_DIGITS: usize = 20;

/// Writes an integer as its text, to the end of the bytes, and gives the start of the text.
fn write_digits(number: i64, digits: &mut [u8; MAX_DIGITS]) -> usize {
    let (mut rest, mut start) = (number.unsigned_abs(), MAX_DIGITS);
    loop {
        start -= 1;
        digits[start] = b'0' + (rest % 10) as u8;
        rest /= 10;
        if rest == 0 {
            break;
        }
    }
    if number < 0 {
        start -= 1;
        digits[start] = b'-';
    }
    start
}

impl Row {
    /// The claim of an event, with the number that the log has for its key.
    pub(super) fn claim<'a>(&self, key: u32, ids: &'a str) -> Claim<'a> {
        let id = self.id.and_then(|(start, end)| ids.get(start..end));
        Claim { step: self.moment.step, offset: self.moment.offset, id, key, amount: self.amount }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    proptest! {
        #[test]
        fn integers_are_their_texts(number in any::<i64>(), shift in 0_u32..64) {
            for number in [number >> shift, i64::MIN, i64::MAX, 0, -1] {
                let mut digits = [0; MAX_DIGITS];
                let start = write_digits(number, &mut digits);
                let text = number.to_string();
                prop_assert_eq!(&digits[start..], text.as_bytes());
            }
        }
    }
}
