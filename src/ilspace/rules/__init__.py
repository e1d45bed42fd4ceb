"""Rules that classify rows of a latent space."""
