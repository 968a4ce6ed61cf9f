//! Boundaries against civil arithmetic done step by step, and lookups against a linear scan.

use super::*;
use crate::length::CalendarUnit;
use jiff::ToSpan;
use jiff::civil::date;
use proptest::prelude::*;

const HOUR: i64 = 3_600_000_000;

/// Zones that change in unusual ways: by half an hour, twice in one Ramadan, at midnight until today
/// (Cairo, Havana), just before it (Nuuk), and once by a whole day.
const ZONES: [&str; 15] = [
    "UTC",
    "Europe/Zurich",
    "Europe/London",
    "America/New_York",
    "America/St_Johns",
    "America/Sao_Paulo",
    "America/Toronto",
    "Asia/Kathmandu",
    "Asia/Tehran",
    "Australia/Lord_Howe",
    "Africa/Casablanca",
    "Africa/Cairo",
    "America/Havana",
    "America/Nuuk",
    "Pacific/Apia",
];

const UNITS: [CalendarUnit; 5] =
    [CalendarUnit::Day, CalendarUnit::Week, CalendarUnit::Month, CalendarUnit::Quarter, CalendarUnit::Year];

fn zone(name: &str) -> Zone {
    Zone::named(name).unwrap()
}

fn every(count: u32, unit: CalendarUnit) -> CalendarLength {
    CalendarLength::new(count, unit).unwrap()
}

fn calendar(name: &str, length: CalendarLength, first: Date, steps: u64) -> Calendar {
    let zone = zone(name);
    let from = zone.start_of(first).unwrap();
    Calendar::new(&zone, length, from, Some(steps)).unwrap()
}

/// The definition, with the library's own arithmetic of dates and the zone asked for every date.
fn slow_boundaries(zone: &Zone, length: CalendarLength, first: Date, count: usize) -> Vec<i64> {
    let mut starts = Vec::new();
    let mut units = 0_i64;
    while starts.len() < count {
        let span = match length.unit() {
            CalendarUnit::Day => units.days(),
            CalendarUnit::Week => units.weeks(),
            CalendarUnit::Month => units.months(),
            CalendarUnit::Quarter => (3 * units).months(),
            CalendarUnit::Year => units.years(),
        };
        let start = zone.start_of(first.checked_add(span).unwrap()).unwrap();
        if starts.last() != Some(&start) {
            starts.push(start);
        }
        units += i64::from(length.count());
    }
    starts
}

/// How many boundaries are at or before a time.
fn slow_started_by(starts: &[i64], time: i64) -> u64 {
    starts.iter().filter(|start| **start <= time).count() as u64
}

#[test]
fn boundaries_agree_with_civil_arithmetic() {
    for name in ZONES {
        let zone = zone(name);
        for unit in UNITS {
            for (count, first) in [(1, date(1900, 1, 1)), (1, date(2007, 10, 1)), (3, date(2011, 7, 1))] {
                let first = unit.start_before(first);
                let (length, steps) = (every(count, unit), if first.year() < 1950 { 2000 } else { 1200 });
                let expected = slow_boundaries(&zone, length, first, steps + 1);
                let made = calendar(name, length, first, steps as u64);
                assert_eq!(*made.starts, *expected, "{name}, {length} from {first}");
                assert!(expected.is_sorted_by(|a, b| a < b), "{name}, {length} from {first}");
            }
        }
    }
}

#[test]
fn days_have_23_24_or_25_hours() {
    let year = calendar("Europe/Zurich", every(1, CalendarUnit::Day), date(2026, 1, 1), 365);
    let hours: Vec<i64> = year.starts.windows(2).map(|ends| (ends[1] - ends[0]) / HOUR).collect();
    assert_eq!(hours.iter().filter(|hours| **hours == 24).count(), 363);
    let day_of = |month, day| i32::from(date(2026, month, day).day_of_year()) as usize - 1;
    assert_eq!((hours[day_of(3, 29)], hours[day_of(10, 25)]), (23, 25));
    assert_eq!(year.shortest_micros(365), 23 * HOUR);
    assert_eq!(year.shortest_micros(10), 24 * HOUR);
}

