"""Base model + adapters -> replies: the engines, and who answers a request."""
