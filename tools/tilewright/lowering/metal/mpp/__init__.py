"""Native matrix products through Metal Performance Primitives. Spec: First native realization."""
