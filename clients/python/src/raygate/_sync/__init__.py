"""The blocking client. All but io.py is made of `_async` by `make generate-python`."""
