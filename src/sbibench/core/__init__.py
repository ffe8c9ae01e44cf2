"""The nouns and their laws."""
