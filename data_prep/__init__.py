"""Transcripts -> interviews -> Q&A pairs -> splits and SFT sets, and the vocabulary all parts share."""
