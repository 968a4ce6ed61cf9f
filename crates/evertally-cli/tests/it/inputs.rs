//! Inputs as people have them: compressed, with other delimiters, nested, in several files, and with
//! rows that cannot be read. All forms of the same events have the same releases.

use crate::common::{Place, Ran, TIMED, assert_near, column};
use arrow_array::types::Int8Type;
use arrow_array::{ArrayRef, DictionaryArray, Float64Array, RecordBatch, TimestampMillisecondArray};
use arrow_ipc::writer::{FileWriter, StreamWriter};
use flate2::Compression;
use flate2::write::GzEncoder;
use std::io::Write;
use std::sync::Arc;

/// Five events with keys and values.
const EVENTS: [(&str, &str, &str); 5] = [
    ("2026-01-05T00:10:00Z", "north", "1"),
    ("2026-01-05T00:20:00Z", "south", "4"),
    ("2026-01-05T02:30:00Z", "north", "2.5"),
    ("2026-01-05T02:30:00Z", "west", "3"),
    ("2026-01-05T03:59:59Z", "", "7"),
];

const KEYED: &str = "--group-by region --groups north,south --value amount --clamp 0,5";

fn separated(delimiter: &str) -> String {
    let line = |(time, region, amount): &(&str, &str, &str)| [*time, *region, *amount].join(delimiter);
    let header = ["time", "region", "amount"].join(delimiter);
    std::iter::once(header).chain(EVENTS.iter().map(line)).map(|line| line + "\n").collect()
}

fn objects() -> Vec<String> {
    let object = |(time, region, amount): &(&str, &str, &str)| {
        let region = if region.is_empty() { "null".to_owned() } else { format!("{region:?}") };
        format!(r#"{{"time":"{time}","region":{region},"amount":{amount}}}"#)
    };
    EVENTS.iter().map(object).collect()
}

fn gzip(text: &[u8]) -> Vec<u8> {
    let mut encoder = GzEncoder::new(Vec::new(), Compression::default());
    encoder.write_all(text).unwrap();
    encoder.finish().unwrap()
}

fn zstd(text: &[u8]) -> Vec<u8> {
    zstd::stream::encode_all(text, 3).unwrap()
}

/// The events as Arrow, with real times and keys in a dictionary.
fn arrow(is_stream: bool) -> Vec<u8> {
    let time = |text: &str| text.parse::<jiff::Timestamp>().unwrap().as_millisecond();
    let times = TimestampMillisecondArray::from_iter_values(EVENTS.iter().map(|(text, _, _)| time(text)));
    let keys = EVENTS.iter().map(|(_, key, _)| (!key.is_empty()).then_some(*key));
    let values: Float64Array = EVENTS.iter().map(|(_, _, amount)| amount.parse::<f64>().unwrap()).collect();
    let batch = RecordBatch::try_from_iter([
        ("time", Arc::new(times.with_timezone("UTC")) as ArrayRef),
        ("region", Arc::new(keys.collect::<DictionaryArray<Int8Type>>())),
        ("amount", Arc::new(values)),
    ]);
    let (batch, mut bytes) = (batch.unwrap(), Vec::new());
    if is_stream {
        let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).unwrap();
        writer.write(&batch).and_then(|()| writer.finish()).unwrap();
    } else {
        let mut writer = FileWriter::try_new(&mut bytes, &batch.schema()).unwrap();
        writer.write(&batch).and_then(|()| writer.finish()).unwrap();
    }
    bytes
}

/// A place with a key and one file, which is counted.
fn count(name: &str, contents: impl AsRef<[u8]>, options: &str) -> Ran {
    let place = Place::new();
    place.with_key().write(name, contents);
    place.run(&format!("count {name} {TIMED} --noise-key noise.key {options}"))
}

