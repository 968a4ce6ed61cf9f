//! Time zones by name, from a database that is part of the program.
//!
//! **Definition.** A zone gives every instant an offset from UTC, and so a local date and time. The
//! database of the system is never read: the same version of the program has the same zones on every
//! machine.
//!
//! **Local times.** A local time that the clocks show twice is the first of the two instants. One
//! that they skip moves forward by the length of the gap. This is the rule of RFC 5545, which `jiff`
//! calls "compatible".
//!
//! **Days.** A day starts at the first instant at which the clocks show its date. This is not always
//! midnight: in some zones, clocks were set forward at midnight or just before it. A date that the
//! clocks never showed has no start of its own. Pacific/Apia has no 30 December 2011.

use jiff::civil::{Date, DateTime, Time, Weekday};
use jiff::tz::{AmbiguousOffset, Offset, TimeZone, TimeZoneDatabase};
use jiff::{Span, Timestamp};
use std::borrow::Cow;
use std::ops::Range;

use crate::time::micros_of;

const MICROS_PER_SECOND: i64 = 1_000_000;

/// No change of a zone's offset is longer, so a local time this far from any change is shown once.
const MAX_CHANGE_MICROS: i64 = 3 * 86_400 * MICROS_PER_SECOND;

/// A time zone of the IANA database.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Zone {
    name: Cow<'static, str>,
    zone: TimeZone,
}

impl Zone {
    /// Coordinated universal time.
    #[must_use]
    pub const fn utc() -> Self {
        Self { name: Cow::Borrowed("UTC"), zone: TimeZone::UTC }
    }

    /// The zone of a name such as `Europe/Zurich`, in upper or lower case; `None` if there is none.
    #[must_use]
    pub fn named(name: &str) -> Option<Self> {
        let zone = TimeZoneDatabase::bundled().get(name).ok()?;
        let name = zone.iana_name()?.to_owned();
        Some(Self { name: Cow::Owned(name), zone })
    }

    /// The names of all zones.
    #[must_use]
    pub fn names() -> Vec<String> {
        TimeZoneDatabase::bundled().available().map(|name| name.as_str().to_owned()).collect()
    }

    /// The name as the database has it.
    #[must_use]
    pub fn name(&self) -> &str {
        &self.name
    }

    /// Whether this is UTC by name.
    #[must_use]
    pub fn is_utc(&self) -> bool {
        self.name == "UTC"
    }

    /// A time as RFC 3339 with the offset of the zone; `None` beyond the year 9999.
    #[must_use]
    pub fn format(&self, micros: i64) -> Option<String> {
        let time = Timestamp::from_microsecond(micros).ok()?;
        Some(time.display_with_offset(self.zone.to_offset(time)).to_string())
    }

    /// The local date and time of an instant, as microseconds since 1970-01-01T00:00:00 local time;
    /// `None` beyond the year 9999.
    #[must_use]
    pub fn local_micros(&self, micros: i64) -> Option<i64> {
        Some(micros + self.offset_micros(Timestamp::from_microsecond(micros).ok()?))
    }

    /// The instant of a local date and time, given as [`Zone::local_micros`] gives it.
    #[must_use]
    pub fn instant_of_local(&self, local_micros: i64) -> Option<i64> {
        let local = Offset::UTC.to_datetime(Timestamp::from_microsecond(local_micros).ok()?);
        if local.time() == Time::midnight() { self.start_of(local.date()) } else { self.instant(local) }
    }

    /// Checks that an instant is the start of a day of the week, counted from Monday as 0. The error
    /// is the last such day before it, as a date.
    pub fn check_weekday(&self, micros: i64, from_monday: u8) -> std::result::Result<(), String> {
        let Some(date) = self.date_of(micros) else { return Err(String::new()) };
        let wanted =
            i8::try_from(from_monday % 7).ok().and_then(|day| Weekday::from_monday_zero_offset(day).ok());
        let days = wanted.map_or(0, |wanted| date.weekday().since(wanted));
        let day = date.checked_sub(Span::new().days(days)).unwrap_or(date);
        if day == date && self.start_of(date) == Some(micros) { Ok(()) } else { Err(day.to_string()) }
    }

    pub(crate) fn instant(&self, local: DateTime) -> Option<i64> {
        micros_of(self.zone.to_timestamp(local).ok()?)
    }

    /// The first instant of a date. For a date that the clocks never showed, that of the next one.
    pub(crate) fn start_of(&self, date: Date) -> Option<i64> {
        let midnight = self.zone.to_ambiguous_timestamp(date.to_datetime(Time::midnight()));
        let is_skipped = matches!(midnight.offset(), AmbiguousOffset::Gap { .. });
        let moved = midnight.compatible().ok()?;
        if !is_skipped {
            return micros_of(moved);
        }
        // Midnight has moved by the whole gap, although the date may begin right after the gap.
        let after = moved.checked_add(Span::new().nanoseconds(1)).ok()?;
        micros_of(self.zone.preceding(after).next().map_or(moved, |change| change.timestamp()))
    }

    pub(crate) fn date_of(&self, micros: i64) -> Option<Date> {
        Some(self.zone.to_datetime(Timestamp::from_microsecond(micros).ok()?).date())
    }

    pub(crate) fn offset_micros(&self, time: Timestamp) -> i64 {
        i64::from(self.zone.to_offset(time).seconds()) * MICROS_PER_SECOND
    }

