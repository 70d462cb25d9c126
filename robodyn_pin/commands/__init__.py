"""The commands, one function each: they read, call one function, print. Whatever is heavy is imported inside them."""
