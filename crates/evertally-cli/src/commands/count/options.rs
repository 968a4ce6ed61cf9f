//! The options of `evertally count`.

use super::distinct::DistinctArgs;
use super::groups::IN_A_RATE;
use super::histogram::HistogramArgs;
use super::inputs::InputArgs;
use crate::budget_file::BudgetFileArgs;
use crate::commands::report::{CovarianceArgs, ReportArgs};
use crate::commands::shared::{NumberArgs, PrivacyArgs, WorkloadArgs};
use crate::noise_key::NoiseKeyArgs;
use crate::output::{ForceArgs, OutputFormat};
use clap::{Args, ValueEnum};
use evertally::Horizon;
use std::path::PathBuf;

const EXAMPLES: &str = "\
Examples:
  Hourly visits by region over eight declared weeks, with a picture:
    evertally count visits.csv --time time --every 1h \\
      --from 2026-01-05 --horizon 1344 \\
      --group-by region --groups north,south,east,west,harbour \\
      --epsilon 1 --delta 1e-6 --plot visits.svg

  Daily spending. All purchases of a person on a day are added up, and
  their sum counts as at most 100. A person counts on at most 4 days, at
  least a week apart, and all of it is protected together:
    evertally count visits.csv --time time --every 1d \\
      --from 2026-01-05 --horizon 56 --value amount \\
      --person person --per-person-sum 0,100 --max-steps 4 --min-gap 7 \\
      --epsilon 1 --delta 1e-6

  Mean spending per visit and region, each day, with count and sum:
    evertally count visits.csv --time time --every 1d \
      --from 2026-01-05 --horizon 56 --mean amount --clamp 0,100 \
      --group-by region --groups north,south,east,west,harbour \
      --epsilon 1 --delta 1e-6

  Visits per 100,000 people. regions.csv has the columns region and
  population:
    evertally count visits.csv --time time --every 1d \
      --from 2026-01-05 --horizon 56 --group-by region \
      --groups regions.csv --per population --epsilon 1 --delta 1e-6

  How many different people have come, by region. Somebody who comes to
  several regions counts in the first two:
    evertally count visits.csv --time time --every 1d \
      --from 2026-01-05 --horizon 56 --distinct person \
      --group-by region --groups north,south,east,west,harbour \
      --groups-per-person 2 --epsilon 1 --delta 1e-6

  Visits by page, where the pages are not known beforehand:
    evertally count visits.csv --time time --every 1d \
      --from 2026-01-05 --horizon 56 --group-by page --discover \
      --person person --max-steps 8 --epsilon 1 --delta 1e-6

  One count per row, 365 rows, released as they arrive:
    tail -f counts.csv | evertally count - --value cases \\
      --horizon 365 --follow --epsilon 1 --delta 1e-6

  The same without a known end, with more noise:
    tail -f counts.csv | evertally count - --value cases \\
      --horizon unbounded --follow --epsilon 1 --delta 1e-6

  Visits by calendar month in local time, for two years. Times in the
  file are written like 31/12/2025 18:30:
    evertally count visits.csv --time time --every 1mo \\
      --from 2024-01-01 --to 2026-01-01 --timezone Europe/Zurich \\
      --time-format \"%d/%m/%Y %H:%M\" --epsilon 1 --delta 1e-6

  Days, weeks, months and the running total of a year, from one stream
  of noise, with single days four times as important:
    evertally count visits.csv --time time --every 1d \\
      --from 2026-01-01 --horizon 365 --epsilon 1 --delta 1e-6 \\
      --report steps,7d,1mo,total --weights 4,1,1,1

  Daily visits of ten years, released day by day: the first command on
  6 January, the second a day later, with the events of one day each.
  Both together release what one run would have released:
    evertally count 2026-01-05.csv --time time --every 1d \\
      --from 2026-01-05 --horizon 3650 --until 2026-01-06 \\
      --epsilon 1 --delta 1e-6 --noise-key noise.key \\
      --state visits.state --output visits-private.csv
    evertally count 2026-01-06.csv --time time --every 1d \\
      --from 2026-01-05 --horizon 3650 --until 2026-01-07 \\
      --epsilon 1 --delta 1e-6 --noise-key noise.key \\
      --state visits.state --output visits-private.csv

  Live events by the minute, without a known end. Each minute is
  released ten seconds after its end, even if nothing happened in it:
    tail -f visits.csv | evertally count - --time time --every 1m \\
      --from 2026-01-05 --horizon unbounded --follow --lag 10s \\
      --epsilon 1 --delta 1e-6

