//! Periods that are longer than a step: weeks of days, months of hours.
//!
//! **Definition.** Periods of a fixed length follow each other from the start of the first step on.
//! Periods of the calendar start with a unit, like steps of the calendar. The first one is the first
//! that starts with or after the first step: of a month that began earlier, not all days are counted.
//! A period that ends after the last step is left out.
//!
//! **Guarantee.** A period consists of whole steps. If a boundary lies within a step, there are no
//! periods but an error with that time.

use evertally::Division;

use crate::buckets::Buckets;
use crate::calendar::Calendar;
use crate::length::StepLength;
use crate::zone::Zone;

/// Why steps cannot be divided into periods.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NoPeriods {
    /// A period would start or end at this time, in microseconds since 1970, within a step.
    WithinStep(i64),
    /// No period starts and ends within the range.
    NoneEnds,
}

impl Buckets {
    /// Divides the steps into periods of this length. Those of the calendar are in this zone.
    ///
    /// ```
    /// use evertally_stream::{Buckets, StepLength, Zone, time};
    /// let from = time::parse("2026-01-05").unwrap();
    /// let days = Buckets::new(from, "1d".parse()?, 56)?;
    /// let months = days.periods(StepLength::parse("1mo", false)?, &Zone::utc()).unwrap();
    /// // February is the only month whose days are all counted.
    /// assert_eq!((months.count(56), months.period(0)), (1, Some(27..55)));
    /// # Ok::<(), evertally_stream::Error>(())
    /// ```
    ///
    /// # Errors
    /// See [`NoPeriods`].
    pub fn periods(&self, length: StepLength, zone: &Zone) -> Result<Division, NoPeriods> {
        let boundaries: Box<dyn Iterator<Item = i64>> = match (length, self.every()) {
            (StepLength::Fixed(period), StepLength::Fixed(step)) => {
                let (period, step) = (period.micros(), step.micros());
                if period % step != 0 {
                    return Err(NoPeriods::WithinStep(self.start_of(0).saturating_add(period)));
                }
                let every = (period / step) as u64;
                return if every <= self.steps() {
                    Ok(Division::Every(every))
                } else {
                    Err(NoPeriods::NoneEnds)
                };
            }
            (StepLength::Fixed(period), StepLength::Calendar(_)) => {
                let (first, last) = (self.start_of(0), self.start_of(self.steps()));
                let count = (last - first) / period.micros();
                Box::new((0..=count).map(move |index| first + index * period.micros()))
            }
            (StepLength::Calendar(length), _) => Box::new(self.calendar_boundaries(zone, length).into_iter()),
        };
        // It stops at the first boundary within a step, so there are never more than there are steps.
        let steps: Result<Vec<u64>, NoPeriods> =
            boundaries.map(|time| self.boundary(time).ok_or(NoPeriods::WithinStep(time))).collect();
        Division::between(steps?).map_err(|_| NoPeriods::NoneEnds)
    }

    /// The starts of the calendar's units within the range, and its end if that is one.
    fn calendar_boundaries(&self, zone: &Zone, length: crate::length::CalendarLength) -> Vec<i64> {
        const MICROS_PER_DAY: i64 = 86_400_000_000;
        let (first, last) = (self.start_of(0), self.start_of(self.steps()));
        let Some(start) = Calendar::next_start(zone, length.unit(), first).filter(|start| *start <= last)
        else {
            return Vec::new();
        };
        // A unit has at least a day, and days have at least half of theirs.
        let most = ((last - start) / (MICROS_PER_DAY / 2)) as u64 + 2;
        let Ok(calendar) = Calendar::new(zone, length, start, Some(most)) else { return Vec::new() };
        (0..).map_while(|index| calendar.start_of(index)).take_while(|time| *time <= last).collect()
    }

