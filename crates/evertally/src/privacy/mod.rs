//! Budgets, calibration and who is protected.
