"""A static site of results, which opens from the file system without any network."""
