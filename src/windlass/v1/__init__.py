"""The wire, as Python sees it: made from proto/windlass/v1 by `make proto`, never edited."""
