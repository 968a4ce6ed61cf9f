//! How the times of one file are read: in which zone, and in which format.

use jiff::civil::date;
use jiff::fmt::strtime::BrokenDownTime;
use jiff::tz::{TimeZone, TimeZoneDatabase};

use super::forms::{Written, is_ambiguous, unix, unix_integer, written};
use super::{micros_of, usual};
use crate::error::{Error, Result};
use crate::zone::Zone;

/// Reads the times of a file. A time without an offset is a local time of the zone, or of UTC if no
/// zone is named. A date alone is the start of its day.
///
/// With a format, texts and integers are read in that format alone. Its directives are those of
/// `strptime`, as `jiff` has them.
///
/// ```
/// use evertally_stream::{Zone, time::{self, TimeReader}};
/// let zurich = TimeReader::new(Zone::named("Europe/Zurich"), Some("%d/%m/%Y %H:%M"))?;
/// assert_eq!(zurich.parse("05/01/2026 09:30"), time::parse("2026-01-05T08:30:00Z"));
/// # Ok::<(), evertally_stream::Error>(())
/// ```
#[derive(Debug, Clone, Default, PartialEq)]
pub struct TimeReader {
    zone: Option<Zone>,
    format: Option<String>,
}

impl TimeReader {
    /// A reader of times.
    ///
    /// # Errors
    /// If the format does not say which day it is, or cannot be read.
    pub fn new(zone: Option<Zone>, format: Option<&str>) -> Result<Self> {
        format.map(check_format).transpose()?;
        Ok(Self { zone, format: format.map(str::to_owned) })
    }

    /// The zone of local times, if one was named.
    #[must_use]
    pub fn zone(&self) -> Option<&Zone> {
        self.zone.as_ref()
    }

    /// The format, if one was given.
    #[must_use]
    pub fn format(&self) -> Option<&str> {
        self.format.as_deref()
    }

    /// The time of a text; `None` if it is none.
    #[must_use]
    pub fn parse(&self, text: &str) -> Option<i64> {
        let text = text.trim();
        match &self.format {
            Some(format) => self.place(in_format(format, text)?),
            None => usual(text.as_bytes()).or_else(|| self.place(written(text)?)),
        }
    }

    /// The time of a text in a buffer. The usual form needs no check of its encoding.
    #[must_use]
    pub fn parse_bytes(&self, text: &[u8]) -> Option<i64> {
        let usual = if self.format.is_none() { usual(text) } else { None };
        usual.or_else(|| self.parse(std::str::from_utf8(text).ok()?))
    }

    /// The time of an integer: Unix time, unless there is a format.
    #[must_use]
    pub fn parse_integer(&self, number: i64) -> Option<i64> {
        if self.format.is_some() { self.parse(&number.to_string()) } else { unix_integer(number) }
    }

    /// The time of a decimal: Unix time, unless there is a format. It is read like its shortest
    /// digits, so 0.1 is a tenth and not the double beside it.
    #[must_use]
    pub fn parse_decimal(&self, number: f64) -> Option<i64> {
        let text = number.to_string();
        if self.format.is_some() { self.parse(&text) } else { unix(&text) }
    }

    /// The time of a local date and time, in microseconds since 1970-01-01T00:00:00 local time.
    #[must_use]
    pub fn local(&self, local_micros: i64) -> Option<i64> {
        self.zone.as_ref().map_or(Some(local_micros), |zone| zone.instant_of_local(local_micros))
    }

    /// What a time may look like, for messages.
    #[must_use]
    pub fn expected(&self) -> String {
        let zone = self.zone.as_ref().map_or("UTC", Zone::name);
        match &self.format {
            Some(format) => format!("a time in the format {format:?}"),
            None => format!(
                "a time like 2026-01-05T08:30:00Z, 2026-01-05 08:30 (taken as {zone}), 2026-01-05, or Unix time"
            ),
        }
    }

