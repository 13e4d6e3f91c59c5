/* Where programs written for Android look. */
#include "../NeuralNetworks.h"
