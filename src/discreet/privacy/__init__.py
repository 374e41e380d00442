"""What is promised, as frozen values: the unit, the neighbors, the guarantee and the events that pay."""
