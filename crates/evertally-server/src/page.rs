//! The page: files that are embedded in the program, and the headers that protect it.
//!
//! **Guarantee.** Nothing is read from disk or from another host. The headers of every answer allow a
//! browser to load from this service only, and forbid other pages to frame it.

use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;
use std::hash::{DefaultHasher, Hasher};

/// The path, media type and content of each file.
const FILES: [(&str, &str, &[u8]); 7] = [
    ("/", "text/html; charset=utf-8", include_bytes!("../page/index.html")),
    ("/app.js", "text/javascript; charset=utf-8", include_bytes!("../page/app.js")),
    ("/app.css", "text/css; charset=utf-8", include_bytes!("../page/app.css")),
    ("/icon.svg", "image/svg+xml", include_bytes!("../page/icon.svg")),
    ("/latin.woff2", "font/woff2", include_bytes!("../page/latin.woff2")),
    ("/greek.woff2", "font/woff2", include_bytes!("../page/greek.woff2")),
    ("/licenses.txt", "text/plain; charset=utf-8", include_bytes!("../page/licenses.txt")),
];

/// The headers of every answer. An answer may override them.
const HEADERS: [(HeaderName, &str); 4] = [
    (header::CONTENT_SECURITY_POLICY, "default-src 'self'; frame-ancestors 'none'; base-uri 'none'"),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::CACHE_CONTROL, "no-store"),
];

/// The routes of the page.
pub(crate) fn routes<S: Clone + Send + Sync + 'static>() -> axum::Router<S> {
    FILES.into_iter().fold(axum::Router::new(), |router, (path, media_type, content)| {
        let tag = HeaderValue::from_str(&tag(content)).unwrap_or(HeaderValue::from_static("\"page\""));
        router.route(
            path,
            get(move |headers: HeaderMap| async move { file(&headers, media_type, content, tag) }),
        )
    })
}

fn file(headers: &HeaderMap, media_type: &'static str, content: &'static [u8], tag: HeaderValue) -> Response {
    let is_known = headers.get(header::IF_NONE_MATCH) == Some(&tag);
    let caching = [(header::ETAG, tag), (header::CACHE_CONTROL, HeaderValue::from_static("no-cache"))];
    if is_known {
        return (StatusCode::NOT_MODIFIED, caching).into_response();
    }
    let kind = [(header::CONTENT_TYPE, HeaderValue::from_static(media_type))];
    (kind, caching, Body::from(content)).into_response()
}

/// A tag that differs for different contents.
fn tag(content: &[u8]) -> String {
    let mut hasher = DefaultHasher::new();
    hasher.write(content);
    format!("\"{:016x}\"", hasher.finish())
}

/// Adds the headers of every answer.
pub(crate) fn add_headers(response: &mut Response) {
    let headers = response.headers_mut();
    for (name, value) in HEADERS {
        headers.entry(name).or_insert(HeaderValue::from_static(value));
    }
}