#[test]
fn february_has_29_days_in_leap_years() {
    for (year, days) in [(1900, 28), (2000, 29), (2024, 29), (2026, 28), (2100, 28)] {
        let february = calendar("UTC", every(1, CalendarUnit::Month), date(year, 2, 1), 1);
        assert_eq!(february.starts[1] - february.starts[0], days * 24 * HOUR, "{year}");
    }
}

/// On 7 November 2010 at 00:01, clocks in Newfoundland went back to 23:01 of 6 November. So a date
/// was shown in two parts, and an event of its second part belongs to the step that had begun.
#[test]
fn clocks_that_go_back_over_midnight_reopen_no_step() {
    let days = calendar("America/St_Johns", every(1, CalendarUnit::Day), date(2010, 11, 6), 2);
    let midnight = days.starts[1];
    let shown = |time| days.zone.date_of(time).unwrap();
    assert_eq!(shown(midnight), date(2010, 11, 7));
    assert_eq!(shown(midnight + HOUR / 2), date(2010, 11, 6), "the old date is shown again");
    assert_eq!(days.started_by(midnight - 1), 1);
    assert_eq!(days.started_by(midnight + HOUR / 2), 2);
    assert_eq!(days.starts[2] - midnight, 25 * HOUR);
}

/// Samoa moved to the other side of the date line and skipped a Friday.
#[test]
fn a_date_that_never_was_has_no_step() {
    let days = calendar("Pacific/Apia", every(1, CalendarUnit::Day), date(2011, 12, 28), 4);
    let shown: Vec<String> =
        days.starts.iter().map(|start| days.zone.date_of(*start).unwrap().to_string()).collect();
    assert_eq!(shown, ["2011-12-28", "2011-12-29", "2011-12-31", "2012-01-01", "2012-01-02"]);
    assert!(days.starts.windows(2).all(|ends| ends[1] - ends[0] == 24 * HOUR));
    // A step of two days that would begin with the skipped one begins with the next, and is shorter.
    let pairs = calendar("Pacific/Apia", every(2, CalendarUnit::Day), date(2011, 12, 28), 2);
    assert_eq!(pairs.starts.windows(2).map(|ends| (ends[1] - ends[0]) / HOUR).collect::<Vec<_>>(), [48, 24]);
}

#[test]
fn only_the_start_of_a_unit_is_a_start() {
    let zurich = zone("Europe/Zurich");
    let earlier = |unit, from| match Calendar::new(&zurich, every(1, unit), from, Some(1)) {
        Err(Error::NotAStart { unit: named, earlier }) if named == unit => Some(earlier),
        other => other.map(|_| None).unwrap(),
    };
    let start = |date| zurich.start_of(date).unwrap();
    let cases = [
        (CalendarUnit::Month, date(2026, 1, 15), Some("2026-01-01")),
        (CalendarUnit::Month, date(2026, 2, 1), None),
        (CalendarUnit::Quarter, date(2026, 6, 1), Some("2026-04-01")),
        (CalendarUnit::Quarter, date(2026, 10, 1), None),
        (CalendarUnit::Year, date(2026, 4, 1), Some("2026-01-01")),
        (CalendarUnit::Year, date(2026, 1, 1), None),
        (CalendarUnit::Day, date(2026, 4, 7), None),
        (CalendarUnit::Week, date(2026, 4, 7), None),
    ];
    for (unit, date, expected) in cases {
        assert_eq!(earlier(unit, start(date)).as_deref(), expected, "{unit} {date}");
        let in_the_day = earlier(unit, start(date) + HOUR);
        assert_eq!(in_the_day, Some(unit.start_before(date).to_string()), "{unit} {date}");
    }
}

