//! A JSON array of objects, one element after another.
//!
//! **Cost.** One element is in memory at a time.

use super::object::Wanted;
use crate::error::{CliError, Result};
use crate::input::{MAX_LINE_BYTES, Row, RowReader, Source, too_long};
use crate::memory;
use std::io::{BufRead, BufReader};

pub(crate) struct JsonArrayReader {
    source: BufReader<Source>,
    wanted: Wanted,
    /// The number of the element, from 1.
    number: u64,
    state: State,
    text: Vec<u8>,
}

#[derive(Clone, Copy, PartialEq)]
enum State {
    /// Before the opening bracket.
    Before,
    Inside,
    /// The closing bracket was read.
    After,
}

/// How far the text of an element reaches.
#[derive(Default)]
struct Extent {
    depth: u64,
    in_string: bool,
    is_escaped: bool,
}

impl Extent {
    /// Takes the next byte of an element; `true` if the element is complete before it.
    fn ends_before(&mut self, byte: u8) -> bool {
        if self.in_string {
            (self.in_string, self.is_escaped) =
                (self.is_escaped || byte != b'"', byte == b'\\' && !self.is_escaped);
            return false;
        }
        match byte {
            b'"' => self.in_string = true,
            b'{' | b'[' => self.depth += 1,
            b',' | b']' | b'}' if self.depth == 0 => return true,
            b']' | b'}' => self.depth -= 1,
            _ => {}
        }
        false
    }
}

impl JsonArrayReader {
    pub(crate) fn new(source: BufReader<Source>, columns: &[String]) -> Self {
        Self { source, wanted: Wanted::new(columns), number: 0, state: State::Before, text: Vec::new() }
    }

    /// Reads on until a byte that is no whitespace, without taking it; `None` at the end.
    fn next_byte(&mut self) -> Result<Option<u8>> {
        loop {
            let bytes = super::filled(&mut self.source)?;
            if bytes.is_empty() {
                return Ok(None);
            }
            match bytes.iter().position(|byte| !byte.is_ascii_whitespace()) {
                Some(at) => {
                    let byte = bytes[at];
                    self.source.consume(at);
                    return Ok(Some(byte));
                }
                None => {
                    let count = bytes.len();
                    self.source.consume(count);
                }
            }
        }
    }

    /// Reads the text of an element up to the comma or bracket behind it.
    fn read_element(&mut self) -> Result<()> {
        let mut extent = Extent::default();
        self.text.clear();
        loop {
            let bytes = super::filled(&mut self.source)?;
            if bytes.is_empty() {
                return Err(self.cut_short());
            }
            let end = bytes.iter().position(|&byte| extent.ends_before(byte));
            let count = end.unwrap_or(bytes.len());
            if self.text.len() + count > MAX_LINE_BYTES {
                let error = too_long(format_args!("element {} of its array", self.number));
                return Err(super::failure(&self.source, &error));
            }
            if let Err(error) = memory::make_room(&mut self.text, count) {
                return Err(super::failure(&self.source, &error));
            }
            self.text.extend_from_slice(&bytes[..count]);
            self.source.consume(count);
            if end.is_some() {
                return Ok(());
            }
        }
    }

    fn bad(&self, message: &str) -> CliError {
        let name = self.source.get_ref().name();
        CliError::bad(format!("{name}, element {} of its array: {message}", self.number))
    }

    fn cut_short(&self) -> CliError {
        CliError::bad(format!("{} ends before its JSON array does", self.source.get_ref().name()))
    }
}

impl RowReader for JsonArrayReader {
    fn read(&mut self, row: &mut Row) -> Result<bool> {
        if self.state == State::After {
            return Ok(false);
        }
        let is_first = self.state == State::Before;
        let opening = self.next_byte()?;
        match (opening, is_first) {
            (Some(b'['), true) | (Some(b','), false) => self.source.consume(1),
            (Some(b']'), false) => {}
            (None, _) => return Err(self.cut_short()),
            _ => return Err(self.bad("expected a comma or the end of the array behind it")),
        }
        self.state = State::Inside;
        let is_end = opening == Some(b']') || (is_first && self.next_byte()? == Some(b']'));
        if is_end {
            self.source.consume(1);
            self.state = State::After;
            return match self.next_byte()? {
                None => Ok(false),
                Some(_) => {
                    let name = self.source.get_ref().name();
                    Err(CliError::bad(format!("{name}: expected nothing after its JSON array")))
                }
            };
        }
        self.number += 1;
        row.line = self.number;
        self.read_element()?;
        let text = std::str::from_utf8(&self.text).map_err(|_| self.bad("expected text in UTF-8"))?;
        self.wanted.pick(text.trim(), &mut row.cells).map_err(|_| self.bad("expected a JSON object"))?;
        Ok(true)
    }

    fn fraction_read(&self) -> Option<f64> {
        self.source.get_ref().fraction_read()
    }

    /// A member has no type of its own. Each cell says whether it is a name.
    fn holds_names(&self, _column: usize) -> bool {
        true
    }

    fn unit(&self) -> &'static str {
        "element"
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn read(text: &str) -> Result<Vec<String>> {
        let columns = ["n".to_owned()];
        let source = super::super::buffered(Source::held("memory", text.as_bytes().to_vec()));
        let mut reader = JsonArrayReader::new(source, &columns);
        let mut row = Row::for_columns(&columns);
        let mut read = Vec::new();
        while reader.read(&mut row)? {
            read.push(row.cells[0].as_shown().unwrap_or_default().into_owned());
        }
        Ok(read)
    }

    #[test]
    fn elements_are_read_one_by_one() {
        assert_eq!(read("[]").unwrap(), [""; 0]);
        assert_eq!(read(" [ ] \n").unwrap(), [""; 0]);
        let text = r#"[{"n": 1}, {"n": "]},{\""} ,
            {"m": [{"n": 2}], "n": 3}]"#;
        assert_eq!(read(text).unwrap(), ["1", r#"]},{""#, "3"]);
    }

    #[test]
    fn anything_but_an_array_of_objects_is_refused() {
        for text in
            ["[", "[{\"n\":1}", "[{\"n\":1},", "[{\"n\":\"", "[1]", "[,]", "[{\"n\":1},]", "[[]]", "[{}}]"]
        {
            assert!(read(text).is_err(), "{text}");
        }
        for text in ["[{}{}]", "[{} 1]", "[] []", "[]]", "[{}],", "{}", "[\"\\\"]"] {
            assert!(read(text).is_err(), "{text}");
        }
    }

    proptest! {
        /// The parser of a whole array in memory is the oracle.
        #[test]
        fn arrays_are_what_serde_reads(
            pieces in prop::collection::vec(
                prop::sample::select(vec!["{\"n\":1}", "{}", ",", ",", "{\"n\":\"a]\"}", "[", "]", "{\"n\":[{}]}", " ", "1", "\"", "{\"n\":\"\\\"\"}"]),
                0..9,
            ),
        ) {
            let text = format!("[{}]", pieces.concat());
            let whole = serde_json::from_str::<Vec<serde_json::Map<String, serde_json::Value>>>(&text);
            let ours = read(&text);
            prop_assert_eq!(ours.as_ref().map(Vec::len).ok(), whole.as_ref().map(Vec::len).ok(), "{}", text);
        }
    }
}