    /// Whether a text is a date with slashes that does not say which number is the day.
    #[must_use]
    pub fn is_ambiguous(&self, text: &str) -> bool {
        self.format.is_none() && is_ambiguous(text)
    }

    fn place(&self, written: Written) -> Option<i64> {
        const UTC: &Zone = &Zone::utc();
        let zone = self.zone.as_ref().unwrap_or(UTC);
        match written {
            Written::Instant(time) => Some(time),
            Written::Local(local) => zone.instant(local),
            Written::Day(date) => zone.start_of(date),
        }
    }
}

fn in_format(format: &str, text: &str) -> Option<Written> {
    let parts = BrokenDownTime::parse(format, text).ok()?;
    if parts.iana_time_zone().is_some() {
        let zoned = parts.to_zoned_with(&TimeZoneDatabase::bundled()).ok()?;
        return micros_of(zoned.timestamp()).map(Written::Instant);
    }
    if parts.timestamp().is_some() || parts.offset().is_some() {
        return micros_of(parts.to_timestamp().ok()?).map(Written::Instant);
    }
    let local = parts.to_datetime().ok()?;
    Some(if parts.hour().is_some() { Written::Local(local) } else { Written::Day(local.date()) })
}

/// Checks that a format says which day and hour it is, by writing a time in it and reading it again.
fn check_format(format: &str) -> Result<()> {
    let refuse = |expected: &str| Err(Error::bad("the format of times", expected, format!("{format:?}")));
    let unreadable = "directives of strptime, such as %d/%m/%Y %H:%M";
    let Ok(sample) = date(2026, 11, 28).at(13, 14, 15, 123_456_789).to_zoned(TimeZone::UTC) else {
        return refuse(unreadable);
    };
    let Ok(text) = BrokenDownTime::from(&sample).to_string(format) else { return refuse(unreadable) };
    let Ok(parts) = BrokenDownTime::parse(format, &text) else { return refuse(unreadable) };
    if parts.timestamp().is_some() {
        return Ok(());
    }
    if parts.to_date().ok() != Some(sample.date()) {
        return refuse("a year, a month and a day, such as %d/%m/%Y %H:%M");
    }
    // A clock of twelve hours does not say which half of the day it is.
    if parts.to_time().is_err() || parts.hour().is_some_and(|hour| hour != sample.hour()) {
        return refuse("an hour of 24 (%H), or of 12 with %p");
    }
    if in_format(format, &text).is_none() { refuse(unreadable) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::time;

    fn reader(zone: &str, format: Option<&str>) -> TimeReader {
        TimeReader::new(Zone::named(zone), format).unwrap()
    }

    /// What a text means in Zurich, with its offset.
    fn in_zurich(text: &str) -> Option<String> {
        let zurich = reader("Europe/Zurich", None);
        zurich.zone().unwrap().format(zurich.parse(text)?)
    }

    #[test]
    fn local_times_are_those_of_the_zone_and_instants_are_not() {
        for text in [
            "2026-01-05 09:30",
            "2026-01-05T09:30:00",
            "2026/01/05 09:30",
            "2026/01/05 09:30:00.000",
            "05.01.2026 09:30",
            "2026-01-05T08:30:00Z",
            "2026-01-05T10:30:00+02:00",
            "20260105T083000Z",
            "20260105T103000+0200",
            "1767601800",
            "1767601800000",
            "1767601800.0",
        ] {
            assert_eq!(in_zurich(text).as_deref(), Some("2026-01-05T09:30:00+01:00"), "{text}");
        }
        for text in ["2026-01-05", "2026/01/05", "05.01.2026"] {
            assert_eq!(in_zurich(text).as_deref(), Some("2026-01-05T00:00:00+01:00"), "{text}");
        }
    }

    #[test]
    fn repeated_times_are_the_first_and_skipped_ones_move_forward() {
        assert_eq!(in_zurich("2026-10-25 02:30").as_deref(), Some("2026-10-25T02:30:00+02:00"));
        assert_eq!(in_zurich("2026-10-25 02:30+01:00").as_deref(), Some("2026-10-25T02:30:00+01:00"));
        assert_eq!(in_zurich("2026-03-29 02:30").as_deref(), Some("2026-03-29T03:30:00+02:00"));
        let local = Zone::utc().instant(date(2026, 3, 29).at(2, 30, 0, 0)).unwrap();
        let zurich = reader("Europe/Zurich", None);
        assert_eq!(zurich.local(local), zurich.parse("2026-03-29 02:30"));
        assert_eq!(TimeReader::default().local(local), Some(local));
    }

    #[test]
    fn without_a_zone_times_are_in_utc() {
        let plain = TimeReader::default();
        for text in ["2026-01-05", "2026-01-05 08:30", "05.01.2026", "1767601800", "soon"] {
            assert_eq!(plain.parse(text), time::parse(text), "{text}");
        }
    }

    #[test]
    fn formats_are_read_as_strptime_reads_them() {
        let cases = [
            ("%d/%m/%Y %H:%M", "05/01/2026 09:30", "2026-01-05T09:30:00+01:00"),
            ("%m/%d/%Y %I:%M %p", "01/05/2026 09:30 PM", "2026-01-05T21:30:00+01:00"),
            ("%m/%d/%y", "1/5/26", "2026-01-05T00:00:00+01:00"),
            ("%d %b %Y, %T%.f", "5 Jan 2026, 09:30:00.5", "2026-01-05T09:30:00.5+01:00"),
            ("%Y%m%d%H%M%S", "20260105093000", "2026-01-05T09:30:00+01:00"),
            // An offset or a zone in the text makes it an instant.
            ("%d/%m/%Y %H:%M %z", "05/01/2026 08:30 +0000", "2026-01-05T09:30:00+01:00"),
            ("%F %R %Q", "2026-01-05 03:30 America/New_York", "2026-01-05T09:30:00+01:00"),
            ("at %s", "at 1767601800", "2026-01-05T09:30:00+01:00"),
            ("%Y-%j", "2026-005", "2026-01-05T00:00:00+01:00"),
        ];
        for (format, text, expected) in cases {
            let reader = reader("Europe/Zurich", Some(format));
            let shown = reader.parse(&format!(" {text} ")).and_then(|time| reader.zone()?.format(time));
            assert_eq!(shown.as_deref(), Some(expected), "{format}");
            assert_eq!(reader.parse("2026-W01"), None, "{format}");
        }
        let days = reader("UTC", Some("%Y%m%d"));
        assert_eq!(days.parse_integer(20_260_105), time::parse("2026-01-05"));
        assert_eq!(days.parse_integer(20_261_305), None);
        assert_eq!(days.parse("2026-01-05"), None, "a format excludes other forms");
    }

    #[test]
    fn formats_without_a_day_or_half_of_the_day_are_refused() {
        let refused = [
            "",
            "%H:%M",
            "%d/%m",
            "%Y-%m",
            "%m/%d/%Y %I:%M",
            "%d/%m/%Y %M",
            "%Y-%m-%d %",
            "%!",
            "%Z %F",
            "day",
        ];
        for format in refused {
            assert!(TimeReader::new(None, Some(format)).is_err(), "{format:?} was taken");
        }
    }

    #[test]
    fn decimals_are_read_by_their_digits() {
        let plain = TimeReader::default();
        for text in ["1767601800.1", "1767601800.123456", "0.3", "-1.5", "1767601800250.5"] {
            assert_eq!(plain.parse_decimal(text.parse().unwrap()), time::parse(text), "{text}");
            assert!(time::parse(text).is_some());
        }
        for number in [f64::NAN, f64::INFINITY, 1e300, -1e20] {
            assert_eq!(plain.parse_decimal(number), None);
        }
        assert_eq!(plain.parse_decimal(1e9), Some(1_000_000_000_000_000));
    }
}
