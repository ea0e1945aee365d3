"""Small complete programs to copy from. They use the public names of `broker` and nothing else of ours."""
