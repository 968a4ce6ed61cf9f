//! The fields of a schema, and where their buffers are in a batch.
//!
//! **Definition.** A batch has one node per field, from the outside in, and for each node as many
//! buffers as its type has. So the place of a field's buffers follows from the types of all fields
//! before it. Fields with views have buffers more, whose number stands in the batch.
//! **Guarantee.** Types that have no single value per row, or none that is used here, are laid out too.
//! They are refused by name if they are asked for.

use super::held::Held;
use crate::error::{CliError, Result, shown};
use crate::input::meaning::Meaning;
use polars_arrow_format::ipc::planus;
use polars_arrow_format::ipc::{
    DateUnit, Endianness, FieldRef, IntRef, MetadataVersion, Precision, SchemaRef, TimeUnit, TypeRef,
};

/// A few bytes of a flatbuffer can stand for any number of fields and names, because parts may be shared.
const MAX_FIELDS: usize = 1 << 18;
const MAX_DEPTH: usize = 64;
const MAX_NAME_BYTES: usize = 1 << 26;

/// How the values of a field are stored, and what they mean.
#[derive(Clone, Copy)]
pub(super) enum Kind {
    /// All values are missing.
    Null,
    Flag,
    Integer {
        storage: Integer,
        meaning: Meaning,
    },
    Decimal128 {
        scale: i32,
    },
    Single,
    Double,
    /// Text with offsets of 32 or 64 bits.
    Text {
        is_large: bool,
    },
    /// Text in views.
    View,
}

/// An integer in little-endian bytes.
#[derive(Clone, Copy)]
pub(super) struct Integer {
    pub(super) bytes: usize,
    pub(super) is_signed: bool,
}

/// The number of a field's node, and of its first buffer: so many, and those of so many fields with
/// views before it.
#[derive(Clone, Copy, Default)]
pub(super) struct Place {
    pub(super) node: usize,
    pub(super) buffer: usize,
    pub(super) views: usize,
}

/// A field that has no members.
pub(super) struct Field {
    pub(super) path: Vec<String>,
    /// Its kind, or the name of a type that is not read.
    pub(super) kind: std::result::Result<Kind, &'static str>,
    pub(super) place: Place,
    /// The structs around it. If one of them is missing, so is the field.
    pub(super) around: Vec<Place>,
    pub(super) dictionary: Option<Codes>,
}

/// The codes of a field whose values stand in a dictionary.
#[derive(Clone, Copy)]
pub(super) struct Codes {
    pub(super) id: i64,
    pub(super) storage: Integer,
}

impl Kind {
    /// Whether its values can be names. See `holds_names` of Parquet.
    pub(super) fn holds_names(self) -> bool {
        match self {
            Self::Null | Self::Text { .. } | Self::View => true,
            Self::Integer { meaning, .. } => meaning.holds_names(),
            Self::Flag | Self::Decimal128 { .. } | Self::Single | Self::Double => false,
        }
    }
}

impl Field {
    /// The kind of a field that is asked for.
    pub(super) fn usable_kind(&self, source: &str) -> Result<Kind> {
        self.kind.map_err(|type_name| {
            let column = shown(&self.path.join("."));
            let expected = "expected a flat column of text, numbers, dates or times";
            CliError::bad(format!("{source}, column {column}: {expected}, got {type_name}"))
        })
    }
}

pub(super) struct Schema {
    pub(super) fields: Vec<Field>,
}

impl Schema {
    pub(super) fn parse(held: &Held, version: MetadataVersion, schema: SchemaRef<'_>) -> Result<Self> {
        if schema.endianness().is_ok_and(|order| order == Endianness::Big) {
            return Err(held.refused("has numbers in big-endian order, which are not read here"));
        }
        let mut layout = Layout::default();
        let add = |layout: &mut Layout| {
            for field in schema.fields().ok()?.into_iter().flatten() {
                layout.add(field.ok()?, true)?;
            }
            Some(())
        };
        add(&mut layout).ok_or_else(|| held.damaged())?;
        // They had another number of buffers.
        if version == MetadataVersion::V4 && layout.has_unions {
            return Err(held.refused("has unions of an Arrow version before 1.0, which are not read here"));
        }
        Ok(Self { fields: layout.fields })
    }
}

