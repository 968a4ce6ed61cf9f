//! Steps of the calendar: where each begins, in a time zone.
//!
//! **Definition.** Step i begins at the first instant ([`Zone`]) of the date that is i lengths after
//! the date of the first step, and ends where step i + 1 begins. It holds its start and not its end.
//! A date that the clocks of the zone never showed has no step: Pacific/Apia has no 30 December 2011,
//! so the step after 29 December is 31 December. Boundaries therefore always increase.
//!
//! **Guarantee.** The step of an event is found among these boundaries, never from the date of the
//! event: in some zones, clocks have gone back over midnight, so that a date was shown twice with
//! another one between. A digest of the boundaries is part of the noise's name, because a new edition
//! of the zone database can move them.
//!
//! **Cost.** Boundaries are computed once, 8 bytes each, and no further than the year 9999: at most
//! three million. The step of a time is a multiplication and about one comparison: calendar units have
//! nearly the same length, so the mean length leads to the step or to one beside it.

use std::sync::{Arc, OnceLock};

use jiff::Timestamp;
use jiff::civil::Date;

use crate::error::{Error, Result};
use crate::length::{CalendarLength, CalendarUnit};
use crate::time::days_before;
use crate::zone::Zone;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// The context of the digest of boundaries. It is part of the noise's name and must never change.
const DIGEST_CONTEXT: &str = "evertally 2026 calendar boundaries";

/// The boundaries of consecutive steps of the calendar.
///
/// ```
/// use evertally_stream::{Calendar, CalendarLength, CalendarUnit, Zone, time};
/// let zone = Zone::named("Europe/Zurich").unwrap();
/// let from = time::parse("2026-03-01T00:00:00+01:00").unwrap();
/// let months = Calendar::new(&zone, CalendarLength::new(1, CalendarUnit::Month)?, from, Some(2))?;
/// let starts: Vec<_> = (0..=2).filter_map(|step| zone.format(months.start_of(step)?)).collect();
/// assert_eq!(starts[..2], ["2026-03-01T00:00:00+01:00", "2026-04-01T00:00:00+02:00"]);
/// # Ok::<(), evertally_stream::Error>(())
/// ```
#[derive(Debug, Clone)]
pub struct Calendar {
    zone: Zone,
    every: CalendarLength,
    /// The date of the first step.
    first: Date,
    /// The starts of all steps, and the end of the last.
    starts: Arc<[i64]>,
    /// How many lengths after the first date the boundary after the last one is.
    next_unit: u64,
    /// Boundaries after the last one, made when they are first asked for.
    beyond: Arc<OnceLock<Vec<i64>>>,
    digest: [u8; 32],
}

impl PartialEq for Calendar {
    fn eq(&self, other: &Self) -> bool {
        (&self.zone, self.every, &self.starts) == (&other.zone, other.every, &other.starts)
    }
}

impl Eq for Calendar {}

impl Calendar {
    /// The first start of a unit at or after a time, if there is one before the year 9999.
    pub(crate) fn next_start(zone: &Zone, unit: CalendarUnit, time: i64) -> Option<i64> {
        let first = unit.start_before(zone.date_of(time)?);
        // Weeks start on any day.
        let unit = if unit == CalendarUnit::Week { CalendarUnit::Day } else { unit };
        let every = CalendarLength::new(1, unit).ok()?;
        // A date that never was starts with the next one, so the second start may be the first again.
        (0..4)
            .map_while(|number| zone.start_of(every.date_after(first, number)?))
            .find(|start| *start >= time)
    }

    /// Steps from a time on, which must be the start of a unit. There are fewer than `max_steps` if
    /// the year 9999 ends before.
    ///
    /// # Errors
    /// [`Error::NotAStart`], and an error if no step fits.
    pub fn new(zone: &Zone, every: CalendarLength, from: i64, max_steps: Option<u64>) -> Result<Self> {
        let outside = || Error::bad("the first step", "before the year 9999", "a later time");
        let date = zone.date_of(from).ok_or_else(outside)?;
        let first = every.unit().start_before(date);
        if first != date || zone.start_of(date) != Some(from) {
            return Err(Error::NotAStart { unit: every.unit(), earlier: first.to_string() });
        }
        let max_steps = max_steps.unwrap_or(u64::MAX - 1);
        let (starts, next_unit) = boundaries(zone, every, first, 0, max_steps.saturating_add(1));
        if starts.len() < 2 {
            return Err(outside());
        }
        Ok(Self::of(zone.clone(), every, first, starts.into(), next_unit))
    }

    fn of(zone: Zone, every: CalendarLength, first: Date, starts: Arc<[i64]>, next_unit: u64) -> Self {
        let mut hasher = blake3::Hasher::new_derive_key(DIGEST_CONTEXT);
        hasher.update(&(starts.len() as u64).to_le_bytes());
        for start in &*starts {
            hasher.update(&start.to_le_bytes());
        }
        let digest = *hasher.finalize().as_bytes();
        Self { zone, every, first, starts, next_unit, beyond: Arc::default(), digest }
    }