#[test]
fn steps_end_with_the_year_9999() {
    for name in ["UTC", "Europe/Zurich", "America/New_York"] {
        let zone = zone(name);
        let from = zone.start_of(date(2026, 1, 1)).unwrap();
        let years = Calendar::new(&zone, every(1, CalendarUnit::Year), from, None).unwrap();
        assert_eq!(years.steps(), 9999 - 2026);
        let days = Calendar::new(&zone, every(1, CalendarUnit::Day), from, None).unwrap();
        assert!(days.steps() > 2_912_000 && days.starts.is_sorted_by(|a, b| a < b));
        let last = zone.start_of(date(9999, 12, 1)).unwrap();
        let months = Calendar::new(&zone, every(1, CalendarUnit::Month), last, None);
        assert!(months.is_err(), "December 9999 has no end");
    }
}

/// A new edition of the database that moves a boundary makes another name, and so does one more step.
#[test]
fn the_digest_covers_every_boundary() {
    let months = |name, steps| calendar(name, every(1, CalendarUnit::Month), date(2026, 1, 1), steps);
    assert_eq!(months("Europe/Zurich", 12).digest(), months("Europe/Paris", 12).digest());
    assert_ne!(months("Europe/Zurich", 12).digest(), months("Europe/London", 12).digest());
    assert_ne!(months("Europe/Zurich", 12).digest(), months("Europe/Zurich", 13).digest());
    assert_eq!(months("Europe/Zurich", 13).first_steps(12), months("Europe/Zurich", 12));
    assert_eq!(months("Europe/Zurich", 13).first_steps(12).digest(), months("Europe/Zurich", 12).digest());
}

#[test]
fn the_digest_is_frozen() {
    let months = calendar("Europe/Zurich", every(1, CalendarUnit::Month), date(2026, 1, 1), 12);
    assert_eq!(blake3::Hash::from(months.digest()).to_hex()[..16], *FROZEN);
}

const FROZEN: &str = "24aa3eaee0116560";

#[test]
fn steps_go_on_beyond_the_range() {
    for (name, first) in [("Europe/Zurich", date(2026, 1, 1)), ("Pacific/Apia", date(2011, 12, 1))] {
        for unit in [CalendarUnit::Day, CalendarUnit::Month] {
            let (short, long) =
                (calendar(name, every(1, unit), first, 5), calendar(name, every(1, unit), first, 60));
            for time in (long.starts[0] - HOUR..long.starts[60]).step_by(7 * HOUR as usize) {
                let expected = slow_started_by(&long.starts, time).saturating_sub(1);
                assert_eq!(short.step_in_any_range(time), expected, "{name} {unit}");
            }
            assert_eq!(short.step_in_any_range(i64::MIN), 0);
            assert!(short.step_in_any_range(i64::MAX) > 90_000);
        }
    }
}

proptest! {
    /// The quick lookup is a linear scan, also at the boundaries themselves.
    #[test]
    fn lookups_agree_with_a_scan(
        zone in 0..ZONES.len(), unit in 0..UNITS.len(), count in 1_u32..4, steps in 1_u64..80,
        year in 1890_i16..2100, month in 1_i8..=12, day in 1_i8..=28,
        shares in prop::collection::vec(-0.1_f64..1.1, 20),
    ) {
        let first = UNITS[unit].start_before(date(year, month, day));
        let made = calendar(ZONES[zone], every(count, UNITS[unit]), first, steps);
        let (start, end) = (made.starts[0], made.starts[made.starts.len() - 1]);
        let drawn = shares.iter().map(|share| start + ((end - start) as f64 * share) as i64);
        let edges = made.starts.iter().flat_map(|start| [start - 1, *start, start + 1]);
        for time in drawn.chain(edges).chain([i64::MIN, i64::MAX]) {
            prop_assert_eq!(made.started_by(time), slow_started_by(&made.starts, time));
        }
    }
}
