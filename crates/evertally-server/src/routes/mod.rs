//! The routes, one file a group.

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

/// Everything that the OpenAPI document describes.
pub(crate) fn all() -> OpenApiRouter<App> {
    OpenApiRouter::with_openapi(crate::openapi::blank())
        .routes(routes!(status::healthz))
        .routes(routes!(status::readyz))
        .routes(routes!(status::metrics))
        .routes(routes!(status::status))
        .routes(routes!(populations::list, populations::grant))
        .routes(routes!(counters::list, counters::create))
        .routes(routes!(counters::plan))
        .routes(routes!(counters::show, counters::delete))
        .routes(routes!(counters::advance))
        .routes(routes!(counters::retire))
        .routes(routes!(events::post))
        .routes(routes!(releases::list))
        .routes(routes!(releases::sum))
        .routes(routes!(live::follow))
        .routes(routes!(tokens::list, tokens::make))
        .routes(routes!(tokens::revoke))
        .routes(routes!(epoch::preview, epoch::start))
}