A step of seconds, minutes or hours has a fixed length, and so has one of
days or weeks. With --timezone, days, weeks, months, quarters and years
are those of the calendar there: a day may have 23 or 25 hours. Months,
quarters and years without --timezone are those of UTC.

Times are recognised as 2026-01-05T08:30:00Z, 2026-01-05 08:30,
2026/01/05 08:30, 05.01.2026 08:30 (with dots the day comes first),
20260105T083000Z, dates alone, and Unix time in seconds, milliseconds,
microseconds or nanoseconds. A time without an offset is in UTC, or in
the zone of --timezone. There, a time that the clocks show twice is the
first of the two, and one that they skip moves forward. All other forms
need --time-format.

What is public: the options, the declared range of time and the declared
groups. The times of the first and last event, the groups that occur and
the number of events are private. This is why --from, --horizon and
--groups must be declared. With --discover, groups are found privately
instead. The number of released steps never depends on
an event: releases end with the declared range, at --until, or by the
clock with --lag. With --follow and without --lag, the order of arrival
decides which events are late. The guarantee then holds for events that
arrive in the order of their times.

With --person, an event that names no person is left out. It could belong
to anyone, so no bound on a person's contribution can cover it.

With --person or --id, events are decided by time, then by id, group and
value: a file need not be sorted. Memory then grows with the events that
may count, by 11 bytes for each person (or id) and 5 to 8 for each of
their events, and a few more for a value. What exceeds --memory-limit
goes to a temporary file that has no name, in $TMPDIR or /tmp. With
--follow or --state, the events of open steps are held in memory, and
more than --memory-limit are an error.";

/// Release private running totals of a file of events
#[derive(Debug, Args)]
#[command(after_long_help = EXAMPLES, allow_negative_numbers = true)]
pub(crate) struct CountArgs {
    #[command(flatten)]
    pub(super) inputs: InputArgs,