    /// The step that starts at this time, or the number of steps if the last one ends there.
    fn boundary(&self, time: i64) -> Option<u64> {
        if time == self.start_of(self.steps()) {
            return Some(self.steps());
        }
        let step = self.step_of(time).ok()?;
        (self.start_of(step) == time).then_some(step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::length::CalendarLength;
    use crate::time;

    fn at(text: &str) -> i64 {
        time::parse(text).unwrap()
    }

    fn buckets(from: &str, every: &str, steps: u64) -> Buckets {
        Buckets::new(at(from), every.parse().unwrap(), steps).unwrap()
    }

    fn periods(buckets: &Buckets, length: &str, zone: Option<&str>) -> Result<Division, NoPeriods> {
        let length = StepLength::parse(length, zone.is_some()).unwrap();
        buckets.periods(length, &zone.map_or(Zone::utc(), |name| Zone::named(name).unwrap()))
    }

    #[test]
    fn fixed_periods_are_whole_numbers_of_steps() {
        let days = buckets("2026-01-05", "1d", 56);
        assert_eq!(periods(&days, "7d", None), Ok(Division::Every(7)));
        assert_eq!(periods(&days, "1w", None), Ok(Division::Every(7)));
        assert_eq!(periods(&days, "8w", None), Ok(Division::Every(56)));
        assert_eq!(periods(&days, "9w", None), Err(NoPeriods::NoneEnds));
        assert_eq!(periods(&days, "36h", None), Err(NoPeriods::WithinStep(at("2026-01-06T12:00:00Z"))));
    }

    #[test]
    fn months_are_those_whose_days_are_all_counted() {
        let year = buckets("2026-01-01", "1d", 365);
        let months = periods(&year, "1mo", None).unwrap();
        assert_eq!((months.count(365), months.period(1)), (12, Some(31..59)));
        assert_eq!(periods(&year, "1q", None).unwrap().period(3), Some(273..365));
        assert_eq!(periods(&year, "1y", None).unwrap().period(0), Some(0..365));
        let short = buckets("2026-01-02", "1d", 40);
        assert_eq!(periods(&short, "1mo", None), Err(NoPeriods::NoneEnds));
        let noon = buckets("2026-01-01T12:00:00Z", "1d", 365);
        assert_eq!(periods(&noon, "1mo", None), Err(NoPeriods::WithinStep(at("2026-02-01"))));
    }

    /// Five thousand years have 158 billion seconds, and the second one is within a step.
    #[test]
    fn the_first_boundary_within_a_step_ends_the_search() {
        let start = at("2026-01-01");
        let years = CalendarLength::new(1, crate::CalendarUnit::Year).unwrap();
        let calendar = Calendar::new(&Zone::utc(), years, start, Some(5000)).unwrap();
        let steps = Buckets::of_calendar(calendar, 5000).unwrap();
        assert_eq!(periods(&steps, "1s", None), Err(NoPeriods::WithinStep(start + 1_000_000)));
    }

    /// Days of a zone have 23 and 25 hours, and every boundary is found.
    #[test]
    fn days_of_a_zone_are_unions_of_hours() {
        let zone = "Europe/Zurich";
        let hours = buckets("2025-12-31T23:00:00Z", "1h", 24 * 365);
        let days = periods(&hours, "1d", Some(zone)).unwrap();
        let length = |day: u64| days.period(day).map(|day| day.end - day.start);
        assert_eq!((length(0), length(87), length(297)), (Some(24), Some(23), Some(25)));
        assert_eq!(days.count(24 * 365), 365);
        let every = CalendarLength::new(1, crate::CalendarUnit::Day).unwrap();
        let named = Zone::named(zone).unwrap();
        let calendar = Calendar::new(&named, every, at("2025-12-31T23:00:00Z"), Some(365)).unwrap();
        let steps = Buckets::of_calendar(calendar, 365).unwrap();
        assert_eq!(periods(&steps, "1mo", Some(zone)).unwrap().period(2), Some(59..90));
        // A fixed day of 24 hours leaves the days of the zone when the clocks change.
        let refused = steps.periods(StepLength::parse("1d", false).unwrap(), &named);
        assert_eq!(refused, Err(NoPeriods::WithinStep(at("2026-03-29T23:00:00Z"))));
    }
}
