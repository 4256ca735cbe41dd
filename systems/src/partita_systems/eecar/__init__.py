"""EECAR: parts of electric cars, matched to who needs them."""
