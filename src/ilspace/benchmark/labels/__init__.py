"""The benchmark of labels: accuracy on the target against the number of labels asked for."""
