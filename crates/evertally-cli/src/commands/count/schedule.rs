//! The options about time: what a step is, where steps begin and end, and how times are read.
//!
//! **Definition.** Without `--timezone`, seconds to weeks have fixed lengths and times without an offset
//! are in UTC. With it, days and longer units follow the calendar of the zone, and times without an
//! offset are local. Months, quarters and years always follow a calendar, that of UTC by default. UTC
//! by name is the default.

use super::options::{CountArgs, DayOfWeek};
use crate::error::{CliError, Result, shown};
use crate::output::Header;
use evertally::Horizon;
use evertally_stream::time::{self, TimeReader};
use evertally_stream::{
    BucketLength, Buckets, Calendar, CalendarLength, Definition, Error as StreamError, Reading, StepLength,
    Zone,
};

/// What a step is.
pub(super) enum Steps {
    /// A bucket of time.
    Buckets(Buckets),
    /// A row. The number of rows is declared or public.
    Rows(Option<u64>),
}

/// Where the declared range ends.
#[derive(Clone, Copy)]
enum End {
    /// After so many steps.
    After(u64),
    /// At a time, by an option: the range, and so the noise, ends there.
    To(i64),
    /// At a time, by an option: the releases end there, and the noise goes on.
    Until(i64),
    /// With the last year.
    Never,
}

/// The options of a declared range of time.
pub(crate) struct Range<'a> {
    pub(crate) every: &'a str,
    pub(crate) from: &'a str,
    pub(crate) horizon: Option<Horizon>,
    pub(crate) to: Option<&'a str>,
    /// The end of the releases, in a range without an end of its own.
    pub(crate) until: Option<&'a str>,
    /// Whether something other than an option ends the releases: the clock, or the runs of a state.
    pub(crate) may_be_endless: bool,
    pub(crate) week_starts: Option<DayOfWeek>,
}

/// How the times of events are read.
pub(crate) fn time_reader(timezone: Option<&str>, time_format: Option<&str>) -> Result<TimeReader> {
    let zone = timezone.map(zone_named).transpose()?;
    let zone = zone.filter(|zone| !zone.is_utc());
    TimeReader::new(zone, time_format).map_err(|error| CliError::bad(format!("--time-format: {error}")))
}

pub(super) fn steps_of(args: &CountArgs, times: &TimeReader) -> Result<Steps> {
    if args.horizon == Some(Horizon::Steps(0)) {
        return Err(CliError::bad("--horizon: expected at least 1, got 0"));
    }
    let (Some(_), Some(every), Some(from)) = (&args.time, &args.every, &args.from) else {
        return rows(args).map(Steps::Rows);
    };
    let range = Range {
        every,
        from,
        horizon: args.horizon,
        to: args.to.as_deref(),
        // With --state, --until is the end of a run, not of the range.
        until: args.until.as_deref().filter(|_| args.state.is_none()),
        may_be_endless: args.lag.is_some() || args.state.is_some(),
        week_starts: args.week_starts,
    };
    buckets_of(&range, times).map(Steps::Buckets)
}

/// The steps of a declared range.
pub(crate) fn buckets_of(range: &Range<'_>, times: &TimeReader) -> Result<Buckets> {
    let Range { every, from, .. } = *range;
    let length = StepLength::parse(every, times.zone().is_some())
        .map_err(|error| CliError::bad(format!("--every: {error}")))?;
    // Options have the usual forms, whatever the format of the file.
    let options = TimeReader::new(times.zone().cloned(), None)?;
    let start = option_time("--from", from, &options)?;
    let zone = times.zone().cloned().unwrap_or(Zone::utc());
    if let Some(day) = range.week_starts {
        check_week(every, from, start, day, &zone)?;
    }
    let end = declared_end(range, &options)?;
    let buckets = match length {
        StepLength::Fixed(length) => fixed(start, length, end)?,
        StepLength::Calendar(length) => {
            let refuse = |error: StreamError| match error {
                StreamError::NotAStart { unit, earlier } => {
                    let of_zone = times.zone().map(|zone| format!(" in {}", zone.name())).unwrap_or_default();
                    CliError::bad(format!(
                        "--from {from} is not the start of a {unit}{of_zone}: use --from {earlier}"
                    ))
                }
                error => CliError::bad(format!("--from: {error}")),
            };
            let calendar = |steps| Calendar::new(&zone, length, start, steps).map_err(refuse);
            calendar_buckets(&calendar, &zone, length, end)?
        }
    };
    if time::format(buckets.start_of(buckets.steps())).is_none() {
        return Err(CliError::bad(ENDS_TOO_LATE));
    }
    Ok(buckets)
}