    /// The column with the time of each event. Without it, each row is one step
    #[arg(long, value_name = "COLUMN", requires_all = ["every", "from"], help_heading = "Steps")]
    pub(super) time: Option<String>,
    /// The length of a step: an integer with s, m (minutes), h, d, w, mo (months), q (quarters) or
    /// y, such as 1h or 3mo
    #[arg(long, value_name = "LENGTH", requires = "time", help_heading = "Steps")]
    pub(super) every: Option<String>,
    /// The start of the first step, such as 2026-01-05 or 2026-01-05T06:00:00Z
    ///
    /// It must be declared, because the time of the first event is private. Steps of the calendar
    /// start with a unit: months with the first day of a month, quarters in January, April, July or
    /// October, and years in January. A year that starts in another month is 12mo.
    #[arg(long, value_name = "TIME", requires = "time", help_heading = "Steps")]
    pub(super) from: Option<String>,
    /// The number of steps, or unbounded for a stream with no known end. With --time, an unbounded
    /// stream needs --until or --lag
    ///
    /// It must be declared, because the time of the last event is private. The error grows slowly
    /// with it.
    #[arg(long, alias = "steps", value_name = "N|unbounded", help_heading = "Steps")]
    pub(super) horizon: Option<Horizon>,
    /// The end of the last step, instead of --horizon
    #[arg(long, value_name = "TIME", requires = "time", conflicts_with = "horizon", help_heading = "Steps")]
    pub(super) to: Option<String>,
    /// With --horizon unbounded or --state: the end of the last step to release. The noise does not
    /// depend on it
    #[arg(long, value_name = "TIME", requires = "time", help_heading = "Steps")]
    pub(super) until: Option<String>,
    /// The time zone of days, weeks, months, quarters and years, and of times without an offset: a
    /// name such as Europe/Zurich [default: UTC]
    ///
    /// Days then start at midnight there, and have 23 or 25 hours when clocks change. The time zone
    /// database is part of the program.
    #[arg(long, value_name = "NAME", requires = "time", help_heading = "Steps")]
    pub(super) timezone: Option<String>,
    /// With steps of weeks: the day on which they start, which --from must be [default: the day of
    /// --from]
    #[arg(long, value_name = "DAY", requires = "every", ignore_case = true, help_heading = "Steps")]
    pub(super) week_starts: Option<DayOfWeek>,
    /// The format of times in the file, if it is not one of those below, such as "%d/%m/%Y %H:%M"
    ///
    /// The letters are those of strptime: %Y year, %m month, %d day, %H hour, %M minute, %S second,
    /// %.f fraction of a second, %b name of a month, %I with %p for twelve hours, %z offset. A time
    /// that does not have this format is an error. --from, --to and --until keep the usual forms.
    #[arg(long, value_name = "FORMAT", requires = "time", help_heading = "Steps")]
    pub(super) time_format: Option<String>,
    /// What to do with an event outside the declared range of time
    #[arg(long, value_name = "ACTION", default_value = "refuse", help_heading = "Steps")]
    pub(super) outside: Outside,
    /// Go on in the next run: release the steps after those that FILE holds, and save there where this
    /// run ends. The first run makes FILE
    ///
    /// With --time, each run releases the steps up to its --until. Give it all files with events of
    /// these steps: an event of another step is left out, so giving a file again is harmless. Without
    /// --time, the rows of each file are the next steps, and rows that the last run read are refused
    /// (see --after). Persons and ids are remembered in all runs.
    /// New rows are appended to an --output that an earlier run wrote. FILE holds true totals: guard it
    /// like the data.
    #[arg(
        long,
        value_name = "FILE",
        requires = "noise_key",
        conflicts_with_all = ["plot", "covariance"],
        help_heading = "Steps"
    )]
    pub(super) state: Option<PathBuf>,
    /// With --state and without --time: the number of steps before the first row
    ///
    /// Rows of steps that were released already are then left out, so a command can be repeated, and a
    /// file that grows can be given again. Without it, every row is a further step, and a run that starts
    /// with the rows of the last one is refused, because it may be the same run again.
    #[arg(long, value_name = "N", requires = "state", conflicts_with = "time", help_heading = "Steps")]
    pub(super) after: Option<u64>,
    /// Release each step as soon as it is complete, and wait for more at the end of the file
    ///
    /// A file that is rotated, replaced or cut is noticed and reported, and reading goes on. A line
    /// that cannot be read is reported and does not count. Ctrl-C completes the output.
    #[arg(long, help_heading = "Steps")]
    pub(super) follow: bool,
    /// Release each step by the clock, this long after its end, even if no event arrives. Until
    /// then its events may arrive in any order. Later events are dropped, and so are events from
    /// further in the future. The run ends with the input
    #[arg(long, value_name = "LENGTH", requires_all = ["time", "follow"], help_heading = "Steps")]
    pub(super) lag: Option<String>,

    /// The column to sum. With --time it needs --clamp or --per-person-sum. Without --time it holds
    /// one count per step
    #[arg(long, value_name = "COLUMN", group = "valued", help_heading = "What counts")]
    pub(super) value: Option<String>,
    /// The column whose mean to release, with the count and the sum behind it. Needs --time and --clamp
    ///
    /// One budget pays for all three. Two totals are released at once: how far the values of all events
    /// are above LO, and how far below HI. They need no more noise than one sum. The interval of a mean
    /// is that of Fieller, which holds for any number of events. Where the count cannot be told from
    /// zero, the mean is empty and its interval is LO to HI.
    #[arg(long, value_name = "COLUMN", group = "valued", help_heading = "What counts")]
    pub(super) mean: Option<String>,
    /// Clamp every value to this range before it is counted. If rows are steps, the noise covers
    /// any change of one row within the range
    ///
    /// Values outside the range count as its nearest end. The noise grows with the largest distance
    /// from zero in the range; if rows are steps, it can also grow with the width. Choose the range
    /// from what you know in general, not from the data.
    #[arg(
        long,
        value_name = "LO,HI",
        requires = "valued",
        allow_hyphen_values = true,
        help_heading = "What counts"
    )]
    pub(super) clamp: Option<String>,
    /// Keep a total for each group in this column
    #[arg(long, alias = "key", value_name = "COLUMN", requires_all = ["named", "time"], help_heading = "What counts")]
    pub(super) group_by: Option<String>,
    /// The declared groups, separated by commas, or a file with one per line. All other groups
    /// count as `other`
    ///
    /// They must be declared, because which groups occur in the data is private. More groups do not
    /// add noise to each other. A file may also be a CSV table with several columns, if one of them is
    /// named as in --group-by: then its cells are the groups.
    #[arg(
        long,
        alias = "keys",
        value_name = "A,B,C|FILE",
        requires = "group_by",
        group = "named",
        help_heading = "What counts"
    )]
    pub(super) groups: Option<String>,
    /// Find the groups privately, instead of declaring them: a group appears once enough persons hold it
    ///
    /// A second private count, of the distinct persons of each group, decides when. A group appears at
    /// the first step at which that count is at or above a threshold, which the header states, and stays.
    /// Its totals include what came before. Groups below the threshold leave no trace in the output. The
    /// two counts share the budget.
    #[arg(long, requires_all = ["group_by", "person"], group = "named", help_heading = "What counts")]
    pub(super) discover: bool,
    /// With --discover: the part of δ for groups that appear although one person decides whether they
    /// can [default: half of --delta]
    ///
    /// A smaller part raises the threshold.
    #[arg(long, value_name = "D", requires = "discover", help_heading = "What counts")]
    pub(super) discover_delta: Option<f64>,
    /// With --discover: the part of the budget for the counts of persons, between 0 and 1 [default: 0.5]
    ///
    /// A larger part lowers the threshold, and adds noise to the totals.
    #[arg(long, value_name = "PART", requires = "discover", help_heading = "What counts")]
    pub(super) discover_share: Option<f64>,
    /// With --discover: the number of persons below which a group never appears [default: 2]
    ///
    /// The threshold is this much higher. A higher floor saves time and memory.
    #[arg(long, value_name = "PERSONS", requires = "discover", help_heading = "What counts")]
    pub(super) discover_floor: Option<u64>,
    #[command(flatten)]
    pub(super) histogram: HistogramArgs,
    /// A column of the --groups table with the public size of each group: releases a rate beside each
    /// total
    ///
    /// A rate is the total of a group, divided by its number in this column, times --per-unit: with
    /// --per population, cases per 100,000 people. The numbers must be public. They do not change the
    /// noise or cost budget. They are the same for all steps. `other` has no rate unless it is in the
    /// table.
    #[arg(long, value_name = "COLUMN", requires = "groups", help_heading = "What counts")]
    pub(super) per: Option<String>,
    /// What a rate is for [default: 100000]
    #[arg(long, value_name = "NUMBER", requires = "per", value_parser = parse_per_unit, help_heading = "What counts")]
    pub(super) per_unit: Option<f64>,
    /// The column with the person of each event. Protects whole persons instead of single events
    #[arg(
        long,
        value_name = "COLUMN",
        group = "persons",
        requires_all = ["time", "max_steps"],
        help_heading = "What counts"
    )]
    pub(super) person: Option<String>,
    #[command(flatten)]
    pub(super) distinct: DistinctArgs,
    /// What to do with an event that names no person [default: drop]
    #[arg(long, value_name = "ACTION", requires = "persons", help_heading = "What counts")]
    pub(super) unnamed: Option<Unnamed>,
    /// The most steps that one person may contribute to
    ///
    /// The earliest steps of a person count, and later ones are left out. More steps need more noise.
    #[arg(long, value_name = "K", help_heading = "What counts")]
    pub(super) max_steps: Option<u64>,
    /// The fewest steps from one contribution of a person to the next [default: 1]
    ///
    /// A larger gap needs less noise, because contributions that are far apart share little of it.
    #[arg(long, value_name = "B", help_heading = "What counts")]
    pub(super) min_gap: Option<u64>,
    /// Add up all events of a person in a step, and clamp the sum to this range
    ///
    /// By default only the first event of a person in a step counts. With --group-by, the sum of each
    /// group is clamped. The noise grows with the largest distance from zero in the range. Single events
    /// need no --clamp then.
    #[arg(
        long,
        value_name = "LO,HI",
        requires = "person",
        allow_hyphen_values = true,
        help_heading = "What counts"
    )]
    pub(super) per_person_sum: Option<String>,
    /// The most events of a person that count in a step: the first ones by time [default: 1, or all
    /// with --per-person-sum]
    ///
    /// Their values are added up. Without --per-person-sum, the noise grows with this number.
    #[arg(long, value_name = "M", requires = "person", help_heading = "What counts")]
    pub(super) per_person_events: Option<u64>,
    /// The most groups of a step that one person may contribute to: the first ones by time [default:
    /// 1]
    ///
    /// With --per-person-sum, the noise grows with the square root of this number, and with δ = 0 with
    /// the number itself. --per-person-events counts the events of all groups together. A person of
    /// --distinct counts in so many groups in all steps together, and the noise grows in the same way.
    #[arg(
        long,
        alias = "keys-per-person",
        value_name = "Q",
        requires_all = ["persons", "group_by"],
        help_heading = "What counts"
    )]
    pub(super) groups_per_person: Option<u64>,
    /// The column that identifies an event. Of its copies, the earliest counts
    #[arg(long, value_name = "COLUMN", requires = "time", help_heading = "What counts")]
    pub(super) id: Option<String>,

    #[command(flatten)]
    pub(super) privacy: PrivacyArgs,
    #[command(flatten)]
    pub(super) noise_key: NoiseKeyArgs,

    #[command(flatten)]
    pub(super) budget_file: BudgetFileArgs,

    #[command(flatten)]
    pub(super) workload: WorkloadArgs,
    #[command(flatten)]
    pub(super) report: ReportArgs,
    #[command(flatten)]
    pub(super) numbers: NumberArgs,
    /// Round estimates to integers after everything else, and their intervals outwards. With --whole
    /// they are integers already
    #[arg(long, help_heading = "What is released")]
    pub(super) round: bool,
    /// Raise negative estimates to zero, and cut their intervals there. This biases small totals
    /// upwards
    #[arg(long, help_heading = "What is released")]
    pub(super) non_negative: bool,
    /// Never let a running total fall. This biases totals upwards
    #[arg(long, help_heading = "What is released")]
    pub(super) monotone: bool,
    /// Make the intervals wide enough that all of them hold at once, for all steps and groups, with
    /// probability 95 %
    ///
    /// By default each interval holds its true total with probability 95 %, so about one in twenty
    /// misses it.
    #[arg(long, help_heading = "What is released")]
    pub(super) simultaneous: bool,

    /// The file to write. It appears only once it is complete [default: standard output]
    #[arg(long, short, value_name = "FILE", help_heading = "Output")]
    pub(super) output: Option<PathBuf>,
    /// The format of the output [default: by the name of --output, else csv]
    #[arg(long, value_name = "FORMAT", help_heading = "Output")]
    pub(super) format: Option<OutputFormat>,
    /// Draw the totals with their 95 % intervals into an .svg or .png file
    #[arg(long, value_name = "FILE", help_heading = "Output")]
    pub(super) plot: Option<PathBuf>,
    /// Also draw the true totals. The picture is then NOT PRIVATE and must not be published
    #[arg(long, requires = "plot", help_heading = "Output")]
    pub(super) plot_truth_not_private: bool,
    #[command(flatten)]
    pub(super) covariance: CovarianceArgs,
    #[command(flatten)]
    pub(super) force: ForceArgs,
}

