//! Writes the seeds of all targets to `fuzz/seeds`: a few small inputs each, most of them valid. Those of
//! `arrow`, and Parquet with brotli, were written by pyarrow.

use std::error::Error;
use std::fs;
use std::path::PathBuf;
use std::sync::Arc;

use evertally::research::gamma::{Subject, gamma_2, gamma_f};
use evertally::{Matrix, Mechanism, Workload};
use evertally_cli::fuzz;
use parquet::data_type::{
    BoolType, ByteArray, ByteArrayType, DataType, DoubleType, FixedLenByteArray, FixedLenByteArrayType,
    FloatType, Int32Type, Int64Type, Int96, Int96Type,
};
use parquet::file::properties::WriterProperties;
use parquet::file::writer::{SerializedFileWriter, SerializedRowGroupWriter};
use parquet::schema::parser::parse_message_type;

type Outcome<T = ()> = Result<T, Box<dyn Error>>;

fn write(target: &str, name: &str, contents: impl AsRef<[u8]>) -> Outcome {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("../../fuzz/seeds").join(target);
    fs::create_dir_all(&folder)?;
    Ok(fs::write(folder.join(name), contents)?)
}

fn main() -> Outcome {
    texts()?;
    choices()?;
    arrays()?;
    write("parquet", "one-group", events(1)?)?;
    write("parquet", "two-groups", events(2)?)
}

