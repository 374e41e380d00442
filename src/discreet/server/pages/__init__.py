"""The pages of the service: rendered here, with everything they need in this folder."""
