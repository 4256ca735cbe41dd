"""What Partita reaches, measured beside its peers in one run."""
