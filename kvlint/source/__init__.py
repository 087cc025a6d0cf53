"""Files, their text and comments, and the index of the project's symbols."""
