//! The same events in every form and order count the same, whether they are read by rows, by lines or by
//! columns, and whatever is declared about persons and ids.
//!
//! The oracle is the reading by rows of a file whose fields all have quotes. That what it hands over is
//! decided by the rule is tested in `evertally-stream` (`tests/it/order.rs`).

use super::super::options::CountArgs;
use super::*;
use crate::input::{self, InputFormat};
use clap::Parser;
use evertally_stream::{Amount, OTHER};
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

#[derive(Parser)]
struct Line {
    #[command(flatten)]
    args: CountArgs,
}

/// An event: time in seconds, key, person, the person as a number, id, and value.
type Made = (i64, Option<&'static str>, Option<String>, Option<i64>, Option<String>, i64);

const ROWS: u64 = 20_000;

/// 5 January 2026, midnight.
const START: i64 = 1_767_571_200;

const DECLARED: [&str; 9] = [
    "--id i",
    "--person p --max-steps 2",
    "--person q --max-steps 3 --min-gap 2 --value n --clamp=-1,3",
    "--person p --max-steps 20 --id i",
    "--person q --max-steps 2 --value n --clamp=-1,3 --per-person-sum 0,5",
    "--person p --max-steps 4 --value n --per-person-sum=-2,5 --per-person-events 3 --groups-per-person 2",
    "--person p --max-steps 3 --per-person-sum 0,5 --groups-per-person 2",
    "--person q --max-steps 3 --mean n --clamp=-1,3",
    "",
];

/// Many events at the same time, copies, and cells that are missing.
fn made() -> Vec<Made> {
    let mut state = 7_u64;
    let mut draw = |below: u64| {
        state = state.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (state >> 33) % below
    };
    let keys = [Some("a"), Some("b"), Some(" a"), Some("z"), Some("y"), None];
    (0..ROWS)
        .map(|_| {
            // Some are outside of the declared range of 30 hours.
            let time = START + draw(31) as i64 * 3600 + [0, 5, draw(3600) as i64][draw(3) as usize];
            let person = Some(draw(400)).filter(|person| *person > 9);
            let id = Some(draw(9_000)).filter(|id| *id > 99).map(|id| format!("e{id}"));
            let name = person.map(|person| format!("{}{person}", ["", "ann "][(person % 2) as usize]));
            (time, keys[draw(6) as usize], name, person.map(|p| p as i64 - 200), id, draw(9) as i64 - 4)
        })
        .collect()
}

fn csv(made: &[Made], quote: &str) -> Vec<u8> {
    let mut text = "t,k,p,q,i,n\n".to_owned();
    for (time, key, person, number, id, value) in made {
        let number = number.map(|number| number.to_string());
        let names = [*key, person.as_deref(), number.as_deref(), id.as_deref()];
        let names = names.map(|name| format!("{quote}{}{quote}", name.unwrap_or_default())).join(",");
        text += &format!("{quote}{time}{quote},{names},{quote}{value}{quote}\n");
    }
    text.into()
}

fn json_lines(made: &[Made]) -> Vec<u8> {
    let line = |(t, k, p, q, i, n): &Made| {
        serde_json::json!({"t": t, "k": k, "p": p, "q": q, "i": i, "n": n}).to_string() + "\n"
    };
    made.iter().map(line).collect::<String>().into()
}

#[cfg(feature = "columnar")]
fn parquet(made: &[Made], has_dictionary: bool) -> Vec<u8> {
    use parquet::data_type::{ByteArray, ByteArrayType, Int64Type};
    use parquet::file::properties::WriterProperties;
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    let schema = "message events { required int64 t; optional binary k (STRING); optional binary p (STRING);
        optional int64 q; optional binary i (STRING); required int64 n; }";
    let properties = WriterProperties::builder().set_dictionary_enabled(has_dictionary).build();
    let (mut bytes, schema) = (Vec::new(), parse_message_type(schema).unwrap().into());
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, properties.into()).unwrap();
    for made in made.chunks(7_000) {
        let mut group = writer.next_row_group().unwrap();
        let present = |is_present: Vec<bool>| is_present.into_iter().map(i16::from).collect::<Vec<_>>();
        for column in 0..6 {
            let mut out = group.next_column().unwrap().unwrap();
            let text = |made: &Made| match column {
                1 => made.1.map(str::to_owned),
                2 => made.2.clone(),
                _ => made.4.clone(),
            };
            let number = |made: &Made| match column {
                0 => Some(made.0),
                3 => made.3,
                _ => Some(made.5),
            };
            if [1, 2, 4].contains(&column) {
                let levels = present(made.iter().map(|made| text(made).is_some()).collect());
                let texts: Vec<ByteArray> =
                    made.iter().filter_map(text).map(|text| text.as_str().into()).collect();
                out.typed::<ByteArrayType>().write_batch(&texts, Some(&levels), None).unwrap();
            } else {
                let levels = present(made.iter().map(|made| number(made).is_some()).collect());
                let numbers: Vec<i64> = made.iter().filter_map(number).collect();
                let levels = (column == 3).then_some(&levels[..]);
                out.typed::<Int64Type>().write_batch(&numbers, levels, None).unwrap();
            }
            out.close().unwrap();
        }
        group.close().unwrap();
    }
    writer.close().unwrap();
    bytes
}

