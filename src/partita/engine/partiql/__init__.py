"""PartiQL: parses a statement, and turns it into the trees, intents and reads of the other operations.

'UPDATE t SET n = n + ? WHERE pk = ?'     statement_tokens, statement_parser   text to a statement
  +-- UpdateAction(SET, n, n + :?0)       statements             the parts of a statement
  +-- where  pk = :?1                     statement_parameters   a statement and its parameters
        |            |                    key_bounds             the keys that WHERE determines
   BoundUpdate   key, condition           select_statements      SELECT to ranges of keys and a page
                                          write_statements       all others to intents and conditions
"""
