"""Judges that have earned their badge: probes with thresholds, panels, and human sheets."""
