"""What a command leaves: result folders, tables, text on the terminal."""
