//! What a name is.
//!
//! **Definition.** The name of a person, an id or a key is the text without the whitespace around
//! it, in Unicode's sense. A text of nothing but whitespace is no name. Every face calls this
//! function and no reader trims by itself, so all of them draw the line in one place. Spark trims the
//! same characters in an expression of its own.
//!
//! **Guarantee.** `"ann"` and `"ann "` are one person, except in ledgers of version 0.1. Nothing
//! without a name is somebody: two events without a person may be two people's. If they shared the
//! contribution bound of one empty name, removing one would let the other in, and one person's
//! change would be a replacement at another step. That costs more than the plan accounts for.

/// The name in a text, if there is one.
///
/// ```
/// use evertally_stream::given_name;
/// assert_eq!(given_name(Some(" p\u{a0}1 \t")), Some("p\u{a0}1"));
/// assert_eq!([None, Some(""), Some(" \t\u{a0}")].map(given_name), [None; 3]);
/// ```
#[must_use]
pub fn given_name(text: Option<&str>) -> Option<&str> {
    text.map(str::trim).filter(|name| !name.is_empty())
}
