//! How a request is refused: a class, one sentence, and the status that follows from the class.
//!
//! **Definition.** Every refusal becomes a [`Problem`], whether it comes from the ledger, the library
//! or the reading of a body. **Guarantee.** The body is always
//! `{"error":{"class","message","field"}}`. A program decides by the class and the field; the message
//! is for people. Messages are one line of at most [`MAX_MESSAGE_CHARS`] characters. They never repeat
//! what a client sent as JSON: [`Problem::from_json`] keeps the place and what was expected, and drops
//! what was found.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use evertally_ledger::Error;
use serde::Serialize;
use utoipa::ToSchema;

/// The longest message, in characters.
const MAX_MESSAGE_CHARS: usize = 400;

/// Classes and their statuses. The ledger and the library name their own classes.
const STATUSES: [(&str, StatusCode); 18] = [
    ("bad-parameter", StatusCode::BAD_REQUEST),
    ("unauthorized", StatusCode::UNAUTHORIZED),
    ("forbidden", StatusCode::FORBIDDEN),
    ("not-found", StatusCode::NOT_FOUND),
    ("method-not-allowed", StatusCode::METHOD_NOT_ALLOWED),
    ("timeout", StatusCode::REQUEST_TIMEOUT),
    ("conflict", StatusCode::CONFLICT),
    ("horizon-spent", StatusCode::CONFLICT),
    ("budget-spent", StatusCode::CONFLICT),
    ("too-large", StatusCode::PAYLOAD_TOO_LARGE),
    ("unsupported-media-type", StatusCode::UNSUPPORTED_MEDIA_TYPE),
    ("unsupported", StatusCode::UNPROCESSABLE_ENTITY),
    ("too-many-requests", StatusCode::TOO_MANY_REQUESTS),
    ("fenced", StatusCode::SERVICE_UNAVAILABLE),
    ("read-only", StatusCode::SERVICE_UNAVAILABLE),
    ("busy", StatusCode::SERVICE_UNAVAILABLE),
    ("bad-state", StatusCode::INTERNAL_SERVER_ERROR),
    ("system", StatusCode::INTERNAL_SERVER_ERROR),
];

/// What a handler answers.
pub(crate) type Result<T> = std::result::Result<T, Problem>;

/// Why a request is refused.
#[derive(Debug)]
pub(crate) struct Problem {
    class: &'static str,
    message: String,
    /// The field of the request that must change, by its name in the OpenAPI document.
    field: Option<String>,
    retry_after: Option<u32>,
}

impl Problem {
    fn new(class: &'static str, message: impl Into<String>) -> Self {
        Self { class, message: message.into(), field: None, retry_after: None }
    }

    pub(crate) fn bad(message: impl Into<String>) -> Self {
        Self::new("bad-parameter", message)
    }

    /// Refuses the value of one field of the request.
    pub(crate) fn bad_field(field: &str, expected: impl std::fmt::Display) -> Self {
        Self { field: Some(field.to_owned()), ..Self::bad(format!("{field} must be {expected}")) }
    }

    /// Names the field that the refusal is about, by the parameter that the ledger named or, without
    /// one, by the class.
    pub(crate) fn about(self, fields: &[(&str, &str)]) -> Self {
        let cause = self.field.as_deref().unwrap_or(self.class);
        match fields.iter().find(|(of, _)| *of == cause) {
            Some((_, field)) => Self { field: Some((*field).to_owned()), ..self },
            None => self,
        }
    }

    pub(crate) fn unauthorized(message: &'static str) -> Self {
        Self::new("unauthorized", message)
    }

    pub(crate) fn forbidden(message: impl Into<String>) -> Self {
        Self::new("forbidden", message)
    }

    pub(crate) fn not_found(message: impl Into<String>) -> Self {
        Self::new("not-found", message)
    }

    pub(crate) fn method_not_allowed() -> Self {
        Self::new(
            "method-not-allowed",
            "this path does not accept that method: the Allow header lists the methods it accepts",
        )
    }

    pub(crate) fn timeout() -> Self {
        Self::new("timeout", "the body arrived too slowly: the service stopped reading it")
    }

