"""Infrastructure from a design: its tables and alarms as templates, and the least permissions of a program."""
