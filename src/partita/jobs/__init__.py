"""Jobs: functions that run by a schedule, one process at a time, each tick recorded once."""