/// The fields so far, and what they take of a batch.
#[derive(Default)]
struct Layout {
    fields: Vec<Field>,
    next: Place,
    path: Vec<String>,
    around: Vec<Place>,
    depth: usize,
    name_bytes: usize,
    has_unions: bool,
}

impl Layout {
    /// Adds a field and those inside it; `None` if the schema is damaged. A field inside a list takes
    /// its place and cannot be named.
    fn add(&mut self, field: FieldRef<'_>, is_named: bool) -> Option<()> {
        let place = self.next;
        if place.node >= MAX_FIELDS || self.depth >= MAX_DEPTH {
            return None;
        }
        let type_ = field.type_().ok()??;
        self.has_unions |= matches!(type_, TypeRef::Union(_));
        let (kind, buffers) = storage(type_).ok()?;
        let dictionary = match field.dictionary().ok()? {
            Some(dictionary) => {
                let storage = match dictionary.index_type().ok()? {
                    Some(codes) => integer(codes).ok()??,
                    None => Integer { bytes: 4, is_signed: true },
                };
                Some(Codes { id: dictionary.id().ok()?, storage })
            }
            None => None,
        };
        self.path.push(field.name().ok()?.unwrap_or_default().to_owned());
        self.next.node += 1;
        // In a batch, a field with a dictionary is a column of codes.
        self.next.buffer += if dictionary.is_some() { 2 } else { buffers };
        self.next.views += usize::from(dictionary.is_none() && matches!(kind, Stored::View | Stored::Bytes));
        let children = || field.children().ok().map(|children| children.into_iter().flatten());
        match kind {
            Stored::Struct if dictionary.is_none() => {
                self.around.push(place);
                self.add_children(children()?, is_named)?;
                self.around.pop();
            }
            _ => {
                if is_named {
                    self.name_bytes +=
                        self.path.iter().map(|name| name.len() + size_of::<String>()).sum::<usize>();
                    if self.name_bytes > MAX_NAME_BYTES {
                        return None;
                    }
                    let kind = kind.usable();
                    let (path, around) = (self.path.clone(), self.around.clone());
                    self.fields.push(Field { path, kind, place, around, dictionary });
                }
                if dictionary.is_none() {
                    self.add_children(children()?, false)?;
                }
            }
        }
        self.path.pop();
        Some(())
    }

    fn add_children<'a>(
        &mut self,
        children: impl Iterator<Item = planus::Result<FieldRef<'a>>>,
        is_named: bool,
    ) -> Option<()> {
        self.depth += 1;
        for child in children {
            self.add(child.ok()?, is_named)?;
        }
        self.depth -= 1;
        Some(())
    }
}

/// How a type is stored.
enum Stored {
    Usable(Kind),
    View,
    /// Bytes in views.
    Bytes,
    Struct,
    Other(&'static str),
}

impl Stored {
    fn usable(&self) -> std::result::Result<Kind, &'static str> {
        match self {
            Self::Usable(kind) => Ok(*kind),
            Self::View => Ok(Kind::View),
            Self::Bytes => Err("bytes"),
            Self::Struct => Err("a dictionary of structs"),
            Self::Other(name) => Err(name),
        }
    }
}

