"""A seeded simulator of data-parallel training that writes small nsys exports, each with its known answers."""
