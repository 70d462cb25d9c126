"""Friction of motors over speed: protocols of constant speeds, what is found in their logs, curves through it."""
