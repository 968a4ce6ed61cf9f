//! The OpenAPI document: what the routes say of themselves, and what all of them have in common.
//!
//! Handlers document what they answer when they succeed. Refusals follow from what a route takes,
//! and are added here, in one place: whatever needs a token may answer 401, 403 and 429, whatever
//! has a body 408, 413 and 415, and so on.

use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{
    Components, ContentBuilder, Info, OpenApi, OpenApiBuilder, Ref, RefOr, Required, Response,
    ResponseBuilder,
};

/// The name of the way in which tokens are sent.
const BEARER: &str = "bearer";

/// The document before any route is in it.
pub(crate) fn blank() -> OpenApi {
    let mut info = Info::new("Evertally", env!("CARGO_PKG_VERSION"));
    info.description = Some(
        "Running totals of sensitive streams under differential privacy, with the error of every number."
            .to_owned(),
    );
    let license = utoipa::openapi::LicenseBuilder::new().name("MIT OR Apache-2.0");
    info.license = Some(license.identifier(Some("MIT OR Apache-2.0")).build());
    let mut components = Components::new();
    components.add_security_scheme(BEARER, SecurityScheme::Http(Http::new(HttpAuthScheme::Bearer)));
    components
        .schemas
        .insert("ErrorBody".to_owned(), <crate::error::ErrorBody as utoipa::PartialSchema>::schema());
    let mut nested = Vec::new();
    <crate::error::ErrorBody as utoipa::ToSchema>::schemas(&mut nested);
    components.schemas.extend(nested);
    OpenApiBuilder::new().info(info).components(Some(components)).build()
}

/// Adds the refusals.
pub(crate) fn finish(mut document: OpenApi) -> OpenApi {
    for (path, item) in &mut document.paths.paths {
        let operations = [("get", &mut item.get), ("post", &mut item.post), ("delete", &mut item.delete)];
        for (method, operation) in
            operations.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
        {
            operation.operation_id = Some(identifier(method, path));
            refusals(path, operation);
        }
    }
    document
}

fn refusals(path: &str, operation: &mut Operation) {
    if operation.security.is_none() {
        return;
    }
    let parameters = operation.parameters.as_deref().unwrap_or_default();
    let is_named = parameters.iter().any(|parameter| match parameter {
        RefOr::T(parameter) => parameter.parameter_in == ParameterIn::Path,
        RefOr::Ref(_) => false,
    });
    let has_body = operation.request_body.is_some();
    let takes_something = has_body || !parameters.is_empty();
    let may_change =
        has_body || !operation.responses.responses.contains_key("200") || path.ends_with("/retire");
    let may_be_unsupported = may_change || path.ends_with("/sum");
    let all = [
        ("400", "Something in the request cannot be used.", takes_something),
        ("401", "There is no token, or it is malformed, unknown or expired.", true),
        ("403", "The token has another role.", true),
        ("404", "There is nothing of this name.", is_named || path == "/v1/counters" && has_body),
        ("408", "The body came too slowly.", has_body),
        ("409", "Not in the present state, or no budget or no step is left.", may_change),
        ("413", "The body is too large.", has_body),
        ("415", "The body is of another media type.", has_body),
        ("422", "Well formed, but nothing here can serve it.", may_be_unsupported),
        ("429", "The token asks too often.", true),
        ("500", "The service failed.", true),
        ("503", "Fenced, read-only or busy.", true),
    ];
    for (status, description, applies) in all {
        if applies {
            operation
                .responses
                .responses
                .entry(status.to_owned())
                .or_insert_with(|| RefOr::T(refusal(description)));
        }
    }
    if let Some(RefOr::T(body)) = &mut operation.request_body {
        // How many steps to advance need not be said.
        body.required = Some(if path.ends_with("/advance") { Required::False } else { Required::True });
    }
}

/// A name for programs that are made from the document, such as `get_counters_name_releases`.
fn identifier(method: &str, path: &str) -> String {
    let parts = path
        .split('/')
        .map(|part| part.trim_matches(['{', '}', '.']))
        .filter(|part| !matches!(*part, "" | "v1"));
    parts.fold(method.to_owned(), |name, part| format!("{name}_{part}"))
}

fn refusal(description: &str) -> Response {
    let content = ContentBuilder::new().schema(Some(Ref::from_schema_name("ErrorBody"))).build();
    ResponseBuilder::new().description(description).content("application/json", content).build()
}
