//! The messages of an Arrow file or stream.
//!
//! **Definition.** A message is a marker, the length of its flatbuffer, the flatbuffer, and a body with
//! the buffers of columns. A stream is a schema, then messages, then an end marker. A file is a stream
//! between two marks, behind which a footer says where dictionaries and batches are. In a file,
//! dictionaries come first, wherever they stand.
//! **Guarantee.** Every place and length is checked against the file before anything is read. A stream
//! without an end marker was cut short, and is an error: nobody's last events are left out in silence.
//! **Source.** Arrow Columnar Format 1.5, "Serialization and Interprocess Communication".

use super::held::Held;
use super::schema::Schema;
use crate::error::Result;
use crate::input::layout::ARROW_MAGIC;
use bytes::Bytes;
use polars_arrow_format::ipc::planus::ReadAsRoot as _;
use polars_arrow_format::ipc::{BlockRef, FooterRef, MessageHeaderRef, MessageRef, MetadataVersion};
use std::collections::VecDeque;
use std::sync::Arc;

/// The first bytes of a file of Feather's first version, which is another format.
const OLD_FEATHER: &[u8] = b"FEA1";

/// Precedes the length of every message.
const MARKER: [u8; 4] = [0xff; 4];

/// The bytes of the marker and the length.
const PREFIX: u64 = 8;

pub(super) struct Messages {
    held: Arc<Held>,
    order: Order,
}

/// Where the next message is.
enum Order {
    Stream { at: u64, is_over: bool },
    File { places: VecDeque<u64>, count: usize },
}

/// One message, the body of which is not read yet.
pub(super) struct Message {
    flatbuffer: Bytes,
    version: MetadataVersion,
    held: Arc<Held>,
    body: u64,
    body_length: u64,
}

impl Messages {
    /// Reads the schema. The messages that follow are dictionaries and batches.
    pub(super) fn open(held: Held) -> Result<(Self, Schema)> {
        let held = Arc::new(held);
        let start = held.part(0, held.length().min(PREFIX))?;
        if start.starts_with(ARROW_MAGIC) {
            return Self::of_file(held);
        }
        if start.starts_with(OLD_FEATHER) {
            return Err(held.refused("is of the first version of Feather; write the file again as version 2"));
        }
        let schema = message_at(&held, 0)?.ok_or_else(|| held.damaged())?;
        let at = schema.end();
        let schema = match schema.header()? {
            MessageHeaderRef::Schema(fields) => Schema::parse(&held, schema.version, fields)?,
            _ => return Err(held.damaged()),
        };
        Ok((Self { held, order: Order::Stream { at, is_over: false } }, schema))
    }

    fn of_file(held: Arc<Held>) -> Result<(Self, Schema)> {
        let damaged = || held.damaged();
        let tail_bytes = ARROW_MAGIC.len() as u64 + 4;
        let tail = held.length().checked_sub(tail_bytes).ok_or_else(damaged)?;
        let last = held.part(tail, tail_bytes)?;
        let length = last.first_chunk::<4>().filter(|_| last.ends_with(ARROW_MAGIC)).ok_or_else(damaged)?;
        let length = u64::try_from(i32::from_le_bytes(*length)).map_err(|_| damaged())?;
        let footer = held.part(tail.checked_sub(length).ok_or_else(damaged)?, length)?;
        let read = || {
            let footer = FooterRef::read_as_root(&footer).ok()?;
            let place = |block: BlockRef<'_>| u64::try_from(block.offset()).ok();
            let dictionaries = footer.dictionaries().ok()?.into_iter().flatten();
            let batches = footer.record_batches().ok()?.into_iter().flatten();
            let places = dictionaries.chain(batches).map(place).collect::<Option<VecDeque<u64>>>()?;
            Some((footer.version().ok()?, footer.schema().ok()??, places))
        };
        let (version, schema, places) = read().ok_or_else(damaged)?;
        check_version(&held, version)?;
        let schema = Schema::parse(&held, version, schema)?;
        let count = places.len();
        Ok((Self { held, order: Order::File { places, count } }, schema))
    }

    pub(super) fn held(&self) -> &Held {
        &self.held
    }

    /// Whether a dictionary may take the place of an earlier one.
    pub(super) fn may_replace(&self) -> bool {
        matches!(self.order, Order::Stream { .. })
    }

    pub(super) fn next(&mut self) -> Result<Option<Message>> {
        match &mut self.order {
            Order::File { places, .. } => match places.pop_front() {
                Some(place) => message_at(&self.held, place)?.ok_or_else(|| self.held.damaged()).map(Some),
                None => Ok(None),
            },
            Order::Stream { is_over: true, .. } => Ok(None),
            Order::Stream { at, is_over } => {
                let message = message_at(&self.held, *at)?;
                match &message {
                    Some(message) => *at = message.end(),
                    None if *at + PREFIX == self.held.length() => *is_over = true,
                    None => {
                        return Err(self.held.refused("holds something behind the end of its Arrow stream"));
                    }
                }
                Ok(message)
            }
        }
    }

    /// The share of the messages that was handed out.
    pub(super) fn fraction_read(&self) -> f64 {
        match &self.order {
            Order::Stream { at, .. } => *at as f64 / self.held.length().max(1) as f64,
            Order::File { places, count } => 1.0 - places.len() as f64 / (*count).max(1) as f64,
        }
    }
}

/// The message at a place; `None` for the end of a stream.
fn message_at(held: &Arc<Held>, at: u64) -> Result<Option<Message>> {
    let damaged = || held.damaged();
    let prefix = held.part(at, PREFIX)?;
    let length = prefix.strip_prefix(&MARKER[..]).and_then(|rest| rest.first_chunk()).ok_or_else(damaged)?;
    let length = u64::try_from(i32::from_le_bytes(*length)).map_err(|_| damaged())?;
    if length == 0 {
        return Ok(None);
    }
    let flatbuffer = held.part(at + PREFIX, length)?;
    let read = || {
        let message = MessageRef::read_as_root(&flatbuffer).ok()?;
        Some((message.version().ok()?, u64::try_from(message.body_length().ok()?).ok()?))
    };
    let (version, body_length) = read().ok_or_else(damaged)?;
    check_version(held, version)?;
    let body = at + PREFIX + length;
    if body.checked_add(body_length).is_none_or(|end| end > held.length()) {
        return Err(damaged());
    }
    Ok(Some(Message { flatbuffer, version, held: Arc::clone(held), body, body_length }))
}

fn check_version(held: &Held, version: MetadataVersion) -> Result<()> {
    match version {
        MetadataVersion::V4 | MetadataVersion::V5 => Ok(()),
        _ => Err(held.refused("is of an Arrow version before 0.8, which is not read here")),
    }
}

impl Message {
    fn end(&self) -> u64 {
        self.body + self.body_length
    }

    pub(super) fn header(&self) -> Result<MessageHeaderRef<'_>> {
        let header = MessageRef::read_as_root(&self.flatbuffer).and_then(|message| message.header());
        header.ok().flatten().ok_or_else(|| self.damaged())
    }

    /// A part of the body.
    pub(super) fn part(&self, start: i64, length: i64) -> Result<Bytes> {
        let (Ok(start), Ok(length)) = (u64::try_from(start), u64::try_from(length)) else {
            return Err(self.damaged());
        };
        if start.checked_add(length).is_none_or(|end| end > self.body_length) {
            return Err(self.damaged());
        }
        self.held.part(self.body + start, length)
    }

    pub(super) fn damaged(&self) -> crate::error::CliError {
        self.held.damaged()
    }
}