/// How a type is stored, and the number of its buffers in a batch.
fn storage(type_: TypeRef<'_>) -> planus::Result<(Stored, usize)> {
    use Stored::{Other, Usable};
    let numbers =
        |bytes, meaning| (Usable(Kind::Integer { storage: Integer { bytes, is_signed: true }, meaning }), 2);
    Ok(match type_ {
        TypeRef::Null(_) => (Usable(Kind::Null), 0),
        TypeRef::Bool(_) => (Usable(Kind::Flag), 2),
        TypeRef::Int(int) => {
            let Some(storage) = integer(int)? else { return Ok((Other("integers of an unknown width"), 2)) };
            let is_wide = storage.bytes == 8 && !storage.is_signed;
            let meaning = if is_wide { Meaning::Unsigned64 } else { Meaning::Number };
            (Usable(Kind::Integer { storage, meaning }), 2)
        }
        TypeRef::FloatingPoint(float) => match float.precision()? {
            Precision::Half => (Other("floats of 16 bits"), 2),
            Precision::Single => (Usable(Kind::Single), 2),
            Precision::Double => (Usable(Kind::Double), 2),
        },
        TypeRef::Decimal(decimal) => {
            let scale = decimal.scale()?;
            match decimal.bit_width()? {
                32 => numbers(4, Meaning::Decimal { scale }),
                64 => numbers(8, Meaning::Decimal { scale }),
                128 => (Usable(Kind::Decimal128 { scale }), 2),
                _ => (Other("decimals of 256 bits"), 2),
            }
        }
        TypeRef::Date(date) => match date.unit()? {
            DateUnit::Day => numbers(4, Meaning::Day),
            DateUnit::Millisecond => numbers(8, Meaning::Time { multiply: 1_000, divide: 1, is_local: true }),
        },
        TypeRef::Time(time) => {
            let bytes = if time.bit_width()? == 32 { 4 } else { 8 };
            numbers(bytes, Meaning::Clock { per_second: per_second(time.unit()?) })
        }
        TypeRef::Timestamp(time) => {
            let is_local = time.timezone()?.is_none_or(str::is_empty);
            let (multiply, divide) = match time.unit()? {
                TimeUnit::Second => (1_000_000, 1),
                TimeUnit::Millisecond => (1_000, 1),
                TimeUnit::Microsecond => (1, 1),
                TimeUnit::Nanosecond => (1, 1_000),
            };
            numbers(8, Meaning::Time { multiply, divide, is_local })
        }
        TypeRef::Utf8(_) => (Usable(Kind::Text { is_large: false }), 3),
        TypeRef::LargeUtf8(_) => (Usable(Kind::Text { is_large: true }), 3),
        TypeRef::Utf8View(_) => (Stored::View, 2),
        TypeRef::BinaryView(_) => (Stored::Bytes, 2),
        TypeRef::Struct(_) => (Stored::Struct, 1),
        TypeRef::Binary(_) | TypeRef::LargeBinary(_) => (Other("bytes"), 3),
        TypeRef::FixedSizeBinary(_) => (Other("bytes"), 2),
        TypeRef::Interval(_) => (Other("intervals"), 2),
        TypeRef::Duration(_) => (Other("durations"), 2),
        TypeRef::List(_) | TypeRef::LargeList(_) => (Other("lists"), 2),
        TypeRef::ListView(_) | TypeRef::LargeListView(_) => (Other("lists"), 3),
        TypeRef::FixedSizeList(_) => (Other("lists"), 1),
        TypeRef::Map(_) => (Other("maps"), 2),
        TypeRef::RunEndEncoded(_) => (Other("runs of values"), 0),
        TypeRef::Union(union) => {
            let is_dense = union.mode()? == polars_arrow_format::ipc::UnionMode::Dense;
            (Other("unions of types"), 1 + usize::from(is_dense))
        }
    })
}

fn integer(int: IntRef<'_>) -> planus::Result<Option<Integer>> {
    let bytes = match int.bit_width()? {
        8 => 1,
        16 => 2,
        32 => 4,
        64 => 8,
        _ => return Ok(None),
    };
    Ok(Some(Integer { bytes, is_signed: int.is_signed()? }))
}

fn per_second(unit: TimeUnit) -> i64 {
    match unit {
        TimeUnit::Second => 1,
        TimeUnit::Millisecond => 1_000,
        TimeUnit::Microsecond => 1_000_000,
        TimeUnit::Nanosecond => 1_000_000_000,
    }
}