/// A time as it is shown: in the zone that was named, otherwise in UTC.
pub(crate) fn show_time(times: &TimeReader, micros: i64) -> String {
    let shown = times.zone().map_or_else(|| time::format(micros), |zone| zone.format(micros));
    shown.unwrap_or_default()
}

/// Adds the facts of steps of time to a header.
pub(crate) fn describe_buckets(header: &mut Header, buckets: &Buckets, times: &TimeReader) {
    header.record("from", show_time(times, buckets.start_of(0)));
    header.record("every", buckets.every().to_string());
    if let Some(calendar) = buckets.calendar() {
        let (unit, zone) = (calendar.every().unit(), calendar.zone().name());
        header.record("calendar", format!("{unit}s of {zone}"));
    }
    if let Some(zone) = times.zone() {
        header.record("timezone", zone.name());
    }
    if let Some(format) = times.format() {
        header.record("time_format", format);
    }
}

/// The steps and how times are read, for the definition of what is counted.
pub(crate) fn defined<'a>(buckets: Option<&'a Buckets>, times: &'a TimeReader) -> Definition<'a> {
    Definition {
        buckets: buckets.and_then(|buckets| match buckets.every() {
            StepLength::Fixed(every) => Some((buckets.start_of(0), every)),
            StepLength::Calendar(_) => None,
        }),
        calendar: buckets.and_then(Buckets::calendar),
        reading: Reading { zone: times.zone().map(Zone::name), format: times.format() },
        ..Definition::default()
    }
}

const ENDS_TOO_LATE: &str = "--horizon: expected a range that ends before the year 10000";

/// The declared number of rows, if rows are steps.
fn rows(args: &CountArgs) -> Result<Option<u64>> {
    if args.mean.is_some() {
        return Err(CliError::bad(
            "--mean needs --time COLUMN: it is the mean over events, and without times each row is a step",
        ));
    }
    if args.value.is_none() {
        return Err(CliError::bad(
            "expected --time COLUMN (rows are events) or --value COLUMN (rows are steps)",
        ));
    }
    if args.state.is_some() && args.horizon.is_none() {
        return Err(CliError::bad(
            "--state needs --horizon N or --horizon unbounded: the noise depends on how many steps all runs have together",
        ));
    }
    if args.follow && args.horizon.is_none() {
        return Err(CliError::bad(
            "--follow needs --horizon N or --horizon unbounded: the noise depends on how many steps there will be",
        ));
    }
    Ok(match args.horizon {
        Some(Horizon::Steps(steps)) => Some(steps),
        Some(Horizon::Unbounded) | None => None,
    })
}

fn declared_end(range: &Range<'_>, options: &TimeReader) -> Result<End> {
    Ok(match (range.horizon, range.to, range.until) {
        (Some(Horizon::Steps(_)), _, Some(_)) | (None, Some(_), Some(_)) => {
            return Err(CliError::bad(
                "--until is for --horizon unbounded: a declared number of steps is their end already",
            ));
        }
        (Some(Horizon::Steps(steps)), _, _) => End::After(steps),
        (Some(Horizon::Unbounded), _, Some(until)) => End::Until(option_time("--until", until, options)?),
        (Some(Horizon::Unbounded), _, None) if !range.may_be_endless => {
            return Err(CliError::bad(
                "--horizon unbounded with --time needs --until TIME, or --follow with --lag LENGTH: otherwise the last event, which is private, would decide the last step",
            ));
        }
        (Some(Horizon::Unbounded), _, None) => End::Never,
        (None, Some(to), _) => End::To(option_time("--to", to, options)?),
        (None, None, _) => {
            return Err(CliError::bad("--time needs --horizon N or --to TIME: the range must be declared"));
        }
    })
}

/// The end of the steps that a run of a state releases. It is public: no event decides it.
pub(super) fn end_of_run(args: &CountArgs, steps: &Steps, times: &TimeReader) -> Result<Option<u64>> {
    let (Some(_), Steps::Buckets(buckets)) = (&args.state, steps) else { return Ok(None) };
    let Some(until) = &args.until else {
        return Err(CliError::bad(
            "--state with --time needs --until TIME, the end of the last step that this run releases: otherwise the last event, which is private, would decide it",
        ));
    };
    let end_time = option_time("--until", until, &TimeReader::new(times.zone().cloned(), None)?)?;
    let show = |step| show_time(times, buckets.start_of(step));
    let (every, all) = (buckets.every(), buckets.steps());
    if end_time <= buckets.start_of(0) {
        return Err(CliError::bad(format!("--until: expected a time after --from, got {}", shown(until))));
    }
    if end_time > buckets.start_of(all) {
        let end = show(all);
        return Err(CliError::bad(format!(
            "--until: expected a time up to the end of the declared range, {end}, got {}",
            shown(until)
        )));
    }
    let end = buckets.ended_by(end_time);
    if buckets.start_of(end) != end_time {
        return Err(CliError::bad(format!(
            "--until: expected an integer number of steps of {every} after --from, such as --until {}",
            show(end.max(1))
        )));
    }
    Ok(Some(end))
}

