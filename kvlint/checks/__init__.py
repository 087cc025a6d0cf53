"""One module for each kind of question a rule can ask."""
