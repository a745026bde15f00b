//! How far the vertices of a triangle may move without changing its signature.