    /// The instants around a time that are far from any change of the offset, and have the same offset.
    pub(crate) fn quiet_around(&self, time: Timestamp) -> Range<i64> {
        let after = time.checked_add(Span::new().nanoseconds(1)).unwrap_or(time);
        let last = self.zone.preceding(after).next().map(|change| change.timestamp().as_microsecond());
        let next = self.zone.following(time).next().map(|change| change.timestamp().as_microsecond());
        let first = last.map_or(i64::MIN, |last| last.saturating_add(MAX_CHANGE_MICROS));
        first..next.map_or(i64::MAX, |next| next.saturating_sub(MAX_CHANGE_MICROS))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use jiff::civil::date;

    const MINUTE: i64 = 60 * MICROS_PER_SECOND;

    fn zone(name: &str) -> Zone {
        Zone::named(name).unwrap()
    }

    /// The definition: the first minute at which the clocks show a date.
    fn start_by_minutes(zone: &Zone, wanted: Date) -> Option<i64> {
        let midnight = Zone::utc().instant(wanted.to_datetime(Time::midnight())).unwrap();
        (-48 * 60..48 * 60)
            .map(|minute| midnight + minute * MINUTE)
            .find(|&time| zone.date_of(time) == Some(wanted))
    }

    #[test]
    fn names_are_those_of_the_database() {
        assert_eq!(zone("europe/zurich").name(), "Europe/Zurich");
        for name in ["", "Europe/Zürich", "Mars/Olympus", "Etc/Unknown", "+01:00", "../etc/passwd"] {
            assert_eq!(Zone::named(name), None, "{name:?} was taken");
        }
        assert!(zone("utc").is_utc() && !zone("Europe/London").is_utc());
        assert!(Zone::names().len() > 400 && Zone::names().contains(&"Asia/Kathmandu".to_owned()));
    }

    #[test]
    fn a_day_starts_when_the_clocks_first_show_its_date() {
        let cases = [
            ("Europe/Zurich", date(2026, 3, 29)),
            ("Asia/Kathmandu", date(1986, 1, 1)),
            // Forward from 00:00 to 01:00, and back from 00:00 to 23:00.
            ("America/Sao_Paulo", date(2018, 11, 4)),
            ("America/Sao_Paulo", date(2018, 2, 18)),
            // Back from 00:01 to 23:01: both dates are shown twice.
            ("America/St_Johns", date(2010, 11, 6)),
            ("America/St_Johns", date(2010, 11, 7)),
            ("America/St_Johns", date(2010, 11, 8)),
            // Forward from 23:30 to 00:30.
            ("America/Toronto", date(1919, 3, 31)),
            ("Pacific/Apia", date(2011, 12, 29)),
            ("Pacific/Apia", date(2011, 12, 31)),
            // The whole date was shown twice.
            ("Pacific/Kwajalein", date(1969, 9, 30)),
        ];
        for (name, date) in cases {
            let expected = start_by_minutes(&zone(name), date);
            assert!(expected.is_some(), "{name} {date}");
            assert_eq!(zone(name).start_of(date), expected, "{name} {date}");
        }
        let apia = zone("Pacific/Apia");
        assert_eq!(start_by_minutes(&apia, date(2011, 12, 30)), None);
        assert_eq!(apia.start_of(date(2011, 12, 30)), apia.start_of(date(2011, 12, 31)));
    }

    /// The same on the days around every change of twenty years, past and to come.
    #[test]
    fn days_around_changes_start_when_the_clocks_first_show_them() {
        let names = ["Africa/Cairo", "America/Havana", "America/Nuuk", "America/St_Johns", "Asia/Gaza"];
        for zone in names.map(zone) {
            let from = Timestamp::from_second(1_262_304_000).unwrap();
            let changes: Vec<_> =
                zone.zone.following(from).take(40).map(|change| change.timestamp()).collect();
            assert_eq!(changes.len(), 40, "{}", zone.name());
            for change in changes {
                let date = zone.date_of(change.as_microsecond()).unwrap();
                for date in [date.yesterday().unwrap(), date, date.tomorrow().unwrap()] {
                    assert_eq!(zone.start_of(date), start_by_minutes(&zone, date), "{} {date}", zone.name());
                }
            }
        }
    }

    #[test]
    fn repeated_times_are_the_first_and_skipped_ones_move_forward() {
        let zurich = zone("Europe/Zurich");
        let shown = |local: DateTime| zurich.instant(local).and_then(|time| zurich.format(time)).unwrap();
        assert_eq!(shown(date(2026, 10, 25).at(2, 30, 0, 0)), "2026-10-25T02:30:00+02:00");
        assert_eq!(shown(date(2026, 3, 29).at(2, 30, 0, 0)), "2026-03-29T03:30:00+02:00");
        assert_eq!(shown(date(2026, 1, 1).at(0, 0, 0, 0)), "2026-01-01T00:00:00+01:00");
        let local = zurich.local_micros(0).unwrap();
        assert_eq!(local, 3600 * MICROS_PER_SECOND);
        assert_eq!(zurich.instant_of_local(local), Some(0));
    }

    #[test]
    fn weekdays_name_the_last_one_before() {
        let zurich = zone("Europe/Zurich");
        let start = zurich.start_of(date(2026, 1, 5)).unwrap();
        assert_eq!(zurich.check_weekday(start, 0), Ok(()));
        assert_eq!(zurich.check_weekday(start, 6), Err("2026-01-04".to_owned()));
        assert_eq!(zurich.check_weekday(start, 1), Err("2025-12-30".to_owned()));
        assert_eq!(zurich.check_weekday(start + 1, 0), Err("2026-01-05".to_owned()));
    }
}
