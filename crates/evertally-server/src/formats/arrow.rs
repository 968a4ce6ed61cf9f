//! An Arrow IPC stream, one record batch per chunk.
//!
//! **Definition.** The stream is a schema message, one record batch message per chunk, and an end
//! marker. Each message is a marker, the length of its flatbuffer, the flatbuffer, and a body with
//! the buffers of the columns one after the other, all padded to multiples of eight bytes (Arrow
//! Columnar Format 1.5, "Serialization and Interprocess Communication").
//!
//! The columns are fixed and flat, so this module writes their buffers itself and takes only the
//! flatbuffers from a library. The whole Arrow implementation is far larger, and every
//! first build would compile it. Tests read what is written with it.

use super::Encoder;
use crate::error::Result;
use evertally_ledger::{CounterView, StepRelease};
use polars_arrow_format::ipc::{
    Buffer, Field, FieldNode, FloatingPoint, Int, Message, MessageHeader, MetadataVersion, Precision,
    RecordBatch, Schema, TimeUnit, Timestamp, Type, Utf8, planus,
};

/// Precedes the length of every message.
const MARKER: [u8; 4] = [0xff; 4];

/// All parts of a stream start at multiples of this many bytes.
const ALIGNMENT: usize = 8;

/// Writes Arrow.
pub(super) struct Arrow {
    /// Whether the schema has been written.
    started: bool,
}

impl Arrow {
    pub(super) fn new() -> Self {
        Self { started: false }
    }

    /// The schema message, the first time.
    fn start(&mut self) -> Vec<u8> {
        if std::mem::replace(&mut self.started, true) {
            return Vec::new();
        }
        message(MessageHeader::Schema(Box::new(schema())), &[])
    }
}

impl Encoder for Arrow {
    fn rows(&mut self, counter: &CounterView, steps: &[StepRelease], lane: Option<usize>) -> Result<Vec<u8>> {
        let names = counter.key_names();
        let rows: Vec<(&StepRelease, usize)> = steps
            .iter()
            .flat_map(|step| {
                lane.map_or(0..step.values.len(), |lane| lane..lane + 1).map(move |lane| (step, lane))
            })
            .filter(|(step, lane)| *lane < step.values.len())
            .collect();
        let mut batch = Batch::new(rows.len());
        let number = |number: fn(&StepRelease, f64) -> f64| {
            let values = rows.iter().map(move |(step, lane)| number(step, step.values[*lane]));
            values.map(f64::to_le_bytes)
        };
        batch.column(rows.iter().map(|(step, _)| step.step.to_le_bytes()));
        batch.nullable(rows.iter().map(|(step, _)| step.time.map(i64::to_le_bytes)));
        batch.column(rows.iter().map(|(step, _)| step.epoch.to_le_bytes()));
        let keys = rows.iter().map(|(_, lane)| names.as_ref().and_then(|names| names.get(*lane)));
        batch.texts(&keys.collect::<Vec<_>>());
        batch.column(number(|_, value| value));
        batch.column(number(|step, _| step.standard_error));
        batch.column(number(|step, value| value - step.margin));
        batch.column(number(|step, value| value + step.margin));
        let mut bytes = self.start();
        bytes.extend(batch.finish());
        Ok(bytes)
    }

    fn end(&mut self) -> Result<Vec<u8>> {
        let mut bytes = self.start();
        bytes.extend(MARKER);
        bytes.extend([0; 4]);
        Ok(bytes)
    }
}

fn schema() -> Schema {
    let field = |name: &str, nullable, type_| Field {
        name: Some(name.to_owned()),
        nullable,
        type_: Some(type_),
        children: Some(Vec::new()),
        ..Field::default()
    };
    let integer = |bit_width| Type::Int(Box::new(Int { bit_width, is_signed: false }));
    let number = |name| {
        let double = FloatingPoint { precision: Precision::Double };
        field(name, false, Type::FloatingPoint(Box::new(double)))
    };
    let time = Timestamp { unit: TimeUnit::Microsecond, timezone: Some("UTC".to_owned()) };
    let fields = vec![
        field("step", false, integer(64)),
        field("time", true, Type::Timestamp(Box::new(time))),
        field("epoch", false, integer(32)),
        field("key", true, Type::Utf8(Box::new(Utf8 {}))),
        number("value"),
        number("standard_error"),
        number("lower"),
        number("upper"),
    ];
    Schema { fields: Some(fields), ..Schema::default() }
}

