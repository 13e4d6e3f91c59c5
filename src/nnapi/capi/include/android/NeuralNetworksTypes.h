/* The path that programs for Android include. */
#include "../NeuralNetworksTypes.h"
