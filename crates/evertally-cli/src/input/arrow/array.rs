//! The values of one field in one batch.
//!
//! **Definition.** Buffers of values, of ends of texts and of bits that say which values are there, as the
//! columnar format has them. **Guarantee.** A buffer is as long as the number of rows demands, or the file
//! is damaged. Offsets and views are checked when a value is read. Compressed buffers are unpacked up to
//! what the rows need, so a forged length allocates nothing.
//! **Cost.** A value becomes a cell when its row is read. Only the buffers of requested columns are read.

use super::messages::Message;
use super::schema::{Integer, Kind, Place};
use crate::error::Result;
use crate::input::Cell;
use bytes::Bytes;
use polars_arrow_format::ipc::{CompressionType, RecordBatchRef, planus};
use std::io::Read;

/// The bytes of a view. Texts of up to [`INLINE_BYTES`] stand in it.
const VIEW_BYTES: usize = 16;
const INLINE_BYTES: usize = 12;

/// Buffers may be padded to this many bytes behind what the rows need.
const PADDING: usize = 64;

/// A batch, and where its buffers are.
pub(super) struct Batch<'a> {
    message: &'a Message,
    batch: RecordBatchRef<'a>,
    pub(super) rows: usize,
    codec: Option<CompressionType>,
}

/// The values of a field in a batch.
pub(super) struct Array {
    pub(super) rows: usize,
    presence: Presence,
    values: Values,
}

/// A bit per row, low bits first. `None` if all are there.
pub(super) struct Presence(Option<Bytes>);

enum Values {
    None,
    Fixed { kind: Kind, bytes: Bytes },
    Texts { ends: Bytes, is_large: bool, bytes: Bytes },
    Views { views: Bytes, bytes: Vec<Bytes> },
}

impl<'a> Batch<'a> {
    pub(super) fn new(message: &'a Message, batch: RecordBatchRef<'a>) -> Result<Self> {
        let read = || {
            let rows = usize::try_from(batch.length().ok()?).ok()?;
            let codec = batch.compression().ok()?.map(|compression| compression.codec().ok());
            Some((rows, codec.map_or(Some(None), |codec| codec.map(Some))?))
        };
        let (rows, codec) = read().ok_or_else(|| message.damaged())?;
        Ok(Self { message, batch, rows, codec })
    }

    /// The number of the first buffer of a field.
    fn first_buffer(&self, place: Place) -> Option<usize> {
        let mut first = place.buffer;
        for field in 0..place.views {
            first = first.checked_add(self.view_buffers(field)?)?;
        }
        Some(first)
    }

    /// How many buffers the texts of a field with views take.
    fn view_buffers(&self, field: usize) -> Option<usize> {
        usize::try_from(self.batch.variadic_buffer_counts().ok()??.get(field)?).ok()
    }

    /// A buffer of a field, of which the rows need so many bytes.
    fn buffer(&self, place: Place, number: usize, needed: usize) -> Result<Bytes> {
        let find = || {
            let number = self.first_buffer(place)?.checked_add(number)?;
            let buffer = self.batch.buffers().ok()??.get(number)?;
            Some((buffer.offset(), buffer.length()))
        };
        let (offset, length) = find().ok_or_else(|| self.message.damaged())?;
        // A buffer that is not needed may be absent.
        if needed == 0 {
            return Ok(Bytes::new());
        }
        let bytes = self.message.part(offset, length)?;
        let bytes = match self.codec {
            Some(codec) => unpacked(codec, &bytes, needed),
            None => Some(bytes),
        };
        bytes.filter(|bytes| bytes.len() >= needed).ok_or_else(|| self.message.damaged())
    }

    /// Which values of a field are there.
    pub(super) fn presence(&self, place: Place) -> Result<Presence> {
        let nodes = self.batch.nodes().ok().flatten();
        let node = nodes.and_then(|nodes| nodes.get(place.node)).ok_or_else(|| self.message.damaged())?;
        if usize::try_from(node.length()).ok() != Some(self.rows) || node.null_count() < 0 {
            return Err(self.message.damaged());
        }
        if node.null_count() == 0 {
            return Ok(Presence(None));
        }
        self.buffer(place, 0, self.rows.div_ceil(8)).map(|bits| Presence(Some(bits)))
    }

