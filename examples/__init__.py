"""Small complete programs to copy from, which use the public names of `broker` alone; `pages` shows them."""
