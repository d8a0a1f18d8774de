"""Messages and stubs of the package raygate.v2; see docs/reference.md."""
