"""What a team may import: a name that comes or goes does so here too, on purpose."""

import subprocess
import sys

import partita

NAMES = """
ALL_SHARDS AUTO Adoption AlreadyExists AsyncStore CapacityMeter Change Compressed Condition ConditionFailed
ConfigurationError Consumer ConsumerAdministration ConsumerFaults ConsumerMonitor CorruptRow CountOf Created CreatedAt
Deleted Design DesignError DesignMismatch DesignRecordInvalid Dimensions DynamoDBError EmbeddingModelMismatch
EmbeddingRejected Embeddings Entity Expires F FileReplaced Get HandlerTransaction Highlight InKey Index Internal
InvalidCursor InvalidTransaction InvalidTransition InvalidValue Item Items JobOutcome JobRun JobRunner JobRunning
JobStatus JobTick Jobs Keys LeaseLost Limit LimitReached MigrationBlocked MissingExtra Nearest NoReply NotFound
NotReady NotUnique OlderFileInUse OpenEnum OpenSearch Ordered OutcomeUnknown Owns Page PartitaError Pattern ProofError
Query ReadOnlyStore ReferenceMissing References RehearsalFailed RejectionUnexplained ReservedKey RestoreFailed
RestorePointMissing RetriesExhausted SearchRejected SearchResult SeedStep SentRequest ServiceRejected StillReferenced
StorageBusy StorageClosed StorageError Store StoreError StoredAs StoredItemInvalid SumOf System Table TableNotFound
TextFields TextFile TextIndex TextMatch TextPage Transaction TransferFailed Transitions Unique UnknownAttribute
Untracked Updated UpdatedAt UsedAfterFork Vector VectorIndex VectorSearch Version VersionConflict View Was Worker
apply_design collection connect connect_async convert describe_pattern diagnose fan_out get new_id pattern
plan_migration prove query settle time_in_id
""".split()


def test_the_public_names_are_these() -> None:
    assert sorted(partita.__all__) == sorted(NAMES)


def test_every_public_name_can_be_had() -> None:
    assert all(getattr(partita, name) is not None for name in partita.__all__)


def test_importing_partita_loads_neither_the_engine_nor_a_server() -> None:
    code = "import sys, partita; print([n for n in sys.modules if n in ('apsw', 'uvicorn', 'botocore', 'jwt', 'rich')])"
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
