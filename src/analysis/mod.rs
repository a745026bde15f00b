//! Analysis of fields on the host: critical points, and the comparison of two fields.
