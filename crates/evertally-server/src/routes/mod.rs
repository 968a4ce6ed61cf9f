//! The routes, one file per group.
//!
//! To add a route, write its handler in a file of this folder and add a line to [`all`]. The handler's
//! attribute is its documentation, its first argument decides who may call it ([`auth`](crate::auth)),
//! and tests hold both against each other. Metrics, logs, the refusals of the OpenAPI document and the
//! types of the page follow from it. The path of a route that takes events ends in `/events`, because
//! metrics and logs leave such routes out.

pub(crate) mod counters;
pub(crate) mod epoch;
pub(crate) mod events;
pub(crate) mod live;
pub(crate) mod ndjson;
pub(crate) mod populations;
pub(crate) mod releases;
pub(crate) mod status;
pub(crate) mod tokens;

use crate::state::App;
use utoipa_axum::router::OpenApiRouter;
use utoipa_axum::routes;

/// All routes that the OpenAPI document describes.
pub(crate) fn all() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(crate::openapi::blank())
        .routes(routes!(status::healthz))
        .routes(routes!(status::readyz))
        .routes(routes!(status::metrics))
        .routes(routes!(status::status))
        .routes(routes!(populations::list, populations::create))
        .routes(routes!(counters::list, counters::create))
        .routes(routes!(counters::plan))
        .routes(routes!(counters::show, counters::delete))
        .routes(routes!(counters::advance))
        .routes(routes!(counters::retire))
        .routes(routes!(events::post))
        .routes(routes!(releases::list))
        .routes(routes!(releases::sum))
        .routes(routes!(live::follow))
        .routes(routes!(tokens::list, tokens::create))
        .routes(routes!(tokens::revoke))
        .routes(routes!(epoch::preview, epoch::start))
}
