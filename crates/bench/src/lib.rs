//! Load drivers, baselines and measurements.
