"""Random integers whose law is exactly the one stated, and the only door to the entropy behind them."""
