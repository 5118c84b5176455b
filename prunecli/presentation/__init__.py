"""What records and signals look like to a person, as values: the screen and the plain lines both show them."""
