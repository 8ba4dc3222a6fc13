"""What compare.py runs: this project's program and its peers, each behind the same questions."""