    pub(crate) fn too_large(message: impl Into<String>) -> Self {
        Self::new("too-large", message)
    }

    pub(crate) fn media_type(message: impl Into<String>) -> Self {
        Self::new("unsupported-media-type", message)
    }

    pub(crate) fn too_many_requests(seconds: u32) -> Self {
        let problem =
            Self::new("too-many-requests", "this token sends more requests than the service allows");
        Self { retry_after: Some(seconds), ..problem }
    }

    /// The service has no room for further work. The client may try again.
    pub(crate) fn busy() -> Self {
        Self { retry_after: Some(1), ..Self::new("busy", "the service is too busy: try again in a moment") }
    }

    pub(crate) fn system(message: impl Into<String>) -> Self {
        Self::new("system", message)
    }

    /// Says where JSON is wrong, and what was expected there.
    pub(crate) fn from_json(error: &serde_json::Error) -> Self {
        Self::bad(json_fault(error, &format!("line {}, column {}", error.line(), error.column())))
    }

    /// Says where one line of NDJSON is wrong, and what was expected there.
    pub(crate) fn from_json_line(error: &serde_json::Error) -> Self {
        Self::bad(json_fault(error, &format!("column {}", error.column())))
    }

    /// Puts words before the message.
    pub(crate) fn prefixed(mut self, prefix: &str) -> Self {
        self.message = format!("{prefix}{}", self.message);
        self
    }

    /// Puts words after the message.
    pub(crate) fn followed_by(mut self, suffix: &str) -> Self {
        self.message.push_str(suffix);
        self
    }

    pub(crate) fn status(&self) -> StatusCode {
        let found = STATUSES.iter().find(|(class, _)| *class == self.class);
        found.map_or(StatusCode::INTERNAL_SERVER_ERROR, |(_, status)| *status)
    }

    pub(crate) fn body(&self) -> ErrorBody {
        let plain = self.message.chars().map(|c| if c.is_control() { '\u{fffd}' } else { c });
        ErrorBody {
            error: ErrorDetail {
                class: self.class.to_owned(),
                message: plain.take(MAX_MESSAGE_CHARS).collect(),
                field: self.field.clone(),
            },
        }
    }
}

impl From<Error> for Problem {
    fn from(error: Error) -> Self {
        let field = error.parameter().and_then(field_of).map(str::to_owned);
        let problem = Self { field, ..Self::new(error.class().name(), error.to_string()) };
        match problem.status() {
            // People lift fences and repair storage, so trying again every second is useless.
            StatusCode::SERVICE_UNAVAILABLE => Self { retry_after: Some(60), ..problem },
            _ => problem,
        }
    }
}

impl From<evertally::Error> for Problem {
    fn from(error: evertally::Error) -> Self {
        Self::from(Error::from(error))
    }
}

impl From<evertally_stream::Error> for Problem {
    fn from(error: evertally_stream::Error) -> Self {
        Self::from(Error::from(error))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let status = self.status();
        let mut response = crate::reply::json(status, &self.body());
        let headers = response.headers_mut();
        if let Some(seconds) = self.retry_after {
            headers.insert(header::RETRY_AFTER, HeaderValue::from(seconds));
        }
        match status {
            StatusCode::UNAUTHORIZED => {
                headers
                    .insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer realm=\"evertally\""));
            }
            // The rest of the body was not read, so the connection cannot carry another request.
            StatusCode::REQUEST_TIMEOUT | StatusCode::PAYLOAD_TOO_LARGE => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("close"));
            }
            _ => {}
        }
        response
    }
}

/// The body of every refusal.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
pub(crate) struct ErrorBody {
    error: ErrorDetail,
}

/// What was refused, and why.
#[derive(Debug, Serialize, ToSchema)]
#[serde(deny_unknown_fields)]
struct ErrorDetail {
    /// The class of the refusal. Programs decide by it.
    #[schema(pattern = "^[a-z]+(-[a-z]+)*$", example = "bad-parameter")]
    class: String,
    /// One sentence for people.
    message: String,
    /// The field of the request that must change, when the refusal is about one field.
    #[schema(required)]
    field: Option<String>,
}

