"""Fleets: many robots of one type, each with its logs; what they have in common, and which one differs in what."""
