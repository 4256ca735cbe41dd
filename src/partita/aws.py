"""Consumers in AWS Lambda.

    handler = partita.aws.lambda_handler(notifications, db)

The event source mapping of the function needs `FunctionResponseTypes: [ReportBatchItemFailures]`: without it, Lambda
ignores which changes have failed. `create_state_tables(db)` creates the consumers' table, once.
"""

from partita.consumers.lambda_host import lambda_handler
from partita.consumers.worker import create_state_tables

__all__ = ["create_state_tables", "lambda_handler"]