    /// The values of a field.
    pub(super) fn array(&self, place: Place, kind: Kind) -> Result<Array> {
        let rows = self.rows;
        if matches!(kind, Kind::Null) {
            return Ok(Array { rows, presence: Presence(None), values: Values::None });
        }
        let presence = self.presence(place)?;
        let bytes = |per_row: usize| rows.checked_mul(per_row).ok_or_else(|| self.message.damaged());
        let values = match kind {
            Kind::Null => Values::None,
            Kind::Flag => Values::Fixed { kind, bytes: self.buffer(place, 1, rows.div_ceil(8))? },
            Kind::Integer { storage, .. } => self.fixed(place, kind, bytes(storage.bytes)?)?,
            Kind::Decimal128 { .. } => self.fixed(place, kind, bytes(16)?)?,
            Kind::Single => self.fixed(place, kind, bytes(4)?)?,
            Kind::Double => self.fixed(place, kind, bytes(8)?)?,
            Kind::Text { is_large } => {
                let width = if is_large { 8 } else { 4 };
                // There is one offset more than rows, unless there are no rows.
                let needed = bytes(width)?.checked_add(width).ok_or_else(|| self.message.damaged())?;
                let ends = self.buffer(place, 1, if rows == 0 { 0 } else { needed })?;
                let last = if rows == 0 { Some(0) } else { offset(&ends, is_large, rows) };
                let last = last.ok_or_else(|| self.message.damaged())?;
                Values::Texts { bytes: self.buffer(place, 2, last)?, ends, is_large }
            }
            Kind::View => self.views(place, bytes(VIEW_BYTES)?)?,
        };
        Ok(Array { rows, presence, values })
    }

    fn fixed(&self, place: Place, kind: Kind, needed: usize) -> Result<Values> {
        Ok(Values::Fixed { kind, bytes: self.buffer(place, 1, needed)? })
    }

    fn views(&self, place: Place, needed: usize) -> Result<Values> {
        let views = self.buffer(place, 1, needed)?;
        let all = self.batch.buffers().ok().flatten().map_or(0, planus::Vector::len);
        let count = self.view_buffers(place.views).filter(|&count| count <= all);
        let count = count.ok_or_else(|| self.message.damaged())?;
        // What is needed of each buffer follows from the views into it.
        let mut ends = vec![0_usize; count];
        for view in views.as_chunks::<VIEW_BYTES>().0 {
            if let View::In { buffer, end, .. } = View::of(view) {
                // A view of a missing row may be anything.
                if let Some(needed) = ends.get_mut(buffer) {
                    *needed = end.max(*needed);
                }
            }
        }
        let buffers = ends.into_iter().enumerate();
        let bytes =
            buffers.map(|(number, end)| self.buffer(place, 2 + number, end)).collect::<Result<_>>()?;
        Ok(Values::Views { views, bytes })
    }
}

/// Where a text stands: in the view, or in a buffer.
enum View<'a> {
    Inline(&'a [u8]),
    In { buffer: usize, start: usize, end: usize },
}

impl<'a> View<'a> {
    fn of(view: &'a [u8; VIEW_BYTES]) -> Self {
        let number = |at: usize| {
            let bytes = view[at..].first_chunk().copied().unwrap_or_default();
            u32::from_le_bytes(bytes) as usize
        };
        let length = number(0);
        if length <= INLINE_BYTES {
            return Self::Inline(&view[4..4 + length]);
        }
        let start = number(12);
        Self::In { buffer: number(8), start, end: start.saturating_add(length) }
    }
}

impl Presence {
    pub(super) fn has(&self, row: usize) -> bool {
        let bit = |bits: &Bytes| bits.get(row / 8).is_some_and(|byte| byte >> (row % 8) & 1 == 1);
        self.0.as_ref().is_none_or(bit)
    }
}

