"""One HTML page of a tuner's logs: what was searched, found, decided, and how it compares. docs/report.md."""
