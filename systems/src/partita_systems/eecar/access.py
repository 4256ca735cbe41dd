"""Access rules of EECAR. Sellers, buyers and companies are one kind of party, identified by the token."""

from partita.rest import group, owned_by

admin = group("admin")
machines = group("machine") | admin  # the embedder and the matcher
seller = owned_by("seller_id")
buyer = owned_by("buyer_id")
sender = owned_by("from_company_id")
receiver = owned_by("to_company_id")
recipient = owned_by("recipient_id")
