"""One pose and what it loads (`pose`), and a robot moved by sliders (`move`)."""
