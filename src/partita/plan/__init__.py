"""Design and arguments to DynamoDB requests; the proof; explain. Pure functions, nothing is sent."""

from partita.plan.design import Design
from partita.plan.proof.patterns import Proof, prove, prove_read

__all__ = ["Design", "Proof", "prove", "prove_read"]
