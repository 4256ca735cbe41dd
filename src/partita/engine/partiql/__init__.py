"""PartiQL as DynamoDB speaks it: text to a statement, a statement to the trees, intents and reads that requests have.

'UPDATE t SET n = n + ? WHERE pk = ?'     tokens, parse     text to a statement; parameters stay open
  +-- Action(SET, n, n + :1)              statements        what a statement is made of
  +-- where  pk = :2                      parameters        a statement and its parameters to a scope
        |            |                    places            the keys that a WHERE fixes
      Changes      Key, condition         selecting         SELECT to ranges of keys and a page
                                          writing           the others to intents and conditions
"""