#[test]
fn all_forms_of_the_same_events_have_the_same_releases() {
    let csv = separated(",");
    let by_csv = count("in.csv", &csv, KEYED).ok().stdout;
    assert_near(&by_csv, &[1.0, 4.0, 0.0, 1.0, 4.0, 0.0, 3.5, 4.0, 3.0, 3.5, 4.0, 8.0]);
    let lines = objects().join("\n");
    let forms: Vec<(&str, Vec<u8>, &str)> = vec![
        ("in.tsv", separated("\t").into(), ""),
        ("in.tab", separated("\t").into(), ""),
        ("in.csv", separated(";").into(), "--delimiter ;"),
        ("in.txt", separated("|").into(), "--delimiter | --input-format csv"),
        ("in.csv", csv.replace('\n', "\r\n").into(), ""),
        ("in.csv", csv.replace("north", "\"north\"").into(), ""),
        ("in.csv.gz", gzip(csv.as_bytes()), ""),
        ("in.csv", gzip(csv.as_bytes()), ""),
        ("in.csv.zst", zstd(csv.as_bytes()), ""),
        ("in.jsonl.zst", zstd(lines.as_bytes()), ""),
        ("in.json", lines.clone().into(), ""),
        ("in.json", format!("\u{feff} [\n{}\n]\n", objects().join(",\n")).into(), ""),
        ("in.arrow", arrow(false), ""),
        ("in.feather", arrow(false), ""),
        ("in.arrows", arrow(true), ""),
        // A file says what it is, and a stream does not.
        ("in.dat", arrow(false), ""),
        ("in.dat", arrow(true), "--input-format arrow"),
        ("in.json.gz", gzip(format!("[{}]", objects().join(",")).as_bytes()), ""),
    ];
    for (name, contents, options) in forms {
        let ran = count(name, contents, &format!("{KEYED} {options}")).ok();
        assert_eq!(ran.stdout, by_csv, "{name} {options}");
    }
    let place = Place::new();
    let line = format!("count - {TIMED} --noise-key noise.key {KEYED}");
    let from_input = place.with_key().run_with_input(&line, gzip(csv.as_bytes())).ok().stdout;
    assert_eq!(from_input, by_csv);
    for is_stream in [false, true] {
        place.forget_uses();
        let stream = arrow(is_stream);
        let from_input = place.run_with_input(&format!("{line} --input-format arrow"), &stream).ok().stdout;
        assert_eq!(from_input, by_csv);
        place.run_with_input(&line, &stream).refused(&["--input-format arrow"]);
    }
}

