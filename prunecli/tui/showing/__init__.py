"""What is shown of a session: records and signals become entries of the transcript. Pure, without a screen."""
