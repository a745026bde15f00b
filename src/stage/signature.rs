//! The signature of a triangle, decided exactly.