    /// The first steps only, as if no more had been asked for. At least one step remains.
    #[must_use]
    pub fn first_steps(&self, steps: u64) -> Self {
        let count = usize::try_from(steps).unwrap_or(usize::MAX).clamp(1, self.starts.len() - 1);
        let (starts, next_unit) = boundaries(&self.zone, self.every, self.first, 0, count as u64 + 1);
        Self::of(self.zone.clone(), self.every, self.first, starts.into(), next_unit)
    }

    /// The number of steps.
    #[must_use]
    pub fn steps(&self) -> u64 {
        self.starts.len() as u64 - 1
    }

    /// The zone.
    #[must_use]
    pub fn zone(&self) -> &Zone {
        &self.zone
    }

    /// The length of a step.
    #[must_use]
    pub fn every(&self) -> CalendarLength {
        self.every
    }

    /// A digest of all boundaries.
    #[must_use]
    pub fn digest(&self) -> [u8; 32] {
        self.digest
    }

    /// The start of a step, or the end of the last one; `None` past it.
    #[must_use]
    pub fn start_of(&self, step: u64) -> Option<i64> {
        self.starts.get(usize::try_from(step).ok()?).copied()
    }

    /// How many boundaries are at or before a time: 0 before the first step, and one more than there
    /// are steps once the last has ended.
    #[must_use]
    pub fn started_by(&self, time: i64) -> u64 {
        let starts = &*self.starts;
        let (first, last) = (starts[0], starts[starts.len() - 1]);
        if time < first {
            return 0;
        }
        if time >= last {
            return starts.len() as u64;
        }
        // The mean length leads near the step, and what is left is corrected.
        let share = (time - first) as f64 / (last - first) as f64;
        let mut at = ((share * (starts.len() - 1) as f64) as usize).min(starts.len() - 2);
        while starts[at] > time {
            at -= 1;
        }
        while starts[at + 1] <= time {
            at += 1;
        }
        at as u64 + 1
    }

    /// The step that a time would belong to if there were steps until the year 9999; 0 for a time
    /// before them.
    pub(crate) fn step_in_any_range(&self, time: i64) -> u64 {
        let started = self.started_by(time);
        if started < self.starts.len() as u64 {
            return started.saturating_sub(1);
        }
        let beyond = self.beyond.get_or_init(|| {
            let last = self.starts.last().copied();
            let (later, _) = boundaries(&self.zone, self.every, self.first, self.next_unit, u64::MAX);
            later.into_iter().filter(|start| Some(*start) > last).collect()
        });
        started - 1 + beyond.partition_point(|start| *start <= time) as u64
    }

    /// The length of the shortest of the first steps, in microseconds.
    pub(crate) fn shortest_micros(&self, steps: u64) -> i64 {
        let lengths = self.starts.windows(2).map(|ends| ends[1] - ends[0]);
        lengths.take(usize::try_from(steps).unwrap_or(usize::MAX)).min().unwrap_or(1)
    }
}

/// Up to `count` boundaries from a unit on, and the number of the unit after them.
fn boundaries(zone: &Zone, every: CalendarLength, first: Date, unit: u64, count: u64) -> (Vec<i64>, u64) {
    let mut days = DayStarts { zone, quiet: 0..0, offset: 0 };
    let (mut starts, mut unit) = (Vec::new(), unit);
    while (starts.len() as u64) < count {
        let date = every.date_after(first, unit);
        let Some(start) = date.and_then(|date| days.start_of(date)) else { break };
        // A date that never was starts with the next one.
        if starts.last() != Some(&start) {
            starts.push(start);
        }
        unit += 1;
    }
    (starts, unit)
}

/// Starts of days, of which nearly all follow from the offset of the day before. Between two changes
/// of the offset, a day starts at midnight; only near a change is the zone asked again.
struct DayStarts<'a> {
    zone: &'a Zone,
    quiet: std::ops::Range<i64>,
    offset: i64,
}

impl DayStarts<'_> {
    fn start_of(&mut self, date: Date) -> Option<i64> {
        let [year, month, day] = [i64::from(date.year()), i64::from(date.month()), i64::from(date.day())];
        let start = days_before(year, month, day) * MICROS_PER_DAY - self.offset;
        if self.quiet.contains(&start) && start <= Timestamp::MAX.as_microsecond() {
            return Some(start);
        }
        let start = self.zone.start_of(date)?;
        let time = Timestamp::from_microsecond(start).ok()?;
        (self.offset, self.quiet) = (self.zone.offset_micros(time), self.zone.quiet_around(time));
        Some(start)
    }
}

#[cfg(test)]
#[path = "calendar_tests.rs"]
mod tests;
