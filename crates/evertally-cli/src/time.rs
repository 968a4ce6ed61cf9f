//! Times as they stand in files, and as they are printed.

use jiff::Timestamp;
use jiff::civil::DateTime;

/// What a time may look like, for messages.
pub(crate) const EXPECTED: &str =
    "a time like 2026-01-05T08:30:00Z, 2026-01-05 08:30 (taken as UTC), 2026-01-05, or whole Unix seconds";

const MICROS_A_SECOND: i64 = 1_000_000;

/// Microseconds since 1970 of a time in any accepted form. A time without an offset is taken as UTC.
pub(crate) fn parse(text: &str) -> Option<i64> {
    let text = text.trim();
    let digits = text.strip_prefix('-').unwrap_or(text);
    if !digits.is_empty() && digits.bytes().all(|byte| byte.is_ascii_digit()) {
        return from_unix_seconds(text.parse().ok()?);
    }
    // Everything else starts with a full date; without this, shorter ISO forms would be guessed at.
    let dated = text.len() >= 10 && text.as_bytes()[4] == b'-' && text.as_bytes()[7] == b'-';
    if !dated {
        return None;
    }
    if let Ok(time) = text.parse::<Timestamp>() {
        return micros_of(time);
    }
    // A zone's name in brackets would be skipped over, and the time taken as UTC although it says
    // that it is not.
    if text.contains('[') {
        return None;
    }
    let civil = text.parse::<DateTime>().ok()?;
    micros_of(civil.to_zoned(jiff::tz::TimeZone::UTC).ok()?.timestamp())
}

/// Microseconds of a whole number of Unix seconds, where they are representable.
pub(crate) fn from_unix_seconds(seconds: i64) -> Option<i64> {
    seconds.checked_mul(MICROS_A_SECOND)
}

/// A time as RFC 3339 in UTC; `None` beyond the year 9999.
pub(crate) fn format(micros: i64) -> Option<String> {
    Timestamp::from_microsecond(micros).ok().map(|time| time.to_string())
}

/// The present time as RFC 3339 in UTC, to the second.
pub(crate) fn now() -> String {
    let seconds = Timestamp::now().as_second();
    from_unix_seconds(seconds).and_then(format).unwrap_or_default()
}

/// The present time in microseconds since 1970: where the program looks at the clock to decide anything.
pub(crate) fn now_micros() -> i64 {
    Timestamp::now().as_microsecond()
}

/// The last time that can be printed: the end of the year 9999.
pub(crate) fn last() -> i64 {
    Timestamp::MAX.as_microsecond()
}

/// Rounds down, so that a time before 1970 lands in the microsecond that holds it.
fn micros_of(time: Timestamp) -> Option<i64> {
    i64::try_from(time.as_nanosecond().div_euclid(1_000)).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_form_of_one_moment_is_the_same_moment() {
        let forms = [
            "2026-01-05T08:30:00Z",
            "2026-01-05t08:30:00z",
            "2026-01-05T10:30:00+02:00",
            "2026-01-05T09:30:00+01:00[Europe/Paris]",
            "2026-01-05T08:30",
            "2026-01-05 08:30",
            "2026-01-05 08:30:00",
            " 2026-01-05 08:30:00.000 ",
            "1767601800",
        ];
        for form in forms {
            assert_eq!(parse(form), Some(1_767_601_800_000_000), "{form}");
        }
        assert_eq!(parse("2026-01-05 08:30:00.25"), Some(1_767_601_800_250_000));
        assert_eq!(parse("2026-01-05"), Some(1_767_571_200_000_000));
        assert_eq!(parse("1969-12-31T23:59:59.9999999Z"), Some(-1));
        assert_eq!(parse("-1"), Some(-1_000_000));
    }

    #[test]
    fn what_is_not_a_time_is_refused() {
        let refused = [
            "",
            "-",
            "yesterday",
            "08:30",
            "2026-13-01",
            "2026-02-30",
            "2026-01",
            "05/01/2026",
            "1e9",
            "1.5",
            "2026-01-05T08:30[Europe/Paris]",
        ];
        for text in
            refused.into_iter().chain(["99999999999999999999", "9223372036854775807", "2026-01-05T25:00Z"])
        {
            assert_eq!(parse(text), None, "{text:?} was taken");
        }
    }

    #[test]
    fn printed_times_parse_back() {
        for micros in [0, -1, 1_767_601_800_000_000, 1_767_601_800_000_001] {
            assert_eq!(format(micros).as_deref().and_then(parse), Some(micros));
        }
        assert_eq!(format(i64::MAX), None);
    }
}