fn texts() -> Outcome {
    for mechanism in Mechanism::ALL {
        write("names", mechanism.name(), mechanism.name())?;
    }
    let names =
        ["blt:6", "exact", "zcdp", "replace", "worst", "15m", "prefix-sum 9", "window:3 9", "decay:0.5 9"];
    for name in names.into_iter().chain(["identity 4", "parity:4,2"]) {
        write("names", &name.replace([':', ' '], "-"), name)?;
    }
    let csv =
        "time,region,amount\n2026-01-05T00:10:00Z,north,1\n1767571201,\"so\"\"uth\",-2.5e3\r\n2026-01-05,,\n";
    write("csv", "events", csv)?;
    write("csv", "marked", "\u{feff}amount , time,region\n9223372036854775807,2026-01-05 08:30,ü\n")?;
    let json = "{\"time\":1767571201,\"region\":\"no\\u0072th\",\"amount\":1e300}\n\n{\"amount\":null,\"x\":[{}],\"time\":\"2026-01-05T10:30:00+02:00\"}\n";
    write("jsonl", "events", json)?;
    write("jsonl", "repeated", "{\"region\":1,\"region\":true,\"amount\":18446744073709551616}\n")?;
    write(
        "jsonl",
        "array",
        "[{\"time\":1767601800,\"a\":{\"b\":{\"c\":2}}},\n {\"more\":{\"time\":\"2026-01-05\"}}]",
    )?;
    // Two rows, compressed.
    let packed = [
        (
            "gzip",
            &b"\x1f\x8b\x08\x00\x00\x00\x00\x00\x02\x03+\xc9\xccM\xd5)JM\xcf\xcc\xcf\xd3I\xcc\xcd/\xcd+\xe12202\
             \xd350\xd450\x0d1\xb0\xb026\xb020\x88\xd2\xc9\xcb/*\xc9\xd01F\x91\xb4\x84I\x16\xe7\x97\x02%\x8d\
             \xf4L\xb9\x00\xc9&\x94\x09O\x00\x00\x00"[..],
        ),
        (
            "zstd",
            &b"(\xb5/\xfd\x04X%\x02\x00\xa4\x03time,region,amount\x0a2026-01-05T08:30:00Z,north,39south,2.5\x0a\
             \x02\x00\x80\x10\x07\x87*\x03\xa5d\xc6\x0c"[..],
        ),
    ];
    for (name, bytes) in packed {
        write("csv", name, bytes)?;
    }
    write("matrix", "plain", "1,-2.5\n0,1e3\n")?;
    write("matrix", "headed", "\u{feff}a, b\r\n1,2\r\n3 , 4")?;
    let options = [
        ("time", "2026-01-05T08:30:00Z"),
        ("offset", "2026-01-05T09:30:00.123456+01:00[Europe/Paris]"),
        ("seconds", "-1767601800"),
        ("key", "5a5A5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5a5f"),
        ("keys", "north, south,other,west"),
        ("lines", "\u{feff}north\nsouth\r\n\n west \n"),
        ("clamp", "-1.5,1e3"),
        ("bytes", "512M"),
        ("unbounded", "unbounded"),
        ("condition", "status = 'paid' and not (n >= -1.5 or \"user.id\" in ('a', 2) or x is not null)"),
    ];
    for (name, text) in options {
        write("options", name, text)?;
    }
    let granted = r#"{"grant":{"time":"2026-01-05T08:30:00Z","population":"everyone","unit":"event","neighbours":"add-remove","total":{"concentrated":{"rho":1.0}}}}"#;
    let spent = r#"{"spend":{"time":"2026-01-05T09:00:00Z","population":"everyone","run":"count visits.csv","unit":"event","neighbours":"add-remove","mu_squared":0.3,"pure_epsilon":0.0,"variation":0.0}}"#;
    write("ledger", "records", [granted, spent].join("\n"))?;
    write("ledger", "whole", fuzz::sealed_budget_file(&[granted, spent, spent])?)?;
    let approximate = r#"{"approximate":{"epsilon":3.0,"delta":1e-6,"calibration":"exact","pure_part":0.5}}"#;
    write("ledger", "approximate", granted.replace(r#"{"concentrated":{"rho":1.0}}"#, approximate))?;
    let count = "count\nvisits.csv\n--time\ntime\n--every\n1h\n--from\n2026-01-05\n--horizon\n24\n--epsilon\n1\n--delta\n1e-6";
    write("command_line", "count", count)?;
    write(
        "command_line",
        "plan",
        "plan\n--horizon\nunbounded\n--epsilon\n1\n--delta\n1e-6\n--memory-limit\n4G",
    )?;
    write("command_line", "gamma", "research\ngamma\n--workload\nprefix-sum\n--horizon\n64\n--json")
}

/// Plans and steps: the first bytes choose the plan, and the others the operations on it.
fn choices() -> Outcome {
    let steps = [3, 1, 3, 120, 0, 3, 127, 3, 2, 1, 9, 3, 101];
    // Every fourth mechanism for running totals, and fewer for windows and decays. Mutation finds
    // the others.
    for mechanism in (0..24_u8).step_by(4).chain([9, 15, 17, 22]) {
        for (workload, name) in [(0, "sums"), (2, "window"), (3, "decay")] {
            if workload != 0 && ![0, 4, 15].contains(&mechanism) {
                continue;
            }
            // Nine steps, this workload and mechanism, no unusual options, an ordinary budget, one
            // number per step.
            let plan: &[u8] =
                &[7, workload, 0, mechanism, 0, if mechanism == 22 { 7 } else { 0 }, 0, 0, 0, 0];
            // Running totals have no parameter.
            let plan = if workload == 0 { &[&plan[..2], &plan[3..]].concat() } else { plan };
            let seed = |target: &str, before: &[u8], after: &[u8]| {
                write(target, &format!("{name}-{mechanism}"), [before, plan, after].concat())
            };
            seed("steps", &[], &[&[1][..], &steps].concat())?;
            seed("noise", &[], &[0, 0, 1, 9, 2, 5, 3, 0])?;
            seed("states", &[if workload == 3 { 3 } else { 0 }], &[0, 3, 1, 4, 1, 27, 6, 0])?;
            if workload != 2 {
                seed("open_keys", &[], &[5, 1, 1, 1, 3, 2, 1, 2, 0, 6, 1, 120])?;
            }
        }
    }
    Ok(())
}

fn arrays() -> Outcome {
    let file = |descr: &str, fortran: &str, shape: &str, data: &[u8]| {
        let header = format!("{{'descr': '{descr}', 'fortran_order': {fortran}, 'shape': {shape}, }}\n");
        let mut bytes = b"\x93NUMPY\x01\x00".to_vec();
        bytes.extend((header.len() as u16).to_le_bytes());
        bytes.extend(header.as_bytes());
        bytes.extend(data);
        bytes
    };
    write(
        "npy",
        "doubles",
        file("<f8", "False", "(2, 1)", &[1.5_f64.to_le_bytes(), 2.0_f64.to_le_bytes()].concat()),
    )?;
    write("npy", "columns", file(">i2", "True", "(2, 3)", &[0, 1, 0, 2, 0, 3, 0, 4, 0, 5, 255, 6]))?;
    write("npy", "complex", file("<c8", "False", "(1, 1)", &[0, 0, 128, 63, 0, 0, 0, 192]))?;
    write("npy", "list", file("|b1", "False", "(3,)", &[0, 1, 1]))?;
    write("npy", "empty", file("<f8", "True", "(99999999999, 0)", &[]))?;
    let sums = Subject::workload(Workload::PrefixSum, 5);
    let matrix = Subject::Real(Matrix::from_fn(3, 2, |i, j| (i + 2 * j) as f64 - 1.0));
    write("certificate", "sums", fuzz::certificate_bytes(&gamma_f(sums.clone(), 1e-6, &())?)?)?;
    write("certificate", "worst", fuzz::certificate_bytes(&gamma_2(sums, 1e-6, &())?)?)?;
    write("certificate", "matrix", fuzz::certificate_bytes(&gamma_f(matrix, 1e-6, &())?)?)?;
    // Entries with valid checksums: a prefix sum of three steps, with weights of one.
    write("certificate", "chosen", [3, 0, 0, 0, 120, 1, 1, 1, 1, 1, 1, 0])
}

const SCHEMA: &str = "message events {
    required int64 millis (TIMESTAMP(MILLIS,true));
    required int64 micros (TIMESTAMP(MICROS,true));
    required int64 nanos (TIMESTAMP(NANOS,true));
    required int96 old;
    required int32 day (DATE);
    required int64 seconds;
    optional binary name (STRING);
    required double decimal;
    required boolean flag;
    required fixed_len_byte_array(4) money (DECIMAL(8,2));
    required int64 unsigned (INTEGER(64,false));
    required binary raw;
    required float single;
    required int32 short (INTEGER(32,false));
}";

fn column<T: DataType>(
    group: &mut SerializedRowGroupWriter<'_, &mut Vec<u8>>,
    values: &[T::T],
    levels: Option<&[i16]>,
) -> Outcome {
    let mut column = group.next_column()?.ok_or("a column is missing")?;
    column.typed::<T>().write_batch(values, levels, None)?;
    Ok(column.close()?)
}

/// A Parquet file of every type, with two rows per group.
fn events(groups: usize) -> Outcome<Vec<u8>> {
    const MOMENT: i64 = 1_767_571_201;
    let mut bytes = Vec::new();
    let schema = Arc::new(parse_message_type(SCHEMA)?);
    let mut writer = SerializedFileWriter::new(&mut bytes, schema, Arc::new(WriterProperties::default()))?;
    for _ in 0..groups {
        let mut group = writer.next_row_group()?;
        for scale in [1_000, 1_000_000, 1_000_000_000] {
            column::<Int64Type>(&mut group, &[MOMENT * scale; 2], None)?;
        }
        let old = Int96::from(vec![1_000_000_000, 0, 2_461_046]);
        column::<Int96Type>(&mut group, &[old, old], None)?;
        column::<Int32Type>(&mut group, &[20_458; 2], None)?;
        column::<Int64Type>(&mut group, &[MOMENT; 2], None)?;
        column::<ByteArrayType>(&mut group, &[ByteArray::from("north")], Some(&[1, 0]))?;
        column::<DoubleType>(&mut group, &[2.5, f64::NAN], None)?;
        column::<BoolType>(&mut group, &[true, false], None)?;
        let money = FixedLenByteArray::from(vec![0xFF, 0xFF, 0xFF, 0x9C]);
        column::<FixedLenByteArrayType>(&mut group, &[money.clone(), money], None)?;
        column::<Int64Type>(&mut group, &[7, -1], None)?;
        column::<ByteArrayType>(&mut group, &[ByteArray::from("ok"), ByteArray::from(vec![0xFF])], None)?;
        column::<FloatType>(&mut group, &[1.5, f32::INFINITY], None)?;
        column::<Int32Type>(&mut group, &[7, -1], None)?;
        group.close()?;
    }
    writer.close()?;
    Ok(bytes)
}