impl CountArgs {
    /// The column whose groups or bins have totals, if there is one.
    pub(super) fn key_column(&self) -> Option<&String> {
        self.group_by.as_ref().or(self.histogram.column.as_ref())
    }

    /// The column that names persons, if there is one.
    pub(super) fn person_column(&self) -> Option<&String> {
        self.person.as_ref().or(self.distinct.column.as_ref())
    }
}

fn parse_per_unit(text: &str) -> std::result::Result<f64, String> {
    let number = text.parse().ok().filter(|number| IN_A_RATE.contains(number));
    number.ok_or_else(|| "expected a number above zero, from 1e-100 to 1e100, such as 100000".to_owned())
}

/// A day of the week.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum DayOfWeek {
    #[value(alias = "mon")]
    Monday,
    #[value(alias = "tue")]
    Tuesday,
    #[value(alias = "wed")]
    Wednesday,
    #[value(alias = "thu")]
    Thursday,
    #[value(alias = "fri")]
    Friday,
    #[value(alias = "sat")]
    Saturday,
    #[value(alias = "sun")]
    Sunday,
}

impl DayOfWeek {
    pub(super) fn days_after_monday(self) -> u8 {
        self as u8
    }
}

impl std::fmt::Display for DayOfWeek {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self:?}")
    }
}

/// What happens to an event outside the declared range.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Outside {
    /// Stop with an error that names the line
    #[value(alias = "error")]
    Refuse,
    /// Leave the event out
    Drop,
}

/// What happens to an event without a person when persons are bounded.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub(crate) enum Unnamed {
    /// Leave the event out, and report how many there were
    Drop,
    /// Stop with an error that names the line
    Refuse,
}