/// Counts the rows that are read one by one.
struct Watched(Box<dyn RowReader>, Arc<AtomicUsize>);

impl RowReader for Watched {
    fn read(&mut self, row: &mut Row) -> Result<bool> {
        let is_row = self.0.read(row)?;
        self.1.fetch_add(usize::from(is_row), Ordering::Relaxed);
        Ok(is_row)
    }

    fn fraction_read(&self) -> Option<f64> {
        self.0.fraction_read()
    }

    fn holds_names(&self, column: usize) -> bool {
        self.0.holds_names(column)
    }

    fn add_in_bulk(&mut self, bulk: &mut Bulk<'_>) -> Result<bool> {
        self.0.add_in_bulk(bulk)
    }
}

/// The totals of all steps, and how many rows were read one by one.
fn totals(bytes: Vec<u8>, format: InputFormat, options: &str) -> (Vec<Amount>, usize) {
    let always = "count - --time t --every 1h --from 2026-01-05 --horizon 30 --outside drop --epsilon 1 \
                  --delta 1e-6 --group-by k --groups a,b";
    let args = Line::try_parse_from(always.split_whitespace().chain(options.split_whitespace()));
    let args = args.map_err(|error| error.to_string()).unwrap().args;
    let task = Task::from_args(&args).unwrap();
    assert_eq!(task.group_names().unwrap(), ["a", "b", OTHER]);
    let read = Arc::new(AtomicUsize::new(0));
    let reader = input::held(bytes, format, &task.columns()).unwrap();
    let mut reader = Watched(reader, Arc::clone(&read));
    let steps = gather_events(&task, task.buckets().unwrap().clone(), &mut reader).unwrap();
    (steps.flat_map(|step| step.totals).collect(), read.load(Ordering::Relaxed))
}

#[test]
fn all_forms_of_the_same_events_count_the_same() {
    let made = made();
    let mut other_order = made.clone();
    other_order.reverse();
    other_order.rotate_left(ROWS as usize / 3);
    for options in DECLARED {
        let (expected, by_rows) = totals(csv(&made, "\""), InputFormat::Csv, options);
        assert_eq!(by_rows, ROWS as usize, "{options}");
        assert!(expected.iter().any(|total| *total != Amount::default()), "{options}");
        let check = |bytes: Vec<u8>, format, is_bulk: bool| {
            let (totals, by_rows) = totals(bytes, format, options);
            assert!(totals == expected, "{options} as {format:?}");
            assert_eq!(by_rows, if is_bulk { 0 } else { ROWS as usize }, "{options} as {format:?}");
        };
        check(csv(&made, ""), InputFormat::Csv, true);
        check(csv(&other_order, ""), InputFormat::Csv, true);
        check(json_lines(&other_order), InputFormat::Jsonl, false);
        #[cfg(feature = "columnar")]
        for has_dictionary in [false, true] {
            let has_texts_of_ids = options.contains("--person") && options.contains("--id");
            check(parquet(&made, has_dictionary), InputFormat::Parquet, !has_texts_of_ids);
            check(parquet(&other_order, has_dictionary), InputFormat::Parquet, !has_texts_of_ids);
        }
    }
}
