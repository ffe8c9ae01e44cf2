"""Observations, references and published figures that ship with the package."""
