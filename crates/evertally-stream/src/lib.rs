//! Events to closed steps.
