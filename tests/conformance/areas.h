/* One line an area: tests/conformance/AREA.c has its operations. */
AREA(reduce)
AREA(layers)
AREA(train_mlp)
AREA(activations)
AREA(device_assignment)
AREA(topology)
AREA(train_fit)
AREA(train_documented)
