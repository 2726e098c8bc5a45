//! Parquet files that other programs write: other widths, dictionaries, nulls.

use std::fs::File;
use std::path::Path;
use std::sync::Arc;

use arrow_array::types::Int32Type;
use arrow_array::{
    ArrayRef, BooleanArray, DictionaryArray, Float32Array, Float64Array, Int8Array, Int32Array,
    Int64Array, LargeStringArray, RecordBatch, StringArray, TimestampMillisecondArray, UInt64Array,
};
use parquet::arrow::ArrowWriter;
use tidewatch_core::{Rate, Time};
use tidewatch_trace::read;

fn store(dir: &Path, name: &str, columns: Vec<(&str, ArrayRef)>) {
    let batch = RecordBatch::try_from_iter(columns).unwrap();
    let file = File::create(dir.join(name)).unwrap();
    let mut writer = ArrowWriter::try_new(file, batch.schema(), None).unwrap();
    writer.write(&batch).unwrap();
    writer.close().unwrap();
}

fn hosts() -> ArrayRef {
    let hosts: DictionaryArray<Int32Type> = ["h", "g", "h"].into_iter().collect();
    Arc::new(hosts)
}

/// Three pages, each column in a type that Tidewatch itself does not write.
fn pages() -> Vec<(&'static str, ArrayRef)> {
    vec![
        ("seed", Arc::new(BooleanArray::from(vec![true, false, false]))),
        ("page", Arc::new(Int32Array::from(vec![1, 2, 3]))),
        ("url", Arc::new(LargeStringArray::from(vec!["u", "v", "w"]))),
        ("host", hosts()),
        ("extra", Arc::new(TimestampMillisecondArray::from(vec![1, 2, 3]))),
        ("born", Arc::new(Int64Array::from(vec![0, 5, 10]))),
        ("died", Arc::new(Float32Array::from(vec![None, Some(12.5), None]))),
        ("is_source", Arc::new(Int8Array::from(vec![1, 0, 0]))),
        ("weight", Arc::new(UInt64Array::from(vec![None, Some(3), Some(0)]))),
    ]
}

#[test]
fn every_numeric_and_text_type_is_read() {
    let dir = tempfile::tempdir().unwrap();
    store(dir.path(), "pages.parquet", pages());
    // Mixed with a table in another format, and ids as floats.
    std::fs::write(dir.path().join("hosts.csv"), "host,max_rate\ng,2\n").unwrap();
    let clicks: Vec<(&str, ArrayRef)> = vec![
        ("page", Arc::new(Float64Array::from(vec![2.0, 3.0]))),
        ("at", Arc::new(StringArray::from(vec!["6.25", "11"]))),
        ("count", Arc::new(Int32Array::from(vec![4, 5]))),
    ];
    store(dir.path(), "clicks.parquet", clicks);
    let trace = read(dir.path()).unwrap();
    trace.check().unwrap();
    assert_eq!(trace.pages.iter().map(|page| page.id).collect::<Vec<_>>(), [1, 2, 3]);
    assert_eq!(trace.pages.iter().map(|page| page.weight).collect::<Vec<_>>(), [1.0, 3.0, 0.0]);
    assert_eq!(trace.pages.iter().map(|page| page.host).collect::<Vec<_>>(), [0, 1, 0]);
    assert_eq!(&*trace.pages[2].url, "w");
    assert_eq!(trace.pages[1].died, Time::from_seconds(12.5));
    assert!(trace.pages[0].is_seed && trace.pages[0].is_source && !trace.pages[1].is_seed);
    assert_eq!(trace.hosts[1].max_rate.map(Rate::as_per_second), Some(2.0));
    assert_eq!(trace.clicks.unwrap()[0].at, Time::from_micros(6_250_000));
}

/// The error when `column` of the pages is replaced by `values`.
fn refusal(column: &'static str, values: ArrayRef) -> String {
    let dir = tempfile::tempdir().unwrap();
    let mut columns = pages();
    columns.retain(|(name, _)| *name != column);
    columns.push((column, values));
    store(dir.path(), "pages.parquet", columns);
    let error = read(dir.path()).unwrap_err().to_string();
    error.replace(&format!("{}/", dir.path().display()), "")
}

#[test]
fn rows_and_columns_are_named() {
    let floats = |values: [f64; 3]| Arc::new(Float64Array::from(values.to_vec())) as ArrayRef;
    let time = "is not a time; write seconds since the start, like 86400 or 12.5";
    let id = "is not a page id; write a whole number from 0 to 18446744073709551615";
    let cases: Vec<(&'static str, ArrayRef, String)> = vec![
        ("born", floats([0.0, f64::NAN, 0.0]), format!("row 2, column 'born': 'NaN' {time}")),
        ("born", floats([0.0, 0.0, -1.0]), format!("row 3, column 'born': '-1' {time}")),
        ("died", floats([f64::INFINITY; 3]), format!("row 1, column 'died': 'inf' {time}")),
        ("page", floats([1.0, 2.5, 3.0]), format!("row 2, column 'page': '2.5' {id}")),
        (
            "page",
            Arc::new(Int64Array::from(vec![1, -2, 3])),
            format!("row 2, column 'page': '-2' {id}"),
        ),
        (
            "page",
            Arc::new(Int64Array::from(vec![1, 2, 1])),
            "row 3, column 'page': page 1 is given twice; ids must differ (the other is row 1)"
                .to_owned(),
        ),
        (
            "url",
            Arc::new(Int64Array::from(vec![1, 2, 3])),
            "row 1, column 'url': '1' is not text; store the column as strings".to_owned(),
        ),
        (
            "url",
            Arc::new(StringArray::from(vec![Some("u"), None, Some("w")])),
            "row 2, column 'url': the cell is empty; write the page's URL".to_owned(),
        ),
    ];
    for (column, values, expected) in cases {
        assert_eq!(refusal(column, values), format!("pages.parquet, {expected}"));
    }
}

#[test]
fn other_types_are_refused() {
    assert_eq!(
        refusal("born", Arc::new(TimestampMillisecondArray::from(vec![1, 2, 3]))),
        "pages.parquet: the column 'born' has the type Timestamp(ms); store numbers (times in \
         seconds), strings or booleans"
    );
}
