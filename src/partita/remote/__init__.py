"""Amazon DynamoDB, or any server that speaks its protocol, behind the same contract as the embedded engine.

request --protocol--> target, body --signing--> headers --connection pool--> HTTP
reply  <--protocol--  status, body  <------------------------------------------'
"""
