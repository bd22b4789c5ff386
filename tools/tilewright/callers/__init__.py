"""What is generated for whoever calls a library, and the verifier that runs it. Importing it loads nothing."""
