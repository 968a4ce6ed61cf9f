//! What a name is.
//!
//! **Definition.** A person or an id has a name if the text is there and holds at least one
//! character that is not whitespace, in Unicode's sense. Every face asks this function, so that all
//! of them draw the line in one place.
//!
//! **Guarantee.** Nothing without a name is somebody. Two events without a person may be two
//! people's; if they shared the contribution bound of one empty name, removing one would let the
//! other in, and one person's change would be a replacement at another step. That costs more than
//! the plan accounts for.

/// The name, unchanged, if the text is one.
///
/// ```
/// use evertally_stream::given_name;
/// assert_eq!(given_name(Some(" p1 ")), Some(" p1 "));
/// assert_eq!([None, Some(""), Some(" \t\u{a0}")].map(given_name), [None; 3]);
/// ```
#[must_use]
pub fn given_name(text: Option<&str>) -> Option<&str> {
    text.filter(|text| !text.trim().is_empty())
}