/// A record batch in the making: its body so far, and where each column's buffers are in it.
struct Batch {
    rows: usize,
    nodes: Vec<FieldNode>,
    buffers: Vec<Buffer>,
    body: Vec<u8>,
}

impl Batch {
    fn new(rows: usize) -> Self {
        Self { rows, nodes: Vec::new(), buffers: Vec::new(), body: Vec::new() }
    }

    /// Adds a column of numbers.
    fn column<const BYTES: usize>(&mut self, values: impl Iterator<Item = [u8; BYTES]>) {
        self.validity(0, []);
        self.buffer(values.flatten());
    }

    /// Adds a column of numbers, some of which may be missing.
    fn nullable<const BYTES: usize>(&mut self, values: impl Iterator<Item = Option<[u8; BYTES]>> + Clone) {
        self.validity(
            values.clone().filter(Option::is_none).count(),
            values.clone().map(|value| value.is_some()),
        );
        self.buffer(values.flat_map(|value| value.unwrap_or([0; BYTES])));
    }

    /// Adds a column of texts, some of which may be missing.
    fn texts(&mut self, texts: &[Option<&str>]) {
        let nulls = texts.iter().filter(|text| text.is_none()).count();
        self.validity(nulls, texts.iter().map(Option::is_some));
        let present = || texts.iter().map(|text| text.unwrap_or_default());
        let ends = present().scan(0, |end: &mut i32, text| {
            *end += text.len() as i32;
            Some(*end)
        });
        self.buffer(std::iter::once(0).chain(ends).flat_map(i32::to_le_bytes));
        self.buffer(present().flat_map(str::bytes));
    }

    /// Starts a column: its number of missing values, and a bit per row that says which are there.
    /// A column without missing values has no bits.
    fn validity(&mut self, null_count: usize, present: impl IntoIterator<Item = bool>) {
        self.nodes.push(FieldNode { length: self.rows as i64, null_count: null_count as i64 });
        let mut bits = Vec::new();
        if null_count > 0 {
            bits = vec![0; self.rows.div_ceil(8)];
            for (row, _) in present.into_iter().enumerate().filter(|(_, present)| *present) {
                bits[row / 8] |= 1 << (row % 8);
            }
        }
        self.buffer(bits);
    }

    fn buffer(&mut self, bytes: impl IntoIterator<Item = u8>) {
        let offset = self.body.len();
        self.body.extend(bytes);
        self.buffers.push(Buffer { offset: offset as i64, length: (self.body.len() - offset) as i64 });
        pad(&mut self.body);
    }

    fn finish(self) -> Vec<u8> {
        let header = RecordBatch {
            length: self.rows as i64,
            nodes: Some(self.nodes),
            buffers: Some(self.buffers),
            ..RecordBatch::default()
        };
        message(MessageHeader::RecordBatch(Box::new(header)), &self.body)
    }
}

/// One message of the stream.
fn message(header: MessageHeader, body: &[u8]) -> Vec<u8> {
    let message = Message {
        version: MetadataVersion::V5,
        header: Some(header),
        body_length: body.len() as i64,
        custom_metadata: None,
    };
    let mut builder = planus::Builder::new();
    let mut metadata = builder.finish(&message, None).to_vec();
    pad(&mut metadata);
    let length = (metadata.len() as u32).to_le_bytes();
    [&MARKER[..], &length[..], &metadata[..], body].concat()
}

fn pad(bytes: &mut Vec<u8>) {
    bytes.resize(bytes.len().next_multiple_of(ALIGNMENT), 0);
}
