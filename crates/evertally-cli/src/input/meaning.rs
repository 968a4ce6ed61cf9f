//! What the integers of a typed column mean: Parquet and Arrow have the same kinds.

use super::Cell;
use evertally_stream::time::TimeReader;

const MICROS_PER_DAY: i64 = 86_400_000_000;

/// What the integers of a column mean.
#[derive(Clone, Copy)]
pub(crate) enum Meaning {
    Number,
    Unsigned32,
    Unsigned64,
    Day,
    Time {
        multiply: i64,
        divide: i64,
        is_local: bool,
    },
    /// A time of day, which is not the time of an event.
    Clock {
        per_second: i64,
    },
    Decimal {
        scale: i32,
    },
}

impl Meaning {
    pub(crate) fn cell(self, value: i64) -> Option<Cell> {
        match self {
            Self::Number => Some(Cell::Integer(value)),
            Self::Unsigned32 => Some(Cell::Integer(i64::from(value as u32))),
            // A number outside i64 keeps its digits, so that the check of values sees and refuses it.
            Self::Unsigned64 => Some(Cell::Text((value as u64).to_string())),
            Self::Day => value.checked_mul(MICROS_PER_DAY).map(Cell::LocalTime),
            Self::Time { multiply, divide, is_local } => {
                let micros = value.checked_mul(multiply)?.div_euclid(divide);
                Some(if is_local { Cell::LocalTime(micros) } else { Cell::Time(micros) })
            }
            Self::Clock { per_second } => {
                let seconds = value.div_euclid(per_second);
                let [hours, minutes] = [seconds / 3_600, seconds / 60 % 60];
                Some(Cell::Literal(format!("{hours:02}:{minutes:02}:{:02}", seconds % 60)))
            }
            Self::Decimal { scale } => Some(Cell::Decimal(value as f64 / 10_f64.powi(scale))),
        }
    }

    /// Whether the values can be names: see `holds_names` of Parquet.
    pub(crate) fn holds_names(self) -> bool {
        matches!(self.cell(0), Some(Cell::Integer(_) | Cell::Text(_)))
    }

    /// The time of a value: what its cell gives, without the cell.
    #[inline]
    pub(crate) fn time(self, value: i64, times: &TimeReader) -> Option<i64> {
        match self {
            Self::Time { multiply, divide: 1, is_local } => {
                let micros = value.checked_mul(multiply)?;
                if is_local { times.local(micros) } else { Some(micros) }
            }
            _ => self.cell(value)?.as_time(times),
        }
    }
}
