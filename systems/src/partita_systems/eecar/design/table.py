"""The table of EECAR and its indexes."""

from partita import Index, Table, VectorIndex

# All attributes but long ones that lists do not show: descriptions, images, embeddings, matched parts.
PROJECTED = (
    "name category manufacturer model year condition price quantity sellerId createdAt updatedAt "
    "companyName industry requiredSpecs productionProcess targetApplication priority status expiresAt "
    "query modelUsed embeddingModel hitCount buyerId email phone criteria once triggeredAt "
    "fromCompanyId toCompanyId partIds proposalType message terms priceOffer version respondedAt "
    "recipientId type title data read sentAt TTL"
)
GSI1 = Index("GSI1", "GSI1PK", "GSI1SK", project=tuple(PROJECTED.split()))
BY_MEANING = VectorIndex(
    "ByMeaning",
    "embedding",
    pk="meaningPK",
    filters=("embeddingModel", "condition"),
    distance="COSINE",
    project=("category", "query", "modelUsed", "createdAt", "hitCount", "TTL"),
)
table = Table(
    "eecar-parts-table",
    pk="PK",
    sk="SK",
    indexes=(GSI1,),
    vector_indexes=(BY_MEANING,),
    naming="camel",
    ttl="TTL",
    stream="NEW_AND_OLD_IMAGES",
)
