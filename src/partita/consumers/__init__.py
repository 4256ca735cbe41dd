"""Consumers: functions that react to the changes of a design's entities, each change once."""