#[test]
fn members_are_named_by_their_path() {
    let nested = |(time, region, amount): &(&str, &str, &str)| {
        format!(r#"{{"at":{{"time":"{time}"}},"a.b":{{"region":"{region}"}},"n.x":{amount},"n":{{"x":99}}}}"#)
    };
    let lines: Vec<String> = EVENTS.iter().map(nested).collect();
    let place = Place::new();
    place.write("in.jsonl", lines.join("\n"));
    let timed = TIMED.replace("--time time", "--time at.time");
    let options = r"--group-by a\.b.region --groups north,south --value n.x --clamp 0,5";
    let csv = place.run(&format!("count in.jsonl {timed} {options}")).ok().stdout;
    assert_near(&csv, &[1.0, 4.0, 0.0, 1.0, 4.0, 0.0, 3.5, 4.0, 3.0, 3.5, 4.0, 8.0]);
}

/// Half of a file was once a file.
#[test]
fn files_that_are_cut_short_release_nothing() {
    let long = separated(",").into_bytes();
    let [gzip, zstd] = [gzip(&long), zstd(&long)];
    let array = format!("[{}]", objects().join(",")).into_bytes();
    for (name, whole, part) in [
        ("in.csv.gz", gzip, "gzip data are cut short or damaged"),
        ("in.csv.zst", zstd, "zstd data are cut short or damaged"),
        ("in.json", array, "ends before its JSON array does"),
    ] {
        let place = Place::new();
        place.write(name, &whole[..whole.len() - 3]);
        place.run(&format!("count {name} {TIMED} --output out.csv")).refused(&[name, part]);
        assert_eq!(place.files(), [name]);
    }
    count("in.csv.gz", gzip_followed(), "--follow").refused(&["cannot be followed"]);
    // Without the end of a line, the run waited for one.
    for start in [&b"\x1f\x8b\x08\0\0\0"[..], b"\x28\xb5\x2f\xfd\0"] {
        count("in.csv", start, "--follow").refused(&["cannot be followed"]);
    }
    count("in.parquet.gz", "", "").refused(&["compressed inside"]);
    count("in.feather.zst", "", "").refused(&["compressed inside"]);
    count("in.arrow", arrow(false), "--follow").refused(&["Arrow file cannot be followed"]);
    count("in.arrow", "", "").refused(&["empty", "Arrow"]);
    count("in.csv", arrow(true), "").refused(&["not text but Arrow"]);
    count("in.csv", b"\xff\xfet\0i\0", "").refused(&["UTF-16"]);
    count("in.jsonl", "{}", "--delimiter ;").refused(&["--delimiter"]);
    count("in.csv", "", "--delimiter ab").refused(&["--delimiter", "one character"]);
}

fn gzip_followed() -> Vec<u8> {
    gzip(separated(",").as_bytes())
}

#[test]
fn several_files_are_one_input_in_any_order() {
    let place = Place::new();
    place.with_key().write("in.csv", separated(","));
    let options = format!("{TIMED} --noise-key noise.key {KEYED}");
    let by_one = place.run(&format!("count in.csv {options}")).ok().stdout;
    let header = "time,region,amount\n";
    for (number, (time, region, amount)) in EVENTS.iter().enumerate() {
        place.write(&format!("part-{number}.csv"), format!("{header}{time},{region},{amount}\n"));
    }
    place.write("part-1.csv.gz", gzip(&place.read("part-1.csv")));
    std::fs::remove_file(place.path("part-1.csv")).unwrap();
    for files in
        ["part-*.csv part-*.gz", "part-*", "part-4.csv part-1.csv.gz part-0.csv part-3.csv part-2.csv"]
    {
        let by_many = place.run(&format!("count {files} {options}")).ok().stdout;
        assert_eq!(by_many, by_one, "{files}");
    }
    // A name with the letters of a pattern is a name if there is such a file.
    place.write("part-[0].csv", separated(","));
    assert_eq!(place.run(&format!("count part-[0].csv {options}")).ok().stdout, by_one);
}

#[test]
fn files_are_refused_by_their_own_names() {
    let place = Place::new();
    place.write("a.csv", "time\n2026-01-05T00:10:00Z\n").write("b.csv", "when\n").write("c.csv", "time\nx\n");
    place.write("d.jsonl", "{\"time\":\"x\"}\n");
    let count = |files: &str, options: &str| place.run(&format!("count {files} {TIMED} {options}"));
    count("a.csv b.csv", "").refused(&["b.csv has no column \"time\""]);
    count("a.csv c.csv", "").refused(&["c.csv, line 2, column \"time\""]);
    count("a.csv d.jsonl", "").refused(&["d.jsonl, line 1, column \"time\""]);
    count("a.csv ./a.csv", "").refused(&["./a.csv is given twice"]);
    count("a.csv a.*", "").refused(&["given twice"]);
    count("- -", "").refused(&["given twice"]);
    count("x*.csv", "").refused(&["no file matches \"x*.csv\""]);
    count("a.csv absent.csv", "").refused(&["absent.csv", "no such file"]);
    count("a.csv b.csv", "--follow").refused(&["--follow", "one file"]);
    count("a.csv b.csv", "--output b.csv --force").refused(&["b.csv", "cannot be an output"]);
}

#[cfg(unix)]
#[test]
fn a_file_name_with_a_line_end_breaks_no_message() {
    let place = Place::new();
    let name = "in\n2026.csv";
    place.write(name, separated(","));
    let run = |name: &str, options: &str| {
        let mut command = place.command("count");
        command.arg(name).args(TIMED.split_whitespace()).args(options.split_whitespace());
        Ran::of(command.output().unwrap())
    };
    assert_near(&run(name, "").ok().stdout, &[2.0, 2.0, 4.0, 5.0]);
    run(name, "--group-by town --groups a").refused(&["no column \"town\""]);
    run("absent\nfile.csv", "").refused(&["no such file"]);
    run("absent\nfile", "").refused(&["cannot be recognised"]);
    // It stands in titles of plots and in budget files.
    assert_eq!(run(name, "--plot out.svg --output out\u{7}.csv").ok().stdout, "");
}

#[test]
fn conditions_choose_rows_and_name_their_noise() {
    for (condition, totals) in [
        ("amount > 2", [1.0, 1.0, 3.0, 4.0]),
        ("region = 'north'", [1.0, 1.0, 2.0, 2.0]),
        ("region is null or amount<=1", [1.0, 1.0, 1.0, 2.0]),
        ("not region in ('north', 'west')", [1.0, 1.0, 1.0, 2.0]),
    ] {
        let place = Place::new();
        place.write("in.csv", separated(","));
        let mut command = place.command(&format!("count in.csv {TIMED}"));
        let ran = Ran::of(command.args(["--where", condition]).output().unwrap()).ok();
        assert_near(&ran.stdout, &totals);
        assert!(ran.stdout.contains("# where: "), "{}", ran.stdout);
    }
    let header = |options: &str| count("in.csv", separated(","), options).ok().stdout;
    assert_eq!(header("--where amount>2"), header("--where (amount>+2)"));
    assert!(header("--where amount>2").contains("# where: \"amount\" > 2\n"));
    // All rows count either way, and the noise is another.
    let timed = |options: &str| {
        let place = Place::new();
        place.with_key().write("in.csv", separated(","));
        let options = format!("{} {options}", TIMED.replace("1000 --delta 0.4", "0.1 --delta 1e-6"));
        column(&place.run(&format!("count in.csv {options} --noise-key noise.key")).ok().stdout, "estimate")
    };
    assert_ne!(timed(""), timed("--where amount>0"));
    assert_ne!(timed("--where amount>-1"), timed("--where amount>0"));
    count("in.csv", separated(","), "--where amount>").refused(&["--where", "at the end"]);
    count("in.csv", separated(","), "--where town=1").refused(&["no column \"town\""]);
    count("in.csv", separated(","), "--where region=1").refused(&["line 2, column \"region\"", "a number"]);
    let place = Place::new();
    place.write("in.csv", "n\n1\n");
    place.run("count in.csv --value n --epsilon 1 --delta 1e-6 --where n>0").refused(&["--time"]);
}

#[test]
fn bad_rows_are_refused_or_left_out() {
    let good = separated(",");
    let bad =
        ["soon,north,1\n", "2026-01-05T00:10:00Z,north\n", "2026-01-05T00:10:00Z,north,many\n", "1,2,3,4\n"];
    for (number, line) in bad.iter().enumerate() {
        count("in.csv", good.clone() + line, KEYED).refused(&["line 7"]);
        let ran = count(
            "in.csv",
            good.clone() + line + &good[good.find('\n').unwrap() + 1..],
            &format!("{KEYED} --skip-bad-rows"),
        );
        assert_eq!((ran.code, ran.stderr.lines().count()), (Some(0), 1), "{number}: {}", ran.stderr);
        assert!(ran.stderr.contains("1 row cannot be read"), "{}", ran.stderr);
        assert!(ran.stdout.contains("# bad_rows: left out\n"), "{}", ran.stdout);
        assert_near(&ran.stdout, &[2.0, 8.0, 0.0, 2.0, 8.0, 0.0, 7.0, 8.0, 6.0, 7.0, 8.0, 16.0]);
    }
    // Without a bad row, the noise is the same, and the header says what would have happened.
    let ran = count("in.csv", &good, &format!("{KEYED} --skip-bad-rows")).ok().stdout;
    assert_eq!(ran.replace("# bad_rows: left out\n", ""), count("in.csv", &good, KEYED).ok().stdout);
    let lines = format!("{}\nno json\n[1]\n\u{0}\n", objects().join("\n"));
    let ran = count("in.jsonl", lines, &format!("{KEYED} --skip-bad-rows"));
    assert!(ran.code == Some(0) && ran.stderr.contains("3 rows"), "{}", ran.stderr);
    // A quote that is never closed has swallowed the rows of others.
    let open = good.replace("west", "\"west");
    count("in.csv", &open, &format!("{KEYED} --skip-bad-rows")).refused(&["line 5"]);
}

/// Unix seconds as floats: those of 64 bits are read, and those of 32 bits would be minutes wrong.
#[test]
fn float_times_are_unix_seconds_if_they_are_fine_enough() {
    use parquet::data_type::{DoubleType, FloatType};
    use parquet::file::writer::SerializedFileWriter;
    use parquet::schema::parser::parse_message_type;
    let schema = "message events { required double time; required float short; }";
    let schema = parse_message_type(schema).unwrap().into();
    let seconds = [1_767_571_800.5, 1_767_572_400.0, 1_767_580_200.0];
    let mut bytes = Vec::new();
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Default::default()).unwrap();
    let mut group = writer.next_row_group().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<DoubleType>().write_batch(&seconds, None, None).unwrap();
    column.close().unwrap();
    let mut column = group.next_column().unwrap().unwrap();
    column.typed::<FloatType>().write_batch(&seconds.map(|time| time as f32), None, None).unwrap();
    column.close().unwrap();
    group.close().unwrap();
    writer.close().unwrap();
    assert_near(&count("in.parquet", &bytes, "").ok().stdout, &[2.0, 2.0, 3.0, 3.0]);
    let place = Place::new();
    place.write("in.parquet", &bytes);
    let timed = TIMED.replace("--time time", "--time short");
    place.run(&format!("count in.parquet {timed}")).refused(&["row 1", "looks like Unix seconds", "64 bits"]);
}
