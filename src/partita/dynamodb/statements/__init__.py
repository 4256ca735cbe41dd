"""The grammar of PartiQL: parses a statement; whether a request only reads is decided by its parsed statements.

'UPDATE t SET n = n + ? WHERE pk = ?'     statement_tokens, statement_parser   text to a statement
  +-- UpdateAction(SET, n, n + :?0)       statement_nodes                      the parts of a statement
  +-- where  pk = :?1                     engine.partiql                       how a statement is executed
"""
