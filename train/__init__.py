"""SFT set -> persona bundle: an adapter with everything needed to use it as it was trained."""