fn fixed(from: i64, every: BucketLength, end: End) -> Result<Buckets> {
    let steps_until = |option: &str, end: i64| {
        let length = i128::from(end) - i128::from(from);
        if length <= 0 {
            return Err(CliError::bad(format!("{option}: expected a time after --from")));
        }
        if length % i128::from(every.micros()) != 0 {
            return Err(CliError::bad(format!(
                "{option}: expected an integer number of steps of {every} after --from"
            )));
        }
        u64::try_from(length / i128::from(every.micros()))
            .map_err(|_| CliError::bad(format!("{option}: the range is too long")))
    };
    let steps = match end {
        End::After(steps) => steps,
        End::To(end) => steps_until("--to", end)?,
        End::Until(end) => steps_until("--until", end)?,
        // The last time that can be represented.
        End::Never => {
            let length = i128::from(time::last()) - i128::from(from);
            u64::try_from(length / i128::from(every.micros())).unwrap_or_default().max(1)
        }
    };
    Ok(Buckets::new(from, every, steps)?)
}

/// Buckets of a calendar, which is made for a number of steps, or until the year 9999. The noise's name
/// has the steps of the calendar, so it must not depend on `--until`.
fn calendar_buckets(
    calendar: &dyn Fn(Option<u64>) -> Result<Calendar>,
    zone: &Zone,
    every: CalendarLength,
    end: End,
) -> Result<Buckets> {
    let steps_until = |option: &str, calendar: &Calendar, end: i64| match calendar.started_by(end) {
        0 | 1 => {
            Err(CliError::bad(format!("{option}: expected a time at least one step of {every} after --from")))
        }
        started if calendar.start_of(started - 1) != Some(end) => {
            let before = calendar.start_of(started - 1).and_then(|start| zone.format(start));
            let before = before.unwrap_or_default();
            let date = before.split('T').next().unwrap_or_default();
            Err(CliError::bad(format!(
                "{option}: expected an integer number of steps of {every} after --from, such as {option} {date}"
            )))
        }
        started => Ok(started - 1),
    };
    let (calendar, steps) = match end {
        End::After(steps) => (calendar(Some(steps))?, steps),
        End::To(end) => {
            let all = calendar(None)?;
            let steps = steps_until("--to", &all, end)?;
            (all.first_steps(steps), steps)
        }
        End::Until(end) => {
            let all = calendar(None)?;
            let steps = steps_until("--until", &all, end)?;
            (all, steps)
        }
        End::Never => {
            let all = calendar(None)?;
            let steps = all.steps();
            (all, steps)
        }
    };
    Buckets::of_calendar(calendar, steps).map_err(|_| CliError::bad(ENDS_TOO_LATE))
}

fn option_time(option: &str, text: &str, options: &TimeReader) -> Result<i64> {
    options.parse(text).ok_or_else(|| {
        CliError::bad(format!("{option}: expected {}, got {}", options.expected(), shown(text)))
    })
}

/// Checks that weeks are meant, and that they start on the declared day.
fn check_week(every: &str, from: &str, start: i64, day: DayOfWeek, zone: &Zone) -> Result<()> {
    if !every.ends_with('w') {
        return Err(CliError::bad(format!(
            "--week-starts is for steps of weeks, such as --every 1w, got --every {}",
            shown(every)
        )));
    }
    zone.check_weekday(start, day.days_after_monday()).map_err(|earlier| {
        let of_zone = if zone.is_utc() { String::new() } else { format!(" in {}", zone.name()) };
        CliError::bad(format!("--from {from} is not the start of a {day}{of_zone}: use --from {earlier}"))
    })
}

/// A zone by its name. An unknown name is answered with the nearest ones.
fn zone_named(name: &str) -> Result<Zone> {
    const NEAREST: usize = 3;
    if let Some(zone) = Zone::named(name) {
        return Ok(zone);
    }
    // People type the city, or the city with a space.
    let typed = name.to_lowercase().replace(' ', "_");
    let distance = |known: &String| {
        let known = known.to_lowercase();
        let city = known.rsplit('/').next().unwrap_or_default();
        [known.as_str(), city].into_iter().map(|known| strsim::damerau_levenshtein(&typed, known)).min()
    };
    let mut names = Zone::names();
    names.sort_by_cached_key(distance);
    names.truncate(NEAREST);
    Err(CliError::bad(format!(
        "--timezone: there is no time zone {}; the nearest names are {}",
        shown(name),
        names.join(", ")
    )))
}
