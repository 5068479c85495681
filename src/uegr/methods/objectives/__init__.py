"""Objectives that several methods share: a method's own file says which paper asks for it, and with what."""
