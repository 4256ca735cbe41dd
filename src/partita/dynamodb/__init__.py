"""DynamoDB's contract, shared by every backend and by the planner: requests and responses, errors, limits, values.

Its pure functions are here too, each once: canonical form and size of values, comparison, conditions, capacity units.
"""
