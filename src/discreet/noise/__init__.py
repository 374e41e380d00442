"""Random integers whose law is exactly the one stated, and the only access to the entropy behind them."""