impl Array {
    /// Sets a cell to the value of a row; `None` if it is none.
    pub(super) fn set(&self, row: usize, cell: &mut Cell) -> Option<()> {
        if !self.presence.has(row) {
            *cell = Cell::Missing;
            return Some(());
        }
        match &self.values {
            Values::None => *cell = Cell::Missing,
            Values::Fixed { kind, bytes } => *cell = fixed(*kind, bytes, row)?,
            Values::Texts { ends, is_large, bytes } => {
                let (start, end) = (offset(ends, *is_large, row)?, offset(ends, *is_large, row + 1)?);
                cell.set_text(std::str::from_utf8(bytes.get(start..end)?).ok()?);
            }
            Values::Views { views, bytes } => {
                let text = match View::of(views.as_chunks().0.get(row)?) {
                    View::Inline(text) => text,
                    View::In { buffer, start, end } => bytes.get(buffer)?.get(start..end)?,
                };
                cell.set_text(std::str::from_utf8(text).ok()?);
            }
        }
        Some(())
    }

    /// The code of a row, in a column of codes: `Some(None)` if it is missing.
    pub(super) fn code(&self, row: usize) -> Option<Option<usize>> {
        if !self.presence.has(row) {
            return Some(None);
        }
        match &self.values {
            Values::Fixed { kind: Kind::Integer { storage, .. }, bytes } => {
                usize::try_from(integer(*storage, bytes, row)?).ok().map(Some)
            }
            _ => None,
        }
    }
}

/// The offset before a row.
fn offset(ends: &[u8], is_large: bool, row: usize) -> Option<usize> {
    let storage = Integer { bytes: if is_large { 8 } else { 4 }, is_signed: true };
    usize::try_from(integer(storage, ends, row)?).ok()
}

fn fixed(kind: Kind, bytes: &[u8], row: usize) -> Option<Cell> {
    match kind {
        Kind::Flag => Some(Cell::Literal((bytes.get(row / 8)? >> (row % 8) & 1 == 1).to_string())),
        Kind::Integer { storage, meaning } => meaning.cell(integer(storage, bytes, row)?),
        Kind::Single => bytes.as_chunks().0.get(row).map(|bytes| Cell::Single(f32::from_le_bytes(*bytes))),
        Kind::Double => bytes.as_chunks().0.get(row).map(|bytes| Cell::Decimal(f64::from_le_bytes(*bytes))),
        Kind::Decimal128 { scale } => {
            let number = i128::from_le_bytes(*bytes.as_chunks().0.get(row)?);
            Some(Cell::Decimal(number as f64 / 10_f64.powi(scale)))
        }
        Kind::Null | Kind::Text { .. } | Kind::View => None,
    }
}

/// An integer of a column. The largest unsigned ones keep their bits.
fn integer(storage: Integer, bytes: &[u8], row: usize) -> Option<i64> {
    let start = row.checked_mul(storage.bytes)?;
    let bytes = bytes.get(start..start.checked_add(storage.bytes)?)?;
    let is_negative = storage.is_signed && bytes.last()? & 0x80 != 0;
    let mut whole = [if is_negative { 0xff } else { 0 }; 8];
    whole[..bytes.len()].copy_from_slice(bytes);
    Some(i64::from_le_bytes(whole))
}

/// A compressed buffer behind its length. Of a longer one, only what is needed is unpacked.
fn unpacked(codec: CompressionType, bytes: &Bytes, needed: usize) -> Option<Bytes> {
    let (length, packed) = bytes.split_first_chunk::<8>()?;
    let length = i64::from_le_bytes(*length);
    if length == -1 {
        return Some(bytes.slice(8..));
    }
    let length = usize::try_from(length).ok().filter(|&length| length >= needed)?;
    let mut reader: Box<dyn Read + '_> = match codec {
        CompressionType::Lz4Frame => Box::new(lz4_flex::frame::FrameDecoder::new(packed)),
        CompressionType::Zstd => Box::new(zstd::stream::read::Decoder::with_buffer(packed).ok()?),
    };
    let mut out = Vec::new();
    if length - needed <= PADDING {
        // One byte more finds the end, and with it checksums.
        (&mut reader).take(length as u64 + 1).read_to_end(&mut out).ok()?;
        (out.len() == length).then(|| out.into())
    } else {
        (&mut reader).take(needed as u64).read_to_end(&mut out).ok()?;
        Some(out.into())
    }
}
