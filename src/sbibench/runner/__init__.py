"""From a suite to records."""
