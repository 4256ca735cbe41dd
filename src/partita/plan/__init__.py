"""From a design and arguments to DynamoDB requests, and the proof of a design. Pure functions, nothing is sent."""

from partita.plan.design import Design
from partita.plan.proof.patterns import Proof, prove_read
from partita.plan.proof.prove import prove

__all__ = ["Design", "Proof", "prove", "prove_read"]
