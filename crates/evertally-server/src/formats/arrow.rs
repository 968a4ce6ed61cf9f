//! An Arrow IPC stream, one record batch per chunk.

use super::Encoder;
use crate::error::{Problem, Result};
use arrow_array::{
    ArrayRef, Float64Array, RecordBatch, StringArray, TimestampMicrosecondArray, UInt32Array, UInt64Array,
};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, DataType, Field, Schema, TimeUnit};
use evertally_ledger::{CounterView, StepRelease};
use std::sync::Arc;

/// Writes Arrow.
pub(super) struct Arrow {
    schema: Arc<Schema>,
    writer: StreamWriter<Vec<u8>>,
}

impl Arrow {
    pub(super) fn new() -> Result<Self> {
        let number = |name: &str| Field::new(name, DataType::Float64, false);
        let schema = Arc::new(Schema::new(vec![
            Field::new("step", DataType::UInt64, false),
            Field::new("time", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
            Field::new("epoch", DataType::UInt32, false),
            Field::new("key", DataType::Utf8, true),
            number("value"),
            number("standard_error"),
            number("lower"),
            number("upper"),
        ]));
        let writer = StreamWriter::try_new(Vec::new(), &schema).map_err(failed)?;
        Ok(Self { schema, writer })
    }
}

#[allow(clippy::needless_pass_by_value, reason = "map_err passes it by value")]
fn failed(_: ArrowError) -> Problem {
    Problem::system("a release cannot be written")
}

impl Encoder for Arrow {
    fn rows(&mut self, counter: &CounterView, steps: &[StepRelease], lane: Option<usize>) -> Result<Vec<u8>> {
        let names = counter.counter_plan().lane_names();
        let rows: Vec<(&StepRelease, usize)> = steps
            .iter()
            .flat_map(|step| {
                lane.map_or(0..step.values.len(), |lane| lane..lane + 1).map(move |lane| (step, lane))
            })
            .filter(|(step, lane)| *lane < step.values.len())
            .collect();
        let numbers = |number: fn(&StepRelease, f64) -> f64| -> ArrayRef {
            let values = rows.iter().map(|(step, lane)| number(step, step.values[*lane]));
            Arc::new(Float64Array::from_iter_values(values))
        };
        let times: TimestampMicrosecondArray = rows.iter().map(|(step, _)| step.time).collect();
        let keys: StringArray =
            rows.iter().map(|(_, lane)| names.map(|names| names[*lane].as_str())).collect();
        let columns: Vec<ArrayRef> = vec![
            Arc::new(UInt64Array::from_iter_values(rows.iter().map(|(step, _)| step.step))),
            Arc::new(times.with_timezone("UTC")),
            Arc::new(UInt32Array::from_iter_values(rows.iter().map(|(step, _)| step.epoch))),
            Arc::new(keys),
            numbers(|_, value| value),
            numbers(|step, _| step.standard_error),
            numbers(|step, value| value - step.margin),
            numbers(|step, value| value + step.margin),
        ];
        let batch = RecordBatch::try_new(Arc::clone(&self.schema), columns).map_err(failed)?;
        self.writer.write(&batch).map_err(failed)?;
        Ok(std::mem::take(self.writer.get_mut()))
    }

    fn end(&mut self) -> Result<Vec<u8>> {
        self.writer.finish().map_err(failed)?;
        Ok(std::mem::take(self.writer.get_mut()))
    }
}
