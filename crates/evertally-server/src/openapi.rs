//! The OpenAPI document: what the routes say about themselves, and what all of them share.
//!
//! A handler documents the answers that are its own. The refusals that follow from the form of a
//! route are added here: a route with a token may answer 401, 403 and 429, a route with a body 408, 413
//! and 415, and so on. No rule names a path, so a new route needs no line in this file.

use crate::error::ErrorBody;
use crate::model::release::LiveStep;
use utoipa::ToSchema;
use utoipa::openapi::path::{Operation, ParameterIn};
use utoipa::openapi::schema::Schema;
use utoipa::openapi::security::{Http, HttpAuthScheme, SecurityScheme};
use utoipa::openapi::{
    Components, ContentBuilder, Info, OpenApi, OpenApiBuilder, Ref, RefOr, Required, Response,
    ResponseBuilder,
};

/// The name of the security scheme.
const BEARER: &str = "bearer";

/// The document without routes.
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
    add_schema::<ErrorBody>(&mut components);
    add_schema::<LiveStep>(&mut components);
    OpenApiBuilder::new().info(info).components(Some(components)).build()
}

/// Adds a schema that no route names as its body, and the schemas it refers to.
fn add_schema<T: ToSchema>(components: &mut Components) {
    let mut schemas = vec![(T::name().into_owned(), T::schema())];
    T::schemas(&mut schemas);
    components.schemas.extend(schemas);
}

/// Names the operations, and adds the refusals that they share.
pub(crate) fn finish(mut document: OpenApi) -> OpenApi {
    let components = document.components.clone().unwrap_or_default();
    for (path, item) in &mut document.paths.paths {
        let operations = [("get", &mut item.get), ("post", &mut item.post), ("delete", &mut item.delete)];
        for (method, operation) in
            operations.into_iter().filter_map(|(method, operation)| Some((method, operation.as_mut()?)))
        {
            operation.operation_id = Some(identifier(method, path));
            if operation.security.is_some() {
                add_refusals(operation, method != "get");
            }
            if let Some(RefOr::T(body)) = &mut operation.request_body {
                let schemas = body.content.values().map(|content| match content {
                    RefOr::T(content) => content.schema.as_ref(),
                    RefOr::Ref(_) => None,
                });
                let is_optional = schemas.map(|schema| resolve(schema?, &components)).all(has_defaults);
                body.required = Some(if is_optional { Required::False } else { Required::True });
            }
        }
    }
    document
}

/// Adds the refusals that a route can answer because of its form.
fn add_refusals(operation: &mut Operation, may_change: bool) {
    let parameters = operation.parameters.as_deref().unwrap_or_default();
    let is_named = parameters.iter().any(|parameter| match parameter {
        RefOr::T(parameter) => parameter.parameter_in == ParameterIn::Path,
        RefOr::Ref(_) => false,
    });
    let has_body = operation.request_body.is_some();
    let has_input = has_body || !parameters.is_empty();
    let all = [
        ("400", "The request has a value that cannot be used.", has_input),
        ("401", "The token is missing, malformed, unknown or expired.", true),
        ("403", "The token has another role.", true),
        ("404", "Nothing has this name.", is_named),
        ("408", "The body arrived too slowly.", has_body),
        ("409", "Not possible in the present state, or no budget or step is left.", may_change),
        ("413", "The body is too large.", has_body),
        ("415", "The body has another media type.", has_body),
        ("422", "The request is well formed, but no mechanism can serve it.", may_change),
        ("429", "The token sends too many requests.", true),
        ("500", "The service failed.", true),
        ("503", "The service is fenced, read-only or busy.", true),
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
}

/// The schema that a reference stands for.
fn resolve<'a>(schema: &'a RefOr<Schema>, components: &'a Components) -> Option<&'a Schema> {
    match schema {
        RefOr::T(schema) => Some(schema),
        RefOr::Ref(reference) => {
            let name = reference.ref_location.rsplit('/').next()?;
            resolve(components.schemas.get(name)?, components)
        }
    }
}

/// Whether every field of an object has a default. Handlers then accept a request without a body.
fn has_defaults(schema: Option<&Schema>) -> bool {
    matches!(schema, Some(Schema::Object(object)) if object.required.is_empty())
}

/// A name for generated clients, such as `get_counters_name_releases`.
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
