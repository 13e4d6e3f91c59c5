/* The path that programs for Android include. */
#include "../NeuralNetworks.h"
