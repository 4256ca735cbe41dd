"""PartiQL: turns a parsed statement into the intents and reads of the other operations.

'UPDATE t SET n = n + ? WHERE pk = ?'     dynamodb.statements    text to a statement
  +-- UpdateAction(SET, n, n + :?0)       statement_parameters   a statement and its parameters
  +-- where  pk = :?1                     key_bounds             the keys that WHERE determines
        |            |                    select_statements      SELECT to ranges of keys and a page
   BoundUpdate   key, condition           write_statements       all others to intents and conditions
"""
