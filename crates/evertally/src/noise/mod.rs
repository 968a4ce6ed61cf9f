//! Seekable white noise and the convolutions that correlate it.
