"""Reading sessions of others: each file turns one kind into the records that this program would have logged."""
