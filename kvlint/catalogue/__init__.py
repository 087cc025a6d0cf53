"""What SGLang's pools promise: facts, their extraction from a tree, the embedded releases."""
