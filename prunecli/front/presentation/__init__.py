"""The presentation of records and signals as values, shared by the screen and the plain interface."""
