"""Methods x questions -> replies -> judgements -> scores -> report."""
