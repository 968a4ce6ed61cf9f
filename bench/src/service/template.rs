//! Prepared requests in which only the ids change.

use crate::Target;

/// The number of digits of an id.
const DIGITS: usize = 16;
const BLANK: &str = "0000000000000000";

/// A kind of request.
#[derive(Clone, Copy, Debug)]
pub(crate) struct RequestKind {
    pub(crate) name: &'static str,
    pub(crate) kind: &'static str,
    pub(crate) events: usize,
    pub(crate) connections: usize,
}

/// A request with places for ids.
#[derive(Clone)]
pub(crate) struct Template {
    bytes: Vec<u8>,
    ids: Vec<usize>,
}

impl Template {
    pub(crate) fn new(target: &Target, counter: &str, request: &RequestKind) -> Self {
        let event = format!(r#"{{"id":"{BLANK}"}}"#);
        let events = vec![event; request.events];
        let body = match (request.kind, request.events) {
            ("application/x-ndjson", _) => events.join("\n") + "\n",
            (_, 1) => events.concat(),
            _ => format!("[{}]", events.join(",")),
        };
        let request = format!(
            "POST /v1/counters/{counter}/events HTTP/1.1\r\nhost: {}\r\nauthorization: Bearer {}\r\ncontent-type: {}\r\ncontent-length: {}\r\n\r\n{body}",
            target.address,
            target.token,
            request.kind,
            body.len(),
        );
        let ids = request.match_indices(BLANK).map(|(at, _)| at).collect();
        Self { bytes: request.into_bytes(), ids }
    }

    /// The request with consecutive ids from `first`.
    pub(crate) fn with_ids_from(&mut self, first: u64) -> &[u8] {
        for (id, at) in (first..).zip(&self.ids) {
            let mut rest = id;
            for digit in self.bytes[*at..at + DIGITS].iter_mut().rev() {
                *digit = b'0' + (rest % 10) as u8;
                rest /= 10;
            }
        }
        &self.bytes
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ids_are_filled_in_one_after_another() {
        let target = Target { address: ([127, 0, 0, 1], 80).into(), token: "evt_x".to_owned() };
        let request = RequestKind { name: "", kind: "application/json", events: 3, connections: 1 };
        let mut template = Template::new(&target, "c", &request);
        let text = String::from_utf8(template.with_ids_from(98).to_vec()).unwrap();
        let (_, body) = text.split_once("\r\n\r\n").unwrap();
        assert_eq!(
            body,
            r#"[{"id":"0000000000000098"},{"id":"0000000000000099"},{"id":"0000000000000100"}]"#
        );
        assert!(text.contains(&format!("content-length: {}\r\n", body.len())));
    }
}
