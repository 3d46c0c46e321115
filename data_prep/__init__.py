"""Transcripts -> interviews -> Q&A pairs -> splits and SFT sets.

Also the vocabulary that all parts share: records, journals, engine protocol, prompts, contexts.
"""