/// The field of a request that a parameter of the ledger or the library comes from. Parameters that
/// have no field of their own have none.
fn field_of(parameter: &'static str) -> Option<&'static str> {
    match parameter {
        "budget" => Some("epsilon"),
        "horizon" | "the number of steps" => Some("steps"),
        "a key" | "the set of keys" => Some("keys"),
        "the clamp" | "contribution" | "range" => Some("clamp"),
        "window" | "decay" => Some("workload"),
        "start and grace" => Some("start"),
        phrase if phrase.contains(' ') => None,
        name => Some(name),
    }
}

/// The JSON reader's message without what it read. The reader repeats strings, numbers and the names
/// of unknown fields.
fn json_fault(error: &serde_json::Error, place: &str) -> String {
    use serde_json::error::Category;
    match error.classify() {
        Category::Eof => format!("the JSON ends too early, at {place}"),
        Category::Syntax | Category::Io => format!("this is not valid JSON, from {place} on"),
        Category::Data => {
            let text = error.to_string();
            let text = text.rsplit_once(" at line ").map_or(text.as_str(), |(text, _)| text);
            let ours = text.starts_with("missing field `") || text.starts_with("duplicate field `");
            let unknown = if text.starts_with("unknown field `") { "unknown field, " } else { "" };
            match text.rsplit_once(", expected ") {
                _ if ours => format!("{text}, at {place}"),
                Some((_, expected)) => format!("{unknown}expected {}, at {place}", in_words(expected)),
                None => format!("something else was expected at {place}"),
            }
        }
    }
}

/// What the reader expected, for people who do not know Rust.
fn in_words(expected: &str) -> &str {
    match expected {
        "f64" => "a number",
        "u64" | "usize" => "a non-negative integer",
        _ if expected.starts_with("struct ") => "an object",
        other => other,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde::Deserialize;

    #[derive(Debug, Deserialize)]
    #[serde(deny_unknown_fields)]
    #[allow(dead_code, reason = "only how it fails to be read matters")]
    struct Sample {
        number: u64,
        word: Option<String>,
    }

    fn fault(text: &str) -> String {
        let error = serde_json::from_str::<Sample>(text).unwrap_err();
        Problem::from_json(&error).message
    }

    #[test]
    fn what_was_sent_is_not_repeated() {
        for text in [
            r#"{"number":"canary"}"#,
            r#"{"canary":1}"#,
            r#"{"number":1,"word":{"canary":1}}"#,
            r#"{"number":"x, expected canary at line 3"}"#,
            r#"{"canary, expected 1":1}"#,
            r#""canary""#,
            r#"{"number":1,"word":canary}"#,
        ] {
            assert!(!fault(text).contains("canary"), "{text}: {}", fault(text));
        }
        assert!(!fault(r#"{"number":-4711}"#).contains("4711"));
    }

    #[test]
    fn what_was_expected_is_said_with_its_place() {
        assert_eq!(fault("{}"), "missing field `number`, at line 1, column 2");
        assert_eq!(fault(r#"{"number":"x"}"#), "expected a non-negative integer, at line 1, column 13");
        assert_eq!(fault(r#"{"x":1}"#), "unknown field, expected `number` or `word`, at line 1, column 4");
        assert!(fault("{").starts_with("the JSON ends too early"));
        assert!(fault("}").starts_with("this is not valid JSON"));
    }

    #[test]
    fn every_class_of_the_contract_has_its_status() {
        assert_eq!(Problem::busy().status(), 503);
        assert_eq!(Problem::from(Error::Fenced { reason: String::new() }).status(), 503);
        assert_eq!(Problem::from(evertally::Error::HorizonSpent { horizon: 1 }).status(), 409);
        assert_eq!(Problem::from(evertally::Error::unsupported("x", "y")).status(), 422);
        assert_eq!(Problem::from(Error::Damaged { reason: String::new() }).status(), 500);
        let long = Problem::bad("\u{1b}".repeat(9_999)).body().error.message;
        assert_eq!(long.chars().count(), MAX_MESSAGE_CHARS);
        assert!(!long.contains('\u{1b}'));
    }
}
