"""DynamoDB's published limits, each with its source.

Sources: [Q] Developer Guide, "Quotas in Amazon DynamoDB"; [A] API reference of the operation;
[E] Developer Guide, "Expressions"; [C] Developer Guide, "DynamoDB item sizes and formats";
[V] Developer Guide, "Vector indexes".
"""

KB = 1024
MB = 1024 * KB

ITEM_BYTES = 400 * KB  # [Q] maximum item size, names and values
PARTITION_KEY_BYTES = 2048  # [Q] minimum 1, maximum 2048
SORT_KEY_BYTES = 1024  # [Q] minimum 1, maximum 1024
ATTRIBUTE_NAME_BYTES = 65_535  # [Q] attribute names; those of keys and of projected attributes have 255
NESTING_LEVELS = 32  # [Q] nested attribute depth
KEY_NAME_BYTES = 255  # [Q] names of key attributes

PAGE_BYTES = 1 * MB  # [A] Query and Scan: a page has at most 1 MB before the filter
BATCH_GET_KEYS = 100  # [A] BatchGetItem
BATCH_GET_BYTES = 16 * MB  # [A] BatchGetItem: the rest is returned as UnprocessedKeys
BATCH_WRITE_REQUESTS = 25  # [A] BatchWriteItem
BATCH_WRITE_BYTES = 16 * MB  # [A] BatchWriteItem
TRANSACTION_ACTIONS = 100  # [A] TransactWriteItems, TransactGetItems
TRANSACTION_BYTES = 4 * MB  # [A] TransactWriteItems, TransactGetItems
TOKEN_SECONDS = 600  # [A] TransactWriteItems: ClientRequestToken is valid for ten minutes

STATEMENT_LENGTH = 8192  # [A] ExecuteStatement
EXPRESSION_BYTES = 4 * KB  # [Q] expression string
EXPRESSION_OPERATORS = 300  # [Q] operators or functions in an UpdateExpression or condition
EXPRESSION_IN_OPERANDS = 100  # [E] operands of IN
SUBSTITUTION_BYTES = 255  # [Q] one placeholder, with its # or :
SUBSTITUTIONS_BYTES = 2 * MB  # [Q] all placeholder values together

RECOVERY_DAYS = 35  # [A] UpdateContinuousBackups: RecoveryPeriodInDays

NUMBER_DIGITS = 38  # [Q] precision
NUMBER_MAX_EXPONENT = 125  # [Q] 9.9999999999999999999999999999999999999E+125
NUMBER_MIN_EXPONENT = -130  # [Q] 1E-130

GLOBAL_INDEXES = 20  # [Q] default quota per table
LOCAL_INDEXES = 5  # [Q]
INCLUDED_ATTRIBUTES = 100  # [Q] user-specified projected attributes over all indexes of a table
INDEX_KEY_ATTRIBUTES = 4  # [Q] HASH attributes, and RANGE attributes, of one global index
VECTOR_INDEXES = 5  # [V] per table
VECTOR_DIMENSIONS = 4096  # [V] 1 to 4096
VECTOR_INCLUDED_ATTRIBUTES = 20  # [V] NonKeyAttributes of one vector index
VECTOR_FILTERS = 18  # INLINE_FILTER elements of a search schema; reported by users, not in [V]
SEARCH_RESULTS = 100  # [V] TopK: 1 to 100
SEARCH_BYTES = 16 * MB  # [Q] SearchVectors: the items of a reply; there are no pages
VECTOR_REQUEST_BYTES = 1 * KB  # the least that a search or a write of a vector index is charged; measured
ITEM_COLLECTION_GB = 10  # [Q] one partition key of a table with local indexes
TABLES_PER_REGION = 2500  # [Q] default quota
ACCOUNT_CAPACITY = 80_000  # [Q] default quota of provisioned read, and of write, units
TABLE_CAPACITY = 40_000  # [Q] the same for one table
TAGS = 50  # Developer Guide, "Tagging restrictions in DynamoDB"
TAG_PAGE = 10  # tags in one response of ListTagsOfResource
BACKUP_LIST = 100  # [A] ListBackups
LARGEST_INTEGER = 2**31 - 1  # of a member that is an Integer, such as Limit
SCAN_SEGMENTS = 1_000_000  # [A] Scan: TotalSegments

READ_UNIT_BYTES = 4 * KB  # [C]
WRITE_UNIT_BYTES = 1 * KB  # [C]

STREAM_RETENTION_SECONDS = 24 * 3600  # Developer Guide, "Change data capture for DynamoDB Streams"
STREAM_RECORDS = 1000  # [A] GetRecords
STREAM_BYTES = 1 * MB  # [A] GetRecords
STREAM_LIST = 100  # [A] ListStreams, and the shards of DescribeStream
ITERATOR_SECONDS = 15 * 60  # [A] GetShardIterator
