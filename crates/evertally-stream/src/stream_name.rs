//! The name of what is counted.
//!
//! **Definition.** The columns that are read, and the range of time, as text.
//!
//! **Guarantee.** The name goes into the noise of a plan ([`evertally::PlanBuilder::stream`]): one noise key may serve several columns or ranges of time
//! without their sharing noise, and every program that counts the same thing makes the same noise. The text is therefore frozen: another one would
//! be other noise.

use crate::buckets::BucketLength;

/// The name of a counted stream: the columns of time, value, key, person and id, in this order, and the first moment and the length of the buckets,
/// where steps are buckets of time.
///
/// ```
/// use evertally_stream::stream_name;
/// let columns = [Some("when"), None, Some("page"), None, None];
/// let range = Some((1_700_000_000_000_000, "1h".parse()?));
/// assert_eq!(
///     stream_name(columns, range),
///     r#"[Some("when"), None, Some("page"), None, None] Some((1700000000000000, 3600000000))"#
/// );
/// # Ok::<(), evertally_stream::Error>(())
/// ```
#[must_use]
pub fn stream_name(columns: [Option<&str>; 5], range: Option<(i64, BucketLength)>) -> String {
    let range = range.map(|(from, every)| (from, every.micros()));
    format!("{columns:?} {range:?}")
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Names by which noise has been made. They must never change.
    #[test]
    fn the_text_is_frozen() {
        let every = |text: &str| text.parse::<BucketLength>().unwrap();
        for (columns, range, name) in [
            ([None; 5], None, "[None, None, None, None, None] None"),
            (
                [None, Some("value"), None, None, None],
                None,
                r#"[None, Some("value"), None, None, None] None"#,
            ),
            (
                [Some("t"), Some("v"), Some("k"), Some("p"), Some("i")],
                Some((-1, every("1w"))),
                r#"[Some("t"), Some("v"), Some("k"), Some("p"), Some("i")] Some((-1, 604800000000))"#,
            ),
            (
                [Some("a \"quoted\", name"), None, Some("tab\t\\"), Some("größe"), Some("")],
                Some((0, every("30s"))),
                r#"[Some("a \"quoted\", name"), None, Some("tab\t\\"), Some("größe"), Some("")] Some((0, 30000000))"#,
            ),
        ] {
            assert_eq!(stream_name(columns, range), name);
        }
    }
}
