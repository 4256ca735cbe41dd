"""Real DynamoDB, or whatever speaks its protocol at an address, behind the same contract as the embedded engine.

request --protocol--> target, body --signing--> headers --backend, asynchronous--> HTTP
reply  <--protocol--  status, body  <------------------------------------------------'
"""
